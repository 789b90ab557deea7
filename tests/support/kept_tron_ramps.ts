/** Ramps on Tron that several tests of a file begin with. @module */
import { type AddKept, sharingKept } from "./sharing_kept.ts";
import { testFile } from "./test_file.ts";
import { openTronRamp, sameTronRamp, type TronRamp, type TronRampOptions } from "./tron_fixture.ts";

/** Opens a funded ramp once for several tests, each of which begins with it. */
export function sharingTronRamp(
  title: string,
  options: Omit<TronRampOptions, "nodes"> = {},
): AddKept<TronRamp> {
  const file = testFile();
  return sharingKept(title, async () => {
    const ramped = await openTronRamp(options, file);
    const { node, realm } = ramped;
    return {
      realm,
      keepChain: () => node.keep(),
      begin: (realm) => sameTronRamp(ramped, realm),
      [Symbol.asyncDispose]: () => ramped[Symbol.asyncDispose](),
    };
  });
}
