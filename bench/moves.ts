/**
 * For how long a realm takes no writes while it moves to another PostgreSQL server, with clients that post and
 * workers that run. `deno task bench --only=move [--transactions=N] [--rounds=N] [--connections=N]`
 *
 * @module
 */
import { openDatabase } from "../db/database.ts";
import { readMigrations } from "../db/migrate.ts";
import { startEmbedded } from "../db/embedded/embedded.ts";
import { parseStoredJson } from "../domain/json.ts";
import { loginsUnder, openSecrets } from "../domain/security/serving_secrets.ts";
import { openProgress } from "../progress.ts";
import { orderMove } from "../workers/moves/move_orders.ts";
import { carryOn, dropOld } from "../workers/moves/moving.ts";
import type { OrderOptions } from "../workers/moves/move.ts";
import { chooseGenerator } from "./load.ts";
import {
  type BenchRealm,
  countTransactions,
  makeRealm,
  removeStand,
  type Service,
  settingsOf,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";

const ACCOUNTS = 1000;
/** Transfers that grow a realm, of each request. */
const MANY = 1000;

/** What was asked for. */
export interface MovesAsked {
  transactions: number;
  rounds: number;
  connections: number;
}

/** Moves a realm of so many transactions there and back, and prints a line for each move. */
export async function benchMoves({ transactions, rounds, connections }: MovesAsked): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const away = await Deno.makeTempDir({ prefix: "purser-bench-away-" });
  await Deno.chmod(away, 0o755);
  const stand = await startStand(folder);
  const other = await startEmbedded({ dataDir: `${away}/data`, port: 0 });
  const service = await startService(stand, {
    workers: true,
    env: { DATA_DIR: `${folder}/records` },
  });
  try {
    const realm = await makeRealm(stand, service, { name: "moves", accounts: ACCOUNTS });
    await fill(stand, service, { realm, to: transactions, folder });
    console.log(
      "| transactions | writes stopped, ms | longest wait of a client, ms | fence, last round, switch, ms " +
        "| changed rows, rows read under the fence | posted meanwhile | other answers |\n" +
        "|--:|--:|--:|---|---|--:|---|",
    );
    for (let i = 0; i < rounds; i++) {
      await moveOnce(stand, service, { realm, to: i % 2 === 0 ? other.url : null, connections });
    }
  } finally {
    await service.stop();
    await other.stop();
    await Deno.remove(away, { recursive: true });
    await removeStand(stand, folder);
  }
}

async function fill(
  stand: Stand,
  service: Service,
  { realm, to, folder }: { realm: BenchRealm; to: number; folder: string },
): Promise<void> {
  const generator = await chooseGenerator(folder, { own: true, wrk: false });
  const progress = openProgress();
  let before = await countTransactions(stand, realm);
  progress.part("Growing", to - before, "transactions");
  while (before < to) {
    const load = { connections: 4, how: "uniform", many: MANY, seconds: 2 } as const;
    await generator.run(service.port, realm, load);
    const now = await countTransactions(stand, realm);
    progress.add(now - before);
    before = now;
  }
  progress.end();
}

/** Moves a realm under load, and prints what its clients saw. */
async function moveOnce(
  stand: Stand,
  service: Service,
  { realm, to, connections }: { realm: BenchRealm; to: string | null; connections: number },
): Promise<void> {
  const secrets = openSecrets(settingsOf(stand).PLATFORM_KEY);
  const database = openDatabase({
    url: stand.server.url,
    prepare: true,
    parseJson: parseStoredJson,
    decryptUrl: (address, id) => secrets.decrypt("database_url", id, address),
    logins: loginsUnder(secrets),
  });
  const options: OrderOptions = { database, migrations: await readMigrations(), secrets };
  const load = startClients(service, realm, connections);
  const at = new Map<string, number>();
  const onStep = (step: string) => void at.set(step, performance.now());
  try {
    const order = await orderMove(options, { realm: realm.id, to }, Date.now());
    const { pauseMs, paused } = await carryOn({ ...options, onStep }, order);
    const { posted, longest, others } = await load.stop();
    const between = (from: string, until: string) => Math.round(at.get(until)! - at.get(from)!);
    const parts = [["fencing", "fenced"], ["fenced", "complete"], ["complete", "switched"]];
    const [{ n }] = await stand.sql<{ n: string }[]>`
      select count(*) as n from ${stand.sql(realm.schema)}.transactions`;
    console.log(
      `| ${n} | ${pauseMs} | ${Math.round(longest)} | ${
        parts.map(([from, until]) => between(from, until)).join(", ")
      } | ${paused!.noted}, ${paused!.read} | ${posted} | ${
        [...others].map(([status, n]) => `${n} × ${status}`).join(", ") || "none"
      } |`,
    );
    await dropOld(options, realm.id);
  } finally {
    await load.stop();
    await database.close();
  }
}

interface Clients {
  stop(): Promise<{ posted: number; longest: number; others: Map<number, number> }>;
}

/** Clients that post one transfer after the other. */
function startClients(service: Service, realm: BenchRealm, count: number): Clients {
  let [running, posted, longest] = [true, 0, 0];
  const others = new Map<number, number>();
  const { accounts } = realm;
  async function client(n: number): Promise<void> {
    for (let i = 0; running; i++) {
      const [source, destination] = [accounts[(n + i) % accounts.length], accounts[n]];
      if (source === destination) continue;
      const begun = performance.now();
      const response = await fetch(`${service.url}/v1/transactions`, {
        method: "POST",
        headers: { "x-api-key": realm.key, "content-type": "application/json" },
        body: JSON.stringify({
          source: { account: source },
          destination: { account: destination },
          value: "1",
        }),
      });
      await response.bytes();
      longest = Math.max(longest, performance.now() - begun);
      if (response.status === 201) posted++;
      else others.set(response.status, (others.get(response.status) ?? 0) + 1);
    }
  }
  const clients = Promise.all(Array.from({ length: count }, (_, n) => client(n)));
  return {
    async stop() {
      running = false;
      await clients;
      return { posted, longest, others };
    },
  };
}
