/**
 * Both halves of an installation under load for long, on one hot account: whether memory, the table of accounts and the
 * times of transfers stay as they are. @module
 */
import { openProgress } from "../progress.ts";
import { chooseGenerator, type Generator, type Load, transfersOf } from "./load.ts";
import { residentMib, shareMib } from "./memory.ts";
import { median, treeOf } from "./processes.ts";
import { verdictOf } from "./report.ts";
import { proveSound } from "./soundness.ts";
import {
  type BenchRealm,
  makeRealm,
  removeStand,
  ROOT,
  type Service,
  type Stand,
  startService,
  startStand,
  startWorker,
} from "./stand.ts";

/** What was seen at one moment, and of the transfers since the one before. */
export interface Sample {
  /** Since the load began. */
  minute: number;
  /** Transfers a second. */
  rate: number;
  failed: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Resident memory in MiB; of PostgreSQL with what its processes share counted once. */
  serving: number;
  working: number;
  postgres: number;
  /** The table of accounts with its indexes, MiB, and its row versions that are waiting for vacuum. */
  accounts: number;
  dead: number;
  /** Commits of the ledger that the hash chain has not reached. */
  unlinked: number;
  /** Transactions of the realm so far. */
  transactions: number;
  /** The whole database, MiB. */
  database: number;
}

/** What is asked of a run. */
export interface SoakOptions {
  minutes: number;
  /** The length of a run of load, where it is shorter than usual. */
  seconds: number;
  connections?: string;
  /** A file for the picture. */
  picture?: string;
  own: boolean;
  wrk: boolean;
}

/** A service that has run for so long has what it needs: this much more is a leak, or bloat. */
const GROWTH_MUST = 1.1;
const ACCOUNTS = 1000;
const CONNECTIONS = "64";
const SAMPLES = 120;
/** One for each quarter. */
const SAMPLES_MIN = 4;
const SAMPLE_MIN_S = 2;
/** What must not grow: columns of the table, with their titles. */
const FLAT = {
  serving: "serving half, MiB",
  working: "working half, MiB",
  accounts: "accounts with indexes, MiB",
} as const satisfies Partial<Record<keyof Sample, string>>;
const TOLD = {
  rate: "transfers/s",
  p50: "p50, ms",
  p99: "p99, ms",
  postgres: "PostgreSQL, MiB",
  dead: "dead rows of accounts",
  unlinked: "commits not yet in the hash chain",
} as const satisfies Partial<Record<keyof Sample, string>>;

/** A stand in two halves. */
interface Soaked {
  stand: Stand;
  serving: Service;
  working: Service;
  realm: BenchRealm;
}

/** Puts an installation under load for so many minutes, prints quarters of it, and draws them where asked to. */
export async function benchSoak(asked: SoakOptions): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const stand = await startStand(folder);
  const halves: Service[] = [];
  try {
    const serving = await startService(stand);
    halves.push(serving);
    const working = await startWorker(stand, folder);
    halves.push(working);
    const realm = await makeRealm(stand, serving, { name: "soak", accounts: ACCOUNTS });
    const generator = await chooseGenerator(folder, asked);
    const samples: Sample[] = [];
    const load = `${asked.connections ?? CONNECTIONS} connections, by ${generator.name}`;
    try {
      await soak({ stand, serving, working, realm }, generator, asked, samples);
    } finally { // what was seen is told where it ends early, too
      if (samples.length >= SAMPLES_MIN) console.log(reportOf(samples, load));
    }
    if (asked.picture !== undefined) await draw(samples, asked.picture);
    await proveSound(stand, { service: serving, generator }, [realm]);
  } finally {
    for (const half of halves) await half.stop();
    await removeStand(stand, folder);
  }
}

