/**
 * The chain of the audit trail. Each line gets a number without gaps and a hash over the hash of
 * the line before it and its own canonical form, in the background. An event of the ledger's chain
 * names each last line, so the head of the ledger's chain proves the trail too.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import {
  type AuditLineRow,
  noteEvent,
  selectChained,
  selectLastChained,
  selectUnchained,
  updateChained,
} from "../../db/audit/trail_chain.ts";
import { canonical } from "../canonical_json.ts";
import { createLinker, GENESIS } from "./chain_links.ts";

const PAGE = 1000;

/** Result of recomputing the chain of the trail. */
export interface TrailBreak {
  seq: number;
  reason: "hash_mismatch" | "seq_missing";
}

/** Chains lines of the trail, at most `limit`. The caller holds the head of the ledger's chain. */
export async function chainTrail(tx: Tx, limit: number): Promise<void> {
  const lines = await selectUnchained(tx, limit);
  if (lines.length === 0) return;
  const last = await selectLastChained(tx);
  const link = createLinker(last?.hash ?? GENESIS);
  const from = BigInt(last?.seq ?? 0);
  let seq = from;
  const hashes = lines.map((line) => link(lineForm(line, ++seq)));
  await updateChained(tx, { from, ids: lines.map((line) => line.id), hashes });
  await noteEvent(tx, {
    kind: "audit",
    subject: "audit",
    facts: { lines: `${seq}`, hash: hashes[hashes.length - 1] },
  });
}

/** The end of a chain up to which it was recomputed. */
export interface ChainEnd {
  seq: bigint;
  /** Hexadecimal. */
  hash: string;
}

/** Recomputes the chain of the trail after an end, or the whole; gives its end, or its first break. */
export async function recomputeTrail(
  tx: Tx,
  { seq: from, hash }: ChainEnd = { seq: 0n, hash: GENESIS },
): Promise<ChainEnd & { break: TrailBreak | null }> {
  const link = createLinker(hash);
  for (let end = { seq: from, hash };;) {
    const lines = await selectChained(tx, end.seq + 1n, PAGE);
    if (lines.length === 0) return { ...end, break: null };
    for (const line of lines) {
      const seq = end.seq + 1n;
      const at = parseInt(`${seq}`, 10);
      if (BigInt(line.seq) !== seq) return { ...end, break: { seq: at, reason: "seq_missing" } };
      const due = link(lineForm(line, seq));
      if (due !== line.hash) return { ...end, break: { seq: at, reason: "hash_mismatch" } };
      end = { seq, hash: due };
    }
  }
}

/** Writes the text that a line's hash covers. */
function lineForm(line: AuditLineRow, seq: bigint): string {
  const { id, actor, action, entity, fields, request_id, address, created_at } = line;
  const form = { id, actor, action, entity, fields, request_id, address, created_at };
  const { api_key, api_key_name } = line;
  const key = api_key === null ? {} : { api_key, api_key_name };
  return canonical({ ...form, ...key, seq: `${seq}` });
}
