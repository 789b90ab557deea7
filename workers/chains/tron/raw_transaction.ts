/**
 * Reads the signed bytes of a mined transaction. A node's answer is believed only if its id is right.
 * @module
 */
import { readList } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Tron } from "./context.ts";
import { askRecord, hexOf } from "./node_answers.ts";
import { writeSigned } from "./transaction.ts";

/** Reads the signed bytes of a transaction; they prove its signer and its effects. */
export async function rawOf({ nodes, ethers }: Tron, hash: string): Promise<string> {
  return await nodes.ask(async (peer) => {
    const told = await askRecord(peer, "wallet/gettransactionbyid", { value: hash });
    const raw = hexOf(told.raw_data_hex, "a transaction");
    const [signature] = readList(told.signature ?? []);
    if (raw === "" || ethers.sha256(`0x${raw}`).slice(2) !== hash || signature === undefined) {
      throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
    }
    return writeSigned(raw, hexOf(signature, "a signature"));
  });
}
