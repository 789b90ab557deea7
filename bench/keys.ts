/**
 * The cost of a key: requests that are refused for their query right after the key was checked, over
 * HTTP, beside a path that takes no key at all; and the transactions that PostgreSQL ran meanwhile.
 *
 * `deno run -A bench/keys.ts [--seconds 5] [--clients 16]`
 * @module
 */
import { parseArgs } from "node:util";
import {
  makeRealm,
  removeStand,
  type Service,
  type Stand,
  startService,
  startStand,
} from "./stand.ts";

/** Result of one kind of request. */
interface Figures {
  rate: number;
  /** Transactions of PostgreSQL for each request. */
  transactions: number;
}

/** Most database transactions per request: two reads of a realm each half second, and those of the measurement. */
const TRANSACTIONS_MAX = 0.05;

if (import.meta.main) Deno.exit(await main(Deno.args));

/** Asks with and without a key, prints both, and fails where a key costs SQL for each request. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "5" },
      clients: { type: "string", default: "16" },
    },
  });
  const how = { seconds: Number(values.seconds), clients: Number(values.clients) };
  const folder = await Deno.makeTempDir({ prefix: "purser-keys-" });
  const stand = await startStand(folder);
  let service: Service | null = null;
  try {
    service = await startService(stand);
    const { key } = await makeRealm(stand, service, { name: "keys", accounts: 1 });
    const path = "/v1/auth/me?refused=1";
    const none = await load(stand, `${service.url}/v1/nothing`, {}, how);
    const seen = await load(stand, `${service.url}${path}`, { "x-api-key": key }, how);
    print("no key, no route", none);
    print("a key seen before", seen);
    console.log(`a key takes ${(none.rate / seen.rate).toFixed(2)} times as long as none`);
    return seen.transactions <= TRANSACTIONS_MAX ? 0 : 1;
  } finally {
    await service?.stop();
    await removeStand(stand, folder);
  }
}

async function load(
  stand: Stand,
  url: string,
  headers: Record<string, string>,
  { seconds, clients }: { seconds: number; clients: number },
): Promise<Figures> {
  const ask = async () => await (await fetch(url, { headers })).body?.cancel();
  for (let i = 0; i < 200; i++) await ask();
  const before = await transactionsOf(stand);
  const start = performance.now();
  const until = start + seconds * 1000;
  let asked = 0;
  await Promise.all(Array.from({ length: clients }, async () => {
    for (; performance.now() < until; asked++) await ask();
  }));
  const took = (performance.now() - start) / 1000;
  const ran = await transactionsOf(stand) - before;
  return { rate: asked / took, transactions: ran / asked };
}

/** Transactions that have ended in the database; a second late, so that all are told of. */
async function transactionsOf({ sql }: Stand): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const [{ n }] = await sql<{ n: string }[]>`
    select xact_commit + xact_rollback as n from pg_stat_database
    where datname = current_database()`;
  return Number(n);
}

function print(name: string, { rate, transactions }: Figures): void {
  const figures = `${Math.round(rate)} requests/s, ${transactions.toFixed(4)} transactions each`;
  console.log(`${name.padEnd(20)} ${figures}`);
}
