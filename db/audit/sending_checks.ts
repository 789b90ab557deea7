/** Checks of withdrawals, of the orders that send value to chains, and of the coins that these spend. @module */
import { isThere } from "./archive_checks.ts";

/** The checks by name, each with the statement that finds its mismatches. */
export const SENDING_CHECKS = {
  /** A withdrawal out of a virtual account names the transaction that brought it to the ramp. */
  "withdrawal.transaction": `
    select w.id as subject, concat_ws(' ', w.account, w.ramp, w.charged - w.surcharge) as expected,
      concat_ws(' ', t.source, t.destination, t.amount) as found
    from withdrawals w left join transactions t on t.id = w.transaction and t.type = 'withdrawal'
    where ((t.id is null) <> (w.account = w.ramp) and (w.account = w.ramp or ${
    isThere("w.transaction")
  })) or (t.id is not null and
      (t.source, t.destination, t.amount) <> (w.account, w.ramp, w.charged - w.surcharge))
    union all select t.id, 'one withdrawal', count(w.id)::text
      from transactions t join accounts a on a.id = t.destination and a.type <> 'system'
      left join withdrawals w on w.transaction = t.id
      where t.type = 'withdrawal' group by t.id having count(w.id) <> 1`,
  /**
   * The amount of a withdrawal is blocked in its ramp until the withdrawal has ended, and no other
   * withdrawal block exists.
   */
  "withdrawal.block": `
    select coalesce(w.id, b.reference_id) as subject,
      concat_ws(' ', w.ramp, w.charged, w.status = 'PROCESSING') as expected,
      concat_ws(' ', b.account, b.amount, b.status = 'OPEN') as found
    from withdrawals w full join (select id, account, amount, status, reference_id from blocks
      where reference_id is not null and (status <> 'RELEASED' or exists
        (select 1 from withdrawals x where x.block = blocks.id))
        and not exists (select 1 from chain_orders g where g.gas_block = blocks.id)
        and not exists (select 1 from ramp_transfers e where e.block = blocks.id)) b on b.id = w.block
    where (w.id, w.ramp, w.charged, w.status = 'PROCESSING')
      is distinct from (b.reference_id, b.account, b.amount, b.status = 'OPEN')`,
  /** The value of a withdraw to an exchange is blocked in its account until its withdrawal exists. */
  "ramp_transfer.block": `
    select e.id as subject, concat_ws(' ', e.account, e.value, e.state = 'new') as expected,
      concat_ws(' ', b.account, b.amount, b.status = 'OPEN') as found
    from ramp_transfers e left join blocks b on b.id = e.block
    where e.kind = 'withdraw' and (e.id, e.account, e.value, e.state = 'new')
      is distinct from (b.reference_id, b.account, b.amount, b.status = 'OPEN')`,
  /**
   * The budget of an order is blocked on its ramp's account until the order has ended, if that
   * account pays.
   */
  "order.gas": `
    select o.id as subject, concat_ws(' ', o.ramp, o.id, o.state not in
        ('done', 'failed', 'dropped', 'canceled')) as expected,
      concat_ws(' ', b.account, b.reference_id, b.status = 'OPEN') as found
    from chain_orders o left join blocks b on b.id = o.gas_block
    where o.gas_block is not null and (o.ramp, o.id, o.state not in
        ('done', 'failed', 'dropped', 'canceled'))
      is distinct from (b.account, b.reference_id, b.status = 'OPEN')`,
  /** A withdrawal and the order that sends it name each other, ask for the same payment, and ended the same way. */
  "withdrawal.order": `
    select w.id as subject, concat_ws(' ', 'withdrawal', w.id, w.status, w.destination, w.amount) as expected,
      concat_ws(' ', o.purpose, o.reference_id, o.state, o.request -> 'payments') as found
    from withdrawals w left join chain_orders o on o.id = w.order_id left join accounts k on k.id = w.ramp
    where (o.purpose, o.reference_id) is distinct from ('withdrawal', w.id)
      or (o.chain, o.network, o.sender, o.contract) is distinct from (w.chain, w.network, w.sender, coalesce(w.contract, ''))
      or o.request is distinct from jsonb_build_object('kind', 'pay', 'from', w.sender, 'contract', w.contract,
        'payments', jsonb_build_array(jsonb_build_object('to', w.destination,
          'amount', trim_scale(w.amount * ('1e' || k.decimals)::numeric)::text)))
      or not case w.status when 'DONE' then (o.state = 'done' and o.hash = w.hash)
        or (o.state = 'canceled' and w.history @> '[{"by": "operator"}]' and (w.hash is null
          or exists (select from chain_orders r where r.purpose = 'recovered' and r.hash = w.hash)))
        when 'CANCELED' then o.state = 'canceled'
        when 'FAILED' then o.state in ('failed', 'dropped', 'canceled') else true end
    union all select o.id, 'a withdrawal', null from chain_orders o where o.purpose = 'withdrawal'
      and not exists (select 1 from withdrawals w where w.order_id = o.id)`,
  /**
   * A withdrawal batch pays its withdrawals, each what it asks for; they end as it does and bear its fee. What the house
   * moves comes to an address of the same ramp.
   */
  "order.payout": `
    select p.id as subject, concat_ws(' ', p.state, p.amount, p.fee, p.request -> 'payments') as expected,
      concat_ws(' ', m.count, m.states, m.amount, m.fee, m.payments) as found
    from chain_orders p left join (select batch_order_id, count(*), sum(amount) as amount, sum(fee) as fee,
        array_agg(distinct state) as states, jsonb_agg(request -> 'payments' -> 0 order by (request -> 'payments' -> 0)::text) as payments
      from chain_orders where batch_order_id is not null group by batch_order_id) m on m.batch_order_id = p.id
    where p.purpose = 'batch' and not case
      when p.state = 'canceled' then m.count is null
      when m.payments is distinct from (select jsonb_agg(y order by y::text) from jsonb_array_elements(p.request -> 'payments') y)
        then false
      when p.state in ('done', 'failed', 'dropped') then m.count > 0 and m.amount = p.amount
        and m.fee is not distinct from p.fee and m.states = array[p.state]
      else m.count > 0 and m.amount = p.amount and m.states = '{batched}' end
    union all select m.id, 'a batch', p.purpose from chain_orders m join chain_orders p on p.id = m.batch_order_id
      where p.purpose not in ('batch', 'recovered')
    union all select o.id, 'an address of ours', y ->> 'to'
      from chain_orders o cross join jsonb_array_elements(coalesce(o.request -> 'payments', '[]')) y
      where o.purpose not in ('withdrawal', 'batch', 'recovered') and not exists (select from addresses a
        where (a.ramp, a.chain, a.network, a.address) = (o.ramp, o.chain, o.network, y ->> 'to'))`,
  /** A coin reserved by an order is ours, unspent or spent by the order itself; or a stranger's beside ours. */
  "coin.input": `
    select k.input as subject, 'a coin' as expected, c.spent_by as found
    from reserved_inputs k left join coins c on c.chain = k.chain and c.network = k.network
      and c.hash = split_part(k.input, ':', 1) and c.index::text = split_part(k.input, ':', 2)
    where k.input ~ '^[0-9a-f]{64}:[0-9]+$' and ((c.hash is null
        and not exists (select from order_attempts s where s.order_id = k.order_id and s.unreadable
          and k.input = any (s.inputs)))
      or (c.spent_by is not null and not exists (select from order_attempts s where s.order_id = k.order_id
        and s.hash = c.spent_by)))`,
  /** An order that is done has spent the coins that its transaction names, unless it was told that the chain lost it. */
  "coin.order": `
    select k.input as subject, o.hash as expected, c.spent_by as found
    from chain_orders o join order_attempts s on s.order_id = o.id and s.hash = o.hash
    cross join unnest(s.inputs) k(input)
    left join coins c on c.chain = o.chain and c.network = o.network
      and c.hash = split_part(k.input, ':', 1) and c.index::text = split_part(k.input, ':', 2)
    where o.state = 'done' and k.input ~ '^[0-9a-f]{64}:[0-9]+$'
      and c.spent_by is distinct from o.hash and not (s.unreadable and c.hash is null)
      and not exists (select from displaced_orders d where d.hash = o.hash and d.state <> 'lost')`,
  /** The balance of an address on a UTXO chain is the sum of its unspent coins in chain blocks. */
  "coin.holding": `
    select h.address as subject, q.there as expected, h.amount as found
    from onchain_balances h join chain_cursors p on p.chain = h.chain and p.network = h.network
      and p.height = h.height
    cross join lateral (select coalesce(sum(c.amount) filter (where c.height <= h.height
          and (c.spent_height is null or c.spent_height > h.height)), 0) as there,
        coalesce(sum(c.amount) filter (where c.height is not null and c.spent_height is null), 0)
          as free
      from coins c where c.chain = h.chain and c.network = h.network and c.address = h.address) q
    where h.contract = '' and h.amount not in (q.there, q.free)
      and not exists (select from chain_orders o where o.chain = h.chain and o.network = h.network
        and o.sender = h.address and o.updated_at >= h.seen_at)
      and exists (select from coins c where c.chain = h.chain and c.network = h.network)`,
} as const;
