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
  /** The name that its client gave, or that of a prepared transaction; null where there is none. */
  application: string | null;
  role: string | null;
  /** Seconds since its begin; null where the login may not know. */
  openS: number | null;
}

/** An index was not made, because another transaction stays open. */
class IndexWait extends Error {
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
  const age = openS === null ? "" : `, open for ${Math.round(openS)} s`;
  if (pid > 0) {
    return `the transaction of process ${pid} (${application || "unnamed"}, role ${role}${age})`;
  }
  return `the prepared transaction "${application}" (pg_prepared_xacts, role ${role}${age})`;
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

/** Age of a transaction in seconds. */
const OPEN_S = "extract(epoch from clock_timestamp() - a.xact_start)::float8";
/** Transactions of this database that are prepared to be committed: no process has them, and their locks stay. */
const PREPARED =
  `select x.virtualtransaction as holder, p.transaction as xid, 'prepared/' || p.transaction as transaction,
    p.gid as application, p.owner as role, extract(epoch from clock_timestamp() - p.prepared)::float8 as "openS"
  from pg_catalog.pg_prepared_xacts p
  join pg_catalog.pg_locks x on x.transactionid = p.transaction and x.granted and x.pid is null
  where p.database = current_database()`;

/** The transactions that sessions wait for. */
export async function selectBlockers(db: Db, pids: readonly number[]): Promise<WaitedFor[]> {
  if (pids.length === 0) return [];
  return await db<WaitedFor[]>`
    select distinct b.pid, coalesce(p.transaction, v.virtualtransaction, b.pid::text) as transaction,
      coalesce(p.application, a.application_name) as application, coalesce(p.role, a.usename) as role,
      coalesce(p."openS", ${db.unsafe(OPEN_S)}) as "openS"
    from unnest(string_to_array(${pids.join()}, ',')::integer[]) w(pid)
    cross join lateral unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
    left join pg_catalog.pg_stat_activity a on a.pid = b.pid
    left join pg_catalog.pg_locks v on v.pid = b.pid and v.locktype = 'virtualxid' and v.mode = 'ExclusiveLock'
    left join pg_catalog.pg_locks t on b.pid = 0 and t.pid = w.pid and not t.granted
    left join (${db.unsafe(PREPARED)}) p on p.xid = t.transactionid`;
}

/**
 * The transactions of this database, open for more than a second or prepared, that a statement on the step's table would
 * wait for: the drop of an index for all that have used the table, its making for those that have written to it, and for
 * all that have a snapshot of anything.
 */
export async function selectOpenTransactions(
  db: Db,
  schema: string,
  step: IndexStep,
  kind: "create" | "drop",
): Promise<WaitedFor[]> {
  const used = db`
    select l.pid, l.virtualtransaction as holder from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_database d on d.oid = l.database
    where d.datname = current_database() and l.granted and n.nspname = ${schema} and c.relname = ${step.table}
      and (${kind} = 'drop' or l.mode not in ('AccessShareLock', 'RowShareLock', 'ShareLock'))`;
  return await db<WaitedFor[]>`
    with used as (${used})
    select a.pid, v.virtualtransaction as transaction, a.application_name as application, a.usename as role,
      ${db.unsafe(OPEN_S)} as "openS"
    from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_locks v on v.pid = a.pid and v.locktype = 'virtualxid' and v.mode = 'ExclusiveLock'
    where a.datname = current_database() and a.pid <> pg_catalog.pg_backend_pid()
      and coalesce(clock_timestamp() - a.xact_start > interval '1 second', true)
      and a.backend_type is distinct from 'autovacuum worker'
      and a.pid not in (select pid from pg_catalog.pg_stat_progress_vacuum)
      and ((${kind} = 'create' and a.backend_xmin is not null) or exists (select from used u where u.pid = a.pid))
    union all
    select 0, p.transaction, p.application, p.role, p."openS" from (${db.unsafe(PREPARED)}) p
    where exists (select from used u where u.pid is null and u.holder = p.holder)`;
}

/** The transactions that keep a statement from beginning on the step's table. */
export async function selectHolders(
  db: Db,
  schema: string,
  step: IndexStep,
): Promise<WaitedFor[]> {
  return await db<WaitedFor[]>`
    select distinct coalesce(l.pid, 0) as pid, coalesce(p.transaction, l.virtualtransaction) as transaction,
      coalesce(p.application, a.application_name) as application, coalesce(p.role, a.usename) as role,
      coalesce(p."openS", ${db.unsafe(OPEN_S)}) as "openS"
    from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_database d on d.oid = l.database
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    left join (${db.unsafe(PREPARED)}) p on l.pid is null and p.holder = l.virtualtransaction
    where d.datname = current_database() and l.granted and n.nspname = ${schema} and c.relname = ${step.table}
      and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')`;
}
