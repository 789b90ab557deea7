/**
 * Schemas that are built from migrations and filled from a backup. Triggers and foreign keys are out of the
 * way while rows are written, in any order, and are back, and checked, before the transaction ends.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import type { LedgerTx } from "../transaction.ts";
import { enterSchema } from "../migrate.ts";
import {
  type ForeignKey,
  identifier,
  schemaExists,
  selectAlwaysEnabled,
  selectForeignKeys,
  selectRealmSchemas,
  selectSequences,
  selectTables,
  type SequenceState,
  type TableShape,
  type TriggerName,
} from "./catalog.ts";

/** Schema that exists from the beginning of the restore of an installation to its end. */
const MARKER = "purser_restore";
const NOTE = "purser restore ";
/** Places are numbered from this moment on, in seconds, by restores. */
const PLACES_SINCE_MS = Date.UTC(2025, 0, 1);
/** Where the clock is wrong: no realm moves so often between a backup and its restore. */
const PLACES_PASSED = 1_000;

/** Keeps every process from migrating this database meanwhile. */
export async function lockTarget(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('purser migrations'))`;
}

/** Tells whether a restore was begun in this database and has not ended. */
export async function selectUnfinished(db: Db): Promise<boolean> {
  return await schemaExists(db, MARKER);
}

/** Reads which restore was begun in this database and has not ended. */
export async function selectRun(db: Db): Promise<string | null> {
  return await commentOn(db, MARKER);
}

/** Notes that a restore is begun. */
export async function markUnfinished(tx: Tx, run: string): Promise<void> {
  await tx`create schema ${tx(MARKER)}`;
  await markSchema(tx, MARKER, run);
}

/** Names the restore that made a schema. */
export async function markSchema(tx: Tx, schema: string, run: string): Promise<void> {
  await tx.unsafe(`comment on schema ${identifier(schema)} is '${NOTE}${run}'`);
}

/** Takes away the name of the restore that made a schema: it has ended, and the schema is a realm's. */
export async function unmarkSchema(tx: Tx, schema: string): Promise<void> {
  if (await commentOn(tx, schema) === null) return;
  await tx.unsafe(`comment on schema ${identifier(schema)} is null`);
}

/** Tells whether a restore that has not ended made a realm's schema: no worker has attested it since. */
export async function isOfRun(db: Db, schema: string, run: string): Promise<boolean> {
  if (await commentOn(db, schema) !== run) return false;
  const [{ used }] = await db<{ used: boolean }[]>`
    select exists (select from ${db(schema)}.attestations where place is not null) as used`;
  return !used;
}

async function commentOn(db: Db, schema: string): Promise<string | null> {
  const [row] = await db<{ note: string | null }[]>`
    select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = ${schema}`;
  return row?.note?.startsWith(NOTE) ? row.note.slice(NOTE.length) : null;
}

/** Notes that a restore has ended. */
export async function markFinished(tx: Tx): Promise<void> {
  await tx`drop schema ${tx(MARKER)}`;
}

/** Gives what stands in the way of restoring an installation here; null for an empty database. */
export async function selectOccupant(tx: Tx): Promise<string | null> {
  if (await schemaExists(tx, "platform")) return "an installation";
  const [realm] = await selectRealmSchemas(tx);
  return realm === undefined ? null : `the schema ${realm}`;
}

/** Makes a schema. */
export async function createSchema(tx: Tx, schema: string): Promise<void> {
  await tx`create schema ${tx(schema)}`;
}

/** Drops a schema that a restore did not finish. */
export async function dropSchema(tx: Tx, schema: string): Promise<void> {
  await tx`drop schema ${tx(schema)} cascade`;
}

/** A schema that is open for rows. */
export interface OpenSchema {
  readonly schema: string;
  readonly tables: readonly TableShape[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Triggers that no setting of a session switches off. */
  readonly always: readonly TriggerName[];
}

/**
 * Opens a schema for rows: none of its triggers runs and no foreign key is checked until it is closed.
 *
 * @param kept tables that keep the rows which the migrations wrote
 */
export async function openSchema(
  tx: Tx,
  schema: string,
  kept: readonly string[],
): Promise<OpenSchema> {
  await enterSchema(tx, schema);
  const tables = await selectTables(tx, schema);
  const foreignKeys = await selectForeignKeys(tx, schema);
  const always = await selectAlwaysEnabled(tx);
  for (const key of foreignKeys) await dropForeignKey(tx, key);
  for (const name of await withParts(tx, tables)) await disableTriggers(tx, name);
  const emptied = tables.filter(({ name }) => !kept.includes(name));
  await tx.unsafe(
    `truncate ${emptied.map(({ name }) => identifier(name)).join(", ")}`,
  );
  return { schema, tables, foreignKeys, always };
}

/** Closes a schema: every rule holds again, and statistics of the rows are taken. */
export async function closeSchema(
  tx: Tx,
  { schema, tables, foreignKeys, always }: OpenSchema,
  sequences: readonly SequenceState[],
): Promise<void> {
  await enterSchema(tx, schema);
  for (const name of await withParts(tx, tables)) await enableTriggers(tx, name);
  for (const trigger of always) await enableAlways(tx, trigger);
  for (const key of foreignKeys) await addForeignKey(tx, key);
  const known = new Set(
    (await selectSequences(tx, schema)).map(({ name }) => name),
  );
  for (const sequence of sequences) {
    if (known.has(sequence.name)) await setSequence(tx, sequence);
  }
  for (const { name } of tables) await analyze(tx, name);
}

/** Names tables, and behind each its parts, which have triggers of their own. */
async function withParts(tx: Tx, tables: readonly TableShape[]): Promise<string[]> {
  const parts = await tx<{ of: string; name: string }[]>`
    select p.relname::text as of, c.relname::text as name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relkind = 'p' and p.relnamespace = current_schema()::regnamespace order by 1, 2`;
  return tables.flatMap(({ name }) => [
    name,
    ...parts.filter(({ of }) => of === name).map((part) => part.name),
  ]);
}

async function dropForeignKey(
  tx: Tx,
  { table, name }: ForeignKey,
): Promise<void> {
  await tx`alter table ${tx(table)} drop constraint ${tx(name)}`;
}

async function addForeignKey(
  tx: Tx,
  { table, name, definition }: ForeignKey,
): Promise<void> {
  await tx.unsafe(
    `alter table ${identifier(table)} add constraint ${identifier(name)} ${definition}`,
  );
}

async function disableTriggers(tx: Tx, table: string): Promise<void> {
  await tx`alter table ${tx(table)} disable trigger user`;
}

async function enableTriggers(tx: Tx, table: string): Promise<void> {
  await tx`alter table ${tx(table)} enable trigger user`;
}

/** Enabled together with the others, it would be one that a session's role switches off. */
async function enableAlways(tx: Tx, { table, name }: TriggerName): Promise<void> {
  await tx`alter table ${tx(table)} enable always trigger ${tx(name)}`;
}

async function setSequence(
  tx: Tx,
  { name, last, called }: SequenceState,
): Promise<void> {
  await tx`select setval(${identifier(name)}::regclass, ${last}::bigint, ${called})`;
}

async function analyze(tx: Tx, table: string): Promise<void> {
  await tx`analyze ${tx(table)}`;
}

/**
 * Gives a realm's schema a token that no worker wrote: until a worker has compared it, and put every ramp into
 * quarantine, no address is handed out and no withdrawal canceled; until it is reconciled, nothing is sent. Its
 * addresses are entered anew into the directory of the installation, which may be older, or another one's.
 */
export async function estrangeRealm(tx: Tx): Promise<void> {
  await tx`
    insert into attestations (token, apart) values (gen_random_uuid(), true)
    on conflict (singleton) do update
      set token = excluded.token, place = null, seen_at = '-infinity', apart = true`;
  await tx`update reserved_addresses set shared = false where shared`;
}

/** Takes the ledger lock of a realm's schema that the transaction has built: nobody else has found it yet. */
export async function lockBuiltLedger(tx: Tx): Promise<LedgerTx> {
  await tx`lock table ledger_lock in exclusive mode`;
  return tx as LedgerTx;
}

/** Halts an installation until it is reconciled. */
export async function haltInstallation(
  tx: Tx,
  detail: string,
  at: number,
): Promise<void> {
  await tx`update installation set halted = ${tx.json({ detail, at })}`;
}

/**
 * States where a realm lives from now on. Its number is greater than any that a process may know, that of an earlier restore of
 * the same backup too: it is the number of seconds since a moment, and a realm that moves makes it greater by 1. Every login of
 * before has ended.
 *
 * @param at milliseconds
 */
export async function settlePlace(
  tx: Tx,
  { id, place, address, at }: { id: string; place: number; address: Uint8Array | null; at: number },
): Promise<void> {
  await tx`
    update platform.realms set place = ${laterPlace(tx, { place, at })},
      database_url_encrypted = ${address}, login_epoch = gen_random_uuid() where id = ${id}`;
}

/** Gives a realm that was not restored a later number of its place. Its login epoch is an earlier one: its logins end as well. */
export async function passPlaces(tx: Tx, id: string, at: number): Promise<void> {
  await tx`
    update platform.realms set place = ${laterPlace(tx, { place: 0, at })},
      login_epoch = gen_random_uuid() where id = ${id}`;
}

function laterPlace(tx: Tx, { place, at }: { place: number; at: number }) {
  const now = Math.trunc((at - PLACES_SINCE_MS) / 1000);
  return tx`case when ${now}::integer > greatest(place, ${place}::integer) then ${now}::integer
    else greatest(place, ${place}::integer) + ${PLACES_PASSED}::integer end`;
}

/** Makes the platform expect a realm's schema at a step that it is not at, wherever it is. */
export async function expectNone(tx: Tx, id: string): Promise<void> {
  await tx`
    insert into platform.realm_steps (realm, now, next) values (${id}, gen_random_uuid(), '[]')
    on conflict (realm) do update set now = excluded.now, next = excluded.next`;
}

/** Lists the realms of the directory beside some. */
export async function selectOthers(tx: Tx, realms: readonly string[]): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from platform.realms
    where not id = any (${`{${realms.join(",")}}`}::text::uuid[]) order by id limit 10`;
  return rows.map(({ id }) => id);
}

/** Makes a table that takes rows for another one of the platform's, until the transaction ends. */
export async function createIncoming(
  tx: Tx,
  table: string,
  columns: readonly string[],
): Promise<string> {
  const incoming = `incoming_${table}`;
  const named = columns.map(identifier).join(", ");
  await tx.unsafe(
    `create temporary table ${identifier(incoming)} on commit drop as
     select ${named} from platform.${identifier(table)} where false`,
  );
  return incoming;
}

/** Takes over the rows of a realm that came in, where the platform has none of the same key. */
export async function takeIncoming(
  tx: Tx,
  table: string,
  columns: readonly string[],
  condition: string,
): Promise<void> {
  const named = columns.map(identifier).join(", ");
  await tx.unsafe(
    `insert into platform.${identifier(table)} (${named})
     select ${named} from pg_temp.${identifier(`incoming_${table}`)} where ${condition}
     on conflict do nothing`,
  );
}

/** Keeps the address of a realm's own database out of a row that came in: the realm is restored here. */
export async function settleIncomingRealm(tx: Tx): Promise<void> {
  await tx`update pg_temp.incoming_realms set database_url_encrypted = null`;
}
