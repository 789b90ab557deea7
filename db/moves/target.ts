/**
 * The target of a move: a realm's schema that is being filled. While rows are copied it has no triggers and
 * no foreign keys, as the rows come from a database that has checked them; it gets them before the realm
 * works there.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import { quoted, type TableShape, within } from "./tables.ts";

/** How far the target is: rows are missing, all rows of some moment are there, or it can be worked with. */
export type TargetState = "empty" | "loaded" | "complete";

/** A database that a realm may move to. */
export interface TargetFindings {
  encoding: string;
  /** Version number of the server: 150004. */
  version: number;
  /** The installation whose tables it holds; null where it holds none. */
  installation: string | null;
  /** Whether the realm's schema is there. */
  occupied: boolean;
  /** The move that made the schema; null where none did. */
  mark: { move: string; runner: string; state: TargetState } | null;
  /** Milliseconds since the epoch by the server's clock. */
  at: number;
  /** Where the session looks for names. */
  searchPath: string;
}

/** Looks into a database. */
export async function inspectTarget(db: Db, schema: string): Promise<TargetFindings> {
  const [row] = await db<
    (Omit<TargetFindings, "installation" | "mark" | "at"> & {
      installed: boolean;
      comment: string | null;
      at: string;
    })[]
  >`
    select current_setting('server_encoding') as encoding,
      current_setting('server_version_num')::integer as version,
      to_regclass('platform.installation') is not null as installed,
      to_regnamespace(${quoted(schema)}) is not null as occupied,
      obj_description(to_regnamespace(${quoted(schema)})::oid, 'pg_namespace') as comment,
      floor(extract(epoch from clock_timestamp()) * 1000)::text as at,
      current_setting('search_path') as "searchPath"`;
  const [found] = row.installed
    ? await db<{ id: string }[]>`select id from platform.installation`
    : [];
  const { encoding, version, occupied, searchPath } = row;
  const { installed: _, comment, at } = row;
  return {
    ...{ encoding, version, occupied, installation: found?.id ?? null, at: Number(at) },
    searchPath,
    mark: markOf(comment),
  };
}

const MARK = /^purser move ([0-9a-f-]{36}) run ([0-9a-f-]{36}): (empty|loaded|complete)$/;

function markOf(comment: string | null): TargetFindings["mark"] {
  const found = MARK.exec(comment ?? "");
  if (found === null) return null;
  return { move: found[1], runner: found[2], state: found[3] as TargetState };
}

/** Marks a schema as the target of a move; no mark: a realm works there. */
export async function markTarget(
  tx: Tx,
  schema: string,
  mark: { id: string; runner: string; state: TargetState } | null,
): Promise<void> {
  const text = mark === null
    ? "null"
    : `'purser move ${mark.id} run ${mark.runner}: ${mark.state}'`;
  await tx.unsafe(`comment on schema ${quoted(schema)} is ${text}`);
}

/**
 * Keeps other runs of the move out of the target until the transaction ends.
 *
 * @returns its state; null where another run has taken it over
 */
export async function lockTarget(
  tx: Tx,
  schema: string,
  runner: string,
): Promise<TargetState | null> {
  await tx.unsafe(`lock table ${within(schema, "migrations")} in share row exclusive mode`);
  const { mark } = await inspectTarget(tx, schema);
  return mark?.runner === runner ? mark.state : null;
}

/** A trigger or a foreign key of a table. */
interface Rule {
  table_name: string;
  name: string;
  definition: string;
  /** Of triggers: in which sessions it runs. */
  enabled: string;
  kind: "trigger" | "key";
}

async function selectRules(db: Db, schema: string): Promise<Rule[]> {
  return await db<Rule[]>`
    select c.relname as table_name, t.tgname as name, pg_get_triggerdef(t.oid) as definition,
      t.tgenabled::text as enabled, 'trigger' as kind
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = to_regnamespace(${quoted(schema)}) and not t.tgisinternal
      and t.tgparentid = 0 and t.tgname not like 'move\\_%' and c.relname not like 'detached\\_%'
    union all
    select c.relname, k.conname, pg_get_constraintdef(k.oid), 'O', 'key'
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = to_regnamespace(${quoted(schema)}) and k.contype = 'f'
      and k.conparentid = 0
    order by 5, 1, 2`;
}

