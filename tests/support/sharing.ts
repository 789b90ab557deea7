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
  const file = testFile();
  return sharingOf(title, () => testRealm(options, file), (realm) => realm);
}

/** Opens something with a realm for several tests, which are the steps of one. */
export function sharingOf<T extends AsyncDisposable>(
  title: string,
  open: () => Promise<T>,
  realmOf: (opened: T) => TestRealm,
): (name: string, work: (opened: T) => Promise<void>) => void {
  const steps: [name: string, work: (opened: T) => Promise<void>][] = [];
  Deno.test(title, async (t) => {
    await using opened = await open();
    keepSound(realmOf(opened));
    for (const [name, work] of steps) await t.step(name, () => work(opened));
  });
  return (name, work) => void steps.push([name, work]);
}
