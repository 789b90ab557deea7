-- What:     the functions through which users' requests and workers post; rules that keep a right to write rows
--           from making value, from paying it out, and from hiding either.
-- Why:      least rights in the database: a role that may call ledger_apply with system accounts can post anything.
--           The role that serves is named as its schema is (platform.realms), so triggers tell it by its name.
-- Locks:    share row exclusive on eleven tables for their triggers.
-- Backfill: none.
-- Undo:     forward only.

-- Posts the transfers that a user asks for, and nothing else: value comes out of accounts that hold
-- it. The account `world` takes part only in the issue and destruction of a virtual currency, which is
-- noted with it. The account `fees` receives the network charges of a ramp, and value that covers a
-- loss of the house, up to that loss; it bears what is missing on a chain, up to that. A return belongs to a withdrawal whose order has ended without
-- payment, and is booked whatever state the accounts are in. So is the revert of linked value whose
-- address turned out to be ours: no deposit stands behind it any more.
create function ledger_post(
  p_type text, p_atomic boolean, p_head text, p_tail text, p_ids uuid[], p_source integer[],
  p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[],
  p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text
) language plpgsql as $$
declare
  n integer := cardinality(p_amount);
  s accounts; d accounts; t transactions;
  v_issue text; v_force boolean := p_type = 'return'; v_fees boolean := false; v_missing boolean := false;
begin
  if n = 1 then
    select * into s from accounts a where a.id = p_ids[p_source[1]];
    select * into d from accounts a where a.id = p_ids[p_destination[1]];
    v_fees := d.system = 'fees' and s.type <> 'system'
      and (p_type = 'transfer' and d.total + p_amount[1] <= 0 or p_type = 'fee' and s.type = 'ramp');
    v_missing := coalesce(p_type = 'fee' and s.system = 'fees' and d.system = 'world', false);
  end if;
  if p_type <> 'transfer' then
    if n <> 1 and p_type <> 'return' then raise exception 'moves of type % are posted one by one', p_type; end if;
    case p_type
      when 'capture' then
        perform 1 from blocks b where b.status = 'CAPTURED' and b.transaction = ledger_id(p_head, 1, p_tail)
          and b.account = s.id and b.captured = p_amount[1];
      when 'withdrawal' then perform 1 where d.type = 'ramp';
      when 'fee' then
        perform 1 where s.type in ('virtual', 'ramp') and d.type = 'ramp' or v_fees or v_missing;
      when 'return' then
        -- Each names a withdrawal of its own, so that none is given back twice.
        perform 1 from (select count(*) as justified, count(distinct w.id) as apart
            from unnest(p_source, p_destination, p_amount, p_data) q(source, destination, amount, data)
              cross join lateral (select id, status, ramp, account, order_id, charged, surcharge from withdrawals
                where id = (q.data ->> 'withdrawal')::uuid offset 0) w
              cross join lateral (select state from chain_orders where id = w.order_id offset 0) o
            where w.status = 'PROCESSING' and w.ramp = p_ids[q.source] and w.account = p_ids[q.destination] and q.amount <=
              case when o.state in ('canceled', 'failed', 'dropped') then w.charged when o.state = 'done' then w.surcharge end) c
          where c.justified = n and c.apart = n;
      when 'issue' then
        v_issue := 'issue';
        perform 1 where s.system = 'world' and d.type <> 'system';
      when 'destroy' then
        v_issue := 'destroy';
        perform 1 where s.type <> 'system' and d.system = 'world';
      when 'revert' then
        select * into t from transactions x where x.id = (p_extras[1] ->> 'reverts')::uuid;
        -- A linked deposit that left with its part is taken back by its account alone: no more than is linked there
        -- (ledger_apply), and the audit compares that with the deposits (account.linked).
        if t.id is null and d.system = 'world' and watches_addresses(s.id) and is_archived((p_extras[1] ->> 'reverts')::uuid) then
          t.id := (p_extras[1] ->> 'reverts')::uuid; t.type := 'deposit';
          t.source := d.id; t.destination := s.id; t.amount := p_amount[1];
        end if;
        v_issue := case t.type when 'issue' then 'destroy' when 'destroy' then 'issue' end;
        v_force := t.type = 'deposit';
        perform 1 where (t.type in ('transfer', 'capture', 'issue', 'destroy') or t.type = 'deposit'
            and watches_addresses(t.destination) and not exists (select from deposits x where x.transaction = t.id))
          and (t.source, t.destination, t.amount) = (d.id, s.id, p_amount[1]);
      else raise exception 'moves of type % are not asked for', p_type
        using errcode = 'insufficient_privilege';
    end case;
    if not found then
      raise exception 'nothing justifies a move of type %', p_type using errcode = 'insufficient_privilege';
    end if;
  end if;
  select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
    into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
    from ledger_apply(p_type, v_issue is not null or v_missing or coalesce(v_fees, false) or coalesce(t.type = 'deposit', false), v_force, p_atomic, p_head, p_tail, null, p_ids, p_source,
      p_destination, p_amount, p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras) a;
  if v_issue is not null and refusals is null then
    perform note_issue(v_issue, ledger_id(left(stamp, 16), 1, substr(stamp, 17)), s.asset,
      case v_issue when 'issue' then d.id else s.id end, p_amount[1]);
  end if;
  if v_missing and refusals is null then
    insert into write_offs (transaction, asset, testnet, amount, drift, height, position, created_at)
      select x.id, x.asset, x.testnet, x.amount, m.drift, m.height, m.position, x.created_at
      from transactions x cross join missing_of(x.asset, x.testnet) m
      where x.id = ledger_id(left(stamp, 16), 1, substr(stamp, 17));
    if not found then raise exception 'nothing was written off'; end if;
  end if;
end $$;

