/** Tests of a file that share a realm and its UTXO node, and each make the first ramp of the realm. @module */
import { type AddFirstRamp, sharingFirstRamp } from "./sharing_first_ramp.ts";
import { anotherUtxoRamp, openUtxoRealm, type UtxoChain, type UtxoRamp } from "./utxo_fixture.ts";

/** Opens a realm for several tests, which are the steps of one; their ramps have no coins yet. */
export function sharingUtxoRamp(
  title: string,
  chain: UtxoChain,
  ignore = false,
): AddFirstRamp<UtxoRamp> {
  return sharingFirstRamp(title, {
    ignore,
    open: (file) => openUtxoRealm(chain, file),
    async calm({ node }) {
      await node.mine(); // nothing waits any more
    },
    make: ({ node }, realm) => anotherUtxoRamp(chain, { node, realm }),
  });
}
