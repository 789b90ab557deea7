/** Stored answers that show a profile: they are erased with it. @module */
import type { Tx } from "../../db/database.ts";
import { markAnswer } from "../../db/people/persons.ts";

/** Notes which person the answer under an idempotency key shows. */
export async function markProfile(tx: Tx, key: string, person: string): Promise<void> {
  await markAnswer(tx, key, person);
}
