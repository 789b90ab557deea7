/** How many jobs run at a time, and how many of them of one realm. @module */

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
