/** Statements on pending deposits that are given as a list. @module */
import type postgres from "postgres";
import type { Db, Tx } from "../database.ts";
import { columnsOf, type DepositRow } from "./deposits.ts";

/**
 * Gives the places (`ctid`) of those of some deposits that are pending, for an array: each is looked up by its id. A
 * join is planned while few are pending, and then reads all that are.
 */
export function placesOfPending(
  db: Db,
  ids: readonly string[],
): postgres.PendingQuery<postgres.Row[]> {
  return db`select f.ctid from unnest(${ids as string[]}::uuid[]) u(id),
    lateral (select ctid, status from deposits where id = u.id offset 0) f
    where f.status = 'PENDING'`;
}

/** Locks pending deposits that are still in the given blocks, and that nothing holds. */
export async function lockAllPending(
  tx: Tx,
  wanted: readonly { id: string; block_hash: string | null }[],
): Promise<DepositRow[]> {
  return await tx<DepositRow[]>`
    select ${columnsOf(tx)} from deposits
    where ctid = any (array(${placesOfPending(tx, wanted.map(({ id }) => id))}))
      and held is null and (id, block_hash) in (select w.id, w.block_hash
        from jsonb_to_recordset(${tx.json(wanted as never)}) w(id uuid, block_hash text))
    order by id for update`;
}

/** Marks deposits CONFIRMED, and gives them. */
export async function markConfirmed(
  tx: Tx,
  credited: readonly { id: string; credited: string; transaction: string; app: string | null }[],
  at: number,
): Promise<DepositRow[]> {
  return await tx<DepositRow[]>`
    with given as (
      select g.id as given_id, g.credited as sum, g.transaction as move, g.app as application
      from jsonb_to_recordset(${tx.json(credited as never)})
        g(id uuid, credited numeric, transaction uuid, app uuid)
    )
    update deposits set status = 'CONFIRMED', credited = given.sum, transaction = given.move,
      app = given.application, error = null, retry_at = null, updated_at = ${at}
    from given where id = given.given_id
      and ctid = any (array(${placesOfPending(tx, credited.map(({ id }) => id))}))
    returning ${columnsOf(tx)}`;
}
