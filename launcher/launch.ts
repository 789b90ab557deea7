/**
 * Starts a command of the service as a process with only the rights that it needs, and,
 * where no DATABASE_URL is set, a PostgreSQL of its own beside it. This process has the rights of
 * the user who started it; it serves no request and loads no package.
 *
 *     deno run … launcher/launch.ts <command> [arguments]
 *
 * @module
 */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Config,
  ConfigError,
  readEnvironment,
  readSettings,
  settingNames,
} from "../config.ts";
import { asksForHelp, COMMAND_NAMES, helpOf, isCommand, mayOpenSecrets } from "../config/usages.ts";
import { type EmbeddedPostgres, startEmbedded } from "../db/embedded/embedded.ts";
import { preallocateLater } from "../db/embedded/wal_segments.ts";
import { fetchPackages, type PackageSet } from "../db/packages.ts";
import { faultsOfSettings } from "../domain/chains/setting_faults.ts";
import { openProgress } from "../progress.ts";
import { asksForTraces, RUNTIME_TRACES, traceFaults } from "../tracing.ts";
import { allocatorOf } from "./allocator.ts";
import { type Command, isService, needsMasterKey, permissionsOf } from "./permissions.ts";
import { localKey, replaceKey } from "./secrets.ts";

/** Packages of the service itself. */
export const SERVICE: PackageSet = {
  title: "what the service needs",
  config: new URL("../deno.json", import.meta.url),
  lock: new URL("../deno.lock", import.meta.url),
};

