/** Statements on payments that were found, and the withdrawals that operators declare paid. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/**
 * Withdrawals that an operator declared paid and whose payment was not found yet, of some ramps that pay: a
 * token of the realm's own leaves from another ramp than its account.
 */
export async function selectPaidUnfound(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<
  {
    id: string;
    order_id: string;
    ramp: string;
    destination: string;
    contract: string | null;
    amount: string;
    decimals: number;
  }[]
> {
  return await db`
    select w.id, w.order_id, o.ramp, w.destination, w.contract, w.amount::text as amount, a.decimals
    from withdrawals w join accounts a on a.id = w.account join chain_orders o on o.id = w.order_id
    where w.chain = ${place.chain} and w.network = ${place.network} and w.status = 'DONE'
      and w.hash is null and w.found_order_id is null
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
    order by w.id`;
}

/** A payment that was found, by its recovered order and its place among that order's. */
export interface FoundPart {
  order: string;
  payment: number;
}

/**
 * States that found payments of an order were those of withdrawals which an operator declared paid. The database
 * refuses a second withdrawal of one payment.
 */
export async function claimFound(
  tx: Tx,
  order: string,
  claims: readonly { withdrawal: string; payment: number }[],
): Promise<void> {
  if (claims.length === 0) return;
  await tx`
    update withdrawals set found_order_id = ${order}, found_payment = q.payment
    from jsonb_to_recordset(${tx.json(claims as never)}) q(withdrawal uuid, payment integer)
    where id = q.withdrawal and ctid = any (array(
      select f.ctid from unnest(${claims.map(({ withdrawal }) => withdrawal)}::uuid[]) u(id),
        lateral (select ctid from withdrawals where id = u.id offset 0) f))`;
}

/**
 * Forgets whose the payments of a recovered order were, because its transaction made none. Gives the
 * withdrawals, oldest first.
 */
export async function releaseFound(tx: Tx, order: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update withdrawals set found_order_id = null, found_payment = null
    where found_order_id = ${order} returning id`;
  return rows.map(({ id }) => id).toSorted();
}

/** Lists the withdrawals that an operator had called paid, and that a recovered order is known to have paid; oldest first. */
export async function selectFoundFor(db: Db, order: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from withdrawals where found_order_id = ${order} order by id`;
  return rows.map(({ id }) => id);
}

/** A found payment of what a withdrawal was to pay that nobody is known to have ordered. */
export interface UnmatchedLike extends FoundPart {
  withdrawal: string;
  hash: string;
  height: number | null;
  /** Whether its order is done. Until then its transaction may lose its block, or fail. */
  final: boolean;
}

/**
 * Lists the withdrawals that an order pays, alone or as a batch, for which there is such a payment; of several
 * a final one. One whose
 * transaction failed or can never be mined paid nobody, and `fees` bears nothing of it.
 */
export async function selectUnmatchedLike(db: Db, order: string): Promise<UnmatchedLike[]> {
  return await db<UnmatchedLike[]>`
    select distinct on (w.id) w.id as withdrawal, f.id as order, n.at::integer - 1 as payment, f.hash,
      f.height::integer as height, f.state = 'done' as final
    from chain_orders o join withdrawals w on w.id = o.reference_id
      join chain_orders f on f.purpose = 'recovered' and f.ramp = o.ramp
        and f.created_at >= o.created_at and f.state not in ('failed', 'dropped', 'canceled')
      cross join lateral jsonb_array_elements(f.request -> 'payments') with ordinality n(p, at)
    where (o.id = ${order} or o.batch_order_id = ${order}) and o.purpose = 'withdrawal'
      and n.p ->> 'order' is null and n.p ->> 'withdrawal' is null
      and n.p ->> 'to' = o.request -> 'payments' -> 0 ->> 'to'
      and coalesce(n.p ->> 'contract', '') = o.contract
      and coalesce(n.p ->> 'whole', n.p ->> 'amount') = o.request -> 'payments' -> 0 ->> 'amount'
      and not exists (select from withdrawals d
        where d.found_order_id = f.id and d.found_payment = n.at - 1)
    order by w.id, f.state <> 'done', f.id, n.at`;
}
