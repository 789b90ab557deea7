/**
 * Transactions that the making of an index waits for, and how long it does. PostgreSQL waits for the end of a
 * transaction that had a snapshot at one moment, however long it stays open, and says nothing.
 * @module
 */
import type { IndexStep } from "./index_steps.ts";
import type { Db, IndexWaits } from "./pool_types.ts";

/** A transaction that an index waits for. */
export interface WaitedFor {
  /** Process of the server; 0 for a prepared transaction. */
  pid: number;
  /** Names the transaction among all that the server has had since its start. */
  transaction: string;
  /** The name that its client gave; null where it gave none. */
  application: string | null;
  role: string | null;
  /** Seconds since its begin; null where the login may not know. */
  openS: number | null;
}

/** An index was not made, because another transaction stays open. */
export class IndexWait extends Error {
  override readonly name = "IndexWait";
}

/** A short wait for an ordinary transaction is not worth a word. */
const WORTH_SAYING_MS = 2_000;

/**
 * Takes down what an index waits for now.
 *
 * @returns what it has waited for for long enough to be said
 * @throws {IndexWait} once it waits for one of them for longer than it may
 */
export function noteWaits(
  { limitMs, since }: IndexWaits,
  step: IndexStep,
  found: readonly WaitedFor[],
): WaitedFor[] {
  const now = performance.now();
  const waitedMs = (one: WaitedFor) => now - since.get(one.transaction)!;
  for (const { transaction } of found) if (!since.has(transaction)) since.set(transaction, now);
  const over = found.find((one) => waitedMs(one) >= limitMs);
  if (over === undefined) return found.filter((one) => waitedMs(one) >= WORTH_SAYING_MS);
  throw new IndexWait(
    `index ${step.name} waits for ${nameOf(over)}: end it, or migrate again when it has ended`,
  );
}

function nameOf({ pid, application, role, openS }: WaitedFor): string {
  if (pid === 0) return "a prepared transaction (pg_prepared_xacts)";
  const age = openS === null ? "" : `, open for ${Math.round(openS)} s`;
  return `the transaction of process ${pid} (${application || "unnamed"}, role ${role}${age})`;
}

/**
 * The sessions that make an index of this database beside its use, or drop the one of the step. Either holds a lock of
 * its table from its begin to its end, also between its transactions.
 */
export async function selectBuilds(db: Db, schema: string, step: IndexStep): Promise<number[]> {
  const rows = await db<{ pid: number }[]>`
    select pid from pg_catalog.pg_stat_progress_create_index
    where datname = current_database() and command like '%CONCURRENTLY'
    union select l.pid from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_database d on d.oid = l.database
    where d.datname = current_database() and l.mode = 'ShareUpdateExclusiveLock' and l.granted
      and n.nspname = ${schema} and c.relname = ${step.name} and l.pid is not null`;
  return rows.map(({ pid }) => pid);
}

/** The transactions that sessions wait for. */
export async function selectBlockers(db: Db, pids: readonly number[]): Promise<WaitedFor[]> {
  if (pids.length === 0) return [];
  return await db<WaitedFor[]>`
    select distinct b.pid, coalesce(v.virtualtransaction, b.pid::text) as transaction, a.application_name as application,
      a.usename as role, extract(epoch from clock_timestamp() - a.xact_start)::float8 as "openS"
    from unnest(string_to_array(${pids.join()}, ',')::integer[]) w(pid)
    cross join lateral unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
    left join pg_catalog.pg_stat_activity a on a.pid = b.pid
    left join pg_catalog.pg_locks v on v.pid = b.pid and v.locktype = 'virtualxid' and v.mode = 'ExclusiveLock'`;
}

/**
 * The transactions of this database, open for more than a second, that a statement on the step's table would wait for:
 * the drop of an index for all that have used the table, its making for those that have written to it, and for all that
 * have a snapshot of anything.
 */
export async function selectOpenTransactions(
  db: Db,
  schema: string,
  step: IndexStep,
  kind: "create" | "drop",
): Promise<WaitedFor[]> {
  return await db<WaitedFor[]>`
    select a.pid, v.virtualtransaction as transaction, a.application_name as application, a.usename as role,
      extract(epoch from clock_timestamp() - a.xact_start)::float8 as "openS"
    from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_locks v on v.pid = a.pid and v.locktype = 'virtualxid' and v.mode = 'ExclusiveLock'
    where a.datname = current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and coalesce(clock_timestamp() - a.xact_start > interval '1 second', true)
      and a.backend_type is distinct from 'autovacuum worker'
      and a.pid not in (select pid from pg_catalog.pg_stat_progress_vacuum)
      and ((${kind} = 'create' and a.backend_xmin is not null) or exists (
        select from pg_catalog.pg_locks l
        join pg_catalog.pg_class c on c.oid = l.relation
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where l.pid = a.pid and l.granted and n.nspname = ${schema} and c.relname = ${step.table}
          and (${kind} = 'drop' or l.mode not in ('AccessShareLock', 'RowShareLock', 'ShareLock'))))`;
}

/** The transactions that keep a statement from beginning on the step's table. */
export async function selectHolders(
  db: Db,
  schema: string,
  step: IndexStep,
): Promise<WaitedFor[]> {
  return await db<WaitedFor[]>`
    select distinct l.pid, l.virtualtransaction as transaction, a.application_name as application, a.usename as role,
      extract(epoch from clock_timestamp() - a.xact_start)::float8 as "openS"
    from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_database d on d.oid = l.database
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where d.datname = current_database() and l.granted and l.pid is not null
      and n.nspname = ${schema} and c.relname = ${step.table}
      and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')`;
}
