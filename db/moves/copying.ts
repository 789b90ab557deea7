/** Copies rows of a realm's tables between two databases, as PostgreSQL itself writes them in text. @module */
import type { Tx } from "../database.ts";
import { logOf } from "./capture.ts";
import { quoted, type TableShape, within } from "./tables.ts";

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

/** Copies all rows of a table, in the place of those that are there. */
export async function copyWhole(copying: Copying, table: TableShape): Promise<void> {
  const name = within(copying.schema, table.name);
  await copying.target.unsafe(`delete from ${name}`);
  await carry(copying, `select t::text as line from ${name} t`, table);
}

/** Copies the rows of a table whose keys were noted, and deletes those that are gone. */
export async function copyNoted(copying: Copying, table: TableShape): Promise<void> {
  const { source, target, schema } = copying;
  const [name, log] = [within(schema, table.name), within(schema, logOf(table))];
  const key = table.key.map(quoted).join();
  const same = table.key.map((one) => `t.${quoted(one)} = k.${quoted(one)}`).join(" and ");
  // Keys travel as rows of the table's type whose other columns are null.
  const shape = `select ${key} from unnest($1::text::${name}[])`;
  const row = `(jsonb_populate_record(null::${name}, to_jsonb(k)))::text`;
  const keys = `select ${row} as line from (select distinct ${key} from ${log}) k`;
  for await (const lines of linesOf(source, keys)) {
    await target.unsafe(`delete from ${name} t using (${shape}) k where ${same}`, [lines]);
  }
  const rows =
    `select t::text as line from ${name} t where (${key}) in (select ${key} from ${log})`;
  await carry(copying, rows, table);
}

async function carry(
  { source, target, schema, onBytes }: Copying,
  query: string,
  table: TableShape,
): Promise<void> {
  const name = within(schema, table.name);
  const columns = table.columns.map(quoted).join();
  for await (const lines of linesOf(source, query)) {
    await target.unsafe(
      `insert into ${name} (${columns}) overriding system value
        select ${columns} from unnest($1::text::${name}[])`,
      [lines],
    );
    onBytes?.(lines.length);
  }
}

/** Reads rows as the server writes them, in slices, each as the text of an array. */
async function* linesOf(source: Tx, query: string): AsyncGenerator<string> {
  await source.unsafe(`declare move_rows no scroll cursor for ${query}`);
  for (let count = ROWS_AT_ONCE; count === ROWS_AT_ONCE;) {
    const rows = await source.unsafe<{ line: string }[]>(
      `fetch ${ROWS_AT_ONCE} from move_rows`,
    );
    count = rows.length;
    if (count > 0) yield `{${rows.map(({ line }) => quotedElement(line)).join()}}`;
  }
  await source.unsafe("close move_rows");
}

function quotedElement(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