-- Notes an issue or a destruction beside its transaction, with the supply from then on.
create function note_issue(
  p_operation text, p_transaction uuid, p_asset text, p_account uuid, p_amount numeric
) returns void language plpgsql as $$
declare
  v_currency uuid;
begin
  update currencies c set supply = supply + case p_operation when 'issue' then p_amount else -p_amount end
    where c.name = p_asset and c.deleted_at is null returning c.id into v_currency;
  if v_currency is null then
    raise exception 'only virtual currencies are issued and destroyed' using errcode = 'insufficient_privilege';
  end if;
  insert into currency_issues (transaction, currency, operation, amount, account, created_at)
    values (p_transaction, v_currency, p_operation, p_amount, p_account, ms_time(id_ms(p_transaction)));
end $$;

-- An asset belongs to a chain or is a virtual currency: if it were both, its issues would make coins
-- of the chain. The first row that names it decides; the key refuses a second one, also from a
-- concurrent transaction.
create table asset_kinds (
  asset text primary key,
  kind text not null check (kind in ('chain', 'currency'))
);
comment on table asset_kinds is 'Written by triggers of accounts and currencies.';
create function check_asset_once() returns trigger language plpgsql as $$
declare
  v_asset text := case tg_table_name when 'currencies' then to_jsonb(new) ->> 'name' else to_jsonb(new) ->> 'asset' end;
  v_kind text := case tg_table_name when 'currencies' then 'currency' else 'chain' end;
begin
  insert into asset_kinds (asset, kind) values (v_asset, v_kind) on conflict do nothing;
  if not exists (select from asset_kinds k where (k.asset, k.kind) = (v_asset, v_kind)) then
    raise exception 'an asset is of a chain, or a virtual currency, and not both'
      using errcode = 'check_violation', constraint = 'currencies_asset';
  end if;
  return new;
end $$;
create trigger currencies_asset before insert or update of name on currencies
  for each row execute function check_asset_once();
create trigger accounts_asset after insert or update of asset, type on accounts
  for each row when (new.type = 'ramp') execute function check_asset_once();

-- An answer is stored once. The ledger's own rows tell the state of a transfer. One that shows a profile gives way to
-- a refusal when the profile is erased.
create function keep_kept() returns trigger language plpgsql as $$
begin
  raise exception 'an answer is kept once' using errcode = 'restrict_violation';
end $$;
create trigger idempotency_kept before update of status, body on idempotency for each row
  when ((old.status is not null or (old.transaction is not null and new.transaction is not null))
    and (old.profile is null or new.profile is not null or new.status is distinct from 404))
  execute function keep_kept();
create trigger idempotency_stays before delete on idempotency for each row
  when (old.created_at > now() - interval '6 days') execute function keep_kept();
create trigger idempotency_earlier_kept before update of status, body on idempotency_earlier for each row
  when ((old.status is not null or (old.transaction is not null and new.transaction is not null))
    and (old.profile is null or new.profile is not null or new.status is distinct from 404))
  execute function keep_kept();
create trigger idempotency_earlier_stays before delete on idempotency_earlier for each row
  when (old.created_at > now() - interval '6 days') execute function keep_kept();

-- Rows of a table, by its size and the density that its last vacuum or analysis found, else by that of usual rows.
create function estimated_rows(p_table regclass) returns bigint language sql as $$
  select (pg_relation_size(c.oid) * case when c.relpages > 0 and c.reltuples >= 0
      then c.reltuples / (c.relpages * current_setting('block_size')::float8) else 1 / 96.0 end)::bigint
    from pg_class c where c.oid = p_table
$$;

-- Gives a table the name p_to, and all that bears its name names that begin with the new one. Constraints come first:
-- those with an index rename it.
create function rename_with_all(p_from text, p_to text) returns void language plpgsql as $$
declare
  v_table constant regclass := p_from::regclass;
  o record;
begin
  execute format('alter table %I rename to %I', p_from, p_to);
  for o in
    select c.conname as name, format('alter table %I rename constraint %I to', p_to, c.conname) as command
      from pg_constraint c where c.conrelid = v_table
    union all select i.relname, format('alter index %I rename to', i.relname)
      from pg_index x join pg_class i on i.oid = x.indexrelid
      where x.indrelid = v_table and not exists (select from pg_constraint c where c.conindid = x.indexrelid)
    union all select t.tgname, format('alter trigger %I on %I rename to', t.tgname, p_to)
      from pg_trigger t where t.tgrelid = v_table and not t.tgisinternal
  loop
    if not starts_with(o.name, p_from || '_') then
      raise exception '% of table % does not begin with its name', o.name, p_from;
    end if;
    execute format('%s %I', o.command, p_to || substr(o.name, length(p_from) + 1));
  end loop;
end $$;

-- Says whether the earlier tables may have rows; while they may not, a constraint keeps them empty. They must be locked.
create function open_earlier(p_open boolean) returns void language plpgsql as $$
begin
  if p_open = earlier_kept() then return; end if;
  execute format('create or replace function earlier_kept() returns boolean language sql immutable as ''select %s''', p_open::text);
  if p_open then
    alter table idempotency_earlier drop constraint idempotency_earlier_none;
    alter table batches_earlier drop constraint batches_earlier_none;
  else
    alter table idempotency_earlier add constraint idempotency_earlier_none check (false);
    alter table batches_earlier add constraint batches_earlier_none check (false);
  end if;
end $$;

