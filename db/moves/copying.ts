/** Copies rows of a realm's tables between two databases, as PostgreSQL itself writes them in text. @module */
import type { Tx } from "../database.ts";
import { logOf } from "./capture.ts";
import { quoted, sameKey, sumOf, type TableShape, within } from "./tables.ts";

/** Two open transactions, of which the first reads one moment. */
export interface Copying {
  source: Tx;
  target: Tx;
  schema: string;
  /** Told of the bytes that were copied. */
  onBytes?: (count: number) => void;
}

/** Rows of one message. */
const ROWS_AT_ONCE = 2000;
/** Of a table whose rows may have hundreds of kilobytes each. */
const WIDE_ROWS_AT_ONCE = 100;
/** Sent with the statement before it, without asking for its types first. */
const AT_ONCE = { prepare: true };

/** Copies all rows of a table, in the place of those that are there. */
export async function copyWhole(copying: Copying, table: TableShape): Promise<void> {
  const { source, target, schema, onBytes } = copying;
  const name = within(schema, table.name);
  await target.unsafe(`delete from ${name}`);
  const query = `select t::text as line from ${name} t`;
  for await (const rows of slicesOf<{ line: string }>(source, table, query)) {
    const lines = rows.map(({ line }) => line);
    const text = arrayOf(lines);
    await target.unsafe(insertInto(schema, table), [text], AT_ONCE);
    onBytes?.(text.length);
  }
}

/** A noted key; the row that has it, and the sum over that, are null where it is gone. */
interface NotedRow {
  key: string;
  line: string | null;
  sum: string | null;
}

/**
 * Copies the rows of a table whose keys were noted, and deletes those that are gone. Each key is looked up by its index
 * on both sides, so the cost is that of the keys, however large the table is.
 *
 * @returns whether the target has the same rows under these keys
 */
export async function copyNoted(copying: Copying, table: TableShape): Promise<boolean> {
  const { source, target, schema, onBytes } = copying;
  const name = within(schema, table.name);
  // Keys travel as rows of the table's type whose other columns are null. "offset 0" keeps a plan that was made
  // without figures of the log from reading through the table.
  const query = `
    select (jsonb_populate_record(null::${name}, to_jsonb(k)))::text as key, f.line, f.sum
    from (select distinct ${table.key.map(quoted).join()} from ${within(schema, logOf(table))}) k
    left join lateral (select t::text as line, ${sumOf(table, "t")}::text as sum from ${name} t
      where ${sameKey(table, "t", "k")} offset 0) f on true`;
  let same = true;
  for await (const rows of slicesOf<NotedRow>(source, table, query)) {
    const keys = arrayOf(rows.map(({ key }) => key));
    const found = rows.filter(({ line }) => line !== null);
    const lines = arrayOf(found.map(({ line }) => line!));
    // Three statements in one message.
    const [, , [there]] = await Promise.all([
      target.unsafe(deleteKeys(schema, table), [keys], AT_ONCE),
      target.unsafe(insertInto(schema, table), [lines], AT_ONCE),
      target.unsafe<{ sum: string }[]>(sumOfKeys(schema, table), [keys], AT_ONCE),
    ]);
    const sum = found.reduce((all, row) => all + BigInt(row.sum!), 0n);
    same &&= there.sum === `${found.length} ${sum}`;
    onBytes?.(lines.length);
  }
  return same;
}

function insertInto(schema: string, { name, columns }: TableShape): string {
  const list = columns.map(quoted).join();
  return `insert into ${within(schema, name)} (${list}) overriding system value
    select ${list} from unnest($1::text::${within(schema, name)}[])`;
}

function deleteKeys(schema: string, table: TableShape): string {
  const name = within(schema, table.name);
  const places = (columns: string) =>
    `array(select ${columns} from unnest($1::text::${name}[]) k,
      lateral (select t.tableoid, t.ctid from ${name} t where ${
      sameKey(table, "t", "k")
    } offset 0) f)`;
  const inPart = table.parted
    ? ` and (tableoid || ' ' || ctid) = any (${places("f.tableoid || ' ' || f.ctid")})`
    : "";
  return `delete from ${name} where ctid = any (${places("f.ctid")})${inPart}`;
}

function sumOfKeys(schema: string, table: TableShape): string {
  const name = within(schema, table.name);
  return `select count(*) || ' ' || coalesce(sum(f.sum::numeric), 0) as sum
    from unnest($1::text::${name}[]) k,
      lateral (select ${sumOf(table, "t")} as sum from ${name} t
        where ${sameKey(table, "t", "k")} offset 0) f`;
}

/** Reads rows in slices, through a cursor of the table's name: those of several tables are read at once. */
async function* slicesOf<Row extends object>(
  source: Tx,
  { name, isWide }: TableShape,
  query: string,
): AsyncGenerator<Row[]> {
  const cursor = quoted(`move_rows_${name}`);
  const count = isWide ? WIDE_ROWS_AT_ONCE : ROWS_AT_ONCE;
  const fetching = `fetch ${count} from ${cursor}`;
  // In one message; where the first fails, the second says only that it did.
  const [declared, first] = await Promise.allSettled([
    source.unsafe(`declare ${cursor} no scroll cursor for ${query}`),
    source.unsafe<Row[]>(fetching),
  ]);
  if (declared.status === "rejected") throw declared.reason;
  if (first.status === "rejected") throw first.reason;
  let rows: Row[] = first.value;
  for (;;) {
    if (rows.length > 0) yield rows;
    if (rows.length < count) break;
    rows = await source.unsafe<Row[]>(fetching);
  }
  await source.unsafe(`close ${cursor}`);
}

/** Writes texts as an array of PostgreSQL. */
function arrayOf(texts: readonly string[]): string {
  return `{${
    texts.map((text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join()
  }}`;
}
