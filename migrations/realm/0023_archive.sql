-- What:     archived_parts and balance_checkpoints, and the functions by which the oldest part of transactions and entries
--           leaves the ledger and comes back.
-- Why:      an old month leaves the database, and balances, statements, verification and audit go on without it
--           (docs/adr/0044-archived-parts.md).
-- Locks:    none, both tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table archived_parts (
  bound uuid primary key,
  transactions bigint not null check (transactions >= 0),
  entries bigint not null check (entries = 2 * transactions),
  last_seq bigint not null check (last_seq >= 0),
  last_hash bytea not null check (octet_length(last_hash) = 32),
  accounts bigint not null check (accounts >= 0),
  checkpoints bytea not null check (octet_length(checkpoints) = 32),
  issues bytea not null check (octet_length(issues) = 32),
  manifest bytea not null check (octet_length(manifest) = 32),
  archived_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);
comment on table archived_parts is
  'Parts that left the ledger, always the oldest. Each change is an event in the hash chain. A row goes when its part comes back.';
comment on column archived_parts.bound is 'All transactions with ids below it are archived.';
comment on column archived_parts.last_seq is 'The last link of an archived transaction; of the part before where this one is empty.';
comment on column archived_parts.accounts is 'How many accounts have entries in the part, and so a balance checkpoint.';
comment on column archived_parts.checkpoints is 'checkpoint_digest() of the part.';
comment on column archived_parts.issues is 'issue_digest() of the part: notes of issues stay, without the transactions that prove them.';
comment on column archived_parts.manifest is 'SHA-256 of the manifest, which names the files and their hashes.';

create table balance_checkpoints (
  account uuid not null,
  bound uuid not null,
  seq bigint not null check (seq > 0),
  balance numeric not null,
  linked numeric check (linked > 0),
  primary key (account, bound)
);
comment on table balance_checkpoints is
  'The last entry of each account in each archived part: balances, statements and the audit begin behind it.';

create trigger archived_parts_append_only before update or delete or truncate on archived_parts
  for each statement execute function refuse_change();
create trigger balance_checkpoints_append_only before update or delete or truncate on balance_checkpoints
  for each statement execute function refuse_change();

create view opening_balances as
  select distinct on (account) account, bound, seq, balance, linked from balance_checkpoints order by account, bound desc;
comment on view opening_balances is 'Where the entries of an account begin; no row where all are there.';

-- The lower bound of what is there; null where nothing is archived.
create function archived_bound() returns uuid language sql stable as $$
  select bound from archived_parts order by bound desc limit 1
$$;

-- Whether a transaction has a link in the hash chain and left with its part.
create function is_archived(p_transaction uuid) returns boolean language plpgsql stable as $$
begin
  return coalesce(p_transaction < archived_bound(), false)
    and exists (select from chain_links l where l.transaction = p_transaction);
end $$;

-- A hash of the checkpoints of a part: hashes of groups of accounts are hashed again, so that no text is too large.
create function checkpoint_digest(p_bound uuid) returns bytea language sql stable as $$
  select sha256(coalesce(string_agg(q.digest, ''::bytea order by q.accounts collate "C"), ''::bytea)) from (
    select left(c.account::text, 3) as accounts, sha256(convert_to(string_agg(
      concat_ws(' ', c.account, c.seq, trim_scale(c.balance), trim_scale(c.linked)) || chr(10), '' order by c.account), 'UTF8')) as digest
    from balance_checkpoints c where c.bound = p_bound group by 1) q
$$;

-- A hash of the notes of issues and destructions whose transactions are of a part, grouped likewise.
create function issue_digest(p_low uuid, p_bound uuid) returns bytea language sql stable as $$
  select sha256(coalesce(string_agg(q.digest, ''::bytea order by q.accounts collate "C"), ''::bytea)) from (
    select left(i.account::text, 3) as accounts, sha256(convert_to(string_agg(
      concat_ws(' ', i.transaction, i.currency, i.operation, trim_scale(i.amount), i.account, extract(epoch from i.created_at))
        || chr(10), '' order by i.transaction), 'UTF8')) as digest
    from currency_issues i where i.transaction < p_bound and (p_low is null or i.transaction >= p_low) group by 1) q
$$;

