/** Statements that every command shares: stored answers, the audit trail. @module */
import type { Db, Tx } from "./database.ts";

/** An answer kept under an idempotency key. */
export interface KeptAnswer {
  fingerprint: string;
  status: number | null;
  body: string | null;
  transaction: string | null;
}

/**
 * Claims a key for this transaction. Null: the claim succeeded. Otherwise the row of the key. A
 * concurrent transaction with the same key is waited for, and then the serializable transaction is run
 * again.
 */
export async function claimKey(
  tx: Tx,
  claim: { key: string; fingerprint: string },
): Promise<KeptAnswer | null> {
  const claimed = await tx`
    insert into idempotency (key, fingerprint)
    values (${claim.key}, ${claim.fingerprint})
    on conflict do nothing returning key`;
  if (claimed.length > 0) return null;
  return await selectKept(tx, claim.key);
}

/** Reads the stored answer of a key. */
export async function selectKept(db: Db, key: string): Promise<KeptAnswer | null> {
  const [row] = await db<KeptAnswer[]>`
    select fingerprint, status, body, transaction from idempotency where key = ${key}`;
  return row ?? null;
}

/** Stores the answer under the key that this transaction claimed. */
export async function keepAnswer(
  tx: Tx,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  await tx`
    update idempotency set status = ${answer.status}, body = ${answer.body} where key = ${key}`;
}

/** Completes a stored refusal; the first caller to do so decides the answer of every repeat. */
export async function completeRefusal(
  db: Db,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  await db`
    update idempotency set status = ${answer.status}, body = ${answer.body}
    where key = ${key} and status is null and transaction is null`;
}

/**
 * Deletes some of the answers that are older than the contract's limit; gives their number. Called
 * again until there are none: one statement for all would exceed its time limit after a backlog.
 */
export async function deleteOldAnswers(db: Db, limit: number): Promise<number> {
  const keys = await db`
    delete from idempotency where ctid = any(array(select ctid from idempotency
      where created_at < now() - interval '7 days' limit ${limit}))`;
  const batches = await db`
    delete from batches where ctid = any(array(select ctid from batches
      where created_at < now() - interval '7 days' limit ${limit}))`;
  return keys.count + batches.count;
}

/** Deletes some logins whose keys have expired; gives their number. */
export async function deleteOldLogins(db: Db, limit: number): Promise<number> {
  const gone = await db`
    delete from logins where ctid = any(array(select ctid from logins
      where expires_at < now() limit ${limit}))`;
  return gone.count;
}

/** A line of the audit trail. */
export interface NewAuditRow {
  id: string;
  actor: string | null;
  action: string;
  entity: string | null;
  /** The realm, in the platform's own trail. */
  realm?: string;
  /** Names of the fields that the request gave. */
  fields: string[] | null;
  request_id: string;
  address: string | null;
  /** The machine key that acted. */
  api_key?: string;
  api_key_name?: string;
  created_at: number;
}

/** Adds a line to the audit trail. */
export async function insertAudit(tx: Tx, line: NewAuditRow): Promise<void> {
  await tx`insert into audit ${tx({ ...line })}`;
}

/** Adds a line to the audit trail, and stores the answer under the key that this transaction claimed. */
export async function insertAuditAndAnswer(
  tx: Tx,
  line: NewAuditRow,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  await tx`
    with line as (insert into audit ${tx({ ...line })})
    update idempotency set status = ${answer.status}, body = ${answer.body} where key = ${key}`;
}