-- Begins a generation of kept answers: empties the earlier tables, and exchanges them with the current ones where
-- these have about p_least rows. Nothing is dropped before all that leaves is past its time by the clock of the
-- database, whoever calls, and nothing while the realm moves, because the move has triggers by the tables' names. Nobody
-- waits for the search of young rows: no key is claimed in the earlier tables, so none gets there meanwhile. Vacuum is
-- kept away first, which would keep this waiting under the ledger lock. Returns what it did: 'exchanged', 'emptied' or
-- null.
create function renew_answers(p_least bigint) returns text language plpgsql
set lock_timeout = '3s' set enable_seqscan = off as $$
declare
  v_many boolean; v_empty boolean; v_kept constant timestamptz := clock_timestamp() - interval '7 days';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'an older snapshot shows no young rows';
  end if;
  lock table idempotency, idempotency_earlier, batches, batches_earlier in share update exclusive mode;
  v_many := estimated_rows('idempotency') >= p_least;
  v_empty := pg_relation_size('idempotency_earlier') + pg_relation_size('batches_earlier') = 0;
  if not v_many and v_empty and not earlier_kept()
    or exists (select from idempotency_earlier e where e.created_at >= v_kept)
    or exists (select from batches_earlier e where e.created_at >= v_kept) then
    return null;
  end if;
  perform set_config('lock_timeout', '200ms', true); -- those that wait behind this wait no longer
  lock table ledger_lock in exclusive mode;
  lock table idempotency, idempotency_earlier, batches, batches_earlier in access exclusive mode;
  if exists (select from pg_trigger t where t.tgname like 'move\_%' and not t.tgisinternal
      and t.tgrelid = any ('{idempotency,idempotency_earlier,batches,batches_earlier}'::regclass[])) then
    return null;
  end if;
  truncate idempotency_earlier, batches_earlier;
  perform open_earlier(v_many);
  if not v_many then return case when not v_empty then 'emptied' end; end if;
  perform rename_with_all('idempotency', 'idempotency_leaving'), rename_with_all('batches', 'batches_leaving');
  perform rename_with_all('idempotency_earlier', 'idempotency'), rename_with_all('batches_earlier', 'batches');
  perform rename_with_all('idempotency_leaving', 'idempotency_earlier'),
    rename_with_all('batches_leaving', 'batches_earlier');
  return 'exchanged';
end $$;

-- Books events of a chain, whatever state the accounts are in. Value enters by deposits, and by what an order's
-- own transaction gave back, which `fees` receives; it leaves to `world` or `fees`; value that `fees` gives goes to a ramp.
create function ledger_book(
  p_type text, p_atomic boolean, p_head text, p_tail text, p_ids uuid[], p_source integer[],
  p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[],
  p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text
) language plpgsql as $$
begin
  perform 1 from unnest(p_source, p_destination) q(source, destination)
    left join lateral (select a.* from accounts a where a.id = p_ids[q.source] offset 0) s on true
    left join lateral (select a.* from accounts a where a.id = p_ids[q.destination] offset 0) d on true
    where case p_type
      when 'deposit' then s.system = 'world' and d.type <> 'system'
      when 'forward' then exists (select from addresses a
        where (a.account, a.ramp) = (s.id, d.id) or (a.account, a.target_account) = (s.id, d.id) or (a.ramp, a.target_account) = (s.id, d.id))
      when 'withdrawal' then s.system is distinct from 'world' and d.system = 'world'
      when 'fee' then (s.system is null and d.type = 'system') or (s.system = 'fees' and (d.type = 'ramp' or d.system = 'world'))
      when 'return' then (s.system = 'fees' and d.type = 'ramp') or (s.system = 'world' and d.system = 'fees')
      end is not true;
  if found then
    raise exception 'nothing justifies a move of type %', p_type using errcode = 'insufficient_privilege';
  end if;
  select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
    into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
    from ledger_apply(p_type, true, true, p_atomic, p_head, p_tail, null, p_ids, p_source,
      p_destination, p_amount, p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras) a;
end $$;

-- Value enters from `world` only with a deposit that is confirmed in the same database transaction,
-- with its amount. The seal names the payment, and so the hash chain does.
create function check_deposit_booked() returns trigger language plpgsql as $$
begin
  if not exists (select from (select * from deposits where transaction = new.id offset 0) d
      where d.status = 'CONFIRMED' and d.account = new.destination and d.credited = new.amount
        and new.seal = jsonb_build_object('chain', d.chain, 'network', d.network, 'hash', d.hash, 'index', d.index)) then
    raise exception 'no deposit stands behind transaction %', new.id
      using errcode = 'check_violation', constraint = 'transactions_deposit';
  end if;
  return null;
end $$;
create constraint trigger transactions_deposit after insert on transactions deferrable initially deferred
  for each row when (new.type = 'deposit') execute function check_deposit_booked();

-- What comes back from `world` is the refund of one order that is done, in full.
create function check_refund_booked() returns trigger language plpgsql as $$
begin
  perform 1 from accounts s where s.id = new.source and s.system = 'world';
  if found and not exists (select from chain_orders o join accounts s on s.id = new.source
      where o.refund_transaction = new.id and o.state = 'done'
        and o.refund = new.amount * ('1' || repeat('0', s.decimals::integer))::numeric) then
    raise exception 'no refund stands behind transaction %', new.id
      using errcode = 'check_violation', constraint = 'transactions_refund';
  end if;
  return null;
end $$;
create constraint trigger transactions_refund after insert on transactions deferrable initially deferred
  for each row when (new.type = 'return') execute function check_refund_booked();

-- No foreign key: it would keep the part of an old refund from being detached. Transactions stay, so it need not be
-- asked again.
create function check_refund_named() returns trigger language plpgsql as $$
begin
  if not exists (select from transactions t where t.id = new.refund_transaction and t.type = 'return') then
    raise exception 'no transaction %', new.refund_transaction
      using errcode = 'foreign_key_violation', constraint = 'chain_orders_refund';
  end if;
  return null;
end $$;
create trigger chain_orders_refund after insert or update of refund_transaction on chain_orders
  for each row when (new.refund_transaction is not null) execute function check_refund_named();

