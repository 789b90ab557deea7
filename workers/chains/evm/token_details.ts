/**
 * Description that a token contract gives of itself. Anybody can write one, so it is untrusted: it is
 * compared with the registry, or shown.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { TokenDetails } from "../observations.ts";
import type { Evm } from "./context.ts";
import { DETAIL_CALLS, readNumber, readText } from "./erc20.ts";
import { bytes, isRefusal, toHex } from "./node_answers.ts";

/** The largest value that ERC-20 can state; more is nonsense. */
const DECIMALS_MAX = 255n;

/**
 * Reads a token's description as the quorum reports it; without a height its supply, which changes
 * between blocks, is one node's. Null if there is no contract. One node's answer ends no order.
 */
export async function tokenDetails(
  evm: Evm,
  contract: string,
  height?: number,
): Promise<TokenDetails | null> {
  const address = evm.ethers.getAddress(contract);
  const block = height === undefined ? "latest" : toHex(height);
  async function read(peer: Peer): Promise<TokenDetails | null> {
    if (bytes(await peer.call("eth_getCode", [address, block])) === "0x") return null;
    const { decimals, symbol, name, totalSupply } = DETAIL_CALLS;
    const answers = await peer.batch([decimals, symbol, name, totalSupply].map((data) => ({
      method: "eth_call",
      params: [{ to: address, data }, block],
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
  }
  function keyOf(told: TokenDetails | null): string {
    if (told === null) return "none";
    const supply = height === undefined ? "" : `${told.supply}`;
    return JSON.stringify([told.decimals, told.symbol, told.name, supply]);
  }
  return await evm.nodes.agree(read, keyOf, `the token at ${address}`);
}

/** A contract may lack a call or revert; that differs from a node that fails. */
function said(answer: unknown): string | null {
  if (!(answer instanceof RpcError)) return bytes(answer);
  if (isRefusal(answer)) return null;
  throw new ChainError("unavailable", answer.message);
}
