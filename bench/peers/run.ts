/**
 * The same transfers through other ledgers, on one PostgreSQL server, in rounds that alternate with this service and
 * with the independent yardstick. It downloads nothing: the reader builds the peers, and says where. A peer that is not there is left out.
 *
 * `deno run -A bench/peers/run.ts --build=<folder> [--rounds=5] [--seconds=5] [--connections=32]
 * [--only=formance,pgledger] [--loads=uniform,hot,collect] [--minutes=20] [--postgres15]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { startEmbedded } from "../../db/embedded/embedded.ts";
import type { Choice } from "../generator.ts";
import { chooseGenerator } from "../load.ts";
import { startPostgres15 } from "../older_postgres.ts";
import { isInstalled } from "../processes.ts";
import { removeStand, type Server, startStand } from "../stand.ts";
import { openIndependentYardstick } from "../yardstick.ts";
import { startBlnk, startQueuedBlnk } from "./blnk.ts";
import { ALL_OFF, HASHED_LATER, startFormance } from "./formance.ts";
import { startPgledger } from "./pgledger.ts";
import { startPurser } from "./purser.ts";
import { measureRounds, type Peer } from "./rounds.ts";
import { tablesOf } from "./tables.ts";

const ACCOUNTS = 1000;
/** Of the database, for all that are measured together: a peer keeps its connections between two of its turns. */
const CONNECTIONS_MAX = 500;
const CHOICES: readonly Choice[] = ["uniform", "hot", "collect"];
const PURSER: Peer = { key: "purser", name: "Purser", start: startPurser };
const FORMANCE = { files: ["bin/formance"], programs: [] };
const BLNK = { files: ["bin/blnk"], programs: ["redis-server", "redis-cli"] };
/** All peers, and what each is measured with. */
const PEERS: readonly (Peer & Needs)[] = [
  {
    ...FORMANCE,
    key: "formance",
    name: "Formance, default features",
    start: (options) => startFormance(options, {}),
  },
  {
    ...FORMANCE,
    key: "formance-async",
    name: "Formance, `HASH_LOGS=ASYNC`",
    start: (options) => startFormance(options, HASHED_LATER),
  },
  {
    ...FORMANCE,
    key: "formance-off",
    name: "Formance, all features off",
    start: (options) => startFormance(options, ALL_OFF),
  },
  { ...BLNK, key: "blnk", name: "Blnk, `skip_queue`", start: startBlnk },
  {
    ...BLNK,
    key: "blnk-queued",
    name: "Blnk, queued: applied",
    start: startQueuedBlnk,
    afresh: true,
  },
  {
    files: ["pgledger/pgledger.sql"],
    programs: ["pgbench"],
    key: "pgledger",
    name: "pgledger, SQL alone",
    start: startPgledger,
  },
];
const HELP =
  "Build Formance Ledger v2.4.12 and Blnk v0.15.2 as their own pages say, into bin/formance and bin/blnk of one folder, " +
  "put the sources of pgledger v0.7.0 into pgledger/ of it, and name it: deno run -A bench/peers/run.ts --build=<folder>. " +
  "Blnk needs redis-server and redis-cli, pgledger needs pgbench, too.";

/** What the start of a peer needs. */
interface Needs {
  /** Below the folder of `--build`. */
  files: readonly string[];
  programs: readonly string[];
}

if (import.meta.main) Deno.exit(await main(Deno.args));

/** Measures, prints the tables, and gives the exit code: 1 also where balances do not sum up. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      build: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "5" },
      connections: { type: "string", default: "32" },
      only: { type: "string", default: PEERS.map(({ key }) => key).join(",") },
      loads: { type: "string", default: CHOICES.join(",") },
      minutes: { type: "string", default: "60" },
      postgres15: { type: "boolean", default: false },
    },
  });
  const peers = await there(values.only.split(","), values.build);
  const loads = CHOICES.filter((choice) => values.loads.split(",").includes(choice));
  if (peers.length === 0 || loads.length === 0) {
    console.error(HELP);
    return 1;
  }
  const folder = await Deno.makeTempDir({ prefix: "purser-peers-" });
  const work = await Deno.makeTempDir({ prefix: "purser-peers-work-" });
  const stand = await startStand(folder, await startServer(folder, values.postgres15));
  try {
    const yardstick = await openIndependentYardstick(stand, {
      folder: work,
      accounts: ACCOUNTS,
      own: false,
    });
    const generator = await chooseGenerator(work, { own: false, wrk: false });
    const build = await Deno.realPath(values.build!);
    const options = { stand, folder, build, work, accounts: ACCOUNTS, generator };
    const how = {
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      connections: Number(values.connections),
      until: Date.now() + Number(values.minutes) * 60_000,
      loads,
    };
    const found = await measureRounds(options, [PURSER, ...peers], yardstick, how);
    const [{ version }] = await stand.sql`select current_setting('server_version') as version`;
    console.log(tablesOf(found, {
      ...how,
      accounts: ACCOUNTS,
      conditions: `PostgreSQL ${version}, ${generator.name}, yardstick by ${yardstick.name}`,
    }));
    return found.unbalanced === 0 ? 0 : 1;
  } finally {
    await Deno.remove(work, { recursive: true });
    await removeStand(stand, folder);
  }
}

async function startServer(dataDir: string, isOld: boolean): Promise<Server> {
  const settings = { max_connections: `${CONNECTIONS_MAX}` };
  if (!isOld) return await startEmbedded({ dataDir, port: 0, settings });
  const server = await startPostgres15(settings);
  if (server === null) throw new Error("PostgreSQL 15 is not installed: leave --postgres15 out");
  return server;
}

/** The chosen ones that can be started; says what the others lack. */
async function there(keys: readonly string[], build: string | undefined): Promise<Peer[]> {
  const found: Peer[] = [];
  for (const peer of PEERS.filter(({ key }) => keys.includes(key))) {
    const lacking: string[] = [];
    for (const file of peer.files) {
      const isThere = build !== undefined &&
        await Deno.stat(`${build}/${file}`).then(() => true, () => false);
      if (!isThere) lacking.push(file);
    }
    for (const program of peer.programs) if (!await isInstalled(program)) lacking.push(program);
    if (lacking.length === 0) found.push(peer);
    else console.error(`left out: ${peer.name}, for ${lacking.join(", ")} not there`);
  }
  return found;
}
