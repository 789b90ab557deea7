/** pgledger: functions in PostgreSQL, called by pgbench. No HTTP, no keys, no service. @module */
import { runPgbench } from "../pgbench.ts";
import { FUNDED, makeDatabase, type Subject, type SubjectOptions } from "./subjects.ts";

const FILES = [
  "vendor/scoville-pgsql-ulid/ulid-to-uuid.sql",
  "vendor/scoville-pgsql-ulid/uuid-to-ulid.sql",
  "pgledger.sql",
];
/** An account by its number: pgbench counts, and has no list of ids. */
const ACCOUNT = `create function bench_account(n bigint) returns text language sql immutable as $$
  select 'pgla_' || lpad(n::text, 26, '0') $$`;

/** Installs it, and makes accounts that may not go below zero. */
export async function startPgledger(options: SubjectOptions): Promise<Subject> {
  await using begun = new AsyncDisposableStack();
  const database = begun.use(await makeDatabase(options.stand, "pgledger"));
  const { sql } = database;
  for (const file of FILES) {
    await sql.unsafe(await Deno.readTextFile(`${options.build}/pgledger/${file}`));
  }
  await sql.unsafe(ACCOUNT);
  await sql`select pgledger_create_account('world', 'USD')`;
  await sql`
    select pgledger_create_account(n::text, 'USD', allow_negative_balance => false)
    from generate_series(1, ${options.accounts}::int) n`;
  await sql`
    update pgledger_accounts set id = bench_account(name::bigint) where name <> 'world'`;
  await sql`
    select pgledger_create_transfer(w.id, a.id, ${FUNDED}::numeric)
    from pgledger_accounts w, pgledger_accounts a where w.name = 'world' and a.name <> 'world'`;
  await sql`vacuum analyze`;
  const kept = begun.move();
  return {
    pids: [],
    run: ({ connections, seconds, how }) =>
      runPgbench({
        url: database.superuserUrl,
        folder: options.work,
        name: "pgledger",
        statement: (s, d) =>
          `select id from pgledger_create_transfer(bench_account(${s}), bench_account(${d}), 1)`,
        how,
        accounts: options.accounts,
        clients: connections,
        seconds,
        settings: { default_transaction_isolation: "read committed" },
      }),
    clean: () => Promise.resolve(),
    bytes: database.bytes,
    async balances() {
      const rows = await sql<{ balance: string }[]>`
        select balance::text from pgledger_accounts_view where name <> 'world'`;
      return rows.map(({ balance }) => BigInt(balance));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
