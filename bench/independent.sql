-- The independent yardstick: a transfer as a competent engineer would write it straight in PostgreSQL, on plain tables
-- of its own. One serializable call: idempotency key, both rows locked in the order of their ids, states, two updates,
-- the transaction, two entries. Nothing here is the product's.
create schema independent;
set search_path to independent;
create table accounts (
  id bigint primary key,
  asset text not null,
  total numeric not null,
  blocked numeric not null default 0,
  frozen boolean not null default false,
  version bigint not null default 0,
  check (total >= blocked)
) with (fillfactor = 80);
create table transactions (
  id uuid primary key,
  source bigint not null,
  destination bigint not null,
  amount numeric not null check (amount > 0),
  created_at timestamptz not null default now()
);
create table entries (
  account bigint not null,
  seq bigint not null,
  transaction uuid not null,
  delta numeric not null,
  balance numeric not null,
  primary key (account, seq)
);
create table idempotency (
  key uuid primary key,
  transaction uuid not null,
  created_at timestamptz not null default now()
);

create function move(p_source bigint, p_destination bigint, p_amount numeric) returns uuid
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
  if source.frozen or destination.frozen or source.asset <> destination.asset
    or source.total - source.blocked < p_amount then
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