-- A deposit keeps its facts; it is booked once, in a chain block, at an address that was derived or is watched.
create function check_deposit() returns trigger language plpgsql as $$
declare
  fault text;
begin
  if tg_op = 'INSERT' then
    fault := 'is seen before it is booked';
  elsif tg_op = 'DELETE' then
    fault := 'was booked';
  elsif (new.chain, new.network, new.hash, new.index, new.address, new.asset, new.amount)
      is distinct from (old.chain, old.network, old.hash, old.index, old.address, old.asset, old.amount)
      or new.contract is distinct from old.contract then
    fault := 'stays what was seen';
  elsif old.status = 'CONFIRMED' then
    if ((new.status, new.account, new.credited) is distinct from (old.status, old.account, old.credited)
        or new.transaction is distinct from old.transaction) and not (new.status in ('PENDING', 'ORPHANED')
          and new.credited is null and new.transaction is null and watches_addresses(old.account)
          and exists (select from addresses o
            where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)))
      then fault := 'was booked'; end if;
  elsif new.status = 'CONFIRMED' then
    fault := case
      when new.block is null then 'is in no block'
      when exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)
          and not is_derived(o.address, o.derivation_key, o.ramp))
        then 'came to an address that no worker has derived'
      when exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)
          and o.account <> new.account and not exists (select from fungible_tokens t join currencies c on c.id = t.currency
            where (t.account, t.contract, c.account) = (o.ramp, new.contract, new.account) and t.status = 'registered'))
        then 'came to the address of another account'
      when not exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address))
        and not exists (select from external_addresses e
          where (e.chain, e.network, e.address, e.account) = (new.chain, new.network, new.address, new.account))
        then 'came to no address of its account'
    end;
  end if;
  if fault is not null then
    raise exception 'deposit % %', coalesce(old.id, new.id), fault using errcode = 'check_violation', constraint = 'deposits_booked';
  end if;
  return new;
end $$;

-- Whether a worker has derived an address below a ramp: the serving role writes none of these. Ramps
-- of one number have one key on all chains of its family; the text of an address identifies its chain.
create function is_derived(p_address text, p_key integer, p_ramp uuid) returns boolean language sql stable as $$
  select exists (select from reserved_addresses r join ramps x on x.account = r.ramp join ramps y on y.account = p_ramp
    where r.address = p_address and r.derivation_key = p_key
      and (x.number, x.network = 'main') = (y.number, y.network = 'main'))
$$;
create trigger deposits_booked before update on deposits for each row
  when (old.status = 'CONFIRMED' or new.status = 'CONFIRMED' or (old.chain, old.network, old.hash, old.index, old.address,
    old.asset, old.amount, old.contract) is distinct from (new.chain, new.network, new.hash, new.index, new.address,
    new.asset, new.amount, new.contract)) execute function check_deposit();
create trigger deposits_begin before insert on deposits for each row
  when (new.status = 'CONFIRMED') execute function check_deposit();
create trigger deposits_stay before delete on deposits for each row
  when (old.status = 'CONFIRMED') execute function check_deposit();

-- A deposit is confirmed with the transaction that credits it, and no other: what is called booked is in the books. One that
-- was taken back stands behind no other payment of the same amount.
create function check_credited() returns trigger language plpgsql as $$
begin
  if exists (select from deposits d where d.id = new.id and d.transaction = new.transaction)
      and not exists (select from transactions t where t.id = new.transaction
        and (t.type, t.destination, t.amount, t.seal) = ('deposit', new.account, new.credited,
          jsonb_build_object('chain', new.chain, 'network', new.network, 'hash', new.hash, 'index', new.index))) then
    raise exception 'transaction % does not credit deposit %', new.transaction, new.id
      using errcode = 'check_violation', constraint = 'deposits_backed';
  end if;
  return null;
end $$;
create constraint trigger deposits_backed after update on deposits deferrable initially deferred
  for each row when (new.status = 'CONFIRMED' and new.transaction is distinct from old.transaction)
  execute function check_credited();

-- Linked value that is a deposit at an own address is reverted in the same database transaction.
create function check_taken_back() returns trigger language plpgsql as $$
begin
  if not exists (select from transaction_reverts t where t.reverts = old.transaction) then
    raise exception 'deposit % was booked, and is not taken back', old.id
      using errcode = 'check_violation', constraint = 'deposits_taken_back';
  end if;
  return null;
end $$;
create constraint trigger deposits_taken_back after update on deposits deferrable initially deferred
  for each row when (old.status = 'CONFIRMED' and new.transaction is distinct from old.transaction)
  execute function check_taken_back();

-- An address belongs to the place, asset and scale of its ramp, or to a token that is kept at the
-- ramp: otherwise worthless coins would be credited as others. A token of the realm's own is one
-- currency, wherever its contract lives: its accounts are never those of a test network.
create function check_address() returns trigger language plpgsql as $$
begin
  perform 1 from ramps r join accounts k on k.id = r.account join accounts a on a.id = new.account
    where r.account = new.ramp and (r.chain, r.network) = (new.chain, new.network)
      and a.asset = new.asset and k.testnet = (r.network <> 'main')
      and (a.id = k.id and new.derivation_key = 0 or a.type = 'deposit' and a.ramp = k.id)
      and ((k.asset, k.decimals, k.testnet) = (a.asset, a.decimals, a.testnet) or not a.testnet and exists (
        select from fungible_tokens t join currencies c on c.id = t.currency
        where t.account = k.id and t.status = 'registered' and c.name = a.asset and t.decimals = a.decimals))
      and (new.target_account is null or exists (select from accounts s where s.id = new.target_account and s.type = 'virtual'
        and (s.asset, s.testnet, s.decimals) = (a.asset, a.testnet, a.decimals)));
  if not found then
    raise exception 'address % does not fit its account and its ramp', new.address
      using errcode = 'check_violation', constraint = 'addresses_fit';
  end if;
  return new;
