/** The rows of addresses that a statement is given as a list. @module */
import type postgres from "postgres";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db } from "../database.ts";

/**
 * Selects the rows of own addresses among some addresses of a network: each is looked up by its text. Chain and network
 * are compared behind the lookup, because a plan that is made while there are few addresses may read all of a network's.
 */
export function rowsOfAddresses(
  db: Db,
  place: NetworkKey,
  addresses: readonly string[],
): postgres.PendingQuery<postgres.Row[]> {
  return db`select o.* from (select distinct unnest(${addresses as string[]}::text[]) as text) g,
    lateral (select * from addresses where address = g.text offset 0) o
    where o.chain = ${place.chain} and o.network = ${place.network}`;
}
