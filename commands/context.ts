/** The context of a command: configuration, log and database, opened before the command runs. @module */
import { type Config, ConfigError, readSettings, takeEnvironment } from "../config.ts";
import { type CommandName, mayOpenSecrets, UsageError } from "../config/usages.ts";
import { type Database, openDatabase } from "../db/database.ts";
import { type Migrations, readMigrations } from "../db/migrate.ts";
import { applyAssets } from "../domain/chains/asset_settings.ts";
import { faultsOfNetworks, ofAssets } from "../domain/chains/setting_faults.ts";
import { DomainError } from "../domain/errors.ts";
import { parseStoredJson } from "../domain/json.ts";
import type { ProvisioningOptions } from "../domain/realms/provisioning.ts";
import { presentAddress } from "../domain/realms/realm_locations.ts";
import { loginsUnder, openSecrets } from "../domain/security/serving_secrets.ts";
import { bufferLines, createLog, type LineOutput, type Log, openLineOutput } from "../log.ts";
import { openProgress, type Progress, standardError } from "../progress.ts";
import { asksForTraces, openTracing, traceFaults } from "../tracing.ts";

/** Longest wait of an ending process for the reader of its last lines. */
const LAST_LINES_MS = 1000;

/** Inputs of every command. */
export interface CommandContext {
  config: Config;
  log: Log;
  /** Lines of the log that could not be written, since the process began. */
  lostLines: () => number;
  /** Shows how far long work is. */
  progress: Progress;
  platformKey: string;
  /** Decrypts the secrets at rest; null in a process that only serves. */
  masterKey: string | null;
  database: Database;
  migrations: Migrations;
  /** Inputs of provisioning a realm. */
  provisioning: ProvisioningOptions;
  /** Closes the database. */
  close(): Promise<void>;
}

/** Arguments of a command. */
export interface Invocation {
  /** The arguments after the command's name. */
  args: readonly string[];
  /** Resolved with the name of the signal that ends the process. */
  ending: Promise<string>;
}

/** Runs one command of the service. */
export type Command = (context: CommandContext, invocation: Invocation) => Promise<void>;

/** The process cannot run the command; the message is for the operator. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Rejects with a message for the operator alone, without the stack. */
export function failStart(cause: Error): never {
  throw new StartError(cause.message, { cause });
}

/** Whether the operator sees only the message of an error. */
export function isExpected(error: unknown): error is Error {
  return error instanceof ConfigError || error instanceof UsageError ||
    error instanceof DomainError || error instanceof StartError || isOfFiles(error);
}

/** Whether a file or folder that the operator names could not be used: the message has its path. */
function isOfFiles(error: unknown): boolean {
  const { NotFound, PermissionDenied, NotCapable, IsADirectory, NotADirectory } = Deno.errors;
  return [NotFound, PermissionDenied, NotCapable, IsADirectory, NotADirectory]
    .some((kind) => error instanceof kind) && /'[^']+'|"[^"]+"/.test((error as Error).message);
}

/** Listens; where something else has the port, says which. @throws {StartError} */
export function listen(
  { host, port }: Pick<Config, "host" | "port">,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ port, hostname: host, onListen: () => {} }, handler);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    const taken = `${host}:${port} is in use by another process`;
    throw new StartError(`${taken}: end that one, or set another PORT`, { cause: error });
  }
}

/**
 * Reads the configuration and opens the database.
 *
 * @param serving whether the process serves: its standard error is a log, which tells of each migration
 * @throws {ConfigError} with every fault of the configuration
 */
export async function openContext(name: CommandName, serving: boolean): Promise<CommandContext> {
  const taken = await takeEnvironment();
  // A command that needs no master key is not asked for one.
  const env = mayOpenSecrets(name) ? taken : { ...taken, WORKERS: "off" };
  const terminal = Deno.stderr.isTerminal();
  const { config, faults: found } = readSettings(env, terminal);
  const faults = [
    ...found,
    ...traceFaults(env),
    ...(await applyAssets(config.assets)).map(ofAssets),
    ...faultsOfNetworks(config),
  ];
  if (config.databaseUrl === null && !found.some((fault) => fault.startsWith("DATABASE_URL "))) {
    faults.push("DATABASE_URL is missing; `deno task start` brings a PostgreSQL of its own");
  }
  if (faults.length > 0) throw new ConfigError(faults);
  // Lines of JSON are for machines where they were asked for.
  const isForMachines = env.LOG_FORMAT === "json" || serving && !terminal;
  const progress = openProgress(standardError(isForMachines));
  const { log, lines } = logOf(config, terminal ? progress.note : null);
  if (asksForTraces(env)) await openTracing(Number(env.OTEL_TRACES_SAMPLER_ARG ?? "1"));
  const { databaseUrl: url, platformKey, masterKey } = config;
  const secrets = openSecrets(platformKey!, config.previousPlatformKey);
  const migrations = await readMigrations();
  const database = openDatabase({
    url: url!,
    replica: config.replica ?? undefined,
    schemaVersion: migrations.realm.length,
    prepare: config.databasePrepare,
    connectionsMax: config.databaseConnections,
    indexWaitMs: config.indexWaitMs,
    parseJson: parseStoredJson,
    decryptUrl: (encryptedUrl, id) =>
      presentAddress(secrets.decrypt("database_url", id, encryptedUrl), config.realmTargets),
    logins: config.realmLogins ? loginsUnder(secrets) : undefined,
  });
  if (!config.realmRoles) {
    log("warn", "realms have no roles of their own: they are kept apart by schema alone");
  }
  return {
    config,
    ...{ log, progress },
    lostLines: () => lines?.lost() ?? 0,
    platformKey: platformKey!,
    masterKey,
    database,
    migrations,
    provisioning: {
      ...{ database, migrations, secrets },
      roles: config.realmRoles,
      targets: config.realmTargets,
    },
    async close() {
      progress.end();
      await database.close();
      await lines?.written(LAST_LINES_MS);
    },
  };
}

/**
 * Opens the log. Nobody waits for the reader of its lines, except where they are records of their own for OpenTelemetry
 * or an edge platform, which take them from the console.
 */
function logOf(
  { logFormat: format, logLevel: level }: Config,
  terminal: ((line: string) => void) | null,
): { log: Log; lines: LineOutput | null } {
  const areRecords = ["OTEL_DENO", "DENO_DEPLOYMENT_ID"].some((name) =>
    Deno.env.get(name) !== undefined
  );
  if (terminal !== null || areRecords) {
    return { log: createLog({ level, format, write: terminal ?? sayRecord }), lines: null };
  }
  const tell = (lost: number) => {
    let line = "";
    const say = createLog({ level, format, write: (text) => line = text });
    say("error", "lines of the log were lost: they could not be written", { lost });
    return line;
  };
  const lines = openLineOutput(tell);
  const write = format === "json" ? bufferLines(lines.write) : lines.write;
  return { log: createLog({ level, format, write }), lines };
}

function sayRecord(line: string): void {
  try {
    console.error(line);
  } catch {
    // its disk is full, or its reader has gone: the service goes on
  }
}
