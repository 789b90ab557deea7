-- What:     encrypted secrets (seeds), ramps, addresses, scan results of the chains: cursors with samples, blocks,
--           deposits, unmatched deposits, coins, balances; prices of sending; reserved inputs; sweeps; deposit
--           applications; watched addresses.
-- Why:      contract, sections 9 and 10; design, section 5. A place in comments is (chain, network).
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table secrets (
  id uuid primary key,
  kind text not null check (length(kind) between 1 and 40),
  master text not null,
  wrapped bytea not null,
  ciphertext bytea not null,
  updated_at timestamptz,
  created_at timestamptz not null
);
create unique index secrets_seed on secrets (kind) where kind = 'seed';
create index secrets_master on secrets (master);
create function keep_seed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.kind = 'seed' and current_setting('purser.seed', true) is distinct from 'restored'
        and exists (select 1 from ramps where next_index > 0) then
      raise exception 'a realm with addresses gets no other seed' using errcode = 'restrict_violation';
    end if;
    return new;
  end if;
  if exists (select 1 from ramps where next_index > 0) then
    raise exception 'the seed of a realm with addresses stays' using errcode = 'restrict_violation';
  end if;
  return old;
end $$;
create trigger secrets_seed_made before insert on secrets for each row execute function keep_seed();
create trigger secrets_seed_kept before delete on secrets for each row when (old.kind = 'seed')
  execute function keep_seed();
comment on table secrets is 'AES-256-GCM: encrypted under a data key of its own, which is encrypted under the master key. Bound to realm, kind and id.';
comment on column secrets.master is 'Fingerprint of the master key that wraps it, so that a rotation can be resumed.';

create table ramps (
  account uuid primary key,
  chain text not null,
  network text not null check (network in ('main', 'testnet', 'signet', 'regtest')),
  number integer not null check (number >= 0),
  xpub text,
  next_index integer not null default 0 check (next_index >= 0),
  reserved integer not null default 0 check (reserved >= 0),
  quarantined jsonb check (jsonb_typeof(quarantined) = 'object'),
  created_at timestamptz not null,
  constraint ramps_number unique (chain, network, number)
);
comment on column ramps.number is 'The account step of the derivation path; two ramps of a chain share nothing.';
comment on column ramps.xpub is 'Null until the signer has derived it, and always on Solana, whose addresses come from reserved_addresses.';
comment on column ramps.next_index is 'The next address to hand out. It only grows.';
comment on column ramps.reserved is 'Addresses below this index are in reserved_addresses, unless the index was passed over.';
comment on column ramps.quarantined is 'Why nothing is signed and no address handed out until the ramp is reconciled.';
create function keep_index() returns trigger language plpgsql as $$
begin
  raise exception 'an address index is handed out once' using errcode = 'restrict_violation';
end $$;
create trigger ramps_index before update on ramps for each row when (new.next_index < old.next_index)
  execute function keep_index();
-- Keys follow from chain, network and number: once a ramp has addresses, others would be derived for it.
create trigger ramps_facts before update on ramps
  for each row when ((old.account, old.chain, old.network) is distinct from (new.account, new.chain, new.network)
    or old.next_index > 0 and new.number <> old.number or old.xpub is not null and new.xpub is distinct from old.xpub)
  execute function keep_facts();

create table addresses (
  id uuid primary key,
  account uuid not null,
  ramp uuid not null references ramps (account),
  target_account uuid,
  chain text not null,
  network text not null,
  address text not null,
  derivation_key integer not null check (derivation_key >= 0),
  xpub text,
  asset text not null,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid,
  created_at timestamptz not null,
  constraint addresses_index unique (ramp, derivation_key),
  constraint addresses_account unique (account)
);
create index addresses_target on addresses (target_account, id) where target_account is not null;
create index addresses_ramp on addresses (ramp, id) where target_account is null;
create index addresses_place on addresses (chain, network, id);
create index addresses_text on addresses (address);
-- Made last: of indexes that cost the same while a table is empty, PostgreSQL takes the newest, and keeps the plan.
alter table addresses add constraint addresses_address unique (chain, network, address);
-- An address that was handed out never changes its account and is never deleted.
create trigger addresses_facts before update on addresses
  for each row when (old is distinct from new) execute function keep_facts();
