/**
 * Measures lists over HTTP: the same requests against a realm with a thousand accounts and identities
 * and against one with millions, side by side. A page that reads only what it shows takes the same
 * time in both.
 *
 * `deno run --allow-all bench/lists.ts [--rows=5000000] [--rounds=100] [--keep=folder]`
 *
 * @module
 */
import { parseArgs } from "node:util";
import { idBound } from "../domain/ids.ts";
import { removeStand, type Service, type Stand, startService, startStand } from "./stand.ts";

/** A realm to be listed. */
interface ListRealm {
  schema: string;
  /** Keys of the administrator, who owns nearly everything, and of a user with few things. */
  admin: string;
  user: string;
  rows: number;
  /** Id of an account in the middle. */
  middle: string;
  /** Id of the first transaction to an account of the user. */
  first: string;
}

/** One request that is measured. */
interface Question {
  name: string;
  by: "admin" | "user";
  path(realm: ListRealm): string;
  /** Whether it reads what it counts or filters, so that its time grows with the rows. */
  scans?: boolean;
}

const PLATFORM_KEY = "bench-platform-key";
const PASSWORD = "bench bench bench";
const SMALL = 1000;
/** Rows of the user with few things, and deleted ones, spread over all. */
const FEW = 20;
/** A page of the large realm may take this many times as long as one of the small. */
const RATIO_MAX = 3;

const QUESTIONS: readonly Question[] = [
  { name: "own, first page with its total", by: "admin", path: () => "/v1/accounts" },
  { name: "own of a user with few", by: "user", path: () => "/v1/accounts?pageSize=10" },
  { name: "all, first page", by: "admin", path: () => "/v1/accounts?scope=all" },
  { name: "newest first", by: "admin", path: () => "/v1/accounts?sort=-created_at" },
  {
    name: "after the middle, 100",
    by: "admin",
    path: ({ middle }) => `/v1/accounts/all?scope=all&limit=100&after=${middle}`,
  },
  {
    name: "after the middle, own",
    by: "admin",
    path: ({ middle }) => `/v1/accounts/all?limit=100&after=${middle}`,
  },
  { name: "since a time", by: "admin", path: ({ middle }) => since("accounts", middle) },
  { name: "count", by: "admin", path: () => "/v1/accounts/count?scope=all" },
  { name: "deleted", by: "admin", path: () => "/v1/accounts?scope=all,deleted" },
  { name: "beyond the end", by: "admin", path: () => "/v1/accounts?page=9007199254&scope=all" },
  { name: "one's own identity", by: "user", path: () => "/v1/identities" },
  { name: "identities, all", by: "admin", path: () => "/v1/identities?scope=all" },
  {
    name: "page in the middle (skips)",
    by: "admin",
    path: ({ rows }) => `/v1/accounts?scope=all&page=${Math.ceil(rows / 20)}`,
    scans: true,
  },
  { name: "transactions, all", by: "admin", path: () => "/v1/transactions?scope=all" },
  { name: "transactions, own", by: "admin", path: () => "/v1/transactions?sort=-created_at" },
  { name: "incoming", by: "user", path: () => "/v1/transactions?scope=incoming" },
  {
    name: "one of them, by its receiver",
    by: "user",
    path: ({ first }) => `/v1/transactions/${first}`,
  },
  {
    name: "with relations",
    by: "admin",
    path: () => "/v1/accounts/all?limit=100&populate=holder,owner,ramp,address",
  },
  {
    name: "10 that match a common filter",
    by: "admin",
    path: () => `/v1/accounts/all?limit=10&query=${json({ "data.even": true })}`,
  },
  {
    name: "a filter's count (scans)",
    by: "admin",
    path: () => `/v1/accounts/count?query=${json({ "data.even": true })}`,
    scans: true,
  },
];

if (import.meta.main) Deno.exit(await main(Deno.args));

/** Builds both realms, asks everything in both, prints a table, and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: "string", default: "5000000" },
      rounds: { type: "string", default: "100" },
      keep: { type: "string" },
    },
  });
  const folder = values.keep ?? await Deno.makeTempDir({ prefix: "purser-lists-" });
  const stand = await startStand(folder);
  let service: Service | null = null;
  try {
    service = await startService(stand);
    const small = await build(stand, service, "small", SMALL);
    const large = await build(stand, service, "large", Number(values.rows));
    return await compare(service, small, large, Number(values.rounds));
  } finally {
    await service?.stop();
    await (values.keep === undefined ? removeStand(stand, folder) : stand.stop());
  }
}

async function compare(
  service: Service,
  small: ListRealm,
  large: ListRealm,
  rounds: number,
): Promise<number> {
  let slow = 0;
  console.log(`lower quartile of ${rounds}, in ms: ${small.rows} rows, ${large.rows} rows, ratio`);
  for (const question of QUESTIONS) {
    const many = question.scans ? 3 : rounds;
    const [a, b] = await measure(service, [small, large], question, many);
    const ratio = b / a;
    const grows = !question.scans && ratio > RATIO_MAX;
    if (grows) slow++;
    const figures = [a, b, ratio].map((figure) => figure.toFixed(2).padStart(10)).join("");
    console.log(`${question.name.padEnd(34)}${figures}${grows ? "  GROWS" : ""}`);
  }
  return slow === 0 ? 0 : 1;
}

/**
 * The time of one request in each realm, in milliseconds, after a few that warm it up. They alternate,
 * and of the times the lower quartile counts, so that a busy machine troubles both alike.
 */
