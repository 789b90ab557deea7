-- What:     external_ramps, authentication records of accounts at exchanges, and ramp_transfers between an exchange
--           and an account; exchange_keys, the public halves of the keys that credentials are encrypted for.
-- Why:      contract, section 12.6: a transfer is asked for once, and followed at both ends until it is done or failed.
-- Locks:    none, the tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table exchange_keys (
  id uuid primary key references secrets (id),
  public_key bytea not null check (octet_length(public_key) = 32),
  created_at timestamptz not null
);
comment on table exchange_keys is
  'X25519. The serving half encrypts credentials for it; the private half is a secret under the master key.';

create table external_ramps (
  id uuid primary key,
  ramp text not null check (ramp ~ '^[a-z0-9_]{1,40}$'),
  identity uuid not null references identities (id),
  key uuid not null references exchange_keys (id),
  credentials bytea not null check (octet_length(credentials) between 61 and 8192),
  credentials_at timestamptz not null,
  hint text not null check (length(hint) between 1 and 5),
  status text not null default 'PENDING' check (status in ('PENDING', 'READY', 'REFUSED')),
  assets jsonb not null default '[]' check (jsonb_typeof(assets) = 'array'),
  failures integer not null default 0,
  checked_at timestamptz,
  check_at timestamptz not null default now(),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint external_ramps_failures check (failures >= 0),
  constraint external_ramps_checked check (status = 'PENDING' or checked_at is not null),
  constraint external_ramps_refused check (status <> 'REFUSED' or error is not null)
);
create index external_ramps_owner on external_ramps (owner, id);
create index external_ramps_due on external_ramps (check_at, id) where deleted_at is null;
create index external_ramps_turns on external_ramps (md5(owner::text), check_at, id) where deleted_at is null;
comment on index external_ramps_turns is
  'What is due is read in turns of the owners. Their order tells nothing of who they are: a walk begins at a random one.';
comment on column external_ramps.credentials is 'Encrypted for the key; bound to realm and record. Never shown.';
comment on column external_ramps.credentials_at is
  'When they were given. A withdraw that is older is not paid: they may be those of another account at the exchange.';
comment on column external_ramps.hint is 'The last four characters of the API key.';
comment on column external_ramps.assets is 'What the exchange last said that it sends and receives, as far as it fits ours.';
comment on column external_ramps.failures is 'Checks in a row that failed, or that the exchange refused: the next waits longer.';

create table ramp_transfers (
  id uuid primary key,
  external_ramp uuid not null references external_ramps (id),
  exchange text not null,
  kind text not null check (kind in ('deposit', 'withdraw')),
  account uuid not null references accounts (id),
  asset text not null,
  value numeric not null check (value > 0),
  currency text not null check (length(currency) between 1 and 40),
  exchange_network text not null check (length(exchange_network) between 1 and 60),
  offered_fee numeric check (offered_fee >= 0),
  chain text not null,
  network text not null,
  address text check (length(address) between 1 and 200),
  expected_address text check (length(expected_address) between 1 and 200),
  paid_by text check (paid_by in ('sender', 'receiver')),
  speed text check (speed in ('slow', 'medium', 'fast')),
  max_fee numeric check (max_fee >= 0),
  state text not null default 'new' check (state in ('new', 'asking', 'sent', 'unclear', 'done', 'failed')),
  block uuid,
  asked_at timestamptz,
  reference text check (length(reference) between 1 and 200),
  claimed text check (length(claimed) between 1 and 200),
  claims jsonb not null default '[]',
  exchange_status text,
  exchange_amount numeric check (exchange_amount >= 0),
  exchange_fee numeric check (exchange_fee >= 0),
  hash text check (length(hash) between 1 and 200),
  deposit uuid references deposits (id),
  withdrawal uuid references withdrawals (id),
  doubtful boolean not null default false,
  reason text check (length(reason) between 1 and 500),
  tries integer not null default 0 check (tries >= 0),
  next_at timestamptz not null default now(),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint ramp_transfers_finite check (greatest(value, offered_fee, max_fee, exchange_amount, exchange_fee) < 'infinity'),
  constraint ramp_transfers_claims check (jsonb_typeof(claims) = 'array' and jsonb_array_length(claims) <= 20),
  constraint ramp_transfers_deposit_kind check (kind = 'deposit'
    or (asked_at is null and deposit is null and claimed is null)),
  constraint ramp_transfers_withdraw_kind check ((kind = 'withdraw') = (paid_by is not null and speed is not null)
    and (kind = 'deposit' or offered_fee is null)
    and (kind = 'withdraw' or (block is null and withdrawal is null and expected_address is null and max_fee is null))),
  constraint ramp_transfers_blocked check (kind = 'deposit' or block is not null),
  constraint ramp_transfers_address check (kind = 'withdraw' or address is not null),
  constraint ramp_transfers_asked check (kind <> 'deposit' or state in ('new', 'failed') or asked_at is not null),
  constraint ramp_transfers_withdrawn check (kind <> 'withdraw' or state in ('new', 'failed') or withdrawal is not null
    or (doubtful and state in ('unclear', 'done'))),
  constraint ramp_transfers_done check (state <> 'done' or coalesce(deposit, withdrawal) is not null
    or (doubtful and kind = 'withdraw')),
  constraint ramp_transfers_failed check ((state = 'failed') = (error is not null)),
  constraint ramp_transfers_unclear check (state <> 'unclear' or reason is not null)
);
create unique index ramp_transfers_reference on ramp_transfers (exchange, kind, reference) where reference is not null;
create unique index ramp_transfers_deposit on ramp_transfers (deposit) where deposit is not null;
create unique index ramp_transfers_withdrawal on ramp_transfers (withdrawal) where withdrawal is not null;
create index ramp_transfers_address on ramp_transfers (address) where reference is null and asked_at is not null;
create index ramp_transfers_ramp on ramp_transfers (external_ramp, id);
create index ramp_transfers_due on ramp_transfers (next_at, id) where state not in ('done', 'failed');
create index ramp_transfers_turns on ramp_transfers (md5(owner::text), next_at, id) where state not in ('done', 'failed');
comment on index ramp_transfers_turns is 'As external_ramps_turns.';
comment on column ramp_transfers.kind is
  'deposit: the exchange pays to an address of ours. withdraw: a withdrawal of ours pays to an address of the exchange.';
