/** Stored answers that show a profile: they are erased with it. @module */
import type { Tx } from "../../db/database.ts";
import { markAnswer } from "../../db/people/persons.ts";

/** Notes which person the answer under an idempotency key shows, or which identity that had no person then. */
export async function markProfile(tx: Tx, key: string, profile: string): Promise<void> {
  await markAnswer(tx, key, profile);
}
