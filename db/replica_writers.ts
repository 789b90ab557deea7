/**
 * Users who may have changed something through this process a moment ago: what they read next shows it, so the replica
 * must be that far.
 * @module
 */

/** The last writes of users. */
export interface Writers {
  /** Notes that a user may have changed something now. */
  note(realm: string, user: string): void;
  /** When a user last may have; -Infinity where that is long ago. */
  last(realm: string, user: string): number;
}

const WRITERS_MAX = 100_000;

/** Opens the notes, each of which is forgotten after so long. */
export function openWriters(keptMs: number, max = WRITERS_MAX): Writers {
  const writers = new Map<string, number>(); // the longest silent first
  /** Of those who were forgotten too early, the last write. */
  let forgotten = -Infinity;
  const keyOf = (realm: string, user: string) => `${realm} ${user}`;
  return {
    note(realm, user) {
      const now = performance.now();
      const key = keyOf(realm, user);
      writers.delete(key);
      writers.set(key, now);
      for (const [oldest, at] of writers) {
        const isOld = at < now - keptMs;
        if (!isOld && writers.size <= max) break;
        writers.delete(oldest);
        if (!isOld) forgotten = Math.max(forgotten, at);
      }
    },
    last: (realm, user) => writers.get(keyOf(realm, user)) ?? forgotten,
  };
}
