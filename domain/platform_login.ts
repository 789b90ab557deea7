/** The login of the platform with which a process serves and works, instead of that of its address. @module */
import type { Database } from "../db/database.ts";
import { lockPlatformLogin, statePlatformRole, updatePlatformLogin } from "../db/platform_login.ts";
import { passwordsOf } from "../db/realm_logins.ts";
import { locking } from "../db/transaction.ts";

/**
 * Has the process go on with the rights that serving and working need. Where roles do not log in, it goes on as before.
 *
 * @returns whether it does; false also where the login was sealed with another platform key
 */
export async function serveWithLess(database: Database): Promise<boolean> {
  const { logins } = database;
  if (logins === undefined) return false;
  const login = await locking(database.builder, async (tx) => {
    const { id, login: known } = await lockPlatformLogin(tx);
    if (known !== null && logins.open(known, id) === null) return null;
    const sealed = known ?? logins.draw(id);
    if (known === null) await updatePlatformLogin(tx, sealed);
    const role = `platform_${id.replaceAll("-", "")}`;
    const password = passwordsOf({ id, role, login: sealed }, logins)!(role);
    await statePlatformRole(tx, role, password);
    return { role, password };
  });
  if (login !== null) database.serveAs(login);
  return login !== null;
}
