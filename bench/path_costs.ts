/**
 * Costs of paths other than transfers: requests a second, queries of each, and the processor time of the service and
 * of PostgreSQL. The caller is a process of its own; the service runs in this one, on a realm with a ramp on a real
 * node. A list that sends more queries for more items is reported.
 *
 * `deno task bench --only=paths` runs it; its arguments are how many seconds a row takes, and `whole` where deposits
 * and the statements of lists behind an empty handler are measured, too.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import postgres from "postgres";
import { openChains } from "../workers/chains/registry.ts";
import { startRunner } from "../workers/jobs/runner.ts";
import { openSigner } from "../workers/keys/signer.ts";
import { startChainPoller } from "../workers/scanning/chain_poller.ts";
import { OUTSIDE } from "../tests/support/evm_fixture.ts";
import { openRampFixture, type RampFixture } from "../tests/support/ramp_fixture.ts";
import type { TestProcess } from "../tests/support/realm.ts";
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
  /** A process that serves and works beside the fixture's own, whose time is measured. */
  other: TestProcess;
  /** One more, whose statements are counted: the driver makes errors of each piece of a statement that it tells of. */
  counted: TestProcess;
  postgres: number;
  /** Statements that {@link counted} has sent until now, and the last of them that reads a list. */
  sent(): number;
  lastList(): string;
  /** Where the service listens. */
  port: number;
  seconds: number;
  /** Whether deposits and empty handlers are measured, too. */
  isWhole: boolean;
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
  service: number;
  postgres: number;
}

async function main(): Promise<void> {
  await using fixture = await openRampFixture();
  let [sent, lastList] = [0, ""];
  const env = {
    ETHEREUM_TESTNET_RPC_URL: fixture.anvil.url,
    ETHEREUM_TESTNET_CONFIRMATIONS: "2",
  };
  await using other = fixture.realm.another(env);
  await using counted = fixture.realm.another(env, (text) => {
    sent++;
    if (/\slimit \d+ offset/.test(text)) lastList = text;
  });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => other.app(request, "127.0.0.1"),
  );
  const ground: Ground = {
    fixture,
    other,
    counted,
    postgres: Number(Deno.env.get("BENCH_POSTGRES")),
    sent: () => sent,
    lastList: () => lastList,
    port: server.addr.port,
    seconds: Number(Deno.args[0]),
    isWhole: Deno.args[1] === "whole",
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
  if (ground.isWhole) await deposits(ground);
}

/** Measures one kind of request, and gives how many statements one sends. */
async function path(ground: Ground, question: Question): Promise<number> {
  const queries = await statementsOf(ground, question);
  await call(ground, question, ground.seconds / 4); // warms it up
  print(
    `${question.method} ${question.path}`,
    queries,
    await costOf(ground, () => call(ground, question, ground.seconds)),
  );
  return queries;
}

/** Counts the statements of a request that is not the first of its kind: others are the process's, not the request's. */
async function statementsOf(
  { counted, fixture, sent }: Ground,
  { method, path, body }: Question,
): Promise<number> {
  const send = counted.send(fixture.realm.admin.key);
  const ask = async () => {
    const { status, text } = await send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  };
  await ask();
  const before = sent();
  await ask();
  return sent() - before;
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

/**
 * A list's statement behind a handler that does nothing else: what the runtime and the driver take by themselves, with rows
 * that the driver reads, and with JSON that PostgreSQL writes.
 */
async function bare(ground: Ground, at: string): Promise<void> {
  const { fixture, lastList } = ground;
  const [{ schema }] = await fixture.realm.command((tx) => tx`select current_schema() as schema`);
  const sql = postgres(Deno.env.get("TEST_SUPERUSER_URL")!, {
    ...{ max: AT_ONCE, prepare: false, fetch_types: false },
    connection: { search_path: schema },
  });
  const rows = lastList();
  const json = `select coalesce(json_agg(row), '[]')::text as text from (${rows}) row`;
  const read = async ({ url }: Request) => {
    if (!url.endsWith("/json")) return JSON.stringify(await sql.unsafe(rows));
    return (await sql.unsafe(json))[0].text;
  };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => new Response(await read(request)),
  );
  const there = { ...ground, port: server.addr.port };
  for (const kind of ["rows", "json"]) {
    const question = { method: "GET", path: `/${kind}` };
    await call(there, question, ground.seconds / 4);
    const cost = await costOf(ground, () => call(there, question, ground.seconds));
    print(`${at}: its statement behind an empty handler, ${kind}`, 1, cost);
  }
  await sql.end();
}

