/** Tests of a file that share a realm and its UTXO node, and pay from ramps of their own. @module */
import { anotherUtxoRamp, openUtxoRamp, type UtxoChain, type UtxoRamp } from "./utxo_fixture.ts";
import { throughNode } from "./coin_liars.ts";
import type { FaultyNode, Trick } from "./nodes/faulty_node.ts";

/** What a test of several is given. */
export interface SharedUtxo {
  readonly funded: UtxoRamp;
  /** Has the node lie from now on, to the end of the test. */
  lie(trick: Trick): void;
}

/** Adds a test, which may have steps. */
export type AddUtxo = (
  title: string,
  work: (shared: SharedUtxo, t: Deno.TestContext) => Promise<void>,
) => void;

/**
 * Opens a realm for several tests, which are the steps of one. Each has a ramp of its own, and workers that know nothing of
 * the node yet.
 */
export function sharingUtxo(title: string, chain: UtxoChain, ignore = false): AddUtxo {
  const steps: Parameters<AddUtxo>[] = [];
  const proxies: FaultyNode[] = [];
  let trick: Trick = () => undefined;
  const start = async () => {
    const real = await chain.start();
    proxies.push(throughNode(real, (question) => trick(question)));
    return { ...real, url: proxies[0].url };
  };
  Deno.test({
    name: title,
    ignore,
    async fn(t) {
      try {
        await using shared = await openUtxoRamp({ ...chain, start });
        for (const [name, work] of steps) {
          trick = () => undefined;
          await using funded = await anotherUtxoRamp(chain, shared);
          await t.step(name, (step) => work({ funded, lie: (other) => trick = other }, step));
        }
      } finally {
        for (const proxy of proxies) await proxy.abort();
      }
    },
  });
  return (name, work) => void steps.push([name, work]);
}
