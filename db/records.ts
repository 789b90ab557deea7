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
  const [{ claimed }] = await tx<{ claimed: boolean }[]>`
    select claim_key(${claim.key}, ${claim.fingerprint}) as claimed`;
  return claimed ? null : await selectKept(tx, claim.key);
}

/** Reads the stored answer of a key. */
export async function selectKept(db: Db, key: string): Promise<KeptAnswer | null> {
  const [row] = await db<KeptAnswer[]>`
    select fingerprint, status, body, transaction from kept_answer(${key})`;
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

/**
 * Completes a stored refusal; the first caller to do so decides the answer of every repeat. Its key may be of the
 * generation before by now.
 */
export async function completeRefusal(
  db: Db,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  await db`
    with earlier as (
      update idempotency_earlier set status = ${answer.status}, body = ${answer.body}
      where key = ${key} and status is null and transaction is null)
    update idempotency set status = ${answer.status}, body = ${answer.body}
    where key = ${key} and status is null and transaction is null`;
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

/** Adds lines to the audit trail, in their order. */
export async function insertAuditLines(tx: Tx, lines: readonly NewAuditRow[]): Promise<void> {
  await tx`insert into audit ${tx(lines.map((line) => ({ ...line })))}`;
}

/** A read that the audit trail is to show. */
export interface ReadRow {
  id: string;
  actor: string;
  action: string;
  /** The entity that was read; null for a list. */
  entity: string | null;
  request_id: string;
  address: string | null;
  api_key: string | null;
  api_key_name: string | null;
}

/**
 * Adds lines about reads, with the identity of the customer whose entity was read: one for each reader, customer and
 * hour. There is none for what belongs to the reader itself, or to no customer.
 */
export async function insertReads(db: Db, rows: readonly ReadRow[]): Promise<void> {
  await db`
    insert into audit (id, actor, action, entity, request_id, address, api_key, api_key_name, created_at)
    select g.id, g.actor, g.action, n.identity, g.request_id, g.address, g.api_key, g.api_key_name,
      ms_time(id_ms(g.id))
    from jsonb_to_recordset(${
    JSON.stringify(rows)
  }::text::jsonb) g(id uuid, actor uuid, action text, entity uuid,
      request_id text, address text, api_key uuid, api_key_name text)
    left join lateral (
      select holder as identity from accounts where id = g.entity
      union all select id from identities where id = g.entity
      union all select identity from users where id = g.entity
      union all select a.holder from deposits d join accounts a on a.id = d.account where d.id = g.entity
      union all select a.holder from withdrawals w join accounts a on a.id = w.account where w.id = g.entity
      union all select coalesce(x.identity, a.holder) from aliases x left join accounts a on a.id = x.account
        where x.id = g.entity
      union all select a.holder from deposit_apps p join accounts a on a.id = p.destination where p.id = g.entity
      union all select coalesce(m.identity, u.identity) from messages m left join users u on u.id = m.user_id
        where m.id = g.entity
      union all select identity from external_ramps where id = g.entity
    ) n on true
    left join lateral (select u.identity from users u where u.id = g.actor offset 0) me on true
    where g.entity is null or (n.identity is not null and n.identity is distinct from me.identity)
    on conflict do nothing`;
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
