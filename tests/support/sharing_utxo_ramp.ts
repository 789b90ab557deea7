/**
 * Tests of a file that share a realm and its UTXO node, and begin with the realm's rows put back: each makes the first ramp
 * of the realm, with keys of its own.
 *
 * @module
 */
import { jobsOf } from "./jobs_of.ts";
import { keepRows } from "./kept_state.ts";
import { rowsOf } from "./realm.ts";
import { testFile } from "./test_file.ts";
import { anotherUtxoRamp, openUtxoRealm, type UtxoChain, type UtxoRamp } from "./utxo_fixture.ts";

/** Adds a test, which is given a ramp without coins. */
export type AddUtxoRamp = (title: string, work: (ramp: UtxoRamp) => Promise<void>) => void;

/** Numbers of ramps between those of two tests, whose addresses neither looks at. */
const GAP = 1_000;

/** Opens a realm for several tests, which are the steps of one. */
export function sharingUtxoRamp(title: string, chain: UtxoChain, ignore = false): AddUtxoRamp {
  const file = testFile();
  const steps: Parameters<AddUtxoRamp>[] = [];
  const fn = async (t: Deno.TestContext) => {
    const { node, realm, end } = await openUtxoRealm(chain, file);
    try {
      await using kept = await keepRows(realm);
      for (const [at, [name, work]] of steps.entries()) {
        if (at > 0) {
          await kept.putBack();
          await node.mine(); // nothing of the test before waits
          await rowsOf(realm, "update attestations set numbers_from = $1", [at * GAP]);
        }
        await t.step(name, async () => {
          const jobs = jobsOf(realm.services, realm.database, realm.id);
          try {
            const { drain } = jobs;
            await using ramp = await anotherUtxoRamp(chain, { node, realm: { ...realm, drain } });
            await work(ramp);
          } finally {
            jobs.close();
          }
        });
      }
    } finally {
      await end();
    }
  };
  Deno.test({ name: title, ignore, fn });
  return (name, work) => void steps.push([name, work]);
}
