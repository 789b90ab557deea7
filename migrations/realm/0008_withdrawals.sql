-- What:     withdrawals, fungible tokens, comparisons of chain and ledger, what was missing and is written off.
-- Why:      contract, sections 11 and 12.0; proof of solvency.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table withdrawals (
  id uuid primary key,
  account uuid not null,
  ramp uuid not null,
  chain text not null,
  network text not null,
  sender text not null,
  destination text not null,
  asset text not null,
  contract text,
  value numeric not null check (value > 0),
  amount numeric not null check (amount > 0),
  fee numeric not null check (fee >= 0),
  charged numeric not null check (charged > 0),
  surcharge numeric not null default 0 check (surcharge >= 0 and surcharge <= fee),
  returned numeric not null default 0 check (returned >= 0 and returned <= surcharge),
  paid_by text not null check (paid_by in ('sender', 'receiver')),
  speed text not null check (speed in ('slow', 'medium', 'fast')),
  max_fee numeric check (max_fee >= 0),
  gas_asset text,
  gas numeric check (gas >= 0),
  sponsored boolean not null default false,
  order_id uuid not null,
  block uuid not null,
  transaction uuid,
  status text not null default 'PROCESSING' check (status in ('PROCESSING', 'DONE', 'FAILED', 'CANCELED')),
  hash text,
  nonce integer,
  height integer,
  confirmations integer not null default 0,
  cost numeric check (cost >= 0),
  found_order_id uuid references chain_orders (id),
  found_payment integer check (found_payment >= 0),
  history jsonb not null default '[]' check (jsonb_typeof(history) = 'array'),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint withdrawals_charge check (charged = amount + fee),
  constraint withdrawals_finite check (greatest(charged, max_fee, gas, cost) < 'infinity'),
  constraint withdrawals_funded check ((transaction is null) = (account = ramp)),
  constraint withdrawals_value check (value = case paid_by when 'sender' then amount else charged - surcharge end),
  constraint withdrawals_max_fee check (fee <= max_fee),
  constraint withdrawals_gas check ((gas_asset is null) = (gas is null)),
  constraint withdrawals_returned check (returned = 0 or status = 'DONE'),
  constraint withdrawals_found_whole check ((found_order_id is null) = (found_payment is null)),
  constraint withdrawals_found_done check (found_order_id is null or status = 'DONE'),
  constraint withdrawals_order unique (order_id)
);
create unique index withdrawals_found on withdrawals (found_order_id, found_payment) where found_order_id is not null;
create index withdrawals_owner on withdrawals (owner, id);
create index withdrawals_account on withdrawals (account, id);
create index withdrawals_processing on withdrawals (account) where status = 'PROCESSING';
create index withdrawals_processing_asset on withdrawals (asset) where status = 'PROCESSING';
create index withdrawals_sponsored on withdrawals (sender, created_at) where sponsored;
create index withdrawals_open on withdrawals (id) where status = 'PROCESSING';
create index withdrawals_hash on withdrawals (hash) where hash is not null;
create index withdrawals_destination on withdrawals (destination, id);
create index withdrawals_own_destination on withdrawals (owner, destination, id);
create unique index withdrawals_transaction on withdrawals (transaction) where transaction is not null;
create index withdrawals_ramp on withdrawals (ramp, id) where status = 'PROCESSING';
comment on column withdrawals.charged is 'The amount that left the account: amount and fee, in whole units of the asset.';
comment on column withdrawals.surcharge is 'The amount that speed-ups added to the fee, part of fee and charged.';
comment on column withdrawals.max_fee is 'The most that its user pays for fees, a failed transaction included, in whole units; null for no bound.';
comment on column withdrawals.sponsored is 'Its user is charged nothing for its gas, and others pay: the account of another''s ramp, or the house.';
comment on column withdrawals.transaction is 'The move from the virtual account to its ramp; null where the ramp itself withdraws.';
comment on column withdrawals.returned is 'The part of the surcharge that was given back, because an attempt before a speed-up was mined.';
comment on column withdrawals.found_order_id is 'Of one that an operator called paid: the recovered order whose payment was its. Each payment is one withdrawal''s.';
comment on column withdrawals.found_payment is 'Which of the payments in that order''s request, from 0.';
comment on column withdrawals.cost is 'The fee that the chain took, in whole units of the asset or of gas_asset.';

