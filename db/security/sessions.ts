/** Statements on logins: attempts of the last minute and revoked keys. @module */
import type { Db, Tx } from "../database.ts";

/** A revocation: of one key, or of all keys that a user got before a time (milliseconds). */
export interface RevocationRow {
  user_id: string;
  jti: string | null;
  issued_before: number | null;
  expires_at: number;
}

/** Decision on a login attempt: it continues at once, after others have been checked, or not now. */
export interface AttemptRow {
  state: "open" | "busy" | "refused";
  /** Names the attempt; null unless it may continue. */
  mark: string | null;
  retry_after_s: number;
  /** Whether a login of the subject succeeded in the last 30 days. */
  known: boolean;
}

/**
 * Stores an attempt of a subject before its password is checked, so that attempts made at once
 * cannot slip past the count of wrong ones. The row lock keeps concurrent attempts in order.
 */
export async function insertAttempt(db: Db, subject: string, max: number): Promise<AttemptRow> {
  const [row] = await db<AttemptRow[]>`
    insert into login_attempts as a (subject, pending) values (${subject}, array[clock_timestamp()])
    on conflict (subject) do update set (wrong, pending, state, updated_at) = (
      select s.wrong,
        case when s.free > 0 then s.pending || clock_timestamp() else s.pending end,
        case when s.free > 0 then 'open' when cardinality(s.wrong) >= ${max} then 'refused'
          else 'busy' end, clock_timestamp()
      from (
        select r.wrong, r.pending, ${max} - cardinality(r.wrong) - cardinality(r.pending) as free
        from (
          select array(select t from unnest(a.wrong) t
              where t > clock_timestamp() - interval '1 minute' order by t) as wrong,
            array(select t from unnest(a.pending) t
              where t > clock_timestamp() - interval '30 seconds' order by t) as pending) r) s)
    returning state, case when state = 'open' then pending[cardinality(pending)]::text end as mark,
      coalesce(ceil(extract(epoch from wrong[1] + interval '1 minute' - clock_timestamp())), 0)
        ::integer as retry_after_s,
      coalesce(right_at > now() - interval '30 days', false) as known`;
  return row;
}

/** Closes an attempt; only a wrong one continues to count, and a right one may be remembered. */
export async function closeAttempt(
  db: Db,
  attempt: { subject: string; mark: string; wrong: boolean; right: boolean },
): Promise<void> {
  const mark = db`${attempt.mark}::text::timestamptz`;
  await db`
    update login_attempts set pending = array_remove(pending, ${mark}),
      wrong = case when ${attempt.wrong}::boolean then wrong || ${mark} else wrong end,
      right_at = case when ${attempt.right}::boolean then now() else right_at end
    where subject = ${attempt.subject}`;
}

/** State of a user and its keys that decides a login. */
export interface EntryRow {
  verifier: string;
  roles: string[];
  scopes: string[];
  /** The database's time in milliseconds. */
  at: number;
  /** Ids of keys up to this time are revoked. */
  keysUntil: number;
}

/**
 * Locks a user's row against changes until the end of the transaction and reads its verifier and its
 * rights as they are now; null for a user who may not log in.
 */
export async function lockVerifier(tx: Tx, user: string): Promise<EntryRow | null> {
  const [row] = await tx<(Omit<EntryRow, "at" | "keysUntil"> & { at: string; until: string })[]>`
    select verifier, roles, scopes, keys_until as until,
      floor(extract(epoch from clock_timestamp()) * 1000)::bigint as at
    from users where id = ${user} and active and deleted_at is null for share`;
  if (row === undefined) return null;
  const { at, until, ...entry } = row;
  return { ...entry, at: Number(at), keysUntil: Number(until) };
}

/** Locks a user's row: logins that are being made come before or after this transaction. */
export async function lockUser(tx: Tx, user: string): Promise<void> {
  await tx`select from users where id = ${user} for update`;
}

