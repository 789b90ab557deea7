/** Statements on logins, each with the user key that it gave. @module */
import type { Db, Tx } from "../database.ts";

/** A login as stored. Its id is the jti of the key that it gave. */
export interface LoginRow {
  id: string;
  user_id: string;
  method: "password" | "totp" | "recovery_code";
  address: string | null;
  agent: string | null;
  last_used_at: number | null;
  expires_at: number;
  created_at: number;
}

const COLUMNS = [
  "id",
  "user_id",
  "method",
  "address",
  "agent",
  "last_used_at",
  "expires_at",
  "created_at",
] as const;

/** Adds a login. */
export async function insertLogin(tx: Tx, login: Omit<LoginRow, "last_used_at">): Promise<void> {
  await tx`insert into logins ${tx(login)}`;
}

/** Reads a user's logins that have not ended, the newest first. */
export async function selectLogins(db: Db, user: string, at: number): Promise<LoginRow[]> {
  return await db<LoginRow[]>`
    select ${db(COLUMNS)} from logins
    where user_id = ${user} and ended_at is null and expires_at > ${at}
    order by created_at desc, id desc`;
}

/**
 * Ends logins of a user that have not ended, and gives them.
 *
 * @param which one of them, all but one, or all but the newest so many
 */
export async function endLogins(
  tx: Tx,
  user: string,
  which: { id: string } | { except: string } | { beyond: number },
): Promise<{ id: string; expires_at: number }[]> {
  const those = "id" in which
    ? tx`id = ${which.id}`
    : "except" in which
    ? tx`id <> ${which.except}`
    : tx`id in (select id from logins where user_id = ${user} and ended_at is null
        and expires_at > clock_timestamp() order by created_at desc, id desc
        offset ${which.beyond})`;
  return await tx<{ id: string; expires_at: number }[]>`
    update logins set ended_at = clock_timestamp()
    where user_id = ${user} and ended_at is null and expires_at > clock_timestamp() and ${those}
    returning id, expires_at`;
}

/** Stores when logins were last used (milliseconds). */
export async function markLoginsUsed(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  await db`
    update logins l set last_used_at = to_timestamp(q.at / 1000)
    from unnest(${[...uses.keys()]}::text[]::uuid[], ${
    [...uses.values()].map(String)
  }::text[]::float8[]) q(id, at)
    where l.id = q.id and (l.last_used_at is null or l.last_used_at < to_timestamp(q.at / 1000))`;
}

/** Ends the logins of all users up to a time (milliseconds), for lists: their keys are refused by another way. */
export async function endAllLogins(tx: Tx, since: number): Promise<void> {
  await tx`
    update logins set ended_at = clock_timestamp()
    where ended_at is null and created_at <= to_timestamp(${since}::float8 / 1000)`;
}
