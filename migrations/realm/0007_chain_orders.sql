-- What:     chain orders, every transaction ever signed for them, next nonces; the transitions between states
--           of an order, and triggers that refuse all others.
-- Why:      contract, section 11.4: bytes are stored before they are broadcast; design, section 5.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table chain_orders (
  id uuid primary key,
  chain text not null,
  network text not null,
  ramp uuid not null,
  purpose text not null check (purpose in
    ('withdrawal', 'batch', 'sweep', 'cpfp', 'gas', 'deploy', 'fill', 'consolidation', 'recovered')),
  reference_id uuid,
  sender text not null,
  request jsonb not null,
  contract text not null default '',
  amount numeric(78, 0) check (amount >= 0),
  speed text not null default 'medium' check (speed in ('slow', 'medium', 'fast')),
  state text not null default 'new'
    check (state in ('new', 'batched', 'planned', 'signed', 'sent', 'mined', 'done', 'failed', 'dropped', 'canceled')),
  batch_order_id uuid references chain_orders (id),
  schedule_version integer not null default 0,
  replace boolean not null default false,
  nonce integer check (nonce >= 0),
  since integer,
  hash text,
  height integer,
  block_hash text,
  confirmations integer not null default 0,
  succeeded boolean,
  fee numeric(78, 0) check (fee >= 0),
  fee_contract text,
  refund numeric(78, 0) not null default 0 check (refund >= 0),
  refund_transaction uuid,
  charged numeric(78, 0) not null default 0 check (charged >= 0),
  budget numeric(78, 0) check (budget > 0),
  budget_contract text,
  gas_block uuid references blocks (id),
  sped_up_at integer,
  fault text check (fault in ('fee_exceeded')),
  creates text,
  error text,
  last_attempt_at timestamptz,
  state_at timestamptz not null default now(),
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint chain_orders_mined check (state not in ('mined', 'done') or (hash is not null and height is not null)),
  constraint chain_orders_budget check
    (budget is null or fee is null or height is not null or batch_order_id is not null or fee <= budget),
  constraint chain_orders_charged check (budget is null or charged <= budget),
  constraint chain_orders_budgeted check (budget is not null or purpose not in ('withdrawal', 'batch')),
  constraint chain_orders_gas check (gas_block is null or purpose in ('withdrawal', 'sweep', 'gas', 'fill')),
  constraint chain_orders_refund check
    (refund = 0 or (height is not null and succeeded is true and (purpose = 'recovered' or (purpose = 'sweep' and contract <> '')))),
  constraint chain_orders_finite check (greatest(amount, fee, refund, charged, budget) < 'infinity'),
  constraint chain_orders_nonce check (purpose <> 'fill' or nonce is not null),
  constraint chain_orders_batched check (state <> 'batched' or batch_order_id is not null),
  constraint chain_orders_batch_order check
    (batch_order_id is null or (purpose = 'withdrawal' and state in ('batched', 'done', 'failed', 'dropped')))
);
create index chain_orders_open on chain_orders (chain, network, sender, id)
  where state in ('new', 'planned', 'signed', 'sent', 'mined');
create index chain_orders_ramp on chain_orders (ramp, id)
  where state in ('new', 'planned', 'signed', 'sent', 'mined');
create index chain_orders_height on chain_orders (chain, network, height) where height is not null;
create index chain_orders_nonce on chain_orders (chain, network, sender, nonce) where nonce is not null;
create index chain_orders_reference on chain_orders (reference_id, id) where reference_id is not null;
create unique index chain_orders_refund_transaction on chain_orders (refund_transaction) where refund_transaction is not null;
create index chain_orders_hash on chain_orders (hash) where hash is not null;
create index chain_orders_discarded on chain_orders (ramp, updated_at)
  where state = 'canceled' and purpose = 'withdrawal' and nonce is not null and hash is not null;
create index chain_orders_given_up on chain_orders (chain, network, state_at)
  where state in ('canceled', 'failed') and nonce is not null and hash is not null;
