/** A realm that moves while its workers run: jobs, scanning, sending, the hash chain and webhooks. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import postgres from "postgres";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { createLog } from "../../log.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openWebhookClient } from "../../workers/gateways/outbound/webhook_client.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { openDeliverer } from "../../workers/webhooks/deliverer.ts";
import { movingOptions, schemaOf } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { realmDatabase } from "../support/database.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { until } from "../support/eventually.ts";
import { killedMover } from "../support/mover.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { PLATFORM_KEY, type TestProcess } from "../support/realm.ts";
import { openReceiver, type Received } from "../support/webhook_receiver.ts";

const STEPS = [
  ...["copying", "prepared", "loaded", "compared"],
  ...["fencing", "fenced", "complete", "switched"],
];
const ETHER = 10n ** 18n;
/** Deliveries that may be answered and not stored yet when the realm takes no writes from now on. */
const IN_HAND = 128;
/** Until a request is sent again, or a further one is: without it callers would take the processors from the mover. */
const PAUSE_MS = 50;
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Starts all workers of a process. */
function startWork({ services, database }: TestProcess): AsyncDisposable {
  const { config, secrets, migrations } = services;
  const log = createLog({ level: "error", format: "pretty" });
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const shared = { database, log, chains, signer, now: Date.now };
  const deliverer = openDeliverer({
    ...{ log, secrets, now: Date.now },
    client: openWebhookClient({ allowPrivate: true, timeoutMs: 10_000 }),
  });
  const runner = startRunner({ ...shared, pollMs: 200 });
  const timetable = startTimetable({
    ...shared,
    rates: null,
    migrations,
    deliverer,
  });
  const wake = (realm: string) => runner.wake(realm);
  const poller = startChainPoller({ ...shared, pollMs: 200, wake });
  return {
    async [Symbol.asyncDispose]() {
      chains.close();
      await Promise.all(
        [runner, timetable, poller, deliverer].map((one) => one.stop()),
      );
    },
  };
}

/** What callers asked for, and were told was done. */
interface Asked {
  withdrawals: string[];
  accounts: string[];
  transfers: string[];
  deposits: number;
  others: number[];
  /** Pays coins in, and waits until they can be paid out. */
  fund(): Promise<void>;
  /** Asks for one of everything. */
  all(): Promise<void>;
  /** Asks for transfers, and mines, until it is stopped. */
  begin(): { stop(): Promise<void> };
}

/** Asks for things; what is refused with 503 is asked for again under the same key. */
async function callers(
  { realm, anvil, ...fixture }: RampFixture,
): Promise<Asked> {
  const { name, account: gold } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  const ramp = await fixture.ramp();
  const input = { type: "virtual", asset: "ETH", ramp: ramp.id };
  const account: string = (await realm.admin.send("POST", "/v1/accounts", input)).body.id;
  await realm.drain();
  const { address } = await fixture.address(account);
  const pay = (value: bigint) => anvil.pool({ to: address, value });
  const others: number[] = [];
  async function ask(path: string, body: unknown): Promise<string> {
    for (const key = crypto.randomUUID();;) {
      const answer = await realm.admin.send("POST", path, body, {
        "idempotency-key": key,
      });
      if (answer.status < 300) return answer.body.id;
      if (answer.status !== 503) {
        throw new Error(`${path}: ${answer.status} ${answer.text}`);
      }
      others.push(answer.status);
      await pause();
    }
  }
  const asked: Asked = {
    ...{ withdrawals: [], accounts: [], transfers: [], deposits: 0, others },
    async fund() {
      await pay(5n * ETHER);
      asked.deposits++;
      await until(async () => Number((await realm.balance(account)).available) > 4);
    },
    async all() {
      asked.accounts.push(
        await ask("/v1/accounts", { type: "virtual", asset: name }),
      );
      const destination = { address: OUTSIDE };
      const withdrawal = { source: { account }, destination, value: "0.01" };
      asked.withdrawals.push(await ask("/v1/withdrawals", withdrawal));
      await pay(ETHER);
      asked.deposits++;
    },
    begin() {
      let running = true;
      const transfer = {
        source: { account: gold },
        destination: { account: other },
        value: "1",
      };
      const work = async () => {
        while (running) {
          asked.transfers.push(await ask("/v1/transactions", transfer));
          await anvil.mine();
          await pause();
        }
      };
      const done = work();
      return {
        async stop() {
          running = false;
          await done;
        },
      };
    },
  };
  return asked;
}