-- The upper bound of the oldest part; null where there is only the newest.
create function oldest_bound() returns uuid language sql stable as $$
  select q.bound from (
    select substring(pg_get_expr(c.relpartbound, c.oid) from $r$TO \('([0-9a-f-]{36})'\)$r$)::uuid as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'transactions'::regclass) q
  where q.bound is not null order by q.bound limit 1
$$;

-- Why a part may not be archived; null if it may.
create function archive_refusal(p_bound uuid) returns text language plpgsql stable as $$
declare
  until timestamptz := ms_time(id_ms(p_bound));
begin
  if p_bound is distinct from oldest_bound() then return 'it is not the oldest part that has ended'; end if;
  if mod(id_ms(p_bound), 3600000) <> 0 then return 'it does not end at a whole hour, as the sums of hours do'; end if;
  if until > ledger_now() - interval '35 days' then return 'it ended less than 35 days ago'; end if;
  if (parts_state()).moving then return 'the realm is being copied to another database'; end if;
  if exists (select from ledger_commits c, unnest(c.transactions) u(id) where u.id < p_bound) then
    return 'transactions of it wait for their links in the hash chain';
  end if;
  -- A key was claimed when its transaction was posted.
  if exists (select from idempotency i where i.transaction < p_bound and i.created_at < until + interval '1 day')
    or exists (select from idempotency_earlier i where i.transaction < p_bound and i.created_at < until + interval '1 day')
    or exists (select from batches b, unnest(b.transactions) u(id) where u.id < p_bound and b.created_at < until + interval '1 day')
    or exists (select from batches_earlier b, unnest(b.transactions) u(id) where u.id < p_bound and b.created_at < until + interval '1 day')
  then
    return 'idempotency keys are kept that name transactions of it';
  end if;
  return null;
end $$;

-- Reads a part, attached or not, and proves it: each transaction has its link and its two entries, which sum to zero, and the
-- entries of each account continue its last checkpoint before. fault says what is not so; null if all is.
create function read_part(
  p_transactions regclass, p_entries regclass, p_bound uuid,
  out transactions bigint, out entries bigint, out last_seq bigint, out last_hash bytea, out accounts bigint, out fault text
) language plpgsql stable as $$
declare
  low uuid; low_seq bigint := 0; linked bigint; within boolean; wrong text; chained bigint;
begin
  select p.bound, p.last_seq into low, low_seq from archived_parts p where p.bound < p_bound order by p.bound desc limit 1;
  low_seq := coalesce(low_seq, 0);
  execute format($q$
    select count(*), count(l.seq), coalesce(max(l.seq), $3), coalesce(bool_and(t.id < $1 and t.id >= coalesce($2, t.id)), true)
    from %s t left join chain_links l on l.transaction = t.id$q$, p_transactions)
    into transactions, linked, last_seq, within using p_bound, low, low_seq;
  execute format($q$
    select count(*), count(distinct e.account), $3 and coalesce(bool_and(e.transaction < $1 and e.transaction >= coalesce($2, e.transaction)), true)
    from %s e$q$, p_entries)
    into entries, accounts, within using p_bound, low, within;
  last_hash := coalesce((select l.hash from chain_links l where l.seq = read_part.last_seq), decode(repeat('00', 32), 'hex'));
  select count(l.transaction) into chained from chain_links l where l.seq > low_seq and l.seq <= read_part.last_seq;
  execute format($q$
    select t.id::text from %1$s t left join %2$s s on s.account = t.source and s.seq = t.source_seq
    left join %2$s d on d.account = t.destination and d.seq = t.destination_seq
    where (s.transaction, d.transaction, s.amount, d.amount) is distinct from (t.id, t.id, -t.amount, t.amount) limit 1$q$,
    p_transactions, p_entries) into wrong;
  fault := case when not within then 'rows are beyond its bounds' when linked <> transactions or chained <> transactions
      then 'not every transaction has its link in the hash chain'
    when wrong is not null then format('transaction %s does not have its two entries', wrong)
    when entries <> 2 * transactions then 'entries belong to no transaction' end;
  if fault is not null then return; end if;
  execute format($q$
    select q.account || ' ' || q.seq from (
      select e.account, e.seq, e.balance, e.amount, e.transaction, lag(e.transaction) over w as earlier,
        coalesce(lag(e.seq) over w, (select c.seq from balance_checkpoints c
          where c.account = e.account and c.bound < $1 order by c.bound desc limit 1), 0) as before,
        coalesce(lag(e.balance) over w, (select c.balance from balance_checkpoints c
          where c.account = e.account and c.bound < $1 order by c.bound desc limit 1), 0) as start
      from %s e window w as (partition by e.account order by e.seq)) q
    where q.seq <> q.before + 1 or q.balance <> q.start + q.amount or q.transaction <= q.earlier limit 1$q$, p_entries)
    into wrong using p_bound;
  if wrong is not null then fault := format('entry %s does not follow the one before it', wrong); end if;