-- The house's loss by withdrawals (cost less the amount charged), by customer, day (UTC) and asset; below 0 its
-- earnings. Whole units. If another coin pays the fee, its ramp bears it, which the ledger does not record.
create table holder_losses (
  holder uuid not null,
  asset text not null,
  testnet boolean not null,
  day date not null,
  lost numeric not null check (lost > '-infinity' and lost < 'infinity'),
  primary key (holder, asset, testnet, day)
) with (fillfactor = 50);
comment on column holder_losses.holder is 'An identity; zeros stand for all identities outside the house, so that their sum is one row.';
comment on table holder_losses is 'Noted by a trigger when a withdrawal ends. One canceled after it was signed costs the house the filler of its nonce: as much as was charged for it, about.';

-- The same for all users of one root together, however many they are: each of their identities counts once.
create table kin_losses (
  root uuid not null,
  asset text not null,
  testnet boolean not null,
  day date not null,
  lost numeric not null check (lost > '-infinity' and lost < 'infinity'),
  primary key (root, asset, testnet, day)
) with (fillfactor = 50);
comment on table kin_losses is 'Sums of holder_losses, maintained by triggers, so that no users are counted when a withdrawal is checked.';

-- The roots of an identity's users, nearly always one: one read for each root, however many users there are.
create function roots_of(p_identity uuid) returns setof uuid language sql stable as $$
  with recursive r as (
    (select u.root from users u where u.identity = p_identity and u.root is not null order by u.root limit 1)
    union all
    select (select u.root from users u where u.identity = p_identity and u.root > r.root order by u.root limit 1)
    from r where r.root is not null)
  select root from r where root is not null
$$;

create function note_loss() returns trigger language plpgsql as $$
begin
  insert into holder_losses (holder, asset, testnet, day, lost)
    select h.holder, new.asset, a.testnet, (now() at time zone 'utc')::date, x.lost
    from accounts a cross join lateral (select a.holder union all
      select '00000000-0000-0000-0000-000000000000' where not exists (
        select from users u where u.identity = a.holder and is_house(u) and u.deleted_at is null)) h
      -- Of a batch the part that was charged for: its fee is divided evenly, and others may spend many more coins.
      cross join lateral (select coalesce((
        select b.fee * o.charged / b.charged / ('1e' || a.decimals)::numeric from chain_orders o
          join chain_orders b on b.id = o.batch_order_id
        where o.id = new.order_id and b.purpose = 'batch' and b.charged > 0), new.cost) as cost) c
      cross join lateral (select case
      when new.status = 'DONE' and new.cost is not null then c.cost - new.fee + new.returned
      -- A failure costs its sender no more than the charge, and than its own bound; one that the house canceled, nothing.
      when new.status = 'FAILED' and new.cost is not null then greatest(c.cost - case when exists (
        select from order_attempts t where (t.order_id, t.hash, t.borne_by) = (new.order_id, new.hash, 'house')) then 0
        else least(new.charged, new.max_fee) end, 0)
      when new.status = 'CANCELED' and exists (select from chain_orders o where o.id = new.order_id
        and o.nonce is not null and o.hash is not null) then new.fee else 0 end as lost) x
    where a.id = new.account and x.lost <> 0
    on conflict (holder, asset, testnet, day) do update set lost = holder_losses.lost + excluded.lost;
  return null;
end $$;

-- A loss of an identity is a loss of its roots.
create function note_kin_loss() returns trigger language plpgsql as $$
begin
  insert into kin_losses (root, asset, testnet, day, lost)
    select r, new.asset, new.testnet, new.day, new.lost - case tg_op when 'UPDATE' then old.lost else 0 end
    from roots_of(new.holder) r
    on conflict (root, asset, testnet, day) do update set lost = kin_losses.lost + excluded.lost;
  return null;
