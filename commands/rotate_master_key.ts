/** The command `rotate-master-key`. @module */
import { ConfigError } from "../config.ts";
import { rotateMasterKey } from "../workers/installation/master_key_rotation.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** Changes the master key to `NEW_MASTER_KEY`; the exit code is 1 where a realm has failed. */
export async function rotateMaster(
  { config, database, log, masterKey: from }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  if (from === null || config.newMasterKey === null) {
    throw new ConfigError([
      "MASTER_KEY and NEW_MASTER_KEY are needed: the key in use and the next",
    ]);
  }
  const { count, failed } = await rotateMasterKey({
    ...{ database, log, from, to: config.newMasterKey },
  });
  if (failed.length > 0) {
    Deno.exitCode = 1; // the launcher leaves a key that it made where it is
    console.error(
      `${count} secrets were put under the new master key. Keep the old one, and run this again:` +
        ` realms whose secrets may still be under it: ${failed.length}`,
    );
    for (const { realm, name, fault } of failed) {
      console.error(`  realm ${name} (${realm}): FAILED: ${fault}`);
    }
    return;
  }
  // The launcher puts a key that it made in its place by itself.
  const next = args.includes("--own-key-file")
    ? ""
    : " Set MASTER_KEY to NEW_MASTER_KEY and start again.";
  console.log(`${count} secrets are under the new master key.${next}`);
}
