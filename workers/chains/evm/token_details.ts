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
import { DETAIL_CALLS, keyOfDetails, readDetails } from "./erc20.ts";
import { bytes, isRefusal, toHex } from "./node_answers.ts";
import { viewQuestion } from "./search.ts";

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
    const answers = await peer.batch(
      [decimals, symbol, name, totalSupply].map((data) => viewQuestion(address, data, block)),
    );
    return readDetails(address, answers.map(said));
  }
  const keyOf = (told: TokenDetails | null) => keyOfDetails(told, height !== undefined);
  return await evm.nodes.agree(read, keyOf, `the token at ${address}`);
}

/** A contract may lack a call or revert; that differs from a node that fails. */
function said(answer: unknown): string | null {
  if (!(answer instanceof RpcError)) return bytes(answer);
  if (isRefusal(answer)) return null;
  throw new ChainError("unavailable", answer.message);
}
