-- What:     seen_height of attempts, the block in which a scan saw one that expires; late_order_id, the order that books
--           one which was mined although it was given up as expired.
-- Why:      what a block has shown is not given up on the word of nodes, and what was mined late is booked like any other
--           payment that was found (docs/operations/restore.md). An order that would be dropped beside its own transaction in
--           a block waits.
-- Locks:    access exclusive on order_attempts and on chain_orders, for columns without a default, and for constraints that
--           are not validated: no row is read.
-- Backfill: none: what was mined before is found by the blocks that a reconciliation reads.
-- Undo:     forward only.

alter table order_attempts
  add seen_height integer,
  add late_order_id uuid,
  add constraint order_attempts_seen check (seen_height >= 0) not valid,
  add constraint order_attempts_late_order_id_fkey foreign key (late_order_id) references chain_orders (id) not valid,
  add constraint order_attempts_late check
    (late_order_id is null or (proof is not distinct from 'expired' and seen_height is not null and late_order_id <> order_id)) not valid;
comment on column order_attempts.seen_height is
  'The block in which a scan saw it, on chains where transactions expire; null while no scanned block has it.';
comment on column order_attempts.late_order_id is
  'The order that books it, because it was mined after it was given up as expired.';

-- What a sweep gave back is booked also where its transaction was found.
alter table chain_orders drop constraint chain_orders_refund, add constraint chain_orders_refund check
  (refund = 0 or (height is not null and succeeded and (purpose = 'recovered' or (purpose = 'sweep' and contract <> '')))) not valid;

-- As before, and for an order that books a late attempt that one is its own.
create or replace function shows_demand(o chain_orders, p_demand text, p_batch uuid) returns boolean
  language sql stable as $$
  select case p_demand
    when 'batch' then exists (select 1 from chain_orders p where p.id = p_batch
      and p.purpose in ('batch', 'recovered') and p.state = case when o.state = 'new' then 'canceled'
        when o.state <> 'batched' then o.state when p.purpose = 'batch' then 'planned' else 'mined' end)
    when 'found' then c.living = 0 and exists (select 1 from chain_orders p
      where p.id = p_batch and p.purpose = 'recovered' and p.state = 'mined')
    when 'plan' then c.living > 0
    when 'unsigned' then c.signed = 0
    when 'unsent' then c.sent = 0
    when 'bytes' then c.named > 0
    when 'leaving' then c.leaving > 0
    when 'block' then c.named > 0 and o.height is not null and o.confirmations > 0
    when 'paid' then c.paying > 0 and o.succeeded and o.height is not null and o.confirmations > 0
    when 'in vain' then c.named > 0 and (c.paying = 0 or not o.succeeded) and o.height is not null
      and o.confirmations > 0
    when 'no block' then o.height is null
    when 'dropped' then c.made > 0 and c.living = 0
  end
  from (select count(*) as made, count(*) filter (where not dropped) as living,
      count(*) filter (where not dropped and hash is not null) as signed,
      count(*) filter (where not dropped and sent_at is not null) as sent,
      count(*) filter (where not dropped and hash = o.hash) as named,
      count(*) filter (where not dropped and hash = o.hash and not cancels) as paying,
      count(*) filter (where not dropped and hash = o.hash and sent_at is not null) as leaving
    from (select dropped, hash, sent_at, cancels from order_attempts where order_id = o.id
      union all select false, hash, sent_at, cancels from order_attempts
      where late_order_id = o.id and o.purpose = 'recovered') k) c
$$;

-- As before, but what a scanned block shows is not dropped, and a late attempt is booked once, in quarantine.
create or replace function check_attempt() returns trigger language plpgsql as $$
declare
  o chain_orders;
  fault text;
