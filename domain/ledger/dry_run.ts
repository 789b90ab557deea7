/** Transfers that are tried: every rule is applied by the same code, and nothing stays. @module */
import type { Pool } from "../../db/database.ts";
import { openTrialLane } from "../../db/ledger/dry_run_queue.ts";
import type { Road } from "./transactions.ts";

/** Gives a lane that answers what would happen. */
export function trialLane(pool: Pool): Road["lane"] {
  return openTrialLane(pool);
}
