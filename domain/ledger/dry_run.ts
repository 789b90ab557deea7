/** Dry run of transfers: the same code applies every rule, and nothing is stored. @module */
import type { Pool } from "../../db/database.ts";
import { openDryRunQueue } from "../../db/ledger/dry_run_queue.ts";
import type { PostingContext } from "./transactions.ts";

/** Gives a posting queue that rolls back its postings. */
export function dryRunQueue(pool: Pool): PostingContext["queue"] {
  return openDryRunQueue(pool);
}
