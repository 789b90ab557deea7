-- What:     the functions by which the parts of transactions and entries are cut.
-- Why:      vacuum, indexes and archives stay workable at a billion rows (docs/adr/0042-parts.md).
-- Locks:    none.
-- Backfill: none.
-- Undo:     forward only.

-- Both tables have the same parts, by the id of the transaction. The newest part takes all ids from its lower bound on,
-- and is always named transactions_newest, or entries_newest. It is cut in four steps, each a transaction of its own, of
-- which any may be the last for a while: bound_parts, validate_part for each table, attach_parts. The bound lies in the
-- future, so that no posting waits while the rows that are there are proven to be below it.

-- The lower bound of the newest part; null while there is one part.
create function newest_bound() returns uuid language sql stable as $$
  select substring(pg_get_expr(c.relpartbound, c.oid) from $r$FROM \('([0-9a-f-]{36})'\)$r$)::uuid
  from pg_class c where c.oid = to_regclass('transactions_newest')
$$;

-- Which cut is under way: its bound, or null, and whether all rows are proven to be below it. rows: roughly of the newest
-- part of transactions. moving: the realm is being copied to another database, and its tables keep their form. stale:
-- the planner's figures of all parts together are older than a fifth of the rows.
create function parts_state(out bound uuid, out validated boolean, out rows bigint, out moving boolean, out stale boolean)
language plpgsql as $$
begin
  select min(substring(pg_get_constraintdef(k.oid) from $r$< '([0-9a-f-]{36})'$r$))::uuid, count(*) = 2 and bool_and(k.convalidated)
    into bound, validated
    from pg_constraint k where k.conname = 'newest_bound'
      and k.conrelid in (to_regclass('transactions_newest'), to_regclass('entries_newest'));
  select greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) into rows
    from pg_class c where c.oid = to_regclass('transactions_newest');
  moving := to_regclass('move_log_transactions') is not null;
  select sum(greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0)) > 1.2 * greatest(p.reltuples, 0) + 1000 into stale
    from pg_class p, pg_partition_tree(p.oid) t join pg_class c on c.oid = t.relid and t.isleaf
    where p.oid = 'transactions'::regclass group by p.reltuples;
end $$;

-- The end of the names of the parts with an upper bound.
create function part_suffix(p_bound uuid) returns text language sql stable as $$
  select to_char(ms_time(id_ms(p_bound)) at time zone 'UTC', 'YYYYMMDD"t"HH24MISSMS')
$$;

-- Locks the newest parts for an alteration. Autovacuum leaves a table to others once they have waited for a second
-- (deadlock_timeout): so the first lock is one that nobody waits behind. Behind the others postings and reads wait.
create function lock_parts() returns void language plpgsql as $$
begin
  perform set_config('lock_timeout', '10s', true);
  lock table transactions_newest, entries_newest in share update exclusive mode;
  perform set_config('lock_timeout', '400ms', true);
  lock table ledger_lock in exclusive mode;
  lock table only transactions, only entries, transactions_newest, entries_newest in access exclusive mode;
end $$;

-- Demands of all later rows to be below a bound.
create function bound_parts(p_bound uuid) returns void language plpgsql as $$
declare
  low uuid; state record; part record;
begin
  if ledger_id(left(replace(p_bound::text, '-', ''), 12) || '7000', 1, '000000000000') is distinct from p_bound then
    raise exception 'a bound of parts is the first id of a millisecond';
  end if;
  perform lock_parts();
  low := newest_bound();
  if p_bound <= greatest(ledger_newest(), low) then
    raise exception 'a bound of parts lies in the future' using errcode = 'check_violation';
  end if;
  state := parts_state();
  if state.moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  if state.bound is not null then return; end if;
  for part in select * from (values ('transactions_newest', 'id'), ('entries_newest', 'transaction')) v(name, key) loop
    execute format('alter table %I add constraint newest_bound check (%s%I < %L::uuid) not valid', part.name,
      case when low is null then '' else format('%I >= %L::uuid and ', part.key, low) end, part.key, p_bound);
  end loop;
end $$;

-- Takes the demand back, so that it never refuses a posting.
create function unbound_parts() returns void language plpgsql as $$
begin
  perform lock_parts();
  alter table transactions_newest drop constraint if exists newest_bound;
  alter table entries_newest drop constraint if exists newest_bound;
end $$;

-- Takes back a demand whose time has come. It refuses every posting from its bound on, so whoever posts may ask for this,
-- where no worker was there to do it. Before its time the demand stays.
create function release_bound() returns void language plpgsql as $$
begin
  if ledger_ms() >= id_ms((parts_state()).bound) then perform unbound_parts(); end if;
end $$;

-- Proves that all rows meet the demand; they are read and written meanwhile.
create function validate_part(p_table text) returns void language plpgsql as $$
begin
  if p_table not in ('transactions', 'entries') then raise exception 'no parts of %', p_table; end if;
  execute format('alter table %I validate constraint newest_bound', p_table || '_newest');
end $$;

-- Gives the newest part its upper bound and a name of its own, and begins another one behind it, in both tables at once.
-- No row is read: the demand is the proof.
create function attach_parts() returns void language plpgsql as $$
declare
  low uuid; state record; suffix text; whole text; r record;
begin
  perform lock_parts();
  low := newest_bound();
  state := parts_state();
  if state.moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  if state.validated is not true then raise exception 'the rows of the newest part are not proven to be below a bound'; end if;
  suffix := part_suffix(state.bound);
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I detach partition %I', whole, whole || '_newest');
    execute format('alter table %I rename to %I', whole || '_newest', whole || '_' || suffix);
    for r in select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = (whole || '_' || suffix)::regclass loop
      execute format('alter index %I rename to %I', r.name, replace(r.name, whole || '_newest', whole || '_' || suffix));
    end loop;
    execute format('alter table %I attach partition %I for values from (%s) to (%L)', whole, whole || '_' || suffix,
      coalesce(quote_literal(low), 'minvalue'), state.bound);
    execute format('alter table %I drop constraint newest_bound', whole || '_' || suffix);
    execute format('create table %I partition of %I for values from (%L) to (maxvalue)', whole || '_newest', whole, state.bound);
    perform sample_less((whole || '_newest')::regclass);
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
      whole || '_append_only', whole || '_newest');
    for r in select distinct pg_get_userbyid(a.grantee) as name from pg_class c, aclexplode(c.relacl) a
        where c.oid = whole::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner loop
      execute format('grant select on %I to %I', whole || '_newest', r.name);
    end loop;
  end loop;
  alter table entries_newest add primary key (account, seq);
end $$;

-- Cuts a ledger without rows at the bounds of another, whose copy it becomes.
create function shape_parts(p_bounds uuid[]) returns void language plpgsql as $$
declare
  b uuid; wait text := current_setting('lock_timeout');
begin
  for b in select u from unnest(p_bounds) u order by u loop
    perform bound_parts(b);
    perform validate_part('transactions');
    perform validate_part('entries');
    perform attach_parts();
  end loop;
  perform set_config('lock_timeout', wait, true);
end $$;

-- Figures of all parts together, which the server takes of each part alone by itself.
create function analyze_parts() returns void language plpgsql as $$
begin
  analyze transactions;
  analyze entries;
end $$;
