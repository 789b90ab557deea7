/**
 * Capture of changes: triggers of a realm's tables note the keys of rows that are written while the realm
 * is copied. Any PostgreSQL offers this to the owner of the tables; no replication has to be set up.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import { quoted, type TableShape, within } from "./tables.ts";

const CAPTURE = "move_noted";

/** The table that names the run of a move which reads what was noted, and forgets it. */
const READER = "move_runner";

/** Makes this run the one that reads what is noted; an earlier one, also of another move, forgets nothing any more. */
export async function claimCapture(tx: Tx, schema: string, runner: string): Promise<void> {
  const table = within(schema, READER);
  await tx.unsafe(`create table if not exists ${table} (runner uuid not null);
    delete from ${table}; insert into ${table} values ('${runner}')`);
}

/**
 * Whether what is noted is this run's to read, by the snapshot of the transaction.
 *
 * @param lock keeps other runs from claiming it until the transaction ends; one that did after the snapshot makes it fail
 */
export async function holdsCapture(
  tx: Tx,
  { schema, runner, lock }: { schema: string; runner: string; lock: boolean },
): Promise<boolean> {
  const table = within(schema, READER);
  const [{ there }] = await tx<
    { there: boolean }[]
  >`select to_regclass(${table}) is not null as there`;
  if (!there) return false;
  const [row] = await tx.unsafe<{ runner: string }[]>(
    `select runner from ${table} ${lock ? "for share" : ""}`,
  );
  return row?.runner === runner;
}

/** Name of the table that takes the keys of a table's changed rows. */
export function logOf({ name }: TableShape): string {
  return `move_log_${name}`;
}

/** Writers of the table wait no longer than this for the capture to be installed, or not. */
const LOCK_WAIT_MAX_MS = 400;

/**
 * Notes changes of a table from now on. When this is committed, every transaction that wrote there before has ended,
 * and every later write is noted.
 */
export async function installCapture(tx: Tx, schema: string, table: TableShape): Promise<void> {
  if (table.key.length === 0) return;
  const [{ there }] = await tx<{ there: boolean }[]>`
    select exists (select from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = to_regnamespace(${quoted(schema)}) and c.relname = ${table.name}
        and t.tgname = ${`${CAPTURE}_delete`}) as there`;
  if (there) return;
  await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MAX_MS}`);
  await tx.unsafe(captureOf(schema, table));
}

/** Ends the capture, and forgets what was noted. */
export async function removeCapture(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  const lines = tables.map((table) => {
    const [log, name] = [within(schema, logOf(table)), within(schema, table.name)];
    return ["insert", "update", "delete"].map((event) =>
      `drop trigger if exists ${CAPTURE}_${event} on ${name};`
    ).join(" ") + `drop function if exists ${log}(); drop table if exists ${log};`;
  });
  lines.push(`drop table if exists ${within(schema, READER)};`);
  await tx.unsafe(lines.join("\n"));
}

function captureOf(schema: string, table: TableShape): string {
  const [log, name] = [within(schema, logOf(table)), within(schema, table.name)];
  const key = table.key.map(quoted).join();
  const on = (event: string, referencing: string) =>
    `create trigger ${CAPTURE}_${event} after ${event} on ${name} referencing ${referencing}
      for each statement execute function ${log}();`;
  return `create table ${log} as select ${key} from ${name} with no data;
    create function ${log}() returns trigger language plpgsql security definer
      set search_path to ${quoted(schema)}, pg_temp as $$
    begin
      if tg_op = 'INSERT' then
        insert into ${log} select ${key} from move_after;
      elsif tg_op = 'DELETE' then
        insert into ${log} select ${key} from move_before;
      else
        insert into ${log} select ${key} from move_before union select ${key} from move_after;
      end if;
      return null;
    end $$;
    revoke execute on function ${log}() from public;
    ${on("insert", "new table as move_after")}
    ${on("update", "old table as move_before new table as move_after")}
    ${on("delete", "old table as move_before")}`;
}

/** Reads which tables have noted changes, and counts these roughly. */
export async function selectNoted(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<Map<string, number>> {
  const each = tables.filter(({ key }) => key.length > 0).map((table) =>
    `select '${table.name}' as name, count(*)::integer as count from ${
      within(schema, logOf(table))
    }`
  );
  const rows = await tx.unsafe<{ name: string; count: number }[]>(each.join(" union all "));
  return new Map(rows.filter(({ count }) => count > 0).map(({ name, count }) => [name, count]));
}

/** Forgets what this transaction's snapshot shows as noted; what was noted after it stays. */
export async function forgetNoted(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  if (tables.length === 0) return;
  await tx.unsafe(tables.map((one) => `delete from ${within(schema, logOf(one))};`).join(" "));
}

/** Gives back the room of what was forgotten, so that what is read later is only what was noted later. */
export async function vacuumLogs(
  db: Db,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  const logs = tables.filter(({ key }) => key.length > 0).map((one) => within(schema, logOf(one)));
  await db.unsafe(`vacuum ${logs.join()}`);
}
