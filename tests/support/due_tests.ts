/**
 * Imported before test files that run once more in another process: leaves out the tests that have had their turn.
 *
 * @module
 */

import { HAD_TURN } from "./groups.ts";

type Registration = (...args: unknown[]) => void;

/** Takes the place of `Deno.test`, which is called with a title, a definition or a function in several orders. */
function leavingOut(titles: string[], plain: Registration): Registration {
  return Object.assign((...args: unknown[]) => {
    const n = titles.indexOf(titleOf(args));
    if (n === -1) plain(...args);
    else titles.splice(n, 1); // another file may have a test of the same title
  }, plain);
}

function titleOf(args: readonly unknown[]): string {
  const named = args.map((arg) => typeof arg === "string" ? arg : (arg as { name?: string }).name)
    .find((name) => name !== undefined && name !== "");
  const { fn } = args.find((arg) => typeof arg === "object") as { fn?: { name: string } } ?? {};
  return named ?? fn?.name ?? "";
}

const path = Deno.env.get(HAD_TURN);
if (path !== undefined) {
  // Modules beside this one would not wait for a promise.
  const titles: string[] = JSON.parse(Deno.readTextFileSync(path));
  Object.assign(Deno, { test: leavingOut(titles, Deno.test as unknown as Registration) });
}
