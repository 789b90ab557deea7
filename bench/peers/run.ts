/**
 * The same transfers through other ledgers, on one PostgreSQL server, in rounds that alternate with this service and
 * with the independent yardstick. It downloads nothing: the reader builds the peers, and says where. A peer that is not there is left out.
 *
 * `deno run -A bench/peers/run.ts --build=<folder> [--rounds=5] [--seconds=5] [--connections=32]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { startEmbedded } from "../../db/embedded/embedded.ts";
import type { LoadFigures } from "../generator.ts";
import { chooseGenerator } from "../load.ts";
import { residentMib } from "../memory.ts";
import { cpuSeconds, isInstalled, median, output, treeOf } from "../processes.ts";
import { makeRealm, removeStand, type Stand, startDefault, startStand } from "../stand.ts";
import { openIndependentYardstick } from "../yardstick.ts";
import { startBlnk, startFormance, type Subject, type SubjectOptions } from "./subjects.ts";

const ACCOUNTS = 1000;
/** Of the database, for all that are measured together. */
const CONNECTIONS_MAX = 300;
const GENERATOR = new URL("../generator.ts", import.meta.url).pathname;
/** What each peer is measured with. */
const PEERS: readonly Peer[] = [
  { start: startFormance, files: ["bin/formance"], programs: [] },
  { start: startBlnk, files: ["bin/blnk"], programs: ["redis-server", "redis-cli"] },
];
const HELP =
  "Build Formance Ledger v2.4.12 and Blnk v0.15.2 as their own pages say, into bin/formance and bin/blnk " +
  "of one folder, and name it: deno run -A bench/peers/run.ts --build=<folder>. Blnk needs redis-server and redis-cli, too.";

/** A ledger of others, and what its start needs. */
interface Peer {
  start: (options: SubjectOptions) => Promise<Subject>;
  /** Below the folder of `--build`. */
  files: readonly string[];
  programs: readonly string[];
}

/** One row of one round. */
interface Round {
  ratio: number;
  rate: number;
  p50: number;
  p99: number;
  /** Microseconds of processor a transfer, of the service and of PostgreSQL. */
  cost: number;
  /** Resident memory of the service after the load, in MiB, without PostgreSQL. */
  memory: number;
  failed: number;
}

/** How all are measured. */
interface How {
  rounds: number;
  seconds: number;
  connections: number;
}

/** Something that is measured, by how it is loaded. */
interface Runner {
  name: string;
  pids: number[];
  run(how: "uniform" | "hot"): Promise<LoadFigures>;
  clean(): Promise<void>;
}

if (import.meta.main) Deno.exit(await main(Deno.args));

