/**
 * Measures transfers through the whole HTTP API of an installation as users start it, and sets them beside the
 * independent yardstick, a transfer called straight in PostgreSQL, in rounds that alternate; then what its statements,
 * its hash chain and its event loop take, other paths, and PostgreSQL 15. Builds everything by itself.
 *
 * `deno task bench [--quick] [--methods] [--own] [--wrk] [--rounds=N] [--seconds=N] [--minutes=N] [--only=text]
 * [--keep=folder]`
 *
 * `--own` takes our own clients where wrk and pgbench are installed, too; `--wrk` refuses to run without wrk.
 *
 * Whatever was measured, audit and verify then read the realms that were under load: where they find a fault, the
 * bench ends with 1.
 *
 * `--only=` one of the parts alone: rows whose name contains the text; `minutes`, the first and the fifth; `batches`, `statements`,
 * `stalls`, `hash_chain`, `memory`, `processes`, `growth [--transactions=N]`, `paths`, `older`; `events`, what webhooks cost and
 * how fast they are; `coins`, how coin chains are read and coins are chosen; `kills --minutes=N`, silences under faults;
 * `fuzz --requests=N`, answers to random requests; `lies --rounds=1`, all lies of a node (`--rounds=9` every ninth);
 * `people [--persons=N]`, synchronisation and lists of persons; `attacks [--name=text]`, transfers under attack;
 * `soak --minutes=10 [--connections=64] [--seconds=N] [--picture=file.svg]`, both halves under load for long;
 * `heap_soak --minutes=10 --name=attacks|usual`, what is alive in one process under load for long;
 * `move [--transactions=N]`, for how long a realm that moves takes no writes; `parse`, the reading of bodies; `pauses`, for how long one request keeps others from the event loop.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { openProgress } from "../progress.ts";
import { benchAttacks } from "./attacks.ts";
import { benchBatches } from "./batch_cost.ts";
import { benchCoins } from "./coins.ts";
import { benchEvents } from "./events.ts";
import { benchFuzz } from "./fuzz.ts";
import { compareProcesses, grow } from "./growth.ts";
import { benchKills } from "./kills.ts";
import { benchLies } from "./lies.ts";
import { chooseGenerator } from "./load.ts";
import type { Field } from "./measure.ts";
import { benchMemory } from "./memory.ts";
import { benchMoves } from "./moves.ts";
import { startPostgres15 } from "./older_postgres.ts";
import { age, measureLaterMinute, measureMinute } from "./minutes.ts";
import { benchParse } from "./parse.ts";
import { benchPaths } from "./paths.ts";
import { benchPauses } from "./pauses.ts";
import { benchPeople } from "./people.ts";
import { type Figures, type Row, show, verdictOf } from "./report.ts";
import { BASE, round, rowNames, rowsOf } from "./rows.ts";
import { benchHeapSoak } from "./heap_soak.ts";
import { benchHashChain } from "./hash_chain.ts";
import { proveSound } from "./soundness.ts";
import { benchSoak } from "./soak.ts";
import { benchStalls } from "./stalls.ts";
import { benchStatements } from "./statements.ts";
import {
  type BenchRealm,
  countTransactions,
  keepStand,
  makeRealm,
  removeRealm,
  removeStand,
  type Server,
  type Stand,
  startDefault,
  startStand,
} from "./stand.ts";
import { openIndependentYardstick, openYardstick } from "./yardstick.ts";
import { answeredHelp } from "../lint/usages.ts";

const ACCOUNTS = 1000;
const MANY_ACCOUNTS = 100_000;
const WARM_S = 2;
/** Parts that `--only` names, besides rows. */
const PARTS = [
  ...["minutes", "batches", "statements", "stalls", "hash_chain", "memory", "processes"],
  "growth",
];
/** Of the fresh installation, the minute that is measured beside the first. */
const MINUTES = 5;
/** How long all of `--quick` may take. */
const QUICK_MAX_S = 240;
/** How many transactions growth is measured to, from a tenth of them. */
const GROWTH = 1_000_000;

type Asked = ReturnType<typeof options>;

/** A stand with everything that rows need. */
interface Built extends Field, AsyncDisposable {
  folder: string;
  work: string;
  large: BenchRealm;
  /** The realm of the product's own yardstick. */
  other: BenchRealm;
  bornAt: number;
}

function options() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      quick: { type: "boolean", default: false },
      own: { type: "boolean", default: false },
      wrk: { type: "boolean", default: false },
      methods: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      name: { type: "string" },
      keep: { type: "string" },
      minutes: { type: "string" },
      connections: { type: "string" },
      picture: { type: "string" },
      requests: { type: "string" },
      persons: { type: "string" },
      transactions: { type: "string" },
      seed: { type: "string" },
    },
  });
  const { quick } = values;
  return {
    ...values,
    rounds: Number(values.rounds ?? (quick ? 3 : 7)),
    seconds: Number(values.seconds ?? (quick ? 2 : 4)),
    transactions: Number(values.transactions ?? GROWTH),
    /** How old the installation is when its rounds begin, and which of its minutes is measured before; 0 for none. */
    minutes: Number(values.minutes ?? (quick ? 0 : MINUTES)),
  };
}

