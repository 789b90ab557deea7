/** The command `reconcile`. @module */
import { ConfigError } from "../config.ts";
import { UsageError } from "../config/usages.ts";
import {
  askOnTerminal,
  formatReconciliation,
  readReconcileArguments as readArguments,
  reconcileAll,
} from "../workers/recovery/reconcile_command.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** Reconciles ramps with their chains after a restore; the exit code is 2 while a question is open. */
export async function reconcile(
  { config, database, log, masterKey, progress }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  if (masterKey === null) throw new ConfigError(["MASTER_KEY is needed"]);
  const print = progress.note;
  const askAbove = (text: string) => {
    let said: string | null = null;
    progress.above(() => said = askOnTerminal(text));
    return said;
  };
  const ask = Deno.stdin.isTerminal() ? askAbove : null;
  const options = { config, database, log, masterKey, progress, print, ask };
  const result = await reconcileAll(options, args).catch((error) => {
    throw error instanceof TypeError ? new UsageError("reconcile", error.message) : error;
  });
  progress.end();
  const { done, ...report } = result;
  console.log(JSON.stringify(report, null, 2));
  if (!done) {
    formatReconciliation(result).forEach(print);
    Deno.exitCode = 2;
  }
}

/** Reads the arguments of the command. @throws {UsageError} */
export function readReconcileArguments(args: readonly string[]): void {
  try {
    readArguments(args);
  } catch (error) {
    throw new UsageError("reconcile", (error as Error).message);
  }
}
