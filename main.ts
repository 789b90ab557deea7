/** Picks the command that the arguments name, opens its context, and runs it. @module */
import { ConfigError } from "./config.ts";
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

/** The commands; each is imported when it is needed. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import("./commands/start.ts")).start,
  worker: async () => (await import("./commands/worker.ts")).worker,
  migrate: async () => (await import("./commands/migrate.ts")).migrate,
  realm: async () => (await import("./commands/realm.ts")).realm,
  "rotate-master-key": async () => (await import("./commands/rotate_master_key.ts")).rotateMaster,
  "rotate-platform-key": async () =>
    (await import("./commands/rotate_platform_key.ts")).rotatePlatformKey,
  reconcile: async () => (await import("./commands/reconcile.ts")).reconcile,
  audit: async () => (await import("./commands/audit.ts")).audit,
  archive: async () => (await import("./commands/archive.ts")).archive,
  backup: async () => (await import("./commands/backup.ts")).backup,
  restore: async () => (await import("./commands/restore.ts")).restore,
};

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
    if (!Object.hasOwn(COMMANDS, name)) {
      throw new ConfigError([`there is no command ${name}: ${Object.keys(COMMANDS).join(", ")}`]);
    }
    outliveRejections((message, error) => console.error(`${message}: ${error}`));
    if (supervised) endWithLauncher();
    const ending = listenForEnd();
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
    const context = await openContext(serving).catch(failStart);
    lines.above = context.progress.above;
    try {
      const anew = name === "migrate" && rest.includes("--new-logins");
      const left = AS_IT_IS.includes(name) ? [] : await prepareDatabase(context, anew);
      if (left.length > 0 && name === "migrate") throw new StartError(`not migrated: ${left}`);
      if (serving) await reduceRights(context);
      const command = await loading;
      await command(context, { args: rest, ending: ending.signalled });
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
