-- What:     orders to send something on a chain, every transaction ever signed for them, next nonces.
-- Why:      contract, section 11.4: bytes are stored before they are broadcast; design, section 5.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table orders (
  id uuid primary key,
  chain text not null,
  network text not null,
  ramp uuid not null,
  purpose text not null check (purpose in
    ('withdrawal', 'payout', 'sweep', 'child', 'gas', 'deploy', 'fill', 'consolidation', 'recovered')),
  subject uuid,
  sender text not null,
  wish jsonb not null,
  contract text not null default '',
  amount numeric(78, 0) check (amount >= 0),
  speed text not null default 'medium' check (speed in ('slow', 'medium', 'fast')),
  state text not null default 'new'
    check (state in ('new', 'joined', 'planned', 'signed', 'sent', 'mined', 'done', 'failed', 'dead', 'canceled')),
  carrier uuid references orders (id),
  looks integer not null default 0,
  replace boolean not null default false,
  nonce integer check (nonce >= 0),
  since integer,
  hash text,
  height integer,
  confirmations integer not null default 0,
  fee numeric(78, 0) check (fee >= 0),
  fee_contract text,
  charged numeric(78, 0) not null default 0 check (charged >= 0),
  budget numeric(78, 0) check (budget > 0),
  budget_contract text,
  hastened_at integer,
  fault text check (fault in ('fee_exceeded')),
  creates text,
  error text,
  looked_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint orders_mined check (state not in ('mined', 'done') or (hash is not null and height is not null)),
  constraint orders_budget check
    (budget is null or fee is null or height is not null or carrier is not null or fee <= budget),
  constraint orders_charged check (budget is null or charged <= budget),
  constraint orders_budgeted check (budget is not null or purpose not in ('withdrawal', 'payout')),
  constraint orders_nonce check (purpose <> 'fill' or nonce is not null),
  constraint orders_joined check (state <> 'joined' or carrier is not null),
  constraint orders_carrier check
    (carrier is null or (purpose = 'withdrawal' and state in ('joined', 'done', 'failed', 'dead')))
);
create index orders_open on orders (chain, network, sender, id)
  where state in ('new', 'planned', 'signed', 'sent', 'mined');
create index orders_height on orders (chain, network, height) where height is not null;
create index orders_subject on orders (subject, id) where subject is not null;
create index orders_hash on orders (hash) where hash is not null;
create index orders_carrier on orders (carrier) where carrier is not null;
create unique index orders_child on orders (subject) where purpose = 'child' and state <> 'canceled';
comment on column orders.subject is 'The withdrawal, sweep or token that it is for; of a child, the order whose transaction it pays for.';
comment on column orders.wish is 'What shall happen; amounts in base units as text.';
comment on column orders.contract is 'What is moved: '''' is the chain''s own coin.';
comment on column orders.amount is 'Base units that leave; null until planned where everything is to leave.';
comment on column orders.carrier is 'The payout in whose transaction it is paid, together with others.';
comment on column orders.looks is 'Number of the look that is due; one with an older number does nothing.';
comment on column orders.replace is 'A replacement at the order''s speed is wanted.';
comment on column orders.since is 'Height of the head when the first transaction was planned.';
comment on column orders.fee is 'Base units of fee_contract: the most it may cost until it is mined, then what it cost.';
comment on column orders.charged is 'Base units of budget_contract that users were charged for it; 0 where the house bears it.';
comment on column orders.budget is 'Base units of budget_contract that it may cost at most; null where nobody is charged: the market bounds it.';
comment on column orders.budget_contract is 'What the budget is counted in; null is the chain''s own coin.';
comment on column orders.hastened_at is 'The newest block seen when a user last asked for more speed: once a block.';
comment on column orders.fault is 'Why it failed, where callers are told a code of its own.';
comment on column orders.fee_contract is 'Null once planned: the chain''s own coin.';

-- A payout pays what it carries; all of it ends as the payout does, and divides its fee. Looked at when all of a
-- transaction is written.
create function check_payout() returns trigger language plpgsql as $$
declare
  p uuid;
begin
  foreach p in array array_remove(array[old.carrier, new.carrier, case when new.purpose = 'payout' then new.id end], null) loop
    perform 1 from orders o
      cross join lateral (select o.state in ('done', 'failed', 'dead') as ended) e
      cross join lateral (
        select count(*) as members, sum(m.amount) as amount, sum(m.fee) as fee, sum(m.budget) as budget,
          sum(m.charged) as charged,
          count(*) filter (where m.state <> case when e.ended then o.state else 'joined' end) as astray
        from orders m where m.carrier = p) c
      where o.id = p and o.purpose = 'payout' and case when o.state = 'canceled' then c.members = 0
        else c.amount = o.amount and c.budget = o.budget and c.charged = o.charged and c.astray = 0 and (not e.ended or c.fee is not distinct from o.fee) end;
    if not found then
      raise exception 'payout % does not agree with what it carries', p
        using errcode = 'check_violation', constraint = 'orders_payout';
    end if;
  end loop;
  return null;
end $$;
create constraint trigger orders_payout after insert or update of carrier, state, budget, charged on orders
  deferrable initially deferred for each row execute function check_payout();

create table order_candidates (
  order_id uuid not null references orders (id),
  attempt integer not null check (attempt > 0),
  plan text not null,
  claims text[] not null,
  hash text,
  raw text,
  expires jsonb,
  fee numeric(78, 0),
  sent_at timestamptz,
  outcome text,
  dead boolean not null default false,
  created_at timestamptz not null,
  primary key (order_id, attempt),
  constraint order_candidates_signed check ((hash is null) = (raw is null)),
  constraint order_candidates_sent check (sent_at is null or raw is not null)
);
create unique index order_candidates_hash on order_candidates (hash) where hash is not null;
create function refuse_signature() returns trigger language plpgsql as $$
begin
  perform 1 from orders o join ramps r on r.account = o.ramp
  where o.id = new.order_id and r.quarantined is not null for share of r;
  if found then
    raise exception 'nothing is signed for a ramp in quarantine'
      using errcode = 'check_violation', constraint = 'ramps_quarantined';
  end if;
  return new;
end $$;
create trigger order_candidates_quarantined before update of raw on order_candidates
  for each row when (old.raw is null and new.raw is not null) execute function refuse_signature();
comment on table order_candidates is 'Everything ever planned and signed for an order; bytes are stored before their first broadcast.';
comment on column order_candidates.sent_at is 'Written before the first broadcast: from then on the bytes may be anywhere.';
comment on column order_candidates.dead is 'Proven never to be mined.';

create table nonces (
  chain text not null,
  network text not null,
  address text not null,
  next integer not null check (next >= 0),
  primary key (chain, network, address)
) with (fillfactor = 50);

-- What carrying out its users' orders cost a ramp in a day (UTC), and what they were charged for it. Base units.
create table ramp_costs (
  ramp uuid not null,
  day date not null,
  contract text not null default '',
  cost numeric(78, 0) not null default 0 check (cost >= 0),
  charged numeric(78, 0) not null default 0 check (charged >= 0),
  held_at timestamptz,
  primary key (ramp, day, contract)
) with (fillfactor = 50);
comment on table ramp_costs is 'Withdrawals, payouts, fillers of nonces and children that ended; what is on its way is in orders.';
comment on column ramp_costs.contract is 'What the network was paid in: '''' is the chain''s own coin.';
comment on column ramp_costs.held_at is 'When the limit of the day was first met: told once.';