end $$;
create trigger addresses_fit before insert on addresses for each row execute function check_address();

-- Chains that keep value in coins.
create function has_coins(p_chain text) returns boolean language sql immutable as $$
  select p_chain in ('BITCOIN', 'LITECOIN', 'BITCOIN_CASH', 'DOGECOIN')
$$;

-- Assigns the deposits at a handed-out address that was linked before to the account of the address;
-- deposits of another asset are given up. Its coins are ours from then on. Returns the transactions
-- that were booked as linked value: the caller takes them back. Before a worker has derived the
-- address it assigns none: anybody could claim that the address is ours.
create function hand_over_deposits(
  p_address uuid, p_error jsonb, p_at timestamptz,
  out account uuid, out transaction uuid, out amount numeric, out asset text, out decimals smallint, out testnet boolean
) returns setof record language plpgsql as $$
#variable_conflict use_column
declare
  n addresses;
begin
  select * into n from addresses where id = p_address;
  if not found or not is_derived(n.address, n.derivation_key, n.ramp) then return; end if;
  return query select d.account, d.transaction, d.credited, a.asset, a.decimals, a.testnet
    from deposits d join accounts a on a.id = d.account
    -- Found by the address alone: by chain and network a plan made on an empty table would read all of them.
    where d.address = n.address and (d.chain || '', d.network || '') = (n.chain, n.network) and d.status = 'CONFIRMED'
      and watches_addresses(d.account) order by d.id for update of d;
  with waiting as (
    select d.id from deposits d where d.address = n.address and (d.chain || '', d.network || '') = (n.chain, n.network)
      and watches_addresses(d.account) order by d.id for update
  ), moved as (
    update deposits d set account = n.account, owner = n.owner, updated_at = p_at,
        address_data = nullif(n.data, '{}'), credited = null, transaction = null,
        status = case d.status when 'CONFIRMED' then 'PENDING' else d.status end
      from waiting w where d.id = w.id and d.asset = n.asset returning d.*
  ), given_up as (
    update deposits d set status = 'ORPHANED', confirmations = 0, error = p_error, updated_at = p_at,
        credited = null, transaction = null
      from waiting w where d.id = w.id and d.asset <> n.asset and d.status in ('PENDING', 'CONFIRMED')
  )
  insert into coins (chain, network, hash, index, address, ramp, amount, height, matures_at, created_at)
    select m.chain, m.network, m.hash, m.index, m.address, n.ramp,
      trim_scale(m.amount * ('1e' || a.decimals)::numeric), m.block, m.matures_at, p_at
    from moved m join accounts a on a.id = n.account where has_coins(n.chain) and m.block is not null and m.status = 'PENDING'
    on conflict (chain, network, hash, index) do nothing;
end $$;

-- A token of the realm's own becomes a virtual currency after a worker deployed or verified its contract.
create function register_token(p_token uuid, p_currency uuid, p_at timestamptz) returns void
language plpgsql as $$
begin
  update fungible_tokens t set currency = p_currency, status = 'registered', updated_at = p_at
    from currencies c where t.id = p_token and t.status = 'deployed' and c.id = p_currency and c.name = t.symbol
      and c.decimals = t.decimals;
  if not found then
    raise exception 'token % was not deployed', p_token using errcode = 'insufficient_privilege';
  end if;
end $$;

-- Writes the events that no trigger writes: settings of a realm, and the end of its audit.
create function note_seen(p_kind text, p_subject text, p_facts jsonb) returns void language plpgsql as $$
begin
  if p_kind not in ('realm', 'audit') then
    raise exception 'events of % are noted by their table', p_kind using errcode = 'insufficient_privilege';
  end if;
  perform note_events(p_kind, array[p_subject], array[p_facts]);
end $$;

-- The charge of a withdrawal stays blocked on its ramp until the withdrawal has ended; it ends unpaid if its order
-- did. The block of an order's budget on a ramp's account stays open until the order has ended.
create function check_charge_blocked() returns trigger language plpgsql as $$
begin
  if exists (select from withdrawals w join blocks b on b.id = w.block
      where w.id = new.reference_id and w.status = 'PROCESSING' and b.status <> 'OPEN') then
    raise exception 'the charge of a withdrawal stays blocked until it has ended'
      using errcode = 'check_violation', constraint = 'blocks_serving';
  end if;
  if exists (select from chain_orders o join blocks b on b.id = o.gas_block
      where o.id = new.reference_id and b.status <> 'OPEN' and o.state not in ('done', 'failed', 'dropped', 'canceled')) then
    raise exception 'the budget of an order stays blocked until it has ended'
      using errcode = 'check_violation', constraint = 'blocks_serving';
  end if;
  return null;
end $$;
create constraint trigger blocks_serving after update on blocks deferrable initially deferred
  for each row when (new.reference_id is not null and new.status <> 'OPEN') execute function check_charge_blocked();

-- A captured block names the transaction that paid what was captured.
create function check_captured() returns trigger language plpgsql as $$
begin
  if not exists (select from transactions t where t.id = new.transaction
      and (t.type, t.source, t.amount) = ('capture', new.account, new.captured)) then
    raise exception 'no transaction captures block %', new.id
      using errcode = 'check_violation', constraint = 'blocks_paid';
  end if;
  return null;
end $$;
create constraint trigger blocks_paid after update on blocks deferrable initially deferred
  for each row when (new.status = 'CAPTURED') execute function check_captured();

-- A withdrawal keeps its request, and ends once, as its order did; the serving role only cancels it. A payment that
-- was found is one withdrawal's to the same destination, of the same asset and amount; one that its order does not name was
-- called paid when that payment was final.
create function check_withdrawal() returns trigger language plpgsql as $$
declare
  fault text;
