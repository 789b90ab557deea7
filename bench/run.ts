/**
 * Measures the ledger through the whole HTTP API and sets it beside the yardstick, the same move
 * called straight in PostgreSQL, in rounds that alternate. Builds everything by itself.
 *
 * `deno task bench [--quick] [--peers] [--own] [--rounds=N] [--seconds=N] [--only=text] [--keep=folder]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { chooseGenerator, type Generator, type Load } from "./load.ts";
import { cpuSeconds, median } from "./processes.ts";
import { type Figures, type Row, show } from "./report.ts";
import {
  type BenchRealm,
  countRollbacks,
  countTransactions,
  makeRealm,
  type Service,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";
import { openYardstick, type Yardstick } from "./yardstick.ts";

const ACCOUNTS = 1000;
const BASE = "yardstick, 32 clients";

/** The rows, in the order of a round. */
function rowsOf(seconds: number): Row[] {
  const load = (connections: number, how: Load["how"], many = 1) => ({
    connections,
    how,
    many,
    seconds,
  });
  const yardstick = (clients: number, how: Load["how"]) => ({ clients, how, seconds });
  return [
    { name: BASE, yardstick: yardstick(32, "uniform") },
    { name: "single, uniform, 32", load: load(32, "uniform"), must: 1.3, aim: 1.8 },
    { name: "single, uniform, 256", load: load(256, "uniform"), must: 2, aim: 3 },
    { name: "single, hot, 32", load: load(32, "hot"), must: 1.4, aim: 1.8 },
    { name: "single, hot, 256", load: load(256, "hot"), must: 2.1, aim: 3.3 },
    { name: "1000 a request, 4", load: load(4, "uniform", 1000), must: 3, aim: 4.5 },
    { name: "yardstick, 1 client", yardstick: yardstick(1, "uniform") },
    {
      name: "single, one connection",
      load: load(1, "uniform"),
      against: "yardstick, 1 client",
      must: 0.6,
    },
    { name: "yardstick, hot, 32", yardstick: yardstick(32, "hot") },
  ];
}

/** The parts of a run. */
export interface Field {
  stand: Stand;
  service: Service;
  realm: BenchRealm;
  generator: Generator;
  yardstick: Yardstick;
}

/** Runs a row once. */
export async function measure(field: Field, row: Row, services: Service[]): Promise<Figures> {
  const { stand, realm, generator, yardstick } = field;
  const before = await readCounters(stand, services);
  let requests = 0, failed = 0, seconds = 0, p50 = 0, p99 = 0, lost = 0;
  if (row.yardstick !== undefined) {
    const run = await yardstick.run(row.yardstick);
    ({ requests, failed, seconds, p50, p99 } = run);
    lost = run.retries;
  } else {
    const load = row.load!;
    const connections = Math.max(1, load.connections / services.length);
    const runs = await Promise.all(
      services.map(({ port }) => generator.run(port, realm, { ...load, connections })),
    );
    for (const run of runs) {
      requests += run.requests * load.many;
      failed += run.failed;
      seconds = Math.max(seconds, run.seconds);
      p50 = Math.max(p50, run.p50);
      p99 = Math.max(p99, run.p99);
    }
  }
  const after = await readCounters(stand, services);
  if (row.load !== undefined) lost = after.rollbacks - before.rollbacks;
  const service = after.service - before.service;
  const postgres = after.postgres - before.postgres;
  return {
    rate: requests / seconds,
    ratio: NaN,
    p50,
    p99,
    failed,
    service: service / seconds,
    postgres: postgres / seconds,
    cost: (service + postgres) / requests * 1e6,
    lost,
  };
}

async function readCounters(stand: Stand, services: Service[]) {
  let service = 0;
  for (const { pid } of services) service += await cpuSeconds(pid);
  const postgres = await cpuSeconds(stand.server.pid);
  return { service, postgres, rollbacks: await countRollbacks(stand) };
}

/** Runs all rows once and sets each against its yardstick of this round. */
export async function round(field: Field, rows: Row[], services: Service[]): Promise<Figures[]> {
  const found: Figures[] = [];
  for (const row of rows) {
    const figures = await measure(field, row, services);
    found.push(figures);
    const base = found[rows.findIndex(({ name }) => name === (row.against ?? BASE))];
    figures.ratio = figures.rate / base.rate;
    console.error(
      `  ${row.name}: ${Math.round(figures.rate)}/s, ${figures.ratio.toFixed(2)}` +
        (figures.failed > 0 ? `, ${figures.failed} failed` : ""),
    );
  }
  return found;
}

