/** How many statements each path sends to PostgreSQL: exact on every machine, however busy it is. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { BESIDE } from "../support/statement_texts.ts";

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
  const hear = (text: string) => void sent.push(text.replaceAll(/\s+/g, " ").trim());
  const env = {
    ETHEREUM_TESTNET_RPC_URL: fixture.anvil.url,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  };
  const other = realm.another(env, hear);
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
      const during: string[] = sent = [];
      await work();
      sent = [];
      return during;
    },
    async [Symbol.asyncDispose]() {
      chains.close();
      await other[Symbol.asyncDispose]();
    },
  };
}

/** Statements of one request; an earlier one opens the connections and fills the caches. */
async function sentBy(process: Counted, ask: () => ReturnType<Counted["send"]>): Promise<string[]> {
  await ask();
  const sent = await process.during(async () => {
    const { status, text } = await ask();
    ok(status < 300, text);
  });
  return sent.filter((text) => !BESIDE.test(text));
}

function count(sent: readonly string[], begins: string): number {
  return sent.filter((text) => text.startsWith(begins)).length;
}

/** Makes deposit addresses of a ramp. */
async function addresses(fixture: RampFixture, ramp: string, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i++) made.push((await fixture.address(ramp)).address);
  return made;
}

/** Sends a coin to each of some addresses, in one block that becomes deep enough. */
async function fund(fixture: RampFixture, to: readonly string[]): Promise<void> {
  for (const address of to) await fixture.anvil.pool({ to: address, value: ETHER });
  await fixture.anvil.mine(3);
}

const FEW = 3;
const MANY = 9;

Deno.test("a request sends a known number of statements, and a list as many for nine items as for three", async () => {
  await using fixture = await openRampFixture();
  await using process = counted(fixture);
  const { send } = process;
  const ramp = await fixture.ramp();
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  await fixture.mine(3);
  await fixture.mine(3);
  for (let i = 0; i < MANY; i++) await fixture.realm.user();
  const key = () => ({ "idempotency-key": crypto.randomUUID() });
  const account = { type: "virtual", asset: "ETH", testnet: true };
  const made = await sentBy(process, () => send("POST", "/v1/accounts", account, key()));
  // key, identity, account with its job, version, answer with its audit line
  equal(made.length, 5, made.join("\n"));
  const payment = {
    source: { account: ramp.id },
    destination: { address: OUTSIDE },
    value: "0.0001",
  };
  const paid = await sentBy(process, () => send("POST", "/v1/withdrawals", payment, key()));
  // key, version, answer, and: account, address, its use, stops, price, means, block, order with its job, withdrawal, event
  equal(paid.length, 13, paid.join("\n"));
  for (let i = 0; i < MANY; i++) await send("POST", "/v1/accounts", account);
  const lists = { accounts: 3, users: 1, identities: 1 }; // accounts with balances on chains read those, too
  for (const [list, statements] of Object.entries(lists)) {
    for (const limit of [FEW, MANY]) {
      const path = `/v1/${list}/all?scope=all&limit=${limit}`;
      const sent = await sentBy(process, () => send("GET", path));
      equal(sent.length, statements, `${path}\n${sent.join("\n")}`);
      ok(!sent.join().includes("verifier"), "a list reads no password's verifier");
      const page = await sentBy(
        process,
        () => send("GET", `/v1/${list}?pageSize=${limit}&scope=all`),
      );
      equal(page.length, statements + 1, `${path} and its total\n${page.join("\n")}`);
    }
  }
  const others = [
    "transactions",
    "withdrawals",
    "deposits",
    "aliases",
    "currencies",
    "apps/deposit",
  ];
  for (const list of others) {
    const path = (limit: number) => `/v1/${list}/all?scope=all&limit=${limit}`;
    const few = await sentBy(process, () => send("GET", path(1)));
    const many = await sentBy(process, () => send("GET", path(100)));
    ok(many.length <= few.length, `${list}\n${many.join("\n")}`);
  }
});

Deno.test("a list of deposit applications sends as many statements for three as for one", async () => {
  await using fixture = await openRampFixture();
  await using process = counted(fixture);
  const { send } = process;
  const ramp = await fixture.ramp();
  const account = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const destination = (await send("POST", "/v1/accounts", account)).body.id;
  await process.drain();
  for (let i = 0; i < FEW; i++) {
    const app = { destination: { account: destination }, asset: "ETH" };
    equal((await send("POST", "/v1/apps/deposit", app)).status, 201);
  }
  const path = (limit: number) => `/v1/apps/deposit/all?scope=all&limit=${limit}`;
  const [one, all] = [path(1), path(FEW)].map((at) => () => send("GET", at));
  equal((await all()).body.length, FEW);
  const [many, few] = [await sentBy(process, all), await sentBy(process, one)];
  equal(many.length, few.length, many.join("\n"));
});

Deno.test("a block of nine deposits is credited by as many statements as a block of three", async () => {
  await using fixture = await openRampFixture();
  await using process = counted(fixture);
  const ramp = await fixture.ramp();
  const free = await addresses(fixture, ramp.id, 1 + FEW + MANY);
  await fund(fixture, free.splice(0, 1)); // connections and caches
  await process.poll();
  const sent: string[][] = [];
  for (const deposits of [FEW, MANY]) {
    await fund(fixture, free.splice(0, deposits));
    sent.push(await process.during(() => process.poll()));
  }
  const confirmed = (await fixture.deposits()).filter((row) => row.status === "CONFIRMED");
  equal(confirmed.length, 1 + FEW + MANY);
  const [few, many] = sent.map((texts) => texts.filter((text) => !BESIDE.test(text)));
  const more = [...many];
  for (const text of few) if (more.includes(text)) more.splice(more.indexOf(text), 1);
  deepEqual(more, []);
});

Deno.test("sweeps that are planned at once lose no race, and each is planned once", async () => {
  await using fixture = await openRampFixture();
  await using process = counted(fixture);
  const ramp = await fixture.ramp();
  await fund(fixture, await addresses(fixture, ramp.id, 12));
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
