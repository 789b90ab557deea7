/** Quarantines every ramp of an installation whose database cannot be trusted. @module */
import type { Database } from "../../db/database.ts";
import { goThrough } from "../../db/realms/realm_rounds.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { serializable } from "../../db/transaction.ts";
import { noteEndedLogins } from "../../domain/identity/restored_keys.ts";
import { newId } from "../../domain/ids.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import type { Log } from "../../log.ts";
import { workerActor } from "../worker_context.ts";

/**
 * Quarantines all ramps of all realms, or of some; begins their quarantine anew, unless it goes on. A realm whose database is away does not sign either: the fence is closed.
 *
 * @param how.endsLogins whether the installation was halted just now, which has ended every login
 */
export async function quarantineAll(
  database: Database,
  log: Log,
  detail: string,
  { only, goesOn = false, endsLogins = false }: {
    only?: readonly string[];
    goesOn?: boolean;
    endsLogins?: boolean;
  } = {},
): Promise<void> {
  const since = Date.now();
  const poolOf = (realm: RealmRow) => database.sharedPool(locationOf(realm));
  await goThrough(database.platform, {
    only,
    poolOf,
    serverOf: (realm) => database.serverOf(locationOf(realm)),
    async work(realm) {
      const at = Date.now();
      const actor = workerActor(realm, newId(at), at);
      const ramps = await serializable(
        poolOf(realm),
        (tx) => quarantine(tx, actor, null, detail, goesOn),
      );
      if (ramps.length > 0) log("error", "ramps are in quarantine", { realm: realm.id });
      if (!endsLogins) return;
      // Apart from the quarantine, which must not fail where many log in. Who has logged in meanwhile stays.
      await serializable(poolOf(realm), (tx) => noteEndedLogins(tx, at, since)).catch((error) =>
        log("warn", "lists show logins that have ended", { realm: realm.id, error })
      );
    },
    fail: (realm, error) =>
      log("error", "a realm could not be quarantined", { realm: realm.id, error }),
  });
}
