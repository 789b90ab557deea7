/** The means behind a payment, as workers last read them: all that is compared before value may leave. @module */
import type { Db } from "../database.ts";
import type { SenderName } from "./chain_orders.ts";
import { unreservedCoins } from "./utxos.ts";

/** The means of a sender. Amounts in base units. */
export interface MeansRow {
  /** Whether the asset's withdrawals are stopped. */
  stopped: boolean;
  /** When the network was last scanned; null if never. */
  seen_at: number | null;
  /** The sender's balance of the asset, and what open orders take of it. */
  held: string;
  flying: string;
  /** The same of the chain's own coin. */
  gas_held: string;
  gas_flying: string;
  /** Its largest free coins, up to a number, on UTXO chains. */
  coins: string;
  coin_count: number;
}

/** A payment whose means are read. */
export interface MeansOf extends SenderName {
  /** '' is the chain's own coin. */
  contract: string;
  asset: string;
  testnet: boolean;
  coinsMax: number;
}

/** Reads the means behind a payment by one statement. */
export async function selectMeans(db: Db, of: MeansOf): Promise<MeansRow> {
  const held = (contract: string) =>
    db`coalesce((select amount from onchain_balances where chain = ${of.chain}
      and network = ${of.network} and address = ${of.sender} and contract = ${contract}), 0)::text`;
  const flying = (contract: string) =>
    db`(coalesce(sum(amount) filter (where contract = ${contract}), 0)
      + coalesce(sum(fee) filter (where coalesce(fee_contract, '') = ${contract}), 0))::text`;
  const [row] = await db<MeansRow[]>`
    select coalesce((select stopped from solvency
        where asset = ${of.asset} and testnet = ${of.testnet}), false) as stopped,
      (select scanned_at from chain_cursors
        where chain = ${of.chain} and network = ${of.network}) as seen_at,
      ${held(of.contract)} as held, ${held("")} as gas_held, o.flying, o.gas_flying,
      c.coins, c.coin_count
    from (select ${flying(of.contract)} as flying, ${flying("")} as gas_flying from chain_orders
        where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
          and state in ('new', 'planned', 'signed', 'sent')) o,
      (select coalesce(sum(amount), 0)::text as coins, count(*)::integer as coin_count from (
        select amount from coins o
        where chain = ${of.chain} and network = ${of.network} and address = ${of.sender}
          and spent_by is null and ${unreservedCoins(db)}
        order by o.amount desc limit ${of.coinsMax}) largest) c`;
  return row;
}
