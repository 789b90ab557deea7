/**
 * Migrates the realms of a database in a process of its own, which a test kills. Arguments: the texts of
 * further migrations of realms.
 *
 * @module
 */
import { readMigrations } from "../../db/migrate.ts";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import { oneMore } from "./one_more_migration.ts";
import { reach, testConfig } from "./realm.ts";

if (import.meta.main) {
  const database = reach(
    testConfig({ DATABASE_PREPARE: Deno.env.get("DATABASE_PREPARE") ?? "on" }),
  );
  await migrateRealms(database, oneMore(await readMigrations(), ...Deno.args), () => {});
  await database.close();
}
