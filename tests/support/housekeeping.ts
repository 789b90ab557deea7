/**
 * Lets the timetable do in one realm what it does from time to time.
 *
 * @module
 */
import { deleteOldAnswers } from "../../db/kept_answers.ts";
import { locking } from "../../db/transaction.ts";
import type { TestRealm } from "./realm.ts";

/** Forgets kept answers as the timetable does. */
export async function purgeExpired(realm: TestRealm): Promise<void> {
  await locking(realm.pool, (tx) => deleteOldAnswers(tx, 1000));
}