create trigger addresses_stay before delete on addresses for each row execute function keep_facts();
comment on column addresses.account is 'The ramp account (index 0) or the deposit account that value received here belongs to.';
comment on column addresses.target_account is 'The virtual account that a deposit received here goes on to; null for none.';

create table external_addresses (
  id uuid primary key,
  account uuid not null,
  chain text not null,
  network text not null,
  address text not null,
  currency text not null,
  since bigint not null,
  owner uuid,
  root uuid,
  paused_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null
);
create unique index external_addresses_address on external_addresses (chain, network, address)
  where deleted_at is null;
create index external_addresses_account on external_addresses (account, id);
create index external_addresses_text on external_addresses (address) where deleted_at is null;
create index external_addresses_owner on external_addresses (owner) where deleted_at is null;
create index external_addresses_root on external_addresses (root) where deleted_at is null and root is not null;
comment on column external_addresses.root is 'The customer (users.root) of the owner; null for users of the house. Maintained by triggers.';
comment on column external_addresses.since is 'The newest block seen when it was assigned: only later ones count.';
comment on column external_addresses.paused_at is 'When more deposits arrived than a day records of its account: it is watched no more.';

-- A key has one address on all chains of its family, so the text alone identifies its account.
create table reserved_addresses (
  address text primary key,
  ramp uuid not null references ramps (account),
  derivation_key integer not null check (derivation_key >= 0),
  created_at timestamptz not null,
  shared boolean not null default false,
  constraint reserved_addresses_index unique (ramp, derivation_key)
);
create index reserved_addresses_unshared on reserved_addresses (address) where not shared;
comment on column reserved_addresses.shared is 'The directory of the installation has its digest, so that no other realm links it.';
comment on table reserved_addresses is 'Addresses that ramps will hand out, derived ahead, so that nobody links them.';

-- One key has one address on several chains, and a ramp of its own on each.
create table passed_addresses (
  chain text not null,
  network text not null,
  address text not null,
  ramp uuid not null references ramps (account),
  derivation_key integer not null check (derivation_key >= 0),
  created_at timestamptz not null,
  primary key (chain, network, address),
  constraint passed_addresses_index unique (ramp, derivation_key)
);
comment on table passed_addresses is
  'Addresses that a reconciliation passed over. A newer database may have handed them out, so they are watched, and belong to the ramp once something arrives.';

-- An own address is linked to no account, whichever of the two rows came first.
create function refuse_own_link() returns trigger language plpgsql as $$
begin
  if not watches_addresses(new.account) then
    raise exception 'nothing is linked to this account'
      using errcode = 'check_violation', constraint = 'external_addresses_watching';
  end if;
  if exists (select 1 from addresses a where a.address = new.address)
    or exists (select 1 from reserved_addresses r where r.address = new.address) then
    raise exception 'an address of ours is not linked'
      using errcode = 'unique_violation', constraint = 'external_addresses_own';
  end if;
  return new;
end $$;
create trigger external_addresses_own before insert or update of account, chain, network, address, deleted_at on external_addresses
  for each row when (new.deleted_at is null) execute function refuse_own_link();

create trigger external_addresses_facts before update on external_addresses
  for each row when ((old.id, old.account, old.chain, old.network, old.address, old.since)
    is distinct from (new.id, new.account, new.chain, new.network, new.address, new.since)) execute function keep_facts();

-- A customer has so many linked addresses at most, and their number is asked for at each new one.
create function keep_link_root() returns trigger language plpgsql as $$
begin
  new.root := (select u.root from users u where u.id = new.owner);
  return new;