/** Parameters of a command's start. */
interface Launch {
  readonly flags: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** An installation on one machine: its database and its keys. */
interface Local extends AsyncDisposable {
  readonly server: EmbeddedPostgres;
  readonly dataDir: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Path of the platform key's file; null where the key was set. */
  readonly platformKeyFile: string | null;
}

const ROOT = new URL("../", import.meta.url);
const EXCHANGE_CLIENT = fileURLToPath(new URL("workers/gateways/exchanges", ROOT));
const MIGRATIONS = fileURLToPath(new URL("migrations", ROOT));
/** Variables that the runtime and the driver read; no token of a registry, and nothing else of the shell. */
const RUNTIME =
  /^((MI)?MALLOC_[A-Z_]+|LD_PRELOAD|DENO_(DIR|V8_FLAGS|CERT|TLS_CA_STORE|DEPLOYMENT_ID|NO_UPDATE_CHECK)|NPM_CONFIG_REGISTRY|OTEL_\w+|PG\w+|HOME|XDG_CACHE_HOME|TZ|LANG|LC_ALL|(NO|FORCE)_COLOR|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS)$/i;
/** An address of an exchange; their names are many. */
const EXCHANGE_URL = /^RAMP_[A-Z0-9_]+_URL$/;
const KEYS = ["MASTER_KEY", "NEW_MASTER_KEY"];
/**
 * Keeps V8 from making objects in the old generation at once because their kind lives long. What a request
 * makes lives until its batch is posted, which looks long while the process is young; from then on each
 * of its objects would wait for a full collection, with all that it refers to.
 */
const V8_FLAGS = "--v8-flags=--no-allocation-site-pretenuring";

/** Runs a command to its end and gives its exit code. */
export async function launch(args: readonly string[]): Promise<number> {
  const [command = "start", ...rest] = args;
  if (!isCommand(command)) {
    throw new ConfigError([`there is no command ${command}: ${COMMAND_NAMES.join(", ")}`]);
  }
  if (asksForHelp(rest)) {
    console.log(helpOf(command));
    return 0;
  }
  const environment = await readEnvironment();
  if (command === "backup" && rest.includes("--new-key")) {
    await fetchPackages(SERVICE);
    return (await spawn(command, alone(rest, environment)).status).code;
  }
  // A command that needs no master key is not asked for one.
  const settings = mayOpenSecrets(command) ? environment : { ...environment, WORKERS: "off" };
  const config = configOf(settings);
  await fetchPackages(SERVICE);
  const pending: Deno.Signal[] = [];
  let child: Deno.ChildProcess | null = null;
  const listeners = (await endSignals()).map((signal) => {
    const pass = () => {
      if (child === null) pending.push(signal);
      else kill(child, signal === "SIGHUP" ? "SIGTERM" : signal);
    };
    Deno.addSignalListener(signal, pass);
    return () => Deno.removeSignalListener(signal, pass);
  });
  try {
    await using local = config.databaseUrl === null ? await startLocal(config, command) : null;
    if (pending.length > 0) return 0;
    const withAllocator = { ...await allocatorOf(environment), ...environment };
    child = spawn(command, launchOf(command, config, withAllocator, local, rest));
    const preallocation = local !== null && isService(command)
      ? preallocateLater(local.server)
      : null;
    const { code } = await child.status;
    await preallocation?.stop();
    if (code === 0) await concludeRotation(command, config, local);
    return code;
  } finally {
    for (const forget of listeners) forget();
  }
}

/**
 * The signals that end a command, and with it the embedded PostgreSQL, which no terminal reaches: without the last a
 * terminal that is closed would leave it behind, and cut off what is being served. `nohup` has it ignored.
 */
async function endSignals(): Promise<Deno.Signal[]> {
  return await outlivesTerminal() ? ["SIGTERM", "SIGINT"] : ["SIGTERM", "SIGINT", "SIGHUP"];
}

/** Whether SIGHUP is ignored, which a shell that is started inherits, as this process has: `nohup` is one that asks for it. */
async function outlivesTerminal(): Promise<boolean> {
  const shell = new Deno.Command("/bin/sh", {
    args: ["-c", "kill -HUP $$"],
    ...{ stdin: "null", stdout: "null", stderr: "null" },
  });
  try {
    return (await shell.output()).success;
  } catch { // there is no shell
    return false;
  }
}

/** @throws {ConfigError} naming every fault that shows before a package is there */
function configOf(settings: Readonly<Record<string, string>>): Config {
  const { config, faults } = readSettings(settings, Deno.stderr.isTerminal());
  const all = [
    ...faults,
    ...traceFaults({ ...settings, ...tracesOf(settings) }),
    ...faultsOfSettings(config),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return config;
}

/** The start of what needs neither settings nor a database: a key for backups is drawn anywhere. */
function alone(rest: readonly string[], environment: Readonly<Record<string, string>>): Launch {
  const runtime = Object.entries(environment).filter(([name]) =>
    RUNTIME.test(name) && !name.startsWith("OTEL_")
  );
  return {
    flags: ["--no-prompt", "--deny-import"],
    args: ["backup", ...rest],
    env: Object.fromEntries(runtime),
  };
}

/** Gives the parameters of a command's start. */
function launchOf(
  command: Command,
  config: Config,
  environment: Readonly<Record<string, string>>,
  local: Local | null,
  rest: readonly string[],
): Launch {
  const dataDir = local?.dataDir ?? resolve(config.dataDir);
  // The database and the keys beside it are out of reach for the service.
  const records = local === null ? dataDir : join(dataDir, "records");
  const sandbox = local !== null && command === "start" ? join(dataDir, "sandbox_keys") : null;
  const backups = resolve(config.backup.folder ?? join(dataDir, "backups"));
  const settings = {
    ...environment,
    ...local?.settings,
    DATA_DIR: records,
    ...(command === "backup" ? { BACKUP_DIR: backups } : {}),
  };
  const known = settingNames();
  const withKey = needsMasterKey(command, config);
  const passed = Object.entries(settings).filter(([name]) =>
    (known.has(name) || RUNTIME.test(name) || EXCHANGE_URL.test(name)) &&
    (withKey || !KEYS.includes(name))
  );
  const databaseUrl = local?.server.url ?? config.databaseUrl!;
  return {
    flags: permissionsOf({
      command,
      config,
      databaseUrl,
      migrations: MIGRATIONS,
      exchangeClient: EXCHANGE_CLIENT,
      records,
      sandbox,
      backups: command === "backup"
        ? backups
        : command === "archive"
        ? folderOf(rest, "--to")
        : null,
      restored: command === "restore"
        ? restoredFiles(config, rest)
        : command === "archive" || command === "audit"
        ? archivedFiles(config, rest)
        : [],
    }),
    args: [
      command,
      ...(isService(command) ? ["--supervised"] : []),
      ...(sandbox === null ? [] : ["--sandbox", sandbox]),
      ...(sandbox !== null && local?.platformKeyFile
        ? ["--platform-key-file", local.platformKeyFile]
        : []),
      ...(rotatesFile(command, config) ? ["--own-key-file"] : []),
      ...rest,
    ],
    env: {
      ...Object.fromEntries(passed),
      ...tracesOf(environment),
      ...(withKey || command === "start" ? {} : { WORKERS: "off" }),
    },
  };
}

/** The runtime's settings of traces: its own spans hold URLs with keys, and are never exported. */
function tracesOf(environment: Readonly<Record<string, string>>): Record<string, string> {
  if (!asksForTraces(environment)) return {};
  return {
    ...RUNTIME_TRACES,
    OTEL_SERVICE_NAME: environment.OTEL_SERVICE_NAME ?? "purser",
  };
}

/** The files that a restore reads: the backup, which is named first, and the key. */
function restoredFiles({ backup: { identityFile } }: Config, rest: readonly string[]): string[] {
  const file = rest.find((word) => !word.startsWith("-"));
  return [file, identityFile ?? undefined].filter((path) => path !== undefined)
    .map((path) => resolve(path));
}

/** The folder of archived parts, and the key that opens them. */
function archivedFiles({ backup: { identityFile } }: Config, rest: readonly string[]): string[] {
  const folder = folderOf(rest, "--archive");
  return [folder, identityFile].filter((path) => path !== null).map((path) => resolve(path));
}

/** The folder behind an option; null where it is not given. */
function folderOf(rest: readonly string[], option: string): string | null {
  const at = rest.findIndex((word) => word === option || word.startsWith(`${option}=`));
  if (at < 0) return null;
  const word = rest[at] === option ? rest[at + 1] : rest[at].slice(option.length + 1);
  return word === undefined ? null : resolve(word);
}

function spawn(command: Command, { flags, args, env }: Launch): Deno.ChildProcess {
  const config = fileURLToPath(SERVICE.config);
  const main = fileURLToPath(new URL("main.ts", ROOT));
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--cached-only",
      "--frozen",
      V8_FLAGS,
      "--config",
      config,
      ...flags,
      main,
      ...args,
    ],
    clearEnv: true,
    env: { ...env },
    // A service ends when this pipe does, so it never outlives its database.
    stdin: isService(command) ? "piped" : "inherit",
  }).spawn();
}