/** Empties a schema that was just made, and takes its triggers and foreign keys away. */
export async function bareTarget(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  const rules = await selectRules(tx, schema);
  const drops = rules.map(({ table_name, name, kind }) =>
    kind === "key"
      ? `alter table ${within(schema, table_name)} drop constraint ${quoted(name)};`
      : `drop trigger ${quoted(name)} on ${within(schema, table_name)};`
  );
  const rows = tables.map(({ name }) => `delete from ${within(schema, name)};`);
  await tx.unsafe([...drops, ...rows].join("\n"));
}

/**
 * Writes the statements that give the target the triggers and foreign keys of the source. Rows that are there are not
 * checked by them.
 */
export async function selectMissingRules(
  { source, target, schema }: { source: Db; target: Db; schema: string },
): Promise<string> {
  const key = ({ table_name, name }: Rule) => `${table_name} ${name}`;
  const there = new Set((await selectRules(target, schema)).map(key));
  const missing = (await selectRules(source, schema)).filter((rule) => !there.has(key(rule)));
  return missing.map(({ table_name, name, definition, enabled, kind }) => {
    const table = within(schema, table_name);
    if (kind === "key") {
      return `alter table ${table} add constraint ${quoted(name)} ${
        definition.replace(/ NOT VALID$/, "")
      } not valid;`;
    }
    const always = enabled === "A"
      ? `alter table ${table} enable always trigger ${quoted(name)};`
      : "";
    return `${definition}; ${always}`;
  }).join("\n");
}

/** Gives the target its rules; the rows that are there are not checked yet. */
export async function completeTarget(tx: Tx, rules: string): Promise<void> {
  if (rules !== "") await tx.unsafe(rules);
}

/** Reads the foreign keys whose rows were not checked yet. */
export async function selectUnchecked(
  db: Db,
  schema: string,
): Promise<{ table_name: string; name: string }[]> {
  return await db<{ table_name: string; name: string }[]>`
    select c.relname as table_name, k.conname as name
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = to_regnamespace(${quoted(schema)}) and k.contype = 'f'
      and not k.convalidated order by 1, 2`;
}

/** Checks the rows of a foreign key; readers and writers are not held up. */
export async function checkKey(
  tx: Tx,
  schema: string,
  { table_name, name }: { table_name: string; name: string },
): Promise<void> {
  await tx.unsafe(
    `alter table ${within(schema, table_name)} validate constraint ${quoted(name)}`,
  );
}

/** Continues the numbers of the source's sequences. */
export async function copySequences(
  { source, target, schema }: { source: Db; target: Tx; schema: string },
): Promise<void> {
  const rows = await source<{ name: string; last: string | null }[]>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = ${schema}`;
  const calls = rows.filter(({ last }) => last !== null).map(({ name, last }) =>
    `setval('${within(schema, name)}', ${last})`
  );
  if (calls.length > 0) await target.unsafe(`select ${calls.join()}`);
}

/** Makes a worker's attestation of the source hold for the copy, which was compared with it. */
export async function adoptTarget(
  { source, target, schema }: { source: Db; target: Tx; schema: string },
): Promise<void> {
  const here = `${within(schema, "database_place")}()`;
  const timeline = `${within(schema, "server_timeline")}()`;
  const [{ attested }] = await source.unsafe<{ attested: boolean }[]>(
    `select exists (select from ${
      within(schema, "attestations")
    } where place = ${here} and timeline is not distinct from ${timeline}) as attested`,
  );
  if (attested) {
    await target.unsafe(
      `update ${within(schema, "attestations")} set place = ${here}, timeline = ${timeline}`,
    );
  }
}
