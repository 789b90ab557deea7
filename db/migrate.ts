/**
 * The two sequences of migrations: the platform's schema and each realm's. Files are applied in order,
 * once, under a lock; a file that changed after it was applied ends the migration with an error.
 * @module
 */
import { createHash } from "node:crypto";
import {
  type Db,
  type Pool,
  type RealmLocation,
  type Sql,
  type Tx,
  workerRole,
} from "./database.ts";
import { Contention } from "./errors.ts";
import {
  assertIndex,
  type IndexStep,
  plainStatement,
  readIndexStep,
  selectValidity,
} from "./index_steps.ts";
import { admitWatch } from "./platform_login.ts";
import { type Logins, openLogin, passwordsOf, resetSettings } from "./realm_logins.ts";

/** One file of a sequence. */
export interface Migration {
  number: number;
  name: string;
  text: string;
  /** SHA-256 of the text, hexadecimal. */
  checksum: string;
  /** The index that it makes, where it is an index step: a file whose name ends with `.index.sql`. */
  index?: IndexStep;
}

/** Makes the index of a step, while no transaction is open. */
export type MakeOutside = (step: IndexStep) => Promise<void>;

/** What a transaction has applied, and the index that must be made before the next one; null where nothing is left. */
export interface AppliedPart {
  applied: number;
  next: IndexStep | null;
}

/** Both sequences, and the statement of rights that follows that of realms. */
export interface Migrations {
  platform: Migration[];
  realm: Migration[];
  rights: string;
}

/**
 * Longest wait for a lock. A migration that waits for a table blocks all others from it, so behind
 * a long reader it gives up, lets them pass and is tried again.
 */
const LOCK_WAIT_MAX = "set local lock_timeout = '2s'; set local statement_timeout = 0";
/** A test parses the functions' bodies; parsing them for each realm is a third of the cost of making it. */
const TRUST_BODIES = "set local check_function_bodies = off";
const FILE = /^(\d{4})_([a-z0-9_]+)(\.index)?\.sql$/;
const TRACK = `create table if not exists migrations (
  number integer primary key, name text not null, checksum text not null,
  applied_at timestamptz not null default now())`;

/** The checksum of a whole sequence. */
export function checksumOf(migrations: readonly Migration[]): string {
  const text = migrations.map(({ checksum }) => checksum).join("\n");
  return createHash("sha256").update(text).digest("hex");
}

/** Reads both sequences from the project's files. */
export async function readMigrations(): Promise<Migrations> {
  const root = new URL("../migrations/", import.meta.url);
  const [platform, realm, rights] = await Promise.all([
    readSequence(new URL("platform/", root)),
    readSequence(new URL("realm/", root)),
    Deno.readTextFile(new URL("rights.sql", root)),
  ]);
  return { platform, realm, rights };
}

/** Reads the files of one sequence. */
export async function readSequence(folder: URL): Promise<Migration[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(folder)) if (FILE.test(entry.name)) names.push(entry.name);
  return await Promise.all(
    names.sort().map(async (file, at) => {
      const migration = migrationOf(file, await Deno.readTextFile(new URL(file, folder)));
      if (migration.number === at + 1) return migration;
      throw new Error(`${file}: migrations are numbered without gaps`);
    }),
  );
}

/** The migration of a file. */
export function migrationOf(file: string, text: string): Migration {
  const [, digits, name, isIndex] = FILE.exec(file)!;
  const checksum = createHash("sha256").update(text).digest("hex");
  const index = isIndex === undefined ? {} : { index: stepOf(file, text) };
  return { number: Number(digits), name, text, checksum, ...index };
}

