/** How many jobs run at a time, and how many of them of one realm. @module */

/** Realms that are polled, or whose jobs are claimed, at a time. */
export const REALMS_AT_ONCE = 4;
/** Jobs that run at a time in a process. */
export const JOBS_MAX = 200;
const REALM_JOBS_MAX = 20;
/** Where this many run, each realm has so many at most: the jobs of some that hang, on a node or a provider, leave room to all. */
const CROWDED: readonly { from: number; share: number }[] = [
  { from: 150, share: 1 },
  { from: 100, share: 4 },
];

/** Gives how many jobs a realm may have while so many of all realms run. */
export function realmShare(running: number): number {
  return CROWDED.find(({ from }) => running >= from)?.share ?? REALM_JOBS_MAX;
}

/** Gives how many of a realm's jobs may be of one kind, where it may have so many: kinds that hang leave some to others. */
export function kindShare(ofRealm: number): number {
  return Math.max(1, Math.floor(ofRealm * 0.75));
}

/** A claim that runs. */
export interface RunningClaim {
  /** The server of the realm's database. */
  server: string;
  /** Whether it has taken so long that it has given up its place, and the jobs that it could start. */
  late: boolean;
}

/**
 * Gives how many claims may be begun for realms of a server, or (null) of any. Realms of servers where a claim is late share
 * one place: however many of them hang, the other places are those of the remaining realms.
 */
export function claimsLeft(running: Iterable<RunningClaim>, server: string | null): number {
  const claims = [...running];
  const lateAt = new Set(claims.filter(({ late }) => late).map((one) => one.server));
  const placed = claims.filter(({ late }) => !late);
  const left = REALMS_AT_ONCE - placed.length;
  if (server === null || !lateAt.has(server)) return left;
  return placed.some((one) => lateAt.has(one.server)) ? 0 : Math.min(1, left);
}
