/**
 * Commands of the service on a database of a test: as processes, with the rights of the launcher, or called.
 * @module
 */
import { fileURLToPath } from "node:url";
import { readConfig } from "../../config.ts";
import { type Command, needsMasterKey, permissionsOf } from "../../launcher/permissions.ts";
import { type Callable, callCommand, type Ended } from "./called_commands.ts";
import { PLATFORM_KEY, testConfig } from "./realm.ts";

const ROOT = new URL("../../", import.meta.url);
const { masterKey } = testConfig();

/** A command that runs. */
export interface Running {
  readonly child: Deno.ChildProcess;
  end(): Promise<Ended>;
}

/** A folder with keys and backups, in which commands run. */
export interface CommandHost extends AsyncDisposable {
  readonly folder: string;
  /** Public key of its backups. */
  readonly recipient: string;
  /** Starts a command on the database of an address, with a text as its standard input. */
  start(
    url: string,
    command: Command,
    args: readonly string[],
    env?: Record<string, string>,
    input?: string,
  ): Running;
  /** Runs a command to its end. */
  run(
    url: string,
    command: Command,
    args: readonly string[],
    env?: Record<string, string>,
    input?: string,
  ): Promise<Ended>;
  /** Runs a command to its end in this process, for tests to which it does not matter where it runs: that is cheaper. */
  call(
    url: string,
    command: Callable,
    args: readonly string[],
    env?: Record<string, string>,
  ): Promise<Ended>;
  /** Runs a command whose files may have so many blocks of 512 bytes each, as where the disk is full. */
  runWithin(
    blocks: number,
    url: string,
    command: Command,
    args: readonly string[],
    env?: Record<string, string>,
  ): Promise<Ended>;
  /** Runs a command whose standard error is a terminal: `said` is what it writes there. */
  runInTerminal(url: string, command: Command, args: readonly string[]): Promise<Ended>;
  /** The files of backups, sorted by name. */
  files(): Promise<string[]>;
}

type HostSettings = Record<string, string>;

/** Arguments and environment of a process. */
interface Invocation {
  args: string[];
  env: Record<string, string>;
}

/** Makes a host with a key for backups. */
export async function commandHost(): Promise<CommandHost> {
  const folder = await Deno.makeTempDir({ prefix: "purser-commands-" });
  const { generateX25519Identity, identityToRecipient } = await import("age-encryption");
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  const identityFile = `${folder}/backup.key`;
  await Deno.writeTextFile(identityFile, `${identity}\n`, { mode: 0o600 });
  const settings = {
    PLATFORM_KEY,
    DATA_DIR: `${folder}/records`,
    BACKUP_DIR: `${folder}/backups`,
    BACKUP_RECIPIENTS: recipient,
    BACKUP_IDENTITY_FILE: identityFile,
    LOG_LEVEL: "error",
    NO_COLOR: "1",
  };
  await Deno.mkdir(settings.DATA_DIR);
  const start: CommandHost["start"] = (url, command, args, env, input) =>
    spawn(Deno.execPath(), invocationOf(settings, url, command, args, env), input);
  return {
    folder,
    recipient,
    start,
    run: (...of) => start(...of).end(),
    call: (url, command, args, env) =>
      callCommand(command, args, { ...settings, DATABASE_URL: url, ...env }),
    async runWithin(blocks, ...of) {
      const { args, env } = invocationOf(settings, ...of);
      const shell = `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`;
      const [run, ...rest] = args;
      const all = ["-c", shell, Deno.execPath(), run, "--no-code-cache", ...rest];
      return await spawn("sh", { args: all, env }).end();
    },
    async runInTerminal(...of) {
      const { args, env } = invocationOf(settings, ...of);
      const out = `${folder}/standard_output`;
      const words = [Deno.execPath(), ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
      const shell = `${words.join(" ")} > '${out}'`;
      const { code, out: said } = await spawn("script", {
        args: ["-qec", shell, "/dev/null"],
        env: { ...env, SHELL: "/bin/sh" },
      }).end();
      return { code, out: await Deno.readTextFile(out), said };
    },
    async files() {
      const names = [];
      for await (const { name } of Deno.readDir(settings.BACKUP_DIR)) names.push(name);
      return names.sort();
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Gives the process of a command. */
function invocationOf(
  settings: HostSettings,
  ...[url, command, args, env = {}]: Parameters<CommandHost["start"]>
): Invocation {
  const given: HostSettings = { ...settings, DATABASE_URL: url, ...env };
  const config = readConfig({ WORKERS: "off", ...given }, false);
  const withKey = needsMasterKey(command, config);
  const flags = permissionsOf({
    command,
    config,
    databaseUrl: url,
    migrations: fileURLToPath(new URL("migrations", ROOT)),
    exchangeClient: fileURLToPath(new URL("workers/gateways/exchanges", ROOT)),
    records: settings.DATA_DIR,
    sandbox: null,
    ...filesOf(command, args, given),
  });
  const main = fileURLToPath(new URL("main.ts", ROOT));
  return {
    args: ["run", "--quiet", "--cached-only", ...flags, main, command, ...args],
    env: { ...given, ...(withKey ? { MASTER_KEY: masterKey! } : { WORKERS: "off" }) },
  };
}

/** The files and folders that a command writes and reads. */
function filesOf(command: Command, args: readonly string[], given: HostSettings) {
  const behind = (option: string) => args[args.indexOf(option) + 1];
  const key = given.BACKUP_IDENTITY_FILE;
  if (command === "backup") return { backups: given.BACKUP_DIR, restored: [] };
  if (command === "restore") return { backups: null, restored: [args[0], key] };
  if (command === "archive") {
    return { backups: args.includes("--to") ? behind("--to") : null, restored: [key] };
  }
  return { backups: null, restored: args.includes("--archive") ? [behind("--archive"), key] : [] };
}

function spawn(program: string, { args, env }: Invocation, input?: string): Running {
  const how = { cwd: ROOT, stdout: "piped", stderr: "piped" } as const;
  const stdin = input === undefined ? "null" : "piped";
  const child = new Deno.Command(program, { args, env, stdin, ...how }).spawn();
  // It may end without having read any of it.
  const fed = input === undefined
    ? Promise.resolve()
    : ReadableStream.from([new TextEncoder().encode(input)]).pipeTo(child.stdin).catch(() => {});
  return {
    child,
    async end() {
      await fed;
      const { code, stdout, stderr } = await child.output();
      const read = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: read(stdout), said: read(stderr) };
    },
  };
}
