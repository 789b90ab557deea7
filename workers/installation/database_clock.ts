/**
 * Time of a process by the database's clock. What one process writes, such as when a delivery is due
 * again, others compare with their own time: one whose clock is wrong would stop them, or have
 * receivers refuse what it signs.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { reading } from "../../db/transaction.ts";

/** A clock of a process. */
export interface DatabaseClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Compares with the database, unless that was done lately; what cannot be read changes nothing. */
  compare(): Promise<void>;
}

const COMPARE_MS = 10_000;
/** Differences below are the time that the question takes. */
const APART_MIN_MS = 1000;

/** Opens a clock that follows the database's, and is the process's own until it is first compared. */
export function openDatabaseClock(platform: Pool, local: () => number): DatabaseClock {
  let [apart, comparedAt] = [0, -Infinity];
  return {
    now: () => local() + apart,
    async compare() {
      if (performance.now() - comparedAt < COMPARE_MS) return;
      const before = local();
      const there = await reading(platform, selectDatabaseTime).catch(() => null);
      if (there === null) return;
      comparedAt = performance.now();
      const found = Math.round(there - (before + local()) / 2);
      apart = Math.abs(found) < APART_MIN_MS ? 0 : found;
    },
  };
}