/** Pages of a list with few items and with many: both send as many queries. */
async function pages(ground: Ground, list: string): Promise<void> {
  const queries: number[] = [];
  for (const limit of [10, 100]) {
    const at = `/v1/${list}/all?scope=all&limit=${limit}`;
    queries.push(await path(ground, { method: "GET", path: at }));
    if (ground.isWhole) await bare(ground, at);
  }
  if (queries[1] > queries[0]) console.log(`**MISSED**: a query for each item of ${list}`);
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
 * Deposits that arrive in one block, each at an address of its own, until they are credited, and their sweeps. Each process
 * has two blocks, of which the second counts, because code that never ran costs as much again.
 */
async function deposits(ground: Ground): Promise<void> {
  const { fixture, counted, other, sent } = ground;
  await fixture.mine(); // addresses are handed out where a worker was there lately, and lists may have taken long
  const ramp = await fixture.ramp("ETH");
  const places: string[] = [];
  for (let i = 0; i < 2 * BLOCKS * DEPOSITS; i++) {
    places.push((await fixture.address(ramp.id)).address);
  }
  const queries = { credit: 0, sweep: 0 };
  let all = 0;
  for (const process of [counted, other]) {
    const workers = workersOf(ground, process);
    await workers.run(); // the orders of the withdrawals
    let before = 0;
    let credited: Cost = { count: 0, seconds: 0, service: 0, postgres: 0 };
    for (let block = 1; block <= BLOCKS; block++) {
      for (const to of places.splice(0, DEPOSITS)) {
        await fixture.anvil.pool({ to, value: ETHER / 100n });
      }
      before = sent();
      credited = await costOf(ground, workers.credit);
    }
    const between = sent();
    all += BLOCKS * DEPOSITS;
    const swept = await costOf(ground, () => workers.sweep(all));
    workers.close();
    if (process === counted) {
      queries.credit = (between - before) / DEPOSITS;
      queries.sweep = (sent() - between) / (BLOCKS * DEPOSITS);
      continue;
    }
    const name = `a deposit, ${DEPOSITS} of them in a block, until it is credited`;
    print(name, queries.credit, credited);
    print("its sweep, until it is sent", queries.sweep, swept);
  }
  const { body } = await other.send(fixture.realm.admin.key)(
    "GET",
    "/v1/deposits/count?scope=all&query=%7B%22status%22%3A%22CONFIRMED%22%7D",
  );
  if (body < all) throw new Error(`${body} deposits were credited`);
}

/** What scans and sends in a process. */
function workersOf({ fixture }: Ground, { services, database }: TestProcess) {
  const chains = openChains(services.config.chains);
  const options = {
    ...{ database, log: services.log, chains },
    signer: openSigner(services.config.masterKey!, Date.now),
    now: Date.now,
    wake: () => {},
  };
  const only = { loop: false, only: fixture.realm.id };
  return {
    run: () => startRunner({ ...options, pollMs: 1000 }, only).drain(600_000),
    async credit(): Promise<number> {
      for (let round = 0; round < 2; round++) {
        await fixture.anvil.mine(3);
        await startChainPoller({ ...options, pollMs: 0 }, only).drain(120_000);
      }
      return DEPOSITS;
    },
    /** Sends sweeps until there are so many in all. */
    async sweep(all: number): Promise<number> {
      const runner = startRunner({ ...options, pollMs: 1000 }, { only: fixture.realm.id });
      while (await sweepsSent(fixture) < all) await new Promise((done) => setTimeout(done, 50));
      await runner.stop();
      return BLOCKS * DEPOSITS;
    },
    close: () => chains.close(),
  };
}

async function sweepsSent(fixture: RampFixture): Promise<number> {
  const [{ count }] = await fixture.realm.command((tx) =>
    tx`select count(*)::integer as count from order_attempts c join chain_orders o on o.id = c.order_id
      where o.purpose = 'sweep' and c.sent_at is not null`
  );
  return count;
}

async function costOf(ground: Ground, work: () => Promise<number>): Promise<Cost> {
  const postgres = await cpuSeconds(ground.postgres);
  const [own, start] = [cpuUsage(), performance.now()];
  const count = await work();
  const used = cpuUsage(own);
  return {
    count,
    seconds: (performance.now() - start) / 1000,
    service: (used.user + used.system) / count,
    postgres: (await cpuSeconds(ground.postgres) - postgres) / count * 1e6,
  };
}

function print(
  name: string,
  queries: number,
  { count, seconds, service, postgres }: Cost,
): void {
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
