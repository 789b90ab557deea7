/** Ramps on Ethereum that several tests of a file begin with. @module */
import {
  type FundedRamp,
  type FundedRampOptions,
  openFundedRamp,
  sameFundedRamp,
} from "./evm_fixture.ts";
import { keepChain } from "./kept_state.ts";
import {
  openRampFixture,
  type RampFixture,
  type RampFixtureOptions,
  withNewWorkers,
} from "./ramp_fixture.ts";
import { type AddKept, type KeptOptions, sharingKept } from "./sharing_kept.ts";
import { testFile } from "./test_file.ts";

/** Opens a funded ramp once for several tests, each of which begins with it. */
export function sharingFundedRamp(
  title: string,
  { nodes, ...options }: KeptOptions & Omit<FundedRampOptions, "front" | "file"> = {},
): AddKept<FundedRamp> {
  const file = testFile();
  return sharingKept(title, async (front) => {
    const funded = await openFundedRamp({ ...options, front, file });
    return {
      ...{ realm: funded.realm, keepChain: () => keepChain(funded.anvil) },
      begin: (realm) => sameFundedRamp(funded, realm),
      [Symbol.asyncDispose]: () => funded[Symbol.asyncDispose](),
    };
  }, { nodes });
}

/** How a fixture is kept. */
export type KeptFixtureOptions<Made> =
  & KeptOptions
  & Omit<RampFixtureOptions, "through">
  & {
    /** Makes what every test begins with. */
    readonly prepare?: (fixture: RampFixture) => Promise<Made>;
  };

/** A fixture, and what was made in it beforehand. */
export type KeptFixture<Made> = RampFixture & { readonly made: Made };

/** Opens a realm with a node once for several tests, each of which begins with it. */
export function sharingFixture<Made = void>(
  title: string,
  { nodes, prepare, ...options }: KeptFixtureOptions<Made> = {},
): AddKept<KeptFixture<Made>> {
  const file = testFile();
  return sharingKept(title, async (through) => {
    const fixture = await openRampFixture({ ...options, through }, file);
    const { anvil, realm } = fixture;
    const made = await prepare?.(fixture) as Made;
    return {
      ...{ realm, keepChain: () => keepChain(anvil) },
      begin(realm) {
        const begun = withNewWorkers({ anvil, realm }, options.testnet ?? true);
        const close = () => Promise.resolve(begun[Symbol.dispose]());
        return Promise.resolve({
          ...begun,
          made,
          [Symbol.asyncDispose]: close,
        });
      },
      [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
    };
  }, { nodes });
}
