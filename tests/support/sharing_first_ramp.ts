/**
 * Tests of a file that share a realm and its node, and begin with the realm's rows put back: each makes the first ramp of
 * the realm, with keys of its own, on the chain as it is by then.
 *
 * @module
 */
import { jobsOf } from "./jobs_of.ts";
import { keepRows } from "./kept_state.ts";
import { rowsOf, type TestRealm } from "./realm.ts";
import { testFile } from "./test_file.ts";

/** What ramps are made on. */
export interface Ground {
  readonly realm: TestRealm;
  /** Ends it. */
  end(): Promise<void>;
}

/** How tests share it. */
export interface FirstRampOptions<G extends Ground, R extends AsyncDisposable> {
  readonly ignore?: boolean;
  open(file: string): Promise<G>;
  /** Ends what the test before has left at the node. */
  calm(ground: G): Promise<void>;
  /** Makes the ramp; the realm has jobs of its own. */
  make(ground: G, realm: TestRealm): Promise<R>;
}

/** Adds a test, which is given a ramp. */
export type AddFirstRamp<R> = (title: string, work: (ramp: R) => Promise<void>) => void;

/** Numbers of ramps between those of two tests, whose addresses neither looks at. */
const GAP = 1_000;

/** Opens a realm for several tests, which are the steps of one. */
export function sharingFirstRamp<G extends Ground, R extends AsyncDisposable>(
  title: string,
  { ignore = false, open, calm, make }: FirstRampOptions<G, R>,
): AddFirstRamp<R> {
  const file = testFile();
  const steps: Parameters<AddFirstRamp<R>>[] = [];
  const fn = async (t: Deno.TestContext) => {
    const ground = await open(file);
    const { realm } = ground;
    try {
      await using kept = await keepRows(realm);
      for (const [at, [name, work]] of steps.entries()) {
        if (at > 0) {
          await kept.putBack();
          await calm(ground);
          await rowsOf(realm, "update attestations set numbers_from = $1", [at * GAP]);
        }
        await t.step(name, async () => {
          const jobs = jobsOf(realm.services, realm.database, realm.id);
          try {
            await using ramp = await make(ground, { ...realm, drain: jobs.drain });
            await work(ramp);
          } finally {
            jobs.close();
          }
        });
      }
    } finally {
      await ground.end();
    }
  };
  Deno.test({ name: title, ignore, fn });
  return (name, work) => void steps.push([name, work]);
}
