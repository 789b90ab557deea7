/** Reads the signed bytes of a mined transaction. @module */
import { ChainError } from "../chain.ts";
import { wholeBlock } from "./block.ts";
import type { CoinChain } from "./context.ts";
import { hashAt } from "./node_answers.ts";

/** Reads the signed bytes of a transaction from its block; they prove its signer. */
export async function rawOf(
  chain: CoinChain,
  { hash, height }: { hash: string; height: number },
): Promise<string> {
  return await chain.nodes.ask(async (peer) => {
    const at = await hashAt(peer, height);
    const block = at === null ? null : await wholeBlock(chain, peer, { hash: at, height });
    const found = block?.transactions.find((one) => one.hash === hash);
    if (found !== undefined) return found.bytes.toHex();
    throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
  });
}
