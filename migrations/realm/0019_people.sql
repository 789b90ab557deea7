-- What:     profiles of persons and companies, custom events of persons, synchronisations of persons with identities, and
--           notes of those who work for the realm.
-- Why:      service.md, Persons and companies; contract, section 12.4 and 12.5.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table profile_keys (
  one boolean primary key default true check (one),
  wrapped bytea not null check (octet_length(wrapped) between 32 and 200),
  created_at timestamptz not null
);
comment on table profile_keys is 'The key of the realm''s contact data, encrypted by the serving half with the platform key.';

create table persons (
  id uuid primary key,
  external_id uuid unique,
  first_name text check (length(first_name) between 1 and 255),
  last_name text check (length(last_name) between 1 and 255),
  middle_name text check (length(middle_name) between 1 and 50),
  city text check (length(city) between 1 and 50),
  country text check (length(country) between 1 and 50),
  gender text check (gender in ('MALE', 'FEMALE')),
  profile_picture text check (length(profile_picture) between 1 and 2083),
  tags text[] not null default '{}' check (cardinality(tags) <= 100),
  custom_attributes jsonb not null default '{}'
    check (jsonb_typeof(custom_attributes) = 'object' and pg_column_size(custom_attributes) <= 1048576),
  contact bytea not null check (octet_length(contact) between 29 and 160000),
  origin text not null check (length(origin) between 1 and 50),
  modified_from text not null check (length(modified_from) between 1 and 50),
  owner uuid not null,
  updated_at timestamptz,
  created_at timestamptz not null
);
create index persons_owner on persons (owner, id);
comment on column persons.external_id is 'The identity that the profile is of; null where none has it.';
comment on column persons.contact is 'Encrypted with the realm''s profile key: address, date of birth and all ways to reach the person.';

create table person_contacts (
  channel text not null check (channel in ('phone', 'email')),
  digest bytea not null check (octet_length(digest) = 32),
  person uuid not null references persons (id) on delete cascade,
  primary key (channel, digest)
);
create index person_contacts_person on person_contacts (person);
comment on table person_contacts is
  'A number or an e-mail address belongs to one person. Only its keyed digest is kept, which finds an exact value.';

create table person_events (
  id uuid primary key,
  person uuid not null references persons (id) on delete cascade,
  definition text not null check (definition ~ '^[A-Za-z0-9_-]{1,100}$'),
  properties bytea not null check (octet_length(properties) between 29 and 200000),
  owner uuid not null,
  created_at timestamptz not null
);
create index person_events_person on person_events (person, id);
comment on column person_events.properties is 'Encrypted with the realm''s profile key.';

create table companies (
  id bigint generated always as identity primary key,
  name text not null check (length(name) between 1 and 255),
  notes text check (length(notes) between 1 and 4096),
  country text check (length(country) between 1 and 50),
  region text check (length(region) between 1 and 255),
  account_manager text check (length(account_manager) between 1 and 255),
  customer_stage text check (length(customer_stage) between 1 and 255),
  industry text check (length(industry) between 1 and 255),
  vat_number text check (length(vat_number) between 1 and 50),
  custom_attributes jsonb not null default '{}'
    check (jsonb_typeof(custom_attributes) = 'object' and pg_column_size(custom_attributes) <= 1048576),
  owner uuid not null,
  updated_at timestamptz,
  created_at timestamptz not null
);
create index companies_owner on companies (owner, id);

create table company_domains (
  domain text primary key check (length(domain) <= 253 and domain = lower(domain) and domain ~ '^[a-z0-9.-]+$'),
  company bigint not null references companies (id) on delete cascade,
  position smallint not null check (position between 0 and 99),
  unique (company, position)
);
comment on table company_domains is 'A domain belongs to one company.';

create table person_syncs (
  id uuid primary key,
  parameters jsonb not null check (jsonb_typeof(parameters) = 'object'),
  step smallint not null default 1 check (step between 1 and 3),
  cursor text,
  read bigint not null default 0,
  linked bigint not null default 0,
  completed bigint not null default 0,
  created bigint not null default 0,
  state text not null default 'running' check (state in ('running', 'done', 'failed')),
  error jsonb,
  owner uuid not null references users (id),
  updated_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null,
  constraint person_syncs_counts check (least(read, linked, completed, created) >= 0),
  constraint person_syncs_finished check ((state = 'running') = (finished_at is null)),
  constraint person_syncs_error check ((state = 'failed') = (error is not null))
);
create unique index person_syncs_running on person_syncs ((true)) where state = 'running';
comment on column person_syncs.cursor is 'The place of the step that was done last; null at its beginning.';

-- A synchronisation goes forward, and ends once. Its filter may name contact data, and is forgotten at its end.
create function person_syncs_forward() returns trigger language plpgsql as $$
begin
  if old.state <> 'running' or new.step < old.step or new.read < old.read or new.linked < old.linked
    or new.completed < old.completed or new.created < old.created
    or (new.id, new.owner, new.created_at) is distinct from (old.id, old.owner, old.created_at)
    or new.parameters is distinct from
      (case when new.state = 'running' then old.parameters else old.parameters || '{"filter": null}' end) then
    raise exception 'a synchronisation goes forward only'
      using errcode = 'check_violation', constraint = 'person_syncs_forward';
  end if;
  return new;
end $$;
create trigger person_syncs_forward before update on person_syncs
  for each row execute function person_syncs_forward();

create table notes (
  id uuid primary key,
  collection text not null
    check (collection in ('accounts', 'deposits', 'identities', 'transactions', 'users', 'withdrawals')),
  entity uuid not null,
  identity uuid,
  person text,
  kind text not null check (kind ~ '^[a-z][a-z0-9_.-]{0,39}$'),
  text text check (length(text) between 1 and 2000),
  owner uuid not null references users (id),
  erased_at timestamptz,
  forgotten_at timestamptz,
  created_at timestamptz not null,
  constraint notes_forgotten check (forgotten_at is null or person is not null),
  constraint notes_erased check ((text is null) = (erased_at is not null))
);
create index notes_entity on notes (entity, id);
create index notes_identity on notes (identity) where person is null;
create index notes_person on notes (person) where person is not null;
create index notes_left on notes (identity) where forgotten_at is not null and erased_at is null;
comment on column notes.identity is 'The customer that the entity belongs to; null for a transaction, which has two sides.';
comment on column notes.person is 'The person that the identity had when the note was written: forgetting it erases the text.';

comment on column notes.forgotten_at is
  'When a customer forgot its own person, which leaves the text: whoever forgets one for the realm erases it then.';

-- A note stays as it was written; its text is erased once, and its person forgotten once.
create function notes_stay() returns trigger language plpgsql as $$
begin
  if old.text is null
    or new.text is not null and (new.text <> old.text or new.forgotten_at is not distinct from old.forgotten_at)
    or old.forgotten_at is not null and new.forgotten_at is distinct from old.forgotten_at
    or (to_jsonb(new) - '{text,erased_at,forgotten_at}'::text[])
      is distinct from (to_jsonb(old) - '{text,erased_at,forgotten_at}'::text[]) then
    raise exception 'notes are append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger notes_stay before update on notes for each row execute function notes_stay();
create trigger notes_append_only before delete or truncate on notes
  for each statement execute function refuse_change();
