/** Statements on balances as last seen on the chains, in base units. @module */
import type { PlaceKey } from "./chains.ts";
import type { Db, Tx } from "./database.ts";

/** An address, ours or watched, whose balances are to be read, with its coin balance before. */
export interface HoldingTarget {
  address: string;
  asset: string;
  /** Coin balance as last seen; null if never. */
  amount: string | null;
  /** Height of that sight. */
  height: number | null;
}

/**
 * Lists addresses to look at: ramps' own, those where something moved since a height, and of the
 * rest the ones that were not looked at for longest. Addresses that are watched for others are
 * among them where they are watched for the chain's own coin.
 */
export async function selectHoldingTargets(
  db: Db,
  place: PlaceKey,
  of: { since: number; stale: number; native: string },
): Promise<HoldingTarget[]> {
  return await db<HoldingTarget[]>`
    with named as (
      select account, address, asset, derivation_key from addresses
      where chain = ${place.chain} and network = ${place.network}
      union all
      select e.account, e.address, e.currency, null from external_addresses e
      where e.chain = ${place.chain} and e.network = ${place.network} and e.deleted_at is null
        and e.currency = ${of.native} and not exists (select 1 from addresses o
          where o.chain = e.chain and o.network = e.network and o.address = e.address)
    ), mine as (
      select n.account, n.address, n.asset, n.derivation_key, h.amount::text as amount,
        h.height::float8 as height
      from named n left join holdings h on h.chain = ${place.chain}
        and h.network = ${place.network} and h.address = n.address and h.contract = ''
    ), hot as (
      select address from mine where derivation_key = 0
      union select d.address from deposits d where d.chain = ${place.chain}
        and d.network = ${place.network} and d.block > ${of.since}
      union select m.address from mine m join sweeps s on s.account = m.account
        where s.state not in ('done', 'failed')
          or s.updated_at > now() - interval '10 minutes'
    ), stale as (
      select address from mine order by height nulls first, address limit ${of.stale}
    )
    select address, asset, amount, height from mine
    where address in (select address from hot union select address from stale) order by address`;
}

/** Begins the coin balance of a new address with nothing, at the height scanned so far. */
export async function insertEmptyHolding(
  tx: Tx,
  place: PlaceKey,
  address: string,
  at: number,
): Promise<void> {
  await tx`
    insert into holdings (chain, network, address, contract, amount, height, seen_at)
    select chain, network, ${address}, '', 0, height, ${at} from chain_cursors
    where chain = ${place.chain} and network = ${place.network}
    on conflict do nothing`;
}

/** Keeps balances as seen; an older sight never replaces a newer one. */
export async function upsertHoldings(
  tx: Tx,
  place: PlaceKey,
  seen: { height: number; at: number },
  holdings: readonly { address: string; contract: string; amount: string }[],
): Promise<void> {
  await tx`
    insert into holdings (chain, network, address, contract, amount, height, seen_at)
    select ${place.chain}, ${place.network}, h.address, h.contract, h.amount, ${seen.height},
      ${seen.at}
    from jsonb_to_recordset(${tx.json(holdings as never)})
      h(address text, contract text, amount numeric)
    on conflict (chain, network, address, contract) do update
      set amount = excluded.amount, height = excluded.height, seen_at = excluded.seen_at
      where holdings.height <= excluded.height`;
}