/** Builds a stand, starts the service on it as users do, and prepares what is measured. */
async function build(asked: Asked, server: Server | undefined, accounts: number): Promise<Built> {
  const folder = asked.keep ?? await Deno.makeTempDir({ prefix: "purser-bench-" });
  const work = await Deno.makeTempDir({ prefix: "purser-bench-work-" });
  const stand = await startStand(folder, server);
  const service = await startDefault(stand, folder);
  const bornAt = performance.now();
  const realm = await makeRealm(stand, service, { name: "bench", accounts: ACCOUNTS });
  const how = { folder: work, accounts: ACCOUNTS, own: asked.own };
  const independent = await openIndependentYardstick(stand, how);
  const generator = await chooseGenerator(work, asked);
  const field = { stand, service, realm, generator, yardsticks: { independent, own: independent } };
  if (asked.only === undefined || asked.only === "minutes") {
    const length = asked.quick ? 10 : 60;
    await measureMinute(field, `first ${length} s`, length, minuteTurn(asked));
  }
  const isWhole = server === undefined || !asked.quick;
  const other = isWhole
    ? await makeRealm(stand, service, { name: "yardstick", accounts: 1 })
    : realm;
  const own = isWhole ? await openYardstick(stand, other, how) : independent;
  const large = accounts === ACCOUNTS
    ? realm
    : await makeRealm(stand, service, { name: "large", accounts });
  return {
    ...field,
    yardsticks: { independent, own },
    folder,
    work,
    large,
    other,
    bornAt,
    async [Symbol.asyncDispose]() {
      await service.stop();
      await Deno.remove(work, { recursive: true });
      await (asked.keep === undefined ? removeStand(stand, folder) : stand.stop());
    },
  };
}

/** Warms the service up: compilation on the way is not measured. */
async function warm({ generator, service, realm }: Field, seconds: number): Promise<void> {
  for (const many of [1, 1000]) {
    const connections = many === 1 ? 64 : 2;
    await generator.run(service.port, realm, { connections, how: "uniform", many, seconds });
  }
}

/** Measures rows in rounds, and prints their table. */
async function table(field: Field, rows: Row[], { rounds, seconds }: Asked): Promise<void> {
  const found: Figures[][] = [];
  const progress = openProgress();
  progress.part("Measuring", rounds * rows.length, "runs");
  for (let i = 0; i < rounds; i++) {
    progress.note(`round ${i + 1} of ${rounds}`);
    found.push(await round({ ...field, progress }, rows, [field.service]));
  }
  progress.end();
  console.log(show(rows, found, { ...field, rounds, seconds }));
}

/** Seconds of a turn where a minute is measured. */
function minuteTurn({ seconds }: Asked): number {
  return Math.min(seconds, 3);
}

/** Runs what was asked for on a stand that is ready. */
async function compare(built: Built, asked: Asked): Promise<void> {
  const { seconds, only, quick, minutes } = asked;
  const rows = rowsOf(seconds, built.large);
  if (minutes > 0 && (only === undefined || only === "minutes")) {
    await measureLaterMinute(built, built.bornAt, minutes, minuteTurn(asked));
  }
  if (!PARTS.includes(only ?? "")) {
    const wanted = rows.filter(({ name, yardstick, aside }) =>
      !(quick && aside) && (yardstick?.of === "independent" || !only || name.includes(only))
    );
    await warm(built, Math.min(WARM_S, seconds));
    await age(built, built.bornAt, minutes);
    await table(built, wanted, asked);
  }
  const part = (name: string, long = false) =>
    only === name || only === undefined && !(long && quick);
  if (part("batches")) await benchBatches(built);
  const watched = quick ? seconds : 2 * seconds;
  if (part("statements")) await benchStatements(built, watched);
  if (part("stalls")) await benchStalls(built, built.work, watched);
  if (part("hash_chain")) await benchHashChain(built, seconds);
  if (part("memory")) await benchMemory(built, seconds, only === "memory" || !quick);
  const load = { connections: 256, how: "hot", many: 1, seconds } as const;
  if (part("processes", true)) await compareProcesses(built, load, 3);
  if (part("growth", true)) {
    await grow(built, { base: rows[0], row: rows[2] }, asked.transactions, 3);
  }
  if (only !== undefined) return;
  if (asked.methods) {
    const { compareMethods } = await import("./methods.ts");
    await compareMethods(built, { seconds, rounds: quick ? 1 : 3 });
  }
}