comment on column ramp_transfers.asked_at is
  'Written before the exchange is asked to pay. It is never asked again: what became of it is looked up.';
comment on column ramp_transfers.offered_fee is
  'What the exchange asked for a payment when the transfer was ordered; null where it told nothing, or is paid itself.';
comment on column ramp_transfers.reference is
  'The exchange''s id of its end, as the exchange itself has told it to the record''s key. No two transfers have one.';
comment on column ramp_transfers.claimed is
  'The id that a person named. It takes no id from another transfer, whose end it may be.';
comment on column ramp_transfers.claims is
  'Every id that a person named, oldest first: {reference, by, at}. The last is claimed. Nothing of it is ever removed.';
comment on column ramp_transfers.doubtful is
  'A ramp of its chain was in quarantine before it was paid or asked for: a newer database may have done so.';
comment on column ramp_transfers.max_fee is 'Of a withdraw: that of its withdrawal.';
comment on column ramp_transfers.block is 'Holds the value of a withdraw until its withdrawal exists.';

create table ramp_transfer_transitions (
  kind text not null,
  was text not null,
  becomes text not null,
  primary key (kind, was, becomes)
);
insert into ramp_transfer_transitions values
  ('deposit', 'new', 'asking'), ('deposit', 'new', 'failed'),
  ('deposit', 'asking', 'sent'), ('deposit', 'asking', 'failed'), ('deposit', 'asking', 'unclear'),
  ('deposit', 'sent', 'done'), ('deposit', 'sent', 'failed'), ('deposit', 'sent', 'unclear'),
  ('deposit', 'unclear', 'sent'), ('deposit', 'unclear', 'failed'), ('deposit', 'unclear', 'done'),
  ('withdraw', 'new', 'sent'), ('withdraw', 'new', 'failed'), ('withdraw', 'new', 'unclear'),
  ('withdraw', 'sent', 'done'), ('withdraw', 'sent', 'failed'), ('withdraw', 'sent', 'unclear'),
  ('withdraw', 'unclear', 'done'), ('withdraw', 'unclear', 'failed');

-- What was asked for stays as it was, states move by the table above, and what has ended stays so. The end that is
-- ours is the one that was agreed: the same asset, account and address. An id that a person named may be named anew
-- while no deposit is known: what the exchange told of the former goes with it. What the exchange itself named stays.
create function keep_ramp_transfer() returns trigger language plpgsql as $$
declare
  renamed constant boolean := old.claimed is not null and new.claimed is distinct from old.claimed;
