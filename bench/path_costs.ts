/**
 * Costs of paths other than transfers: requests a second, queries of each, and the processor time of the service and
 * of PostgreSQL. The caller is a process of its own; the service runs in this one, on a realm with a ramp on a real
 * node. A list that sends more queries for more items is reported.
 *
 * `deno task bench --only=paths` runs it; its arguments are how many seconds a row takes, and `deposits` where those
 * are measured, too.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import { openChains } from "../workers/chains/registry.ts";
import { startRunner } from "../workers/jobs/runner.ts";
import { openSigner } from "../workers/keys/signer.ts";
import { startChainPoller } from "../workers/scanning/chain_poller.ts";
import { OUTSIDE } from "../tests/support/evm_fixture.ts";
import { openRampFixture, type RampFixture } from "../tests/support/ramp_fixture.ts";
import type { Send, TestProcess } from "../tests/support/realm.ts";
import { cpuSeconds, output } from "./processes.ts";
import { verdictOf } from "./report.ts";

/** Requests that are under way at once. */
const AT_ONCE = 16;
const DEPOSITS = 100;
const BLOCKS = 2;
/** How much a request may cost as a multiple of what it costs PostgreSQL. */
const COST_MAX = 2;
const ETHER = 10n ** 18n;

/** A measured path, and how its figures are read. */
interface Ground {
  fixture: RampFixture;
  /** A process that serves and works beside the fixture's own, whose statements are counted. */
  other: TestProcess;
  send: Send;
  postgres: number;
  /** Statements that were sent until now. */
  sent(): number;
  /** Where the service listens. */
  port: number;
  seconds: number;
}

/** A kind of request. */
interface Question {
  method: string;
  path: string;
  body?: unknown;
}

interface Cost {
  count: number;
  seconds: number;
  queries: number;
  service: number;
  postgres: number;
}

async function main(): Promise<void> {
  // Where statements are counted the driver makes an error of each of its pieces, for the place that made it: their stacks
  // were a sixth of the service's time.
  Error.stackTraceLimit = 0;
  await using fixture = await openRampFixture();
  let sent = 0;
  const env = {
    ETHEREUM_TESTNET_RPC_URL: fixture.anvil.url,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  };
  await using other = fixture.realm.another(env, () => sent++);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => other.app(request, "127.0.0.1"),
  );
  const ground: Ground = {
    fixture,
    other,
    send: other.send(fixture.realm.admin.key),
    postgres: Number(Deno.env.get("BENCH_POSTGRES")),
    sent: () => sent,
    port: server.addr.port,
    seconds: Number(Deno.args[0]),
  };
  console.log(
    "| path | requests/s | queries each | us of service | us of PostgreSQL | both, of PostgreSQL's |\n" +
      "|---|--:|--:|--:|--:|--:|",
  );
  const account = { type: "virtual", asset: "ETH", testnet: true };
  await path(ground, { method: "POST", path: "/v1/accounts", body: account });
  for (let i = 0; i < 200; i++) await fixture.realm.user();
  for (const list of ["accounts", "users", "identities"]) await pages(ground, list);
  await withdrawals(ground);
  if (Deno.args[1] === "deposits") await deposits(ground);
}

/** Measures one kind of request. */
async function path(ground: Ground, question: Question): Promise<void> {
  await call(ground, question, ground.seconds / 4); // warms it up
  print(
    `${question.method} ${question.path}`,
    await costOf(ground, () => call(ground, question, ground.seconds)),
  );
}

/** Lets the calling process send requests, and gives their number. */
async function call(
  ground: Ground,
  { method, path, body }: Question,
  seconds: number,
): Promise<number> {
  const { key } = ground.fixture.realm.admin;
  const text = await output(Deno.execPath(), [
    ...["run", "-A", new URL("path_caller.ts", import.meta.url).pathname],
    ...[`${ground.port}`, `${AT_ONCE}`, `${seconds}`, key, method, path],
    ...(body === undefined ? [] : [JSON.stringify(body)]),
  ]);
  const { requests, failed } = JSON.parse(text);
  if (failed > 0) throw new Error(`${method} ${path}: ${failed} of ${requests} were refused`);
  return requests;
}

