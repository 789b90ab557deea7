/** Sums of coins (unspent outputs). @module */
import type { NetworkKey } from "./cursors.ts";
import type { Db } from "../database.ts";

/** Adds up the mined coins of each address, in base units. */
export async function sumMinedCoins(
  db: Db,
  place: NetworkKey,
): Promise<{ address: string; amount: string }[]> {
  return await db<{ address: string; amount: string }[]>`
    select a.address, coalesce(sum(c.amount), 0) as amount
    from addresses a left join coins c on c.chain = a.chain and c.network = a.network
      and c.address = a.address and c.height is not null and c.spent_height is null
    where a.chain = ${place.chain} and a.network = ${place.network} group by a.address`;
}

/** Adds up the coins of each ramp that were there at a height, in base units. */
export async function sumCoinsOfRamps(
  db: Db,
  of: NetworkKey & { asset: string; testnet: boolean; height: number },
): Promise<{ ramp: string; units: string }[]> {
  return await db<{ ramp: string; units: string }[]>`
    select c.ramp, sum(c.amount)::text as units from (
      select ramp, amount from coins where chain = ${of.chain} and network = ${of.network}
        and spent_by is null and height <= ${of.height}
      union all
      select ramp, amount from coins where chain = ${of.chain} and network = ${of.network}
        and spent_height > ${of.height} and height <= ${of.height}) c
    join accounts a on a.id = c.ramp
    where a.asset = ${of.asset} and a.testnet = ${of.testnet} group by c.ramp`;
}