begin
  if renamed then
    if new.claimed is null or coalesce(old.deposit, new.deposit) is not null or old.state not in ('sent', 'unclear')
        or (old.reference is not null and old.reference <> old.claimed) then
      raise exception 'the id is not to be named anew' using errcode = 'check_violation', constraint = 'ramp_transfers_renamed';
    end if;
    new.reference := null;
    new.hash := null;
    new.exchange_status := null;
    new.exchange_amount := null;
    new.exchange_fee := null;
  end if;
  if new.claims is distinct from old.claims or new.claimed is distinct from old.claimed then
    if jsonb_array_length(new.claims) = 0 or new.claims - (-1) <> old.claims
        or new.claims -> -1 ->> 'reference' is distinct from new.claimed
        or (new.claims -> -1 ->> 'by') is null or (new.claims -> -1 ->> 'at') is null then
      raise exception 'claims are added one by one' using errcode = 'check_violation', constraint = 'ramp_transfers_claimed';
    end if;
  end if;
  if (old.external_ramp, old.exchange, old.kind, old.account, old.asset, old.value, old.owner, old.chain, old.network, old.offered_fee, old.created_at)
      is distinct from (new.external_ramp, new.exchange, new.kind, new.account, new.asset, new.value, new.owner, new.chain, new.network, new.offered_fee, new.created_at)
    or new.max_fee is distinct from old.max_fee
    or (old.address is not null and new.address is distinct from old.address)
    or (old.asked_at is not null and new.asked_at is distinct from old.asked_at)
    or (old.deposit is not null and new.deposit is distinct from old.deposit)
    or (old.withdrawal is not null and new.withdrawal is distinct from old.withdrawal)
    or (old.reference is not null and new.reference is distinct from old.reference and not renamed) then
    raise exception 'what a transfer was made of stays' using errcode = 'check_violation', constraint = 'ramp_transfers_kept';
  end if;
  if old.state <> new.state and not exists (select from ramp_transfer_transitions t
      where (t.kind, t.was, t.becomes) = (new.kind, old.state, new.state)) then
    raise exception 'a transfer does not go from % to %', old.state, new.state
      using errcode = 'check_violation', constraint = 'ramp_transfers_state';
  end if;
  if new.deposit is not null and not exists (select from deposits d where d.id = new.deposit and d.status = 'CONFIRMED'
      and lower(d.hash) = lower(new.hash)
      and (d.chain, d.network, d.address, d.asset) = (new.chain, new.network, new.address, new.asset)
      and d.created_at >= new.created_at - interval '1 minute') then
    raise exception 'the deposit is not the transfer''s' using errcode = 'check_violation', constraint = 'ramp_transfers_arrived';
  end if;
  if new.withdrawal is not null and not exists (select from withdrawals w where w.id = new.withdrawal
      and (w.account, w.chain, w.network, w.destination, w.asset, w.value)
        = (new.account, new.chain, new.network, new.address, new.asset, new.value)) then
    raise exception 'the withdrawal is not the transfer''s' using errcode = 'check_violation', constraint = 'ramp_transfers_paid';
  end if;
  if new.withdrawal is not null and old.withdrawal is null and (new.doubtful
      or exists (select from external_ramps r where r.id = new.external_ramp and r.credentials_at > new.created_at)) then
    raise exception 'the withdraw is not to be paid any more'
      using errcode = 'check_violation', constraint = 'ramp_transfers_credentials';
  end if;
  if new.kind = 'withdraw' and new.state = 'done' and not exists (select from withdrawals w
      where w.id = new.withdrawal and w.status = 'DONE')
    and not (new.withdrawal is null and exists (select from blocks b where b.id = new.block and b.status <> 'OPEN')) then
    raise exception 'the withdrawal is not done' using errcode = 'check_violation', constraint = 'ramp_transfers_settled';
  end if;
  return new;
end $$;
create trigger ramp_transfers_keep before update on ramp_transfers
  for each row execute function keep_ramp_transfer();

-- A transfer begins with nothing told, a deposit at an address that leads to its account, a withdraw with its value
-- blocked there: whoever may add rows cannot have an exchange pay to a foreign address.
create function check_ramp_transfer() returns trigger language plpgsql as $$
begin
  if new.state <> 'new' or new.doubtful or new.claims <> '[]' or coalesce(new.asked_at::text, new.reference, new.claimed, new.hash) is not null
    or coalesce(new.deposit, new.withdrawal) is not null then
    raise exception 'a transfer begins as new' using errcode = 'check_violation', constraint = 'ramp_transfers_new';
  end if;
  if new.created_at > clock_timestamp() + interval '1 minute' then
    raise exception 'the transfer is of the future' using errcode = 'check_violation', constraint = 'ramp_transfers_dated';
  end if;
  if new.kind = 'deposit' and not exists (select from addresses a
      where (a.chain, a.network, a.address) = (new.chain, new.network, new.address)
      and new.account in (a.account, a.target_account)) then
    raise exception 'the address is not the account''s' using errcode = 'check_violation', constraint = 'ramp_transfers_ours';
  end if;
  if new.kind = 'withdraw' and not exists (select from blocks b where b.id = new.block and b.status = 'OPEN'
      and (b.account, b.amount, b.reference_id) = (new.account, new.value, new.id)) then
    raise exception 'the value is not blocked' using errcode = 'check_violation', constraint = 'ramp_transfers_held';
  end if;
  return new;
end $$;
create trigger ramp_transfers_begin before insert on ramp_transfers
  for each row execute function check_ramp_transfer();

-- A ramp in quarantine: the database may be older than what was done. What has not begun here may have begun there.
create function doubt_ramp_transfers() returns trigger language plpgsql as $$
begin
  update ramp_transfers t set doubtful = true
  where t.state = 'new' and not t.doubtful and (t.chain, t.network) = (new.chain, new.network);
  return null;
end $$;
create trigger ramps_doubt after update of quarantined on ramps
  for each row when (old.quarantined is null and new.quarantined is not null) execute function doubt_ramp_transfers();
create trigger ramp_transfers_stay before delete or truncate on ramp_transfers
  for each statement execute function refuse_change();

select tell_of('external_ramps', 'ramp_transfers');