/** Starts the installation of this machine. */
async function startLocal(config: Config, command: Command): Promise<Local> {
  const progress = openProgress();
  progress.part("Starting PostgreSQL");
  const server = await startEmbedded({ dataDir: config.dataDir }).finally(progress.end);
  try {
    const dataDir = await Deno.realPath(config.dataDir);
    const platformKey = config.platformKey ?? await localKey(dataDir, "platform_key");
    const masterKey = config.masterKey ?? await localKey(dataDir, "master_key");
    const next: Record<string, string> =
      rotatesFile(command, config) && config.newMasterKey === null
        ? { NEW_MASTER_KEY: await localKey(dataDir, "master_key.next") }
        : {};
    await Deno.mkdir(join(dataDir, "records"), { recursive: true, mode: 0o700 });
    return {
      server,
      dataDir,
      settings: {
        DATABASE_URL: server.url,
        PLATFORM_KEY: platformKey,
        MASTER_KEY: masterKey,
        ...next,
      },
      platformKeyFile: config.platformKey === null ? join(dataDir, "platform_key") : null,
      [Symbol.asyncDispose]: server.stop,
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Whether the master key that is changed is the file that this module made. */
function rotatesFile(command: Command, config: Config): boolean {
  return command === "rotate-master-key" && config.databaseUrl === null &&
    config.masterKey === null;
}

/** Puts the new master key in its place, once every secret is encrypted under it. */
async function concludeRotation(
  command: Command,
  config: Config,
  local: Local | null,
): Promise<void> {
  if (local === null || !rotatesFile(command, config)) return;
  const key = config.newMasterKey ?? local.settings.NEW_MASTER_KEY;
  await replaceKey(local.dataDir, "master_key", key);
  console.log("It is in place.");
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // Deno says so of a process that has ended
  }
}

async function main(): Promise<void> {
  try {
    Deno.exitCode = await launch(Deno.args);
  } catch (error) {
    console.error(error instanceof Error && !(error instanceof TypeError) ? error.message : error);
    Deno.exitCode = 1;
  }
}

if (import.meta.main) main().catch((error) => console.error(error));
