-- What:     the directory of realms: tiers, application keys, public signing keys.
-- Why:      a realm's data lives elsewhere (its own schema, role, perhaps database); this is the directory.
-- Locks:    none, first migration.
-- Backfill: the four tiers of the contract, which an operator may change afterwards.
-- Undo:     forward only.

create table tiers (
  name text primary key check (name ~ '^[a-z][a-z0-9_]{1,39}$'),
  requests_per_second integer check (requests_per_second > 0),
  credits_per_month bigint check (credits_per_month > 0)
);
comment on table tiers is 'Limits per realm; null means without limit.';

insert into tiers (name, requests_per_second, credits_per_month) values
  ('free', 5, 10000), ('basic', 25, 250000), ('pro', 100, 2000000), ('unlimited', null, null);

-- Whether people can tell a name apart by eye: it is composed, without invisible characters, and joiners stand
-- between letters.
create function is_plain(name text) returns boolean language sql immutable parallel safe
  return name is nfc normalized and name !~
    '^ | $|  |(^|[ -~])[\u200c\u200d]|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200b\u200e-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]';

create table realms (
  id uuid primary key,
  name text not null check (length(name) between 1 and 100),
  zone text not null check (zone in ('US', 'EU')),
  country text not null check (country ~ '^[A-Z]{2}$'),
  accounting_currency text not null,
  tier text not null references tiers (name),
  realm_key uuid not null unique,
  previous_realm_key uuid unique check (previous_realm_key <> realm_key),
  schema_name text not null unique check (schema_name ~ '^realm_[0-9a-f]{32}$'),
  role_name text check (role_name = schema_name),
  database_url_encrypted bytea,
  login bytea,
  schema_version integer not null,
  place integer not null default 0 check (place >= 0),
  login_epoch uuid not null default gen_random_uuid(),
  migrations_checksum text not null,
  settings jsonb not null default '{}',
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint realms_name_plain check (is_plain(name))
);
comment on column realms.previous_realm_key is 'Valid at logins beside realm_key, until it is ended.';
comment on column realms.database_url_encrypted is 'Encrypted database_url of a realm that lives elsewhere.';
comment on column realms.login is 'Encrypted secret from which the passwords of the realm''s roles derive; null: they do not log in.';
comment on column realms.place is 'Grows each time the realm moves to another database: a process that knows a smaller number looks again.';
comment on column realms.schema_version is 'Number of the last migration applied to the realm.';
comment on column realms.migrations_checksum is 'Checksum of all migrations up to it: a file that was changed afterwards is found at every start.';

create table application_keys (
  id uuid primary key,
  realm uuid not null references realms (id),
  digest bytea not null unique check (octet_length(digest) = 32),
  revoked_at timestamptz,
  created_at timestamptz not null
);
create index application_keys_realm on application_keys (realm);
comment on column application_keys.digest is 'SHA-256 of the key; the key itself is shown once and not kept.';

create table realm_provisioning (
  id uuid primary key,
  database_url_encrypted bytea not null,
  created_at timestamptz not null
);
comment on table realm_provisioning is 'Realms being provisioned in databases of their own; one that is never created is dropped again.';

create table usage (
  realm uuid not null references realms (id),
  month date not null,
  credits bigint not null default 0 check (credits >= 0),
  requests bigint not null default 0 check (requests >= 0),
  primary key (realm, month)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
comment on table usage is 'Usage of realms with limits; each process adds its counts about once a second.';

create table signing_keys (
  kid text primary key,
  jwk jsonb not null check (not jwk ? 'd'),
  expires_at timestamptz not null,
  created_at timestamptz not null
);
comment on table signing_keys is 'Public halves only: each process signs with a key that it never stores.';

create table idempotency (
  key uuid primary key,
  fingerprint uuid not null,
  status smallint,
  body text,
  transaction uuid,
  created_at timestamptz not null default clock_timestamp()
);
create index idempotency_age on idempotency using brin (created_at);

-- As in a realm, which has two tables of such rows.
create function claim_key(p_key uuid, p_fingerprint uuid) returns boolean language plpgsql as $$
begin
  insert into idempotency (key, fingerprint) values (p_key, p_fingerprint) on conflict do nothing;
  return found;
end $$;
create function kept_answer(p_key uuid, out fingerprint uuid, out status smallint, out body text, out transaction uuid)
returns setof record language plpgsql stable as $$
begin
  return query select x.fingerprint, x.status, x.body, x.transaction from idempotency x where x.key = p_key;
end $$;

create table audit (
  id uuid primary key,
  actor uuid,
  action text not null,
  realm uuid,
  entity uuid,
  fields text[],
  request_id text not null,
  address text,
  api_key uuid,
  api_key_name text,
  created_at timestamptz not null,
  constraint audit_api_key check ((api_key is null) = (api_key_name is null))
);
create index audit_realm on audit (realm, id);
create index audit_entity on audit (entity, id) where entity is not null;
comment on column audit.fields is 'Names of the fields that the request gave; never their values.';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger audit_append_only before update or delete or truncate on audit
  for each statement execute function refuse_change();