create index chain_orders_recovered on chain_orders (ramp) where purpose = 'recovered';
create index chain_orders_batch_order on chain_orders (batch_order_id) where batch_order_id is not null;
create unique index chain_orders_cpfp on chain_orders (reference_id) where purpose = 'cpfp' and state <> 'canceled';
comment on column chain_orders.reference_id is 'The withdrawal, sweep or token that it is for; of CPFP, the order whose transaction it pays for.';
comment on column chain_orders.request is 'The requested transaction; amounts in base units as text.';
comment on column chain_orders.contract is 'The asset that is moved: '''' is the chain''s own coin.';
comment on column chain_orders.amount is 'Base units that leave; null until planned where everything is to leave.';
comment on column chain_orders.batch_order_id is 'The batch whose transaction pays it, together with others.';
comment on column chain_orders.schedule_version is 'Raised by each schedule; a run with an older version does nothing.';
comment on column chain_orders.replace is 'A replacement at the order''s speed is wanted.';
comment on column chain_orders.since is 'Height of the head when the first transaction was planned.';
comment on column chain_orders.block_hash is 'The block that has its transaction, as nodes told it; null where none did, and of those that a batch pays.';
comment on column chain_orders.succeeded is 'Whether the transaction did what was asked for, as its block says; null while there is none.';
comment on column chain_orders.fee is 'Base units of fee_contract: the most it may cost until it is mined, then what it cost.';
comment on column chain_orders.refund is 'Base units of the chain''s own coin that its block gave back beside the fee: rent of token accounts that a sweep closed.';
comment on column chain_orders.refund_transaction is 'The transaction that booked the refund, where the ledger knows the coins of the ramp''s address.';
comment on column chain_orders.charged is 'Base units of budget_contract that users were charged for it; 0 where the house bears it.';
comment on column chain_orders.budget is 'Base units of budget_contract that it may cost at most; null where nobody is charged: the market bounds it.';
comment on column chain_orders.budget_contract is 'The unit of the budget; null is the chain''s own coin.';
comment on column chain_orders.gas_block is 'For tokens of the realm''s own: the block of its budget on the account of its ramp, which pays for it. Whole units.';
comment on column chain_orders.sped_up_at is 'The newest block seen when a user last asked for more speed: once a block.';
comment on column chain_orders.state_at is 'Since when it is in its state.';
comment on column chain_orders.fault is 'Why it failed, where callers are told a code of its own.';
comment on column chain_orders.fee_contract is 'Null once planned: the chain''s own coin.';

-- A batch pays its orders; all of them end as the batch does and divide its fee. Checked at the end of the
-- database transaction.
create function check_batch() returns trigger language plpgsql as $$
declare
  p uuid;
begin
  foreach p in array array_remove(array[old.batch_order_id, new.batch_order_id, case when new.purpose = 'batch' then new.id end], null) loop
    perform 1 from chain_orders o
      cross join lateral (select o.state in ('done', 'failed', 'dropped') as ended) e
      cross join lateral (
        select count(*) as members, sum(m.amount) as amount, sum(m.fee) as fee, sum(m.budget) as budget,
          sum(m.charged) as charged,
          count(*) filter (where m.state <> case when e.ended then o.state else 'batched' end) as astray
        from chain_orders m where m.batch_order_id = p) c
      where o.id = p and o.purpose in ('batch', 'recovered') and case when o.purpose = 'recovered' then true
        when o.state = 'canceled' then c.members = 0
        else c.amount = o.amount and c.budget = o.budget and c.charged = o.charged and c.astray = 0 and (not e.ended or c.fee is not distinct from o.fee) end;
    if not found then
      raise exception 'batch % does not agree with what it carries', p
        using errcode = 'check_violation', constraint = 'chain_orders_batch';
    end if;
  end loop;
  return null;
end $$;
create constraint trigger chain_orders_batch after insert or update of batch_order_id, state, budget, charged on chain_orders
  deferrable initially deferred for each row execute function check_batch();

create table order_attempts (
  order_id uuid not null references chain_orders (id),
  attempt integer not null check (attempt > 0),
  plan text not null,
  inputs text[] not null,
  hash text,
  raw text,
  expires jsonb,
  fee numeric(78, 0) check (fee >= 0 and fee < 'infinity'),
  sent_at timestamptz,
  outcome text,
  cancels boolean not null default false,
  borne_by text not null default 'sender' check (borne_by in ('sender', 'house')),
  unreadable boolean not null default false,
  dropped boolean not null default false,
  proof text check (proof in ('consumed', 'expired', 'orphaned', 'unsigned')),
  proof_by text,
  proof_height integer check (proof_height >= 0),
  proof_reached bigint check (proof_reached >= 0),
  seen_height integer,
  told_height integer check (told_height >= 0),
  late boolean not null default false,
  late_order_id uuid references chain_orders (id),
  created_at timestamptz not null,
  primary key (order_id, attempt),
  constraint order_attempts_signed check ((hash is null) = (raw is null)),
  constraint order_attempts_sent check (sent_at is null or raw is not null),
  constraint order_attempts_borne check (borne_by = 'sender' or cancels),
  constraint order_attempts_unreadable check (not unreadable or plan = '{}'),
  constraint order_attempts_dropped check (dropped = (proof is not null)),
  constraint order_attempts_expires check
    (expires is null or ((expires->>'height')::bigint is null) <> ((expires->>'time')::bigint is null)),
  constraint order_attempts_bounded check (raw is null or cardinality(inputs) > 0 or expires is not null or plan = '{}'),
  constraint order_attempts_reached check (proof_reached is null or proof is not distinct from 'expired'),
  constraint order_attempts_proof check
    ((proof = 'consumed') is not true or (proof_height is not null and proof_by is distinct from hash)),
  constraint order_attempts_seen check (seen_height >= 0),
  constraint order_attempts_late check (not late or seen_height is not null or late_order_id is not null),
  constraint order_attempts_late_order check (late_order_id is null or (late and late_order_id <> order_id))
);
create unique index order_attempts_hash on order_attempts (hash) where hash is not null;
create index order_attempts_orphaned on order_attempts (order_id) where proof = 'orphaned';
create unique index order_attempts_late_order on order_attempts (late_order_id) where late_order_id is not null;
create index order_attempts_late on order_attempts (order_id) where late and late_order_id is null;
create index order_attempts_told on order_attempts (order_id) where told_height is not null and seen_height is null;
create index order_attempts_consumed on order_attempts (created_at) where proof = 'consumed';
create index order_attempts_cancels on order_attempts (created_at) where cancels;
create function refuse_signature() returns trigger language plpgsql as $$
begin
  perform 1 from chain_orders o join ramps r on r.account = o.ramp
  where o.id = new.order_id and r.quarantined is not null for share of r;
  if found then
    raise exception 'nothing is signed for a ramp in quarantine'
      using errcode = 'check_violation', constraint = 'ramps_quarantined';
  end if;
  return new;
end $$;
create trigger order_attempts_quarantined before update of raw on order_attempts
  for each row when (old.raw is null and new.raw is not null and old.plan <> '{}') execute function refuse_signature();
comment on table order_attempts is 'Everything ever planned and signed for an order; bytes are stored before their first broadcast.';
comment on column order_attempts.sent_at is 'Written before the first broadcast: from then on the bytes may be anywhere.';
comment on column order_attempts.cancels is 'Moves nothing: once it is mined, nothing else of the order can be.';
comment on column order_attempts.borne_by is 'Who bears its cost where it moves nothing: the house, unless the destination caused the cancellation, or what the sender pays at most.';
comment on column order_attempts.unreadable is 'Found on the chain, and its bytes tell no plan: nothing can replace it.';
comment on column order_attempts.dropped is 'Proven never to be mined.';
comment on column order_attempts.proof is 'Consumed: another transaction took an input, as deep as a deposit must be. Expired: the final chain is beyond its last point and does not have it. Orphaned: it spends what a dropped transaction should have made. Unsigned: the plan was given up.';
comment on column order_attempts.expires is 'The last point at which the chain takes it: {"height": block} or {"time": milliseconds}; null: it does not expire.';
comment on column order_attempts.proof_reached is 'Of an expiry, the final point that the chain has passed, in the unit of expires.';
comment on column order_attempts.proof_by is 'The transaction that took an input, where the chain tells.';
comment on column order_attempts.seen_height is
  'The block in which a scan saw it, on chains where transactions expire, or because it was given up; null while no scanned block has it.';
comment on column order_attempts.told_height is
  'The block that has it by the word of fewer nodes than the quorum. Where it was given up, nodes are asked until they agree, and a quarantine goes on.';
comment on column order_attempts.late is 'Seen in a block, or booked, although its order had given it up.';
comment on column order_attempts.late_order_id is
  'The order that books it, because it was mined after it was given up.';

-- Transactions of orders that are done, or failed in their block, and that the chain has lost beyond the depth of their end: to
-- another, or by themselves.
create table displaced_orders (
  hash text primary key,
  order_id uuid not null references chain_orders (id),
  chain text not null,
  network text not null,
  ramp uuid not null,
  done boolean not null,
  state text not null check (state in ('lost', 'replaced', 'displaced', 'succeeded', 'returned')),
  by_hash text,
  since integer not null check (since >= 0),
  lost_height integer not null check (lost_height >= 0),
  seen_hash text,
  seen_height integer check (seen_height >= 0),
  told text check (told in ('displaced', 'succeeded', 'returned')),
  told_at timestamptz,
  detail text,
  announced boolean not null default false,
  asked_at timestamptz,
  created_at timestamptz not null,
  constraint displaced_orders_seen check ((seen_hash is null) = (seen_height is null)),
  constraint displaced_orders_told check
    (state not in ('displaced', 'succeeded') or told is not distinct from state),
  constraint displaced_orders_told_at check ((told is null) = (told_at is null)),
  constraint displaced_orders_detail check ((told_at is null) = (detail is null)),
  constraint displaced_orders_announced check (not announced or told_at is not null)
);
create index displaced_orders_order on displaced_orders (order_id);
create index displaced_orders_state on displaced_orders (chain, network, state);
create index displaced_orders_due on displaced_orders
  (chain, network, asked_at nulls first, (seen_hash is not null), coalesce(seen_height, lost_height), hash)
  where state in ('lost', 'replaced', 'displaced')
    and (seen_height is not null or state = 'lost' and (done or told = 'succeeded'));
create index displaced_orders_ramp on displaced_orders (ramp);
create index displaced_orders_seen on displaced_orders (chain, network, seen_height) where seen_height is not null;
comment on table displaced_orders is 'Nothing is booked for them: their users and an operator are told, and none is sent again here once that was done.';
comment on column displaced_orders.done is 'Whether its order is done: nodes are asked about it although no block shows it.';
comment on column displaced_orders.state is 'Lost: no block has it, and nobody was told yet. Replaced: another transaction of its order was mined, which did the same. Displaced: told that what its order has booked did not happen. Succeeded: told that a block has it again, and that it did there what it had failed to do. Returned: a block has it again, and what its order has booked holds, which was told where the contrary was; or one that had failed, and then succeeded, is in no block any more.';
comment on column displaced_orders.by_hash is 'What took its place; null where nothing is known to have.';
comment on column displaced_orders.since is 'The highest block from which it is searched again.';
comment on column displaced_orders.lost_height is 'The block that had it.';
comment on column displaced_orders.seen_hash is 'A transaction of its order in a block that was scanned since.';
comment on column displaced_orders.told is 'What was told last.';
comment on column displaced_orders.asked_at is 'When nodes were last asked about it: what was asked about longest ago is asked about first.';
comment on column displaced_orders.detail is 'What the operator is told.';
comment on column displaced_orders.announced is 'Whether a quarantine began with the detail as its reason; none ends before.';
-- What was told stays. Only an order that has ended with a transaction can lose it: what is done may turn out not to have
-- happened, and what failed to have succeeded.
create function check_displaced() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform 1 from chain_orders o join order_attempts k on k.hash = new.hash and o.id in (k.order_id, k.late_order_id)
    where o.id = new.order_id and (o.chain, o.network, o.ramp) = (new.chain, new.network, new.ramp)
      and (o.state = 'done' or o.state = 'failed' and o.hash = new.hash and not k.cancels);
    if not found then
      raise exception '% is no transaction of an order that is done, or failed with it', new.hash
        using errcode = 'check_violation', constraint = 'displaced_orders_done';
    end if;
    new.done := exists (select from chain_orders o where o.id = new.order_id and o.state = 'done');
  elsif (new.hash, new.order_id, new.chain, new.network, new.ramp, new.done) is distinct from
      (old.hash, old.order_id, old.chain, old.network, old.ramp, old.done)
    or old.told_at is not null and (new.told_at is null or new.told_at < old.told_at) then
    raise exception 'that the chain lost % cannot be of another, nor be untold', old.hash
      using errcode = 'check_violation', constraint = 'displaced_orders_stay';
  end if;
  if new.state in ('displaced', 'replaced', 'succeeded') and not exists (select from chain_orders o
      where o.id = new.order_id and o.state = case new.state when 'succeeded' then 'failed' else 'done' end) then
    raise exception '% cannot be %, as its order has ended otherwise', new.hash, new.state
      using errcode = 'check_violation', constraint = 'displaced_orders_outcome';
  end if;
  return new;
end $$;
create trigger displaced_orders_change before insert or update on displaced_orders
  for each row execute function check_displaced();
create trigger displaced_orders_stay before delete or truncate on displaced_orders
  for each statement execute function refuse_change();

create table nonces (
  chain text not null,
  network text not null,
  address text not null,
  next integer not null check (next >= 0),
  floor integer not null default 0 check (floor >= 0),
  primary key (chain, network, address),
  constraint nonces_raised check (floor <= next)
) with (fillfactor = 50);
comment on column nonces.floor is 'Nonces below were raised over, in quarantine: they are neither taken nor filled.';

-- Cost of a ramp for orders of its users in a day (UTC), and their charges for it. Base units.
create table ramp_costs (
  ramp uuid not null,
  day date not null,
  contract text not null default '',
  cost numeric(78, 0) not null default 0 check (cost >= 0),
  charged numeric(78, 0) not null default 0 check (charged >= 0),
  held_at timestamptz,
  primary key (ramp, day, contract),
  constraint ramp_costs_finite check (greatest(cost, charged) < 'infinity')
) with (fillfactor = 50);
comment on table ramp_costs is 'Withdrawals, batches, fillers of nonces and CPFP that ended; open ones are in chain_orders.';
comment on column ramp_costs.contract is 'The asset that paid the network: '''' is the chain''s own coin.';
comment on column ramp_costs.held_at is 'When the limit of the day was first met: told once.';