/** Revokes keys of a user, and ends the logins that gave them; `expires_at` in milliseconds since the epoch. */
export async function insertRevocations(
  tx: Tx,
  { user, at }: { user: string; at: number },
  keys: readonly { id: string; jti: string; expires_at: number }[],
): Promise<void> {
  const rows = tx.json(keys as never);
  await tx`
    update logins set ended_at = clock_timestamp()
    where ctid = any (array(
      select l.ctid from jsonb_to_recordset(${rows}) r(jti uuid),
        lateral (select ctid from logins where id = r.jti and ended_at is null offset 0) l))`;
  await tx`
    insert into revocations (id, user_id, jti, expires_at, created_at)
    select r.id, ${user}, r.jti, to_timestamp(r.expires_at / 1000.0), ${at}
    from jsonb_to_recordset(${rows}) r(id uuid, jti uuid, expires_at bigint)`;
}

/**
 * Revokes all keys that a user has been given. The user's row is locked first: a login either has
 * its key before this moment, or sees the user as this transaction leaves it. The time up to which keys are revoked only
 * grows, and the next key gets a greater one, however wrong the database's clock was.
 *
 * @returns logins whose time is still to come, as after the database's clock was set back: their keys are not revoked yet
 */
export async function insertUserRevocation(
  tx: Tx,
  revocation: { id: string; user_id: string; expires_at: number; created_at: number },
): Promise<{ id: string; expires_at: number }[]> {
  await lockUser(tx, revocation.user_id);
  const ended = await tx<{ id: string; expires_at: number; is_ahead: boolean }[]>`
    update logins set ended_at = clock_timestamp()
    where user_id = ${revocation.user_id} and ended_at is null
    returning id, expires_at, created_at > clock_timestamp() as is_ahead`;
  await tx`
    with until as (
      update users set keys_until = greatest(keys_until + 1,
        floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
      where id = ${revocation.user_id} returning keys_until
    )
    insert into revocations (id, user_id, issued_before, expires_at, created_at)
    select ${revocation.id}, ${revocation.user_id}, to_timestamp(keys_until / 1000.0),
      ${revocation.expires_at}, ${revocation.created_at} from until`;
  return ended.filter(({ is_ahead }) => is_ahead);
}

/** Up to where revocations were read, and on which server: numbers of transactions mean nothing on another one. */
export interface RevocationsRead {
  horizon: string;
  /** When the server was started, in seconds since 1970, as a text. */
  server: string;
}

/** Revocations, up to where they were read, and the database's time in milliseconds since the epoch. */
export interface Revocations extends RevocationsRead {
  rows: RevocationRow[];
  at: number;
}

/**
 * Reads the revocations committed since an earlier call; all of them where another server answers, as where a standby has
 * taken its place, which may give numbers again that the last one gave. The horizon is the oldest transaction that was
 * still running then, so that a late commit is never skipped.
 */
export async function selectRevocations(
  db: Db,
  before: RevocationsRead | null,
): Promise<Revocations> {
  const read = await selectSince(db, before?.horizon ?? null);
  return before === null || read.server === before.server ? read : await selectSince(db, null);
}

async function selectSince(db: Db, horizon: string | null): Promise<Revocations> {
  const rows = await db<(RevocationRow & RevocationsRead & { at: string })[]>`
    select s.horizon, s.server, s.at, r.user_id, r.jti, r.issued_before, r.expires_at
    from (select pg_snapshot_xmin(pg_current_snapshot())::text as horizon,
      extract(epoch from pg_postmaster_start_time())::text as server,
      floor(extract(epoch from now()) * 1000)::bigint as at) s
    left join revocations r on r.expires_at > now()
      and ${horizon === null ? db`true` : db`r.xact >= ${horizon}::xid8`}`;
  const [{ horizon: reached, server, at }] = rows;
  return {
    ...{ horizon: reached, server, at: Number(at) },
    rows: rows.filter((row) => row.user_id !== null),
  };
}
