/**
 * Tests of a file that share a realm: to make one takes half a second of a processor. `--filter` sees them as one.
 *
 * @module
 */
import { keepSound, type TestRealm, testRealm } from "./realm.ts";
import { testFile } from "./test_file.ts";

/** Adds a test, which has users, currencies and accounts of its own. */
export type AddShared = (title: string, work: (realm: TestRealm) => Promise<void>) => void;

/** Opens one realm for several tests, which are the steps of one. None of them breaks it. */
export function sharing(title: string, options?: Parameters<typeof testRealm>[0]): AddShared {
  const steps: Parameters<AddShared>[] = [];
  const file = testFile();
  Deno.test(title, async (t) => {
    await using realm = await testRealm(options, file);
    keepSound(realm);
    for (const [name, work] of steps) await t.step(name, () => work(realm));
  });
  return (name, work) => void steps.push([name, work]);
}