create table order_lock ();
comment on table order_lock is
  'Has no rows. Each job that advances a chain order or plans a sweep locks it before its snapshot is taken, and so cannot fail with 40001 against another. It is locked before ledger_lock.';

-- Every transition of an order's state, with the proof that the rows must show. No transition leaves an end state.
create table order_transitions (
  before text not null,
  after text not null,
  demands text not null check (demands in
    ('plan', 'batch', 'unsigned', 'unsent', 'bytes', 'leaving', 'block', 'no block', 'paid', 'in vain', 'dropped', 'found')),
  primary key (before, after)
);
comment on column order_transitions.demands is 'Of attempts that are not dropped. Plan: there is one. Unsigned: none has bytes. Unsent: none has left, and no scanned block has one. Bytes: that of the order''s hash has some. Leaving: it is marked as sent. Block: it has bytes, and the order a height. Paid: a block, where it succeeded, and it does not cancel. In vain: a block, where it did not, or it cancels. Dropped: all are. Batch: the batch is in that state, or was canceled. Found: the batch was found on the chain, and nothing else of the order can be mined.';
insert into order_transitions (before, after, demands) values
  ('new', 'planned', 'plan'),
  ('new', 'batched', 'batch'),
  ('new', 'failed', 'unsigned'),
  ('new', 'canceled', 'unsent'),
  ('batched', 'new', 'batch'),
  ('batched', 'done', 'batch'),
  ('batched', 'failed', 'batch'),
  ('batched', 'dropped', 'batch'),
  ('planned', 'signed', 'bytes'),
  ('planned', 'new', 'dropped'),
  ('planned', 'batched', 'found'),
  ('planned', 'failed', 'unsigned'),
  ('planned', 'canceled', 'unsent'),
  ('signed', 'sent', 'leaving'),
  ('signed', 'canceled', 'unsent'),
  ('signed', 'batched', 'found'),
  ('sent', 'mined', 'block'),
  ('sent', 'done', 'paid'),
  ('sent', 'failed', 'in vain'),
  ('sent', 'dropped', 'dropped'),
  ('sent', 'new', 'dropped'),
  ('mined', 'sent', 'no block'),
  ('mined', 'done', 'paid'),
  ('mined', 'failed', 'in vain'),
  ('mined', 'dropped', 'dropped'),
  ('mined', 'new', 'dropped');