end $$;

-- The last entry of each account in a part.
create function last_entries(p_entries regclass)
returns table (account uuid, seq bigint, balance numeric, linked numeric) language plpgsql stable as $$
begin
  return query execute format(
    'select distinct on (e.account) e.account, e.seq, e.balance, e.linked from %s e order by e.account, e.seq desc', p_entries);
end $$;

-- Takes the locks of an alteration; readers of long standing may have the tables for a while. A vacuum of the part is waited
-- for before, while nobody waits behind (lock_parts).
create function lock_parts_patiently(p_suffix text) returns void language plpgsql as $$
begin
  if to_regclass('transactions_' || p_suffix) is not null then
    perform set_config('lock_timeout', '10s', true);
    execute format('lock table %I, %I in share update exclusive mode', 'transactions_' || p_suffix, 'entries_' || p_suffix);
  end if;
  for tries in 1..50 loop
    begin
      perform lock_parts();
      if to_regclass('transactions_' || p_suffix) is not null then
        execute format('lock table %I, %I in access exclusive mode', 'transactions_' || p_suffix, 'entries_' || p_suffix);
      end if;
      return;
    exception when lock_not_available or deadlock_detected then
      if tries = 50 then raise; end if;
    end;
    perform pg_sleep(0.2);
  end loop;
end $$;

-- Lists count transactions that are there.
create function count_part(p_transactions regclass, p_sign integer) returns void language plpgsql as $$
begin
  execute format($q$insert into row_counts (collection, owner, living, dead)
    select 'transactions', t.owner, $1 * count(*), 0 from %s t where t.owner is not null group by t.owner$q$, p_transactions)
    using p_sign;
end $$;

-- Takes the oldest part out of the ledger: in one transaction it is proven, its last balances are kept, its tables are
-- detached, and its record is written. It is read before the locks are taken: no row of it ever changes. Its tables stay
-- beside the ledger until drop_part, and are part of no backup and no move.
create function archive_part(p_bound uuid, p_manifest bytea) returns void language plpgsql as $$
declare
  suffix text := part_suffix(p_bound); part record; low uuid := archived_bound(); why text; whole text;
begin
  lock table archived_parts in share row exclusive mode; -- one at a time
  why := archive_refusal(p_bound);
  if why is not null then raise exception 'the part is not archived: %', why using errcode = 'restrict_violation'; end if;
  select * into part from read_part(('transactions_' || suffix)::regclass, ('entries_' || suffix)::regclass, p_bound);
  if part.fault is not null then
    raise exception 'the part is not archived: %', part.fault using errcode = 'restrict_violation';
  end if;
  insert into balance_checkpoints (account, bound, seq, balance, linked)
    select e.account, p_bound, e.seq, e.balance, e.linked from last_entries(('entries_' || suffix)::regclass) e;
  perform count_part(('transactions_' || suffix)::regclass, -1);
  perform lock_parts_patiently(suffix);
  if p_bound is distinct from oldest_bound() then
    raise exception 'the part is not archived: it is not the oldest' using errcode = 'restrict_violation';
  end if;
  if (parts_state()).moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I detach partition %I', whole, whole || '_' || suffix);
    execute format('alter table %I rename to %I', whole || '_' || suffix, 'detached_' || whole || '_' || suffix);
  end loop;
  insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
    values (p_bound, part.transactions, part.entries, part.last_seq, part.last_hash, part.accounts,
      checkpoint_digest(p_bound), issue_digest(low, p_bound), p_manifest);
end $$;