/**
 * No event was delivered twice, but where its first delivery came while the realm took no writes: movers that are killed
 * make that longer than a deliverer waits to store the answer, and then the event is told again under its id.
 */
function assertToldOnce(
  received: readonly Received[],
  fence: { from: number; to: number },
): void {
  const first = new Map<string, Received>();
  for (const one of received) {
    const id = one.headers.get("webhook-id")!;
    const before = first.get(id);
    if (before === undefined) {
      first.set(id, one);
      continue;
    }
    equal(one.text, before.text, "an event that is told again says the same");
    ok(before.n >= fence.from - IN_HAND && before.n < fence.to, `${id} is delivered twice`);
  }
}

/** Waits until no job runs at the new place: one that could not end while the realm took no writes is taken again. */
async function settled(to: string, schema: string): Promise<void> {
  const sql = postgres(to, { max: 1, onnotice: () => {} });
  try {
    await until(async () => {
      const rows = await sql`select from ${sql(schema)}.jobs where state = 'running'`;
      return rows.length === 0;
    });
  } finally {
    await sql.end();
  }
}

/** No job is lost or given up at the new place, each transfer that was told is there, and no ramp is in quarantine. */
async function assertWhole(
  to: string,
  schema: string,
  transfers: readonly string[],
): Promise<void> {
  const sql = postgres(to, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(`set search_path to ${schema}`);
    const jobs = await sql`
      select name, state, attempts, last_error from jobs
      where state in ('running', 'dead') or (name = 'account.enable' and state <> 'done')`;
    deepEqual([...jobs], []);
    const [{ n }] = await sql`
      select count(*)::integer as n from transactions
      where id = any (${`{${transfers.join()}}`}::text::uuid[])`;
    equal(n, transfers.length);
    const [{ held }] = await sql`
      select count(*)::integer as held from ramps where quarantined is not null`;
    equal(held, 0, "no ramp is in quarantine");
  } finally {
    await sql.end();
  }
}

Deno.test("a realm moves while its workers run, by movers that are killed at each step: nothing is lost, or done twice", async () => {
  await using own = await realmDatabase();
  const env = { DATABASE_URL: own.url, WEBHOOKS_ALLOW_PRIVATE: "true" };
  await using fixture = await openRampFixture({ testnet: false, env });
  const { realm, anvil } = fixture;
  const node = { ETHEREUM_RPC_URL: anvil.url, ETHEREUM_CONFIRMATIONS: "2" };
  const asked = await callers(fixture);
  await using receiver = openReceiver();
  const hook = {
    url: receiver.url,
    events: ["transaction.created", "account.enabled"],
  };
  equal((await realm.admin.send("POST", "/v1/webhooks", hook)).status, 201);
  await using process = realm.another({ ...env, ...node });
  const to = await server.database();
  const fence = { from: 0, to: 0 };
  {
    await using _workers = startWork(process);
    const busy = asked.begin();
    await asked.fund();
    for (const step of STEPS) {
      if (step !== "complete" && step !== "switched") await asked.all();
      if (step === "fencing") fence.from = receiver.received.length;
      const by = { url: own.url, platformKey: PLATFORM_KEY };
      equal(await killedMover({ realm: realm.id, to, step, ...by }), "SIGKILL", step);
    }
    const options = movingOptions(realm);
    await carryOn(
      options,
      await orderMove(options, { realm: realm.id }, Date.now()),
    );
    fence.to = receiver.received.length;
    await asked.all();
    const ended = async (id: string) =>
      (await realm.admin.send("GET", `/v1/withdrawals/${id}`)).body.status !==
        "PROCESSING";
    for (const id of asked.withdrawals) await until(() => ended(id));
    const told = () => receiver.received.map(({ body }) => body.data.id);
    await until(async () => {
      const { rows } = (await realm.admin.send("GET", "/v1/deposits")).body;
      const booked = rows.filter(({ status }: { status: string }) => status === "CONFIRMED");
      return booked.length === asked.deposits;
    });
    await busy.stop();
    await until(async () =>
      (await realm.admin.send("GET", "/v1/transactions/head")).body.unsealed ===
        0
    );
    await until(() => [...asked.transfers, ...asked.accounts].every((id) => told().includes(id)));
    await settled(to, schemaOf(realm));
  }
  deepEqual(asked.others.filter((status) => status !== 503), []);
  assertToldOnce(receiver.received, fence);
  const paid = BigInt(
    await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest"),
  );
  equal(paid, BigInt(asked.withdrawals.length) * ETHER / 100n);
  await assertWhole(to, schemaOf(realm), asked.transfers);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  ok(asked.transfers.length > STEPS.length);
});