-- While a ramp is in quarantine, transactions of its keys that only the chain knows are recovered: as mined.
create function in_quarantine(p_ramp uuid) returns boolean language sql stable as $$
  select exists (select 1 from ramps where account = p_ramp and quarantined is not null)
$$;

-- Whether nothing follows bytes any more, so that nobody would book them if they were mined: they were dropped, canceled
-- before they left, or their order failed with another transaction. That never changes again. Of an order that is done
-- another transaction made the same payment, unless these bytes move nothing.
create function is_given_up(k order_attempts) returns boolean language sql stable as $$
  select k.hash is not null and (k.dropped or exists (select from chain_orders o where o.id = k.order_id
    and (o.state = 'canceled' or (o.state = 'failed' or o.state = 'done' and k.cancels) and o.hash is distinct from k.hash)))
$$;

-- Tells whether the rows show the proof for a transition. The update locks the order's row. For an order that books a
-- late attempt that one is its own; where the chain has lost that one, it is given back to its order before this one is
-- given up, and then there is none.
create function shows_demand(o chain_orders, p_demand text, p_batch uuid) returns boolean
  language sql stable as $$
  select case p_demand
    when 'batch' then exists (select 1 from chain_orders p where p.id = p_batch
      and p.purpose in ('batch', 'recovered') and p.state = case when o.state = 'new' then 'canceled'
        when o.state <> 'batched' then o.state when p.purpose = 'batch' then 'planned' else 'mined' end)
    when 'found' then c.living = 0 and exists (select 1 from chain_orders p
      where p.id = p_batch and case p.purpose when 'recovered' then p.state end = 'mined')
    when 'plan' then c.living > 0
    when 'unsigned' then c.signed = 0
    when 'unsent' then c.sent = 0 and not exists (select from order_attempts k
      left join reserved_inputs i on i.order_id = k.order_id and i.consumed_by = k.hash
      where k.order_id = o.id and not k.dropped and (k.seen_height is not null or i.input is not null))
    when 'bytes' then c.named > 0
    when 'leaving' then c.leaving > 0
    when 'block' then c.named > 0 and o.height is not null and o.confirmations > 0
    when 'paid' then c.paying > 0 and o.succeeded and o.height is not null and o.confirmations > 0
    when 'in vain' then c.named > 0 and (c.paying = 0 or not o.succeeded) and o.height is not null
      and o.confirmations > 0
    when 'no block' then o.height is null
    when 'dropped' then c.living = 0 and (c.made > 0 or o.purpose in ('recovered', 'sweep'))
  end
  from (select count(*) as made, count(*) filter (where not dropped) as living,
      count(*) filter (where not dropped and hash is not null) as signed,
      count(*) filter (where not dropped and sent_at is not null) as sent,
      count(*) filter (where not dropped and hash = o.hash) as named,
      count(*) filter (where not dropped and hash = o.hash and not cancels) as paying,
      count(*) filter (where not dropped and hash = o.hash and sent_at is not null) as leaving
    from (select dropped, hash, sent_at, cancels from order_attempts where order_id = o.id
      union all select false, hash, sent_at, cancels from order_attempts
      where late_order_id = o.id and o.purpose in ('recovered', 'sweep')) k) c
