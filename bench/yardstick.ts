/**
 * The yardsticks: a transfer called straight in PostgreSQL, one serializable prepared call each, over pgbench or,
 * where that is not installed, over our own client. The product's own works on the tables of a realm, with all their
 * constraints; the independent one on plain tables of its own.
 *
 * @module
 */
import type { Choice, LoadFigures } from "./generator.ts";
import { runPgbench } from "./pgbench.ts";
import { isInstalled, output } from "./processes.ts";
import type { BenchRealm, Stand } from "./stand.ts";

/** How the yardstick runs. */
export interface YardstickRun {
  /** On the product's own tables, or on plain ones. */
  of: "own" | "independent";
  clients: number;
  how: Choice;
  seconds: number;
}

/** A yardstick, on tables that nothing else touches. */
export interface Yardstick {
  /** The client that runs it. */
  name: string;
  schema: string;
  /** Every run begins the same: nothing posted yet, all accounts full. */
  reset(): Promise<void>;
  run(of: YardstickRun): Promise<LoadFigures & { retries: number }>;
}

/** Facts of the stand that a run needs. */
interface Ground {
  /** Address of the database, as its superuser. */
  url: string;
  schema: string;
  /** The statement of a transfer between two numbered accounts. */
  statement(source: string, destination: string): string;
  folder: string;
  accounts: number;
}

/** How a yardstick is opened. */
export interface YardstickOptions {
  /** Where its client writes files. */
  folder: string;
  accounts: number;
  /** Whether our own client runs it where pgbench is installed, too. */
  own: boolean;
}

type Run = (ground: Ground, of: YardstickRun) => Promise<LoadFigures & { retries: number }>;

const SQL = new URL("yardstick.sql", import.meta.url);
const INDEPENDENT_SQL = new URL("independent.sql", import.meta.url);
const OWN = new URL("yardstick_client.ts", import.meta.url).pathname;

/** Opens the independent yardstick: plain tables, in a schema of their own. */
export async function openIndependentYardstick(
  stand: Stand,
  options: YardstickOptions,
): Promise<Yardstick> {
  const { sql } = stand;
  await sql.unsafe(await Deno.readTextFile(INDEPENDENT_SQL));
  await sql.unsafe(`insert into independent.accounts (id, asset, total)
    select acc(n), 'BENCH', 1000000 from generate_series(1, ${options.accounts}) n`);
  return await yardstickOf(stand, options, {
    schema: "independent",
    statement: (s, d) => `select move(acc(${s}), acc(${d}), 1)`,
    version: "version",
  });
}

/** Prepares the product's own yardstick: accounts and a function in a realm's own tables. */
export async function openYardstick(
  stand: Stand,
  realm: BenchRealm,
  options: YardstickOptions,
): Promise<Yardstick> {
  const { sql } = stand;
  const { schema } = realm;
  await sql.unsafe(`set search_path to ${schema}; ${await Deno.readTextFile(SQL)}`);
  for (const table of ["transactions", "entries"]) { // so that a run can begin with empty tables
    for (const part of ["", "_newest"]) {
      await sql.unsafe(`drop trigger ${table}_append_only on ${schema}.${table}${part}`);
    }
  }
  await sql.unsafe(`set search_path to ${schema};
    insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places,
      country, holder, owner, created_at)
    select bench_account(n), 'virtual', 'BENCH', 18, true, true, 'USD', 2, 'US', u.identity, u.id, now()
    from generate_series(1, ${options.accounts}) n, users u where u.id = '${realm.admin}'`);
  return await yardstickOf(stand, options, {
    schema,
    statement: (s, d) =>
      `select bench_one(gen_random_uuid(), gen_random_uuid(), uuidv7(), bench_account(${s}), ` +
      `bench_account(${d}), 1, '${realm.admin}')`,
    version: "seq",
  });
}

async function yardstickOf(
  stand: Stand,
  { folder, accounts, own }: YardstickOptions,
  of: Pick<Ground, "schema" | "statement"> & { version: string },
): Promise<Yardstick> {
  const { sql } = stand;
  const { schema, version } = of;
  const pgbench = !own && await isInstalled("pgbench");
  const run: Run = pgbench ? withPgbench : withOwn;
  const ground = { ...of, url: stand.server.superuserUrl, folder, accounts };

  async function reset(): Promise<void> {
    await sql.unsafe(`set search_path to ${schema};
      truncate transactions, entries, idempotency;
      alter table accounts disable trigger user; -- no number of a last entry falls
      update accounts set total = 1000000, ${version} = 0;
      alter table accounts enable trigger user;`);
    await sql.unsafe(`vacuum analyze ${schema}.accounts`);
  }

  return {
    name: pgbench ? "pgbench" : "bench/yardstick_client.ts",
    schema,
    reset,
    async run(of) {
      await reset();
      return await run(ground, of);
    },
  };
}

async function withPgbench(
  { schema, ...ground }: Ground,
  of: YardstickRun,
): Promise<LoadFigures & { retries: number }> {
  const settings = { search_path: schema, default_transaction_isolation: "serializable" };
  return await runPgbench({ ...ground, ...of, name: schema, settings });
}

async function withOwn(
  { url, schema, statement, accounts }: Ground,
  of: YardstickRun,
): Promise<LoadFigures & { retries: number }> {
  const plan = {
    url,
    schema,
    statement: statement("$1::bigint", "$2::bigint"),
    accounts,
    ...of,
  };
  return JSON.parse(await output(Deno.execPath(), ["run", "-A", OWN, JSON.stringify(plan)]));
}