end $$;
create trigger external_addresses_root before insert or update of owner, root on external_addresses
  for each row execute function keep_link_root();

create function refuse_linked_own() returns trigger language plpgsql as $$
begin
  if exists (select 1 from external_addresses e where e.address = new.address and e.deleted_at is null) then
    raise exception 'an address of ours is still linked to an account'
      using errcode = 'unique_violation', constraint = 'addresses_linked';
  end if;
  return new;
end $$;
create trigger addresses_linked before insert or update of address on addresses
  for each row execute function refuse_linked_own();
create trigger reserved_addresses_linked before insert or update of address on reserved_addresses
  for each row execute function refuse_linked_own();

-- Solana has no xpubs: an address is handed out only from those that a worker has derived.
create function check_stock() returns trigger language plpgsql as $$
begin
  if not exists (select from reserved_addresses r where r.address = new.address and r.ramp = new.ramp
    and r.derivation_key = new.derivation_key) then
    raise exception 'no worker has derived this address'
      using errcode = 'check_violation', constraint = 'addresses_stock';
  end if;
  return new;
end $$;
create trigger addresses_stock before insert on addresses for each row when (new.chain = 'SOLANA')
  execute function check_stock();

create table chain_cursors (
  chain text not null,
  network text not null,
  height bigint not null,
  hash text not null,
  head bigint not null,
  finalized bigint,
  balances_height bigint not null default -1,
  halted jsonb,
  error text,
  warning text,
  scanned_at timestamptz not null,
  created_at timestamptz not null,
  primary key (chain, network)
) with (fillfactor = 50);
comment on column chain_cursors.height is 'The last block whose transfers are all recorded.';
comment on column chain_cursors.head is 'The newest block the node has shown; deposits are counted against it.';
comment on column chain_cursors.finalized is 'The newest block that as many nodes as the quorum call final; null where fewer tell: there the depth alone counts.';
comment on column chain_cursors.warning is 'A warning to the operator while the chain is scanned: nodes that contradict each other, deposits that too few confirm.';
comment on column chain_cursors.balances_height is 'The height of the last comparison of balances.';
comment on column chain_cursors.halted is 'Why nothing is credited here until an operator acts: a reorganisation beyond the depth.';

-- Samples of the cursors, one each minute.
create table chain_samples (
  chain text not null,
  network text not null,
  sampled_at timestamptz not null,
  hourly boolean not null,
  height bigint not null,
  scanned bigint not null,
  scanned_at timestamptz not null,
  healthy boolean not null
);
create index chain_samples_old on chain_samples (hourly, sampled_at);
-- Made last: of indexes that cost the same while a table is empty, PostgreSQL takes the newest, and keeps the plan.
alter table chain_samples add primary key (chain, network, sampled_at);
comment on column chain_samples.hourly is 'The one of its hour (UTC) that is kept for two years; the others are kept for 30 days.';
comment on column chain_samples.height is 'The newest block that the node had shown.';
comment on column chain_samples.scanned is 'The last block whose transfers were all recorded.';

create table chain_blocks (
  chain text not null,
  network text not null,
  height bigint not null,
  hash text not null,
  parent_hash text not null,
  primary key (chain, network, height)
);
comment on table chain_blocks is 'The last scanned chain blocks, to find the common ancestor after a reorganisation.';

create table token_proofs (
  chain text not null,
  network text not null,
  contract text not null,
  asset text not null,
  created_at timestamptz not null,
  primary key (chain, network, contract, asset)
);
comment on table token_proofs is 'Contracts whose decimals and symbol a node has shown to be those of an asset, before its first use.';