$$;

-- An order that is canceled after its signature leaves a nonce that a filler must use, at the house's cost. Their
-- number is limited for each day: for one user with all whom it made, and for all users of a ramp. Counts them.
create function count_discarded(p_ramp uuid, p_reference uuid, out own bigint, out whole bigint)
  language plpgsql stable as $$
declare
  asking uuid := (select owner from withdrawals where id = p_reference);
  asking_root uuid := (select root from users where id = asking);
begin
  select count(*) filter (where w.owner = asking or u.root = asking_root), count(*)
  into own, whole
  from chain_orders o join withdrawals w on w.id = o.reference_id left join users u on u.id = w.owner
  where o.ramp = p_ramp and o.state = 'canceled' and o.purpose = 'withdrawal' and o.nonce is not null
    and o.hash is not null and o.updated_at > now() - interval '1 day';
end $$;
create function may_discard(p_ramp uuid, p_reference uuid) returns boolean language sql stable as $$
  select own < 5 and whole < 50 from count_discarded(p_ramp, p_reference)
$$;

-- Whether the scan has passed the height of a block without it: nodes have told of a block that the chain has lost since, or
-- the scanned one is. Blocks that are not scanned yet, and those below the oldest that is remembered, are not known.
create function was_scanned_without(p_chain text, p_network text, p_height bigint, p_hash text) returns boolean
  language sql stable as $$
  select p_hash is not null
    and not exists (select from chain_blocks where (chain, network, height, hash) = (p_chain, p_network, p_height, p_hash))
    and exists (select from chain_blocks where (chain, network) = (p_chain, p_network) and height >= p_height)
    and exists (select from chain_blocks where (chain, network) = (p_chain, p_network) and height <= p_height)
