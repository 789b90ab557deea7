/** Statements of the chain of the audit trail, and of events that no trigger records. @module */
import type { Tx } from "../database.ts";

/** A line of the audit trail. */
export interface AuditLineRow {
  id: string;
  actor: string | null;
  action: string;
  entity: string | null;
  fields: string[] | null;
  request_id: string;
  address: string | null;
  api_key: string | null;
  api_key_name: string | null;
  created_at: number;
}

/** A line with its number and hash in the chain. */
export type ChainedLineRow = AuditLineRow & { seq: string; hash: string };

const LINE =
  "id, actor, action, entity, fields, request_id, address, api_key, api_key_name, created_at";

/** Reads lines without a number in the chain, oldest first. */
export async function selectUnchained(tx: Tx, limit: number): Promise<AuditLineRow[]> {
  return await tx.unsafe<AuditLineRow[]>(
    `select ${LINE} from audit where seq is null order by id limit $1`,
    [limit],
    { prepare: true },
  );
}

/** Reads the last number and hash of the chain; null if it is empty. */
export async function selectLastChained(tx: Tx): Promise<{ seq: string; hash: string } | null> {
  const [row] = await tx<{ seq: string; hash: string }[]>`
    select seq, encode(hash, 'hex') as hash from audit where seq is not null
    order by seq desc limit 1`;
  return row ?? null;
}

/** Numbers lines after `from`, in their order, and stores their hashes. */
export async function updateChained(
  tx: Tx,
  chained: { from: bigint; ids: readonly string[]; hashes: readonly string[] },
): Promise<void> {
  await tx`
    update audit a set seq = ${`${chained.from}`}::bigint + q.ord, hash = decode(q.hash, 'hex')
    from unnest(${`{${chained.ids.join(",")}}`}::text::uuid[],
      ${`{${chained.hashes.join(",")}}`}::text::text[]) with ordinality q(id, hash, ord)
    where a.id = q.id`;
}

/** Reads lines with their numbers and hashes, from a number on. */
export async function selectChained(
  tx: Tx,
  first: bigint,
  limit: number,
): Promise<ChainedLineRow[]> {
  return await tx.unsafe<ChainedLineRow[]>(
    `select ${LINE}, seq, encode(hash, 'hex') as hash from audit
      where seq >= $1 order by seq limit $2`,
    [`${first}`, limit],
    { prepare: true },
  );
}

/** Records an event that no trigger records. */
export async function noteEvent(
  tx: Tx,
  event: { kind: string; subject: string; facts: Record<string, unknown> },
): Promise<void> {
  await tx`select note_seen(${event.kind}, ${event.subject}, ${
    tx.json(event.facts as never)
  }::jsonb)`;
}

/** Records an event unless the last one of its kind and subject has the same facts. */
export async function noteWhereChanged(
  tx: Tx,
  event: { kind: string; subject: string; facts: Record<string, unknown> },
): Promise<void> {
  const facts = tx.json(event.facts as never);
  await tx`select note_seen(${event.kind}, ${event.subject}, ${facts}::jsonb)
    where ${facts}::jsonb is distinct from (select e.facts from ledger_events e
      where e.kind = ${event.kind} and e.subject = ${event.subject} order by e.id desc limit 1)`;
}
