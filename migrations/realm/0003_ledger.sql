-- What:     transactions, their two entries each, the ledger lock, and the functions that post.
-- Why:      contract, section 8; the shape was measured: group commit under the ledger lock, evaluated in memory.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

-- The server takes figures of a table from 300 rows for each step of the finest column's target, a hundred unless told
-- otherwise. Vacuum keeps a snapshot meanwhile, for seconds where the pages are many, and no version of a balance that is
-- newer can be pruned: at some thousand transfers a second the table of accounts grew to a multiple of its size. These
-- tables are read by their keys, so a fifth of the rows says enough.
create function sample_less(p_table regclass) returns void language plpgsql as $$
begin
  execute (select format('alter table only %s %s', p_table,
      string_agg(format('alter column %I set statistics 20', a.attname), ', '))
    from pg_attribute a where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped);
end $$;

-- PostgreSQL reads the tree of each CHECK anew in each statement: constants are written with their types, and as one
-- array, because the trees are then smaller by a fifth.
create table transactions (
  id uuid primary key,
  source uuid not null,
  destination uuid not null,
  source_seq bigint not null,
  destination_seq bigint not null,
  amount numeric not null check (amount > numeric '0'),
  type text not null check (type = any ('{transfer,deposit,forward,withdrawal,return,fee,issue,destroy,capture,revert}')),
  testnet boolean not null,
  asset text not null,
  owner uuid,
  client_ip inet,
  api_key uuid,
  fiat_currency text,
  fiat_rate numeric,
  fiat_value numeric,
  reference text,
  reverts uuid,
  seal jsonb,
  address_data jsonb,
  created_at timestamptz not null,
  check (source <> destination),
  check ((fiat_currency is null) = (fiat_value is null) and (fiat_rate is null) = (fiat_value is null))
) partition by range (id);
create index transactions_owner on transactions (owner, id);
create table transactions_newest partition of transactions for values from (minvalue) to (maxvalue);
comment on table transactions is
  'Append-only, in parts by id (0022_parts.sql). No foreign keys: ledger_apply checks the same, the audit proves it.';
comment on column transactions.api_key is 'The machine key that acted as the owner.';
comment on column transactions.source_seq is 'Leads to the entry of the source without an index on entries.';

-- An index of a part says nothing about the others: what is there once in the whole ledger has a table of its own.
create table transaction_references (
  reference text primary key,
  transaction uuid not null unique
);
comment on table transaction_references is 'Append-only. Each reference leads to one transaction.';

create table transaction_reverts (
  reverts uuid primary key,
  transaction uuid not null unique
);
comment on table transaction_reverts is 'Append-only. A transaction is reverted once.';

create table transaction_data (
  transaction uuid primary key,
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  updated_at timestamptz
);
comment on table transaction_data is 'The one variable part of a transaction, beside it.';

create table entries (
  account uuid not null,
  seq bigint not null check (seq > 0),
  transaction uuid not null,
  amount numeric not null check (amount <> numeric '0'),
  balance numeric not null,
  blocked numeric check (blocked >= numeric '0'),
  linked numeric check (linked > numeric '0')
) partition by range (transaction);
create table entries_newest partition of entries for values from (minvalue) to (maxvalue);
alter table entries_newest add primary key (account, seq);
comment on table entries is
  'Append-only, in the same parts as transactions. Of an account and seq there is one: in a part by its key, beyond by accounts_seq.';
comment on column entries.balance is 'The account''s total after this entry.';
comment on column entries.blocked is
  'The sum of the account''s open blocks at this entry; null where nothing was available: frozen, or a deposit account.';
comment on column entries.linked is 'The part of the balance that came to linked addresses, which is never available; null for none.';

create table ledger_commits (
  id bigint generated always as identity primary key,
  transactions uuid[] not null,
  events bigint[] not null default '{}'
);
comment on table ledger_commits is 'Commits without links in the hash chain yet, in the order of commit: ids are drawn under the ledger lock.';
comment on column ledger_commits.events is 'Ids of ledger_events without a link yet; in rows of their own.';

create table batches (
  key uuid primary key,
  request_id text not null,
  transactions uuid[] not null,
  refusals text[],
  unresolved jsonb,
  created_at timestamptz not null default clock_timestamp()
);
create index batches_age on batches using brin (created_at);
comment on table batches is 'The data from which the answer of a batch is rebuilt, under its idempotency key.';

select sample_less(t) from unnest('{transactions,transactions_newest,entries,entries_newest,transaction_references,transaction_data,batches}'::regclass[]) t;

create table ledger_lock ();
comment on table ledger_lock is
  'Has no rows. Each transaction that changes an account row locks it before its snapshot is taken, and so cannot fail with 40001 against another.';