$$;

-- An order keeps its purpose and the nonce of its bytes, and changes state as order_transitions says.
create function check_order() returns trigger language plpgsql as $$
declare
  demand text;
  fault text;
begin
  if tg_op = 'INSERT' then
    if (new.state <> 'new' or new.hash is not null or new.height is not null or new.batch_order_id is not null)
      and not (new.state = 'mined' and new.purpose in ('sweep', 'deploy', 'recovered') and in_quarantine(new.ramp)) then
      raise exception 'order % does not begin as new', new.id
        using errcode = 'check_violation', constraint = 'chain_orders_transition';
    end if;
    return new;
  end if;
  fault := case
    when (new.id, new.chain, new.network, new.ramp, new.purpose, new.sender, new.request, new.contract)
        is distinct from
        (old.id, old.chain, old.network, old.ramp, old.purpose, old.sender, old.request, old.contract)
      or new.reference_id is distinct from old.reference_id or new.budget_contract is distinct from old.budget_contract
      then 'cannot be for something else'
    when new.schedule_version < old.schedule_version then 'cannot have a lower schedule version'
    when new.sped_up_at is distinct from old.sped_up_at
        and not coalesce(new.sped_up_at > coalesce(old.sped_up_at, -1), false)
      then 'is sped up once a block'
    when new.sped_up_at is distinct from old.sped_up_at and old.state = 'sent' and coalesce((
        select c.unreadable from order_attempts c where c.order_id = new.id and not c.dropped
        order by c.attempt desc limit 1), false)
      then 'has a transaction that nothing can replace'
    when new.purpose in ('withdrawal', 'batch') and new.batch_order_id is null and old.batch_order_id is null
        and (new.charged, new.budget) is distinct from (old.charged, old.budget) and new.budget is not null
        and (new.sped_up_at is not distinct from old.sped_up_at or new.charged < old.charged
          or new.budget < old.budget)
      then 'is charged more only where it is sped up'
    when new.nonce is distinct from old.nonce and exists (
        select 1 from order_attempts c where c.order_id = new.id and not c.dropped
          and c.inputs <> array[new.sender || ':' || new.nonce])
      then 'cannot change the nonce of its transactions'
    when old.state in ('done', 'failed', 'dropped', 'canceled')
        and (new.nonce, new.hash, new.height, new.block_hash, new.fee, new.refund, new.amount, new.batch_order_id)
          is distinct from (old.nonce, old.hash, old.height, old.block_hash, old.fee, old.refund, old.amount, old.batch_order_id)
      then 'has ended'
    when old.refund_transaction is not null and new.refund_transaction is distinct from old.refund_transaction
      then 'has booked its refund'
  end;
  if fault is not null then
    raise exception 'order % %', new.id, fault
      using errcode = 'check_violation', constraint = 'chain_orders_fixed';
  end if;
  if new.state = old.state then return new; end if;
  new.state_at := now();
  -- What the scan takes back, or did not find, is noted of orders that have ended before.
  if new.state in ('done', 'failed') and was_scanned_without(new.chain, new.network, new.height, new.block_hash) then
    raise exception 'order % cannot end in block %, which was scanned without its transaction', new.id, new.height
      using errcode = 'check_violation', constraint = 'chain_orders_scanned';
  end if;
  if new.state in ('failed', 'dropped') and in_quarantine(new.ramp) then
    raise exception 'order % does not end unpaid while its ramp is in quarantine', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_quarantined';
  end if;
  if new.state = 'canceled' and new.purpose = 'withdrawal' and new.nonce is not null and new.hash is not null
      and not in_quarantine(new.ramp) and not may_discard(new.ramp, new.reference_id) then
    raise exception 'order % was signed, and too many such were canceled within a day', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_discarded';
  end if;
  select t.demands into demand from order_transitions t
  where t.before = old.state and t.after = new.state;
  if demand is null
    or shows_demand(new, demand, coalesce(new.batch_order_id, old.batch_order_id)) is not true then
    raise exception 'order % cannot become % from %: %', new.id, new.state, old.state,
        coalesce('nothing shows ' || demand, 'there is no such change')
      using errcode = 'check_violation', constraint = 'chain_orders_transition';
  end if;
  return new;
