/**
 * When deliveries are tried again (contract, section 13.2), and when a receiver that always fails is
 * asked no more.
 * @module
 */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Pauses after the first attempts; after these it is tried every four hours. */
const PAUSES_MS: readonly number[] = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS],
  ...[10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS],
];
const LATER_MS = 4 * HOUR_MS;
const GIVE_UP_MS = 24 * HOUR_MS;
/** The most that jitter adds, as a part of the pause. */
const JITTER = 0.1;
/** Failures in a row after which a receiver counts as down. */
export const DOWN_AFTER = 20;
const PROBE_FIRST_MS = 5 * SECOND_MS;
const PROBE_MAX_MS = MINUTE_MS;
/** A receiver that fails for this long is disabled. */
export const DISABLE_AFTER_MS = 3 * 24 * HOUR_MS;

/**
 * When a delivery is tried again after a failure; null: it is given up.
 *
 * @param attempts how many there were, with the one that failed
 * @param random from 0 to 1
 */
export function retryAt(
  { attempts, firstAt, at }: { attempts: number; firstAt: number; at: number },
  random: number,
): number | null {
  const pause = PAUSES_MS[attempts - 1] ?? LATER_MS;
  const next = at + Math.round(pause * (1 + JITTER * random));
  return next - firstAt > GIVE_UP_MS ? null : next;
}

/**
 * When a receiver is asked again; null: at once. One that is down is asked by one delivery at a
 * time, so that neither it nor the service pays for a backlog that cannot be delivered.
 */
export function resumeAt(failures: number, at: number): number | null {
  if (failures < DOWN_AFTER) return null;
  return at + Math.min(PROBE_MAX_MS, PROBE_FIRST_MS * 2 ** Math.min(10, failures - DOWN_AFTER));
}
