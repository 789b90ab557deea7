-- The independent yardstick: a transfer as a competent engineer would write it straight in PostgreSQL, on plain tables
-- of its own. One serializable call: idempotency key, both rows locked in the order of their ids, states, two updates,
-- the transaction, two entries. Ids are UUIDs, as those of a service are. Nothing here is the product's.
create schema independent;
set search_path to independent;
create table accounts (
  id uuid primary key,
  asset text not null,
  total numeric not null default 0,
  blocked numeric not null default 0,
  frozen boolean not null default false,
  active boolean not null default true,
  version bigint not null default 0,
  check (total >= blocked)
) with (fillfactor = 80);
create table transactions (
  id uuid primary key,
  source uuid not null,
  destination uuid not null,
  amount numeric not null,
  seal jsonb,
  data jsonb,
  created_at timestamptz not null default now()
);
create table entries (
  account uuid not null,
  seq bigint not null,
  transaction uuid not null,
  delta numeric not null,
  balance numeric not null,
  primary key (account, seq)
);
create table idempotency (
  key uuid primary key,
  transaction uuid,
  created_at timestamptz not null default now()
);

create function acc(n bigint) returns uuid language sql immutable as $$
  select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

create function move(p_source uuid, p_destination uuid, p_amount numeric) returns uuid
language plpgsql as $$
declare
  source accounts;
  destination accounts;
  made uuid := gen_random_uuid();
begin
  insert into idempotency (key, transaction) values (gen_random_uuid(), made);
  if p_source < p_destination then
    select * into source from accounts where id = p_source for no key update;
    select * into destination from accounts where id = p_destination for no key update;
  else
    select * into destination from accounts where id = p_destination for no key update;
    select * into source from accounts where id = p_source for no key update;
  end if;
  if source.frozen or not source.active or not destination.active
    or source.asset <> destination.asset or source.total - source.blocked < p_amount then
    raise exception 'refused';
  end if;
  update accounts set total = total - p_amount, version = version + 1 where id = p_source;
  update accounts set total = total + p_amount, version = version + 1 where id = p_destination;
  insert into transactions (id, source, destination, amount)
    values (made, p_source, p_destination, p_amount);
  insert into entries (account, seq, transaction, delta, balance)
    values (p_source, source.version + 1, made, -p_amount, source.total - p_amount),
      (p_destination, destination.version + 1, made, p_amount, destination.total + p_amount);
  return made;
end $$;
