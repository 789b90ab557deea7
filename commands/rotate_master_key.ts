/** The command `rotate-master-key`. @module */
import { ConfigError } from "../config.ts";
import { rotateMasterKey } from "../workers/installation/master_key_rotation.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** Changes the master key to `NEW_MASTER_KEY`. */
export async function rotateMaster(
  { config, database, log, masterKey: from }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  if (from === null || config.newMasterKey === null) {
    throw new ConfigError([
      "MASTER_KEY and NEW_MASTER_KEY are needed: the key in use and the next",
    ]);
  }
  const count = await rotateMasterKey({ database, log, from, to: config.newMasterKey });
  // The launcher puts a key that it made in its place by itself.
  const next = args.includes("--own-key-file")
    ? ""
    : " Set MASTER_KEY to NEW_MASTER_KEY and start again.";
  console.log(`${count} secrets are under the new master key.${next}`);
}
