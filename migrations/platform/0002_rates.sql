-- What:     rates known to the whole installation, and leases of its own repeated work.
-- Why:      contract, section 8.12: the operator sets rates for all realms; they are fetched once for all.
-- Locks:    none, both tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table rates (
  base text not null,
  currency text not null,
  rate numeric not null check (rate > 0 and rate < 'infinity'),
  source text not null,
  owner uuid,
  updated_at timestamptz not null,
  primary key (base, currency)
);
create index rates_updated on rates (updated_at);
comment on table rates is 'Copied into every realm; there the younger of two rates counts.';

create table leases (
  name text primary key,
  owner_process uuid not null,
  until timestamptz not null,
  next_at timestamptz not null
);
