/**
 * Imported before the test files of a group: gives them a database, and before a test another one where the last has
 * hardly any spare schemas left. PostgreSQL finds a function by its name among those of all schemas, so of a database
 * with many realms each session begins slowly.
 *
 * @module
 */
import { lacksDatabase, nextDatabase } from "./database.ts";
import { SPARES, sparesTaken } from "./spare_schemas.ts";

/** Realms that a test may make, as a rule. */
const OF_A_TEST = 2;

// What these processes start has the allocator that users' have, which the launcher chooses; one that may run few
// programs may start none with a library of this environment.
Deno.env.delete("LD_PRELOAD");

let before = 0;

/** A database that could not be made is asked for again before the next test: that one alone fails. */
async function next(): Promise<void> {
  await nextDatabase();
  before = sparesTaken();
}

Deno.test.beforeAll(() => next().catch((error) => console.error(error)));
Deno.test.beforeEach(async () => {
  if (lacksDatabase() || sparesTaken() - before > SPARES - OF_A_TEST) await next();
});
