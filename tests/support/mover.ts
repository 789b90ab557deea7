/**
 * Carries the move of a realm on in a process of its own, which kills itself at a step.
 * Arguments: the realm, the target, the step.
 *
 * @module
 */
import { readMigrations } from "../../db/migrate.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { PLATFORM_KEY, reach, testConfig } from "./realm.ts";

if (import.meta.main) {
  const [realm, to, step] = Deno.args;
  const database = reach(testConfig());
  const options = {
    database,
    migrations: await readMigrations(),
    secrets: openSecrets(PLATFORM_KEY),
    onStep(name: string) {
      if (name === step) Deno.kill(Deno.pid, "SIGKILL");
    },
  };
  await carryOn(options, await orderMove(options, { realm, to }, Date.now()));
  await database.close();
}