end $$;
create trigger holder_losses_kin after insert or update on holder_losses for each row execute function note_kin_loss();

-- A new user brings the earlier losses of its identity to its root.
create function note_new_kin() returns trigger language plpgsql as $$
begin
  insert into kin_losses (root, asset, testnet, day, lost)
    select new.root, l.asset, l.testnet, l.day, l.lost from holder_losses l
    where l.holder = new.identity and not exists (
      select from users u where (u.identity, u.root) = (new.identity, new.root) and u.id <> new.id)
    on conflict (root, asset, testnet, day) do update set lost = kin_losses.lost + excluded.lost;
  return null;
end $$;
create trigger users_kin after insert on users for each row when (new.root is not null) execute function note_new_kin();

-- A user that joins or leaves the house, or gets another creator, separates the users below it from those above, or
-- joins them. Only the house does that, and rarely: it costs one read for each user below.
create function regroup_kin() returns trigger language plpgsql as $$
declare
  roots uuid[];
begin
  with recursive below as (
    select c.id, coalesce(new.root, c.id) as root from users c
    where c.owner = new.id and c.id <> new.id and not is_house(c)
    union
    select c.id, b.root from below b join users c on c.owner = b.id and c.id <> b.id and not is_house(c)
  ), moved as (
    update users u set root = b.root from below b
    where u.id = b.id and u.id <> new.id and u.root is distinct from b.root returning u.root
  )
  select array_agg(distinct root) into roots from (
    select root from moved union all select unnest(array[old.root, new.root])) r where root is not null;
  delete from kin_losses where root = any (roots);
  insert into kin_losses (root, asset, testnet, day, lost)
    select x.root, l.asset, l.testnet, l.day, sum(l.lost)
    from (select distinct root, identity from users where root = any (roots)) x
      join holder_losses l on l.holder = x.identity
    group by x.root, l.asset, l.testnet, l.day;
  delete from unused_addresses where owner = new.id and new.root is null;
  update unused_addresses x set root = u.root from users u
    where u.root = any (roots) and x.owner = u.id and x.root <> u.root;
  update external_addresses x set root = u.root from users u
    where (u.root = any (roots) or u.id = new.id) and x.owner = u.id and x.deleted_at is null and x.root is distinct from u.root;
  return null;
end $$;
create trigger users_kin_moved after update on users for each row
  when (pg_trigger_depth() = 0 and new.root is distinct from old.root) execute function regroup_kin();
create trigger withdrawals_loss after update of status on withdrawals for each row
  when (old.status = 'PROCESSING' and new.status <> 'PROCESSING' and new.gas_asset is null) execute function note_loss();

create table fungible_tokens (
  id uuid primary key,
  account uuid not null,
  chain text not null,
  network text not null,
  name text,
  symbol text not null,
  supply numeric not null check (supply >= 0 and supply < 'infinity'),
  decimals smallint not null check (decimals between 0 and 30),
  currency uuid,
  contract text,
  status text not null default 'pending' check (status in ('pending', 'deployed', 'registered', 'failed')),
  hash text,
  fee numeric check (fee >= 0 and fee < 'infinity'),
  order_id uuid,
  external boolean not null,
  since bigint,
  freeze_authority text,
  issuer_rights jsonb check (jsonb_typeof(issuer_rights) = 'object'),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint fungible_tokens_deployed check (status <> 'deployed' or contract is not null),
  constraint fungible_tokens_registered check (status <> 'registered' or (contract is not null and currency is not null))
);
comment on column fungible_tokens.freeze_authority is 'Of a third party''s token: the address that may freeze the tokens of holders, as its mint told when it was checked.';
comment on column fungible_tokens.issuer_rights is 'Of a third party''s token: what else its issuer may do, as its mint told when it was checked.';
comment on column fungible_tokens.since is 'Transfers to the ramp''s address up to this block are part of the registered supply.';
create index fungible_tokens_owner on fungible_tokens (owner, id);
create unique index fungible_tokens_symbol on fungible_tokens (symbol) where status <> 'failed';
create unique index fungible_tokens_contract on fungible_tokens (chain, network, contract)
  where contract is not null and status <> 'failed';
