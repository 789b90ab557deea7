/** What is due at exchanges, in turns of its owners. @module */
import type postgres from "postgres";
import type { Db } from "../database.ts";

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Which rows may be due: an index of each table has them by owner, and one by time. */
export interface DueRows {
  table: Fragment;
  is: Fragment;
  /** When they are due. */
  due: Fragment;
  /** What is read of them; id and owner are among it. */
  fields: Fragment;
}

/** Owners that are looked at, and the rows of each that are taken, where more is due than is asked for. */
const OWNERS_WINDOW = 500;
const OF_OWNER = 5;

/**
 * Reads what is due: all of it, or where that is more than `limit` the oldest of each owner in turn, and the oldest of all.
 * However much is due, and of however many, a bounded number of rows is read: of very many owners those that come after a
 * random one. So nobody's many keep those of others waiting, and nobody is passed over for ever.
 */
export async function selectDueInTurns<T extends { id: string; owner: string }>(
  db: Db,
  { table, is, due, fields }: DueRows,
  { at, limit }: { at: number; limit: number },
): Promise<T[]> {
  const oldest = await db<T[]>`
    select ${fields} from ${table} where ${is} and ${due} <= ${at} order by ${due}, id limit ${
    limit + 1
  }`;
  if (oldest.length <= limit) return oldest;
  const lot = db`md5(owner::text)`;
  const turns = await db<T[]>`
    with recursive first as materialized (select md5(random()::text) as lot),
    owners as (
      select lot, false as wrapped, 0 as place from first
      union all
      select step.lot, step.wrapped, o.place + 1 from owners o cross join lateral (
        (select ${lot} as lot, o.wrapped from ${table} where ${is} and ${lot} > o.lot order by 1 limit 1)
        union all
        (select ${lot}, true from ${table} where ${is} and not o.wrapped order by 1 limit 1)
        order by 2, 1 limit 1) step
      where o.place < ${OWNERS_WINDOW} and not (step.wrapped and step.lot > (select lot from first)))
    select ${fields} from owners o cross join lateral (
      select ${fields}, due, row_number() over (order by due, id) as turn from (
        select ${fields}, ${due} as due from ${table}
        where ${is} and ${lot} = o.lot and ${due} <= ${at} order by ${due}, id limit ${OF_OWNER}) d) r
    where o.place > 0 order by turn, due, id limit ${limit}`;
  const half = Math.ceil(limit / 2);
  const mixed = [...turns.slice(0, half), ...oldest.slice(0, half), ...turns.slice(half)];
  return [...new Map(mixed.map((row) => [row.id, row])).values()].slice(0, limit);
}
