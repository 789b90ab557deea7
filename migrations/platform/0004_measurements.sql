-- What:     what workers last measured in each realm.
-- Why:      contract, section 14: /metrics tells the state of all realms; a scrape reads one table, however many there are.
-- Locks:    none, the table is new.
-- Backfill: none, workers measure every realm again within seconds.
-- Undo:     forward only.

create table realm_measurements (
  realm uuid primary key references realms (id) on delete cascade,
  samples jsonb not null check (jsonb_typeof(samples) = 'array' and jsonb_array_length(samples) <= 5000),
  measured_at timestamptz not null
) with (fillfactor = 50);
comment on column realm_measurements.samples is 'Objects of name, labels and value.';
