/**
 * Carries the move of a realm on in a process of its own, which kills itself at a step. It reads no more of the service
 * than a move needs. Arguments: the realm, the target, the step.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { readMigrations } from "../../db/migrate.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { loginsUnder, openSecrets } from "../../domain/security/serving_secrets.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";

/** Runs a mover of the installation of a database, which ends itself at a step; gives the signal that ended it. */
export async function killedMover(
  { realm, to, step, url, platformKey }: {
    realm: string;
    to: string;
    step: string;
    url: string;
    platformKey: string;
  },
): Promise<Deno.Signal | null> {
  const flags = ["run", "-A", "--no-check", "--config", "tests/deno.json"];
  const { signal } = await new Deno.Command(Deno.execPath(), {
    args: [...flags, new URL(import.meta.url).pathname, realm, to, step],
    env: { DATABASE_URL: url, PLATFORM_KEY: platformKey },
    stdout: "null",
    stderr: "inherit",
  }).output();
  return signal;
}

if (import.meta.main) {
  const [realm, to, step] = Deno.args;
  const secrets = openSecrets(Deno.env.get("PLATFORM_KEY")!);
  const database = openDatabase({
    url: Deno.env.get("DATABASE_URL")!,
    prepare: true,
    parseJson: parseStoredJson,
    decryptUrl: (encryptedUrl, id) => secrets.decrypt("database_url", id, encryptedUrl),
    logins: loginsUnder(secrets),
  });
  const options = {
    ...{ database, migrations: await readMigrations(), secrets },
    onStep(name: string) {
      if (name === step) Deno.kill(Deno.pid, "SIGKILL");
    },
  };
  await carryOn(options, await orderMove(options, { realm, to }, Date.now()));
  await database.close();
}
