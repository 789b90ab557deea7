/** Statements on spends of own coins and reserved inputs that blocks showed. @module */
import { placesOfCoins } from "./coin_places.ts";
import type { NetworkKey } from "./cursors.ts";
import type { Tx } from "../database.ts";

/** A coin that a block made; amount in base units. */
export interface SeenCoin {
  hash: string;
  index: number;
  address: string;
  amount: string;
  height: number;
  matures_at: number | null;
}

/** Adds coins at addresses of ours, or gives known ones the block they were seen in. */
export async function upsertCoins(
  tx: Tx,
  place: NetworkKey,
  coins: readonly SeenCoin[],
  at: number,
): Promise<void> {
  await tx`
    insert into coins (chain, network, hash, index, address, ramp, amount, height, matures_at,
      created_at)
    select ${place.chain}, ${place.network}, c.hash, c.index, c.address, a.ramp, c.amount, c.height,
      c.matures_at, ${at}
    from jsonb_to_recordset(${tx.json(coins as never)}) c(hash text, index integer, address text,
      amount numeric, height bigint, matures_at bigint)
    cross join lateral (select o.chain, o.network, o.ramp from addresses o
      where o.address = c.address offset 0) a
    where a.chain = ${place.chain} and a.network = ${place.network}
    on conflict (chain, network, hash, index) do update
      set height = excluded.height, matures_at = excluded.matures_at`;
}

/**
 * Records which inputs and coins a block showed as used up, and the transaction that used them. That a reserved input is
 * counts by the word of as many nodes as the quorum: one node alone may show bytes of ours in a block, and an order of
 * which another has used the nonce would wait for them for ever.
 */
export async function markConsumed(
  tx: Tx,
  place: NetworkKey,
  consumed: readonly { input: string; hash: string; height: number; few?: boolean }[],
): Promise<void> {
  const inputs = consumed.map(({ input }) => input);
  await tx`
    update reserved_inputs c set consumed_by = g.hash, consumed_height = g.height
    from jsonb_to_recordset(${tx.json(consumed as never)})
      g(input text, hash text, height bigint, few boolean)
    where c.input = g.input and g.few is not true and c.ctid = any (array(
      select f.ctid from unnest(${inputs}::text[]) k,
        lateral (select ctid from reserved_inputs where chain = ${place.chain}
          and network = ${place.network} and input = k offset 0) f))`;
  await tx`
    update coins c set spent_by = g.hash, spent_height = g.height
    from jsonb_to_recordset(${tx.json(consumed as never)}) g(input text, hash text, height bigint)
    where c.hash || ':' || c.index = g.input
      and c.ctid = any (array(${placesOfCoins(tx, place, inputs)}))`;
}

/**
 * Reverts the records of blocks above a height. Coins that others paid are deleted; our own change,
 * and coins that a finished payment spent, stay.
 */
export async function forgetAbove(tx: Tx, place: NetworkKey, height: number): Promise<void> {
  await tx`
    update reserved_inputs set consumed_by = null, consumed_height = null
    where chain = ${place.chain} and network = ${place.network} and consumed_height > ${height}`;
  await tx`
    update coins set spent_by = null, spent_height = null
    where chain = ${place.chain} and network = ${place.network} and spent_height > ${height}`;
  await tx`
    delete from coins where chain = ${place.chain} and network = ${place.network}
      and height > ${height} and parent_fee is null and kept is null`;
  await tx`
    update coins set height = null
    where chain = ${place.chain} and network = ${place.network} and height > ${height}`;
}
