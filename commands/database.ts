/** Prepares the database for a command: migrations, the platform key, and fewer rights to serve with. @module */
import { schemaExists } from "../db/backup/catalog.ts";
import { selectUnfinished } from "../db/backup/rebuilding.ts";
import { reading } from "../db/transaction.ts";
import { assertEncoding, migrateAll } from "../domain/realms/migrations.ts";
import { claimPlatformKey, refuseOtherKey } from "../domain/security/platform_key.ts";
import { assertMakesRoles, serveWithLess } from "../domain/security/platform_login.ts";
import { makingAlone } from "../workers/backup/restore_lock.ts";
import { type CommandContext, failStart, StartError } from "./context.ts";

/**
 * Brings the database up to date. A process with another platform key changes nothing.
 *
 * @param anew whether the platform key was lost, and this one replaces it
 * @returns the realms that could not be migrated
 */
export async function prepareDatabase(
  context: CommandContext,
  anew: boolean,
): Promise<string[]> {
  const { database } = context;
  await assertEncoding(database).catch(failStart);
  // Roles of realms, who could keep the lock of restores, exist where there is an installation alone.
  if (await reading(database.builder, (db) => schemaExists(db, "platform"))) {
    return await bringUpToDate(context, anew);
  }
  return await makingAlone(database, () => bringUpToDate(context, anew));
}

async function bringUpToDate(
  { database, migrations, log, progress, provisioning }: CommandContext,
  anew: boolean,
): Promise<string[]> {
  const { builder } = database;
  if (await reading(builder, selectUnfinished)) {
    throw new StartError(
      "a restore into this database has not ended: run `deno task restore` again",
    );
  }
  if (!anew) await refuseOtherKey(builder, provisioning.secrets).catch(failStart);
  return await migrateAll(database, migrations, log, {
    entitle: () => claimPlatformKey(builder, provisioning.secrets, anew).catch(failStart),
    progress,
  });
}

/**
 * Gives up the rights of the login of DATABASE_URL where the platform's role can log in; asserts that they
 * suffice where it cannot.
 */
export async function reduceRights(
  { database, config, log }: CommandContext,
  anew = false,
): Promise<void> {
  // Behind a pooler, and where there are no roles or none log in, the login of the address is the only one.
  const { realmRoles, realmLogins, databasePrepare } = config;
  if (!realmRoles) return;
  if (!realmLogins || !databasePrepare) return await assertMakesRoles(database).catch(failStart);
  if (await serveWithLess(database, anew).catch(failStart)) return;
  log("warn", "the platform is served with all rights: its login was encrypted under another key");
}
