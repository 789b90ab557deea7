/**
 * Seats: how many requests may be at the database of a realm at once, and for how long. Whoever finds
 * none free is told to come back, before memory grows; and nobody waits for ever on a connection that
 * was lost at a moment when the driver does not notice.
 * @module
 */
import { DomainError } from "../domain/errors.ts";

const SEATS_MAX = 1000;
/** Longer than any statement may run, so that the database's own answer comes first. */
const PATIENCE_MS = 60_000;

const taken = new WeakMap<object, number>();

/**
 * Does work that uses a pool, if a seat is free there.
 *
 * @throws {DomainError} service.overloaded
 */
export async function seated<T>(pool: object, work: () => Promise<T>): Promise<T> {
  const before = taken.get(pool) ?? 0;
  if (before >= SEATS_MAX) throw busy("too many requests are waiting in this realm");
  taken.set(pool, before + 1);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(busy("the database did not answer in time")), PATIENCE_MS);
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
    taken.set(pool, taken.get(pool)! - 1);
  }
}

function busy(message: string): DomainError {
  return new DomainError("service.overloaded", message, { retryAfterS: 1 });
}
