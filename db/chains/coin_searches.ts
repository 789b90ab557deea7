/** Statements on the search for coins that the database does not know. @module */
import { isCoin } from "./coin_places.ts";
import type { NetworkKey } from "./cursors.ts";
import type { Db, Tx } from "../database.ts";

/** Reads the addresses that come next in the search, at most `limit`. */
export async function selectNextAddresses(
  db: Db,
  place: NetworkKey,
  limit: number,
): Promise<{ id: string; address: string }[]> {
  return await db<{ id: string; address: string }[]>`
    select id, address from addresses where chain = ${place.chain} and network = ${place.network}
      and id > coalesce((select s.address from coin_searches s
        where s.chain = ${place.chain} and s.network = ${place.network}),
        '00000000-0000-0000-0000-000000000000')
    order by id limit ${limit}`;
}

/** Result of the previous search. */
export interface LastSearch {
  /** Coins, one of each block that was to be rescanned. */
  asked: string[];
  /** Number of searches in a row whose rescans found less than half of their coins. */
  fruitless: number;
}

/** Reads the result of the previous search; null if there was none. */
export async function selectLastSearch(db: Db, place: NetworkKey): Promise<LastSearch | null> {
  const [row] = await db<LastSearch[]>`
    select asked, fruitless from coin_searches
    where chain = ${place.chain} and network = ${place.network}`;
  return row ?? null;
}

/**
 * Stores the coins that a search asked for, and the last address that it covered; null: the next
 * search begins again.
 */
export async function upsertSearched(
  tx: Tx,
  place: NetworkKey,
  address: string | null,
  { asked, fruitless }: LastSearch,
): Promise<void> {
  await tx`
    insert into coin_searches (chain, network, address, asked, fruitless, searched_at)
    values (${place.chain}, ${place.network}, ${address}, ${asked}::text[], ${fruitless}, now())
    on conflict (chain, network) do update
      set address = excluded.address, asked = excluded.asked, fruitless = excluded.fruitless,
        searched_at = excluded.searched_at`;
}

/** Of some coins (`txid:index`), those that the database does not have in a block. */
export async function selectUnknownCoins(
  db: Db,
  place: NetworkKey,
  inputs: readonly string[],
): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select k as input from unnest(${inputs as string[]}::text[]) k
    where (select c.height from (select chain, network, height from coins
        where ${isCoin(db)} offset 0) c
      where c.chain = ${place.chain} and c.network = ${place.network}) is null`;
  return rows.map(({ input }) => input);
}