-- Brings the tables of a part that left to the form that the ledger has had since, as the migrations that it missed brought
-- the parts that stayed: columns with what their rows have of them, checks, indexes and triggers. Where that is not known, or
-- the ledger has less than the part, it says what to do by hand.
create function fit_part(p_whole text, p_part text) returns void language plpgsql as $$
declare
  r record; gone text; given text; before text := 'the part does not come back as it is, because the ledger was migrated: ';
begin
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into gone from pg_attribute a
    where a.attrelid = p_part::regclass and a.attnum > 0 and not a.attisdropped and not exists (
      select from pg_attribute w where w.attrelid = p_whole::regclass and w.attname = a.attname and w.attnum > 0 and not w.attisdropped);
  if gone is not null then
    raise exception '%it has no % any more. Where what the part has there may go, drop it from %', before, gone, p_part
      using errcode = 'restrict_violation';
  end if;
  for r in
    select w.attname as name, format_type(w.atttypid, w.atttypmod) as type, w.attnotnull, w.attgenerated <> '' or w.attidentity <> '' as made,
      case when w.attcollation <> y.typcollation then ' collate ' || w.attcollation::regcollation else '' end as collation,
      pg_get_expr(d.adbin, d.adrelid) as preset, a.attnum is null as missing, coalesce(a.attnotnull, false) as filled,
      (a.atttypid, a.atttypmod, a.attcollation) is distinct from (w.atttypid, w.atttypmod, w.attcollation) as differs
    from pg_attribute w join pg_type y on y.oid = w.atttypid
    left join pg_attrdef d on d.adrelid = w.attrelid and d.adnum = w.attnum
    left join pg_attribute a on a.attrelid = p_part::regclass and a.attname = w.attname and not a.attisdropped
    where w.attrelid = p_whole::regclass and w.attnum > 0 and not w.attisdropped order by w.attnum
  loop
    if r.missing then
      -- What the rows of other parts have had of it since it was added; null where they were given nothing.
      select (m.attmissingval::text::text[])[1] into given from pg_inherits i join pg_attribute m on m.attrelid = i.inhrelid
        where i.inhparent = p_whole::regclass and m.attname = r.name and m.atthasmissing limit 1;
      if r.made or given is null and (r.preset is not null or r.attnotnull) then
        raise exception '%which % its rows have is not known. Add it to % with what they are to have', before, quote_ident(r.name), p_part
          using errcode = 'restrict_violation', hint = format('alter table %I add column %I %s', p_part, r.name, r.type);
      end if;
      execute format('alter table %I add column %I %s%s%s', p_part, r.name, r.type, r.collation,
        case when given is null then '' else format(' default %L', given) end);
      execute format('alter table %I alter column %I %s', p_part, r.name, coalesce('set default ' || r.preset, 'drop default'));
    elsif r.differs then
      raise exception '%its % is of the type %. Give the column of % that type', before, quote_ident(r.name), r.type, p_part
        using errcode = 'restrict_violation';
    end if;
    if r.attnotnull and not r.filled then execute format('alter table %I alter column %I set not null', p_part, r.name); end if;
  end loop;
  for r in
    select w.conname as name, pg_get_constraintdef(w.oid) as told, k.oid is not null as there from pg_constraint w
    left join pg_constraint k on k.conrelid = p_part::regclass and k.conname = w.conname
    where w.conrelid = p_whole::regclass and w.contype = 'c' and pg_get_constraintdef(k.oid) is distinct from pg_get_constraintdef(w.oid)
  loop
    if r.there then execute format('alter table %I drop constraint %I', p_part, r.name); end if;
    execute format('alter table %I add constraint %I %s', p_part, r.name, r.told);
  end loop;
  -- Made before the ledger is locked, which would otherwise wait for it.
  for r in
    select i.indisunique, substring(pg_get_indexdef(i.indexrelid) from ' USING .*$') as told from pg_index i
    where i.indrelid = p_whole::regclass and not exists (
      select from pg_index k where k.indrelid = p_part::regclass and k.indisunique = i.indisunique
        and substring(pg_get_indexdef(k.indexrelid) from ' USING .*$') = substring(pg_get_indexdef(i.indexrelid) from ' USING .*$'))
  loop
    execute format('create %s index on %I %s', case when r.indisunique then 'unique' else '' end, p_part, r.told);
  end loop;
  for r in
    select t.tgname as name, substring(pg_get_triggerdef(t.oid) from '^CREATE TRIGGER .*? ON ') as head,
      substring(pg_get_triggerdef(t.oid) from '^CREATE TRIGGER .*? ON \S+ (.*)$') as tail from pg_trigger t
    where t.tgrelid = (p_whole || '_newest')::regclass and not t.tgisinternal and t.tgparentid = 0 and not exists (
      select from pg_trigger k where k.tgrelid = p_part::regclass and k.tgname = t.tgname)
  loop
    execute r.head || quote_ident(p_part) || ' ' || r.tail;
  end loop;
