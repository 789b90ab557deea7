/** Indices of addresses, and numbers of ramps, that are passed over after a restore. @module */

/** Indices and numbers after a reconciliation count the seconds since then, 2026-01-01. */
const COUNTED_FROM_MS = Date.UTC(2026, 0, 1);
/** The last that has room beyond it. */
const BEYOND_MAX = 2 ** 31 - 2 ** 24;

/** The time of a reconciliation, in milliseconds, and what follows for indices and numbers given after it. */
export interface PassedTime {
  readonly now: number;
  /** The least of all. */
  readonly beyond: number;
  /** The last that the time since the newest may lead to. */
  readonly last: number;
}

/** States what follows from the time of a reconciliation. */
export function passedTime(now: number): PassedTime {
  return { now, beyond: beyondEarlier(now), last: BEYOND_MAX };
}

/**
 * The least index of addresses, and number of ramps, that is given after a reconciliation. One backup may be
 * restored twice, and nothing in it tells how many were given between: those of a later reconciliation lie
 * beyond, unless more than one was given each second.
 */
function beyondEarlier(now: number): number {
  return Math.min(BEYOND_MAX, Math.max(0, Math.floor((now - COUNTED_FROM_MS) / 1000)));
}
