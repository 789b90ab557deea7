/**
 * Faults of every kind over two processes under load, for as long as asked: the test of
 * `tests/process/crash/kills_test.ts`, which prints what it measured.
 *
 * @module
 */

/** Runs it for so many minutes. */
export async function benchKills(minutes: number): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "test", "tests/process/crash/kills_test.ts"],
    cwd: new URL("../", import.meta.url),
    env: { KILLS_MINUTES: `${minutes}` },
  }).spawn().status;
  if (code !== 0) throw new Error("what must hold after faults did not: see above");
}