create index fungible_tokens_likeness_i on fungible_tokens (name_likeness(symbol, 'I'))
  where not external and status in ('pending', 'deployed');
create index fungible_tokens_likeness_l on fungible_tokens (name_likeness(symbol, 'L'))
  where not external and status in ('pending', 'deployed');
create index fungible_tokens_order on fungible_tokens (order_id) where order_id is not null;
create index fungible_tokens_currency on fungible_tokens (currency) where currency is not null;

-- A token that could not be registered in the end is not paid for.
create function tokens_differ() returns trigger language plpgsql as $$
begin
  if reads_like_anothers(new.symbol, new.owner) then
    raise exception 'this name reads like that of another user''s currency'
      using errcode = 'check_violation', constraint = 'fungible_tokens_likeness';
  end if;
  return new;
end $$;
create trigger fungible_tokens_differ before insert on fungible_tokens
  for each row execute function tokens_differ();

-- The supply of a token's currency never exceeds the token's.
create function check_token_supply() returns trigger language plpgsql as $$
begin
  if exists (select from fungible_tokens t join currencies c on c.id = t.currency
      where t.status = 'registered' and c.supply > t.supply
        and case tg_table_name when 'currencies' then c.id = new.id else t.id = new.id end) then
    raise exception 'more would be issued than there is of the token'
      using errcode = 'check_violation', constraint = 'currencies_backed';
  end if;
  return null;
end $$;
create trigger currencies_backed after update of supply on currencies
  for each row when (new.supply > old.supply) execute function check_token_supply();
create trigger fungible_tokens_backing after insert or update of supply, currency, status on fungible_tokens
  for each row execute function check_token_supply();

-- A token stays what it is from its beginning, and stands for one currency once it is registered. Its supply does not grow.
create function check_token_kept() returns trigger language plpgsql as $$
begin
  if (new.id, new.account, new.chain, new.network, new.symbol, new.decimals, new.supply, new.external, new.owner)
      is distinct from (old.id, old.account, old.chain, old.network, old.symbol, old.decimals, old.supply, old.external, old.owner)
    or old.contract is not null and new.contract is distinct from old.contract
    or old.currency is not null and new.currency is distinct from old.currency
    or new.status <> old.status and (old.status, new.status) not in
      (('pending', 'deployed'), ('pending', 'failed'), ('deployed', 'registered')) then
    raise exception 'token % is another', old.id using errcode = 'check_violation', constraint = 'fungible_tokens_kept';
  end if;
  return new;
end $$;
create trigger fungible_tokens_kept before update on fungible_tokens for each row execute function check_token_kept();

-- Returns why an account cannot be deleted: the value that it holds, or that is on its way to it. Null: it can be
-- deleted.
create function account_ties(p_account uuid) returns text language sql stable as $$
  select case
    when a.total <> 0 or a.blocked <> 0 then 'balance'
    when (select true from withdrawals w where w.account = a.id and w.status = 'PROCESSING' limit 1)
      or (select true from withdrawals w where w.ramp = a.id and w.status = 'PROCESSING' limit 1) then 'withdrawal'
    when (select true from (select account from sweeps where state not in ('done', 'failed') order by ramp offset 0) s
        where s.account = a.id limit 1)
      or (select true from sweeps s where s.ramp = a.id and s.state not in ('done', 'failed') limit 1) then 'sweep'
    when (select true from deposits d where d.account = a.id and d.status = 'PENDING' limit 1) then 'deposit'
    when exists (select from addresses n join accounts x on x.id = n.account
      where n.target_account = a.id and (x.total <> 0
        or exists (select from deposits d where d.account = x.id and d.status = 'PENDING'))) then 'forward'
    when a.type = 'ramp' and exists (select from addresses n join accounts x on x.id = n.account
      where n.ramp = a.id and n.account <> a.id and (x.total <> 0
        or exists (select from deposits d where d.account = x.id and d.status = 'PENDING'))) then 'forward'
    end
  from accounts a where a.id = p_account
