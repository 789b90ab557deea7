-- What:     consolidations: many small coins of a ramp's address spent into one, with the fee ceilings of the
--           request.
-- Why:      a ramp that was paid in ten thousand small coins must still withdraw cheaply; contract, section 11.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table consolidations (
  id uuid primary key,
  account uuid not null,
  chain text not null,
  network text not null,
  address text not null,
  asset text not null,
  speed text not null check (speed in ('slow', 'medium', 'fast')),
  max_fee numeric check (max_fee > 0),
  max_fee_rate numeric not null check (max_fee_rate > 0),
  coins integer not null check (coins >= 2),
  amount numeric not null check (amount > 0),
  estimate numeric not null check (estimate >= 0),
  fee numeric check (fee >= 0),
  size integer check (size > 0),
  order_id uuid not null,
  status text not null default 'PROCESSING' check (status in ('PROCESSING', 'DONE', 'FAILED')),
  hash text,
  height integer,
  confirmations integer not null default 0,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid,
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint consolidations_order unique (order_id),
  constraint consolidations_planned check ((fee is null) = (size is null)),
  constraint consolidations_finite check (greatest(max_fee, max_fee_rate, amount, estimate, fee) < 'infinity'),
  constraint consolidations_fee check (fee <= max_fee),
  constraint consolidations_rate check (fee * 1000 < max_fee_rate * size + 0.00001),
  constraint consolidations_done check (status <> 'DONE' or (fee is not null and hash is not null))
);
create index consolidations_account on consolidations (account, id);
create unique index consolidations_open on consolidations (account) where status = 'PROCESSING';
comment on column consolidations.account is 'The ramp account; one consolidation of it at a time.';
comment on column consolidations.max_fee is 'The most that it may cost, in whole units; null for no bound but the rate.';
comment on column consolidations.max_fee_rate is 'The most that 1000 virtual bytes may cost, in whole units; a fee is rounded up to a base unit (1e-8).';
comment on column consolidations.coins is 'Coins that it is expected to spend, then those that it spends.';
comment on column consolidations.estimate is 'The most that it was expected to cost when it was asked for.';
comment on column consolidations.fee is 'The cost of its transaction; null until that is planned.';
comment on column consolidations.size is 'Virtual bytes of its transaction.';

-- A consolidation keeps its request, and ends once.
create function check_consolidation() returns trigger language plpgsql as $$
begin
  if (new.id, new.account, new.chain, new.network, new.address, new.asset, new.order_id, new.owner, new.estimate)
      is distinct from (old.id, old.account, old.chain, old.network, old.address, old.asset, old.order_id, old.owner, old.estimate)
    or old.status <> 'PROCESSING' and (new.status, new.amount, new.fee, new.max_fee, new.max_fee_rate)
      is distinct from (old.status, old.amount, old.fee, old.max_fee, old.max_fee_rate) then
    raise exception 'consolidation % has ended, or is another', old.id
      using errcode = 'check_violation', constraint = 'consolidations_kept';
  end if;
  return new;
end $$;
create trigger consolidations_begin before insert on consolidations for each row
  when (new.status <> 'PROCESSING' or coalesce(new.hash, new.fee::text) is not null) execute function check_consolidation();
create trigger consolidations_kept before update on consolidations for each row execute function check_consolidation();
create trigger consolidations_stay before delete or truncate on consolidations
  for each statement execute function refuse_change();
