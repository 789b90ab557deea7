/** Reads the signed bytes of a transaction in a final block. Its signatures prove them. @module */
import { readList, readRecord, readText } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { VERSIONS } from "./block.ts";
import type { Solana } from "./context.ts";
import { FINALIZED, readNumber } from "./node_answers.ts";
import { signaturesOf } from "./payment.ts";

/** A transaction in a final block. */
export interface FinalTransaction {
  readonly slot: number;
  /** In base64. */
  readonly raw: string;
  /** Its effects and balances, as the node tells. */
  readonly meta: Record<string, unknown>;
}

/** Reads a transaction in a final block; null if the node has none. */
export async function finalTransaction(
  peer: Peer,
  hash: string,
): Promise<FinalTransaction | null> {
  return (await finalTransactions(peer, [hash]))[0];
}

/** Reads transactions in final blocks; null for each that the node does not have. */
export async function finalTransactions(
  peer: Peer,
  hashes: readonly string[],
): Promise<(FinalTransaction | null)[]> {
  const how = { ...FINALIZED, ...VERSIONS, encoding: "base64" };
  const asked = hashes.map((hash) => ({ method: "getTransaction", params: [hash, how] }));
  return allOf(await peer.batch(asked)).map(readFinal);
}

function readFinal(answer: unknown): FinalTransaction | null {
  if (answer === null) return null;
  const { slot, transaction, meta } = readRecord(answer, "a transaction");
  const [raw] = readList(transaction);
  return {
    slot: readNumber(slot, "a slot"),
    raw: readText(raw, "a transaction"),
    meta: readRecord(meta, "the effects of a transaction"),
  };
}

/** Reads the signed bytes of a transaction, whose signatures and id must be right; else another node is asked. */
export async function rawOf({ nodes, web3 }: Solana, hash: string): Promise<string> {
  return await nodes.ask(async (peer) => {
    const found = await finalTransaction(peer, hash);
    if (found !== null && signaturesOf(web3, found.raw)?.hash === hash) return found.raw;
    throw new ChainError("unavailable", `${peer.name} does not show the bytes of ${hash}`);
  });
}
