/** Statements on the costs of a customer's withdrawals to the house. @module */
import type { Db } from "../database.ts";

/** The house's losses by the customer of an order; base units of the order's asset. */
export interface HolderLossRow {
  /** The order. */
  id: string;
  asset: string;
  decimals: number;
  chain: string;
  network: string;
  contract: string | null;
  charged: string;
  lost: string;
  /** The house's losses by all customers together. */
  all_lost: string;
}

/**
 * Reads the house's losses of so many days by the customers of some withdrawals, with the most that
 * their open withdrawals may still cost it. Users with write permission for the realm are not customers.
 * Users whom a customer made, or whom the same user made, are that customer: the users of one root, whose
 * sum is stored. The open part is selected from all open orders of the realm.
 *
 * @param orders the orders of withdrawals that pay for themselves; they do not count
 */
export async function selectHolderLosses(
  db: Db,
  orders: readonly string[],
  days: number,
): Promise<HolderLossRow[]> {
  const ids = `{${orders.join(",")}}`;
  return await db<HolderLossRow[]>`
    with asked as (
      select o.id, o.chain, o.network, o.charged, w.asset, w.contract, a.holder, a.testnet, a.decimals
      from unnest(${ids}::text::uuid[]) u(id),
        lateral (select * from chain_orders o where o.id = u.id offset 0) o,
        lateral (select * from withdrawals w where w.order_id = o.id offset 0) w,
        lateral (select * from accounts a where a.id = w.account offset 0) a
      where w.gas_asset is null
        and not exists (select from users u where u.identity = a.holder and is_house(u)
          and u.deleted_at is null)
    ), known as (
      select h.holder, h.asset, h.testnet,
        (select coalesce(sum(l.lost), 0) from kin_losses l
          where l.root = any (h.roots) and (l.asset, l.testnet) = (h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as kins,
        -- A holder without users counts alone. Only the house makes users of several roots for one identity: each counts once.
        (select coalesce(sum(l.lost * x.times), 0) from (
            select h.holder, 1 as times where cardinality(h.roots) = 0
            union all
            select u.identity, 1 - count(distinct u.root) from users u
            where cardinality(h.roots) > 1 and u.root = any (h.roots)
            group by u.identity having count(distinct u.root) > 1) x
          join holder_losses l on (l.holder, l.asset, l.testnet) = (x.holder, h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as own,
        (select coalesce(sum(greatest(coalesce(c.fee * o.charged / nullif(c.charged, 0), o.fee)
            - o.charged, 0)), 0)
          from withdrawals w join accounts a on a.id = w.account
            join chain_orders o on o.id = w.order_id left join chain_orders c on c.id = o.batch_order_id
          where w.status = 'PROCESSING' and w.asset = h.asset and a.testnet = h.testnet
            and (a.holder = h.holder or exists (
              select from users u where u.identity = a.holder and u.root = any (h.roots)))
            and w.gas_asset is null and o.id <> all (${ids}::text::uuid[])) as flying
      from (select distinct holder, asset, testnet, decimals,
          array(select roots_of(holder)) as roots from asked) h
    ), whole as (
      select h.asset, h.testnet,
        (select coalesce(sum(l.lost), 0) from holder_losses l
          where (l.holder, l.asset, l.testnet)
              = ('00000000-0000-0000-0000-000000000000', h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as settled,
        (select coalesce(sum(greatest(o.fee - o.charged, 0)), 0) from chain_orders o
          where (o.chain, o.network) = (h.chain, h.network)
            and o.state in ('new', 'planned', 'signed', 'sent', 'mined')
            and o.purpose in ('withdrawal', 'batch') and o.gas_block is null
            and coalesce(o.budget_contract, '') = coalesce(h.contract, '')
            and o.id <> all (${ids}::text::uuid[])) as flying
      from (select distinct asset, testnet, decimals, chain, network, contract from asked) h)
    select s.id, s.asset, s.decimals, s.chain, s.network, s.contract, s.charged::text as charged,
      trunc(k.kins + k.own + k.flying)::text as lost, trunc(e.settled + e.flying)::text as all_lost
    from asked s join known k using (holder, asset, testnet) join whole e using (asset, testnet)
    order by s.id`;
}