end $$;

-- Brings the part that left last back, if it is what left. Proves it before the locks are taken.
create function attach_part(p_bound uuid) returns void language plpgsql as $$
declare
  suffix text := part_suffix(p_bound); was archived_parts; part record; low uuid; whole text; key text;
begin
  lock table archived_parts in share row exclusive mode; -- one at a time
  select * into was from archived_parts where bound = p_bound;
  if was.bound is null or p_bound <> archived_bound() then
    raise exception 'the part that was archived last comes back first' using errcode = 'restrict_violation';
  end if;
  if to_regclass('detached_transactions_' || suffix) is null then
    raise exception 'the tables of the part were dropped' using errcode = 'restrict_violation';
  end if;
  select p.bound into low from archived_parts p where p.bound < p_bound order by p.bound desc limit 1;
  foreach whole in array array['transactions', 'entries'] loop
    key := case whole when 'transactions' then 'id' else 'transaction' end;
    perform fit_part(whole, 'detached_' || whole || '_' || suffix);
    execute format('alter table %I add constraint attached_bound check (%s%I < %L::uuid)', 'detached_' || whole || '_' || suffix,
      case when low is null then '' else format('%I >= %L::uuid and ', key, low) end, key, p_bound);
  end loop;
  select * into part from read_part(('detached_transactions_' || suffix)::regclass, ('detached_entries_' || suffix)::regclass, p_bound);
  if part.fault is null and (part.transactions, part.entries, part.last_seq, part.last_hash, part.accounts, checkpoint_digest(p_bound),
        issue_digest(low, p_bound))
      is distinct from (was.transactions, was.entries, was.last_seq, was.last_hash, was.accounts, was.checkpoints, was.issues)
    or exists (select e.account, e.seq, e.balance, e.linked from last_entries(('detached_entries_' || suffix)::regclass) e
      except select c.account, c.seq, c.balance, c.linked from balance_checkpoints c where c.bound = p_bound) then
    part.fault := 'it is not what was archived';
  end if;
  if part.fault is not null then
    raise exception 'the part does not come back: %', part.fault using errcode = 'restrict_violation';
  end if;
  perform count_part(('detached_transactions_' || suffix)::regclass, 1);
  perform lock_parts_patiently(suffix);
  if (parts_state()).moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I rename to %I', 'detached_' || whole || '_' || suffix, whole || '_' || suffix);
    execute format('alter table %I attach partition %I for values from (%s) to (%L)', whole, whole || '_' || suffix,
      coalesce(quote_literal(low), 'minvalue'), p_bound);
    execute format('alter table %I drop constraint attached_bound', whole || '_' || suffix);
  end loop;
  alter table balance_checkpoints disable trigger balance_checkpoints_append_only;
  delete from balance_checkpoints where bound = p_bound;
  alter table balance_checkpoints enable trigger balance_checkpoints_append_only;
  alter table archived_parts disable trigger archived_parts_append_only;
  delete from archived_parts where bound = p_bound;
  alter table archived_parts enable trigger archived_parts_append_only;
end $$;

-- Drops the tables of a part that left.
create function drop_part(p_bound uuid) returns void language plpgsql as $$
begin
  if not exists (select from archived_parts where bound = p_bound) then
    raise exception 'the part is not archived' using errcode = 'restrict_violation';
  end if;
  execute format('drop table if exists %I, %I', 'detached_transactions_' || part_suffix(p_bound),
    'detached_entries_' || part_suffix(p_bound));
end $$;

select tell_of('archived_parts');
