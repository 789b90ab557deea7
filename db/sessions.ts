/** Statements on logins: failed attempts and revoked keys. @module */
import type { Db, Tx } from "./database.ts";

/** A revocation: of one key, or of all that a user was given before a time (milliseconds). */
export interface RevocationRow {
  user_id: string;
  jti: string | null;
  issued_before: number | null;
  expires_at: number;
}

/**
 * Notes an attempt to log in before its password is looked at, so that attempts made at once cannot
 * slip past the count; tells how many the last minute has seen.
 */
export async function insertAttempt(
  db: Db,
  attempt: { id: string; username: string; address: string; created_at: number },
): Promise<{ byUser: number; byAddress: number }> {
  await db`insert into login_attempts ${db(attempt)}`;
  const [row] = await db<{ by_user: string; by_address: string }[]>`
    select
      (select count(*) from login_attempts
        where username = ${attempt.username} and created_at > now() - interval '1 minute') as by_user,
      (select count(*) from login_attempts
        where address = ${attempt.address} and created_at > now() - interval '1 minute') as by_address`;
  return { byUser: Number(row.by_user), byAddress: Number(row.by_address) };
}

/** Forgets an attempt that succeeded. */
export async function deleteAttempt(db: Db, id: string): Promise<void> {
  await db`delete from login_attempts where id = ${id}`;
}

/** Forgets attempts that count no more. */
export async function deleteOldAttempts(db: Db): Promise<void> {
  await db`delete from login_attempts where created_at < now() - interval '10 minutes'`;
}

/** Revokes one key, or all keys of a user issued before a time. */
export async function insertRevocation(
  tx: Tx,
  revocation: RevocationRow & { id: string; created_at: number },
): Promise<void> {
  await tx`insert into revocations ${tx(revocation)}`;
}

/**
 * Reads the revocations committed since the last look. The horizon is the oldest transaction that
 * was still running then, so that a late commit is never skipped.
 */
export async function selectRevocations(
  db: Db,
  horizon: string | null,
): Promise<{ rows: RevocationRow[]; horizon: string }> {
  const rows = await db<(RevocationRow & { horizon: string })[]>`
    select s.horizon, r.user_id, r.jti, r.issued_before, r.expires_at
    from (select pg_snapshot_xmin(pg_current_snapshot())::text as horizon) s
    left join revocations r on r.expires_at > now()
      and ${horizon === null ? db`true` : db`r.xact >= ${horizon}::xid8`}`;
  return {
    rows: rows.filter((row) => row.user_id !== null),
    horizon: rows[0].horizon,
  };
}

/** Forgets revocations of keys that have expired by themselves. */
export async function deleteOldRevocations(db: Db): Promise<void> {
  await db`delete from revocations where expires_at < now()`;
}
