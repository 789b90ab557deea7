/**
 * Schemas of realms without a name or a role, which databases of a test run begin with. To build one by its
 * migrations takes PostgreSQL four tenths of a second of a processor; to copy it with its database, a fiftieth of one.
 * A realm that takes one gets its roles and their rights as any other does: `tests/postgres/golden_schema_test.ts`
 * compares the two.
 *
 * @module
 */
import { openDatabase, type Pool } from "../../db/database.ts";
import type { EmbeddedPostgres } from "../../db/embedded/embedded.ts";
import { migrateRealm, type Migrations, readMigrations } from "../../db/migrate.ts";

function templateOf(size: number): string {
  return `spares_${size}`;
}

/**
 * Makes databases, by their names, each with so many spare schemas; those with few first.
 *
 * @param made is told each that is there
 */
export async function makeWithSpares(
  server: EmbeddedPostgres,
  sizes: ReadonlyMap<string, number>,
  made: (name: string) => void = () => {},
): Promise<void> {
  const superuser = openDatabase({
    ...{ url: server.superuserUrl, prepare: true, parseJson: JSON.parse },
  });
  const { sql } = superuser.platform;
  try {
    let from: { name: string; size: number } | null = null;
    const forget = async () => {
      if (from !== null) await sql.unsafe(`drop database ${from.name}`);
    };
    for (const size of [...new Set(sizes.values())].sort((a, b) => a - b)) {
      const name = templateOf(size);
      await copy(superuser.platform, from?.name ?? "template1", name);
      await addSpares(new URL(`/${name}`, server.url).href, from?.size ?? 0, size);
      await forget();
      for (const [database, wanted] of sizes) {
        if (wanted !== size) continue;
        await copy(superuser.platform, name, database);
        made(database);
      }
      from = { name, size };
    }
    await forget();
  } finally {
    await superuser.close();
  }
}

/** Copies a database file by file: the other way writes each page to the log. */
async function copy({ sql }: Pool, from: string, to: string): Promise<void> {
  await sql.unsafe(`create database ${to} template ${from} owner purser strategy file_copy`);
}

/** Builds schemas with the numbers from `from` to below `to`. */
export async function addSpares(url: string, from: number, to: number): Promise<void> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const migrations = await readMigrations();
  try {
    for (let n = from; n < to; n++) await addOne(database.platform, migrations, `spare_${n}`);
  } finally {
    await database.close();
  }
}

async function addOne({ sql }: Pool, migrations: Migrations, schema: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`create schema ${tx(schema)}`;
    await migrateRealm(tx, migrations, { schema, role: null });
  });
}

/** Gives a spare schema of a database its name; false where none is left. */
export async function takeSpare({ sql }: Pool, schema: string): Promise<boolean> {
  return await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('spares'))`; // what comes after it sees what others took
    const [found] = await tx<{ name: string }[]>`
      select nspname as name from pg_namespace where nspname ~ '^spare_[0-9]+$' limit 1`;
    if (found === undefined) return false;
    await tx`alter schema ${tx(found.name)} rename to ${tx(schema)}`;
    return true;
  });
}
