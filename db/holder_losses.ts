/** Statements on what withdrawals of a customer have cost the house. @module */
import type { Db } from "./database.ts";

/** What the house has lost by the customer of an order; base units of the order's asset. */
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
}

/**
 * Reads what the house has lost in so many days by those whom some withdrawals are for, with what
 * others of theirs may cost it at most that are on their way. Customers alone: not who writes the realm.
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
      from orders o join withdrawals w on w.order_id = o.id join accounts a on a.id = w.account
      where o.id = any (${ids}::text::uuid[]) and w.gas_asset is null
        and not exists (select from users u where u.identity = a.holder and 'realm' = any (u.scopes)
          and u.roles && array['manage', 'admin'] and u.deleted_at is null)
    ), known as (
      select h.holder, h.asset, h.testnet,
        (select coalesce(sum(l.lost), 0) from holder_losses l
          where (l.holder, l.asset, l.testnet) = (h.holder, h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as settled,
        (select coalesce(sum(greatest(coalesce(c.fee * o.charged / nullif(c.charged, 0), o.fee)
            - o.charged, 0)), 0)
          from accounts a join withdrawals w on w.account = a.id and w.status = 'PROCESSING'
            join orders o on o.id = w.order_id left join orders c on c.id = o.carrier
          where (a.holder, a.asset, a.testnet) = (h.holder, h.asset, h.testnet)
            and w.gas_asset is null and o.id <> all (${ids}::text::uuid[])) as flying
      from (select distinct holder, asset, testnet, decimals from asked) h)
    select s.id, s.asset, s.decimals, s.chain, s.network, s.contract, s.charged::text as charged,
      trunc(k.settled + k.flying)::text as lost
    from asked s join known k using (holder, asset, testnet) order by s.id`;
}
