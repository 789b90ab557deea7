-- What:     events of the ledger: each change of a row that decides whose money it is, noted by triggers of the
--           tables.
-- Why:      contract, section 8: the hash chain; an owner, an alias or a freeze must not change unseen.
-- Locks:    share row exclusive on fourteen tables for their triggers.
-- Backfill: one event for each row that there is.
-- Undo:     forward only.

create table ledger_events (
  id bigint generated always as identity primary key,
  kind text not null,
  subject text not null,
  facts jsonb check (jsonb_typeof(facts) = 'object'),
  noted_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);
create index ledger_events_subject on ledger_events (kind, subject, id);
comment on table ledger_events is
  'Append-only. What the chain of hashes holds besides transactions: a row as it is from then on.';
comment on column ledger_events.kind is 'The table whose row it is; or realm, or audit.';
comment on column ledger_events.facts is 'All fields of the row that decide whose money it is; null if the row is gone.';
create trigger ledger_events_append_only before update or delete or truncate on ledger_events
  for each statement execute function refuse_change();

-- The columns of a table that events leave out: balances, which the entries prove, and freely variable data.
create function untold_columns(p_table text) returns text[] language sql immutable as $$
  select array['data', 'error', 'updated_at'] || case p_table
    when 'accounts' then array['total', 'blocked', 'linked', 'seq']
    when 'currencies' then array['supply']
    when 'identities' then array['person', 'company']
    when 'users' then array['username', 'email', 'password_digest', 'channel']
    when 'api_keys' then array['last_used_at']
    when 'second_factors' then array['last_step', 'wrong_codes', 'wrong_since']
    when 'ramps' then array['next_index', 'reserved']
    when 'external_addresses' then array['root']
    when 'reserved_addresses' then array['shared']
    -- What was asked for is told; how it goes is proven by orders, by transactions and by chains.
    when 'withdrawals' then array['fee', 'charged', 'surcharge', 'returned', 'speed', 'gas_asset', 'gas', 'sponsored', 'block',
      'transaction', 'status', 'hash', 'nonce', 'height', 'confirmations', 'cost', 'found_order_id', 'found_payment', 'history',
      'deleted_at']
    when 'ramp_transfers' then array['state', 'block', 'asked_at', 'reference', 'claimed', 'claims', 'exchange_status',
      'exchange_amount', 'exchange_fee', 'hash', 'deposit', 'withdrawal', 'doubtful', 'reason', 'tries', 'next_at']
    when 'external_ramps' then array['hint', 'status', 'assets', 'failures', 'checked_at', 'check_at']
    else '{}' end
$$;

-- Columns of which events hold a digest: secrets, although they are stored encrypted or hashed, and what fewer users may
-- know than may read the chain: keys from which all addresses of a ramp derive, and addresses that nobody was given yet.
create function digested_columns(p_table text) returns text[] language sql immutable as $$
  select case p_table
    when 'users' then array['verifier']
    when 'api_keys' then array['digest']
    when 'second_factors' then array['secret', 'recovery']
    when 'ramps' then array['xpub']
    when 'addresses' then array['xpub']
    when 'reserved_addresses' then array['address']
    when 'external_ramps' then array['credentials']
    else '{}' end
$$;

-- The facts of a row in an event. Read with the time zone UTC, because the texts of times depend on it.
create function facts_of(p_table text, p_row jsonb) returns jsonb language sql immutable as $$
  select jsonb_strip_nulls(p_row - untold_columns(p_table) || coalesce(
    (select jsonb_object_agg(d, encode(sha256(convert_to(p_row ->> d, 'UTF8')), 'hex'))
      from unnest(digested_columns(p_table)) d where p_row is not null), '{}'))
$$;

create function subject_of(p_table text, p_row jsonb) returns text language sql immutable as $$
  select case p_table when 'reserved_addresses' then encode(sha256(convert_to(p_row ->> 'address', 'UTF8')), 'hex')
    else p_row ->> case p_table when 'ramps' then 'account' when 'second_factors' then 'user_id'
      when 'archived_parts' then 'bound' else 'id' end end
$$;

-- Notes events and queues them for their links in the hash chain.
create function note_events(p_kind text, p_subjects text[], p_facts jsonb[]) returns void language sql as $$
  with noted as (
    insert into ledger_events (kind, subject, facts)
    select p_kind, q.subject, q.facts from unnest(p_subjects, p_facts) q(subject, facts) returning id)
  insert into ledger_commits (transactions, events)
    select '{}', array_agg(id order by id) from noted having count(*) > 0
$$;

create function note_new_rows() returns trigger language plpgsql set timezone = 'UTC' as $$
begin
  perform note_events(tg_table_name, array_agg(subject_of(tg_table_name, q.row)),
    array_agg(facts_of(tg_table_name, q.row))) from (select to_jsonb(f) as row from fresh f) q;
  return null;
end $$;

create function note_changed_row() returns trigger language plpgsql set timezone = 'UTC' as $$
declare
  v_new jsonb := case when tg_op = 'UPDATE' then to_jsonb(new) end;
  v_old jsonb := to_jsonb(old);
  v_facts jsonb := facts_of(tg_table_name, v_new);
begin
  if v_facts is not distinct from facts_of(tg_table_name, v_old) then return null; end if;
  if subject_of(tg_table_name, v_new) <> subject_of(tg_table_name, v_old) then
    perform note_events(tg_table_name, array[subject_of(tg_table_name, v_old)], array[null::jsonb]);
  end if;
  perform note_events(tg_table_name, array[subject_of(tg_table_name, coalesce(v_new, v_old))], array[v_facts]);
  return null;
end $$;

create view ledger_facts as
  select null::text as kind, null::text as subject, null::jsonb as facts where false;
comment on view ledger_facts is
  'What is so now of all that events tell; the last event of each must say the same. Read with the time zone UTC.';

-- Notes events of tables from now on, and one for each present row. The triggers name the columns in events, so
-- postings, which change others, never fire them.
create function tell_of(variadic p_tables text[]) returns void language plpgsql set timezone = 'UTC' as $$
declare
  t text;
  told text;
  facts text := rtrim(pg_get_viewdef('ledger_facts'::regclass), ';');
begin
  foreach t in array p_tables loop
    select string_agg(quote_ident(attname), ', ' order by attnum) into told from pg_attribute
      where attrelid = t::regclass and attnum > 0 and not attisdropped and attname <> all (untold_columns(t));
    execute format('create trigger %I after insert on %I referencing new table as fresh
      for each statement execute function note_new_rows()', t || '_noted', t);
    execute format('create trigger %I after update of %s on %I
      for each row execute function note_changed_row()', t || '_noted_change', told, t);
    execute format('create trigger %I after delete on %I
      for each row execute function note_changed_row()', t || '_noted_end', t);
    facts := facts || format(' union all select %L::text, subject_of(%L, q.row), facts_of(%L, q.row)
      from (select to_jsonb(x) as row from %I x) q', t, t, t, t);
  end loop;
  execute 'create or replace view ledger_facts as ' || facts;
  perform note_events(kind, array_agg(subject), array_agg(f.facts)) from ledger_facts f where kind = any (p_tables) group by kind;
end $$;

select tell_of('users', 'identities', 'accounts', 'aliases', 'currencies', 'ramps', 'addresses', 'reserved_addresses',
  'external_addresses', 'fungible_tokens', 'deposit_apps', 'blocks', 'stops', 'withdrawals');
