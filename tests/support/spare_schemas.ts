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

/**
 * Spare schemas of a database: with more, each session in it begins more slowly; with fewer, more databases are made,
 * which takes a seventh of a second of a processor each.
 */
export const SPARES = 12;

const NAME = "spares";
/** What the name of a database ends with from which those for one realm alone are copied. */
export const OF_ONE = "_of_one";

/**
 * Makes the databases from which those of groups are copied, and those that tests make for a realm of their own; gives
 * the name of the former.
 */
export async function makeTemplate(server: EmbeddedPostgres): Promise<string> {
  const superuser = openDatabase({
    ...{ url: server.superuserUrl, prepare: true, parseJson: JSON.parse },
  });
  try {
    const { username } = new URL(server.url);
    for (const name of [NAME, `${NAME}${OF_ONE}`]) {
      await superuser.platform.sql.unsafe(
        `create database ${name} template template1 owner ${username}`,
      );
    }
  } finally {
    await superuser.close();
  }
  const url = new URL(`/${NAME}`, server.url).href;
  const half = SPARES / 2;
  await Promise.all([
    addSpares(url, 0, half),
    addSpares(url, half, SPARES),
    addSpares(`${url}${OF_ONE}`, 0, 1),
  ]);
  return NAME;
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

const taken = new Map<string, number>();

/** How many spare schemas this process has asked a database for, by its name. */
export function sparesTaken(database: string): number {
  return taken.get(database) ?? 0;
}

/** Gives a spare schema of a database its name; false where none is left. */
export async function takeSpare({ sql }: Pool, schema: string): Promise<boolean> {
  return await sql.begin(async (tx) => {
    // What comes after the lock sees what others took.
    const [{ database }] = await tx<{ database: string }[]>`
      select current_database() as database, pg_advisory_xact_lock(hashtext('spares'))`;
    taken.set(database, sparesTaken(database) + 1);
    const [found] = await tx<{ name: string }[]>`
      select nspname as name from pg_namespace where nspname ~ '^spare_[0-9]+$' limit 1`;
    if (found === undefined) return false;
    await tx`alter schema ${tx(found.name)} rename to ${tx(schema)}`;
    return true;
  });
}
