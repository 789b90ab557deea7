/**
 * Commands of the service that a test calls in its own process: what they print and how they end is that of a process,
 * which costs half a second of a processor more. That the rights of the launcher are enough for them, and what a signal
 * does to them, processes tell alone.
 *
 * @module
 */
import { readConfig } from "../../config.ts";
import { mayOpenSecrets } from "../../config/usages.ts";
import { archive } from "../../commands/archive.ts";
import { audit } from "../../commands/audit.ts";
import { backup } from "../../commands/backup.ts";
import { type Command, type CommandContext, isExpected } from "../../commands/context.ts";
import { prepareDatabase } from "../../commands/database.ts";
import { readReconcileArguments, reconcile } from "../../commands/reconcile.ts";
import { restore } from "../../commands/restore.ts";
import { readMigrations } from "../../db/migrate.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { createLog } from "../../log.ts";
import { openProgress } from "../../progress.ts";
import { reach } from "./realm.ts";

/** A command: whether the database is brought up to date for it, and what refuses its arguments before that. */
interface Called {
  readonly run: Command;
  readonly migrates: boolean;
  readonly read?: (args: readonly string[]) => void;
}

/** Commands that read no standard input: `reconcile` asks nobody. */
const COMMANDS = {
  archive: { run: archive, migrates: true },
  audit: { run: audit, migrates: true },
  backup: { run: backup, migrates: false },
  reconcile: { run: reconcile, migrates: true, read: readReconcileArguments },
  restore: { run: restore, migrates: false },
} as const satisfies Record<string, Called>;

/** How a command ended. */
export interface Ended {
  code: number;
  out: string;
  said: string;
}

/** A command that may be called. */
export type Callable = keyof typeof COMMANDS;

let isRunning = false;

/** Runs a command with an environment to its end, as `main.ts` does. */
export async function callCommand(
  command: Callable,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  if (isRunning) {
    throw new Error("commands at once are processes: what they print is of the whole process");
  }
  isRunning = true;
  const { run, migrates, read }: Called = COMMANDS[command];
  const ended: Ended = { code: 0, out: "", said: "" };
  const { log: print } = console;
  console.log = (line: string) => ended.out += `${line}\n`;
  const { isTerminal } = Deno.stdin;
  Deno.stdin.isTerminal = () => false; // where the tests were started from one, nobody there is asked
  try {
    read?.(args);
    const settings = mayOpenSecrets(command) ? env : { ...env, WORKERS: "off" };
    const context = openContext(settings, await readMigrations(), (text) => ended.said += text);
    try {
      if (migrates) await prepareDatabase(context, false);
      await run(context, { args, ending: new Promise(() => {}) });
    } finally {
      await context.close();
    }
    ended.code = Deno.exitCode;
  } catch (error) {
    ended.said += `${isExpected(error) ? error.message : Deno.inspect(error)}\n`;
    ended.code = 1;
  } finally {
    console.log = print;
    Deno.stdin.isTerminal = isTerminal;
    Deno.exitCode = 0;
    isRunning = false;
  }
  return ended;
}

function openContext(
  env: Readonly<Record<string, string>>,
  migrations: CommandContext["migrations"],
  say: (text: string) => void,
): CommandContext {
  const config = readConfig(env, false);
  const { platformKey, previousPlatformKey, masterKey } = config;
  const { realmRoles: roles, realmTargets: targets } = config;
  const form = env.LOG_FORMAT === "json" ? "none" : "lines";
  const progress = openProgress({ form, write: say });
  const { logLevel: level, logFormat: format } = config;
  const database = reach(config);
  const secrets = openSecrets(platformKey!, previousPlatformKey);
  return {
    ...{ config, progress, migrations, database, platformKey: platformKey!, masterKey },
    log: createLog({ level, format, write: (line) => say(`${line}\n`) }),
    lostLines: () => 0,
    provisioning: { database, migrations, secrets, roles, targets },
    async close() {
      progress.end();
      await database.close();
    },
  };
}