begin
  if tg_op = 'INSERT' then
    fault := 'begins as asked for';
  elsif (old.account, old.ramp, old.chain, old.network, old.sender, old.destination, old.asset, old.value, old.amount,
      old.paid_by, old.order_id) is distinct from (new.account, new.ramp, new.chain, new.network, new.sender,
      new.destination, new.asset, new.value, new.amount, new.paid_by, new.order_id)
      or new.contract is distinct from old.contract or new.transaction is distinct from old.transaction then
    fault := 'stays what was asked for';
  elsif new.max_fee is distinct from old.max_fee and (new.max_fee > old.max_fee) is not true then
    fault := 'keeps the bound of its fees, unless that is raised';
  elsif new.found_order_id is not null and new.found_order_id is distinct from old.found_order_id
      and not exists (select from chain_orders f join chain_orders o on o.id = new.order_id and o.ramp = f.ramp
          cross join lateral (select f.request -> 'payments' -> new.found_payment as paid) p
        where f.id = new.found_order_id and case f.purpose when 'recovered' then true end
          and p.paid ->> 'order' is null and coalesce((p.paid ->> 'withdrawal')::uuid, new.id) = new.id
          and (p.paid ->> 'withdrawal' is not null or f.state = 'done')
          and p.paid ->> 'contract' is not distinct from new.contract
          and coalesce(p.paid ->> 'whole', p.paid ->> 'amount') = o.request -> 'payments' -> 0 ->> 'amount'
          and p.paid ->> 'to' in (new.destination, o.request -> 'payments' -> 0 ->> 'to')) then
    fault := 'was not paid by that';
  elsif new.status = old.status then
    return new;
  elsif old.status <> 'PROCESSING' then
    fault := 'has ended';
  elsif current_user = tg_table_schema and new.status <> 'CANCELED' then
    fault := 'is ended by workers';
  elsif not exists (select from chain_orders o where o.id = new.order_id
      and o.state = any (case new.status when 'DONE' then array['done', 'canceled'] else array['canceled', 'failed', 'dropped'] end)) then
    fault := 'may still be paid';
  end if;
  if fault is not null then
    raise exception 'withdrawal % %', new.id, fault using errcode = 'check_violation', constraint = 'withdrawals_ended';
  end if;
  return new;
end $$;
create trigger withdrawals_ended before update on withdrawals for each row execute function check_withdrawal();
create trigger withdrawals_begin before insert on withdrawals for each row
  when (new.status <> 'PROCESSING' or new.surcharge <> 0 or coalesce(new.hash, new.height::text, new.cost::text) is not null)
  execute function check_withdrawal();
create trigger withdrawals_stay before delete or truncate on withdrawals
  for each statement execute function refuse_change();

-- The charge of a withdrawal is blocked on its ramp from its beginning, and was moved there by its own account: what comes
-- back is what that account gave.
create function check_withdrawal_covered() returns trigger language plpgsql as $$
begin
  if not exists (select from withdrawals w where w.id = new.id and (w.status <> 'PROCESSING' or exists (
      select from blocks b where b.id = w.block and b.status = 'OPEN'
        and (b.reference_id, b.account, b.amount) = (w.id, w.ramp, w.charged)))) then
    raise exception 'withdrawal % is not covered', new.id
      using errcode = 'check_violation', constraint = 'withdrawals_covered';
  end if;
  if tg_op = 'INSERT' and new.transaction is not null and not exists (select from transactions t where t.id = new.transaction
      and (t.type, t.source, t.destination, t.amount) = ('withdrawal', new.account, new.ramp, new.charged)) then
    raise exception 'no transaction brought the charge of withdrawal % to its ramp', new.id
      using errcode = 'check_violation', constraint = 'withdrawals_funded';
  end if;
  return null;
end $$;
create constraint trigger withdrawals_covered after insert or update of charged, block, status on withdrawals
  deferrable initially deferred for each row when (new.status = 'PROCESSING') execute function check_withdrawal_covered();

-- The entity of an order must exist when the order is made, and request exactly that: only a charged
-- withdrawal sends value to foreign addresses. Transactions that were found on the chain were sent
-- already.
create function check_order_reason() returns trigger language plpgsql as $$
declare
  pay jsonb := jsonb_build_object('kind', 'pay', 'from', new.sender, 'contract', nullif(new.contract, ''));
  justified boolean;
begin
  justified := case new.purpose
    when 'withdrawal' then exists (select from withdrawals w join accounts k on k.id = w.ramp
      where w.id = new.reference_id and w.order_id = new.id and case w.status when 'PROCESSING' then true end
        and (w.chain, w.network, w.sender, coalesce(w.contract, '')) = (new.chain, new.network, new.sender, new.contract)
        and k.asset = w.asset
        and (w.ramp = new.ramp and k.testnet = (w.network <> 'main') or not k.testnet and exists (
          select from fungible_tokens t join currencies c on c.id = t.currency
          where t.account = new.ramp and t.status = 'registered' and (c.name, t.contract, t.chain, t.network)
            = (w.asset, w.contract, w.chain, w.network)))
        and new.request = pay || jsonb_build_object('payments', jsonb_build_array(jsonb_build_object('to', w.destination,
          'amount', trim_scale(w.amount * ('1e' || k.decimals)::numeric)::text))))
    when 'batch' then new.request - 'payments' = pay and (
      select jsonb_agg(p order by p::text) from jsonb_array_elements(new.request -> 'payments') p) = (
      select jsonb_agg(p order by p::text) from chain_orders m, jsonb_array_elements(m.request -> 'payments') p
      where m.batch_order_id = new.id and (m.ramp, m.chain, m.network, m.sender, m.contract)
        = (new.ramp, new.chain, new.network, new.sender, new.contract))
    when 'fill' then new.request = jsonb_build_object('kind', 'noop', 'from', new.sender)
    when 'deploy' then new.request ->> 'kind' = 'deploy' and new.request ->> 'from' = new.sender
      and exists (select from fungible_tokens t where (t.id, t.order_id, t.account) = (new.reference_id, new.id, new.ramp))
    else new.request - 'payments' - 'feePayer' - 'closesNothing' = pay
      and not exists (select from jsonb_array_elements(new.request -> 'payments') p where (
        select true from (select ramp, chain, network from addresses where address = p ->> 'to' offset 0) a
        where (a.ramp, a.chain, a.network) = (new.ramp, new.chain, new.network) limit 1) is null)
  end;
  if justified is not true or not exists (select from addresses a
      where (a.ramp, a.chain, a.network, a.address) = (new.ramp, new.chain, new.network, new.sender)
        and (a.account = a.ramp or new.purpose in ('sweep', 'fill'))) then
    raise exception 'nothing justifies order % for a %', new.id, new.purpose
      using errcode = 'check_violation', constraint = 'chain_orders_reason';
  end if;
  return null;
