-- The schema as the migrations leave it. Made by `deno task schema`; not run.

table application_keys (
  id uuid not null
  realm uuid not null
  digest bytea not null
  revoked_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint application_keys_digest_check CHECK ((octet_length(digest) = 32))
constraint application_keys_digest_key UNIQUE (digest)
constraint application_keys_pkey PRIMARY KEY (id)
constraint application_keys_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id)
CREATE INDEX application_keys_realm ON application_keys USING btree (realm)

table audit (
  id uuid not null
  actor uuid
  action text not null
  realm uuid
  entity uuid
  fields text[]
  request_id text not null
  address text
  api_key uuid
  api_key_name text
  created_at timestamp with time zone not null
)
constraint audit_api_key CHECK (((api_key IS NULL) = (api_key_name IS NULL)))
constraint audit_pkey PRIMARY KEY (id)
CREATE INDEX audit_entity ON audit USING btree (entity, id) WHERE (entity IS NOT NULL)
CREATE INDEX audit_realm ON audit USING btree (realm, id)
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table idempotency (
  key uuid not null
  fingerprint uuid not null
  status smallint
  body text
  transaction uuid
  created_at timestamp with time zone not null default clock_timestamp()
)
constraint idempotency_pkey PRIMARY KEY (key)
CREATE INDEX idempotency_age ON idempotency USING brin (created_at)

table installation (
  singleton boolean not null default true
  id uuid not null
  epoch integer not null default 1
  label text
  home text
  timeline text
  master text
  address_key uuid not null default gen_random_uuid()
  login bytea
  realm_key bytea
  halted jsonb
  updated_at timestamp with time zone not null default now()
)
constraint installation_epoch_check CHECK ((epoch > 0))
constraint installation_label_check CHECK ((label ~ '^[A-Za-z0-9._:-]{1,64}$'::text))
constraint installation_pkey PRIMARY KEY (singleton)
constraint installation_singleton_check CHECK (singleton)

table installation_witnesses (
  id uuid not null
  count bigint not null
  token uuid not null
  timeline text
  synchronous boolean not null default false
  seen_at timestamp with time zone not null
)
constraint installation_witnesses_count_check CHECK ((count > 0))
constraint installation_witnesses_pkey PRIMARY KEY (id)

table leases (
  name text not null
  owner_process uuid not null
  until timestamp with time zone not null
  next_at timestamp with time zone not null
)
constraint leases_pkey PRIMARY KEY (name)

table migrations (
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
)
constraint migrations_pkey PRIMARY KEY (number)

table network_identities (
  chain text not null
  network text not null
  identity text not null
  decided_at timestamp with time zone not null default now()
)
constraint network_identities_identity_check CHECK ((identity <> ''::text))
constraint network_identities_pkey PRIMARY KEY (chain, network)

table own_addresses (
  digest bytea not null
  realm uuid not null
)
constraint own_addresses_digest_check CHECK ((length(digest) = 32))
constraint own_addresses_pkey PRIMARY KEY (digest)
constraint own_addresses_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id) ON DELETE CASCADE

table rates (
  base text not null
  currency text not null
  rate numeric not null
  source text not null
  owner uuid
  updated_at timestamp with time zone not null
)
constraint rates_pkey PRIMARY KEY (base, currency)
constraint rates_rate_check CHECK (((rate > (0)::numeric) AND (rate < 'Infinity'::numeric)))
CREATE INDEX rates_updated ON rates USING btree (updated_at)

table realm_faults (
  realm uuid not null
  code text not null
  chain text not null default ''::text
  network text not null default ''::text
  detail text not null
  seen_at timestamp with time zone not null
)
constraint realm_faults_pkey PRIMARY KEY (realm, code, chain, network)
constraint realm_faults_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id)

table realm_measurements (
  realm uuid not null
  samples jsonb not null
  measured_at timestamp with time zone not null
)
constraint realm_measurements_pkey PRIMARY KEY (realm)
constraint realm_measurements_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id) ON DELETE CASCADE
constraint realm_measurements_samples_check CHECK (((jsonb_typeof(samples) = 'array'::text) AND (jsonb_array_length(samples) <= 5000)))