async function soak(
  field: Soaked,
  generator: Generator,
  { minutes, seconds: shortest, connections = CONNECTIONS }: SoakOptions,
  samples: Sample[],
): Promise<void> {
  const least = Math.min(SAMPLE_MIN_S, shortest);
  const seconds = Math.max(least, Math.round(minutes * 60 / SAMPLES));
  const load: Load = { connections: Number(connections), how: "hot", many: 1, seconds };
  const count = Math.max(SAMPLES_MIN, Math.ceil(minutes * 60 / seconds));
  const progress = openProgress();
  progress.part("Under load", count, "runs");
  const begun = performance.now();
  while (samples.length < count) {
    const run = await generator.run(field.serving.port, field.realm, load);
    const { failed, seconds, p50, p99 } = run;
    const minute = (performance.now() - begun) / 60_000;
    const rate = transfersOf(run, load) / seconds;
    samples.push({ minute, rate, failed, p50, p99, ...await readSizes(field) });
    progress.add(1);
  }
  progress.end();
}

async function readSizes({ stand: { sql, server }, serving, working, realm }: Soaked) {
  const [row] = await sql.unsafe<Record<string, string>[]>(`
    select pg_total_relation_size('${realm.schema}.accounts') as accounts,
      pg_database_size(current_database()) as database,
      (select count(*) from ${realm.schema}.ledger_commits) as unlinked,
      (select n_dead_tup from pg_stat_all_tables
       where schemaname = '${realm.schema}' and relname = 'accounts') as dead,
      (select n_tup_ins from pg_stat_all_tables
       where schemaname = '${realm.schema}' and relname = 'transactions_newest') as transactions`);
  const mib = (bytes: string) => Number(bytes) / 2 ** 20;
  return {
    serving: await residentMib(serving.pid),
    working: await residentMib(working.pid),
    postgres: await shareMib(await treeOf(server.pid)),
    accounts: mib(row.accounts),
    database: mib(row.database),
    dead: Number(row.dead),
    unlinked: Number(row.unlinked),
    transactions: Number(row.transactions),
  };
}

/** Gives a table of quarters, and whether the last is as the second: in the first everything gets its size. */
export function reportOf(samples: readonly Sample[], load: string): string {
  const quarters = [0, 1, 2, 3].map((i) =>
    samples.slice(i * samples.length / 4, (i + 1) * samples.length / 4)
  );
  const last = samples[samples.length - 1];
  const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
  const missed = failed > 0 ? ["failed requests"] : [];
  const rows = Object.entries({ ...TOLD, ...FLAT }).map(([column, title]) => {
    const values = quarters.map((some) => median(some.map((one) => one[column as keyof Sample])));
    const growth = values[3] / values[1];
    if (column in FLAT && !(growth <= GROWTH_MUST)) missed.push(title);
    const cells = [...values.map((value) => value.toFixed(value < 100 ? 1 : 0)), growth.toFixed(2)];
    return `| ${[title, ...cells].join(" | ")} |`;
  });
  return [
    `${last.minute.toFixed(1)} minutes of one hot account, ${load}: ${last.transactions} ` +
    `transactions, ${failed} requests failed; ${bytesEach(samples)} bytes of database for each.`,
    "",
    "| medians of quarters | 1st | 2nd | 3rd | 4th | 4th of 2nd |",
    "|---|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    missed.length === 0
      ? `Nothing that must stay as it is has grown beyond ${GROWTH_MUST}.`
      : `${verdictOf(false)}: ${missed.join(", ")}`,
  ].join("\n");
}

function bytesEach(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const mib = (last.database - first.database) / (last.transactions - first.transactions);
  return Math.round(mib * 2 ** 20);
}

/** Draws in a process that has the packages of tests: the service has none that draws. */
async function draw(samples: readonly Sample[], picture: string): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", "tests/deno.json", "bench/soak_picture.ts", picture],
    cwd: ROOT,
    stdin: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(samples)));
  await writer.close();
  const { code } = await child.status;
  if (code !== 0) throw new Error("the picture was not drawn: see above");
}