create table deposits (
  id uuid primary key,
  chain text not null,
  network text not null,
  hash text not null,
  index integer not null,
  account uuid not null,
  beneficiary uuid,
  address text not null,
  asset text not null,
  contract text,
  amount numeric not null check (amount > 0),
  sender text,
  block bigint,
  block_hash text,
  matures_at bigint,
  confirmations integer not null default 0 check (confirmations >= 0),
  status text not null default 'PENDING' check (status in ('PENDING', 'CONFIRMED', 'ORPHANED')),
  credited numeric check (credited > 0),
  transaction uuid,
  sweep uuid,
  app uuid,
  address_data jsonb,
  held text,
  owner uuid,
  error jsonb,
  tries integer not null default 0 check (tries >= 0),
  retry_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint deposits_held check (held is null or status <> 'CONFIRMED'),
  constraint deposits_credited check ((status = 'CONFIRMED') = (credited is not null)),
  constraint deposits_brought check (credited <= amount),
  constraint deposits_finite check (amount < 'infinity'),
  constraint deposits_posted check ((status = 'CONFIRMED') = (transaction is not null))
);
-- A deposit at an own address is never credited to an account as linked value.
create function refuse_linked_deposit() returns trigger language plpgsql as $$
begin
  if watches_addresses(new.account) and exists (select 1 from addresses o
      where o.chain = new.chain and o.network = new.network and o.address = new.address) then
    raise exception 'a deposit at an address of ours is not linked value'
      using errcode = 'check_violation', constraint = 'deposits_linked';
  end if;
  return new;
end $$;
create trigger deposits_linked before insert or update of account, address on deposits
  for each row execute function refuse_linked_deposit();
create trigger deposits_linked_booked before update of status on deposits
  for each row when (new.status = 'CONFIRMED' and old.status <> 'CONFIRMED')
  execute function refuse_linked_deposit();
-- Whoever writes a deposit, the account that it serves follows from its address and its account.
create function name_beneficiary() returns trigger language plpgsql as $$
begin
  new.beneficiary := coalesce(
    (select o.target_account from addresses o
      where (o.chain, o.network, o.address, o.account) = (new.chain, new.network, new.address, new.account)),
    (select a.id from accounts a where a.id = new.account and a.type = 'virtual'));
  return new;
end $$;
create trigger deposits_beneficiary before insert or update of account, address, beneficiary on deposits
  for each row execute function name_beneficiary();
create unique index deposits_source on deposits (hash, index, chain, network,
  (case when index = -2 then address else '' end));
create unique index deposits_transaction on deposits (transaction) where transaction is not null;
create index deposits_owner on deposits (owner, id);
create index deposits_account on deposits (account, id);
create index deposits_served on deposits (beneficiary, id) where beneficiary is not null;
create index deposits_error on deposits (id)
  where case when held is null then error else '{"code": "chain.quarantined"}' end is not null;
-- Without it PostgreSQL takes nearly every deposit for one with an error, and reads them all.
create statistics deposits_faulty on (case when held is null then error else '{"code": "chain.quarantined"}' end)
  from deposits;
create index deposits_waiting on deposits (account) where status = 'PENDING';
create index deposits_denied on deposits (chain, network, retry_at) where status = 'ORPHANED' and retry_at is not null;
create index deposits_block on deposits (chain, network, block);
create index deposits_sweep on deposits (sweep) where sweep is not null;
create index deposits_unswept on deposits (account) where status = 'CONFIRMED' and sweep is null;
create index deposits_address on deposits (address, chain, network, block);
create index deposits_detached on deposits (chain, network, id) where block is null and status = 'PENDING';
-- Made last, so that plans made on an empty table take it for what is pending.
create index deposits_open on deposits (chain, network, block) where status = 'PENDING';
create index deposits_open_assets on deposits (chain, network, asset) where status = 'PENDING';
-- Ramps and deposit accounts of customers that never had a credited deposit: one customer has so many at most, and their
-- number is asked for at each new one.
create table unused_addresses (
  account uuid primary key,
  owner uuid not null,
  root uuid not null
);
create index unused_addresses_root on unused_addresses (root);
create index unused_addresses_owner on unused_addresses (owner);
comment on column unused_addresses.root is 'The customer (users.root) of the owner. Maintained by triggers.';

