/** A clock of the database that a test sets, in one realm. @module */
import type { TestRealm } from "./realm.ts";

/** Sets the value that a realm's clock is told from. */
export type SetClock = (value: number) => Promise<void>;

/**
 * Has a realm's ledger ask another clock.
 *
 * @param expression milliseconds since the epoch, in SQL, of `real`, the true ones, and `value`, 0 at first
 */
export async function databaseClock(
  realm: TestRealm,
  expression = "real + value",
): Promise<SetClock> {
  const { location } = (await realm.services.realms.find(realm.id))!;
  const { sql } = realm.database.platform;
  const schema = `"${location.schema}"`;
  const real = "trunc(extract(epoch from clock_timestamp()) * 1000)::bigint";
  await sql.unsafe(`
    create table ${schema}.test_clock (value bigint not null);
    insert into ${schema}.test_clock values (0);
    grant select on ${schema}.test_clock to public;
    create or replace function ${schema}.database_ms() returns bigint language sql as $$
      select ${expression} from ${schema}.test_clock, (select ${real} as real) r
    $$;`);
  return async (value) => {
    await sql.unsafe(`update ${schema}.test_clock set value = $1`, [value]);
  };
}
