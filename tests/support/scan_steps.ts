/**
 * Follows chains for a test's realm when the test says so: scanning and jobs, in turns.
 * @module
 */
import { openChains } from "../../workers/chains/registry.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import type { TestRealm } from "./realm.ts";

/** A poller in a test's hands. */
export interface TestPoller extends Disposable {
  /** Polls the chains once, as one more process would. */
  advance(): Promise<void>;
  /** Polls the chains and runs the jobs that follow, a number of times. */
  follow(rounds?: number): Promise<void>;
}

/** Makes a poller of a realm, whose process has a clock. */
export function openTestPoller(realm: TestRealm, now: () => number = Date.now): TestPoller {
  const { config, log } = realm.services;
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const options = { database: realm.database, log, chains, signer, now, wake: () => {} };
  async function advance(): Promise<void> {
    // Due again at once: the test decides when.
    await startChainPoller({ ...options, pollMs: 0 }, { loop: false, only: realm.id }).drain(
      120_000,
    );
  }
  return {
    advance,
    async follow(rounds = 1) {
      for (let round = 0; round < rounds; round++) {
        await advance();
        await realm.drain();
      }
    },
    [Symbol.dispose]: () => chains.close(),
  };
}
