/** Transfers that are tried: every rule is applied by the same code, and nothing stays. @module */
import type { Pool } from "../../db/database.ts";
import { openDryRunQueue } from "../../db/ledger/dry_run_queue.ts";
import type { PostingContext } from "./transactions.ts";

/** Gives a queue that answers what would happen. */
export function dryRunQueue(pool: Pool): PostingContext["queue"] {
  return openDryRunQueue(pool);
}
