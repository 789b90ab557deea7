/**
 * Lies about every field of every answer of a node, each told alone, before and behind an honest one: the
 * tests that tell a few of them, with all of them.
 *
 * @module
 */

const FILES = [
  "tests/chains/evm/lies_test.ts",
  "tests/chains/bitcoin/lies_test.ts",
  "tests/chains/lies_about_withdrawals_test.ts",
];

/** Tells every lie to the adapters, and every so many-th to a service that lives on meanwhile. */
export async function benchLies(every: number): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "test", ...FILES],
    cwd: new URL("../", import.meta.url),
    env: { LIES_ALL: "1", LIES_EVERY: `${every}` },
  }).spawn().status;
  if (code !== 0) throw new Error("a lie did what it must not: see above");
}
