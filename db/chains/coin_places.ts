/** Where the rows of coins are that a statement is given as a list. @module */
import type postgres from "postgres";
import type { Db } from "../database.ts";
import type { NetworkKey } from "./cursors.ts";

/**
 * Gives the places (`ctid`) of some coins, `txid:index`, for an array: each is looked up by its key. A join is planned
 * while there are few coins, and then reads all of the network's for each statement.
 */
export function placesOfCoins(
  db: Db,
  of: NetworkKey,
  inputs: readonly string[],
): postgres.PendingQuery<postgres.Row[]> {
  return db`select f.ctid from unnest(${inputs as string[]}::text[]) k,
    lateral (select ctid, chain, network from coins where ${isCoin(db)} offset 0) f
    where f.chain = ${of.chain} and f.network = ${of.network}`;
}

/**
 * Selects the coin that an input `k` names. None, where it is the nonce or the transaction of an account chain. Chain
 * and network are compared behind the lookup: an index that begins with them costs as little while there are no coins.
 */
export function isCoin(db: Db): postgres.PendingQuery<postgres.Row[]> {
  return db`hash = split_part(k, ':', 1)
    and index = case when k ~ ':[0-9]{1,9}$' then split_part(k, ':', 2)::integer end`;
}
