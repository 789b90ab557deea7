/**
 * Standing of a caller: whether a request that has waited may still be done. Its key may have ended, or its rights may
 * have been narrowed, while its body came in, while it waited for its turn, or while the database was away.
 * @module
 */
import type { Actor } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Caller } from "./authentication.ts";

/** The standing of a request's caller: data, because many requests keep one while they wait, and functions are larger. */
export interface Standing extends CallerReading {
  now(): number;
  /** The caller as it was read last; null until then. */
  caller: Caller | null;
  /** When that was asked. */
  askedAt: number;
}

/** How the caller of a request is read, at a time. */
export interface CallerReading {
  /** Authenticates the request. */
  read(at: number): Promise<Caller> | Caller;
  /** Asks the realm's own database alone about a caller that was read before. */
  confirm(caller: Caller, at: number): Promise<Caller> | Caller;
}

/** So long a request goes on without another question. Most requests are answered sooner, and ask nothing. */
const ASKED_MS = 100;

/** Opens the standing of a caller. Only keys of a realm end while the process runs. */
export function openStanding(now: () => number, { read, confirm }: CallerReading): Standing {
  return { now, read, confirm, caller: null, askedAt: 0 };
}

/** Reads the caller. @throws {DomainError} auth.*, rate.limited */
export function admit(standing: Standing): Promise<Caller> | Caller {
  const at = standing.now();
  const found = standing.read(at);
  return found instanceof Promise
    ? found.then((one) => keep(standing, one, at))
    : keep(standing, found, at);
}

/** Keeps an answer, which is as old as its question: the key may have ended while a slow database answered. */
function keep(standing: Standing, found: Caller, at: number): Caller {
  standing.askedAt = at;
  return standing.caller = found;
}

/**
 * Reads the caller again, unless that was done just now.
 *
 * @throws {DomainError} auth.* where its key has ended
 */
export function admitAgain(standing: Standing): Promise<Caller> | Caller {
  return isKnown(standing) ? standing.caller! : admit(standing);
}

// A clock that was set back says nothing about the time that has passed.
function isKnown({ caller, now, askedAt }: Standing): boolean {
  return caller!.realm === null || Math.abs(now() - askedAt) < ASKED_MS;
}

/** Reads the caller anew; null if its key is no longer valid. Rejected where nobody can tell. */
export async function actorNow({ read, now }: Standing): Promise<Actor | null> {
  try {
    return (await read(now())).actor;
  } catch (error) {
    if (isEnded(error)) return null;
    throw error;
  }
}

/**
 * Asks whether the caller may still do what it was admitted for: null where that was asked just now, else the reason
 * why it may not, if there is one. Asked inside of transactions, so of the realm's own database alone. Rejected where
 * nobody can tell.
 */
export function lostStanding(standing: Standing): Promise<DomainError | null> | null {
  return isKnown(standing) ? null : compare(standing);
}

async function compare(standing: Standing): Promise<DomainError | null> {
  const then = standing.caller!;
  const at = standing.now();
  try {
    const lost = narrowed(then, await standing.confirm(then, at));
    if (lost === null) standing.askedAt = at; // who has lost it is not known to have it when asked again
    return lost;
  } catch (error) {
    if (isEnded(error)) return error;
    throw error;
  }
}

/** Whether an error says that a key has ended. Others, such as that too many wait, say nothing about it. */
function isEnded(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code.startsWith("auth.");
}

/** Refuses a request that was admitted with rights that its key has no longer; a repeat is judged by those it has. */
function narrowed({ actor: then }: Caller, { actor: now }: Caller): DomainError | null {
  const keeps = then.roles.every((role) => now.roles.includes(role)) &&
    then.scopes.every((scope) => now.scopes.includes(scope));
  if (keeps) return null;
  return new DomainError(
    "auth.revoked",
    "the rights of this key were narrowed while the request waited: repeat it",
  );
}
