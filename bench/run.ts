/**
 * Measures the ledger through the whole HTTP API and sets it beside the yardstick, the same move
 * called straight in PostgreSQL, in rounds that alternate; then how coin chains are read and coins
 * are chosen (alone with `--only=coins`). Builds everything by itself. `--only=kills --minutes=N`
 * measures silences under faults instead, `--only=fuzz --requests=N` judges answers to random
 * requests, `--only=lies --rounds=1` tells all lies of a node (`--rounds=9` every ninth),
 * `--only=attacks [--name=text]` measures transfers under attack, `--only=parse` the reading of bodies,
 * `--only=pauses` for how long one request keeps others from the event loop.
 *
 * `deno task bench [--quick] [--peers] [--own] [--workers] [--rounds=N] [--seconds=N] [--only=text]
 * [--keep=folder]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { benchAttacks } from "./attacks.ts";
import { benchCoins } from "./coins.ts";
import { benchFuzz } from "./fuzz.ts";
import { benchKills } from "./kills.ts";
import { benchLies } from "./lies.ts";
import { chooseGenerator, type Load } from "./load.ts";
import { type Field, measure } from "./measure.ts";
import { benchParse } from "./parse.ts";
import { benchPauses } from "./pauses.ts";
import { median } from "./processes.ts";
import { type Figures, type Row, show } from "./report.ts";
import {
  type BenchRealm,
  countTransactions,
  keepStand,
  makeRealm,
  removeRealm,
  removeStand,
  type Service,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";
import { openYardstick } from "./yardstick.ts";

const ACCOUNTS = 1000;
const WARM_S = 2;
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

/** Warms the service up: what is compiled on the way is not what is measured. */
async function warm({ generator, service, realm }: Field, seconds: number): Promise<void> {
  for (const many of [1, 1000]) {
    const connections = many === 1 ? 64 : 2;
    await generator.run(service.port, realm, { connections, how: "uniform", many, seconds });
  }
}

function options() {
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
      name: { type: "string" },
      keep: { type: "string" },
      minutes: { type: "string" },
      requests: { type: "string" },
      seed: { type: "string" },
    },
  });
  const { quick } = values;
  return {
    ...values,
    rounds: Number(values.rounds ?? (quick ? 2 : 5)),
    seconds: Number(values.seconds ?? (quick ? 2 : 5)),
  };
}

/** Runs what was asked for on a stand that is ready. */
async function compare(field: Field, asked: ReturnType<typeof options>): Promise<void> {
  const { rounds, seconds, only, quick } = asked;
  const rows = rowsOf(seconds);
  const wanted = rows.filter(({ name }) => name === BASE || !only || name.includes(only));
  await warm(field, Math.min(WARM_S, seconds));
  if (!only && !quick) await grow(field, rows[2], 1_000_000, 3);
  const found: Figures[][] = [];
  for (let i = 0; i < rounds; i++) {
    console.error(`round ${i + 1} of ${rounds}`);
    found.push(await round(field, wanted, [field.service]));
  }
  console.log(show(wanted, medians(found), { ...field, rounds, seconds }));
  if (!only) {
    const load = { connections: 256, how: "hot", many: 1, seconds } as const;
    await compareProcesses(field, load, quick ? 1 : 3);
  }
  if (asked.peers) {
    const { comparePeers } = await import("./peers.ts");
    await comparePeers(field, { seconds, rounds: quick ? 1 : 3 });
  }
}

/** Builds the stand, measures, prints, and takes the stand away again unless it is kept. */
async function main(): Promise<void> {
  const asked = options();
  if (asked.only === "coins") return await benchCoins();
  if (asked.only === "parse") return benchParse();
  if (asked.only === "pauses") return await benchPauses(asked.rounds);
  if (asked.only === "attacks") return await benchAttacks(asked);
  if (asked.only === "fuzz") {
    return await benchFuzz(Number(asked.requests ?? 10_000), Number(asked.seed ?? 1));
  }
  if (asked.only === "kills") return await benchKills(Number(asked.minutes ?? 10));
  if (asked.only === "lies") return await benchLies(asked.rounds);
  const folder = asked.keep ?? await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder);
  const service = await startService(stand, { workers: asked.workers });
  try {
    const realm = await makeRealm(stand, service, { name: "bench", accounts: ACCOUNTS });
    const other = await makeRealm(stand, service, { name: "yardstick", accounts: 1 });
    const yardstick = await openYardstick(stand, other, {
      folder: work,
      accounts: ACCOUNTS,
      own: asked.own,
    });
    const generator = await chooseGenerator(work, asked.own);
    await compare({ stand, service, realm, generator, yardstick }, asked);
    if (asked.keep !== undefined) await keep(stand, asked.keep, { realm, yardstick: other });
  } finally {
    await service.stop();
    await Deno.remove(work, { recursive: true });
    await (asked.keep === undefined ? removeStand(stand, folder) : stand.stop());
  }
  if (!asked.only && !asked.quick) await benchCoins();
}

/** Leaves the database behind without the yardstick's tables, and says how it is looked at. */
async function keep(
  stand: Stand,
  folder: string,
  { realm, yardstick }: { realm: BenchRealm; yardstick: BenchRealm },
): Promise<void> {
  await removeRealm(stand, yardstick);
  await keepStand(folder, realm);
  console.log(`
${await countTransactions(stand, realm)} transactions are kept in ${folder}:

    DATA_DIR=${folder} deno task audit
    DATA_DIR=${folder} deno task start
    deno task verify --url http://127.0.0.1:8080 --key $(cat ${folder}/user_key)
`);
}

if (import.meta.main) await main();
