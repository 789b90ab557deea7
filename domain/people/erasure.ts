/** Stored answers that show a profile: they are erased with it. @module */
import type { Tx } from "../../db/database.ts";
import { markAnswer } from "../../db/people/persons.ts";

/** Notes whose profile the answer under an idempotency key shows. */
export async function markProfile(tx: Tx, key: string, identity: string): Promise<void> {
  await markAnswer(tx, key, identity);
}