/** Sets the medians of several rounds beside each other. */
export function medians(rounds: Figures[][]): Figures[] {
  return rounds[0].map((first, i) => {
    const names = Object.keys(first) as (keyof Figures)[];
    return Object.fromEntries(
      names.map((name) => [name, median(rounds.map((found) => found[i][name]))]),
    ) as unknown as Figures;
  });
}

/** Two processes beside one, in turns. */
async function compareProcesses(field: Field, load: Load, times: number): Promise<void> {
  const second = await startService(field.stand);
  const rows: Record<string, Figures[]> = { one: [], two: [] };
  for (let i = 0; i < times; i++) {
    rows.one.push(await measure(field, { name: "one", load }, [field.service]));
    rows.two.push(await measure(field, { name: "two", load }, [field.service, second]));
  }
  await second.stop();
  const rate = (of: Figures[]) => median(of.map(({ rate }) => rate));
  const lost = rows.two.reduce((sum, figures) => sum + figures.lost, 0);
  console.log(
    `two processes, ${load.how}, ${load.connections}: ${Math.round(rate(rows.two))}/s, ` +
      `${(rate(rows.two) / rate(rows.one)).toFixed(2)} of one process (must 0.75), ` +
      `${lost} serialization failures (must 0)`,
  );
}

/** The cost of a transfer as the history grows. */
async function grow(field: Field, row: Row, to: number, times: number): Promise<void> {
  const fill = { connections: 4, how: "uniform", many: 1000, seconds: 3 } as const;
  const at = async () => {
    const base: Figures[] = [], found: Figures[] = [];
    for (let i = 0; i < times; i++) {
      base.push(await measure(field, rowsOf(row.load!.seconds)[0], [field.service]));
      found.push(await measure(field, row, [field.service]));
    }
    const count = await countTransactions(field.stand, field.realm);
    const cost = median(found.map((figures) => figures.cost));
    const ratio = median(found.map((figures, i) => figures.rate / base[i].rate));
    return { count, cost, ratio };
  };
  const few = await at();
  console.error(`  growing from ${few.count} to ${to} transactions`);
  while (await countTransactions(field.stand, field.realm) < to) {
    await field.generator.run(field.service.port, field.realm, fill);
  }
  const many = await at();
  console.log(
    `growth, ${few.count} → ${many.count} transactions: ${few.cost.toFixed(1)} → ` +
      `${many.cost.toFixed(1)} us of processor a transfer (${
        ((many.cost / few.cost - 1) * 100).toFixed(0)
      } %, must 15 %); ${few.ratio.toFixed(2)} → ${many.ratio.toFixed(2)} of the yardstick`,
  );
}

/** Builds the stand, measures, prints. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      quick: { type: "boolean", default: false },
      own: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      workers: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      keep: { type: "string" },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
  const seconds = Number(values.seconds ?? (values.quick ? 2 : 5));
  const folder = values.keep ?? await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder);
  const service = await startService(stand, { workers: values.workers });
  try {
    const realm = await makeRealm(stand, service, { name: "bench", accounts: ACCOUNTS });
    const other = await makeRealm(stand, service, { name: "yardstick", accounts: 1 });
    const yardstick = await openYardstick(stand, other, {
      folder: work,
      accounts: ACCOUNTS,
      own: values.own,
    });
    const generator = await chooseGenerator(work, values.own);
    const field = { stand, service, realm, generator, yardstick };
    const wanted = rowsOf(seconds).filter((row) =>
      row.name === BASE || values.only === undefined || row.name.includes(values.only)
    );
    if (values.only === undefined && !values.quick) {
      await grow(field, rowsOf(seconds)[2], 1_000_000, 3);
    }
    const found: Figures[][] = [];
    for (let i = 0; i < rounds; i++) {
      console.error(`round ${i + 1} of ${rounds}`);
      found.push(await round(field, wanted, [service]));
    }
    console.log(show(wanted, medians(found), { generator, yardstick, rounds, seconds }));
    if (values.only === undefined) {
      const load = { connections: 256, how: "hot", many: 1, seconds } as const;
      await compareProcesses(field, load, values.quick ? 1 : 3);
    }
    if (values.peers) {
      const { comparePeers } = await import("./peers.ts");
      await comparePeers(field, { seconds, rounds: values.quick ? 1 : 3 });
    }
  } finally {
    await service.stop();
    await stand.stop();
    await Deno.remove(work, { recursive: true });
    if (values.keep === undefined) await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main();
