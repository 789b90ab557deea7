/** Reads the signed bytes of a mined transaction. What a node tells is believed only if its hash is right. @module */
import { ChainError } from "../chain.ts";
import type { CoinChain } from "./context.ts";
import { hashAt, list, record } from "./node.ts";

/** Reads the signed bytes of a transaction out of its block; they prove who signed it. */
export async function rawOf(
  { nodes, bitcoin }: CoinChain,
  { hash, height }: { hash: string; height: number },
): Promise<string> {
  return await nodes.ask(async (peer) => {
    const at = await hashAt(peer, height);
    const block = at === null ? {} : record(await peer.call("getblock", [at, 2]), "a block");
    const told = list(block.tx ?? []).map((one) => record(one, "a transaction"))
      .find((one) => one.txid === hash)?.hex;
    try {
      if (typeof told === "string" && bitcoin.Transaction.fromHex(told).getId() === hash) {
        return told;
      }
    } catch {
      // told below
    }
    throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
  });
}
