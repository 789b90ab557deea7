/** Transfers that are tried: every rule is applied by the same code, and nothing stays. @module */
import type { Pool } from "../db/database.ts";
import { openTrialLane } from "../db/trial_lane.ts";
import { newIds } from "./ids.ts";
import type { Road } from "./transactions.ts";

/**
 * Gives a lane that answers what would happen.
 *
 * @param at the time of the request, in milliseconds since the epoch
 */
export function trialLane(pool: Pool, at: number): Road["lane"] {
  return openTrialLane(pool, (count) => newIds(at, count));
}