/** The first and the fifth minute and the most important rows on PostgreSQL 15, where the machine has it. */
async function compareOlder(asked: Asked): Promise<void> {
  const server = await startPostgres15();
  if (server === null) return console.log("PostgreSQL 15 is not installed: its rows are left out");
  const once = { ...asked, keep: undefined, rounds: asked.quick ? 1 : asked.rounds };
  console.log("PostgreSQL 15, with its default settings:\n");
  const only = asked.quick ? "older" : "minutes";
  await using built = await build({ ...once, only }, server, ACCOUNTS);
  if (!asked.quick && asked.minutes > 0) {
    await measureLaterMinute(built, built.bornAt, asked.minutes, minuteTurn(asked));
  }
  await warm(built, Math.min(WARM_S, asked.seconds));
  const names = [BASE, "single, uniform, 32", "single, uniform, 256", "1000 a request, 4"];
  if (!asked.quick) names.push("yardstick on the product's tables, 32");
  const rows = rowsOf(asked.seconds, built.large).filter(({ name }) => names.includes(name));
  await table(built, rows, once);
  await benchBatches(built);
  await proveSound(built.stand, built, [built.realm]);
}

/** Parts that build their own stands. */
const ALONE: Readonly<Record<string, (asked: Asked) => Promise<void> | void>> = {
  coins: () => benchCoins(),
  parse: () => benchParse(),
  pauses: ({ rounds }) => benchPauses(rounds),
  attacks: (asked) => benchAttacks(asked),
  fuzz: ({ requests, seed }) => benchFuzz(Number(requests ?? 10_000), Number(seed ?? 1)),
  kills: ({ minutes }) => benchKills(minutes || 10),
  soak: (asked) => benchSoak(asked),
  heap_soak: (asked) => benchHeapSoak({ ...asked, minutes: asked.minutes || 10 }),
  lies: ({ rounds }) => benchLies(rounds),
  events: (asked) => benchEvents(asked),
  people: ({ persons }) => benchPeople(Number(persons ?? 100_000)),
  move: ({ rounds, transactions, connections }) =>
    benchMoves({ rounds, transactions, connections: Number(connections ?? 8) }),
  paths: ({ seconds }) => benchPaths(seconds),
  older: (asked) => compareOlder(asked),
};

/** Refuses a part that there is not: nothing but the yardstick would be measured. */
function refuseUnknown({ only }: Asked): void {
  const parts = [...PARTS, ...Object.keys(ALONE)];
  const rows = rowNames(MANY_ACCOUNTS);
  if (only === undefined || parts.includes(only) || rows.some((name) => name.includes(only))) {
    return;
  }
  console.error(
    `--only=${only} is no part and in no row's name.\nparts: ${parts.join(", ")}\nrows: ${
      rows.join("; ")
    }`,
  );
  Deno.exit(1);
}

/** Builds the stand, measures, prints, and takes the stand away again unless it is kept. */
async function main(): Promise<void> {
  const asked = options();
  refuseUnknown(asked);
  const alone = ALONE[asked.only ?? ""];
  if (alone !== undefined) return await alone(asked);
  {
    // Many accounts take as long to make as all else.
    const many = asked.only === undefined || asked.only.includes("accounts");
    await using built = await build(asked, undefined, many ? MANY_ACCOUNTS : ACCOUNTS);
    await compare(built, asked);
    await proveSound(built.stand, built, [built.realm, built.large]);
    if (asked.keep !== undefined) await keep(built.stand, asked.keep, built);
  }
  if (asked.only !== undefined) return;
  await benchPaths(asked.quick ? 1 : asked.seconds, { whole: !asked.quick });
  await compareOlder(asked);
  if (asked.quick) return tellTime(); // under four minutes
  await benchEvents(asked);
  await benchCoins();
}

/** Says how long the quick run took. */
function tellTime(): void {
  const seconds = performance.now() / 1000; // since the process began
  const verdict = verdictOf(seconds < QUICK_MAX_S) ?? "";
  console.log(`this took ${Math.round(seconds)} s (must ${QUICK_MAX_S}) ${verdict}`);
}

/** Leaves the database behind without the yardsticks' tables, and says how it is audited. */
async function keep(stand: Stand, folder: string, { realm, other }: Built): Promise<void> {
  await removeRealm(stand, other);
  await stand.sql`drop schema independent cascade`;
  await keepStand(folder, realm);
  console.log(`
${await countTransactions(stand, realm)} transactions are kept in ${folder}:

    DATA_DIR=${folder} deno task audit
    DATA_DIR=${folder} deno task start
    PURSER_KEY=$(cat ${folder}/user_key) deno task verify --url http://127.0.0.1:8080
`);
}

if (import.meta.main && !answeredHelp("bench")) await main();
