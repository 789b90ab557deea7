/**
 * Imported before the test files of a group: gives them a database, and before a test another one where the last has
 * hardly any spare schemas left. PostgreSQL finds a function by its name among those of all schemas, so of a database
 * with many realms each session begins slowly.
 *
 * @module
 */
import { lacksDatabase, nextDatabase, testDatabaseUrl } from "./database.ts";
import { SPARES, sparesTaken } from "./spare_schemas.ts";

/** Realms that a test may make, as a rule. */
const OF_A_TEST = 2;

// What these processes start has the allocator that users' have, which the launcher chooses; one that may run few
// programs may start none with a library of this environment.
Deno.env.delete("LD_PRELOAD");

/** Whether the next test may find no spare schema; those of a database of a test's own are not among the group's. */
function isUsedUp(): boolean {
  const name = new URL(testDatabaseUrl()).pathname.slice(1);
  return sparesTaken(name) > SPARES - OF_A_TEST;
}

// A database that could not be made is asked for again before the next test: that one alone fails.
Deno.test.beforeAll(() => nextDatabase().catch((error) => console.error(error)));
Deno.test.beforeEach(async () => {
  if (lacksDatabase() || isUsedUp()) await nextDatabase();
});