-- An account that is being opened counts before it has an address.
create function note_unused() returns trigger language plpgsql as $$
begin
  insert into unused_addresses (account, owner, root)
    select a.id, u.id, u.root from accounts a join users u on u.id = a.owner
    where a.id = new.account and u.root is not null
    on conflict do nothing;
  return null;
end $$;
create trigger ramps_unused after insert on ramps for each row execute function note_unused();
create trigger addresses_unused after insert on addresses for each row when (new.derivation_key > 0)
  execute function note_unused();

create function note_used() returns trigger language plpgsql as $$
begin
  delete from unused_addresses where account = new.account;
  return null;
end $$;
create trigger deposits_used after update of status on deposits for each row
  when (new.status = 'CONFIRMED' and old.status <> 'CONFIRMED') execute function note_used();
comment on column deposits.index is 'Of the output or log in its transaction; -1 its own value, -2 the value that calls inside it brought to the address.';
comment on column deposits.retry_at is 'When it is tried again after the ledger refused it, or asked for again after nodes denied it; error says why.';
comment on column deposits.beneficiary is 'The virtual account that the value goes on to, or that is credited itself; null where it stays on a ramp. A trigger names it.';
comment on column deposits.held is 'Why it is not booked before a reconciliation: our own keys sent it, and nothing here knows of that.';
comment on column deposits.credited is 'The amount booked: less than amount if the token took a fee.';

-- Deposits as lists filter them, with the error that they are shown with.
create view deposit_list as
  select id, account, beneficiary, address, asset, hash, index, block, amount, confirmations, status, transaction,
    address_data, owner, case when held is null then error else '{"code": "chain.quarantined"}' end as error, updated_at,
    created_at
  from deposits;

-- Unmatched deposits: an asset arrived at an address of ours that is for another asset. Never booked, never swept.
create table unmatched_deposits (
  id uuid primary key,
  chain text not null,
  network text not null,
  hash text not null,
  index integer not null,
  account uuid not null,
  address text not null,
  asset text,
  contract text,
  amount_base numeric(78, 0) not null check (amount_base > 0 and amount_base < 'infinity'),
  sender text,
  block bigint not null,
  created_at timestamptz not null
);
create unique index unmatched_deposits_source on unmatched_deposits (hash, index, chain, network,
  (case when index = -2 then address else '' end));
create index unmatched_deposits_address on unmatched_deposits (address, chain, network, id);
create index unmatched_deposits_block on unmatched_deposits (chain, network, block);
comment on column unmatched_deposits.asset is 'The asset of this contract; null for a token that the realm does not know.';
comment on column unmatched_deposits.amount_base is 'Base units, as the chain''s log or value states.';

-- Rescans that operators asked for, with what workers found.
create table rescans (
  id uuid primary key,
  chain text not null,
  network text not null,
  hash text check (length(hash) between 1 and 128),
  from_height bigint check (from_height >= 0),
  to_height bigint check (to_height >= from_height),
  found jsonb not null default '[]' check (jsonb_typeof(found) = 'array' and jsonb_array_length(found) <= 100),
  found_count integer not null default 0 check (found_count >= 0),
  node text check (node in ('unknown', 'pending', 'failed', 'mined')),
  node_height bigint check (node_height >= 0),
  error jsonb,
  owner uuid not null,
  finished_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint rescans_what check ((hash is null) = (from_height is not null) and (hash is null) = (to_height is not null)),
  constraint rescans_node check ((node in ('failed', 'mined')) is true = (node_height is not null))
);
create index rescans_open on rescans (chain, network) where finished_at is null;
create index rescans_hash on rescans (hash, id) where hash is not null;
comment on table rescans is 'A row is kept for 90 days. Its job has the same id.';
comment on column rescans.found is 'The first transfers to our addresses: the deposit or unmatched deposit that each is, or the transfer itself.';
comment on column rescans.node is 'What one node knows of the transaction; null until it was asked.';

