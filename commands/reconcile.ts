/** The command `reconcile`. @module */
import { ConfigError } from "../config.ts";
import {
  askOnTerminal,
  RECONCILE_USAGE,
  reconcileAll,
} from "../workers/recovery/reconcile_command.ts";
import type { CommandContext, Invocation } from "./context.ts";

/** Reconciles ramps with their chains after a restore; the exit code is 2 while a question is open. */
export async function reconcile(
  { config, database, log, masterKey }: CommandContext,
  { args }: Invocation,
): Promise<void> {
  if (masterKey === null) throw new ConfigError(["MASTER_KEY is needed"]);
  const print = (text: string) => console.error(text);
  const ask = Deno.stdin.isTerminal() ? askOnTerminal : null;
  const options = { config, database, log, masterKey, print, ask };
  const { done, ...report } = await reconcileAll(options, args).catch((error) => {
    throw error instanceof TypeError ? new ConfigError([error.message, RECONCILE_USAGE]) : error;
  });
  console.log(JSON.stringify(report, null, 2));
  if (!done) Deno.exitCode = 2;
}
