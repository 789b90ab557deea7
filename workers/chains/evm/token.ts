/**
 * What a token's contract says of itself. Strangers write it, so nothing here is believed: it is
 * compared with the registry, or shown.
 * @module
 */
import { ChainError } from "../chain.ts";
import { RpcError } from "../rpc.ts";
import type { TokenDetails } from "../sight.ts";
import type { Evm } from "./context.ts";
import { DETAIL_CALLS, readNumber, readText } from "./erc20.ts";
import { bytes, isRefusal } from "./node.ts";

/** What ERC-20 can state; more is nonsense. */
const DECIMALS_MAX = 255n;

/** Reads a token's description; null if there is no contract. */
export async function tokenDetails(evm: Evm, contract: string): Promise<TokenDetails | null> {
  const address = evm.ethers.getAddress(contract);
  return await evm.nodes.ask(async (peer) => {
    if (bytes(await peer.call("eth_getCode", [address, "latest"])) === "0x") return null;
    const { decimals, symbol, name, totalSupply } = DETAIL_CALLS;
    const answers = await peer.batch([decimals, symbol, name, totalSupply].map((data) => ({
      method: "eth_call",
      params: [{ to: address, data }, "latest"],
    })));
    const [places, sign, title, supply] = answers.map(said);
    const count = places === null ? null : readNumber(places);
    return {
      contract: address,
      symbol: sign === null ? null : readText(sign),
      name: title === null ? null : readText(title),
      decimals: count === null || count > DECIMALS_MAX ? null : parseInt(`${count}`, 10),
      supply: supply === null ? null : readNumber(supply),
    };
  });
}

/** A contract may lack a call or revert; a node that fails is another matter. */
function said(answer: unknown): string | null {
  if (!(answer instanceof RpcError)) return bytes(answer);
  if (isRefusal(answer)) return null;
  throw new ChainError("unavailable", answer.message);
}
