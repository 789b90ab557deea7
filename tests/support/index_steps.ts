/** Index steps in tests: indexes whose build waits at a barrier, and what others see of it. @module */
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../db/database.ts";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import type { Migrations } from "../../db/migrate.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { until } from "./eventually.ts";
import { oneMore } from "./one_more_migration.ts";
import type { TestRealm } from "./realm.ts";

export const COLUMN = "alter table accounts add column added integer";
export const INDEX =
  "create index concurrently if not exists by_added on accounts (added) where added > 0";
export const UNIQUE =
  "create unique index concurrently if not exists one_added on accounts (added)";
/** The same index, whose build waits at the barrier for each row. */
export const BARRED =
  "create index concurrently if not exists by_added on accounts (added) where public.barrier(id)";

type Rows = Record<string, unknown>[];
/** Connections of a realm's process. */
type Opened = Pick<TestRealm, "database">;

/** Runs a statement with all rights. */
export async function asOwner(realm: Opened, text: string): Promise<Rows> {
  return await realm.database.builder.sql.unsafe(text) as unknown as Rows;
}

/** The schema of a realm. */
export function schemaOf(realm: TestRealm): string {
  return locationOf(realm.made.realm).schema;
}

/** Whether an index of a schema is valid; null where there is none. */
export async function validityOf(realm: TestRealm, name: string, schema = schemaOf(realm)) {
  const [row] = await asOwner(
    realm,
    `select indisvalid as valid from pg_index where indexrelid = to_regclass('${schema}.${name}')`,
  );
  return row?.valid ?? null;
}

/** How many of the last migrations a realm has recorded. */
export async function recordedIn(realm: TestRealm): Promise<number> {
  const { length } = realm.services.migrations.realm;
  const text = `select number from "${schemaOf(realm)}".migrations where number > ${length}`;
  return (await asOwner(realm, text)).length;
}

/** A transaction that stays open until it is told to end. */
export interface OpenTransaction {
  pid: number;
  end: () => Promise<void>;
}

/** Opens a transaction of another client, "a long export", runs a statement in it, and leaves it idle. */
export async function openTransaction(
  url: string,
  text: string,
  isolation = "repeatable read",
): Promise<OpenTransaction> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const begun = Promise.withResolvers<number>();
  const over = Promise.withResolvers<void>();
  const run = database.platform.sql.begin(`isolation level ${isolation}`, async (tx) => {
    await tx.unsafe("set local idle_in_transaction_session_timeout = 0");
    await tx.unsafe("set local application_name = 'a long export'");
    const [{ pid }] = await tx`select pg_backend_pid() as pid`;
    await tx.unsafe(text);
    begun.resolve(pid);
    await over.promise;
  }).finally(() => database.close());
  run.catch(begun.reject);
  const pid = await begun.promise;
  return {
    pid,
    async end() {
      over.resolve();
      await run;
    },
  };
}

/** Waits until a transaction is old enough for the build of an index to wait for its end. */
export async function untilOld(realm: Opened, { pid }: OpenTransaction): Promise<void> {
  const text = `select 1 from pg_stat_activity where pid = ${pid}
    and clock_timestamp() - xact_start > interval '1100 milliseconds'`;
  await until(async () => (await asOwner(realm, text)).length === 1);
}

/** Makes the barrier of a database, closed. It is passed by polling, so that no build waits for who has closed it. */
export async function closedBarrier(realm: Opened, url: string): Promise<OpenTransaction> {
  await asOwner(
    realm,
    `create or replace function public.barrier(uuid) returns boolean immutable language plpgsql as $$ begin
      while not pg_try_advisory_xact_lock_shared(4711) loop perform pg_sleep(0.01); end loop; return true; end $$`,
  );
  return await openTransaction(url, "select pg_advisory_xact_lock(4711)", "read committed");
}

/** Waits until an index is being made of the rows of a table; gives the session's process. */
export async function untilBuilding(realm: Opened, phase = "building index%"): Promise<number> {
  const text = `select pid from pg_stat_progress_create_index
    where datname = current_database() and phase like '${phase}'`;
  let pid: unknown;
  await until(async () => (pid = (await asOwner(realm, text))[0]?.pid) !== undefined);
  return pid as number;
}

/** A migration of realms, and what it told. */
export interface Migrating {
  /** The realms that could not be migrated. */
  left: Promise<string[]>;
  errors: Error[];
  warnings: Record<string, unknown>[];
}

/** Migrates the realms of a database, with some migrations more. */
export function migrating(
  { database }: Opened,
  migrations: Migrations,
  ...texts: string[]
): Migrating {
  const errors: Error[] = [];
  const warnings: Record<string, unknown>[] = [];
  const left = migrateRealms(database, oneMore(migrations, ...texts), (level, _, fields) => {
    if (level === "error") errors.push(fields.error as Error);
    if (level === "warn") warnings.push(fields);
  });
  return { left, errors, warnings };
}

/** A process that migrates the realms of a database, to be killed. */
export function startMigrator(
  url: string,
  texts: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Deno.ChildProcess {
  const script = fileURLToPath(new URL("migrator.ts", import.meta.url));
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", "tests/deno.json", script, ...texts],
    env: { TEST_DATABASE_URL: url, TEST_DATABASES: "0", ...env },
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}
