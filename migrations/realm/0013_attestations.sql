-- What:     attestations, when a worker last found this schema to be the one that it left.
-- Why:      contract, "Restored or copied databases": a process without keys has no record of its own, and must not
--           hand out an address, or number a ramp, that a newer database has handed out already.
-- Locks:    none, the table is new.
-- Backfill: none; who makes the realm writes the row. Where there is none, nobody knows the schema.
-- Undo:     forward only.

create table attestations (
  singleton boolean primary key default true check (singleton),
  token uuid,
  place text,
  timeline text,
  seen_at timestamptz not null default '-infinity',
  numbers_from integer not null default 0 check (numbers_from >= 0),
  linked_after text not null default '',
  apart boolean not null default false
);
comment on table attestations is 'When this schema was made, or a worker last found it as it left it; addresses are handed out for five minutes after that.';
comment on column attestations.token is 'The step that the worker took last; platform.realm_steps has its copy. Null before the first.';
comment on column attestations.place is 'Oid and name of the database: a restored or copied one has others.';
comment on column attestations.timeline is 'The timeline of the server when the worker compared, or the schema was made; null where the server does not tell it. A standby that was promoted has another, and may lack the last commits.';
comment on column attestations.linked_after is 'Links up to this address were compared with the directory of own addresses; the next pass goes on there.';
comment on column attestations.apart is 'This schema was restored alone, or brought from elsewhere: until it is reconciled it tells the world nothing.';
comment on column attestations.numbers_from is 'Ramps below this number may exist in a newer database.';

-- The location of a database, as far as every role may read it.
create function database_place() returns text language sql stable as
  $$ select oid::text || ' ' || datname from pg_database where datname = current_database() $$;

-- The timeline of the server; null on a standby, and where the server does not tell it.
create function server_timeline() returns text language plpgsql volatile as $$
begin
  return case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end;
exception when others then -- services that do not tell it differ in how they refuse
  return null;
end $$;

-- Whether addresses may be handed out, and withdrawals canceled: a worker has lately attested this database, or it was
-- just made. After a promotion it has not, until all workers have compared: what is lost may be that a payment has left.
create function is_attested() returns boolean language sql volatile as $$
  select coalesce((select a.seen_at > clock_timestamp() - interval '5 minutes' and a.place = database_place()
    and (pg_is_in_recovery() or a.timeline is not distinct from server_timeline()) from attestations a), false)
$$;

-- Whether this transaction has compared the schema's token with the one that the platform expects: the compared token
-- is the one stored here. A realm that was restored alone has another.
create function is_confirmed() returns boolean language sql volatile as $$
  select coalesce(current_setting('purser.confirmed', true), '')
    = coalesce((select a.token from attestations a)::text, 'none')
$$;
