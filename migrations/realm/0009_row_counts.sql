-- What:     row_counts, how many rows each owner has in the collections that lists count; transactions as lists
--           see them.
-- Why:      a page of millions of rows says its total without reading them (contract, section 6).
-- Locks:    share row exclusive on seven tables for their triggers and indexes.
-- Backfill: none, no realm has rows yet.
-- Undo:     forward only.

create table row_counts (
  collection text not null,
  owner uuid not null,
  living bigint not null,
  dead bigint not null,
  summed boolean not null default false
);
create index row_counts_owner on row_counts (collection, owner);
create index row_counts_new on row_counts (collection, owner) where not summed;
comment on table row_counts is
  'Deltas, added in the transaction that causes them and summed up in the background: no row is contended for. '
  'The owner of zeros stands for all owners.';

create function count_new_rows() returns trigger language plpgsql as $$
begin
  insert into row_counts (collection, owner, living, dead)
    select tg_table_name, coalesce(f.owner, '00000000-0000-0000-0000-000000000000'), count(*), 0
    from fresh f where f.owner is not null or tg_table_name in ('deposits', 'withdrawals')
    group by grouping sets ((f.owner), ()) having count(*) > 0 and (f.owner is not null or grouping(f.owner) = 1);
  return null;
end $$;

-- A deposit gets another owner when its address turns out to be ours, and is deleted while it is pending.
create function count_moved_rows() returns trigger language plpgsql as $$
begin
  insert into row_counts (collection, owner, living, dead)
    select tg_table_name, x.owner, x.living, 0 from (values (old.owner, -1),
      (case when tg_op = 'DELETE' then '00000000-0000-0000-0000-000000000000'::uuid else new.owner end,
        case when tg_op = 'DELETE' then -1 else 1 end)) x(owner, living)
    where x.owner is not null;
  return null;
end $$;

create function count_changed_rows() returns trigger language plpgsql as $$
begin
  if new.owner is not null then
    insert into row_counts (collection, owner, living, dead)
      select tg_table_name, x.owner, case when new.deleted_at is null then 1 else -1 end,
        case when new.deleted_at is null then -1 else 1 end
      from (values (new.owner), ('00000000-0000-0000-0000-000000000000'::uuid)) x(owner);
  end if;
  return null;
end $$;

do $$
declare t text;
begin
  foreach t in array array['users', 'identities', 'accounts', 'aliases', 'currencies'] loop
    execute format('create trigger %I after insert on %I referencing new table as fresh
      for each statement execute function count_new_rows()', t || '_count_new_rows', t);
    execute format('create trigger %I after update of deleted_at on %I for each row
      when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_changed_rows()',
      t || '_count_changed_rows', t);
    -- Deleted rows are few: their index lists them without reading the living.
    execute format('create index %I on %I (owner, id) where deleted_at is not null', t || '_deleted', t);
  end loop;
end $$;

-- Lists show deposits and withdrawals without an owner too: they count among all.
create trigger deposits_count_new_rows after insert on deposits referencing new table as fresh
  for each statement execute function count_new_rows();
create trigger withdrawals_count_new_rows after insert on withdrawals referencing new table as fresh
  for each statement execute function count_new_rows();
create trigger deposits_count_moved_rows after update of owner on deposits for each row
  when (old.owner is distinct from new.owner) execute function count_moved_rows();
create trigger deposits_count_deleted_rows after delete on deposits for each row execute function count_moved_rows();

-- Transactions with the data beside them, for filters and orders. Joins on unique keys whose columns a statement does
-- not name are left out by the planner, so a count reads transactions alone. References and
-- reverts are found by their own tables: each index of transactions costs every posting.
create view transaction_list as
  select t.id, l.seq, encode(l.hash, 'hex') as hash, t.type, 'DONE'::text as status, t.source,
    s.owner as source_owner, s.holder as source_holder, t.destination, e.owner as destination_owner,
    e.holder as destination_holder, t.asset, t.amount, t.fiat_currency, t.fiat_rate, t.fiat_value, t.seal, d.data,
    f.reference, t.address_data, r.reverts, t.owner, d.updated_at, t.created_at
  from transactions t
  left join accounts s on s.id = t.source
  left join accounts e on e.id = t.destination
  left join chain_links l on l.transaction = t.id
  left join transaction_data d on d.transaction = t.id
  left join transaction_references f on f.transaction = t.id
  left join transaction_reverts r on r.transaction = t.id;
