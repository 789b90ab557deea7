/**
 * Logins of the platform with fewer rights, which a process uses instead of the login of its address.
 * @module
 */
import type { Database, ServingLogins } from "../../db/database.ts";
import { codeOf } from "../../db/errors.ts";
import {
  admitToRealms,
  lockPlatformLogin,
  makesRoles,
  statePlatformRole,
  stateWatchRole,
  updatePlatformLogin,
  watchRole,
} from "../../db/platform_login.ts";
import { passwordsOf } from "../../db/realm_logins.ts";
import { locking, reading } from "../../db/transaction.ts";

/** The server's code for a statement that a login has no right to. */
const DENIED = "42501";

/**
 * Limits the process to the rights that serving and working need. Where roles do not log in, it keeps
 * its rights.
 *
 * @param anew whether a new login is drawn where the stored one was encrypted with a lost platform key
 * @returns whether the rights are limited; false also where the login was encrypted with another platform key
 * @throws {Error} where the login of the address may make no role
 */
export async function serveWithLess(database: Database, anew = false): Promise<boolean> {
  const { logins } = database;
  if (logins === undefined) return false;
  const serving = await locking(database.builder, async (tx): Promise<ServingLogins | null> => {
    const { id, login: known } = await lockPlatformLogin(tx);
    const opens = known !== null && logins.open(known, id) !== null;
    if (known !== null && !opens && !anew) return null;
    const ciphertext = opens ? known : logins.draw(id);
    if (!opens) await updatePlatformLogin(tx, ciphertext);
    const loginOf = (role: string) => ({
      role,
      password: passwordsOf({ id, role, login: ciphertext }, logins)!(role),
    });
    const platform = loginOf(`platform_${id.replaceAll("-", "")}`);
    const watch = loginOf(watchRole(id));
    await statePlatformRole(tx, platform.role, platform.password);
    await stateWatchRole(tx, watch.role, watch.password);
    return { platform, watch };
  }).catch(explain);
  if (serving === null) return false;
  // Realms created from now on grant the role its rights on them.
  for (let after: string | null = null;;) {
    after = await locking(database.builder, (tx) => admitToRealms(tx, serving.watch.role, after));
    if (after === null) break;
  }
  database.serveAs(serving);
  return true;
}

/**
 * Checks that the login of the address can make roles, where it makes those of realms itself.
 *
 * @throws {Error} where it can make none
 */
export async function assertMakesRoles({ builder }: Database): Promise<void> {
  if (await reading(builder, makesRoles)) return;
  throw new Error(`no realm could be made: ${NEEDS}`);
}

const NEEDS = "the login of DATABASE_URL needs CREATEROLE, or REALM_ROLES=off where the database " +
  "lets nobody create roles";

/** Names the missing right of a login that may not create roles. */
function explain(error: unknown): never {
  if (codeOf(error) !== DENIED) throw error;
  const { message } = error as Error;
  throw new Error(`the role that serves the platform was refused (${message}): ${NEEDS}`, {
    cause: error,
  });
}
