/** Workers as the commands `start` and `worker` run them. @module */
import { type Config, ConfigError } from "../config.ts";
import { RecordError } from "../workers/installation/epoch_record.ts";
import type { Runner } from "../workers/jobs/runner.ts";
import { startWorkers } from "../workers/schedule/start.ts";
import { type CommandContext, StartError } from "./context.ts";

/** Workers keep the record of their host in a file, unless the epoch is named. */
export async function assertRecord({ dataDir, installationEpoch }: Config): Promise<void> {
  if (installationEpoch !== null) return;
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path: dataDir });
    if (state === "granted") continue;
    throw new ConfigError([
      `workers need the right to ${name} DATA_DIR (${dataDir}), or INSTALLATION_EPOCH; WORKERS=off needs neither`,
    ]);
  }
}

/**
 * Starts the workers of a process.
 *
 * @param isCrowded whether transfers crowd it; a process that only works posts none
 */
export async function runWorkers(
  { config, database, migrations, log, masterKey, provisioning }: CommandContext,
  isCrowded?: () => boolean,
): Promise<Runner> {
  const edge = Deno.env.get("DENO_DEPLOYMENT_ID") !== undefined;
  const { secrets } = provisioning;
  const given = { config, database, migrations, log, secrets, edge, isCrowded };
  try {
    return await startWorkers({ ...given, masterKey: masterKey! });
  } catch (error) {
    if (error instanceof RecordError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
