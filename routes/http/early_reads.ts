/**
 * Early reads: what a request needs to know before its command or its answer. Like all of a request's work they take a
 * place in their realm's concurrency limit, or a turn at the platform's database.
 * @module
 */
import { type Db, isKept, runQuery } from "../../domain/command.ts";
import { beforehand } from "../../domain/failures.ts";
import { readingPlatform, withConcurrencyLimit } from "./concurrency_limit.ts";
import type { Call } from "./route.ts";

/** Runs early reads in the caller's realm. @throws {DomainError} service.overloaded */
export function readEarly<P, Q, B, T>(
  { realm, actor }: Call<P, Q, B>,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const { pool } = realm!;
  return beforehand(withConcurrencyLimit(pool, () => runQuery(pool, work), actor));
}

/** Whether the answer of a request is kept under its key already. @throws {DomainError} service.overloaded */
export async function isRepeat<P, Q, B>(call: Call<P, Q, B>): Promise<boolean> {
  const { realm, actor, idempotency } = call;
  if (idempotency === null) return false;
  const { pool } = realm!;
  return await beforehand(withConcurrencyLimit(pool, () => isKept(pool, idempotency), actor));
}

/** Runs early reads in the platform's database, for a user of a realm. @throws {DomainError} service.overloaded */
export function readPlatformEarly<P, Q, B, T>(
  call: Call<P, Q, B>,
  work: () => Promise<T>,
): Promise<T> {
  const { actor } = call;
  const caller = { user: actor.user, signal: call.signal() };
  return beforehand(readingPlatform(actor.realm.id, work, caller));
}