table realm_moves (
  realm uuid not null
  id uuid not null
  step text not null
  runner uuid not null
  place integer not null
  source_encrypted bytea
  target_encrypted bytea
  pause_ms integer
  error text
  updated_at timestamp with time zone not null default now()
  created_at timestamp with time zone not null
)
constraint realm_moves_id_key UNIQUE (id)
constraint realm_moves_pause_ms_check CHECK ((pause_ms >= 0))
constraint realm_moves_pkey PRIMARY KEY (realm)
constraint realm_moves_place_check CHECK ((place > 0))
constraint realm_moves_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id)
constraint realm_moves_step_check CHECK ((step = ANY (ARRAY['copying'::text, 'fencing'::text, 'fenced'::text, 'switched'::text, 'done'::text, 'canceled'::text])))

table realm_provisioning (
  id uuid not null
  database_url_encrypted bytea not null
  created_at timestamp with time zone not null
)
constraint realm_provisioning_pkey PRIMARY KEY (id)

table realm_steps (
  realm uuid not null
  now uuid
  next jsonb not null default '[]'::jsonb
)
constraint realm_steps_next_check CHECK ((jsonb_typeof(next) = 'array'::text))
constraint realm_steps_pkey PRIMARY KEY (realm)
constraint realm_steps_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id)

table realms (
  id uuid not null
  name text not null
  zone text not null
  country text not null
  accounting_currency text not null
  tier text not null
  realm_key uuid not null
  previous_realm_key uuid
  schema_name text not null
  role_name text
  database_url_encrypted bytea
  login bytea
  schema_version integer not null
  place integer not null default 0
  login_epoch uuid not null default gen_random_uuid()
  migrations_checksum text not null
  settings jsonb not null default '{}'::jsonb
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint realms_check CHECK ((previous_realm_key <> realm_key))
constraint realms_check1 CHECK ((role_name = schema_name))
constraint realms_country_check CHECK ((country ~ '^[A-Z]{2}$'::text))
constraint realms_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
constraint realms_name_plain CHECK (is_plain(name))
constraint realms_pkey PRIMARY KEY (id)
constraint realms_place_check CHECK ((place >= 0))
constraint realms_previous_realm_key_key UNIQUE (previous_realm_key)
constraint realms_realm_key_key UNIQUE (realm_key)
constraint realms_schema_name_check CHECK ((schema_name ~ '^realm_[0-9a-f]{32}$'::text))
constraint realms_schema_name_key UNIQUE (schema_name)
constraint realms_tier_fkey FOREIGN KEY (tier) REFERENCES tiers(name)
constraint realms_zone_check CHECK ((zone = ANY (ARRAY['US'::text, 'EU'::text])))

table signing_keys (
  kid text not null
  jwk jsonb not null
  expires_at timestamp with time zone not null
  created_at timestamp with time zone not null
)
constraint signing_keys_jwk_check CHECK ((NOT (jwk ? 'd'::text)))
constraint signing_keys_pkey PRIMARY KEY (kid)

table tiers (
  name text not null
  requests_per_second integer
  credits_per_month bigint
)
constraint tiers_credits_per_month_check CHECK ((credits_per_month > 0))
constraint tiers_name_check CHECK ((name ~ '^[a-z][a-z0-9_]{1,39}$'::text))
constraint tiers_pkey PRIMARY KEY (name)
constraint tiers_requests_per_second_check CHECK ((requests_per_second > 0))

table usage (
  realm uuid not null
  month date not null
  credits bigint not null default 0
  requests bigint not null default 0
)
constraint usage_credits_check CHECK ((credits >= 0))
constraint usage_pkey PRIMARY KEY (realm, month)
constraint usage_realm_fkey FOREIGN KEY (realm) REFERENCES realms(id)
constraint usage_requests_check CHECK ((requests >= 0))

table whatsapp_interactions (
  sender text not null
  recipient text not null
  last_at timestamp with time zone not null
)
constraint whatsapp_interactions_pkey PRIMARY KEY (recipient, sender)
constraint whatsapp_interactions_recipient_check CHECK ((recipient ~ '^\+[1-9][0-9]{4,14}$'::text))
constraint whatsapp_interactions_sender_check CHECK ((sender ~ '^[0-9]{3,15}$'::text))

CREATE OR REPLACE FUNCTION claim_key(p_key uuid, p_fingerprint uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  insert into idempotency (key, fingerprint) values (p_key, p_fingerprint) on conflict do nothing;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION is_plain(name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((name IS NFC NORMALIZED) AND (name !~ '^ | $|  |(^|[ -~])[\u200c\u200d]|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200b\u200e-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'::text));

CREATE OR REPLACE FUNCTION kept_answer(p_key uuid, OUT fingerprint uuid, OUT status smallint, OUT body text, OUT transaction uuid)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return query select x.fingerprint, x.status, x.body, x.transaction from idempotency x where x.key = p_key;
end $function$;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $function$;
