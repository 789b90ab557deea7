/** Statements on synchronisations of persons with identities. @module */
import type { Db, Tx } from "../database.ts";

/** What a synchronisation was asked for. */
export interface SyncParameters {
  country: string;
  currency: string;
  limit: number | null;
  page: number | null;
  filter: unknown;
}

/** A synchronisation as stored. */
export interface SyncRow {
  id: string;
  parameters: SyncParameters;
  /** 1 to 3. */
  step: number;
  /** Where the step goes on; null at its beginning. */
  cursor: string | null;
  /** Persons that were read, in all steps together. */
  read: number;
  /** Identities that were given the person that names them. */
  linked: number;
  /** Persons that were given the name of their identity. */
  completed: number;
  /** Identities that were created. */
  created: number;
  state: "running" | "done" | "failed";
  error: unknown;
  owner: string;
  finished_at: number | null;
  created_at: number;
}

/** What a part of a step did. */
export interface SyncProgress {
  step: number;
  cursor: string | null;
  read: number;
  linked: number;
  completed: number;
}

function columns(db: Db) {
  return db`id, parameters, step, cursor, read::float8 as read, linked::float8 as linked,
    completed::float8 as completed, created::float8 as created, state, error, owner, finished_at,
    created_at`;
}

/** Whether no job carries a synchronisation on any more. */
function isLost(db: Db) {
  return db`state = 'running' and not exists (select from jobs
    where name = 'persons.sync' and jobs.state in ('ready', 'running'))`;
}

/** Reads and locks the synchronisation that no job carries on any more. */
export async function lockLostSync(tx: Tx): Promise<SyncRow | null> {
  const [row] = await tx<SyncRow[]>`
    select ${columns(tx)} from person_syncs where ${isLost(tx)} for update`;
  return row ?? null;
}

/** Reads the last synchronisations, the latest first. */
export async function selectSyncs(
  db: Db,
  limit: number,
): Promise<(SyncRow & { lost: boolean })[]> {
  return await db<(SyncRow & { lost: boolean })[]>`
    select ${columns(db)}, ${isLost(db)} as lost from person_syncs order by id desc limit ${limit}`;
}

/** Adds a synchronisation. */
export async function insertSync(
  tx: Tx,
  row: Pick<SyncRow, "id" | "parameters" | "owner" | "created_at">,
): Promise<void> {
  await tx`
    insert into person_syncs (id, parameters, owner, created_at)
    values (${row.id}, ${tx.json(row.parameters as never)}, ${row.owner}, ${row.created_at})`;
}

/** Reads and locks a synchronisation. */
export async function lockSync(tx: Tx, id: string): Promise<SyncRow | null> {
  const [row] = await tx<SyncRow[]>`
    select ${columns(tx)} from person_syncs where id = ${id} for update`;
  return row ?? null;
}

/** Adds what a part of a step did, and says where the next one begins. */
export async function advanceSync(
  tx: Tx,
  id: string,
  to: SyncProgress,
  now: number,
): Promise<void> {
  await tx`
    update person_syncs set step = ${to.step}, cursor = ${to.cursor}, read = read + ${to.read},
      linked = linked + ${to.linked}, completed = completed + ${to.completed}, updated_at = ${now}
    where id = ${id}`;
}

/** Adds to the number of created identities. */
export async function addCreated(tx: Tx, id: string, count: number, now: number): Promise<void> {
  await tx`
    update person_syncs set created = created + ${count}, updated_at = ${now} where id = ${id}`;
}

/** Ends a synchronisation, and forgets its filter. */
export async function endSync(
  tx: Tx,
  id: string,
  how: { state: "done" | "failed"; error: unknown; at: number },
): Promise<SyncRow> {
  const error = how.error === null ? null : tx.json(how.error as never);
  const [row] = await tx<SyncRow[]>`
    update person_syncs set state = ${how.state}, error = ${error}, finished_at = ${how.at},
      updated_at = ${how.at}, parameters = parameters || '{"filter": null}'
    where id = ${id} returning ${columns(tx)}`;
  return row;
}