end $$;
create trigger chain_orders_change before insert or update on chain_orders
  for each row execute function check_order();
create trigger chain_orders_stay before delete or truncate on chain_orders
  for each statement execute function refuse_change();

-- Stored bytes stay, and stay marked as sent. Two attempts of an order share an input, so only one can be mined: on
-- chains without inputs, whose transactions expire, an order has one attempt that is not proven expired. An attempt is
-- dropped for a reason that the rows show. What a scanned block shows is not dropped: an order that would be dropped beside
-- its own transaction waits, unless that one was given up before, and is booked by itself. A late attempt is booked once,
-- in quarantine, and is given back only where the chain has lost its block before it was settled. The lock on the order
-- keeps it from ending meanwhile.
create function check_attempt() returns trigger language plpgsql as $$
declare
  o chain_orders;
  fault text;
begin
  select * into o from chain_orders where id = new.order_id for update;
  if tg_op = 'INSERT' then
    fault := case
      when new.late or new.late_order_id is not null or new.seen_height is not null or new.told_height is not null then 'begins in no block'
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
          and not (new.late_order_id is null and not new.late and old.seen_height is null and new.seen_height is null
            and exists (select from chain_orders r where r.id = old.late_order_id and r.state = 'sent'))
        then 'is booked'
      when old.late_order_id is null and new.late_order_id is not null
          and not (new.late and new.seen_height is not null and in_quarantine(o.ramp)
            and exists (select from chain_orders r where r.id = new.late_order_id and (r.purpose = 'recovered'
                or r.purpose = 'sweep' and o.purpose = 'sweep' and (r.sender, r.contract) = (o.sender, o.contract))
              and r.state = 'mined' and r.hash = new.hash
              and (r.chain, r.network, r.ramp) = (o.chain, o.network, o.ramp)))
        then 'was not mined late'
      when old.late_order_id is null and new.late_order_id is not null and o.purpose in ('withdrawal', 'batch')
          and (o.state = 'sent' or o.state = 'mined' and o.succeeded is not false
            or o.state = 'signed' and exists (select from order_attempts c where c.order_id = o.id and not c.dropped
              and (c.expires is not null or c.sent_at is not null)))
        then 'is booked beside another that may be mined'
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
            select 1 from order_attempts c where c.order_id = o.id and c.hash = new.proof_by and not c.late)
          when 'unsigned' then new.raw is null and o.state = 'planned'
          when 'expired' then new.raw is null or new.proof_height is not null and new.proof_reached
            > coalesce((new.expires->>'height')::bigint, (new.expires->>'time')::bigint)
          when 'orphaned' then exists (
            select 1 from unnest(new.inputs) k
              join order_attempts p on p.hash = split_part(k, ':', 1)
              join chain_orders q on q.id = p.order_id
            where p.dropped or q.state in ('dropped', 'canceled')
              or (q.state in ('done', 'failed') and q.hash is distinct from p.hash)
              or exists (select from displaced_orders d where d.hash = p.hash and d.state in ('displaced', 'replaced')))
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
create trigger order_attempts_change before insert or update of order_id, attempt, plan, inputs, hash, raw, expires, fee, sent_at,
    outcome, cancels, borne_by, unreadable, dropped, proof, proof_by, proof_height, proof_reached, late_order_id, created_at
  on order_attempts for each row execute function check_attempt();

-- Only what was given up can be late; the mark goes with the block that shows it.
create function check_late() returns trigger language plpgsql as $$
begin
  if new.late and not is_given_up(new) or not new.late and new.seen_height is not null then
    raise exception 'transaction % of order % % given up', new.attempt, new.order_id,
        case when new.late then 'was not' else 'is in a block, and was' end
      using errcode = 'check_violation', constraint = 'order_attempts_given_up';
  end if;
  return new;