-- The ledger's time and ids, given under the ledger lock: the greater of the database's clock and the time of the
-- newest transaction, so that time never goes back and ids ascend with commits, and with them within each account,
-- whatever any clock does. An id is a UUID of version 7: 48 bits of milliseconds, 12 bits that number the postings of
-- that millisecond (both together are the posting's head), 14 bits for the move's position in its posting, and 48
-- random bits (the tail), by which a sender recognises its own posting.
create function id_ms(p_id uuid) returns bigint language sql immutable as $$
  select ('x' || translate(left(p_id::text, 13), '-', ''))::bit(48)::bigint
$$;

-- An id with another time.
create function id_at(p_id uuid, p_ms bigint) returns uuid language sql immutable as $$
  select (lpad(to_hex(p_ms), 12, '0') || substr(translate(p_id::text, '-', ''), 13))::uuid
$$;

create function database_ms() returns bigint language sql as $$
  select trunc(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create function ledger_head(p_newest uuid) returns text language plpgsql as $$
declare
  ms bigint := database_ms();
  number integer := 0;
begin
  if id_ms(p_newest) >= ms then
    ms := id_ms(p_newest);
    number := ('x' || substr(p_newest::text, 16, 3))::bit(12)::integer + 1;
    if number > 4095 then ms := ms + 1; number := 0; end if;
  end if;
  return lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(number), 3, '0');
end $$;

create function ledger_id(p_head text, p_position integer, p_tail text) returns uuid
language sql immutable as $$
  select (p_head || to_hex(32767 + p_position) || p_tail)::uuid
$$;

-- One part is read, however many there are; all are where that is empty, because it was just cut off.
create function ledger_newest() returns uuid language plpgsql as $$
declare
  newest uuid;
begin
  select t.id into newest from transactions_newest t order by t.id desc limit 1;
  if newest is null then select t.id into newest from transactions t order by t.id desc limit 1; end if;
  return newest;
end $$;

create function ms_time(p_ms bigint) returns timestamptz language sql immutable as $$
  select to_timestamp(p_ms / 1000.0)
$$;

-- The ledger's present, in milliseconds since the epoch and as a time.
create function ledger_ms() returns bigint language sql as $$
  select greatest(database_ms(), id_ms(ledger_newest()))
$$;

create function ledger_now() returns timestamptz language sql as $$
  select ms_time(ledger_ms())
$$;

-- Closes the past up to p_ms, the present if null: no later commit can carry a time until then, so reads of it never
-- change. Returns p_ms, or the present if that is earlier, which is not closed. A time before a newer commit is
-- closed already. Otherwise the function waits for the holder of the ledger lock, which may have drawn its time, and
-- for the end of the millisecond.
create function ledger_closed(p_ms bigint) returns bigint language plpgsql as $$
declare
  newest bigint := id_ms(ledger_newest());
  wanted bigint := coalesce(p_ms, ledger_ms());
begin
  if wanted < newest then return wanted; end if;
  if pg_is_in_recovery() then return coalesce(newest, 0); end if;
  if wanted = ledger_ms() then perform pg_sleep(0.002); end if;
  lock table ledger_lock in share mode;
  return least(wanted, ledger_ms());
end $$;

create function round_half_even(x numeric, places integer) returns numeric
language plpgsql immutable strict as $$
declare
  r numeric := round(x, places);
  unit numeric := 1;
begin
  if places > 0 then unit := ('0.' || repeat('0', places - 1) || '1')::numeric; end if;
  if abs(r - x) * 2 = unit and mod(abs(r) / unit, 2) = 1 then return r - sign(x) * unit; end if;
  return r;
end $$;

-- The value of one unit of an asset in a currency: set directly, or over a virtual currency's base. In PL/pgSQL, because
-- PostgreSQL before 18 parses and plans a function in SQL anew in each posting.
create function rate_of(p_asset text, p_currency text) returns numeric
language plpgsql stable as $$
declare
  v_rate numeric; v_base text; v_base_rate numeric;
begin
  if p_asset = p_currency then return 1; end if;
  select r.rate into v_rate from rates r where r.base = p_asset and r.currency = p_currency;
  if found then return v_rate; end if;
  select c.rate, c.base into v_rate, v_base from currencies c where c.name = p_asset and c.deleted_at is null;
  if v_rate is null or v_base = p_currency then return v_rate; end if;
  select r.rate into v_base_rate from rates r where r.base = v_base and r.currency = p_currency;
  return v_rate * v_base_rate;
end $$;

-- Applies moves in order inside the caller's serializable transaction, under the ledger lock.
-- p_ids: the distinct accounts, ascending; p_source and p_destination: 1-based positions in p_ids.
-- p_go: which moves to consider (null: all).
-- p_system: system accounts take part and rights were checked elsewhere.
-- p_force: a chain event is booked whatever the state of the accounts, deleted ones too. Only a deposit, a forward and
-- a fee move a deposit account, with or without p_force.
-- p_atomic: one refusal refuses all, and nothing is written.
-- p_extras: rare fields (conditions, reverts, address_data).
-- p_head and p_tail: head and tail of the ids, if the caller has drawn the head already in this transaction; null: drawn
-- here. stamp is both, concatenated.
-- A deposit in an account with linked addresses came to one of those, and counts as linked. A revert that is forced
-- takes such a deposit back: it leaves linked value and balance at once, so that nothing becomes available.
-- refusals is null if all moves were posted, else per move null or the refusal. blocked: per account the amount held
-- back, open blocks and linked value, after all moves; null while it is frozen.
create function ledger_apply(
  p_type text, p_system boolean, p_force boolean, p_atomic boolean, p_head text, p_tail text, p_go boolean[],
  p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[],
  p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[],
  p_reference text[], p_extras jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  n integer := cardinality(p_amount);
  go boolean[] := coalesce(p_go, array_fill(true, array[n]));
  v_total numeric[]; v_held numeric[]; v_number bigint[]; v_before bigint[]; v_state integer[];
  v_linked numeric[]; v_blocked numeric[]; v_watches boolean[]; entry_linked numeric[];
  v_asset text[]; v_testnet boolean[]; v_owner uuid[]; v_bound boolean[]; v_places integer[];
  v_currency text[]; v_money_places integer[];
  source_seq bigint[] := array_fill(null::bigint, array[n]);
  destination_seq bigint[] := source_seq;
  reference_group integer[]; reference_taken boolean[];
  v_row tid[];
  unlinks boolean := p_type = 'revert' and p_force;
  stopped boolean[]; m jsonb; s integer; d integer; a numeric; why text;
  rate numeric; rate_asset text; rate_currency text;
  newest uuid; v_head text;
  v_tail text := coalesce(p_tail, right(gen_random_uuid()::text, 12));
  v_id uuid[]; v_at timestamptz; updated integer;
begin
  if current_setting('transaction_isolation') <> 'serializable' then
    raise exception 'the ledger posts in serializable transactions only';
  end if;
  if n > 16384 then raise exception 'too many moves in one posting'; end if;
  if (array_lower(p_ids, 1), array_lower(p_source, 1), array_lower(p_destination, 1), array_lower(p_amount, 1))
    <> (1, 1, 1, 1) or (cardinality(p_source), cardinality(p_destination)) <> (n, n) then
    raise exception 'positions begin with 1';
  end if;
  select t.id into newest from transactions_newest t order by t.id desc limit 1;
  if newest is null then newest := ledger_newest(); end if;
  if p_head is null then
    v_head := ledger_head(newest);
  else
    -- The head is read back from an id, because a UUID has several spellings. A clock put back while the head was drawn
    -- leaves it ahead; a head further ahead would shift the ledger's time.
    v_head := left(replace(ledger_id(p_head, 1, v_tail)::text, '-', ''), 16);
    if v_head <> p_head or p_head collate "C" <= left(replace(newest::text, '-', ''), 16)
      or id_ms(ledger_id(p_head, 1, v_tail)) > greatest(database_ms() + 60000, id_ms(newest) + 1) then
      raise exception 'ids are given by the ledger, under the ledger lock';
    end if;
  end if;
  stamp := v_head || v_tail;
  v_id := array(select ledger_id(v_head, q.ord, v_tail) from generate_series(1, n) q(ord));
  v_at := ms_time(id_ms(v_id[1]));
  source_total := array_fill(null::numeric, array[n]);
  destination_total := source_total;
  select array_agg(x.total), array_agg(x.blocked + x.linked), array_agg(nullif(x.linked, 0)),
      array_agg(case when not x.frozen and x.type <> 'deposit' then x.blocked end),
      array_agg(case when not x.frozen and x.type <> 'deposit' then x.blocked + x.linked end), array_agg(x.seq), array_agg(x.row),
      array_agg(x.asset), array_agg(x.testnet), array_agg(x.owner), array_agg(x.type <> 'system'),
      array_agg(x.decimals), array_agg(x.currency), array_agg(x.currency_places),
      array_agg(case when x.id is null or x.deleted_at is not null and not p_force then 4
        when x.type = 'system' then case when p_system then 0 else 5 end
        when x.type = 'deposit' and p_type not in ('deposit', 'forward', 'fee') then 6
        when p_force then 0 when not x.enabled then 3 when not x.active then 2
        when x.frozen then 1 else 0 end)
    into v_total, v_held, v_linked, v_blocked, blocked, v_number, v_row, v_asset, v_testnet, v_owner, v_bound, v_places, v_currency, v_money_places, v_state
    from (select y.* from unnest(p_ids) with ordinality u(id, ord)
      left join lateral (select i.ctid as row, i.id, i.total, i.blocked, i.linked, i.seq, i.asset, i.testnet, i.owner, i.type,
          i.decimals, i.currency, i.currency_places, i.enabled, i.active, i.frozen, i.deleted_at
        from accounts i where i.id = u.id offset 0) y on true order by u.ord) x;
  v_before := v_number;
  if p_type = 'deposit' then
    v_watches := array(select watches_addresses(u.id) from unnest(p_ids) with ordinality u(id, ord) order by u.ord);
    entry_linked := array_fill(null::numeric, array[2 * n]);
  end if;
  if not p_force and exists (select from stops where what = 'moves' and lifted_at is null) then
    stopped := stopped_moves(p_type, p_ids, p_source, p_destination, p_actor);
  end if;
  if array_remove(p_reference, null) <> '{}' then
    select array_agg(dense order by ord), array_agg(taken order by dense) filter (where first)
      into reference_group, reference_taken
      from (select u.ord, dense_rank() over (order by u.reference)::integer as dense,
          row_number() over (partition by u.reference order by u.ord) = 1 as first,
          (select true from transaction_references t where t.reference = u.reference) is not null as taken
        from unnest(p_reference) with ordinality u(reference, ord)) q;
  end if;

  for k in 1..n loop
    s := p_source[k]; d := p_destination[k]; a := p_amount[k];
    -- One expression checks the rules that nearly all moves pass; the reason of a refusal and rarer rules are
    -- evaluated only where it is not true.
    if (go[k] and v_state[s] = 0 and v_state[d] < 2 and s <> d and v_total[s] - v_held[s] >= a and p_extras[k] is null
      and p_reference[k] is null and v_asset[s] = v_asset[d] and v_testnet[s] = v_testnet[d] and scale(a) <= v_places[s]
      and (p_may_move_any[k] or p_system or v_owner[s] = p_actor[k]) and stopped is null and not unlinks) is not true then
      continue when not go[k];
      m := p_extras[k];
      if unlinks then
        if (v_linked[s] >= a) is not true then raise exception 'only linked value is taken back'; end if;
        v_linked[s] := nullif(v_linked[s] - a, 0); v_held[s] := v_held[s] - a; blocked[s] := blocked[s] - a;
      end if;
      why := case
        when v_state[s] in (4, 5) then 'source.not_found'
        when not p_system and p_may_move_any[k] is not true and v_owner[s] is distinct from p_actor[k] then 'source.forbidden'
        when v_state[s] = 6 then 'source.deposit'
        when v_state[d] in (4, 5) then 'destination.not_found'
        when v_state[d] = 6 then 'destination.deposit'
        when s = d then 'same_account'
        when stopped[k] then 'stopped'
        when v_asset[s] <> v_asset[d] or v_testnet[s] <> v_testnet[d] then 'asset_mismatch'
        when scale(a) > v_places[s] and scale(trim_scale(a)) > v_places[s] then 'scale'
        when v_state[s] = 3 then 'source.not_enabled' when v_state[d] = 3 then 'destination.not_enabled'
        when v_state[s] = 2 then 'source.inactive' when v_state[d] = 2 then 'destination.inactive'
        when v_state[s] = 1 then 'source.frozen'
        when v_bound[s] and v_total[s] - v_held[s] < a then 'insufficient'
        when p_reference[k] is not null and reference_taken[reference_group[k]] then 'reference'
        when m is not null and m ? 'asset' and m ->> 'asset' <> v_asset[s] then 'asset_mismatch'
        when m is not null and m ? 'destination_unread' then 'destination.unread'
        when m is not null and v_total[s] - v_held[s] < (m ->> 'source_available_gte')::numeric then 'condition.source_available_gte'
        when m is not null and v_total[s] <> (m ->> 'source_total_eq')::numeric then 'condition.source_total_eq'
        when m is not null and v_total[d] + a > (m ->> 'destination_total_lte')::numeric then 'condition.destination_total_lte'
      end;
      if why is not null then
        if refusals is null then refusals := array_fill(null::text, array[n]); end if;
        refusals[k] := why; go[k] := false;
        continue;
      end if;
    end if;
    v_total[s] := v_total[s] - a; v_number[s] := v_number[s] + 1;
    v_total[d] := v_total[d] + a; v_number[d] := v_number[d] + 1;
    source_total[k] := v_total[s]; destination_total[k] := v_total[d];
    source_seq[k] := v_number[s]; destination_seq[k] := v_number[d];
    if v_watches[d] or p_reference[k] is not null then
      if v_watches[d] then
        v_held[d] := v_held[d] + a; v_linked[d] := coalesce(v_linked[d], 0) + a; blocked[d] := blocked[d] + a;
        entry_linked[n + k] := v_linked[d];
      end if;
      if p_reference[k] is not null then reference_taken[reference_group[k]] := true; end if;
    end if;
    if rate_asset is distinct from v_asset[s] or rate_currency is distinct from v_currency[s] then
      rate_asset := v_asset[s]; rate_currency := v_currency[s]; rate := rate_of(rate_asset, rate_currency);
    end if;
    if rate is not null then
      if fiat_rate is null then
        fiat_rate := array_fill(null::numeric, array[n]); fiat_value := fiat_rate;
      end if;
      fiat_rate[k] := rate; fiat_value[k] := round_half_even(a * rate, v_money_places[s]);
    end if;
  end loop;

  if (p_atomic and refusals is not null) or not (true = any (go)) then return; end if;
  -- Accounts are found where they were read: nothing else of this transaction has moved their rows since. Arrays are
  -- unnested in the select list, because each one in FROM goes through a tuple store of its own.
  if unlinks then
    update accounts x set total = q.total, seq = q.seq, linked = coalesce(q.linked, 0)
      from (select unnest(p_ids) as id, unnest(v_total) as total, unnest(v_number) as seq, unnest(v_before) as before,
        unnest(v_linked) as linked) q
      where x.ctid = any (v_row) and x.id = q.id and q.seq <> q.before;
  else
    update accounts x set total = q.total, seq = q.seq
      from (select unnest(p_ids) as id, unnest(v_total) as total, unnest(v_number) as seq, unnest(v_before) as before) q
      where x.ctid = any (v_row) and x.id = q.id and q.seq <> q.before;
  end if;
  get diagnostics updated = row_count;
  -- An account that is named twice would keep one of its two balances, and value would be created or lost.
  if updated <> cardinality(p_ids) then
    if updated <> (select count(*) from unnest(v_number, v_before) q(seq, before) where q.seq <> q.before) then
      raise exception 'each account is named once';
    end if;
  end if;
  if true = any (v_watches) then
    update accounts x set linked = q.linked from unnest(p_ids, v_linked) q(id, linked)
      where x.id = q.id and q.linked <> x.linked;
  end if;
  insert into transactions (id, source, destination, source_seq, destination_seq, amount, type, testnet,
      asset, owner, client_ip, api_key, fiat_currency, fiat_rate, fiat_value, reference, reverts, seal, address_data, created_at)
    select q.id, p_ids[q.s], p_ids[q.d], q.ss, q.ds, q.amount, p_type, v_testnet[q.s], v_asset[q.s], q.actor, q.client_ip, q.api_key,
      case when q.fiat_value is not null then v_currency[q.s] end, q.fiat_rate, q.fiat_value, q.reference,
      case when p_type = 'revert' then (q.extras ->> 'reverts')::uuid end, q.seal, q.extras -> 'address_data', v_at
    from (select unnest(v_id) as id, unnest(p_source) as s, unnest(p_destination) as d, unnest(source_seq) as ss,
        unnest(destination_seq) as ds, unnest(p_amount) as amount, unnest(p_actor) as actor, unnest(p_client_ip) as client_ip,
        unnest(p_api_key) as api_key, unnest(fiat_rate) as fiat_rate, unnest(fiat_value) as fiat_value,
        unnest(p_reference) as reference, unnest(p_seal) as seal, unnest(p_extras) as extras, unnest(go) as go) q
    where q.go;
  insert into entries (account, seq, transaction, amount, balance, blocked, linked)
    select p_ids[q.a], q.seq, q.id, case when q.ord > n then q.amount else -q.amount end, q.total, v_blocked[q.a],
      coalesce(entry_linked[q.ord], v_linked[q.a])
    from (select unnest(v_id || v_id) as id, unnest(p_source || p_destination) as a,
        unnest(source_seq || destination_seq) as seq, unnest(p_amount || p_amount) as amount,
        unnest(source_total || destination_total) as total, unnest(go || go) as go, generate_series(1, 2 * n) as ord) q
    where q.go;
  if reference_group is not null then
    insert into transaction_references (reference, transaction)
      select q.reference, q.id from unnest(p_reference, v_id, go) q(reference, id, go) where q.go and q.reference is not null;
  end if;
  if p_type = 'revert' then
    insert into transaction_reverts (reverts, transaction)
      select (q.extras ->> 'reverts')::uuid, q.id from unnest(p_extras, v_id, go) q(extras, id, go)
      where q.go and q.extras ? 'reverts';
  end if;
  if array_remove(p_data, null) <> '{}' then
    insert into transaction_data (transaction, data)
      select q.id, q.data from unnest(v_id, p_data, go) q(id, data, go) where q.go and q.data is not null;
  end if;
  insert into ledger_commits (transactions)
    values (case when refusals is null and p_go is null then v_id
      else array(select q.id from unnest(v_id, go) with ordinality q(id, go, ord) where q.go order by q.ord) end);
end $$;

-- Whether a request repeats the one whose answer is kept. The last digit of a fingerprint says with which rights it was
-- made, the role above the lowest bit and the scope in it: nobody gets an answer that was given to wider ones.
create function is_repeat(p_kept uuid, p_given uuid) returns boolean language sql immutable parallel safe as $$
  select left(p_kept::text, 35) = left(p_given::text, 35) and k.rights >> 1 <= g.rights >> 1 and k.rights & 1 <= g.rights & 1
    from (select get_byte(uuid_send(p_kept), 15) & 15 as rights) k, (select get_byte(uuid_send(p_given), 15) & 15 as rights) g
$$;

-- Applies transfers that arrived one by one, each with its own idempotency key (or none). A key seen before applies
-- nothing: replays returns its stored outcome. A refusal is stored under its key, with the tail behind it, by which
-- its sender recognises it. One actor, with its right, address and machine key, stands for all moves.
create function ledger_queued(
  p_key uuid[], p_fingerprint uuid[], p_tail text,
  p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[],
  p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[],
  p_reference text[], p_extras jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text, out replays jsonb
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  claimed integer; keyed integer; go boolean[]; n integer := cardinality(p_amount); applied record;
  head text := ledger_head(ledger_newest());
begin
  if n > 1 and cardinality(p_actor) = 1 then
    p_actor := array_fill(p_actor[1], array[n]); p_may_move_any := array_fill(p_may_move_any[1], array[n]);
    p_client_ip := array_fill(p_client_ip[1], array[n]); p_api_key := array_fill(p_api_key[1], array[n]);
  end if;
  -- Nearly always each key is new, and one that is not fails the plain statement. ON CONFLICT looks each key up before it
  -- inserts it, and inserts it in two steps: a twenty-fifth of a large batch.
  begin
    insert into idempotency (key, fingerprint, transaction)
      select q.key, q.fingerprint, ledger_id(head, q.ord, p_tail)
      from (select unnest(p_key) as key, unnest(p_fingerprint) as fingerprint, generate_series(1, n) as ord) q
      where q.key is not null
        and (not earlier_kept() or (select true from idempotency_earlier e where e.key = q.key) is null);
    get diagnostics claimed = row_count;
  exception when unique_violation then
    insert into idempotency (key, fingerprint, transaction)
      select q.key, q.fingerprint, ledger_id(head, q.ord, p_tail)
      from (select unnest(p_key) as key, unnest(p_fingerprint) as fingerprint, generate_series(1, n) as ord) q
      where q.key is not null
        and (not earlier_kept() or (select true from idempotency_earlier e where e.key = q.key) is null)
      on conflict do nothing;
    get diagnostics claimed = row_count;
  end;
  if claimed < n then
    keyed := cardinality(array_remove(p_key, null));
    if claimed < keyed then
      select jsonb_object_agg(q.ord, jsonb_build_object('same', is_repeat(x.fingerprint, q.fingerprint),
          'status', x.status, 'body', x.body, 'transaction', x.transaction))
        into replays
        from unnest(p_key, p_fingerprint) with ordinality q(key, fingerprint, ord)
        join lateral (select i.* from idempotency i where i.key = q.key
          union all select e.* from idempotency_earlier e where e.key = q.key) x on true
        where x.transaction is distinct from ledger_id(head, q.ord::integer, p_tail);
      go := array(select not (replays ? q.ord::text) from generate_series(1, n) q(ord) order by q.ord);
    end if;
  end if;
  applied := ledger_apply('transfer', false, false, false, head, p_tail, go, p_ids, p_source, p_destination, p_amount,
    p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras);
  refusals := applied.refusals; source_total := applied.source_total; destination_total := applied.destination_total;
  blocked := applied.blocked; fiat_rate := applied.fiat_rate; fiat_value := applied.fiat_value; stamp := applied.stamp;
  if refusals is not null then
    update idempotency x set transaction = null, body = q.refusal || ' ' || p_tail
      from unnest(p_key, refusals) q(key, refusal) where q.refusal is not null and x.key = q.key;
  end if;
end $$;

-- ledger_queued in one message from a session without an open transaction: the empty one that CALL
-- begins in is ended, and the ledger lock is taken before the snapshot of the next, for LOCK needs none.
create procedure ledger_queued_now(
  p_key uuid[], p_fingerprint uuid[], p_tail text,
  p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[],
  p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[],
  p_reference text[], p_extras jsonb[],
  inout refusals text, inout source_total text, inout destination_total text,
  inout blocked text, inout fiat_rate text, inout fiat_value text, inout stamp text, inout replays jsonb
) language plpgsql as $$
declare
  l record;
begin
  commit;
  set transaction isolation level serializable;
  lock table ledger_lock in exclusive mode;
  l := ledger_queued(p_key, p_fingerprint, p_tail, p_ids, p_source, p_destination, p_amount,
    p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras);
  refusals := l.refusals; source_total := l.source_total; destination_total := l.destination_total; blocked := l.blocked;
  fiat_rate := l.fiat_rate; fiat_value := l.fiat_value; stamp := l.stamp; replays := l.replays;
  commit;
end $$;

-- ledger_queued for one transfer without reference and conditions: one expression checks the rules that nearly every
-- transfer passes, and it is written without arrays at half the cost. A transfer that does not pass goes through
-- ledger_queued, which alone determines the refusal.
create function ledger_single(
  p_key uuid, p_fingerprint uuid, p_tail text, p_source uuid, p_destination uuid, p_amount numeric,
  p_actor uuid, p_may_move_any boolean, p_client_ip inet, p_api_key uuid, p_seal jsonb, p_data jsonb,
  out posted text[], out refused text, out replay jsonb
) language plpgsql as $$
declare
  plain boolean; s_total numeric; s_blocked numeric; s_linked numeric; s_seq bigint;
  d_total numeric; d_blocked numeric; d_linked numeric; d_seq bigint;
  v_asset text; v_testnet boolean; v_currency text; v_money_places integer; rate numeric; value numeric; s integer; d integer;
  newest uuid; head text; v_id uuid;
begin
  if current_setting('transaction_isolation') <> 'serializable' then
    raise exception 'the ledger posts in serializable transactions only';
  end if;
  select x.total - p_amount, x.blocked, nullif(x.linked, 0), x.seq + 1,
      y.total + p_amount, case when not y.frozen then y.blocked end, nullif(y.linked, 0), y.seq + 1,
      x.asset, x.testnet, x.currency, x.currency_places,
      x.type in ('virtual', 'ramp') and y.type in ('virtual', 'ramp') and x.deleted_at is null and y.deleted_at is null
        and x.enabled and y.enabled and x.active and y.active and not x.frozen and x.total - x.blocked - x.linked >= p_amount
        and x.asset = y.asset and x.testnet = y.testnet and scale(p_amount) <= x.decimals
        and (p_may_move_any or x.owner = p_actor)
        and not (earlier_kept() and exists (select from idempotency_earlier e where e.key = p_key))
        and not exists (select from stops z where z.what = 'moves' and z.lifted_at is null),
      (select t.id from transactions_newest t order by t.id desc limit 1)
    into s_total, s_blocked, s_linked, s_seq, d_total, d_blocked, d_linked, d_seq, v_asset, v_testnet, v_currency, v_money_places, plain,
      newest
    from accounts x, accounts y where x.id = p_source and y.id = p_destination and p_source <> p_destination;
  if plain then
    if newest is null then newest := ledger_newest(); end if;
    head := ledger_head(newest);
    v_id := ledger_id(head, 1, p_tail);
    insert into idempotency (key, fingerprint, transaction) values (p_key, p_fingerprint, v_id)
      on conflict do nothing;
    plain := found;
  end if;
  if plain then
    rate := rate_of(v_asset, v_currency);
    value := round_half_even(p_amount * rate, v_money_places);
    update accounts x set total = case x.id when p_source then s_total else d_total end, seq = x.seq + 1
      where x.id in (p_source, p_destination);
    insert into transactions (id, source, destination, source_seq, destination_seq, amount, type, testnet,
        asset, owner, client_ip, api_key, fiat_currency, fiat_rate, fiat_value, seal, created_at)
      values (v_id, p_source, p_destination, s_seq, d_seq, p_amount, 'transfer', v_testnet,
        v_asset, p_actor, p_client_ip, p_api_key, case when value is not null then v_currency end, rate, value, p_seal,
        ms_time(id_ms(v_id)));
    insert into entries (account, seq, transaction, amount, balance, blocked, linked)
      values (p_source, s_seq, v_id, -p_amount, s_total, s_blocked, s_linked),
        (p_destination, d_seq, v_id, p_amount, d_total, d_blocked, d_linked);
    if p_data is not null then
      insert into transaction_data (transaction, data) values (v_id, p_data);
    end if;
    insert into ledger_commits (transactions) values (array[v_id]);
    posted := array[s_total, d_total, s_blocked + coalesce(s_linked, 0), d_blocked + coalesce(d_linked, 0),
      rate, value]::text[] || (head || p_tail);
  else
    s := case when p_source <= p_destination then 1 else 2 end;
    d := case when p_destination <= p_source then 1 else 2 end;
    select array[l.source_total[1], l.destination_total[1], l.blocked[s], l.blocked[d], l.fiat_rate[1], l.fiat_value[1]]::text[]
          || l.stamp,
        l.refusals[1], l.replays -> '1'
      into posted, refused, replay
      from ledger_queued(array[p_key], array[p_fingerprint], p_tail,
        case when s = d then array[p_source] when s < d then array[p_source, p_destination] else array[p_destination, p_source] end,
        array[s], array[d], array[p_amount],
        array[p_actor], array[p_may_move_any], array[p_client_ip], array[p_api_key], array[p_seal], array[p_data],
        array[null::text], array[null::jsonb]) l;
  end if;
end $$;

-- ledger_single in one message, as ledger_queued_now. Both end transactions and so act with the caller's rights.
create procedure ledger_single_now(
  p_key uuid, p_fingerprint uuid, p_tail text, p_source uuid, p_destination uuid, p_amount numeric,
  p_actor uuid, p_may_move_any boolean, p_client_ip inet, p_api_key uuid, p_seal jsonb, p_data jsonb,
  inout posted text[], inout refused text, inout replay jsonb
) language plpgsql as $$
declare
  l record;
begin
  commit;
  set transaction isolation level serializable;
  lock table ledger_lock in exclusive mode;
  l := ledger_single(p_key, p_fingerprint, p_tail, p_source, p_destination, p_amount, p_actor, p_may_move_any, p_client_ip,
    p_api_key, p_seal, p_data);
  posted := l.posted; refused := l.refused; replay := l.replay;
  commit;
end $$;

-- Returns the stored outcome of a batch's key.
create function ledger_replay(p_key uuid, p_fingerprint uuid) returns jsonb language plpgsql as $$
begin
  return (select jsonb_build_object('same', is_repeat(x.fingerprint, p_fingerprint), 'status', x.status, 'body', x.body,
      'transaction', x.transaction, 'request', b.request_id, 'unresolved', b.unresolved,
      'transactions', to_jsonb(b.transactions), 'refusals', to_jsonb(b.refusals))
    from (select i.* from idempotency i where i.key = p_key
      union all select e.* from idempotency_earlier e where e.key = p_key) x
    left join lateral (select o.* from batches o where o.key = p_key
      union all select e.* from batches_earlier e where e.key = p_key) b on true);
end $$;

-- Applies a batch that came in one request under one key; p_key is never null, a request without a key brings one of
-- its own, so that a resend after a lost connection finds the outcome of the first attempt. p_atomic: one refusal
-- refuses all. p_unresolved: items that were refused before posting, for the replay.
create function ledger_bulk(
  p_key uuid, p_fingerprint uuid, p_request text, p_unresolved jsonb, p_atomic boolean, p_tail text,
  p_actor uuid, p_may_move_any boolean, p_client_ip inet, p_api_key uuid,
  p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[],
  p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text, out replay jsonb
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  n integer := cardinality(p_amount); first_refused integer;
begin
  insert into idempotency (key, fingerprint)
    select p_key, p_fingerprint
      where not (earlier_kept() and exists (select from idempotency_earlier e where e.key = p_key))
    on conflict do nothing;
  if not found then
    replay := ledger_replay(p_key, p_fingerprint);
    return;
  end if;
  if n > 0 then
    select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
      into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
      from ledger_apply('transfer', false, false, p_atomic, null, p_tail, null, p_ids, p_source, p_destination, p_amount,
        array_fill(p_actor, array[n]), array_fill(p_may_move_any, array[n]), array_fill(p_client_ip, array[n]),
        array_fill(p_api_key, array[n]), p_seal, p_data, p_reference, p_extras) a;
  end if;
  if p_atomic and refusals is not null then
    first_refused := (select min(q.ord) from unnest(refusals) with ordinality q(why, ord) where q.why is not null);
    update idempotency x set body = concat_ws(' ', first_refused - 1, refusals[first_refused], p_tail)
      where x.key = p_key;
    return;
  end if;
  insert into batches (key, request_id, transactions, refusals, unresolved)
    values (p_key, p_request, array(select ledger_id(left(stamp, 16), q.ord, p_tail) from generate_series(1, n) q(ord)),
      refusals, p_unresolved);
end $$;
