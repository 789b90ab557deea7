/** Translates failures of the database into problems: busy, too slow, or internal. @module */
import {
  brokenConstraint,
  Contention,
  isContention,
  isDisconnect,
  isLeftOpen,
  isTimeout,
  isUnavailable,
  mayBeDone,
} from "../db/errors.ts";
import { DomainError } from "./errors.ts";

/**
 * Waits for what must be known before anything is done for good. Nothing was done where it fails, also where its own answer
 * was lost.
 */
export async function beforehand<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (cause) {
    if (!mayBeDone(cause)) throw cause;
    throw new Contention("what must be known first was not answered", { cause });
  }
}

/** Waits for a read of what was done. Where it cannot be read now it may not be said that nothing was done. */
export async function afterwards<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    if (failureOf(cause) === null) throw cause;
    throw new Contention("what was done cannot be read now", { cause, mayBeDone: true });
  }
}

/** The failure of work that the database has not answered for so long that nobody waits any more: it may be done yet. */
export function unanswered(): Error {
  return new Contention("the database did not answer in time", { mayBeDone: true });
}

/** Constraints that a row of a caller breaks whose user has gone, or has fewer rights than when its key was given. */
const OF_CALLERS = /_owner_fkey$|^api_keys_within_user$/;

/** Describes a failure to the caller; null for an internal one. */
export function failureOf(error: unknown): DomainError | null {
  if (error instanceof DomainError) return error;
  if (OF_CALLERS.test(brokenConstraint(error) ?? "")) {
    const message = "the user of this key has gone, or has fewer rights now: log in again";
    return new DomainError("auth.revoked", message);
  }
  if (mayBeDone(error)) {
    return new DomainError(
      "service.overloaded",
      "the database's answer was lost: what was asked may have been done; " +
        "repeat it under its idempotency key",
      { retryAfterS: 1 },
    );
  }
  const passes = isContention(error) || isDisconnect(error) || isLeftOpen(error);
  if (error instanceof Contention || passes) {
    return new DomainError("service.overloaded", "the service is busy: try again shortly", {
      retryAfterS: 1,
    });
  }
  if (isUnavailable(error)) {
    return new DomainError("service.overloaded", "the database cannot serve this realm now", {
      retryAfterS: 5,
    });
  }
  if (isTimeout(error)) {
    return new DomainError("service.overloaded", "this took too long: ask for less", {
      retryAfterS: 5,
    });
  }
  return null;
}