/** Pages of a list with few items and with many: both send as many queries. */
async function pages(ground: Ground, list: string): Promise<void> {
  const queries: number[] = [];
  for (const limit of [10, 100]) {
    const at = `/v1/${list}/all?scope=all&limit=${limit}`;
    await path(ground, { method: "GET", path: at });
    const before = ground.sent();
    await ground.send("GET", at);
    queries.push(ground.sent() - before);
  }
  // Some statements are of the process, not of the request.
  if (queries[1] > queries[0] + 10) console.log(`**MISSED**: a query for each item of ${list}`);
}

async function withdrawals(ground: Ground): Promise<void> {
  const { fixture } = ground;
  const ramp = await fixture.ramp();
  await fixture.anvil.pool({ to: ramp.address, value: 100n * ETHER });
  await fixture.mine(3);
  await fixture.mine(3);
  const body = {
    source: { account: ramp.id },
    destination: { address: OUTSIDE },
    value: "0.0001",
  };
  await path(ground, { method: "POST", path: "/v1/withdrawals", body });
}

/**
 * Deposits that arrive in one block, each at an address of its own, until they are credited: the second block, because
 * code that never ran costs as much again; and the sweeps of both.
 */
async function deposits(ground: Ground): Promise<void> {
  const { fixture, other } = ground;
  const ramp = await fixture.ramp("ETH");
  const chains = openChains(other.services.config.chains);
  const options = {
    database: other.database,
    log: other.services.log,
    chains,
    signer: openSigner(other.services.config.masterKey!, Date.now),
    now: Date.now,
    wake: () => {},
  };
  const only = { loop: false, only: fixture.realm.id };
  const run = () => startRunner({ ...options, pollMs: 1000 }, only).drain(600_000);
  await run(); // the orders of the withdrawals
  const all = BLOCKS * DEPOSITS;
  const places: string[] = [];
  for (let i = 0; i < all; i++) places.push((await fixture.address(ramp.id)).address);
  const credit = async () => {
    for (let round = 0; round < 2; round++) {
      await fixture.anvil.mine(3);
      await startChainPoller({ ...options, pollMs: 0 }, only).drain(120_000);
    }
    return DEPOSITS;
  };
  for (let block = 1; block <= BLOCKS; block++) {
    for (const to of places.splice(0, DEPOSITS)) {
      await fixture.anvil.pool({ to, value: ETHER / 100n });
    }
    const credited = await costOf(ground, credit);
    if (block < BLOCKS) continue;
    print(`a deposit, ${DEPOSITS} of them in a block, until it is credited`, credited);
  }
  const started = await costOf(ground, async () => {
    const runner = startRunner({ ...options, pollMs: 1000 }, { only: fixture.realm.id });
    while (await sweepsSent(fixture) < all) await new Promise((done) => setTimeout(done, 50));
    await runner.stop();
    return all;
  });
  print("its sweep, until it is sent", started);
  chains.close();
  const { body } = await ground.send(
    "GET",
    "/v1/deposits/count?scope=all&query=%7B%22status%22%3A%22CONFIRMED%22%7D",
  );
  if (body < all) throw new Error(`${body} deposits were credited`);
}

async function sweepsSent(fixture: RampFixture): Promise<number> {
  const [{ count }] = await fixture.realm.command((tx) =>
    tx`select count(*)::integer as count from order_attempts c join chain_orders o on o.id = c.order_id
      where o.purpose = 'sweep' and c.sent_at is not null`
  );
  return count;
}

async function costOf(ground: Ground, work: () => Promise<number>): Promise<Cost> {
  const [sent, postgres] = [ground.sent(), await cpuSeconds(ground.postgres)];
  const [own, start] = [cpuUsage(), performance.now()];
  const count = await work();
  const used = cpuUsage(own);
  return {
    count,
    seconds: (performance.now() - start) / 1000,
    queries: (ground.sent() - sent) / count,
    service: (used.user + used.system) / count,
    postgres: (await cpuSeconds(ground.postgres) - postgres) / count * 1e6,
  };
}

function print(name: string, { count, seconds, queries, service, postgres }: Cost): void {
  const ratio = (service + postgres) / postgres;
  const cells = [
    name,
    (count / seconds).toFixed(0),
    queries.toFixed(1),
    service.toFixed(0),
    postgres.toFixed(0),
    `${ratio.toFixed(1)} ${verdictOf(ratio <= COST_MAX) ?? ""}`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

if (import.meta.main) await main();
