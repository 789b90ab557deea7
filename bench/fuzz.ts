/**
 * Requests of every operation, valid, nearly valid and nasty, each answer judged by the OpenAPI
 * document: the test of `tests/fuzz/fuzz_test.ts`, for as many requests as asked.
 *
 * @module
 */

/** Requests of one realm; then the next begins, on an empty database. */
const PART = 25_000;

/** Runs it. */
export async function benchFuzz(requests: number, seed: number): Promise<void> {
  for (let done = 0, part = 0; done < requests; done += PART, part++) {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "test", "tests/fuzz/fuzz_test.ts"],
      cwd: new URL("../", import.meta.url),
      env: {
        FUZZ_REQUESTS: `${Math.min(PART, requests - done)}`,
        FUZZ_SEED: `${seed + part}`,
      },
    }).spawn().status;
    if (code !== 0) throw new Error("an answer was not as the document says: see above");
  }
}
