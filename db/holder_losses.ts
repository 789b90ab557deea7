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
  /** What it has lost by all customers together. */
  all_lost: string;
}

/**
 * Reads what the house has lost in so many days by those whom some withdrawals are for, with what
 * others of theirs may cost it at most that are on their way. Customers alone: not who writes the realm.
 * Who was made by a customer, or by the same one, is that customer.
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
    with recursive asked as (
      select o.id, o.chain, o.network, o.charged, w.asset, w.contract, a.holder, a.testnet, a.decimals
      from orders o join withdrawals w on w.order_id = o.id join accounts a on a.id = w.account
      where o.id = any (${ids}::text::uuid[]) and w.gas_asset is null
        and not exists (select from users u where u.identity = a.holder and is_house(u)
          and u.deleted_at is null)
    ), makers as (
      select h.holder, u.id, u.owner from (select distinct holder from asked) h
        join users u on u.identity = h.holder and not is_house(u)
      union
      select m.holder, u.id, u.owner from makers m join users u on u.id = m.owner and not is_house(u)
    ), made as (
      select holder, id from makers
      union
      select m.holder, u.id from made m join users u on u.owner = m.id and not is_house(u)
    ), kin as (
      select holder, holder as one from asked
      union
      select m.holder, u.identity from made m join users u on u.id = m.id
    ), known as (
      select h.holder, h.asset, h.testnet,
        (select coalesce(sum(l.lost), 0) from kin k join holder_losses l on l.holder = k.one
          where k.holder = h.holder and (l.asset, l.testnet) = (h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as settled,
        (select coalesce(sum(greatest(coalesce(c.fee * o.charged / nullif(c.charged, 0), o.fee)
            - o.charged, 0)), 0)
          from kin k join accounts a on a.holder = k.one
            join withdrawals w on w.account = a.id and w.status = 'PROCESSING'
            join orders o on o.id = w.order_id left join orders c on c.id = o.carrier
          where k.holder = h.holder and (a.asset, a.testnet) = (h.asset, h.testnet)
            and w.gas_asset is null and o.id <> all (${ids}::text::uuid[])) as flying
      from (select distinct holder, asset, testnet, decimals from asked) h
    ), whole as (
      select h.asset, h.testnet,
        (select coalesce(sum(l.lost), 0) from holder_losses l
          where (l.holder, l.asset, l.testnet)
              = ('00000000-0000-0000-0000-000000000000', h.asset, h.testnet)
            and l.day > (now() at time zone 'utc')::date - ${days}::integer)
          * ('1e' || h.decimals)::numeric as settled,
        (select coalesce(sum(greatest(o.fee - o.charged, 0)), 0) from orders o
          where (o.chain, o.network) = (h.chain, h.network)
            and o.state in ('new', 'planned', 'signed', 'sent', 'mined')
            and o.purpose in ('withdrawal', 'payout') and o.gas_block is null
            and coalesce(o.budget_contract, '') = coalesce(h.contract, '')
            and o.id <> all (${ids}::text::uuid[])) as flying
      from (select distinct asset, testnet, decimals, chain, network, contract from asked) h)
    select s.id, s.asset, s.decimals, s.chain, s.network, s.contract, s.charged::text as charged,
      trunc(k.settled + k.flying)::text as lost, trunc(e.settled + e.flying)::text as all_lost
    from asked s join known k using (holder, asset, testnet) join whole e using (asset, testnet)
    order by s.id`;
}