/** Measures, prints the table, and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      build: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "5" },
      connections: { type: "string", default: "32" },
    },
  });
  const peers: Peer[] = [];
  for (const peer of PEERS) {
    const lacking = await lackingOf(peer, values.build);
    if (lacking.length === 0) peers.push(peer);
    else console.error(`left out: ${lacking.join(", ")} not there`);
  }
  if (peers.length === 0) {
    console.error(HELP);
    return 1;
  }
  const folder = await Deno.makeTempDir({ prefix: "purser-peers-" });
  const work = await Deno.makeTempDir({ prefix: "purser-peers-work-" });
  // Each peer keeps its connections between two of its turns.
  const settings = { max_connections: `${CONNECTIONS_MAX}` };
  const stand = await startStand(
    folder,
    await startEmbedded({ dataDir: folder, port: 0, settings }),
  );
  try {
    const options = { stand, build: await Deno.realPath(values.build!), work, accounts: ACCOUNTS };
    await compare(options, {
      folder,
      peers,
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      connections: Number(values.connections),
    });
    return 0;
  } finally {
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

async function lackingOf({ files, programs }: Peer, build: string | undefined): Promise<string[]> {
  const lacking: string[] = [];
  for (const file of files) {
    const isThere = build !== undefined &&
      await Deno.stat(`${build}/${file}`).then(() => true, () => false);
    if (!isThere) lacking.push(file);
  }
  for (const program of programs) if (!await isInstalled(program)) lacking.push(program);
  return lacking;
}

async function compare(
  options: SubjectOptions,
  how: How & { folder: string; peers: readonly Peer[] },
): Promise<void> {
  const { stand, work } = options;
  const yardstick = await openIndependentYardstick(stand, {
    folder: work,
    accounts: ACCOUNTS,
    own: false,
  });
  await using started = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const { start } of how.peers) subjects.push(started.use(await start(options)));
  const service = await startDefault(stand, how.folder);
  try {
    const realm = await makeRealm(stand, service, { name: "peers", accounts: ACCOUNTS });
    const generator = await chooseGenerator(work, { own: true, wrk: false });
    const load = { connections: how.connections, many: 1, seconds: how.seconds };
    const own: Runner = {
      name: "Purser",
      pids: [service.pid],
      run: (mode) => generator.run(service.port, realm, { ...load, how: mode }),
      clean: () => Promise.resolve(),
    };
    const runners = [own];
    for (const one of subjects) runners.push(await runnerOf(one, work, how));
    const found = new Map<string, Round[]>();
    for (let round = 0; round < how.rounds; round++) {
      const base = await yardstick.run({ ...load, of: "independent", clients: 32, how: "uniform" });
      for (const runner of runners) {
        for (const mode of ["uniform", "hot"] as const) {
          const name = `${runner.name}, ${mode}`;
          const figures = await measure(stand, runner, mode);
          figures.ratio = figures.rate / (base.requests / base.seconds);
          console.error(`  ${name}: ${Math.round(figures.rate)}/s, ${figures.ratio.toFixed(3)}`);
          found.set(name, [...found.get(name) ?? [], figures]);
        }
      }
    }
    print(found, how);
  } finally {
    await service.stop();
  }
}

async function runnerOf(subject: Subject, work: string, how: How): Promise<Runner> {
  const base = `${work}/${subject.port}`;
  await Deno.writeTextFile(`${base}.accounts`, subject.accounts.join("\n") + "\n");
  await Deno.writeTextFile(`${base}.json`, JSON.stringify(subject.form));
  const { name, pids, clean } = subject;
  return {
    name,
    pids,
    clean,
    async run(mode) {
      const args = [
        subject.port,
        how.connections,
        how.seconds,
        "",
        `${base}.accounts`,
        mode,
        1,
        `${base}.json`,
      ];
      return JSON.parse(
        await output(Deno.execPath(), ["run", "-A", GENERATOR, ...args.map(String)]),
      );
    },
  };
}

/** Runs one load; the ratio is the caller's to say. */
async function measure(stand: Stand, runner: Runner, how: "uniform" | "hot"): Promise<Round> {
  const used = async () => {
    let sum = await cpuSeconds(stand.server.pid);
    for (const pid of runner.pids) sum += await cpuSeconds(pid);
    return sum;
  };
  const before = await used();
  const { requests, failed, seconds, p50, p99 } = await runner.run(how);
  const cost = (await used() - before) / requests * 1e6;
  const trees = await Promise.all(runner.pids.map(treeOf));
  const resident = await Promise.all(trees.flat().map(residentMib));
  const memory = resident.reduce((sum, mib) => sum + mib, 0);
  await runner.clean();
  return { ratio: NaN, rate: (requests - failed) / seconds, p50, p99, cost, memory, failed };
}

function print(found: Map<string, Round[]>, how: How): void {
  console.log(
    `Medians of ${how.rounds} rounds of ${how.seconds} s, ${how.connections} connections, ${ACCOUNTS} accounts.\n\n` +
      "| | ratio | transfers/s | p50 ms | p99 ms | us each | MiB | failed |\n" +
      "|---|--:|--:|--:|--:|--:|--:|--:|",
  );
  for (const [name, rounds] of found) {
    const of = (figure: keyof Round) => median(rounds.map((round) => round[figure]));
    const cells = [
      of("ratio").toFixed(3),
      of("rate").toFixed(0),
      of("p50").toFixed(1),
      of("p99").toFixed(1),
      of("cost").toFixed(0),
      of("memory").toFixed(0),
      rounds.reduce((sum, { failed }) => sum + failed, 0),
    ];
    console.log(`| ${name} | ${cells.join(" | ")} |`);
  }
}
