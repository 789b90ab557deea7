/**
 * Fills tables with copies of the rows that they hold; what is unique differs. PostgreSQL is told nothing of it, as
 * when a fresh realm grows faster than its statistics.
 * @module
 */
import type postgres from "postgres";

interface Column {
  name: string;
  type: string;
  /** Whether the table draws its numbers. */
  drawn: boolean;
}

/** Copies of work that is not finished would be done. */
const FINISHED = "('done', 'dead', 'failed', 'canceled', 'booked')";

/**
 * Copies the rows of all tables of a schema but some, to about so many each; gives the names of those that grew. As many
 * tables are filled at once as the pool has sessions.
 */
export async function copyRows(
  sql: postgres.Sql,
  schema: string,
  rows: number,
  except: readonly string[],
): Promise<Set<string>> {
  const tables = await sql<{ name: string; state: boolean }[]>`
    select c.relname as name, exists (select from pg_attribute a
      where a.attrelid = c.oid and a.attname = 'state') as state
    from pg_class c where c.relnamespace = ${schema}::regnamespace and c.relkind = 'r'
      and c.relname <> all (${except as string[]}) order by 1`;
  const grown = new Set<string>();
  await Promise.all(Array.from({ length: sql.options.max }, async () => {
    for (let next = tables.shift(); next !== undefined; next = tables.shift()) {
      const where = next.state ? `where state in ${FINISHED}` : "";
      if (await copyTable(sql, `${schema}.${next.name}`, rows, where)) grown.add(next.name);
    }
  }));
  return grown;
}

async function copyTable(
  sql: postgres.Sql,
  table: string,
  rows: number,
  where: string,
): Promise<boolean> {
  const [{ count }] = await sql.unsafe<{ count: number }[]>(
    `select count(*)::integer as count from ${table} ${where}`,
  );
  if (count === 0) return false;
  const unique = await uniqueColumns(sql, table);
  const columns = await sql<Column[]>`
    select quote_ident(attname) as name, atttypid::regtype::text as type, attidentity <> '' as drawn
    from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;
  const values = columns.map((of) => copyOf(table, of, unique.has(of.name)));
  const made = await sql.unsafe(
    `insert into ${table} (${columns.map(({ name }) => name).join()}) overriding system value
      select ${values.join()} from (select * from ${table} ${where}) t,
        generate_series(1, ${Math.ceil(rows / count)}) n
      on conflict do nothing`,
  );
  return made.count >= rows / 2;
}

/** One column of each unique index: an id where there is one, or else a number, an address or another text. */
async function uniqueColumns(sql: postgres.Sql, table: string): Promise<Set<string>> {
  const rows = await sql<{ name: string }[]>`
    select distinct on (i.indexrelid) quote_ident(a.attname) as name
    from pg_index i, unnest(i.indkey::smallint[]) k(number), pg_attribute a
    where i.indrelid = ${table}::regclass and i.indisunique
      and a.attrelid = i.indrelid and a.attnum = k.number
    order by i.indexrelid, a.attname <> 'id',
      array_position(array['uuid', 'bigint', 'integer', 'text'], a.atttypid::regtype::text),
      a.attname <> 'address', a.attnum`;
  return new Set(rows.map(({ name }) => name));
}

/** A column's value in copy n, which happened a day earlier. An id keeps its time, so that the newest stays it. */
function copyOf(table: string, { name, type, drawn }: Column, unique: boolean): string {
  if (/^(created|updated|finished)_at$/.test(name)) return `${name} - interval '1 day'`;
  if (/^(block|height)$/.test(name) && type === "bigint") return `least(${name}, 0) - 1000000`;
  if (!unique) return name;
  if (drawn) {
    return `nextval(pg_get_serial_sequence('${table}', '${name.replaceAll('"', "")}'))`;
  }
  switch (type) {
    case "uuid":
      return `(left(${name}::text, 24) || lpad(to_hex(n), 12, '0'))::uuid`;
    case "bigint":
    case "integer":
      return `${name} + n * (select max(${name}) - min(${name}) + 1 from ${table})`;
    case "text":
      return `${name} || '-' || n`;
    default:
      return name;
  }
}