async function measure(
  service: Service,
  realms: readonly ListRealm[],
  question: Question,
  rounds: number,
): Promise<number[]> {
  const times = realms.map(() => new Array<number>());
  for (let i = -Math.min(10, rounds); i < rounds; i++) {
    for (const [r, realm] of realms.entries()) {
      const start = performance.now();
      await ask(service, realm[question.by], "GET", question.path(realm));
      if (i >= 0) times[r].push(performance.now() - start);
    }
  }
  return times.map((all) => all.sort((a, b) => a - b)[all.length >> 2]);
}

/** Makes a realm and copies one account and one identity as often as wanted. */
async function build(
  stand: Stand,
  service: Service,
  name: string,
  rows: number,
): Promise<ListRealm> {
  const start = performance.now();
  const email = `admin@${name}.bench`;
  const realm = await ask(service, PLATFORM_KEY, "POST", "/v1/realms", {
    name,
    admin: { email, password: PASSWORD },
  });
  const logIn = async (username: string) => {
    const login = { realm_key: realm.realm_key, username, password: PASSWORD };
    const answer = await ask(service, realm["x-api-key"], "POST", "/v1/auth/login", login);
    return answer["x-api-key"];
  };
  const admin = await logIn(email);
  const user = await ask(service, admin, "POST", "/v1/users", {
    username: "few",
    password: PASSWORD,
  });
  const currency = { name: "BENCH", supply: "1" };
  const { account } = await ask(service, admin, "POST", "/v1/currencies", currency);
  const [{ schema }] = await stand.sql<{ schema: string }[]>`
    select schema_name as schema from platform.realms where id = ${realm.id}`;
  await copy(stand, schema, { account, owner: user.id, rows });
  const took = Math.round((performance.now() - start) / 1000);
  console.log(`${name}: ${rows} accounts, ${rows} identities, made in ${took} s`);
  const few = await logIn("few");
  const [first] = await ask(service, few, "GET", "/v1/transactions/all?scope=incoming&limit=1");
  const middle = idBound(timeOf(rows >> 1));
  return { schema, admin, user: few, rows, middle, first: first.id };
}

/** Rows are a millisecond apart, long ago, so that their ids tell their number. */
function timeOf(n: number): number {
  return 1_600_000_000_000 + n;
}

async function copy(
  stand: Stand,
  schema: string,
  of: { account: string; owner: string; rows: number },
): Promise<void> {
  await stand.sql.unsafe(`set search_path to ${schema}`);
  const id = "(lpad(to_hex(1600000000000 + g.n), 12, '0') || '7000' || '8' || " +
    "substr(md5(g.n::text), 1, 15))::uuid";
  const apart = Math.floor(of.rows / FEW);
  const owner = `case when g.n % ${apart} = 7 then $2::uuid else a.owner end`;
  const at = "to_timestamp((1600000000000 + g.n) / 1000.0)";
  const gone = `case when g.n % ${apart} = 9 then ${at} end`;
  await stand.sql.unsafe(
    `insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places,
        country, holder, owner, data, deleted_at, created_at)
      select ${id}, a.type, a.asset, a.decimals, true, true, a.currency, a.currency_places,
        a.country, a.holder, ${owner}, jsonb_build_object('n', g.n, 'even', g.n % 2 = 0), ${gone}, ${at}
      from accounts a, generate_series(1, $3::int) g(n) where a.id = $1`,
    [of.account, of.owner, of.rows],
  );
  await stand.sql.unsafe(
    `insert into identities (id, country, currency, owner, created_at)
      select ${id}, a.country, a.currency, ${owner}, ${at}
      from accounts a, generate_series(1, $3::int) g(n) where a.id = $1`,
    [of.account, of.owner, of.rows],
  );
  await transact(stand, id, of);
  for (const table of ["accounts", "identities", "transactions", "entries", "row_counts"]) {
    await stand.sql.unsafe(`vacuum analyze ${table}`);
  }
}

/** Every account has received once from the first one, whose owner made all these transactions. */
async function transact(
  stand: Stand,
  id: string,
  of: { account: string; rows: number },
): Promise<void> {
  await stand.sql.unsafe(
    `insert into transactions (id, source, destination, source_seq, destination_seq, amount, type,
        testnet, asset, owner, created_at)
      select ${id}, a.id, ${id}, g.n + 1, 1, 1, 'transfer', false, a.asset, a.owner, a.created_at
      from accounts a, generate_series(1, $2::int) g(n) where a.id = $1`,
    [of.account, of.rows],
  );
  await stand.sql.unsafe(
    `insert into entries (account, seq, transaction, amount, balance, blocked)
      select case when x.side = 1 then $1::uuid else ${id} end, case when x.side = 1 then g.n + 1 else 1 end,
        ${id}, -x.side, 1, 0
      from generate_series(1, $2::int) g(n), (values (1), (-1)) x(side)`,
    [of.account, of.rows],
  );
  await stand.sql.unsafe(
    `insert into row_counts (collection, owner, living, dead)
      select 'transactions', a.owner, $2::int, 0 from accounts a where a.id = $1`,
    [of.account, of.rows],
  );
  await stand.sql.unsafe(`update chain_head set seq = $1::int`, [of.rows]);
}

function since(collection: string, middle: string): string {
  const ms = parseInt(middle.replaceAll("-", "").slice(0, 12), 16);
  return `/v1/${collection}/all?limit=100&query=${json({ created_at: { $gte: ms } })}`;
}

function json(value: unknown): string {
  return encodeURIComponent(JSON.stringify(value));
}

// Answers of the API are looked into freely here.
async function ask(
  service: Service,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  // deno-lint-ignore no-explicit-any
): Promise<any> {
  const response = await fetch(service.url + path, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
