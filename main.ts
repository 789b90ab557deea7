/** Picks the command that the arguments name, opens its context, and runs it. @module */
import { ConfigError } from "./config.ts";
import {
  asksForHelp,
  COMMAND_NAMES,
  type CommandName,
  helpOf,
  isCommand,
  refuseArguments,
} from "./config/usages.ts";
import {
  type Command,
  failStart,
  isExpected,
  openContext,
  StartError,
} from "./commands/context.ts";
import { prepareDatabase, reduceRights } from "./commands/database.ts";
import { endCommand, endWithLauncher, listenForEnd } from "./commands/ending.ts";
import { outliveRejections } from "./db/lost_connections.ts";

/** Commands that take the database as it is: a backup changes nothing, and a restore wants an empty one. */
const AS_IT_IS: readonly string[] = ["backup", "restore"];

/** A command, and what refuses its arguments before the database is opened. */
interface Loaded {
  readonly run: Command;
  readonly read: (args: readonly string[]) => unknown;
}

/** The commands; each is imported when it is needed. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Loaded>>> = {
  start: async () => ({ run: (await import("./commands/start.ts")).start, read: () => {} }),
  worker: async () => ({ run: (await import("./commands/worker.ts")).worker, read: () => {} }),
  migrate: async () => ({
    run: (await import("./commands/migrate.ts")).migrate,
    read: (args) => refuseArguments("migrate", args, ["--new-logins"]),
  }),
  async realm() {
    const { realm: run, readRealmArguments: read } = await import("./commands/realm.ts");
    return { run, read };
  },
  "rotate-master-key": async () => ({
    run: (await import("./commands/rotate_master_key.ts")).rotateMaster,
    read: (args) => refuseArguments("rotate-master-key", args, ["--own-key-file"]),
  }),
  "rotate-platform-key": async () => ({
    run: (await import("./commands/rotate_platform_key.ts")).rotatePlatformKey,
    read: (args) => refuseArguments("rotate-platform-key", args),
  }),
  async reconcile() {
    const { reconcile: run, readReconcileArguments: read } = await import(
      "./commands/reconcile.ts"
    );
    return { run, read };
  },
  async networks() {
    const { networks: run, readNetworksArguments: read } = await import("./commands/networks.ts");
    return { run, read };
  },
  async audit() {
    const { audit: run, readAuditArguments: read } = await import("./commands/audit.ts");
    return { run, read };
  },
  async archive() {
    const { archive: run, readArchiveArguments: read } = await import("./commands/archive.ts");
    return { run, read };
  },
  async backup() {
    const { backup: run, readBackupArguments: read } = await import("./commands/backup.ts");
    return { run, read };
  },
  async restore() {
    const { restore: run, readRestoreArguments: read } = await import("./commands/restore.ts");
    return { run, read };
  },
};

/** Arguments that the launcher gives to a process that serves. */
const SERVING_FLAGS = ["--supervised", "--sandbox", "--platform-key-file"];

/** Ended between its fence and its switch, a move would leave the realm without writes. */
function isMove(name: string, [verb]: readonly string[]): boolean {
  return name === "realm" && verb === "move";
}

const MOVING =
  "the move goes on. A second signal ends it at once: the realm may then take no writes, " +
  "until `realm move <id>` carries the move on";

if (import.meta.main) await main(Deno.args);

/** Runs the command that the arguments name. */
export async function main(args: readonly string[]): Promise<void> {
  const [name = "start", ...rest] = args;
  const supervised = rest.includes("--supervised");
  const serving = name === "start" || name === "worker";
  try {
    if (!isCommand(name)) {
      throw new ConfigError([`there is no command ${name}: ${COMMAND_NAMES.join(", ")}`]);
    }
    if (asksForHelp(rest)) return console.log(helpOf(name));
    if (serving) refuseServing(name, rest);
    if (drawsKey(name, rest)) return await (await import("./commands/backup.ts")).printKey();
    const said = {
      tell: (message: string, error: unknown) => console.error(`${message}: ${error}`),
    };
    outliveRejections((message, error) => said.tell(message, error));
    if (supervised) endWithLauncher();
    const ending = listenForEnd(supervised);
    const lines = { above: (print: () => void) => print() };
    if (!serving) {
      ending.signalled.then((signal) => {
        ending.forget(); // a second signal ends what does not end by this one
        if (isMove(name, rest)) lines.above(() => console.error(MOVING));
        else endCommand(signal, lines.above);
      }, () => {});
    }
    const loading = COMMANDS[name](); // beside the opening of the database
    loading.catch(() => {}); // awaited below
    if (!serving) await (await loading).read(rest); // before the database is migrated
    const context = await openContext(name, serving).catch(failStart);
    lines.above = context.progress.above;
    said.tell = (message, error) => context.log("error", message, { error });
    try {
      const anew = name === "migrate" && rest.includes("--new-logins");
      const left = AS_IT_IS.includes(name) ? [] : await prepareDatabase(context, anew);
      if (left.length > 0 && name === "migrate") throw new StartError(`not migrated: ${left}`);
      if (serving) await reduceRights(context);
      const { run } = await loading;
      await run(context, { args: rest, ending: ending.signalled });
    } finally {
      ending.forget();
      await context.close();
    }
  } catch (error) {
    console.error(isExpected(error) ? error.message : error);
    Deno.exitCode = 1;
  }
  // The launcher's pipe, or a connection whose other end does not read, would keep this process.
  if (supervised || serving) Deno.exit();
}

/** Whether a key for backups is drawn, which needs neither settings nor a database. */
function drawsKey(name: CommandName, args: readonly string[]): boolean {
  return name === "backup" && args.length === 1 && args[0] === "--new-key";
}

/** Refuses arguments of a process that serves. @throws {UsageError} */
function refuseServing(name: CommandName, args: readonly string[]): void {
  const known = args.filter((_, index) =>
    SERVING_FLAGS.includes(args[index]) || SERVING_FLAGS.slice(1).includes(args[index - 1])
  );
  refuseArguments(name, args, known);
}
