/**
 * A realm with a node and a ramp, for tests of deposits and withdrawals.
 * @module
 */
import { type Anvil, startAnvil } from "./nodes/anvil.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { workerContextOf } from "./evm_fixture.ts";
import { jobsOf } from "./jobs_of.ts";
import { listen } from "./listening.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";
import { testFile } from "./test_file.ts";

/** A realm, its node, and who follows it. */
export interface RampFixture extends AsyncDisposable {
  anvil: Anvil;
  realm: TestRealm;
  poller: TestPoller;
  /** Mines, and follows what came of it. */
  mine(blocks?: number): Promise<void>;
  /** Makes a ramp that is ready. */
  ramp(asset?: string): Promise<{ id: string; address: string }>;
  /** Makes a deposit account on a ramp, or on a virtual account with a ramp. */
  address(account: string, data?: unknown): Promise<{ id: string; address: string }>;
  /** Reads an account. */
  // deno-lint-ignore no-explicit-any
  account(id: string): Promise<any>;
  /** Reads all deposits, oldest first, as the database has them. */
  // deno-lint-ignore no-explicit-any
  deposits(): Promise<any[]>;
}

/** How a fixture is made. */
export interface RampFixtureOptions {
  testnet?: boolean;
  env?: Record<string, string>;
  /** Gives the URL of a proxy that the service uses in place of the node. */
  through?: (url: string) => string;
  args?: string[];
}

/** Makes a fixture on Ethereum; blocks are mined only when told. */
export async function openRampFixture(
  options: RampFixtureOptions = {},
  file: string = testFile(),
): Promise<RampFixture> {
  const testnet = options.testnet ?? true;
  const anvil = await startAnvil(testnet ? 31337 : 1, ...options.args ?? []);
  const prefix = testnet ? "ETHEREUM_TESTNET" : "ETHEREUM";
  const url = options.through?.(anvil.url) ?? anvil.url;
  const env = {
    [`${prefix}_RPC_URL`]: url,
    [`${prefix}_CONFIRMATIONS`]: "2",
    ...options.env,
  };
  const realm = await testRealm({ env }, file);
  await listen(realm);
  const fixture = fixtureOf(anvil, realm, testnet);
  return {
    ...fixture,
    async [Symbol.asyncDispose]() {
      fixture[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await anvil.stop();
    },
  };
}

/** Opens workers that know nothing of the nodes yet, as a process that has just started. */
export function withNewWorkers(
  { anvil, realm }: Pick<RampFixture, "anvil" | "realm">,
  testnet: boolean,
): Omit<RampFixture, typeof Symbol.asyncDispose> & Disposable {
  const jobs = jobsOf(realm.services, realm.database, realm.id);
  const fixture = fixtureOf(anvil, { ...realm, drain: jobs.drain }, testnet);
  return {
    ...fixture,
    [Symbol.dispose]() {
      fixture[Symbol.dispose]();
      jobs.close();
    },
  };
}

function fixtureOf(
  anvil: Anvil,
  realm: TestRealm,
  testnet: boolean,
): Omit<RampFixture, typeof Symbol.asyncDispose> & Disposable {
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  return {
    anvil,
    realm,
    poller,
    async mine(blocks = 1) {
      await anvil.mine(blocks);
      await poller.follow();
    },
    async ramp(asset = "ETH") {
      const made = await send("POST", "/v1/accounts", { type: "ramp", asset, testnet });
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      const { id, ramp } = (await send("GET", `/v1/accounts/${made.body.id}`)).body;
      return { id, address: ramp.address };
    },
    async address(account, data) {
      const body = data === undefined ? {} : { data };
      const made = await send("POST", `/v1/account/${account}/address`, body);
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      return { id: made.body.id, address: made.body.address.address };
    },
    account: async (id) => (await send("GET", `/v1/accounts/${id}`)).body,
    deposits: () =>
      realm.command(async (tx) => [
        ...await tx.unsafe(
          "select id, account, hash, index, amount, block::integer as block, confirmations, " +
            "status, credited, address_data, error, sweep from deposits order by id",
        ),
      ]),
    [Symbol.dispose]: () => poller[Symbol.dispose](),
  };
}

/** Mines and follows until a condition holds. */
export async function mineUntil(
  fixture: Pick<RampFixture, "realm" | "mine">,
  done: () => Promise<boolean>,
): Promise<void> {
  for (let round = 0; round < 40; round++) {
    if (await done()) return;
    await fixture.realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
    await fixture.mine();
  }
  throw new Error(
    JSON.stringify({
      sweeps: await rowsOf(fixture.realm, "select state, error from sweeps"),
      orders: await rowsOf(fixture.realm, "select purpose, state, error from chain_orders"),
      jobs: await rowsOf(
        fixture.realm,
        "select name, state, last_error from jobs where state <> 'done'",
      ),
    }),
  );
}

/** Compares chain and ledger as the timetable does: what they differ by, asset by asset. */
export async function driftsOf(
  fixture: Pick<RampFixture, "realm">,
  hoursAgo = 0,
): Promise<[asset: string, drift: string][]> {
  const context = await workerContextOf(fixture.realm);
  const at = Date.now() - hoursAgo * 3_600_000;
  await checkSolvency({ ...context, actor: { ...context.actor, at } });
  context.chains.close();
  const { body } = await fixture.realm.admin.send("GET", "/v1/solvency");
  return body.map((row: { asset: string; drift: string }) => [row.asset, row.drift]);
}

/** Lets the workers work while an answer is waited for. */
export async function working(fixture: RampFixture, answer: Promise<Answer>): Promise<Answer> {
  let waiting = true;
  const done = answer.finally(() => waiting = false);
  while (waiting) {
    await fixture.realm.drain();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return await done;
}