-- Coins are known for the addresses of ramps, on chains that have coins. Amounts in base units.
create table coins (
  chain text not null,
  network text not null,
  hash text not null,
  index integer not null,
  address text not null,
  ramp uuid not null,
  amount numeric(78, 0) not null check (amount > 0),
  height bigint,
  matures_at bigint,
  parent_fee numeric(78, 0) check (parent_fee >= 0),
  parent_vsize integer check (parent_vsize > 0),
  spent_by text,
  spent_height bigint,
  kept text,
  spender_tries integer not null default 0 check (spender_tries >= 0),
  spender_retry_at timestamptz,
  created_at timestamptz not null,
  primary key (hash, index, chain, network),
  constraint coins_finite check (greatest(amount, parent_fee) < 'infinity'),
  constraint coins_spent_once check ((spent_by is null) = (spent_height is null))
);
create index coins_unspent on coins (chain, network, hash, index) where spent_by is null;
create index coins_free on coins (chain, network, address, amount) where spent_by is null;
create index coins_lost on coins (chain, network, kept) where kept is not null and spent_by is null;
create index coins_taken on coins (chain, network, kept, spent_by) where kept <> spent_by;
create index coins_height on coins (chain, network, height);
create index coins_spent on coins (chain, network, spent_height) where spent_height is not null;
create index coins_spender_unknown on coins (chain, network, spender_retry_at) where spent_by = 'unknown';
comment on column coins.spender_retry_at is 'When the spender of a coin whose spender is unknown is searched again; null for now.';
comment on column coins.height is 'Null while unconfirmed: then it is change of our own.';
comment on column coins.kept is 'The transaction of a finished order that spent it: no other may, also where the chain loses its block.';
comment on column coins.spent_by is 'The transaction that a block showed to spend it, ''unknown'' where the nodes no longer have the coin and no block was found that spends it; whether it is reserved is told by reserved_inputs.';

create trigger coins_facts before update on coins
  for each row when ((old.chain, old.network, old.hash, old.index, old.address, old.ramp, old.amount)
    is distinct from (new.chain, new.network, new.hash, new.index, new.address, new.ramp, new.amount))
  execute function keep_facts();

-- How far the comparison of stored coins with the nodes' has come; each pass compares the next ones.
create table coin_rounds (
  chain text not null,
  network text not null,
  hash text not null,
  index integer not null,
  primary key (chain, network)
) with (fillfactor = 50);

-- Balances of own addresses as last read from the chain, in base units. contract '' is the chain's own coin.
create table onchain_balances (
  chain text not null,
  network text not null,
  address text not null,
  contract text not null default '',
  amount numeric(78, 0) not null default 0 check (amount >= 0 and amount < 'infinity'),
  height bigint not null,
  nonce bigint check (nonce >= 0),
  seen_at timestamptz not null,
  primary key (chain, network, address, contract)
) with (fillfactor = 80);
comment on column onchain_balances.nonce is 'Transactions that the address had sent by then; null if that was not read.';

-- Gains of balances that the known transfers do not explain, until they are explained.
create table unexplained_gains (
  chain text not null,
  network text not null,
  address text not null,
  contract text not null default '',
  above bigint not null,
  height bigint not null,
  gained numeric(78, 0) not null check (gained > 0),
  searched bigint not null,
  found numeric(78, 0) not null default 0 check (found >= 0),
  rewarded boolean not null default false,
  tries integer not null default 0 check (tries >= 0),
  error text,
  retry_at timestamptz not null,
  created_at timestamptz not null,
  primary key (chain, network, address, contract, height),
  constraint unexplained_gains_finite check (greatest(gained, found) < 'infinity'),
  constraint unexplained_gains_range check (above <= searched and searched < height)
);
create index unexplained_gains_due on unexplained_gains (chain, network, retry_at);
comment on column unexplained_gains.above is 'The gain came in blocks above this one, up to height.';
comment on column unexplained_gains.rewarded is 'Whether what came without a transaction may be part of it: it is found with the blocks that are searched.';
comment on column unexplained_gains.searched is 'Where old balances are gone: the blocks up to here were searched one by one, and found is their sum.';