end $$;
create trigger order_attempts_given_up before update of late on order_attempts
  for each row when (old.late is distinct from new.late) execute function check_late();

-- A block that showed an attempt is forgotten where the chain has lost it, and the cursor went back, or by a reconciliation.
-- So is one that gives way to another, unless that one is scanned.
create function check_forgotten() returns trigger language plpgsql as $$
begin
  if not exists (select from chain_orders o where o.id = new.order_id and (in_quarantine(o.ramp) or exists (
      select from chain_cursors c where (c.chain, c.network) = (o.chain, o.network)
        and (c.height < old.seen_height or c.height >= new.seen_height)))) then
    raise exception 'block % has transaction % of order %', old.seen_height, new.attempt, new.order_id
      using errcode = 'check_violation', constraint = 'order_attempts_forgotten';
  end if;
  return new;
end $$;
create trigger order_attempts_forgotten before update of seen_height on order_attempts
  for each row when (old.seen_height is distinct from new.seen_height and old.seen_height is not null)
  execute function check_forgotten();
-- So is what a block showed to use up an input.
create function check_unconsumed() returns trigger language plpgsql as $$
begin
  if not exists (select from chain_orders o where o.id = old.order_id and in_quarantine(o.ramp))
      and not exists (select from chain_cursors c where (c.chain, c.network) = (old.chain, old.network)
        and c.height < old.consumed_height) then
    raise exception 'block % shows that % used up %', old.consumed_height, old.consumed_by, old.input
      using errcode = 'check_violation', constraint = 'reserved_inputs_forgotten';
  end if;
  return new;
end $$;
create trigger reserved_inputs_forgotten before update of consumed_by on reserved_inputs
  for each row when (old.consumed_by is not null and new.consumed_by is null)
  execute function check_unconsumed();
create trigger order_attempts_stay before delete or truncate on order_attempts
  for each statement execute function refuse_change();

-- No other order may spend the coins of a finished payment: its bytes may be mined again after a reorganisation.
create function check_reserved_input() returns trigger language plpgsql as $$
begin
  -- By the transaction, because an index of the network's coins costs as little while there are none.
  if exists (select 1 from (select chain, network, index, kept from coins where hash = split_part(new.input, ':', 1) offset 0) c
      where c.chain = new.chain and c.network = new.network and c.index::text = split_part(new.input, ':', 2)
      and c.kept is not null and not exists (select 1 from order_attempts k
        where k.order_id = new.order_id and k.hash = c.kept))
      and not exists (select 1 from chain_orders o where o.id = new.order_id and in_quarantine(o.ramp)) then
    raise exception '% was spent by a payment that is done', new.input
      using errcode = 'check_violation', constraint = 'coins_kept';
  end if;
  return new;
end $$;
create trigger reserved_inputs_kept before insert or update of input, order_id on reserved_inputs
  for each row execute function check_reserved_input();

-- The coins of a finished payment stay its, until it was told that the chain has lost it.
create function check_kept() returns trigger language plpgsql as $$
begin
  if not exists (select from displaced_orders d where d.hash = old.kept and d.state in ('displaced', 'replaced', 'returned')) then
    raise exception 'coin %:% was spent by %, which is done, and nobody was told that the chain has lost it', old.hash, old.index, old.kept
      using errcode = 'check_violation', constraint = 'coins_kept';
  end if;
  return new;
end $$;
create trigger coins_kept before update of kept on coins
  for each row when (old.kept is not null and old.kept is distinct from new.kept) execute function check_kept();

-- Nonces are taken one by one. The next nonce rises by more only while the ramp is in quarantine and its transactions
-- are recovered, and goes back only where no attempt was signed and no input is reserved.
create function check_nonce() returns trigger language plpgsql as $$
declare
  last integer := case when tg_op = 'INSERT' then 0 else old.next end;
begin
  if new.next > last + 1 then
    if not exists (select 1 from addresses a join ramps r on r.account = a.ramp
        where a.chain = new.chain and a.network = new.network and a.address = new.address
          and r.quarantined is not null) then
      raise exception 'nonces of % cannot go from % to %', new.address, last, new.next
        using errcode = 'check_violation', constraint = 'nonces_step';
    end if;
    new.floor := new.next;
  end if;
  if new.next < last and (exists (select 1 from (
        select chain, network, input from reserved_inputs where split_part(input, ':', 1) = new.address offset 0) k
      where k.chain = new.chain and k.network = new.network and split_part(k.input, ':', 2)::integer >= new.next)
      or exists (select 1 from chain_orders o join order_attempts c on c.order_id = o.id and c.raw is not null
        where o.chain = new.chain and o.network = new.network and o.sender = new.address
          and o.nonce >= new.next)) then
    raise exception 'nonces of % are in use from % on', new.address, new.next
      using errcode = 'check_violation', constraint = 'nonces_step';
  end if;
  return new;
end $$;
create trigger nonces_step before insert or update on nonces for each row execute function check_nonce();