begin
  select * into o from chain_orders where id = new.order_id for update;
  if tg_op = 'INSERT' then
    fault := case
      when o.state = 'mined' and new.hash = o.hash and not new.dropped and in_quarantine(o.ramp)
          and not exists (select 1 from order_attempts c where c.order_id = o.id)
        then null
      when o.state not in ('new', 'sent') then 'comes too late'
      when new.raw is not null or new.sent_at is not null or new.dropped then 'begins as a plan'
      when exists (select 1 from order_attempts c where c.order_id = o.id and not c.dropped
          and (o.state = 'new' or not c.inputs && new.inputs))
        then 'could be mined beside another'
    end;
  else
    fault := case
      when (new.order_id, new.attempt, new.plan, new.inputs, new.cancels, new.borne_by)
          is distinct from (old.order_id, old.attempt, old.plan, old.inputs, old.cancels, old.borne_by)
        then 'cannot be another plan'
      when old.unreadable and not new.unreadable
        then 'stays unreadable'
      when old.raw is not null and (new.raw, new.hash, new.fee, new.expires)
          is distinct from (old.raw, old.hash, old.fee, old.expires)
        then 'keeps the bytes that were stored first'
      when old.raw is null and new.raw is not null and (new.dropped or o.state not in ('planned', 'sent'))
        then 'is signed too late'
      when old.sent_at is not null and new.sent_at is distinct from old.sent_at
        then 'has left'
      when old.sent_at is null and new.sent_at is not null
          and (new.dropped or o.state not in ('signed', 'sent'))
        then 'leaves too late'
      when old.late_order_id is not null and new.late_order_id is distinct from old.late_order_id
        then 'is booked'
      when old.late_order_id is null and new.late_order_id is not null
          and not (coalesce(new.proof = 'expired' and new.seen_height is not null, false) and in_quarantine(o.ramp)
            and exists (select from chain_orders r where r.id = new.late_order_id and r.purpose = 'recovered'
              and r.state = 'mined' and r.hash = new.hash
              and (r.chain, r.network, r.ramp) = (o.chain, o.network, o.ramp)))
        then 'was not mined late'
      when old.dropped and (new.dropped, new.proof, new.proof_by, new.proof_height, new.proof_reached)
          is distinct from (old.dropped, old.proof, old.proof_by, old.proof_height, old.proof_reached)
        then 'stays dropped'
      when new.dropped and not old.dropped
          and o.state not in ('sent', 'mined')
          and not (o.state = 'planned' and new.raw is null)
          and not (o.state in ('planned', 'signed') and in_quarantine(o.ramp))
        then 'never left'
      when new.dropped and not old.dropped and (new.seen_height is not null or exists (
          select from reserved_inputs c where c.order_id = o.id and c.consumed_by = new.hash))
        then 'was seen in a block'
      when new.dropped and not old.dropped and not coalesce(case new.proof
          when 'consumed' then cardinality(new.inputs) > 0 and not exists (
            select 1 from order_attempts c where c.order_id = o.id and c.hash = new.proof_by)
          when 'unsigned' then new.raw is null and o.state = 'planned'
          when 'expired' then new.raw is null or new.proof_height is not null and new.proof_reached
            > coalesce((new.expires->>'height')::bigint, (new.expires->>'time')::bigint)
          when 'orphaned' then exists (
            select 1 from unnest(new.inputs) k
              join order_attempts p on p.hash = split_part(k, ':', 1)
              join chain_orders q on q.id = p.order_id
            where p.dropped or q.state in ('dropped', 'canceled')
              or (q.state in ('done', 'failed') and q.hash is distinct from p.hash))
        end, false)
        then 'is not proven dropped'
    end;
  end if;
  if fault is not null then
    raise exception 'transaction % of order % %', new.attempt, new.order_id, fault
      using errcode = 'check_violation', constraint = 'order_attempts_change';
  end if;
  return new;
end $$;
-- A scan that notes a block locks no order.
drop trigger order_attempts_change on order_attempts;
create trigger order_attempts_change before insert or update of order_id, attempt, plan, inputs, hash, raw, expires, fee, sent_at,
    outcome, cancels, borne_by, unreadable, dropped, proof, proof_by, proof_height, proof_reached, late_order_id, created_at
  on order_attempts for each row execute function check_attempt();
