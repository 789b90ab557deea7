/** Statements of repeated work: work that waits in a realm, and rows that have expired. @module */
import type { Db, Pool } from "./database.ts";
import { peeking } from "./transaction.ts";

/** Work that waits in a realm without a job of its own. */
export interface WaitingRow {
  unsealed: boolean;
  expired: boolean;
  /** Events that are committed and have no id yet. */
  unpublished: boolean;
  /** Deliveries that no process makes. */
  deliverable: boolean;
}

/** Tells whether work waits; a few index probes over shared connections. */
export async function selectWaiting(pool: Pool): Promise<WaitingRow> {
  return await peeking<WaitingRow>(
    pool,
    `select exists (select 1 from ledger_commits)
        or exists (select 1 from audit where seq is null) as unsealed,
      exists (select 1 from blocks
        where status = 'OPEN' and expires_at <= (select ledger_now())) as expired,
      exists (select 1 from events where id is null) as unpublished,
      exists (select 1 from webhooks w join webhook_queues q on q.webhook = w.id
        where w.active and w.deleted_at is null and coalesce(q.resume_at <= now(), true)
          and coalesce(q.lease_until <= now(), true)
          and exists (select 1 from webhook_deliveries d
            where d.webhook = w.id and d.status = 'PENDING' and d.next_at <= now())) as deliverable`,
  );
}

/**
 * Deletes some of the installation's own stored answers after their time in the contract; gives their
 * number.
 */
export async function deleteOldPlatformAnswers(db: Db, limit: number): Promise<number> {
  const gone = await db`
    delete from idempotency where ctid = any(array(select ctid from idempotency
      where created_at < now() - interval '7 days' limit ${limit}))`;
  return gone.count;
}

/** Deletes some expired revocations, and gives their number. */
export async function deleteOldRevocations(db: Db, limit: number): Promise<number> {
  const gone = await db`
    delete from revocations where ctid = any(array(select ctid from revocations
      where expires_at < now() limit ${limit}))`;
  return gone.count;
}

/** Deletes some failed logins of long ago, and gives their number. Strangers cause as many as they like. */
export async function deleteOldAttempts(db: Db, limit: number): Promise<number> {
  const gone = await db`
    delete from login_attempts where ctid = any(array(
      (select ctid from login_attempts
        where updated_at < now() - interval '1 day' and right_at is null limit ${limit})
      union all
      (select ctid from login_attempts where updated_at < now() - interval '1 day'
        and right_at < now() - interval '30 days' limit ${limit})))`;
  return gone.count;
}
