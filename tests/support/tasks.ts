/**
 * Tasks of deno.json, as `deno task` would run them.
 *
 * @module
 */
import { deepEqual } from "node:assert/strict";

const CONFIG = new URL("../../deno.json", import.meta.url);

/** Gives the arguments of a task's `deno run`; paths count from the project's root. */
export async function taskArgs(name: string): Promise<string[]> {
  const { tasks }: { tasks: Record<string, string> } = JSON.parse(await Deno.readTextFile(CONFIG));
  const [program, command, ...rest] = tasks[name].split(" ");
  deepEqual([program, command], ["deno", "run"]);
  return ["run", "--no-check", "--cached-only", ...rest];
}