$$;

-- Fires at a deletion alone: the ledger's own updates do not name deleted_at.
create function check_deletion() returns trigger language plpgsql as $$
declare
  tie text := account_ties(new.id);
begin
  if tie is null or new.type = 'system' then return new; end if;
  raise exception 'account % cannot be deleted: %', new.id, tie
    using errcode = 'check_violation', constraint = 'accounts_deletable';
end $$;
create trigger accounts_deletable after update of deleted_at on accounts
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function check_deletion();

-- The last comparison of each asset; missing assets stop its withdrawals until they are there again.
create table solvency (
  asset text not null,
  testnet boolean not null,
  assets numeric not null,
  height integer not null,
  liabilities numeric not null,
  fees numeric not null,
  position uuid,
  pending numeric not null,
  sending numeric not null,
  drift numeric not null,
  solvent boolean not null,
  stopped boolean not null,
  provisional boolean not null,
  ramps jsonb not null default '[]' check (jsonb_typeof(ramps) = 'array'),
  checked_at timestamptz not null,
  primary key (asset, testnet),
  constraint solvency_drift check (drift = assets - pending - sending - liabilities - fees),
  constraint solvency_covered check (not solvent or (assets - pending - sending >= liabilities and drift >= 0)),
  constraint solvency_missing check (stopped or drift >= 0),
  constraint solvency_finite check (greatest(assets, liabilities, fees, pending, sending) < 'infinity'
    and least(assets, liabilities, fees, pending, sending) > '-infinity')
);

-- Each comparison is kept for 30 days, one of each hour for two years.
create table solvency_samples (
  asset text not null,
  testnet boolean not null,
  checked_at timestamptz not null,
  hourly boolean not null,
  assets numeric not null,
  liabilities numeric not null,
  fees numeric not null,
  pending numeric not null,
  sending numeric not null,
  drift numeric not null,
  solvent boolean not null,
  height integer not null,
  position uuid,
  constraint solvency_samples_drift check (drift = assets - pending - sending - liabilities - fees),
  constraint solvency_samples_finite check (greatest(assets, liabilities, fees, pending, sending) < 'infinity'
    and least(assets, liabilities, fees, pending, sending) > '-infinity')
);
create index solvency_samples_old on solvency_samples (hourly, checked_at);
alter table solvency_samples add primary key (asset, testnet, checked_at); -- made last, so that plans take it
comment on column solvency_samples.hourly is 'The one of its hour (UTC) that is kept for two years.';

comment on column solvency.assets is 'At the addresses of the ramps and their deposit accounts, at the height.';
comment on column solvency.liabilities is 'Owed to accounts up to the position, without those of the system, linked value, and payments on their way.';
comment on column solvency.fees is 'Earned by the house, or below 0 lost; never counted as cover.';
comment on column solvency.pending is 'On the chain at the height and not credited; less what was credited from later blocks.';
comment on column solvency.sending is 'Set aside for orders that may have been broadcast and are in no chain block up to the height.';
comment on column solvency.provisional is 'A ramp of the asset was in quarantine, or its chain halted, when the figures were read: what is booked at the end of that is not in them.';
comment on column solvency.drift is 'Assets less pending, sending, liabilities and fees; below 0 assets are missing, above 0 there are assets that nothing explains.';

