/**
 * Refusals of a role that a login has been granted. A session keeps a list of its login's roles, and makes it anew after each
 * change of roles. Where another change is committed while it does so, it keeps the list without that one, until roles change
 * again (PostgreSQL 15 to 18): a realm that was just made is refused there, and in no other session.
 * @module
 */
import { codeOf, isOfSetting } from "./errors.ts";
import type { Pool, Sql } from "./pool_types.ts";

/** Connections are replaced so often at most: a right that is really missing is missing in all. */
const RENEWAL_MS = 1_000;
/** When connections took the place of others that had refused a role. */
const openedAt = new WeakMap<Sql, number>();

/** Whether a session refused to take on a role, so that nothing of its transaction was done. */
export function isRoleRefused(error: unknown): boolean {
  return codeOf(error) === "42501" && isOfSetting(error);
}

/**
 * Replaces connections that refused a role, unless they just took the place of others.
 *
 * @param free when what runs on them has ended
 */
export function renewAfterRefusal(pool: Pool, sql: Sql, free: Promise<unknown>): void {
  if (performance.now() - (openedAt.get(sql) ?? -Infinity) < RENEWAL_MS) return;
  pool.renew(sql, free);
  openedAt.set(pool.sql, performance.now());
}