end $$;
create constraint trigger chain_orders_reason after insert on chain_orders deferrable initially deferred
  for each row when (new.state <> 'mined') execute function check_order_reason();

-- Coins that pay the fees of chains with tokens of a realm's own.
create function chain_coin(p_chain text) returns text language sql immutable as $$
  select case p_chain when 'ETHEREUM' then 'ETH' when 'POLYGON' then 'MATIC' when 'CELO' then 'CELO'
    when 'BSC' then 'BSC' when 'TRON' then 'TRON' when 'SOLANA' then 'SOL' end
$$;

-- Whether the account of a ramp pays for an order: the order moves a token of the realm's own, or
-- sends gas ahead for one. Coins at a ramp of another token belong to no account of the ledger.
create function is_paid_by_ramp(o chain_orders) returns boolean language sql stable as $$
  select o.budget_contract is null
    and exists (select from accounts k where k.id = o.ramp and k.asset = chain_coin(o.chain))
    and exists (select from fungible_tokens t where t.account = o.ramp and case o.purpose
      when 'withdrawal' then t.contract = o.contract
      when 'sweep' then t.contract = o.contract
      when 'gas' then exists (select from sweeps s join accounts a on a.id = s.account
        join currencies c on c.name = a.asset where s.id = o.reference_id and c.id = t.currency) end)
$$;

-- The whole budget of an open order of a token of the realm's own, with the gas that it sends ahead, is blocked on its
-- ramp's account: the coins at its address cover the claims of others.
create function check_gas_held() returns trigger language plpgsql as $$
begin
  if exists (select from chain_orders o where o.id = new.id and o.state not in ('done', 'failed', 'dropped', 'canceled')
      and (o.gas_block is not null or is_paid_by_ramp(o)) and not exists (
        select from blocks b join accounts k on k.id = b.account
        where b.id = o.gas_block and b.status = 'OPEN' and (b.reference_id, b.account) = (o.id, o.ramp)
          and (o.purpose = 'fill' or b.amount * ('1e' || k.decimals)::numeric
            >= o.budget + case o.purpose when 'gas' then coalesce(o.amount, 0) else 0 end))) then
    raise exception 'the budget of order % is not blocked on the account of its ramp', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_gas_held';
  end if;
  return null;
end $$;
create constraint trigger chain_orders_gas_held after insert or update of budget, gas_block on chain_orders
  deferrable initially deferred for each row when (new.state <> 'mined') execute function check_gas_held();

-- A withdrawal of a token of the realm's own whose user is charged nothing, because the token has no
-- known worth, is sponsored: the ramp's account pays for it. Their number in a day is limited: for one
-- user with all whom it made, and for all users of a ramp. The ramp's owner, and users with write
-- permission for the realm, are not counted.
create function is_sponsor(p_ramp uuid, p_user uuid) returns boolean language sql stable as $$
  select exists (select from accounts a where a.id = p_ramp and a.owner = p_user)
    or exists (select from users u where u.id = p_user and u.roles && array['admin', 'manage'] and 'realm' = any (u.scopes))
$$;
-- The same holds for a token of the registry, whose gas the house bears: one user alone does not use
-- up the day of its ramp.
create function may_be_sponsored(p_sender text, p_user uuid, p_own boolean, p_but uuid) returns boolean
language sql stable as $$
  select count(*) filter (where w.owner = p_user or o.root = (select u.root from users u where u.id = p_user)) < case when p_own then 5 else 25 end and (not p_own or count(*) < 50)
  from withdrawals w left join users o on o.id = w.owner where w.sponsored and w.sender = p_sender and w.created_at > now() - interval '1 day'
    and w.id is distinct from p_but
$$;
create function check_sponsored() returns trigger language plpgsql as $$
begin
  if exists (select from chain_orders o
      cross join lateral (select exists (select from fungible_tokens t
        where t.account = o.ramp and t.contract = o.contract) as own) q
      where o.id = new.order_id and o.contract <> '' and not is_sponsor(o.ramp, new.owner)
        and not (new.sponsored and may_be_sponsored(new.sender, new.owner, q.own, new.id))) then
    raise exception 'ramp % pays for too many withdrawals of others today', new.sender
      using errcode = 'check_violation', constraint = 'withdrawals_sponsored';
  end if;
  return null;
end $$;
create constraint trigger withdrawals_sponsored after insert on withdrawals deferrable initially deferred
  for each row when (new.fee = 0) execute function check_sponsored();

-- Whether a canceled order left the nonce that another order is to fill, once: a filler costs the
-- house its gas.
create function leaves_nonce(o chain_orders) returns boolean language sql stable as $$
  select coalesce(bool_or(x.state = 'canceled') and not bool_or(x.purpose = 'fill' and x.state <> 'canceled'), false)
  from chain_orders x where (x.chain, x.network, x.sender, x.nonce, x.ramp) = (o.chain, o.network, o.sender, o.nonce, o.ramp)
