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
  purpose text not null check (purpose in ('withdrawal', 'sweep', 'gas', 'deploy', 'fill', 'consolidation')),
  sender text not null,
  wish jsonb not null,
  speed text not null default 'medium' check (speed in ('slow', 'medium', 'fast')),
  state text not null default 'new'
    check (state in ('new', 'signed', 'sent', 'mined', 'done', 'failed', 'dead', 'canceled')),
  since bigint,
  hash text,
  height bigint,
  block_hash text,
  confirmations integer not null default 0,
  fee numeric(78, 0),
  fee_contract text,
  amounts numeric(78, 0)[],
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null
);
create index orders_open on orders (chain, network, sender, id) where state in ('new', 'signed', 'sent', 'mined');
comment on column orders.wish is 'The order as the chain adapter takes it; amounts in base units as text.';
comment on column orders.amounts is 'Base units to each payment, once planned.';
comment on column orders.fee is 'Base units: the most it may cost until it is mined, then what it cost.';

create table order_candidates (
  order_id uuid not null references orders (id),
  attempt integer not null check (attempt > 0),
  hash text not null,
  raw text not null,
  claims text[] not null,
  plan text not null,
  expires jsonb,
  sent_at timestamptz,
  outcome text,
  created_at timestamptz not null,
  primary key (order_id, attempt)
);
create index order_candidates_hash on order_candidates (hash);
comment on table order_candidates is 'Everything ever signed for an order, stored before its first broadcast.';

create table nonces (
  chain text not null,
  network text not null,
  address text not null,
  next bigint not null check (next >= 0),
  primary key (chain, network, address)
);