-- Fee quotes: the cost of a payment as workers last read it, in base units of fee_contract.
create table fee_quotes (
  chain text not null,
  network text not null,
  contract text not null default '',
  speed text not null check (speed in ('slow', 'medium', 'fast')),
  fee_contract text,
  base numeric(78, 0) not null,
  per_input numeric(78, 0) not null,
  per_payment numeric(78, 0) not null,
  least numeric(78, 0) not null,
  quoted_at timestamptz not null,
  primary key (chain, network, contract, speed),
  constraint fee_quotes_amounts check (least(base, per_input, per_payment, least) >= 0
    and greatest(base, per_input, per_payment, least) < 'infinity')
);

-- Inputs reserved by open orders: 'txid:vout' or 'address:nonce'. A row is deleted when its transaction is final or
-- its order is dropped; until then no other order can use the input.
create table reserved_inputs (
  chain text not null,
  network text not null,
  input text not null,
  order_id uuid not null,
  consumed_by text,
  consumed_height bigint,
  created_at timestamptz not null,
  primary key (chain, network, input)
);
create index reserved_inputs_order on reserved_inputs (order_id);
create index reserved_inputs_parent on reserved_inputs (split_part(input, ':', 1));
create index reserved_inputs_consumed on reserved_inputs (chain, network, consumed_height) where consumed_height is not null;
comment on column reserved_inputs.consumed_by is 'The transaction that a scanned block showed to use it up.';

-- Sweeps of deposit accounts to their ramps: one at a time per account.
create table sweeps (
  id uuid primary key,
  account uuid not null,
  ramp uuid not null,
  chain text not null,
  network text not null,
  state text not null default 'new'
    check (state in ('new', 'waiting', 'topping', 'topped', 'sweeping', 'done', 'failed')),
  amount numeric check (amount >= 0),
  arrived numeric check (arrived >= 0),
  fee numeric check (fee >= 0),
  ahead numeric not null default 0 check (ahead >= 0),
  borne numeric not null default 0 check (borne >= 0),
  gas_order uuid,
  order_id uuid,
  hash text,
  strikes integer not null default 0 check (strikes >= 0),
  beside boolean not null default false check (not beside or state in ('sweeping', 'done', 'failed')),
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint sweeps_finite check (greatest(amount, arrived, fee, ahead, borne) < 'infinity')
);
create unique index sweeps_account on sweeps (account) where state not in ('done', 'failed') and not beside;
create index sweeps_ahead on sweeps (account) where ahead > 0 or borne > 0;
create index sweeps_ramp on sweeps (ramp) where state not in ('done', 'failed');
create index sweeps_ended on sweeps (account, id) where state in ('done', 'failed');
create index sweeps_open on sweeps (chain, network, id) where state not in ('done', 'failed');
create index sweeps_recent on sweeps (chain, network, updated_at);
comment on column sweeps.arrived is 'The amount that reached the ramp''s address: less than amount if the token took a fee.';
comment on column sweeps.ahead is 'Left the address before it was credited; booked on as soon as it is.';
comment on column sweeps.borne is 'The part of the fee that the account fees paid because nothing was credited yet; given back as soon as it is.';
comment on column sweeps.strikes is 'Attempts in a row, with this one, that the chain took a fee for and that moved nothing: each makes the pause longer.';
comment on column sweeps.beside is 'Books a transaction that was found while that of the account''s open sweep was sent too: both may be mined.';
comment on column sweeps.state is 'new, waiting (dust: worth less than its fee), topping (gas sent), topped, sweeping, done, failed.';