-- What was missing and is booked as a loss of the house: it leaves `fees` to `world`. ledger_post alone writes it.
create table write_offs (
  transaction uuid primary key,
  asset text not null,
  testnet boolean not null,
  amount numeric not null check (amount > 0),
  drift numeric not null,
  height integer not null,
  position uuid,
  created_at timestamptz not null,
  constraint write_offs_drift check (amount <= -drift and drift < 0 and drift > '-infinity')
);
create index write_offs_asset on write_offs (asset, testnet, transaction);
comment on table write_offs is 'Append-only. Together no more than what comparisons found missing.';
comment on column write_offs.drift is 'Drift, height and position are those of the comparison by which it was booked.';
create trigger write_offs_append_only before update or delete or truncate on write_offs
  for each statement execute function refuse_change();

-- Whether bookings of an asset wait for a reconciliation, or for a rescan of a chain that halted.
create function is_provisional(p_asset text, p_testnet boolean) returns boolean language sql stable as $$
  select exists (select from ramps r, lateral (select asset, testnet from accounts where id = r.account offset 0) a
    where ((a.asset, a.testnet) = (p_asset, p_testnet) or not p_testnet and exists (select from fungible_tokens t
        where t.account = r.account and t.symbol = p_asset and t.status = 'registered'))
      and (r.quarantined is not null or exists (select from chain_cursors c
        where (c.chain, c.network) = (r.chain, r.network) and c.halted is not null)))
$$;

-- What may be booked as a loss of the house: the least that was missing in any comparison of the hour before the last,
-- each less what was booked and it did not count yet. Nodes that are wrong for a moment make nothing missing for an hour.
-- provisional: what is missing may be found at the end of a quarantine or of a halt, which the last comparison is to be after.
-- A comparison of the future is of a clock that is wrong, and would stay fresh.
create function missing_of(
  p_asset text, p_testnet boolean,
  out drift numeric, out height integer, out "position" uuid, out amount numeric, out fresh boolean, out provisional boolean
) language sql stable as $$
  select s.drift, s.height, s.position,
    greatest(0, (select min(-q.drift - coalesce((select sum(w.amount) from write_offs w
          where w.asset = s.asset and w.testnet = s.testnet
            and w.transaction > coalesce(q.position, '00000000-0000-0000-0000-000000000000')), 0))
        from (select s.drift, s.position union all select x.drift, x.position from solvency_samples x
          where x.asset = s.asset and x.testnet = s.testnet and x.checked_at >= h.before) q
        where h.before is not null)),
    s.checked_at between now() - interval '5 minutes' and now() + interval '1 minute',
    s.provisional or is_provisional(s.asset, s.testnet)
  from solvency s cross join lateral (select max(y.checked_at) as before from solvency_samples y where y.asset = s.asset
    and y.testnet = s.testnet and y.checked_at <= s.checked_at - interval '1 hour') h
  where s.asset = p_asset and s.testnet = p_testnet
$$;

-- The data that its transaction carries for ever, besides the reason.
create function write_off_seal(w write_offs) returns jsonb language sql immutable as $$
  select jsonb_build_object('writes_off', 'missing', 'drift', trim_scale(w.drift)::text, 'height', w.height, 'position', w.position)
$$;

create function check_write_off() returns trigger language plpgsql as $$
declare
  m record;
begin
  select * into m from missing_of(new.asset, new.testnet);
  if (new.amount <= m.amount and (new.drift, new.height) = (m.drift, m.height) and m.fresh and not m.provisional) is not true
      or new.position is distinct from m.position then
    raise exception 'transaction % takes more out of the books than is missing', new.transaction
      using errcode = 'check_violation', constraint = 'write_offs_missing';
  end if;
  if not exists (select from transactions t where t.id = new.transaction and t.type = 'fee'
      and (t.asset, t.testnet, t.amount, t.created_at) = (new.asset, new.testnet, new.amount, new.created_at)
      and t.seal - 'reason' = write_off_seal(new)) then
    raise exception 'transaction % does not say what it books', new.transaction
      using errcode = 'check_violation', constraint = 'write_offs_transaction';
  end if;
  return new;
end $$;
create trigger write_offs_missing before insert on write_offs for each row execute function check_write_off();