function stepOf(file: string, text: string): IndexStep {
  try {
    return readIndexStep(text);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
}

/**
 * Brings the platform's schema up to date; tells how many files were applied.
 *
 * @param outside makes the indexes of steps; without it they are made in the transaction
 */
export async function migratePlatform(
  sql: Sql,
  migrations: Migration[],
  outside: MakeOutside | null = null,
): Promise<number> {
  return await inParts(sql, outside, async (tx) => {
    const [{ made }] = await tx<{ made: boolean }[]>`
      select to_regclass('platform.migrations') is not null as made`;
    if (!made) {
      await tx`select pg_advisory_xact_lock(hashtext('purser migrations'))`;
      await tx`create schema if not exists platform`;
    }
    await enterSchema(tx, "platform");
    await lockMigrations(tx);
    return await applyDue(tx, "platform", migrations, made && outside !== null);
  });
}

/**
 * Runs transactions until one leaves nothing to do, and makes indexes between them; gives how many files they applied.
 * None is open while an index is made or waited for: an index that is made elsewhere may wait for its end.
 */
export async function inParts(
  sql: Sql,
  outside: MakeOutside | null,
  run: (tx: Tx) => Promise<AppliedPart>,
): Promise<number> {
  for (let applied = 0;;) {
    const part = await sql.begin("isolation level read committed", run) as AppliedPart;
    applied += part.applied;
    if (part.next === null) return applied;
    await outside!(part.next);
  }
}

/** Applies the due ones of some migrations to a schema. */
export async function applyMigrations(
  tx: Tx,
  schema: string,
  migrations: Migration[],
): Promise<void> {
  await enterSchema(tx, schema);
  await lockMigrations(tx);
  await applyDue(tx, schema, migrations, false);
}

/** Brings the schema of a realm that nobody uses up to date, then states its roles' rights anew. */
export async function migrateRealm(
  tx: Tx,
  migrations: Migrations,
  location: { schema: string; role: string | null },
): Promise<number> {
  return (await migratePart(tx, migrations, location, false)).applied;
}

/**
 * Brings the schema of a realm up to date, then states its roles' rights anew.
 *
 * @param inUse it stops before an index that is missing, which is made outside
 */
export async function migratePart(
  tx: Tx,
  migrations: Migrations,
  location: { schema: string; role: string | null },
  inUse: boolean,
): Promise<AppliedPart> {
  await tx.unsafe(LOCK_WAIT_MAX);
  await enterSchema(tx, location.schema);
  await lockMigrations(tx);
  const done = await assertApplied(tx, migrations.realm);
  if (done < migrations.realm.length && await isFenced(tx, location.schema)) {
    throw new Contention(FENCED); // what has moved since its place was read is found at the next try
  }
  const part = await applyDue(tx, location.schema, migrations.realm, inUse);
  if (part.applied > 0) await stateRights(tx, migrations, location);
  return part;
}

/**
 * Creates the roles of a realm that are missing, as after a restore without roles, and states passwords,
 * settings and rights; not where the schema is fenced, as the realm lives elsewhere or is about to.
 *
 * @returns whether it did
 */
export async function restateRights(
  tx: Tx,
  migrations: Migrations,
  location: RealmLocation,
  logins?: Logins,
): Promise<boolean> {
  await tx.unsafe(LOCK_WAIT_MAX);
  await enterSchema(tx, location.schema);
  await lockMigrations(tx); // the fence is raised under the same lock
  if (await isFenced(tx, location.schema)) return false;
  await stateRoles(tx, location, logins);
  await stateRights(tx, migrations, location);
  return true;
}

/** The table that marks a schema as the old place of a realm that moves or has moved. */
export const FENCE = "move_fence";

/** Why a realm is not migrated; the line of the log names the realm. */
const FENCED =
  "a move of this realm has stopped its writes: where no `realm move` runs, take it back by" +
  " `deno task realm move <id> --cancel`, and migrate again";

/** Whether a schema is fenced: nothing is written there. */
export async function isFenced(tx: Tx, schema: string): Promise<boolean> {
  const [{ fenced }] = await tx<{ fenced: boolean }[]>`
    select to_regclass(${`${quote(schema)}.${quote(FENCE)}`}) is not null as fenced`;
  return fenced;
}

/** States all rights of a realm's roles in its schema. */
async function stateRights(
  tx: Tx,
  migrations: Migrations,
  location: { schema: string; role: string | null },
): Promise<void> {
  if (location.role === null) return;
  await enterSchema(tx, location.schema);
  const rights = migrations.rights.replaceAll(":schema", quote(location.schema))
    .replaceAll(":worker", quote(workerRole(location.role)))
    .replaceAll(":role", quote(location.role));
  await tx.unsafe(rights);
}

/**
 * Locks the migrations of the current schema. The lock is that of a table to which no realm's role may
 * write; any session of a realm could hold an advisory lock.
 */
async function lockMigrations(tx: Tx): Promise<void> {
  await tx.unsafe(TRACK);
  await tx`lock table migrations in share row exclusive mode`;
}

/**
 * Creates the missing roles of a realm. Without passwords they do not log in. A role may change its own
 * password, and the settings that its next connections begin with, so both are set again.
 */
async function stateRoles(tx: Tx, location: RealmLocation, logins?: Logins): Promise<void> {
  if (location.role === null) return;
  const passwordOf = passwordsOf(location, logins);
  for (const name of [location.role, workerRole(location.role)]) {
    const [known] = await tx`select rolname from pg_roles where rolname = ${name}`;
    if (known === undefined) await tx`create role ${tx(name)} nologin`;
    else await resetSettings(tx, name);
    await tx`grant ${tx(name)} to current_user`;
    if (passwordOf !== null) await openLogin(tx, name, passwordOf(name));
  }
  // Also in a process whose roles do not log in: those of others do.
  if (location.encryptedUrl === null) await admitWatch(tx, location.role);
}

/** Makes the roles and the schema of a realm, empty. */
export async function createRealmSchema(
  tx: Tx,
  location: RealmLocation,
  logins?: Logins,
): Promise<void> {
  await stateRoles(tx, location, logins);
  await tx`create schema ${tx(location.schema)}`;
}

/** Fails at once where a database cannot be reached; a transaction's begin may never report it. */
export async function assertReachable(pool: Pool): Promise<void> {
  await pool.sql`select 1`;
}

/** Gives the reason why a database cannot hold every text; null where it can. */
export async function findEncodingFault(db: Db): Promise<string | null> {
  const [{ encoding }] = await db<{ encoding: string }[]>`
    select current_setting('server_encoding') as encoding`;
  if (encoding === "UTF8") return null;
  return `its encoding is ${encoding}, and UTF8 is needed: make one with` +
    " `create database … encoding 'UTF8' template template0`";
}

/** Drops the schema of a realm, with all its contents, and its roles. */
export async function dropRealmSchema(
  tx: Tx,
  location: { schema: string; role: string | null },
): Promise<void> {
  await tx`drop schema if exists ${tx(location.schema)} cascade`;
  if (location.role === null) return;
  for (const role of [workerRole(location.role), location.role]) {
    await tx`drop role if exists ${tx(role)}`;
  }
}

/** Makes a schema the current one for the rest of this transaction. */
export async function enterSchema(tx: Tx, schema: string): Promise<void> {
  await tx`set local search_path to ${tx(schema)}`;
}

/**
 * Applies the due files. Where the schema is in use, the transaction ends before an index that is missing: the index may
 * need what the files before it make, and is made while no transaction is open.
 */
async function applyDue(
  tx: Tx,
  schema: string,
  migrations: Migration[],
  inUse: boolean,
): Promise<AppliedPart> {
  const done = await assertApplied(tx, migrations);
  const due = migrations.slice(done);
  if (due.length > 0) await tx.unsafe(TRUST_BODIES);
  let applied = 0;
  for (const { number, name, checksum, text, index } of due) {
    if (index === undefined) await tx.unsafe(text);
    else if (!inUse) {
      await tx.unsafe(plainStatement(index));
      await assertIndex(tx, schema, index);
    } else if (await selectValidity(tx, schema, index) !== true) return { applied, next: index };
    await tx`insert into migrations (number, name, checksum) values (${number}, ${name}, ${checksum})`;
    applied++;
  }
  return { applied, next: null };
}

/** Refuses a database that other files made; gives how many it has applied. */
async function assertApplied(tx: Tx, migrations: Migration[]): Promise<number> {
  const done = await tx<{ number: number; checksum: string }[]>`
    select number, checksum from migrations order by number`;
  for (const { number, checksum } of done) {
    const file = migrations[number - 1];
    if (file === undefined) {
      throw new Error(`the database is ahead of this version: it has migration ${number}`);
    }
    if (file.checksum !== checksum) {
      throw new Error(`migration ${number} (${file.name}) was changed after it had been applied`);
    }
  }
  return done.length;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The schema version of the platform, and how many realms have another than this process. */
export interface SchemaVersions {
  platform: number;
  behind: number;
  ahead: number;
}

/** Reads the schema version of the platform, and how many realms have another than this process. */
export async function selectSchemaVersions(db: Db, realmVersion: number): Promise<SchemaVersions> {
  const [row] = await db<{ platform: number; behind: string; ahead: string }[]>`
    select (select max(number) from migrations) as platform,
      count(*) filter (where schema_version < ${realmVersion}) as behind,
      count(*) filter (where schema_version > ${realmVersion}) as ahead
    from realms where schema_version <> ${realmVersion}`;
  return { platform: row.platform, behind: Number(row.behind), ahead: Number(row.ahead) };
}
