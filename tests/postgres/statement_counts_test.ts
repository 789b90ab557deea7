/** How many statements each path sends to PostgreSQL: exact on every machine, however busy it is. */
import { deepEqual, equal } from "node:assert/strict";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

/** Another process on a fixture's realm, whose statements are counted. */
interface Counted extends AsyncDisposable {
  /** The statements that some work sends. */
  during(work: () => Promise<unknown>): Promise<string[]>;
  send: ReturnType<ReturnType<RampFixture["realm"]["another"]>["send"]>;
  /** Polls the chains once. */
  poll(): Promise<void>;
  /** Runs all jobs that are due. */
  drain(): Promise<void>;
}

function counted(fixture: RampFixture): Counted {
  const { realm } = fixture;
  let sent: string[] = [];
  const env = {
    ETHEREUM_TESTNET_RPC_URL: fixture.anvil.url,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  };
  const other = realm.another(env, (text) => sent.push(text.replaceAll(/\s+/g, " ").trim()));
  const { config, log } = other.services;
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const options = { database: other.database, log, chains, signer, now: Date.now, wake: () => {} };
  const only = { loop: false, only: realm.id };
  return {
    send: other.send(realm.admin.key),
    poll: () => startChainPoller({ ...options, pollMs: 0 }, only).drain(120_000),
    drain: () => startRunner({ ...options, pollMs: 1000 }, only).drain(120_000),
    async during(work) {
      sent = [];
      await work();
      return sent;
    },
    async [Symbol.asyncDispose]() {
      chains.close();
      await other[Symbol.asyncDispose]();
    },
  };
}

function count(sent: readonly string[], begins: string): number {
  return sent.filter((text) => text.startsWith(begins)).length;
}

/** Deposits in one block, each at an address of its own, that are credited. */
async function credit(fixture: RampFixture, ramp: string, deposits: number): Promise<void> {
  for (let i = 0; i < deposits; i++) {
    const { address } = await fixture.address(ramp);
    await fixture.anvil.pool({ to: address, value: ETHER });
  }
}

Deno.test("sweeps that are planned at once lose no race, and each is planned once", async () => {
  await using fixture = await openRampFixture();
  await using process = counted(fixture);
  const ramp = await fixture.ramp();
  await credit(fixture, ramp.id, 12);
  await fixture.anvil.mine(3);
  await process.poll();
  const sent = await process.during(() => process.drain());
  const states = await rowsOf(
    fixture.realm,
    "select state, count(*)::integer as count from chain_orders where purpose = 'sweep' group by state",
  );
  deepEqual(states, [{ state: "sent", count: 12 }]);
  equal(count(sent, "rollback"), 0, "lost races");
  equal(count(sent, "insert into order_attempts"), 12);
});
