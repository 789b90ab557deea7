/** Tests of a file that share a realm and its node. @module */
import { openRampFixture, type RampFixture } from "./ramp_fixture.ts";
import { sharingOf } from "./sharing.ts";
import { testFile } from "./test_file.ts";

/** Adds a test, which has users, ramps and addresses of its own. */
export type AddOfRamps = (title: string, work: (fixture: RampFixture) => Promise<void>) => void;

/** Opens one realm on Ethereum's test network for several tests, which are the steps of one. None of them breaks it. */
export function sharingRamps(title: string): AddOfRamps {
  const file = testFile();
  return sharingOf(title, () => openRampFixture({}, file), ({ realm }) => realm);
}
