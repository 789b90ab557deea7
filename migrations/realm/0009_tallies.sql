-- What:     tallies, how many rows each owner has in the collections that lists count.
-- Why:      a page of millions of rows says its total without reading them (contract, section 6).
-- Locks:    none, the table is new; triggers are added to tables of a realm that is being migrated.
-- Backfill: none, no realm has rows yet.
-- Undo:     forward only.

create table tallies (
  collection text not null,
  owner uuid not null,
  living bigint not null,
  dead bigint not null
);
create index tallies_owner on tallies (collection, owner);
comment on table tallies is
  'Deltas, added in the transaction that causes them and summed up in the background: no row is contended for.';

create function tally_new() returns trigger language plpgsql as $$
begin
  insert into tallies (collection, owner, living, dead)
    select tg_table_name, f.owner, count(*), 0 from fresh f where f.owner is not null group by f.owner;
  return null;
end $$;

create function tally_change() returns trigger language plpgsql as $$
begin
  if new.owner is not null then
    insert into tallies (collection, owner, living, dead) values (tg_table_name, new.owner,
      case when new.deleted_at is null then 1 else -1 end,
      case when new.deleted_at is null then -1 else 1 end);
  end if;
  return null;
end $$;

do $$
declare t text;
begin
  foreach t in array array['users', 'identities', 'accounts', 'aliases', 'currencies'] loop
    execute format('create trigger %I after insert on %I referencing new table as fresh
      for each statement execute function tally_new()', t || '_tally_new', t);
    execute format('create trigger %I after update of deleted_at on %I for each row
      when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function tally_change()',
      t || '_tally_change', t);
  end loop;
end $$;