$$;

-- The serving role makes orders at a user's request, cancels them, dissolves the batch that carries
-- one, and requests a speed-up. Only the worker writes their state on the chain. While a newer
-- database may have sent them, none is canceled: each such transaction compares the schema first.
create function check_served_order() returns trigger language plpgsql as $$
begin
  if current_user <> tg_table_schema or (case when tg_op = 'INSERT'
      then new.purpose in ('withdrawal', 'fill', 'deploy', 'consolidation') and new.state = 'new'
          and (new.purpose <> 'fill' or leaves_nonce(new))
      else (new.state = old.state or new.state = 'canceled' and is_attested() and is_confirmed() and not in_quarantine(new.ramp))
          and (new.hash, new.height, new.batch_order_id, new.confirmations)
          is not distinct from (old.hash, old.height, old.batch_order_id, old.confirmations)
        or old.state = 'batched' and new.state = 'new' and (new.hash, new.height, new.batch_order_id) is null end) then
    return new;
  end if;
  raise exception 'order % for a % is the worker''s to write', new.id, new.purpose using errcode = 'insufficient_privilege';
end $$;
create trigger chain_orders_served before insert or update on chain_orders for each row execute function check_served_order();

-- The serving role numbers ramps in turn, hands out addresses one by one, and records of a new address
-- only that it held nothing by then: otherwise it could use up all numbers, or hide deposits. A number
-- or address that a newer database may have handed out is given only in a transaction that has
-- compared the schema.
create function check_served_chain() returns trigger language plpgsql as $$
declare
  fine boolean := current_user <> tg_table_schema;
begin
  if fine then return new; end if;
  if tg_table_name = 'onchain_balances' then
    fine := new.amount = 0 and coalesce(new.nonce, 0) = 0 and new.height <= (select c.height from chain_cursors c
      where (c.chain, c.network) = (new.chain, new.network));
  elsif tg_op = 'UPDATE' then
    fine := new.next_index = old.next_index + 1 and is_confirmed();
  else
    fine := is_confirmed() and new.number = greatest(coalesce((select a.numbers_from from attestations a), 0),
      (select coalesce(max(r.number) + 1, 0) from ramps r where (r.chain, r.network) = (new.chain, new.network)));
  end if;
  if fine is not true then
    raise exception 'this row of % is the worker''s to write', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger ramps_served before insert on ramps for each row execute function check_served_chain();
create trigger ramps_served_index before update of next_index on ramps for each row
  when (new.next_index <> old.next_index) execute function check_served_chain();
create trigger onchain_balances_served before insert on onchain_balances for each row execute function check_served_chain();

-- Inputs of an order are released when it has ended. The serving role reserves one only to fill a nonce.
create function check_served_input() returns trigger language plpgsql as $$
begin
  if current_user <> tg_table_schema or (tg_op = 'INSERT' and exists (
      select from (select purpose, state, chain, network, sender, nonce from chain_orders where id = new.order_id offset 0) o
      where o.purpose = 'fill' and o.state = 'new' and (o.chain, o.network) = (new.chain, new.network)
      and new.input = o.sender || ':' || o.nonce))
    or (tg_op = 'DELETE' and exists (select from chain_orders o where o.id = old.order_id
      and o.state in ('done', 'failed', 'dropped', 'canceled'))) then
    return case tg_op when 'INSERT' then new else old end;
  end if;
  raise exception 'order % has not ended', coalesce(new.order_id, old.order_id) using errcode = 'insufficient_privilege';
end $$;
create trigger reserved_inputs_served before insert or delete on reserved_inputs for each row execute function check_served_input();

-- Change that no chain block has shown is deleted when its transaction can never be mined.
create function check_unmade() returns trigger language plpgsql as $$
begin
  if exists (select from order_attempts c join chain_orders o on o.id = c.order_id
      where c.hash = old.hash and not c.dropped and o.state <> 'canceled'
        and (o.state not in ('done', 'failed') or o.hash = c.hash)
        and not exists (select from displaced_orders d where d.hash = c.hash and d.state in ('displaced', 'replaced'))) then
    raise exception 'transaction % may still be', old.hash
      using errcode = 'check_violation', constraint = 'coins_unmade';
  end if;
  return null;
end $$;
create constraint trigger coins_unmade after delete on coins deferrable initially deferred
  for each row when (old.height is null) execute function check_unmade();
create function keep_coin() returns trigger language plpgsql as $$
begin
  if current_user = tg_table_schema then
    raise exception 'a coin that a block has shown stays' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
create trigger coins_seen before delete on coins for each row when (old.height is not null) execute function keep_coin();

-- Contracts through which a chain's own coin moves as if it were a token: a currency of it would be owed twice.
create function is_coin(p_chain text, p_contract text) returns boolean language sql immutable as $$
  select coalesce((p_chain, lower(p_contract)) in (('CELO', '0x471ece3750da237f93b8e339c536989b8978a438'),
    ('POLYGON', '0x0000000000000000000000000000000000001010')), false)
$$;

-- A token is registered after it was deployed or verified.
create function check_token_new() returns trigger language plpgsql as $$
begin
  if is_coin(new.chain, new.contract) then
    raise exception 'token % is the coin of its chain', new.id
      using errcode = 'check_violation', constraint = 'fungible_tokens_coin';
  end if;
  if new.status <> 'pending' or new.currency is not null then
    raise exception 'token % does not begin as pending', new.id
      using errcode = 'check_violation', constraint = 'fungible_tokens_begin';
  end if;
  return new;
end $$;
create trigger fungible_tokens_begin before insert on fungible_tokens
  for each row execute function check_token_new();