-- What an account is owed for a sweep is recorded once, when that ends, and only paid after that. A failed sweep moved
-- nothing: it owes the fee of its cancellation at most, less the gas that had arrived for that.
create function check_sweep_owed() returns trigger language plpgsql as $$
begin
  if old.state in ('done', 'failed') and (new.ahead > old.ahead or new.borne > old.borne) or new.state = 'failed'
    and old.state <> 'failed' and new.ahead > 0 and not exists (
      select from chain_orders o join accounts a on a.id = new.account
      where o.id = new.order_id and o.state = 'failed' and new.ahead * ('1e' || a.decimals)::numeric <= o.fee - coalesce((
        select sum(g.amount) from chain_orders g
        where g.reference_id = new.id and g.purpose = 'gas' and g.id > o.id and g.state = 'done'), 0)) then
    raise exception 'the account of sweep % is owed less for it', new.id
      using errcode = 'check_violation', constraint = 'sweeps_owed';
  end if;
  return null;
end $$;
create trigger sweeps_owed after update on sweeps
  for each row when (new.ahead > 0 or new.borne > 0) execute function check_sweep_owed();

-- A sweep begins with nothing, stays that of its account, ends once, and books orders of its own: what one transaction
-- carried is booked once.
create function check_sweep() returns trigger language plpgsql as $$
declare
  fault text;
begin
  fault := case
    when tg_op = 'INSERT' and (new.state in ('done', 'failed') or new.ahead <> 0 or new.borne <> 0
        or num_nonnulls(new.amount, new.arrived, new.fee) > 0)
      then 'begins with nothing carried'
    when tg_op = 'UPDATE' and (new.id, new.account, new.ramp, new.chain, new.network, new.beside)
        is distinct from (old.id, old.account, old.ramp, old.chain, old.network, old.beside)
      then 'stays that of its account'
    when tg_op = 'UPDATE' and old.state in ('done', 'failed')
        and (new.state, new.order_id, new.arrived, new.fee) is distinct from (old.state, old.order_id, old.arrived, old.fee)
      then 'has ended'
    when new.order_id is not null and not exists (select from chain_orders o where o.id = new.order_id
        and (o.purpose, o.reference_id, o.ramp, o.chain, o.network) = ('sweep', new.id, new.ramp, new.chain, new.network))
      or new.gas_order is not null and not exists (select from chain_orders o where o.id = new.gas_order
        and (o.purpose, o.reference_id, o.ramp, o.chain, o.network) = ('gas', new.id, new.ramp, new.chain, new.network))
      then 'has another''s order'
  end;
  if fault is not null then
    raise exception 'sweep % %', new.id, fault using errcode = 'check_violation', constraint = 'sweeps_kept';
  end if;
  return new;
end $$;
create trigger sweeps_kept before insert or update of id, account, ramp, chain, network, beside, state, order_id, gas_order,
    arrived, fee on sweeps for each row execute function check_sweep();

create table deposit_apps (
  id uuid primary key,
  account uuid not null,
  destination uuid not null,
  asset text not null,
  seal jsonb check (jsonb_typeof(seal) = 'object'),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  status text not null default 'PENDING' check (status in ('PENDING', 'PROCESSING', 'DONE', 'FAILED')),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint deposit_apps_account unique (account)
);
create index deposit_apps_owner on deposit_apps (owner, id);
create index deposit_apps_destination on deposit_apps (destination, id);
-- Deposits go on to the account that the application was made for.
create trigger deposit_apps_facts before update on deposit_apps
  for each row when ((old.id, old.account, old.destination, old.asset, old.owner)
    is distinct from (new.id, new.account, new.destination, new.asset, new.owner) or new.seal is distinct from old.seal)
  execute function keep_facts();
