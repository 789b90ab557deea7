/**
 * Calls the service's main function with lists of arguments, one after another in one process, which has the rights that
 * it is started with; a process for each would read the service again. Prints what each call printed, and its exit code.
 * Argument: the lists, as JSON.
 *
 * @module
 */
import { main } from "../../main.ts";

/** How a call ended. */
export interface CalledMain {
  code: number;
  out: string;
  err: string;
}

async function call(args: readonly string[]): Promise<CalledMain> {
  const ended: CalledMain = { code: 0, out: "", err: "" };
  const { log, error } = console;
  console.log = (text: string) => ended.out += `${text}\n`;
  console.error = (text: string) => ended.err += `${text}\n`;
  try {
    await main(args);
    ended.code = Deno.exitCode;
  } finally {
    Object.assign(console, { log, error });
    Deno.exitCode = 0;
  }
  return ended;
}

if (import.meta.main) {
  const { exit } = Deno;
  Deno.exit = (() => {}) as typeof exit; // the last that it does where it would serve
  const all: CalledMain[] = [];
  for (const args of JSON.parse(Deno.args[0])) all.push(await call(args));
  console.log(JSON.stringify(all));
  exit();
}
