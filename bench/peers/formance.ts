/** Formance Ledger: one process with its worker, and a database of its own, for each set of features. @module */
import { freePort } from "../../tests/support/ports.ts";
import { waitUntilAnswers } from "../stand.ts";
import {
  ask,
  end,
  FUNDED,
  loader,
  makeDatabase,
  numbers,
  type PeerDatabase,
  some,
  start,
  type Subject,
  type SubjectOptions,
} from "./subjects.ts";

/** Its features, by their names; those that are not named have their defaults. */
type Features = Readonly<Record<string, string>>;

/** Hashes are made by the worker, after the commit. */
export const HASHED_LATER: Features = { HASH_LOGS: "ASYNC" };
/** No hashes, no history of balances or metadata. */
export const ALL_OFF: Features = {
  HASH_LOGS: "DISABLED",
  MOVES_HISTORY: "OFF",
  MOVES_HISTORY_POST_COMMIT_EFFECTIVE_VOLUMES: "DISABLED",
  ACCOUNT_METADATA_HISTORY: "DISABLED",
  TRANSACTION_METADATA_HISTORY: "DISABLED",
};
/** Open connections to the database, as in its own compose file. */
const POOL = 40;
const ASSET = "USD/2";

/** Starts it with a ledger of these features. */
export async function startFormance(
  options: SubjectOptions,
  features: Features,
): Promise<Subject> {
  const port = freePort();
  const id = `formance_${port}`;
  await using begun = new AsyncDisposableStack();
  const database = begun.use(await makeDatabase(options.stand, id));
  const pool = ["--postgres-max-open-conns", `${POOL}`, "--postgres-max-idle-conns", `${POOL}`];
  const chosen = Object.keys(features).length > 0 ? ["--experimental-features"] : [];
  const args = [
    ...["serve", "--bind", `127.0.0.1:${port}`, "--auto-upgrade", "--worker"],
    ...["--postgres-uri", database.url, "--postgres-conn-max-idle-time", "5m", ...pool, ...chosen],
  ];
  const child = begun.adopt(start(`${options.build}/bin/formance`, args, options.work), end);
  const base = `http://127.0.0.1:${port}/v2`;
  await waitUntilAnswers(`${base}/_info`);
  await ask(`${base}/bench`, {}, { features });
  const accounts = numbers(options.accounts).map((n) => `users:${String(n).padStart(6, "0")}`);
  await some(accounts, (destination) =>
    ask(`${base}/bench/transactions`, {}, {
      postings: [{ amount: FUNDED, asset: ASSET, source: "world", destination }],
      metadata: {},
    }));
  await database.sql`vacuum analyze`;
  const posting = { amount: 1, asset: ASSET, source: "SOURCE", destination: "DESTINATION" };
  const form = {
    path: "/v2/bench/transactions",
    headers: { "idempotency-key": "KEY" },
    body: JSON.stringify({ postings: [posting], metadata: {} }),
  };
  const kept = begun.move();
  return {
    pids: [child.pid],
    run: loader(options, { id, port, accounts, form }),
    clean: () => Promise.resolve(),
    bytes: database.bytes,
    async balances() {
      if (features === ALL_OFF) return await storedBalances(database);
      return await some(accounts, async (account) => {
        const { data } = await ask(`${base}/bench/accounts/${account}?expand=volumes`);
        return BigInt(data.volumes[ASSET].balance);
      });
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Balances by its tables: without its features it answers a question for an account's balance with 500. */
async function storedBalances({ sql }: PeerDatabase): Promise<bigint[]> {
  const rows = await sql<{ balance: string }[]>`
    select (input - output)::text as balance from _default.accounts_volumes
    where accounts_address like 'users:%'`;
  return rows.map(({ balance }) => BigInt(balance));
}
