-- The schema as the migrations leave it. Made by `deno task schema`; not run.

table account_states (
  account uuid not null
  at timestamp with time zone not null
  id bigint not null generated as identity
  blocked numeric not null
  frozen boolean not null
)
constraint account_states_pkey PRIMARY KEY (account, at, id)
CREATE TRIGGER account_states_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON account_states FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table accounts (
  id uuid not null
  owner uuid
  holder uuid
  seq bigint not null default 0
  created_at timestamp with time zone not null
  testnet boolean not null default false
  active boolean not null default false
  frozen boolean not null default false
  enabled boolean not null default false
  is_default boolean not null default false
  frozen_by_realm boolean not null default false
  decimals smallint not null
  currency_places smallint not null
  type text not null
  asset text not null
  currency text not null
  total numeric not null default 0
  blocked numeric not null default 0
  linked numeric not null default 0
  deleted_at timestamp with time zone
  country text not null
  system text
  ramp uuid
  reference text
  frozen_by uuid
  updated_at timestamp with time zone
  data jsonb not null default '{}'::jsonb
  error jsonb
)
constraint accounts_covered CHECK (((total >= (blocked + linked)) OR (type = 'system'::text)))
constraint accounts_pkey PRIMARY KEY (id)
constraint accounts_scale CHECK (((min_scale(total) <= decimals) IS TRUE))
CREATE UNIQUE INDEX accounts_counterparty ON accounts USING btree (asset, testnet, system) WHERE (type = 'system'::text)
CREATE UNIQUE INDEX accounts_default ON accounts USING btree (holder, asset, testnet) WHERE (is_default AND (deleted_at IS NULL))
CREATE INDEX accounts_deleted ON accounts USING btree (owner, id) WHERE (deleted_at IS NOT NULL)
CREATE INDEX accounts_holder ON accounts USING btree (holder, asset)
CREATE INDEX accounts_owner ON accounts USING btree (owner, id)
CREATE INDEX accounts_reference ON accounts USING btree (reference, owner) WHERE ((reference IS NOT NULL) AND (deleted_at IS NULL))
CREATE TRIGGER accounts_asset AFTER INSERT OR UPDATE OF asset, type ON accounts FOR EACH ROW WHEN ((new.type = 'ramp'::text)) EXECUTE FUNCTION check_asset_once()
CREATE TRIGGER accounts_belong AFTER INSERT ON accounts FOR EACH ROW WHEN ((new.type <> 'system'::text)) EXECUTE FUNCTION check_belonging()
CREATE TRIGGER accounts_count_changed_rows AFTER UPDATE OF deleted_at ON accounts FOR EACH ROW WHEN (((old.deleted_at IS NULL) <> (new.deleted_at IS NULL))) EXECUTE FUNCTION count_changed_rows()
CREATE TRIGGER accounts_count_new_rows AFTER INSERT ON accounts REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER accounts_deletable AFTER UPDATE OF deleted_at ON accounts FOR EACH ROW WHEN (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION check_deletion()
CREATE TRIGGER accounts_facts AFTER UPDATE OF type, asset, testnet, decimals, currency, currency_places, holder, owner, system, ramp ON accounts FOR EACH ROW WHEN (((((((((((old.type IS DISTINCT FROM new.type) OR (old.asset IS DISTINCT FROM new.asset)) OR (old.testnet IS DISTINCT FROM new.testnet)) OR (old.decimals IS DISTINCT FROM new.decimals)) OR (old.currency IS DISTINCT FROM new.currency)) OR (old.currency_places IS DISTINCT FROM new.currency_places)) OR (old.holder IS DISTINCT FROM new.holder)) OR (old.owner IS DISTINCT FROM new.owner)) OR (old.system IS DISTINCT FROM new.system)) OR ((old.type <> 'virtual'::text) AND (old.ramp IS DISTINCT FROM new.ramp)))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER accounts_frozen AFTER UPDATE OF frozen ON accounts FOR EACH ROW WHEN ((old.frozen IS DISTINCT FROM new.frozen)) EXECUTE FUNCTION note_frozen()
CREATE TRIGGER accounts_linked_stays AFTER UPDATE OF linked ON accounts FOR EACH ROW WHEN ((new.linked < old.linked)) EXECUTE FUNCTION keep_linked()
CREATE TRIGGER accounts_noted AFTER INSERT ON accounts REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER accounts_noted_change AFTER UPDATE OF id, owner, holder, created_at, testnet, active, frozen, enabled, is_default, frozen_by_realm, decimals, currency_places, type, asset, currency, deleted_at, country, system, ramp, reference, frozen_by ON accounts FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER accounts_noted_end AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER accounts_rules AFTER INSERT OR UPDATE OF blocked, linked, type, decimals, frozen, frozen_by, frozen_by_realm, is_default, currency_places, holder, owner, system, data ON accounts FOR EACH ROW EXECUTE FUNCTION check_account()
CREATE TRIGGER accounts_seq AFTER UPDATE OF seq ON accounts FOR EACH ROW WHEN ((new.seq < old.seq)) EXECUTE FUNCTION refuse_fall()

table addresses (
  id uuid not null
  account uuid not null
  ramp uuid not null
  target_account uuid
  chain text not null
  network text not null
  address text not null
  derivation_key integer not null
  xpub text
  asset text not null
  data jsonb not null default '{}'::jsonb
  owner uuid
  created_at timestamp with time zone not null
)
constraint addresses_account UNIQUE (account)
constraint addresses_address UNIQUE (chain, network, address)
constraint addresses_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint addresses_derivation_key_check CHECK ((derivation_key >= 0))
constraint addresses_index UNIQUE (ramp, derivation_key)
constraint addresses_pkey PRIMARY KEY (id)
constraint addresses_ramp_fkey FOREIGN KEY (ramp) REFERENCES ramps(account)
CREATE INDEX addresses_place ON addresses USING btree (chain, network, id)
CREATE INDEX addresses_ramp ON addresses USING btree (ramp, id) WHERE (target_account IS NULL)
CREATE INDEX addresses_target ON addresses USING btree (target_account, id) WHERE (target_account IS NOT NULL)
CREATE INDEX addresses_text ON addresses USING btree (address)
CREATE TRIGGER addresses_facts BEFORE UPDATE ON addresses FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER addresses_fit BEFORE INSERT ON addresses FOR EACH ROW EXECUTE FUNCTION check_address()
CREATE TRIGGER addresses_linked BEFORE INSERT OR UPDATE OF address ON addresses FOR EACH ROW EXECUTE FUNCTION refuse_linked_own()
CREATE TRIGGER addresses_noted AFTER INSERT ON addresses REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER addresses_noted_change AFTER UPDATE OF id, account, ramp, target_account, chain, network, address, derivation_key, xpub, asset, owner, created_at ON addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER addresses_noted_end AFTER DELETE ON addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER addresses_stay BEFORE DELETE ON addresses FOR EACH ROW EXECUTE FUNCTION keep_facts()
CREATE TRIGGER addresses_stock BEFORE INSERT ON addresses FOR EACH ROW WHEN ((new.chain = 'SOLANA'::text)) EXECUTE FUNCTION check_stock()
CREATE TRIGGER addresses_unused AFTER INSERT ON addresses FOR EACH ROW WHEN ((new.derivation_key > 0)) EXECUTE FUNCTION note_unused()

table aliases (
  id uuid not null
  alias text not null
  folded text not null
  type text not null
  account uuid
  identity uuid
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint aliases_account_fkey FOREIGN KEY (account) REFERENCES accounts(id)
constraint aliases_alias_check CHECK (((length(alias) >= 1) AND (length(alias) <= 200)))
constraint aliases_alias_key UNIQUE (alias)
constraint aliases_alias_no_address CHECK ((folded !~ '^(0x[0-9a-f]{40}|(bc|tb|bcrt|t?ltc|rltc)1[02-9ac-hj-np-z]{20,90}|((bitcoincash|bchtest|bchreg):)?[pqrz]([02-9ac-hj-np-z]{41}|[02-9ac-hj-np-z]{60}))$'::text))
constraint aliases_alias_no_id CHECK ((folded !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text))
constraint aliases_alias_plain CHECK (is_plain(alias))
constraint aliases_check CHECK (((type = 'account'::text) = (account IS NOT NULL)))
constraint aliases_check1 CHECK (((type = 'identity'::text) = (identity IS NOT NULL)))
constraint aliases_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint aliases_folded_check CHECK (((length(folded) >= 1) AND (length(folded) <= 600)))
constraint aliases_folded_key UNIQUE (folded)
constraint aliases_folded_plain CHECK (is_folded(folded, alias))
constraint aliases_identity_fkey FOREIGN KEY (identity) REFERENCES identities(id)
constraint aliases_pkey PRIMARY KEY (id)
constraint aliases_type_check CHECK ((type = ANY (ARRAY['account'::text, 'identity'::text])))
CREATE INDEX aliases_account ON aliases USING btree (account, id) WHERE ((account IS NOT NULL) AND (deleted_at IS NULL))
CREATE INDEX aliases_deleted ON aliases USING btree (owner, id) WHERE (deleted_at IS NOT NULL)
CREATE INDEX aliases_identity ON aliases USING btree (identity, id) WHERE ((identity IS NOT NULL) AND (deleted_at IS NULL))
CREATE INDEX aliases_name ON aliases USING btree (lower(alias) text_pattern_ops) WHERE ((deleted_at IS NULL) AND (lower(alias) IS NOT NULL))
CREATE INDEX aliases_own_name ON aliases USING btree (owner, lower(alias) text_pattern_ops) WHERE ((deleted_at IS NULL) AND (lower(alias) IS NOT NULL))
CREATE INDEX aliases_owner ON aliases USING btree (owner, id)
CREATE TRIGGER aliases_count_changed_rows AFTER UPDATE OF deleted_at ON aliases FOR EACH ROW WHEN (((old.deleted_at IS NULL) <> (new.deleted_at IS NULL))) EXECUTE FUNCTION count_changed_rows()
CREATE TRIGGER aliases_count_new_rows AFTER INSERT ON aliases REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER aliases_noted AFTER INSERT ON aliases REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER aliases_noted_change AFTER UPDATE OF id, alias, folded, type, account, identity, owner, deleted_at, created_at ON aliases FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER aliases_noted_end AFTER DELETE ON aliases FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table api_keys (
  id uuid not null
  name text not null
  digest bytea not null
  roles text[] not null
  scopes text[] not null
  addresses text[] not null default '{}'::text[]
  expires_at timestamp with time zone
  last_used_at timestamp with time zone
  owner uuid not null
  data jsonb not null default '{}'::jsonb
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint api_keys_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint api_keys_digest_check CHECK ((octet_length(digest) = 32))
constraint api_keys_digest_key UNIQUE (digest)
constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
constraint api_keys_name_plain CHECK (is_plain(name))
constraint api_keys_owner_fkey FOREIGN KEY (owner) REFERENCES users(id)
constraint api_keys_pkey PRIMARY KEY (id)
constraint api_keys_roles_check CHECK (((roles <@ ARRAY['admin'::text, 'manage'::text, 'user'::text]) AND ('user'::text = ANY (roles))))
constraint api_keys_scopes_check CHECK (((scopes <@ ARRAY['realm'::text, 'own'::text]) AND ('own'::text = ANY (scopes))))
CREATE INDEX api_keys_owner ON api_keys USING btree (owner, id)
CREATE TRIGGER api_keys_ended BEFORE UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION api_keys_ended()
CREATE TRIGGER api_keys_noted AFTER INSERT ON api_keys REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER api_keys_noted_change AFTER UPDATE OF id, name, digest, roles, scopes, addresses, expires_at, owner, deleted_at, created_at ON api_keys FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER api_keys_noted_end AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER api_keys_within_user BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION api_keys_within_user()

table archived_parts (
  bound uuid not null
  transactions bigint not null
  entries bigint not null
  last_seq bigint not null
  last_hash bytea not null
  accounts bigint not null
  checkpoints bytea not null
  issues bytea not null
  manifest bytea not null
  archived_at timestamp with time zone not null default date_trunc('milliseconds'::text, clock_timestamp())
)
constraint archived_parts_accounts_check CHECK ((accounts >= 0))
constraint archived_parts_check CHECK ((entries = (2 * transactions)))
constraint archived_parts_checkpoints_check CHECK ((octet_length(checkpoints) = 32))
constraint archived_parts_issues_check CHECK ((octet_length(issues) = 32))
constraint archived_parts_last_hash_check CHECK ((octet_length(last_hash) = 32))
constraint archived_parts_last_seq_check CHECK ((last_seq >= 0))
constraint archived_parts_manifest_check CHECK ((octet_length(manifest) = 32))
constraint archived_parts_pkey PRIMARY KEY (bound)
constraint archived_parts_transactions_check CHECK ((transactions >= 0))
CREATE TRIGGER archived_parts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON archived_parts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE TRIGGER archived_parts_noted AFTER INSERT ON archived_parts REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER archived_parts_noted_change AFTER UPDATE OF bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest, archived_at ON archived_parts FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER archived_parts_noted_end AFTER DELETE ON archived_parts FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table asset_kinds (
  asset text not null
  kind text not null
)
constraint asset_kinds_kind_check CHECK ((kind = ANY (ARRAY['chain'::text, 'currency'::text])))
constraint asset_kinds_pkey PRIMARY KEY (asset)

table attestations (
  singleton boolean not null default true
  token uuid
  place text
  timeline text
  seen_at timestamp with time zone not null default '-infinity'::timestamp with time zone
  numbers_from integer not null default 0
  linked_after text not null default ''::text
  apart boolean not null default false
)
constraint attestations_numbers_from_check CHECK ((numbers_from >= 0))
constraint attestations_pkey PRIMARY KEY (singleton)
constraint attestations_singleton_check CHECK (singleton)

table audit (
  id uuid not null
  actor uuid
  action text not null
  entity uuid
  fields text[]
  request_id text not null
  address text
  api_key uuid
  api_key_name text
  created_at timestamp with time zone not null
  seq bigint
  hash bytea
)
constraint audit_api_key CHECK (((api_key IS NULL) = (api_key_name IS NULL)))
constraint audit_chained CHECK (((seq IS NULL) = (hash IS NULL)))
constraint audit_hash_check CHECK ((octet_length(hash) = 32))
constraint audit_pkey PRIMARY KEY (id)
constraint audit_seq_check CHECK ((seq > 0))
constraint audit_seq_key UNIQUE (seq)
CREATE INDEX audit_actor ON audit USING btree (actor, id)
CREATE INDEX audit_api_key ON audit USING btree (api_key, id) WHERE (api_key IS NOT NULL)
CREATE INDEX audit_entity ON audit USING btree (entity, id)
CREATE INDEX audit_unchained ON audit USING btree (id) WHERE (seq IS NULL)
CREATE UNIQUE INDEX audit_views ON audit USING btree (actor, action, COALESCE(entity, '00000000-0000-0000-0000-000000000000'::uuid), ((id_ms(id) / 3600000))) WHERE (action ~~ '%.view'::text)
CREATE TRIGGER audit_append_only BEFORE DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION keep_line()

table balance_checkpoints (
  account uuid not null
  bound uuid not null
  seq bigint not null
  balance numeric not null
  linked numeric
)
constraint balance_checkpoints_linked_check CHECK ((linked > (0)::numeric))
constraint balance_checkpoints_pkey PRIMARY KEY (account, bound)
constraint balance_checkpoints_seq_check CHECK ((seq > 0))
CREATE TRIGGER balance_checkpoints_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON balance_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table batches (
  key uuid not null
  request_id text not null
  transactions uuid[] not null
  refusals text[]
  unresolved jsonb
  created_at timestamp with time zone not null default clock_timestamp()
)
constraint batches_pkey PRIMARY KEY (key)
CREATE INDEX batches_age ON batches USING brin (created_at)

table batches_earlier (
  key uuid not null
  request_id text not null
  transactions uuid[] not null
  refusals text[]
  unresolved jsonb
  created_at timestamp with time zone not null default clock_timestamp()
)
constraint batches_earlier_pkey PRIMARY KEY (key)
CREATE INDEX batches_earlier_age ON batches_earlier USING brin (created_at)

table blocks (
  id uuid not null
  account uuid not null
  amount numeric not null
  captured numeric not null default 0
  reason text
  status text not null default 'OPEN'::text
  expires_at timestamp with time zone
  transaction uuid
  reference_id uuid
  data jsonb not null default '{}'::jsonb
  owner uuid
  closed_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint blocks_account_fkey FOREIGN KEY (account) REFERENCES accounts(id)
constraint blocks_amount_check CHECK ((amount > (0)::numeric))
constraint blocks_capture CHECK ((((status = 'CAPTURED'::text) = (captured > (0)::numeric)) AND ((status = 'CAPTURED'::text) = (transaction IS NOT NULL))))
constraint blocks_captured CHECK (((captured >= (0)::numeric) AND (captured <= amount)))
constraint blocks_closed CHECK (((status = 'OPEN'::text) = (closed_at IS NULL)))
constraint blocks_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint blocks_paid TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint blocks_pkey PRIMARY KEY (id)
constraint blocks_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500)))
constraint blocks_serving TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint blocks_status_check CHECK ((status = ANY (ARRAY['OPEN'::text, 'CAPTURED'::text, 'RELEASED'::text, 'EXPIRED'::text])))
CREATE INDEX blocks_account ON blocks USING btree (account, id)
CREATE INDEX blocks_expiry ON blocks USING btree (expires_at) WHERE ((status = 'OPEN'::text) AND (expires_at IS NOT NULL))
CREATE UNIQUE INDEX blocks_transaction ON blocks USING btree (transaction) WHERE (transaction IS NOT NULL)
CREATE TRIGGER blocks_close BEFORE UPDATE ON blocks FOR EACH ROW WHEN (((old.status = 'OPEN'::text) AND (new.status <> 'OPEN'::text))) EXECUTE FUNCTION time_block()
CREATE TRIGGER blocks_keep AFTER INSERT ON blocks FOR EACH ROW EXECUTE FUNCTION keep_opened()
CREATE TRIGGER blocks_keep_closed AFTER UPDATE ON blocks REFERENCING OLD TABLE AS earlier NEW TABLE AS later FOR EACH STATEMENT EXECUTE FUNCTION keep_closed()
CREATE TRIGGER blocks_noted AFTER INSERT ON blocks REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER blocks_noted_change AFTER UPDATE OF id, account, amount, captured, reason, status, expires_at, transaction, reference_id, owner, closed_at, created_at ON blocks FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER blocks_noted_end AFTER DELETE ON blocks FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER blocks_open BEFORE INSERT ON blocks FOR EACH ROW EXECUTE FUNCTION time_block()
CREATE CONSTRAINT TRIGGER blocks_paid AFTER UPDATE ON blocks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = 'CAPTURED'::text)) EXECUTE FUNCTION check_captured()
CREATE CONSTRAINT TRIGGER blocks_serving AFTER UPDATE ON blocks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.reference_id IS NOT NULL) AND (new.status <> 'OPEN'::text))) EXECUTE FUNCTION check_charge_blocked()
CREATE TRIGGER blocks_stay BEFORE DELETE OR TRUNCATE ON blocks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table chain_blocks (
  chain text not null
  network text not null
  height bigint not null
  hash text not null
  parent_hash text not null
)
constraint chain_blocks_pkey PRIMARY KEY (chain, network, height)

table chain_cursors (
  chain text not null
  network text not null
  height bigint not null
  hash text not null
  head bigint not null
  finalized bigint
  balances_height bigint not null default '-1'::integer
  halted jsonb
  error text
  warning text
  scanned_at timestamp with time zone not null
  created_at timestamp with time zone not null
)
constraint chain_cursors_pkey PRIMARY KEY (chain, network)

table chain_head (
  one boolean not null default true
  seq bigint not null
  transactions bigint not null default 0
  hash bytea not null
)
constraint chain_head_check CHECK (((transactions >= 0) AND (transactions <= seq)))
constraint chain_head_hash_check CHECK ((octet_length(hash) = 32))
constraint chain_head_one_check CHECK (one)
constraint chain_head_pkey PRIMARY KEY (one)
constraint chain_head_seq_check CHECK ((seq >= 0))

table chain_links (
  seq bigint not null
  transaction uuid
  event bigint
  salt bytea not null
  hash bytea not null
)
constraint chain_links_hash_check CHECK ((octet_length(hash) = 32))
constraint chain_links_pkey PRIMARY KEY (seq)
constraint chain_links_salt_check CHECK ((octet_length(salt) = 16))
constraint chain_links_seq_check CHECK ((seq > 0))
constraint chain_links_subject CHECK (((transaction IS NULL) <> (event IS NULL)))
constraint chain_links_transaction_key UNIQUE (transaction)
CREATE UNIQUE INDEX chain_links_event ON chain_links USING btree (event) WHERE (event IS NOT NULL)
CREATE TRIGGER chain_links_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON chain_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table chain_orders (
  id uuid not null
  chain text not null
  network text not null
  ramp uuid not null
  purpose text not null
  reference_id uuid
  sender text not null
  request jsonb not null
  contract text not null default ''::text
  amount numeric(78,0)
  speed text not null default 'medium'::text
  state text not null default 'new'::text
  batch_order_id uuid
  schedule_version integer not null default 0
  replace boolean not null default false
  nonce integer
  since integer
  hash text
  height integer
  block_hash text
  confirmations integer not null default 0
  succeeded boolean
  fee numeric(78,0)
  fee_contract text
  refund numeric(78,0) not null default 0
  refund_transaction uuid
  charged numeric(78,0) not null default 0
  budget numeric(78,0)
  budget_contract text
  gas_block uuid
  sped_up_at integer
  fault text
  creates text
  error text
  last_attempt_at timestamp with time zone
  state_at timestamp with time zone not null default now()
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint chain_orders_amount_check CHECK ((amount >= (0)::numeric))
constraint chain_orders_batch TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint chain_orders_batch_order CHECK (((batch_order_id IS NULL) OR ((purpose = 'withdrawal'::text) AND (state = ANY (ARRAY['batched'::text, 'done'::text, 'failed'::text, 'dropped'::text])))))
constraint chain_orders_batch_order_id_fkey FOREIGN KEY (batch_order_id) REFERENCES chain_orders(id)
constraint chain_orders_batched CHECK (((state <> 'batched'::text) OR (batch_order_id IS NOT NULL)))
constraint chain_orders_budget CHECK (((budget IS NULL) OR (fee IS NULL) OR (height IS NOT NULL) OR (batch_order_id IS NOT NULL) OR (fee <= budget)))
constraint chain_orders_budget_check CHECK ((budget > (0)::numeric))
constraint chain_orders_budgeted CHECK (((budget IS NOT NULL) OR (purpose <> ALL (ARRAY['withdrawal'::text, 'batch'::text]))))
constraint chain_orders_charged CHECK (((budget IS NULL) OR (charged <= budget)))
constraint chain_orders_charged_check CHECK ((charged >= (0)::numeric))
constraint chain_orders_fault_check CHECK ((fault = 'fee_exceeded'::text))
constraint chain_orders_fee_check CHECK ((fee >= (0)::numeric))
constraint chain_orders_finite CHECK ((GREATEST(amount, fee, refund, charged, budget) < 'Infinity'::numeric))
constraint chain_orders_gas CHECK (((gas_block IS NULL) OR (purpose = ANY (ARRAY['withdrawal'::text, 'sweep'::text, 'gas'::text, 'fill'::text]))))
constraint chain_orders_gas_block_fkey FOREIGN KEY (gas_block) REFERENCES blocks(id)
constraint chain_orders_gas_held TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint chain_orders_mined CHECK (((state <> ALL (ARRAY['mined'::text, 'done'::text])) OR ((hash IS NOT NULL) AND (height IS NOT NULL))))
constraint chain_orders_nonce CHECK (((purpose <> 'fill'::text) OR (nonce IS NOT NULL)))
constraint chain_orders_nonce_check CHECK ((nonce >= 0))
constraint chain_orders_pkey PRIMARY KEY (id)
constraint chain_orders_purpose_check CHECK ((purpose = ANY (ARRAY['withdrawal'::text, 'batch'::text, 'sweep'::text, 'cpfp'::text, 'gas'::text, 'deploy'::text, 'fill'::text, 'consolidation'::text, 'recovered'::text])))
constraint chain_orders_reason TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint chain_orders_refund CHECK (((refund = (0)::numeric) OR ((height IS NOT NULL) AND (succeeded IS TRUE) AND ((purpose = 'recovered'::text) OR ((purpose = 'sweep'::text) AND (contract <> ''::text))))))
constraint chain_orders_refund_check CHECK ((refund >= (0)::numeric))
constraint chain_orders_speed_check CHECK ((speed = ANY (ARRAY['slow'::text, 'medium'::text, 'fast'::text])))
constraint chain_orders_state_check CHECK ((state = ANY (ARRAY['new'::text, 'batched'::text, 'planned'::text, 'signed'::text, 'sent'::text, 'mined'::text, 'done'::text, 'failed'::text, 'dropped'::text, 'canceled'::text])))
CREATE INDEX chain_orders_batch_order ON chain_orders USING btree (batch_order_id) WHERE (batch_order_id IS NOT NULL)
CREATE UNIQUE INDEX chain_orders_cpfp ON chain_orders USING btree (reference_id) WHERE ((purpose = 'cpfp'::text) AND (state <> 'canceled'::text))
CREATE INDEX chain_orders_discarded ON chain_orders USING btree (ramp, updated_at) WHERE ((state = 'canceled'::text) AND (purpose = 'withdrawal'::text) AND (nonce IS NOT NULL) AND (hash IS NOT NULL))
CREATE INDEX chain_orders_given_up ON chain_orders USING btree (chain, network, state_at) WHERE ((state = ANY (ARRAY['canceled'::text, 'failed'::text])) AND (nonce IS NOT NULL) AND (hash IS NOT NULL))
CREATE INDEX chain_orders_hash ON chain_orders USING btree (hash) WHERE (hash IS NOT NULL)
CREATE INDEX chain_orders_height ON chain_orders USING btree (chain, network, height) WHERE (height IS NOT NULL)
CREATE INDEX chain_orders_nonce ON chain_orders USING btree (chain, network, sender, nonce) WHERE (nonce IS NOT NULL)
CREATE INDEX chain_orders_open ON chain_orders USING btree (chain, network, sender, id) WHERE (state = ANY (ARRAY['new'::text, 'planned'::text, 'signed'::text, 'sent'::text, 'mined'::text]))
CREATE INDEX chain_orders_ramp ON chain_orders USING btree (ramp, id) WHERE (state = ANY (ARRAY['new'::text, 'planned'::text, 'signed'::text, 'sent'::text, 'mined'::text]))
CREATE INDEX chain_orders_recovered ON chain_orders USING btree (ramp) WHERE (purpose = 'recovered'::text)
CREATE INDEX chain_orders_reference ON chain_orders USING btree (reference_id, id) WHERE (reference_id IS NOT NULL)
CREATE UNIQUE INDEX chain_orders_refund_transaction ON chain_orders USING btree (refund_transaction) WHERE (refund_transaction IS NOT NULL)
CREATE CONSTRAINT TRIGGER chain_orders_batch AFTER INSERT OR UPDATE OF batch_order_id, state, budget, charged ON chain_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_batch()
CREATE TRIGGER chain_orders_change BEFORE INSERT OR UPDATE ON chain_orders FOR EACH ROW EXECUTE FUNCTION check_order()
CREATE CONSTRAINT TRIGGER chain_orders_gas_held AFTER INSERT OR UPDATE OF budget, gas_block ON chain_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.state <> 'mined'::text)) EXECUTE FUNCTION check_gas_held()
CREATE CONSTRAINT TRIGGER chain_orders_reason AFTER INSERT ON chain_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.state <> 'mined'::text)) EXECUTE FUNCTION check_order_reason()
CREATE TRIGGER chain_orders_refund AFTER INSERT OR UPDATE OF refund_transaction ON chain_orders FOR EACH ROW WHEN ((new.refund_transaction IS NOT NULL)) EXECUTE FUNCTION check_refund_named()
CREATE TRIGGER chain_orders_served BEFORE INSERT OR UPDATE ON chain_orders FOR EACH ROW EXECUTE FUNCTION check_served_order()
CREATE TRIGGER chain_orders_stay BEFORE DELETE OR TRUNCATE ON chain_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table chain_samples (
  chain text not null
  network text not null
  sampled_at timestamp with time zone not null
  hourly boolean not null
  height bigint not null
  scanned bigint not null
  scanned_at timestamp with time zone not null
  healthy boolean not null
)
constraint chain_samples_pkey PRIMARY KEY (chain, network, sampled_at)
CREATE INDEX chain_samples_old ON chain_samples USING btree (hourly, sampled_at)

table coin_rounds (
  chain text not null
  network text not null
  hash text not null
  index integer not null
)
constraint coin_rounds_pkey PRIMARY KEY (chain, network)

table coin_searches (
  chain text not null
  network text not null
  address uuid
  asked text[] not null default '{}'::text[]
  fruitless integer not null default 0
  searched_at timestamp with time zone not null
)
constraint coin_searches_fruitless_check CHECK ((fruitless >= 0))
constraint coin_searches_pkey PRIMARY KEY (chain, network)

table coins (
  chain text not null
  network text not null
  hash text not null
  index integer not null
  address text not null
  ramp uuid not null
  amount numeric(78,0) not null
  height bigint
  matures_at bigint
  parent_fee numeric(78,0)
  parent_vsize integer
  spent_by text
  spent_height bigint
  kept text
  spender_tries integer not null default 0
  spender_retry_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint coins_amount_check CHECK ((amount > (0)::numeric))
constraint coins_finite CHECK ((GREATEST(amount, parent_fee) < 'Infinity'::numeric))
constraint coins_parent_fee_check CHECK ((parent_fee >= (0)::numeric))
constraint coins_parent_vsize_check CHECK ((parent_vsize > 0))
constraint coins_pkey PRIMARY KEY (hash, index, chain, network)
constraint coins_spender_tries_check CHECK ((spender_tries >= 0))
constraint coins_spent_once CHECK (((spent_by IS NULL) = (spent_height IS NULL)))
constraint coins_unmade TRIGGER DEFERRABLE INITIALLY DEFERRED
CREATE INDEX coins_free ON coins USING btree (chain, network, address, amount) WHERE (spent_by IS NULL)
CREATE INDEX coins_height ON coins USING btree (chain, network, height)
CREATE INDEX coins_lost ON coins USING btree (chain, network, kept) WHERE ((kept IS NOT NULL) AND (spent_by IS NULL))
CREATE INDEX coins_spender_unknown ON coins USING btree (chain, network, spender_retry_at) WHERE (spent_by = 'unknown'::text)
CREATE INDEX coins_spent ON coins USING btree (chain, network, spent_height) WHERE (spent_height IS NOT NULL)
CREATE INDEX coins_taken ON coins USING btree (chain, network, kept, spent_by) WHERE (kept <> spent_by)
CREATE INDEX coins_unspent ON coins USING btree (chain, network, hash, index) WHERE (spent_by IS NULL)
CREATE TRIGGER coins_facts BEFORE UPDATE ON coins FOR EACH ROW WHEN ((((((((old.chain IS DISTINCT FROM new.chain) OR (old.network IS DISTINCT FROM new.network)) OR (old.hash IS DISTINCT FROM new.hash)) OR (old.index IS DISTINCT FROM new.index)) OR (old.address IS DISTINCT FROM new.address)) OR (old.ramp IS DISTINCT FROM new.ramp)) OR (old.amount IS DISTINCT FROM new.amount))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER coins_kept BEFORE UPDATE OF kept ON coins FOR EACH ROW WHEN (((old.kept IS NOT NULL) AND (old.kept IS DISTINCT FROM new.kept))) EXECUTE FUNCTION check_kept()
CREATE TRIGGER coins_seen BEFORE DELETE ON coins FOR EACH ROW WHEN ((old.height IS NOT NULL)) EXECUTE FUNCTION keep_coin()
CREATE CONSTRAINT TRIGGER coins_unmade AFTER DELETE ON coins DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.height IS NULL)) EXECUTE FUNCTION check_unmade()

table companies (
  id bigint not null generated as identity
  name text not null
  notes text
  country text
  region text
  account_manager text
  customer_stage text
  industry text
  vat_number text
  custom_attributes jsonb not null default '{}'::jsonb
  owner uuid not null
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint companies_account_manager_check CHECK (((length(account_manager) >= 1) AND (length(account_manager) <= 255)))
constraint companies_country_check CHECK (((length(country) >= 1) AND (length(country) <= 50)))
constraint companies_custom_attributes_check CHECK (((jsonb_typeof(custom_attributes) = 'object'::text) AND (pg_column_size(custom_attributes) <= 1048576)))
constraint companies_customer_stage_check CHECK (((length(customer_stage) >= 1) AND (length(customer_stage) <= 255)))
constraint companies_industry_check CHECK (((length(industry) >= 1) AND (length(industry) <= 255)))
constraint companies_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
constraint companies_notes_check CHECK (((length(notes) >= 1) AND (length(notes) <= 4096)))
constraint companies_pkey PRIMARY KEY (id)
constraint companies_region_check CHECK (((length(region) >= 1) AND (length(region) <= 255)))
constraint companies_vat_number_check CHECK (((length(vat_number) >= 1) AND (length(vat_number) <= 50)))
CREATE INDEX companies_owner ON companies USING btree (owner, id)

table company_domains (
  domain text not null
  company bigint not null
  position smallint not null
)
constraint company_domains_company_fkey FOREIGN KEY (company) REFERENCES companies(id) ON DELETE CASCADE
constraint company_domains_company_position_key UNIQUE (company, "position")
constraint company_domains_domain_check CHECK (((length(domain) <= 253) AND (domain = lower(domain)) AND (domain ~ '^[a-z0-9.-]+$'::text)))
constraint company_domains_pkey PRIMARY KEY (domain)
constraint company_domains_position_check CHECK ((("position" >= 0) AND ("position" <= 99)))

table consolidations (
  id uuid not null
  account uuid not null
  chain text not null
  network text not null
  address text not null
  asset text not null
  speed text not null
  max_fee numeric
  max_fee_rate numeric not null
  coins integer not null
  amount numeric not null
  estimate numeric not null
  fee numeric
  size integer
  order_id uuid not null
  status text not null default 'PROCESSING'::text
  hash text
  height integer
  confirmations integer not null default 0
  data jsonb not null default '{}'::jsonb
  owner uuid
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint consolidations_amount_check CHECK ((amount > (0)::numeric))
constraint consolidations_coins_check CHECK ((coins >= 2))
constraint consolidations_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint consolidations_done CHECK (((status <> 'DONE'::text) OR ((fee IS NOT NULL) AND (hash IS NOT NULL))))
constraint consolidations_estimate_check CHECK ((estimate >= (0)::numeric))
constraint consolidations_fee CHECK ((fee <= max_fee))
constraint consolidations_fee_check CHECK ((fee >= (0)::numeric))
constraint consolidations_finite CHECK ((GREATEST(max_fee, max_fee_rate, amount, estimate, fee) < 'Infinity'::numeric))
constraint consolidations_max_fee_check CHECK ((max_fee > (0)::numeric))
constraint consolidations_max_fee_rate_check CHECK ((max_fee_rate > (0)::numeric))
constraint consolidations_order UNIQUE (order_id)
constraint consolidations_pkey PRIMARY KEY (id)
constraint consolidations_planned CHECK (((fee IS NULL) = (size IS NULL)))
constraint consolidations_rate CHECK (((fee * (1000)::numeric) < ((max_fee_rate * (size)::numeric) + 0.00001)))
constraint consolidations_size_check CHECK ((size > 0))
constraint consolidations_speed_check CHECK ((speed = ANY (ARRAY['slow'::text, 'medium'::text, 'fast'::text])))
constraint consolidations_status_check CHECK ((status = ANY (ARRAY['PROCESSING'::text, 'DONE'::text, 'FAILED'::text])))
CREATE INDEX consolidations_account ON consolidations USING btree (account, id)
CREATE UNIQUE INDEX consolidations_open ON consolidations USING btree (account) WHERE (status = 'PROCESSING'::text)
CREATE TRIGGER consolidations_begin BEFORE INSERT ON consolidations FOR EACH ROW WHEN (((new.status <> 'PROCESSING'::text) OR (COALESCE(new.hash, (new.fee)::text) IS NOT NULL))) EXECUTE FUNCTION check_consolidation()
CREATE TRIGGER consolidations_kept BEFORE UPDATE ON consolidations FOR EACH ROW EXECUTE FUNCTION check_consolidation()
CREATE TRIGGER consolidations_stay BEFORE DELETE OR TRUNCATE ON consolidations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table currencies (
  id uuid not null
  name text not null
  supply numeric not null default 0
  decimals smallint not null
  base text
  rate numeric
  currency text not null
  country text not null
  symbol text
  symbol_url text
  sub_unit text[]
  account uuid not null
  active boolean not null default true
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint currencies_account_fkey FOREIGN KEY (account) REFERENCES accounts(id)
constraint currencies_check CHECK (((min_scale(supply) <= decimals) IS TRUE))
constraint currencies_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint currencies_decimals_check CHECK (((decimals >= 0) AND (decimals <= 77)))
constraint currencies_name_check CHECK ((name ~ '^[A-Za-z0-9_-]{2,40}$'::text))
constraint currencies_name_key UNIQUE (name)
constraint currencies_pkey PRIMARY KEY (id)
constraint currencies_rate_check CHECK (((rate > (0)::numeric) AND (rate < 'Infinity'::numeric)))
constraint currencies_sub_unit_check CHECK ((cardinality(sub_unit) = 2))
constraint currencies_supply_check CHECK ((supply >= (0)::numeric))
CREATE INDEX currencies_account ON currencies USING btree (account)
CREATE INDEX currencies_deleted ON currencies USING btree (owner, id) WHERE (deleted_at IS NOT NULL)
CREATE INDEX currencies_likeness_i ON currencies USING btree (name_likeness(name, 'I'::text))
CREATE INDEX currencies_likeness_l ON currencies USING btree (name_likeness(name, 'L'::text))
CREATE INDEX currencies_owner ON currencies USING btree (owner, id)
CREATE TRIGGER currencies_asset BEFORE INSERT OR UPDATE OF name ON currencies FOR EACH ROW EXECUTE FUNCTION check_asset_once()
CREATE TRIGGER currencies_backed AFTER UPDATE OF supply ON currencies FOR EACH ROW WHEN ((new.supply > old.supply)) EXECUTE FUNCTION check_token_supply()
CREATE TRIGGER currencies_count_changed_rows AFTER UPDATE OF deleted_at ON currencies FOR EACH ROW WHEN (((old.deleted_at IS NULL) <> (new.deleted_at IS NULL))) EXECUTE FUNCTION count_changed_rows()
CREATE TRIGGER currencies_count_new_rows AFTER INSERT ON currencies REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER currencies_deletable BEFORE UPDATE OF deleted_at ON currencies FOR EACH ROW WHEN (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION check_currency_deletion()
CREATE TRIGGER currencies_differ BEFORE INSERT ON currencies FOR EACH ROW EXECUTE FUNCTION currencies_differ()
CREATE TRIGGER currencies_facts BEFORE UPDATE OF name, decimals, account, owner ON currencies FOR EACH ROW WHEN (((((old.name IS DISTINCT FROM new.name) OR (old.decimals IS DISTINCT FROM new.decimals)) OR (old.account IS DISTINCT FROM new.account)) OR (old.owner IS DISTINCT FROM new.owner))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER currencies_noted AFTER INSERT ON currencies REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER currencies_noted_change AFTER UPDATE OF id, name, decimals, base, rate, currency, country, symbol, symbol_url, sub_unit, account, active, owner, deleted_at, created_at ON currencies FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER currencies_noted_end AFTER DELETE ON currencies FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table currency_issues (
  transaction uuid not null
  currency uuid not null
  operation text not null
  amount numeric not null
  account uuid not null
  created_at timestamp with time zone not null
)
constraint currency_issues_amount_check CHECK ((amount > (0)::numeric))
constraint currency_issues_currency_fkey FOREIGN KEY (currency) REFERENCES currencies(id)
constraint currency_issues_operation_check CHECK ((operation = ANY (ARRAY['issue'::text, 'destroy'::text])))
constraint currency_issues_pkey PRIMARY KEY (transaction)
CREATE INDEX currency_issues_currency ON currency_issues USING btree (currency, transaction)
CREATE TRIGGER currency_issues_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON currency_issues FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table deposit_apps (
  id uuid not null
  account uuid not null
  destination uuid not null
  asset text not null
  seal jsonb
  data jsonb not null default '{}'::jsonb
  status text not null default 'PENDING'::text
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint deposit_apps_account UNIQUE (account)
constraint deposit_apps_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint deposit_apps_pkey PRIMARY KEY (id)
constraint deposit_apps_seal_check CHECK ((jsonb_typeof(seal) = 'object'::text))
constraint deposit_apps_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text, 'DONE'::text, 'FAILED'::text])))
CREATE INDEX deposit_apps_destination ON deposit_apps USING btree (destination, id)
CREATE INDEX deposit_apps_owner ON deposit_apps USING btree (owner, id)
CREATE TRIGGER deposit_apps_facts BEFORE UPDATE ON deposit_apps FOR EACH ROW WHEN (((((((old.id IS DISTINCT FROM new.id) OR (old.account IS DISTINCT FROM new.account)) OR (old.destination IS DISTINCT FROM new.destination)) OR (old.asset IS DISTINCT FROM new.asset)) OR (old.owner IS DISTINCT FROM new.owner)) OR (new.seal IS DISTINCT FROM old.seal))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER deposit_apps_noted AFTER INSERT ON deposit_apps REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER deposit_apps_noted_change AFTER UPDATE OF id, account, destination, asset, seal, status, owner, deleted_at, created_at ON deposit_apps FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER deposit_apps_noted_end AFTER DELETE ON deposit_apps FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table deposit_list (
  id uuid
  account uuid
  beneficiary uuid
  address text
  asset text
  hash text
  index integer
  block bigint
  amount numeric
  confirmations integer
  status text
  transaction uuid
  address_data jsonb
  owner uuid
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone
)

table deposits (
  id uuid not null
  chain text not null
  network text not null
  hash text not null
  index integer not null
  account uuid not null
  beneficiary uuid
  address text not null
  asset text not null
  contract text
  amount numeric not null
  sender text
  block bigint
  block_hash text
  matures_at bigint
  confirmations integer not null default 0
  status text not null default 'PENDING'::text
  credited numeric
  transaction uuid
  sweep uuid
  app uuid
  address_data jsonb
  held text
  owner uuid
  error jsonb
  tries integer not null default 0
  retry_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint deposits_amount_check CHECK ((amount > (0)::numeric))
constraint deposits_backed TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint deposits_brought CHECK ((credited <= amount))
constraint deposits_confirmations_check CHECK ((confirmations >= 0))
constraint deposits_credited CHECK (((status = 'CONFIRMED'::text) = (credited IS NOT NULL)))
constraint deposits_credited_check CHECK ((credited > (0)::numeric))
constraint deposits_finite CHECK ((amount < 'Infinity'::numeric))
constraint deposits_held CHECK (((held IS NULL) OR (status <> 'CONFIRMED'::text)))
constraint deposits_pkey PRIMARY KEY (id)
constraint deposits_posted CHECK (((status = 'CONFIRMED'::text) = (transaction IS NOT NULL)))
constraint deposits_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'CONFIRMED'::text, 'ORPHANED'::text])))
constraint deposits_taken_back TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint deposits_tries_check CHECK ((tries >= 0))
CREATE INDEX deposits_account ON deposits USING btree (account, id)
CREATE INDEX deposits_address ON deposits USING btree (address, chain, network, block)
CREATE INDEX deposits_block ON deposits USING btree (chain, network, block)
CREATE INDEX deposits_denied ON deposits USING btree (chain, network, retry_at) WHERE ((status = 'ORPHANED'::text) AND (retry_at IS NOT NULL))
CREATE INDEX deposits_detached ON deposits USING btree (chain, network, id) WHERE ((block IS NULL) AND (status = 'PENDING'::text))
CREATE INDEX deposits_error ON deposits USING btree (id) WHERE (
CASE
    WHEN (held IS NULL) THEN error
    ELSE '{"code": "chain.quarantined"}'::jsonb
END IS NOT NULL)
CREATE INDEX deposits_open ON deposits USING btree (chain, network, block) WHERE (status = 'PENDING'::text)
CREATE INDEX deposits_open_assets ON deposits USING btree (chain, network, asset) WHERE (status = 'PENDING'::text)
CREATE INDEX deposits_owner ON deposits USING btree (owner, id)
CREATE INDEX deposits_served ON deposits USING btree (beneficiary, id) WHERE (beneficiary IS NOT NULL)
CREATE UNIQUE INDEX deposits_source ON deposits USING btree (hash, index, chain, network, (
CASE
    WHEN (index = '-2'::integer) THEN address
    ELSE ''::text
END))
CREATE INDEX deposits_sweep ON deposits USING btree (sweep) WHERE (sweep IS NOT NULL)
CREATE UNIQUE INDEX deposits_transaction ON deposits USING btree (transaction) WHERE (transaction IS NOT NULL)
CREATE INDEX deposits_unswept ON deposits USING btree (account) WHERE ((status = 'CONFIRMED'::text) AND (sweep IS NULL))
CREATE INDEX deposits_waiting ON deposits USING btree (account) WHERE (status = 'PENDING'::text)
CREATE CONSTRAINT TRIGGER deposits_backed AFTER UPDATE ON deposits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.status = 'CONFIRMED'::text) AND (new.transaction IS DISTINCT FROM old.transaction))) EXECUTE FUNCTION check_credited()
CREATE TRIGGER deposits_begin BEFORE INSERT ON deposits FOR EACH ROW WHEN ((new.status = 'CONFIRMED'::text)) EXECUTE FUNCTION check_deposit()
CREATE TRIGGER deposits_beneficiary BEFORE INSERT OR UPDATE OF account, address, beneficiary ON deposits FOR EACH ROW EXECUTE FUNCTION name_beneficiary()
CREATE TRIGGER deposits_booked BEFORE UPDATE ON deposits FOR EACH ROW WHEN (((old.status = 'CONFIRMED'::text) OR (new.status = 'CONFIRMED'::text) OR ((((((((old.chain IS DISTINCT FROM new.chain) OR (old.network IS DISTINCT FROM new.network)) OR (old.hash IS DISTINCT FROM new.hash)) OR (old.index IS DISTINCT FROM new.index)) OR (old.address IS DISTINCT FROM new.address)) OR (old.asset IS DISTINCT FROM new.asset)) OR (old.amount IS DISTINCT FROM new.amount)) OR (old.contract IS DISTINCT FROM new.contract)))) EXECUTE FUNCTION check_deposit()
CREATE TRIGGER deposits_count_deleted_rows AFTER DELETE ON deposits FOR EACH ROW EXECUTE FUNCTION count_moved_rows()
CREATE TRIGGER deposits_count_moved_rows AFTER UPDATE OF owner ON deposits FOR EACH ROW WHEN ((old.owner IS DISTINCT FROM new.owner)) EXECUTE FUNCTION count_moved_rows()
CREATE TRIGGER deposits_count_new_rows AFTER INSERT ON deposits REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER deposits_linked BEFORE INSERT OR UPDATE OF account, address ON deposits FOR EACH ROW EXECUTE FUNCTION refuse_linked_deposit()
CREATE TRIGGER deposits_linked_booked BEFORE UPDATE OF status ON deposits FOR EACH ROW WHEN (((new.status = 'CONFIRMED'::text) AND (old.status <> 'CONFIRMED'::text))) EXECUTE FUNCTION refuse_linked_deposit()
CREATE TRIGGER deposits_stay BEFORE DELETE ON deposits FOR EACH ROW WHEN ((old.status = 'CONFIRMED'::text)) EXECUTE FUNCTION check_deposit()
CREATE CONSTRAINT TRIGGER deposits_taken_back AFTER UPDATE ON deposits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.status = 'CONFIRMED'::text) AND (new.transaction IS DISTINCT FROM old.transaction))) EXECUTE FUNCTION check_taken_back()
CREATE TRIGGER deposits_used AFTER UPDATE OF status ON deposits FOR EACH ROW WHEN (((new.status = 'CONFIRMED'::text) AND (old.status <> 'CONFIRMED'::text))) EXECUTE FUNCTION note_used()

table displaced_orders (
  hash text not null
  order_id uuid not null
  chain text not null
  network text not null
  ramp uuid not null
  done boolean not null
  state text not null
  by_hash text
  since integer not null
  lost_height integer not null
  seen_hash text
  seen_height integer
  told text
  told_at timestamp with time zone
  detail text
  announced boolean not null default false
  asked_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint displaced_orders_announced CHECK (((NOT announced) OR (told_at IS NOT NULL)))
constraint displaced_orders_detail CHECK (((told_at IS NULL) = (detail IS NULL)))
constraint displaced_orders_lost_height_check CHECK ((lost_height >= 0))
constraint displaced_orders_order_id_fkey FOREIGN KEY (order_id) REFERENCES chain_orders(id)
constraint displaced_orders_pkey PRIMARY KEY (hash)
constraint displaced_orders_seen CHECK (((seen_hash IS NULL) = (seen_height IS NULL)))
constraint displaced_orders_seen_height_check CHECK ((seen_height >= 0))
constraint displaced_orders_since_check CHECK ((since >= 0))
constraint displaced_orders_state_check CHECK ((state = ANY (ARRAY['lost'::text, 'replaced'::text, 'displaced'::text, 'succeeded'::text, 'returned'::text])))
constraint displaced_orders_told CHECK (((state <> ALL (ARRAY['displaced'::text, 'succeeded'::text])) OR (NOT (told IS DISTINCT FROM state))))
constraint displaced_orders_told_at CHECK (((told IS NULL) = (told_at IS NULL)))
constraint displaced_orders_told_check CHECK ((told = ANY (ARRAY['displaced'::text, 'succeeded'::text, 'returned'::text])))
CREATE INDEX displaced_orders_due ON displaced_orders USING btree (chain, network, asked_at NULLS FIRST, ((seen_hash IS NOT NULL)), COALESCE(seen_height, lost_height), hash) WHERE ((state = ANY (ARRAY['lost'::text, 'replaced'::text, 'displaced'::text])) AND ((seen_height IS NOT NULL) OR ((state = 'lost'::text) AND (done OR (told = 'succeeded'::text)))))
CREATE INDEX displaced_orders_order ON displaced_orders USING btree (order_id)
CREATE INDEX displaced_orders_ramp ON displaced_orders USING btree (ramp)
CREATE INDEX displaced_orders_seen ON displaced_orders USING btree (chain, network, seen_height) WHERE (seen_height IS NOT NULL)
CREATE INDEX displaced_orders_state ON displaced_orders USING btree (chain, network, state)
CREATE TRIGGER displaced_orders_change BEFORE INSERT OR UPDATE ON displaced_orders FOR EACH ROW EXECUTE FUNCTION check_displaced()
CREATE TRIGGER displaced_orders_stay BEFORE DELETE OR TRUNCATE ON displaced_orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table entries (
  account uuid not null
  seq bigint not null
  transaction uuid not null
  amount numeric not null
  balance numeric not null
  blocked numeric
  linked numeric
)
partition by RANGE (transaction)
constraint entries_amount_check CHECK ((amount <> '0'::numeric))
constraint entries_blocked_check CHECK ((blocked >= '0'::numeric))
constraint entries_linked_check CHECK ((linked > '0'::numeric))
constraint entries_seq_check CHECK ((seq > 0))
CREATE TRIGGER entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table entries_newest (
  account uuid not null
  seq bigint not null
  transaction uuid not null
  amount numeric not null
  balance numeric not null
  blocked numeric
  linked numeric
)
partition FOR VALUES FROM (MINVALUE) TO (MAXVALUE)
constraint entries_amount_check CHECK ((amount <> '0'::numeric))
constraint entries_blocked_check CHECK ((blocked >= '0'::numeric))
constraint entries_linked_check CHECK ((linked > '0'::numeric))
constraint entries_newest_pkey PRIMARY KEY (account, seq)
constraint entries_seq_check CHECK ((seq > 0))
CREATE TRIGGER entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON entries_newest FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table event_head (
  one boolean not null default true
  last uuid not null
  forgotten uuid not null default '00000000-0000-7000-8000-000000000000'::uuid
)
constraint event_head_one_check CHECK (one)
constraint event_head_pkey PRIMARY KEY (one)

table event_listeners (
  type text not null
  until timestamp with time zone not null
)
constraint event_listeners_pkey PRIMARY KEY (type)

table events (
  position bigint not null generated as identity
  id uuid
  type text not null
  entity uuid not null
  owner uuid
  others uuid[]
  payload json not null
  created_at timestamp with time zone not null
)
constraint events_id_key UNIQUE (id)
constraint events_others_check CHECK (((cardinality(others) >= 1) AND (cardinality(others) <= 10)))
constraint events_payload_check CHECK ((octet_length((payload)::text) <= 20480))
constraint events_pkey PRIMARY KEY ("position")
constraint events_type_check CHECK (((length(type) >= 1) AND (length(type) <= 60)))
CREATE INDEX events_of_messages ON events USING btree (entity) WHERE (type = 'message.updated'::text)
CREATE INDEX events_unpublished ON events USING btree ("position") WHERE (id IS NULL)
CREATE TRIGGER events_stay BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION keep_event()

table exchange_keys (
  id uuid not null
  public_key bytea not null
  created_at timestamp with time zone not null
)
constraint exchange_keys_id_fkey FOREIGN KEY (id) REFERENCES secrets(id)
constraint exchange_keys_pkey PRIMARY KEY (id)
constraint exchange_keys_public_key_check CHECK ((octet_length(public_key) = 32))

table external_addresses (
  id uuid not null
  account uuid not null
  chain text not null
  network text not null
  address text not null
  currency text not null
  since bigint not null
  owner uuid
  root uuid
  paused_at timestamp with time zone
  deleted_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint external_addresses_pkey PRIMARY KEY (id)
CREATE INDEX external_addresses_account ON external_addresses USING btree (account, id)
CREATE UNIQUE INDEX external_addresses_address ON external_addresses USING btree (chain, network, address) WHERE (deleted_at IS NULL)
CREATE INDEX external_addresses_owner ON external_addresses USING btree (owner) WHERE (deleted_at IS NULL)
CREATE INDEX external_addresses_root ON external_addresses USING btree (root) WHERE ((deleted_at IS NULL) AND (root IS NOT NULL))
CREATE INDEX external_addresses_text ON external_addresses USING btree (address) WHERE (deleted_at IS NULL)
CREATE TRIGGER external_addresses_facts BEFORE UPDATE ON external_addresses FOR EACH ROW WHEN (((((((old.id IS DISTINCT FROM new.id) OR (old.account IS DISTINCT FROM new.account)) OR (old.chain IS DISTINCT FROM new.chain)) OR (old.network IS DISTINCT FROM new.network)) OR (old.address IS DISTINCT FROM new.address)) OR (old.since IS DISTINCT FROM new.since))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER external_addresses_noted AFTER INSERT ON external_addresses REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER external_addresses_noted_change AFTER UPDATE OF id, account, chain, network, address, currency, since, owner, paused_at, deleted_at, created_at ON external_addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER external_addresses_noted_end AFTER DELETE ON external_addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER external_addresses_own BEFORE INSERT OR UPDATE OF account, chain, network, address, deleted_at ON external_addresses FOR EACH ROW WHEN ((new.deleted_at IS NULL)) EXECUTE FUNCTION refuse_own_link()
CREATE TRIGGER external_addresses_root BEFORE INSERT OR UPDATE OF owner, root ON external_addresses FOR EACH ROW EXECUTE FUNCTION keep_link_root()

table external_ramps (
  id uuid not null
  ramp text not null
  identity uuid not null
  key uuid not null
  credentials bytea not null
  credentials_at timestamp with time zone not null
  hint text not null
  status text not null default 'PENDING'::text
  assets jsonb not null default '[]'::jsonb
  failures integer not null default 0
  checked_at timestamp with time zone
  check_at timestamp with time zone not null default now()
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint external_ramps_assets_check CHECK ((jsonb_typeof(assets) = 'array'::text))
constraint external_ramps_checked CHECK (((status = 'PENDING'::text) OR (checked_at IS NOT NULL)))
constraint external_ramps_credentials_check CHECK (((octet_length(credentials) >= 61) AND (octet_length(credentials) <= 8192)))
constraint external_ramps_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint external_ramps_failures CHECK ((failures >= 0))
constraint external_ramps_hint_check CHECK (((length(hint) >= 1) AND (length(hint) <= 5)))
constraint external_ramps_identity_fkey FOREIGN KEY (identity) REFERENCES identities(id)
constraint external_ramps_key_fkey FOREIGN KEY (key) REFERENCES exchange_keys(id)
constraint external_ramps_pkey PRIMARY KEY (id)
constraint external_ramps_ramp_check CHECK ((ramp ~ '^[a-z0-9_]{1,40}$'::text))
constraint external_ramps_refused CHECK (((status <> 'REFUSED'::text) OR (error IS NOT NULL)))
constraint external_ramps_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'READY'::text, 'REFUSED'::text])))
CREATE INDEX external_ramps_due ON external_ramps USING btree (check_at, id) WHERE (deleted_at IS NULL)
CREATE INDEX external_ramps_owner ON external_ramps USING btree (owner, id)
CREATE INDEX external_ramps_turns ON external_ramps USING btree (md5((owner)::text), check_at, id) WHERE (deleted_at IS NULL)
CREATE TRIGGER external_ramps_noted AFTER INSERT ON external_ramps REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER external_ramps_noted_change AFTER UPDATE OF id, ramp, identity, key, credentials, credentials_at, owner, deleted_at, created_at ON external_ramps FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER external_ramps_noted_end AFTER DELETE ON external_ramps FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table fee_quotes (
  chain text not null
  network text not null
  contract text not null default ''::text
  speed text not null
  fee_contract text
  base numeric(78,0) not null
  per_input numeric(78,0) not null
  per_payment numeric(78,0) not null
  least numeric(78,0) not null
  quoted_at timestamp with time zone not null
)
constraint fee_quotes_amounts CHECK (((LEAST(base, per_input, per_payment, "least") >= (0)::numeric) AND (GREATEST(base, per_input, per_payment, "least") < 'Infinity'::numeric)))
constraint fee_quotes_pkey PRIMARY KEY (chain, network, contract, speed)
constraint fee_quotes_speed_check CHECK ((speed = ANY (ARRAY['slow'::text, 'medium'::text, 'fast'::text])))

table fungible_tokens (
  id uuid not null
  account uuid not null
  chain text not null
  network text not null
  name text
  symbol text not null
  supply numeric not null
  decimals smallint not null
  currency uuid
  contract text
  status text not null default 'pending'::text
  hash text
  fee numeric
  order_id uuid
  external boolean not null
  since bigint
  freeze_authority text
  issuer_rights jsonb
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint fungible_tokens_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint fungible_tokens_decimals_check CHECK (((decimals >= 0) AND (decimals <= 30)))
constraint fungible_tokens_deployed CHECK (((status <> 'deployed'::text) OR (contract IS NOT NULL)))
constraint fungible_tokens_fee_check CHECK (((fee >= (0)::numeric) AND (fee < 'Infinity'::numeric)))
constraint fungible_tokens_issuer_rights_check CHECK ((jsonb_typeof(issuer_rights) = 'object'::text))
constraint fungible_tokens_pkey PRIMARY KEY (id)
constraint fungible_tokens_registered CHECK (((status <> 'registered'::text) OR ((contract IS NOT NULL) AND (currency IS NOT NULL))))
constraint fungible_tokens_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'deployed'::text, 'registered'::text, 'failed'::text])))
constraint fungible_tokens_supply_check CHECK (((supply >= (0)::numeric) AND (supply < 'Infinity'::numeric)))
CREATE UNIQUE INDEX fungible_tokens_contract ON fungible_tokens USING btree (chain, network, contract) WHERE ((contract IS NOT NULL) AND (status <> 'failed'::text))
CREATE INDEX fungible_tokens_currency ON fungible_tokens USING btree (currency) WHERE (currency IS NOT NULL)
CREATE INDEX fungible_tokens_likeness_i ON fungible_tokens USING btree (name_likeness(symbol, 'I'::text)) WHERE ((NOT external) AND (status = ANY (ARRAY['pending'::text, 'deployed'::text])))
CREATE INDEX fungible_tokens_likeness_l ON fungible_tokens USING btree (name_likeness(symbol, 'L'::text)) WHERE ((NOT external) AND (status = ANY (ARRAY['pending'::text, 'deployed'::text])))
CREATE INDEX fungible_tokens_order ON fungible_tokens USING btree (order_id) WHERE (order_id IS NOT NULL)
CREATE INDEX fungible_tokens_owner ON fungible_tokens USING btree (owner, id)
CREATE UNIQUE INDEX fungible_tokens_symbol ON fungible_tokens USING btree (symbol) WHERE (status <> 'failed'::text)
CREATE TRIGGER fungible_tokens_backing AFTER INSERT OR UPDATE OF supply, currency, status ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION check_token_supply()
CREATE TRIGGER fungible_tokens_begin BEFORE INSERT ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION check_token_new()
CREATE TRIGGER fungible_tokens_differ BEFORE INSERT ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION tokens_differ()
CREATE TRIGGER fungible_tokens_kept BEFORE UPDATE ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION check_token_kept()
CREATE TRIGGER fungible_tokens_noted AFTER INSERT ON fungible_tokens REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER fungible_tokens_noted_change AFTER UPDATE OF id, account, chain, network, name, symbol, supply, decimals, currency, contract, status, hash, fee, order_id, external, since, freeze_authority, issuer_rights, owner, deleted_at, created_at ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER fungible_tokens_noted_end AFTER DELETE ON fungible_tokens FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table holder_losses (
  holder uuid not null
  asset text not null
  testnet boolean not null
  day date not null
  lost numeric not null
)
constraint holder_losses_lost_check CHECK (((lost > '-Infinity'::numeric) AND (lost < 'Infinity'::numeric)))
constraint holder_losses_pkey PRIMARY KEY (holder, asset, testnet, day)
CREATE TRIGGER holder_losses_kin AFTER INSERT OR UPDATE ON holder_losses FOR EACH ROW EXECUTE FUNCTION note_kin_loss()

table hourly_flows (
  testnet boolean not null
  hour timestamp with time zone not null
  asset text not null
  type text not null
  direction text not null
  currency text not null default ''::text
  count bigint not null
  amount numeric not null
  value numeric not null default 0
)
constraint hourly_flows_amount_check CHECK ((amount > (0)::numeric))
constraint hourly_flows_count_check CHECK ((count > 0))
constraint hourly_flows_direction CHECK ((direction = ANY (ARRAY['in'::text, 'out'::text, 'inside'::text])))
constraint hourly_flows_finite CHECK ((GREATEST(amount, value) < 'Infinity'::numeric))
constraint hourly_flows_hour CHECK ((mod(EXTRACT(epoch FROM hour), (3600)::numeric) = (0)::numeric))
constraint hourly_flows_pkey PRIMARY KEY (testnet, hour, asset, type, direction, currency)
constraint hourly_flows_value CHECK (((currency <> ''::text) OR (value = (0)::numeric)))
constraint hourly_flows_value_check CHECK ((value >= (0)::numeric))

table idempotency (
  key uuid not null
  fingerprint uuid not null
  status smallint
  body text
  transaction uuid
  profile text
  created_at timestamp with time zone not null default clock_timestamp()
)
constraint idempotency_pkey PRIMARY KEY (key)
CREATE INDEX idempotency_age ON idempotency USING brin (created_at)
CREATE INDEX idempotency_profile ON idempotency USING btree (profile) WHERE (profile IS NOT NULL)
CREATE TRIGGER idempotency_kept BEFORE UPDATE OF status, body ON idempotency FOR EACH ROW WHEN ((((old.status IS NOT NULL) OR ((old.transaction IS NOT NULL) AND (new.transaction IS NOT NULL))) AND ((old.profile IS NULL) OR (new.profile IS NOT NULL) OR (new.status IS DISTINCT FROM 404)))) EXECUTE FUNCTION keep_kept()
CREATE TRIGGER idempotency_stays BEFORE DELETE ON idempotency FOR EACH ROW WHEN ((old.created_at > (now() - '6 days'::interval))) EXECUTE FUNCTION keep_kept()

table idempotency_earlier (
  key uuid not null
  fingerprint uuid not null
  status smallint
  body text
  transaction uuid
  profile text
  created_at timestamp with time zone not null default clock_timestamp()
)
constraint idempotency_earlier_pkey PRIMARY KEY (key)
CREATE INDEX idempotency_earlier_age ON idempotency_earlier USING brin (created_at)
CREATE INDEX idempotency_earlier_profile ON idempotency_earlier USING btree (profile) WHERE (profile IS NOT NULL)
CREATE TRIGGER idempotency_earlier_kept BEFORE UPDATE OF status, body ON idempotency_earlier FOR EACH ROW WHEN ((((old.status IS NOT NULL) OR ((old.transaction IS NOT NULL) AND (new.transaction IS NOT NULL))) AND ((old.profile IS NULL) OR (new.profile IS NOT NULL) OR (new.status IS DISTINCT FROM 404)))) EXECUTE FUNCTION keep_kept()
CREATE TRIGGER idempotency_earlier_stays BEFORE DELETE ON idempotency_earlier FOR EACH ROW WHEN ((old.created_at > (now() - '6 days'::interval))) EXECUTE FUNCTION keep_kept()

table identities (
  id uuid not null
  type text not null default 'neutral'::text
  country text not null
  currency text not null
  person text
  company bigint
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint identities_country_check CHECK ((country ~ '^[A-Z]{2}$'::text))
constraint identities_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint identities_pkey PRIMARY KEY (id)
constraint identities_type_check CHECK ((type = ANY (ARRAY['neutral'::text, 'person'::text, 'company'::text])))
CREATE INDEX identities_company ON identities USING btree (company) WHERE (company IS NOT NULL)
CREATE INDEX identities_deleted ON identities USING btree (owner, id) WHERE (deleted_at IS NOT NULL)
CREATE INDEX identities_name ON identities USING btree (lower("left"((data ->> 'name'::text), 200)) text_pattern_ops) WHERE ((deleted_at IS NULL) AND ((data ->> 'name'::text) IS NOT NULL))
CREATE INDEX identities_own_name ON identities USING btree (owner, lower("left"((data ->> 'name'::text), 200)) text_pattern_ops) WHERE ((deleted_at IS NULL) AND ((data ->> 'name'::text) IS NOT NULL))
CREATE INDEX identities_owner ON identities USING btree (owner, id)
CREATE UNIQUE INDEX identities_person ON identities USING btree (person) WHERE (person IS NOT NULL)
CREATE TRIGGER identities_count_changed_rows AFTER UPDATE OF deleted_at ON identities FOR EACH ROW WHEN (((old.deleted_at IS NULL) <> (new.deleted_at IS NULL))) EXECUTE FUNCTION count_changed_rows()
CREATE TRIGGER identities_count_new_rows AFTER INSERT ON identities REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER identities_noted AFTER INSERT ON identities REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER identities_noted_change AFTER UPDATE OF id, type, country, currency, owner, deleted_at, created_at ON identities FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER identities_noted_end AFTER DELETE ON identities FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table incidents (
  kind text not null
  subject text not null
  since timestamp with time zone not null
)
constraint incidents_kind_check CHECK ((kind = ANY (ARRAY['chain.lagging'::text, 'withdrawal.stuck'::text])))
constraint incidents_pkey PRIMARY KEY (kind, subject)

table jobs (
  id uuid not null
  name text not null
  payload jsonb not null
  state text not null default 'ready'::text
  serial_key text
  dedupe text
  share text
  attempts integer not null default 0
  attempts_max integer not null default 12
  run_at timestamp with time zone not null default now()
  locked_until timestamp with time zone
  last_error text
  traceparent text
  discarded_by uuid
  discard_reason text
  finished_at timestamp with time zone
  created_at timestamp with time zone not null default now()
)
constraint jobs_attempts_max_check CHECK ((attempts_max > 0))
constraint jobs_discard_reason_check CHECK (((length(discard_reason) >= 1) AND (length(discard_reason) <= 500)))
constraint jobs_discarded CHECK ((((state = 'discarded'::text) = (discard_reason IS NOT NULL)) AND ((discarded_by IS NULL) OR (discard_reason IS NOT NULL)) AND ((state <> 'discarded'::text) OR (name = ANY (ARRAY['exchange.check'::text, 'message.send'::text, 'persons.sync'::text])))))
constraint jobs_pkey PRIMARY KEY (id)
constraint jobs_share CHECK (((length(share) >= 1) AND (length(share) <= 100)))
constraint jobs_state_check CHECK ((state = ANY (ARRAY['ready'::text, 'running'::text, 'done'::text, 'dead'::text, 'discarded'::text])))
constraint jobs_traceparent_check CHECK ((traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$'::text))
CREATE INDEX jobs_dead ON jobs USING btree (id) WHERE (state = 'dead'::text)
CREATE INDEX jobs_dead_name ON jobs USING btree (name, id) WHERE (state = 'dead'::text)
CREATE UNIQUE INDEX jobs_dedupe ON jobs USING btree (name, dedupe) WHERE (state = ANY (ARRAY['ready'::text, 'running'::text]))
CREATE INDEX jobs_due ON jobs USING btree (run_at, id) WHERE (state = 'ready'::text)
CREATE INDEX jobs_due_at_exchanges ON jobs USING btree (run_at, id) WHERE ((state = 'ready'::text) AND (name = ANY (ARRAY['exchange.advance'::text, 'exchange.check'::text])))
CREATE INDEX jobs_due_by_name ON jobs USING btree (name, run_at, id) WHERE (state = 'ready'::text)
CREATE UNIQUE INDEX jobs_exchange_account ON jobs USING btree (split_part(share, '/'::text, 2)) WHERE ((state = 'running'::text) AND (name = ANY (ARRAY['exchange.advance'::text, 'exchange.check'::text])))
CREATE INDEX jobs_exchange_turns ON jobs USING btree (md5(split_part(COALESCE(share, ''::text), '/'::text, 1)), COALESCE(share, ''::text), run_at, id) WHERE ((state = 'ready'::text) AND (name = ANY (ARRAY['exchange.advance'::text, 'exchange.check'::text])))
CREATE INDEX jobs_finished ON jobs USING btree (state, finished_at) WHERE (state = ANY (ARRAY['done'::text, 'dead'::text, 'discarded'::text]))
CREATE INDEX jobs_leased ON jobs USING btree (locked_until) WHERE (state = 'running'::text)
CREATE INDEX jobs_running_at_exchanges ON jobs USING btree (share) WHERE ((state = 'running'::text) AND (name = ANY (ARRAY['exchange.advance'::text, 'exchange.check'::text])))
CREATE UNIQUE INDEX jobs_serial_key ON jobs USING btree (serial_key) WHERE (state = 'running'::text)
CREATE INDEX jobs_waiting ON jobs USING btree (serial_key, id) WHERE ((state = 'ready'::text) AND (serial_key IS NOT NULL))

table kin_losses (
  root uuid not null
  asset text not null
  testnet boolean not null
  day date not null
  lost numeric not null
)
constraint kin_losses_lost_check CHECK (((lost > '-Infinity'::numeric) AND (lost < 'Infinity'::numeric)))
constraint kin_losses_pkey PRIMARY KEY (root, asset, testnet, day)

table leases (
  name text not null
  owner_process uuid not null
  until timestamp with time zone not null
  next_at timestamp with time zone not null
)
constraint leases_pkey PRIMARY KEY (name)

table ledger_commits (
  id bigint not null generated as identity
  transactions uuid[] not null
  events bigint[] not null default '{}'::bigint[]
)
constraint ledger_commits_pkey PRIMARY KEY (id)

table ledger_events (
  id bigint not null generated as identity
  kind text not null
  subject text not null
  facts jsonb
  noted_at timestamp with time zone not null default date_trunc('milliseconds'::text, clock_timestamp())
)
constraint ledger_events_facts_check CHECK ((jsonb_typeof(facts) = 'object'::text))
constraint ledger_events_pkey PRIMARY KEY (id)
CREATE INDEX ledger_events_subject ON ledger_events USING btree (kind, subject, id)
CREATE TRIGGER ledger_events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table ledger_facts (
  kind text
  subject text
  facts jsonb
)

table ledger_lock (
)

table login_attempts (
  subject text not null
  wrong timestamp with time zone[] not null default '{}'::timestamp with time zone[]
  pending timestamp with time zone[] not null default '{}'::timestamp with time zone[]
  state text not null default 'open'::text
  right_at timestamp with time zone
  updated_at timestamp with time zone not null default now()
)
constraint login_attempts_pkey PRIMARY KEY (subject)
constraint login_attempts_state_check CHECK ((state = ANY (ARRAY['open'::text, 'busy'::text, 'refused'::text])))
CREATE INDEX login_attempts_right ON login_attempts USING btree (right_at) WHERE (right_at IS NOT NULL)
CREATE INDEX login_attempts_updated ON login_attempts USING btree (updated_at) WHERE (right_at IS NULL)

table logins (
  id uuid not null
  user_id uuid not null
  method text not null
  address text
  agent text
  last_used_at timestamp with time zone
  expires_at timestamp with time zone not null
  ended_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint logins_agent_check CHECK (((length(agent) >= 1) AND (length(agent) <= 100)))
constraint logins_check CHECK ((created_at < expires_at))
constraint logins_method_check CHECK ((method = ANY (ARRAY['password'::text, 'totp'::text, 'recovery_code'::text])))
constraint logins_pkey PRIMARY KEY (id)
constraint logins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
CREATE INDEX logins_expires ON logins USING btree (expires_at)
CREATE INDEX logins_user ON logins USING btree (user_id, created_at) WHERE (ended_at IS NULL)

table messages (
  id uuid not null
  channel text not null
  destination text
  user_id uuid
  identity uuid
  person text
  content bytea
  attempt smallint not null default 1
  waiting boolean not null default false
  refused_at timestamp with time zone
  refusals smallint not null default 0
  provider text
  group_id smallint not null
  group_name text not null
  status_id integer not null
  status_name text not null
  status_description text not null
  sent_at timestamp with time zone
  data jsonb not null default '{}'::jsonb
  owner uuid
  notice text
  customer uuid
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint messages_attempt_check CHECK (((attempt >= 1) AND (attempt <= 100)))
constraint messages_channel_check CHECK ((channel = ANY (ARRAY['sms'::text, 'whatsapp'::text, 'email'::text])))
constraint messages_content CHECK (((content IS NULL) OR ((sent_at IS NULL) AND (message_rank(group_id, status_id) = 0))))
constraint messages_content_check CHECK (((octet_length(content) >= 1) AND (octet_length(content) <= 400000)))
constraint messages_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint messages_destination CHECK (
CASE channel
    WHEN 'email'::text THEN ((length(destination) <= 254) AND (destination ~ '^[^[:cntrl:][:space:]@<>,;:"]+@[^[:cntrl:][:space:]@<>,;:"]+$'::text))
    ELSE (destination ~ '^\+[1-9][0-9]{4,14}$'::text)
END)
constraint messages_group_id_check CHECK (((group_id >= 0) AND (group_id <= 5)))
constraint messages_group_name_check CHECK (((length(group_name) >= 1) AND (length(group_name) <= 100)))
constraint messages_identity_fkey FOREIGN KEY (identity) REFERENCES identities(id)
constraint messages_notice_check CHECK ((notice = ANY (ARRAY['address'::text, 'security'::text, 'codes'::text, 'webhook'::text, 'disabled'::text, 'sync'::text])))
constraint messages_person CHECK (((identity IS NULL) = (person IS NULL)))
constraint messages_pkey PRIMARY KEY (id)
constraint messages_provider_check CHECK ((provider = ANY (ARRAY['infobip'::text, 'smtp'::text])))
constraint messages_recipient CHECK (((user_id IS NULL) OR (identity IS NULL)))
constraint messages_refusals_check CHECK (((refusals >= 0) AND (refusals <= 1000)))
constraint messages_sent CHECK (((sent_at IS NULL) OR (provider IS NOT NULL)))
constraint messages_status_description_check CHECK ((length(status_description) <= 500))
constraint messages_status_id_check CHECK ((status_id >= 0))
constraint messages_status_name_check CHECK (((length(status_name) >= 1) AND (length(status_name) <= 100)))
constraint messages_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
constraint messages_waiting CHECK (((NOT waiting) OR ((sent_at IS NULL) AND (message_rank(group_id, status_id) = 0))))
CREATE INDEX messages_customer ON messages USING btree (customer, created_at) WHERE ((customer IS NOT NULL) AND (notice IS NULL))
CREATE INDEX messages_identity ON messages USING btree (identity) WHERE (identity IS NOT NULL)
CREATE INDEX messages_owner ON messages USING btree (owner, id)
CREATE INDEX messages_person ON messages USING btree (person, id) WHERE (person IS NOT NULL)
CREATE INDEX messages_recent ON messages USING btree (lower(destination), created_at)
CREATE INDEX messages_unsent ON messages USING btree (id) WHERE waiting
CREATE INDEX messages_user ON messages USING btree (user_id) WHERE (user_id IS NOT NULL)
CREATE TRIGGER messages_forward BEFORE UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION messages_forward()
CREATE TRIGGER messages_pace BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION messages_pace()

table migrations (
  number integer not null
  name text not null
  checksum text not null
  applied_at timestamp with time zone not null default now()
)
constraint migrations_pkey PRIMARY KEY (number)

table nonces (
  chain text not null
  network text not null
  address text not null
  next integer not null
  floor integer not null default 0
)
constraint nonces_floor_check CHECK ((floor >= 0))
constraint nonces_next_check CHECK ((next >= 0))
constraint nonces_pkey PRIMARY KEY (chain, network, address)
constraint nonces_raised CHECK ((floor <= next))
CREATE TRIGGER nonces_step BEFORE INSERT OR UPDATE ON nonces FOR EACH ROW EXECUTE FUNCTION check_nonce()

table notes (
  id uuid not null
  collection text not null
  entity uuid not null
  identity uuid
  person text
  kind text not null
  text text
  owner uuid not null
  erased_at timestamp with time zone
  forgotten_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint notes_collection_check CHECK ((collection = ANY (ARRAY['accounts'::text, 'deposits'::text, 'identities'::text, 'transactions'::text, 'users'::text, 'withdrawals'::text])))
constraint notes_erased CHECK (((text IS NULL) = (erased_at IS NOT NULL)))
constraint notes_forgotten CHECK (((forgotten_at IS NULL) OR (person IS NOT NULL)))
constraint notes_kind_check CHECK ((kind ~ '^[a-z][a-z0-9_.-]{0,39}$'::text))
constraint notes_owner_fkey FOREIGN KEY (owner) REFERENCES users(id)
constraint notes_pkey PRIMARY KEY (id)
constraint notes_text_check CHECK (((length(text) >= 1) AND (length(text) <= 2000)))
CREATE INDEX notes_entity ON notes USING btree (entity, id)
CREATE INDEX notes_identity ON notes USING btree (identity) WHERE (person IS NULL)
CREATE INDEX notes_left ON notes USING btree (identity) WHERE ((forgotten_at IS NOT NULL) AND (erased_at IS NULL))
CREATE INDEX notes_person ON notes USING btree (person) WHERE (person IS NOT NULL)
CREATE TRIGGER notes_append_only BEFORE DELETE OR TRUNCATE ON notes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE TRIGGER notes_stay BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION notes_stay()

table onchain_balances (
  chain text not null
  network text not null
  address text not null
  contract text not null default ''::text
  amount numeric(78,0) not null default 0
  height bigint not null
  nonce bigint
  seen_at timestamp with time zone not null
)
constraint onchain_balances_amount_check CHECK (((amount >= (0)::numeric) AND (amount < 'Infinity'::numeric)))
constraint onchain_balances_nonce_check CHECK ((nonce >= 0))
constraint onchain_balances_pkey PRIMARY KEY (chain, network, address, contract)
CREATE TRIGGER onchain_balances_served BEFORE INSERT ON onchain_balances FOR EACH ROW EXECUTE FUNCTION check_served_chain()

table opening_balances (
  account uuid
  bound uuid
  seq bigint
  balance numeric
  linked numeric
)

table order_attempts (
  order_id uuid not null
  attempt integer not null
  plan text not null
  inputs text[] not null
  hash text
  raw text
  expires jsonb
  fee numeric(78,0)
  sent_at timestamp with time zone
  outcome text
  cancels boolean not null default false
  borne_by text not null default 'sender'::text
  unreadable boolean not null default false
  dropped boolean not null default false
  proof text
  proof_by text
  proof_height integer
  proof_reached bigint
  seen_height integer
  told_height integer
  late boolean not null default false
  late_order_id uuid
  created_at timestamp with time zone not null
)
constraint order_attempts_attempt_check CHECK ((attempt > 0))
constraint order_attempts_borne CHECK (((borne_by = 'sender'::text) OR cancels))
constraint order_attempts_borne_by_check CHECK ((borne_by = ANY (ARRAY['sender'::text, 'house'::text])))
constraint order_attempts_bounded CHECK (((raw IS NULL) OR (cardinality(inputs) > 0) OR (expires IS NOT NULL) OR (plan = '{}'::text)))
constraint order_attempts_dropped CHECK ((dropped = (proof IS NOT NULL)))
constraint order_attempts_expires CHECK (((expires IS NULL) OR ((((expires ->> 'height'::text))::bigint IS NULL) <> (((expires ->> 'time'::text))::bigint IS NULL))))
constraint order_attempts_fee_check CHECK (((fee >= (0)::numeric) AND (fee < 'Infinity'::numeric)))
constraint order_attempts_late CHECK (((NOT late) OR (seen_height IS NOT NULL) OR (late_order_id IS NOT NULL)))
constraint order_attempts_late_order CHECK (((late_order_id IS NULL) OR (late AND (late_order_id <> order_id))))
constraint order_attempts_late_order_id_fkey FOREIGN KEY (late_order_id) REFERENCES chain_orders(id)
constraint order_attempts_order_id_fkey FOREIGN KEY (order_id) REFERENCES chain_orders(id)
constraint order_attempts_pkey PRIMARY KEY (order_id, attempt)
constraint order_attempts_proof CHECK ((((proof = 'consumed'::text) IS NOT TRUE) OR ((proof_height IS NOT NULL) AND (proof_by IS DISTINCT FROM hash))))
constraint order_attempts_proof_check CHECK ((proof = ANY (ARRAY['consumed'::text, 'expired'::text, 'orphaned'::text, 'unsigned'::text])))
constraint order_attempts_proof_height_check CHECK ((proof_height >= 0))
constraint order_attempts_proof_reached_check CHECK ((proof_reached >= 0))
constraint order_attempts_reached CHECK (((proof_reached IS NULL) OR (NOT (proof IS DISTINCT FROM 'expired'::text))))
constraint order_attempts_seen CHECK ((seen_height >= 0))
constraint order_attempts_sent CHECK (((sent_at IS NULL) OR (raw IS NOT NULL)))
constraint order_attempts_signed CHECK (((hash IS NULL) = (raw IS NULL)))
constraint order_attempts_told_height_check CHECK ((told_height >= 0))
constraint order_attempts_unreadable CHECK (((NOT unreadable) OR (plan = '{}'::text)))
CREATE INDEX order_attempts_cancels ON order_attempts USING btree (created_at) WHERE cancels
CREATE INDEX order_attempts_consumed ON order_attempts USING btree (created_at) WHERE (proof = 'consumed'::text)
CREATE UNIQUE INDEX order_attempts_hash ON order_attempts USING btree (hash) WHERE (hash IS NOT NULL)
CREATE INDEX order_attempts_late ON order_attempts USING btree (order_id) WHERE (late AND (late_order_id IS NULL))
CREATE UNIQUE INDEX order_attempts_late_order ON order_attempts USING btree (late_order_id) WHERE (late_order_id IS NOT NULL)
CREATE INDEX order_attempts_orphaned ON order_attempts USING btree (order_id) WHERE (proof = 'orphaned'::text)
CREATE INDEX order_attempts_told ON order_attempts USING btree (order_id) WHERE ((told_height IS NOT NULL) AND (seen_height IS NULL))
CREATE TRIGGER order_attempts_change BEFORE INSERT OR UPDATE OF order_id, attempt, plan, inputs, hash, raw, expires, fee, sent_at, outcome, cancels, borne_by, unreadable, dropped, proof, proof_by, proof_height, proof_reached, late_order_id, created_at ON order_attempts FOR EACH ROW EXECUTE FUNCTION check_attempt()
CREATE TRIGGER order_attempts_forgotten BEFORE UPDATE OF seen_height ON order_attempts FOR EACH ROW WHEN (((old.seen_height IS DISTINCT FROM new.seen_height) AND (old.seen_height IS NOT NULL))) EXECUTE FUNCTION check_forgotten()
CREATE TRIGGER order_attempts_given_up BEFORE UPDATE OF late ON order_attempts FOR EACH ROW WHEN ((old.late IS DISTINCT FROM new.late)) EXECUTE FUNCTION check_late()
CREATE TRIGGER order_attempts_quarantined BEFORE UPDATE OF raw ON order_attempts FOR EACH ROW WHEN (((old.raw IS NULL) AND (new.raw IS NOT NULL) AND (old.plan <> '{}'::text))) EXECUTE FUNCTION refuse_signature()
CREATE TRIGGER order_attempts_stay BEFORE DELETE OR TRUNCATE ON order_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table order_lock (
)

table order_transitions (
  before text not null
  after text not null
  demands text not null
)
constraint order_transitions_demands_check CHECK ((demands = ANY (ARRAY['plan'::text, 'batch'::text, 'unsigned'::text, 'unsent'::text, 'bytes'::text, 'leaving'::text, 'block'::text, 'no block'::text, 'paid'::text, 'in vain'::text, 'dropped'::text, 'found'::text])))
constraint order_transitions_pkey PRIMARY KEY (before, after)

table passed_addresses (
  chain text not null
  network text not null
  address text not null
  ramp uuid not null
  derivation_key integer not null
  created_at timestamp with time zone not null
)
constraint passed_addresses_derivation_key_check CHECK ((derivation_key >= 0))
constraint passed_addresses_index UNIQUE (ramp, derivation_key)
constraint passed_addresses_pkey PRIMARY KEY (chain, network, address)
constraint passed_addresses_ramp_fkey FOREIGN KEY (ramp) REFERENCES ramps(account)

table person_contacts (
  channel text not null
  digest bytea not null
  person uuid not null
)
constraint person_contacts_channel_check CHECK ((channel = ANY (ARRAY['phone'::text, 'email'::text])))
constraint person_contacts_digest_check CHECK ((octet_length(digest) = 32))
constraint person_contacts_person_fkey FOREIGN KEY (person) REFERENCES persons(id) ON DELETE CASCADE
constraint person_contacts_pkey PRIMARY KEY (channel, digest)
CREATE INDEX person_contacts_person ON person_contacts USING btree (person)

table person_events (
  id uuid not null
  person uuid not null
  definition text not null
  properties bytea not null
  owner uuid not null
  created_at timestamp with time zone not null
)
constraint person_events_definition_check CHECK ((definition ~ '^[A-Za-z0-9_-]{1,100}$'::text))
constraint person_events_person_fkey FOREIGN KEY (person) REFERENCES persons(id) ON DELETE CASCADE
constraint person_events_pkey PRIMARY KEY (id)
constraint person_events_properties_check CHECK (((octet_length(properties) >= 29) AND (octet_length(properties) <= 200000)))
CREATE INDEX person_events_person ON person_events USING btree (person, id)

table person_syncs (
  id uuid not null
  parameters jsonb not null
  step smallint not null default 1
  cursor text
  read bigint not null default 0
  linked bigint not null default 0
  completed bigint not null default 0
  created bigint not null default 0
  state text not null default 'running'::text
  error jsonb
  owner uuid not null
  updated_at timestamp with time zone
  finished_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint person_syncs_counts CHECK ((LEAST(read, linked, completed, created) >= 0))
constraint person_syncs_error CHECK (((state = 'failed'::text) = (error IS NOT NULL)))
constraint person_syncs_finished CHECK (((state = 'running'::text) = (finished_at IS NULL)))
constraint person_syncs_owner_fkey FOREIGN KEY (owner) REFERENCES users(id)
constraint person_syncs_parameters_check CHECK ((jsonb_typeof(parameters) = 'object'::text))
constraint person_syncs_pkey PRIMARY KEY (id)
constraint person_syncs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text])))
constraint person_syncs_step_check CHECK (((step >= 1) AND (step <= 3)))
CREATE UNIQUE INDEX person_syncs_running ON person_syncs USING btree ((true)) WHERE (state = 'running'::text)
CREATE TRIGGER person_syncs_forward BEFORE UPDATE ON person_syncs FOR EACH ROW EXECUTE FUNCTION person_syncs_forward()

table persons (
  id uuid not null
  external_id uuid
  first_name text
  last_name text
  middle_name text
  city text
  country text
  gender text
  profile_picture text
  tags text[] not null default '{}'::text[]
  custom_attributes jsonb not null default '{}'::jsonb
  contact bytea not null
  origin text not null
  modified_from text not null
  owner uuid not null
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint persons_city_check CHECK (((length(city) >= 1) AND (length(city) <= 50)))
constraint persons_contact_check CHECK (((octet_length(contact) >= 29) AND (octet_length(contact) <= 160000)))
constraint persons_country_check CHECK (((length(country) >= 1) AND (length(country) <= 50)))
constraint persons_custom_attributes_check CHECK (((jsonb_typeof(custom_attributes) = 'object'::text) AND (pg_column_size(custom_attributes) <= 1048576)))
constraint persons_external_id_key UNIQUE (external_id)
constraint persons_first_name_check CHECK (((length(first_name) >= 1) AND (length(first_name) <= 255)))
constraint persons_gender_check CHECK ((gender = ANY (ARRAY['MALE'::text, 'FEMALE'::text])))
constraint persons_last_name_check CHECK (((length(last_name) >= 1) AND (length(last_name) <= 255)))
constraint persons_middle_name_check CHECK (((length(middle_name) >= 1) AND (length(middle_name) <= 50)))
constraint persons_modified_from_check CHECK (((length(modified_from) >= 1) AND (length(modified_from) <= 50)))
constraint persons_origin_check CHECK (((length(origin) >= 1) AND (length(origin) <= 50)))
constraint persons_pkey PRIMARY KEY (id)
constraint persons_profile_picture_check CHECK (((length(profile_picture) >= 1) AND (length(profile_picture) <= 2083)))
constraint persons_tags_check CHECK ((cardinality(tags) <= 100))
CREATE INDEX persons_owner ON persons USING btree (owner, id)

table profile_keys (
  one boolean not null default true
  wrapped bytea not null
  created_at timestamp with time zone not null
)
constraint profile_keys_one_check CHECK (one)
constraint profile_keys_pkey PRIMARY KEY (one)
constraint profile_keys_wrapped_check CHECK (((octet_length(wrapped) >= 32) AND (octet_length(wrapped) <= 200)))

table ramp_costs (
  ramp uuid not null
  day date not null
  contract text not null default ''::text
  cost numeric(78,0) not null default 0
  charged numeric(78,0) not null default 0
  held_at timestamp with time zone
)
constraint ramp_costs_charged_check CHECK ((charged >= (0)::numeric))
constraint ramp_costs_cost_check CHECK ((cost >= (0)::numeric))
constraint ramp_costs_finite CHECK ((GREATEST(cost, charged) < 'Infinity'::numeric))
constraint ramp_costs_pkey PRIMARY KEY (ramp, day, contract)

table ramp_transfer_transitions (
  kind text not null
  was text not null
  becomes text not null
)
constraint ramp_transfer_transitions_pkey PRIMARY KEY (kind, was, becomes)

table ramp_transfers (
  id uuid not null
  external_ramp uuid not null
  exchange text not null
  kind text not null
  account uuid not null
  asset text not null
  value numeric not null
  currency text not null
  exchange_network text not null
  offered_fee numeric
  chain text not null
  network text not null
  address text
  expected_address text
  paid_by text
  speed text
  max_fee numeric
  state text not null default 'new'::text
  block uuid
  asked_at timestamp with time zone
  reference text
  claimed text
  claims jsonb not null default '[]'::jsonb
  exchange_status text
  exchange_amount numeric
  exchange_fee numeric
  hash text
  deposit uuid
  withdrawal uuid
  doubtful boolean not null default false
  reason text
  tries integer not null default 0
  next_at timestamp with time zone not null default now()
  data jsonb not null default '{}'::jsonb
  owner uuid not null
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint ramp_transfers_account_fkey FOREIGN KEY (account) REFERENCES accounts(id)
constraint ramp_transfers_address CHECK (((kind = 'withdraw'::text) OR (address IS NOT NULL)))
constraint ramp_transfers_address_check CHECK (((length(address) >= 1) AND (length(address) <= 200)))
constraint ramp_transfers_asked CHECK (((kind <> 'deposit'::text) OR (state = ANY (ARRAY['new'::text, 'failed'::text])) OR (asked_at IS NOT NULL)))
constraint ramp_transfers_blocked CHECK (((kind = 'deposit'::text) OR (block IS NOT NULL)))
constraint ramp_transfers_claimed_check CHECK (((length(claimed) >= 1) AND (length(claimed) <= 200)))
constraint ramp_transfers_claims CHECK (((jsonb_typeof(claims) = 'array'::text) AND (jsonb_array_length(claims) <= 20)))
constraint ramp_transfers_currency_check CHECK (((length(currency) >= 1) AND (length(currency) <= 40)))
constraint ramp_transfers_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint ramp_transfers_deposit_fkey FOREIGN KEY (deposit) REFERENCES deposits(id)
constraint ramp_transfers_deposit_kind CHECK (((kind = 'deposit'::text) OR ((asked_at IS NULL) AND (deposit IS NULL) AND (claimed IS NULL))))
constraint ramp_transfers_done CHECK (((state <> 'done'::text) OR (COALESCE(deposit, withdrawal) IS NOT NULL) OR (doubtful AND (kind = 'withdraw'::text))))
constraint ramp_transfers_exchange_amount_check CHECK ((exchange_amount >= (0)::numeric))
constraint ramp_transfers_exchange_fee_check CHECK ((exchange_fee >= (0)::numeric))
constraint ramp_transfers_exchange_network_check CHECK (((length(exchange_network) >= 1) AND (length(exchange_network) <= 60)))
constraint ramp_transfers_expected_address_check CHECK (((length(expected_address) >= 1) AND (length(expected_address) <= 200)))
constraint ramp_transfers_external_ramp_fkey FOREIGN KEY (external_ramp) REFERENCES external_ramps(id)
constraint ramp_transfers_failed CHECK (((state = 'failed'::text) = (error IS NOT NULL)))
constraint ramp_transfers_finite CHECK ((GREATEST(value, offered_fee, max_fee, exchange_amount, exchange_fee) < 'Infinity'::numeric))
constraint ramp_transfers_hash_check CHECK (((length(hash) >= 1) AND (length(hash) <= 200)))
constraint ramp_transfers_kind_check CHECK ((kind = ANY (ARRAY['deposit'::text, 'withdraw'::text])))
constraint ramp_transfers_max_fee_check CHECK ((max_fee >= (0)::numeric))
constraint ramp_transfers_offered_fee_check CHECK ((offered_fee >= (0)::numeric))
constraint ramp_transfers_paid_by_check CHECK ((paid_by = ANY (ARRAY['sender'::text, 'receiver'::text])))
constraint ramp_transfers_pkey PRIMARY KEY (id)
constraint ramp_transfers_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500)))
constraint ramp_transfers_reference_check CHECK (((length(reference) >= 1) AND (length(reference) <= 200)))
constraint ramp_transfers_speed_check CHECK ((speed = ANY (ARRAY['slow'::text, 'medium'::text, 'fast'::text])))
constraint ramp_transfers_state_check CHECK ((state = ANY (ARRAY['new'::text, 'asking'::text, 'sent'::text, 'unclear'::text, 'done'::text, 'failed'::text])))
constraint ramp_transfers_tries_check CHECK ((tries >= 0))
constraint ramp_transfers_unclear CHECK (((state <> 'unclear'::text) OR (reason IS NOT NULL)))
constraint ramp_transfers_value_check CHECK ((value > (0)::numeric))
constraint ramp_transfers_withdraw_kind CHECK ((((kind = 'withdraw'::text) = ((paid_by IS NOT NULL) AND (speed IS NOT NULL))) AND ((kind = 'deposit'::text) OR (offered_fee IS NULL)) AND ((kind = 'withdraw'::text) OR ((block IS NULL) AND (withdrawal IS NULL) AND (expected_address IS NULL) AND (max_fee IS NULL)))))
constraint ramp_transfers_withdrawal_fkey FOREIGN KEY (withdrawal) REFERENCES withdrawals(id)
constraint ramp_transfers_withdrawn CHECK (((kind <> 'withdraw'::text) OR (state = ANY (ARRAY['new'::text, 'failed'::text])) OR (withdrawal IS NOT NULL) OR (doubtful AND (state = ANY (ARRAY['unclear'::text, 'done'::text])))))
CREATE INDEX ramp_transfers_address ON ramp_transfers USING btree (address) WHERE ((reference IS NULL) AND (asked_at IS NOT NULL))
CREATE UNIQUE INDEX ramp_transfers_deposit ON ramp_transfers USING btree (deposit) WHERE (deposit IS NOT NULL)
CREATE INDEX ramp_transfers_due ON ramp_transfers USING btree (next_at, id) WHERE (state <> ALL (ARRAY['done'::text, 'failed'::text]))
CREATE INDEX ramp_transfers_ramp ON ramp_transfers USING btree (external_ramp, id)
CREATE UNIQUE INDEX ramp_transfers_reference ON ramp_transfers USING btree (exchange, kind, reference) WHERE (reference IS NOT NULL)
CREATE INDEX ramp_transfers_turns ON ramp_transfers USING btree (md5((owner)::text), next_at, id) WHERE (state <> ALL (ARRAY['done'::text, 'failed'::text]))
CREATE UNIQUE INDEX ramp_transfers_withdrawal ON ramp_transfers USING btree (withdrawal) WHERE (withdrawal IS NOT NULL)
CREATE TRIGGER ramp_transfers_begin BEFORE INSERT ON ramp_transfers FOR EACH ROW EXECUTE FUNCTION check_ramp_transfer()
CREATE TRIGGER ramp_transfers_keep BEFORE UPDATE ON ramp_transfers FOR EACH ROW EXECUTE FUNCTION keep_ramp_transfer()
CREATE TRIGGER ramp_transfers_noted AFTER INSERT ON ramp_transfers REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER ramp_transfers_noted_change AFTER UPDATE OF id, external_ramp, exchange, kind, account, asset, value, currency, exchange_network, offered_fee, chain, network, address, expected_address, paid_by, speed, max_fee, owner, created_at ON ramp_transfers FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER ramp_transfers_noted_end AFTER DELETE ON ramp_transfers FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER ramp_transfers_stay BEFORE DELETE OR TRUNCATE ON ramp_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table ramps (
  account uuid not null
  chain text not null
  network text not null
  number integer not null
  xpub text
  next_index integer not null default 0
  reserved integer not null default 0
  quarantined jsonb
  created_at timestamp with time zone not null
)
constraint ramps_network_check CHECK ((network = ANY (ARRAY['main'::text, 'testnet'::text, 'signet'::text, 'regtest'::text])))
constraint ramps_next_index_check CHECK ((next_index >= 0))
constraint ramps_number UNIQUE (chain, network, number)
constraint ramps_number_check CHECK ((number >= 0))
constraint ramps_pkey PRIMARY KEY (account)
constraint ramps_quarantined_check CHECK ((jsonb_typeof(quarantined) = 'object'::text))
constraint ramps_reserved_check CHECK ((reserved >= 0))
CREATE TRIGGER ramps_doubt AFTER UPDATE OF quarantined ON ramps FOR EACH ROW WHEN (((old.quarantined IS NULL) AND (new.quarantined IS NOT NULL))) EXECUTE FUNCTION doubt_ramp_transfers()
CREATE TRIGGER ramps_facts BEFORE UPDATE ON ramps FOR EACH ROW WHEN (((((old.account IS DISTINCT FROM new.account) OR (old.chain IS DISTINCT FROM new.chain)) OR (old.network IS DISTINCT FROM new.network)) OR ((old.next_index > 0) AND (new.number <> old.number)) OR ((old.xpub IS NOT NULL) AND (new.xpub IS DISTINCT FROM old.xpub)))) EXECUTE FUNCTION keep_facts()
CREATE TRIGGER ramps_index BEFORE UPDATE ON ramps FOR EACH ROW WHEN ((new.next_index < old.next_index)) EXECUTE FUNCTION keep_index()
CREATE TRIGGER ramps_noted AFTER INSERT ON ramps REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER ramps_noted_change AFTER UPDATE OF account, chain, network, number, xpub, quarantined, created_at ON ramps FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER ramps_noted_end AFTER DELETE ON ramps FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER ramps_served BEFORE INSERT ON ramps FOR EACH ROW EXECUTE FUNCTION check_served_chain()
CREATE TRIGGER ramps_served_index BEFORE UPDATE OF next_index ON ramps FOR EACH ROW WHEN ((new.next_index <> old.next_index)) EXECUTE FUNCTION check_served_chain()
CREATE TRIGGER ramps_unused AFTER INSERT ON ramps FOR EACH ROW EXECUTE FUNCTION note_unused()

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

table rescans (
  id uuid not null
  chain text not null
  network text not null
  hash text
  from_height bigint
  to_height bigint
  found jsonb not null default '[]'::jsonb
  found_count integer not null default 0
  node text
  node_height bigint
  error jsonb
  owner uuid not null
  finished_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint rescans_check CHECK ((to_height >= from_height))
constraint rescans_found_check CHECK (((jsonb_typeof(found) = 'array'::text) AND (jsonb_array_length(found) <= 100)))
constraint rescans_found_count_check CHECK ((found_count >= 0))
constraint rescans_from_height_check CHECK ((from_height >= 0))
constraint rescans_hash_check CHECK (((length(hash) >= 1) AND (length(hash) <= 128)))
constraint rescans_node CHECK ((((node = ANY (ARRAY['failed'::text, 'mined'::text])) IS TRUE) = (node_height IS NOT NULL)))
constraint rescans_node_check CHECK ((node = ANY (ARRAY['unknown'::text, 'pending'::text, 'failed'::text, 'mined'::text])))
constraint rescans_node_height_check CHECK ((node_height >= 0))
constraint rescans_pkey PRIMARY KEY (id)
constraint rescans_what CHECK ((((hash IS NULL) = (from_height IS NOT NULL)) AND ((hash IS NULL) = (to_height IS NOT NULL))))
CREATE INDEX rescans_hash ON rescans USING btree (hash, id) WHERE (hash IS NOT NULL)
CREATE INDEX rescans_open ON rescans USING btree (chain, network) WHERE (finished_at IS NULL)

table reserved_addresses (
  address text not null
  ramp uuid not null
  derivation_key integer not null
  created_at timestamp with time zone not null
  shared boolean not null default false
)
constraint reserved_addresses_derivation_key_check CHECK ((derivation_key >= 0))
constraint reserved_addresses_index UNIQUE (ramp, derivation_key)
constraint reserved_addresses_pkey PRIMARY KEY (address)
constraint reserved_addresses_ramp_fkey FOREIGN KEY (ramp) REFERENCES ramps(account)
CREATE INDEX reserved_addresses_unshared ON reserved_addresses USING btree (address) WHERE (NOT shared)
CREATE TRIGGER reserved_addresses_linked BEFORE INSERT OR UPDATE OF address ON reserved_addresses FOR EACH ROW EXECUTE FUNCTION refuse_linked_own()
CREATE TRIGGER reserved_addresses_noted AFTER INSERT ON reserved_addresses REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER reserved_addresses_noted_change AFTER UPDATE OF address, ramp, derivation_key, created_at ON reserved_addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER reserved_addresses_noted_end AFTER DELETE ON reserved_addresses FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table reserved_inputs (
  chain text not null
  network text not null
  input text not null
  order_id uuid not null
  consumed_by text
  consumed_height bigint
  created_at timestamp with time zone not null
)
constraint reserved_inputs_pkey PRIMARY KEY (chain, network, input)
CREATE INDEX reserved_inputs_consumed ON reserved_inputs USING btree (chain, network, consumed_height) WHERE (consumed_height IS NOT NULL)
CREATE INDEX reserved_inputs_order ON reserved_inputs USING btree (order_id)
CREATE INDEX reserved_inputs_parent ON reserved_inputs USING btree (split_part(input, ':'::text, 1))
CREATE TRIGGER reserved_inputs_forgotten BEFORE UPDATE OF consumed_by ON reserved_inputs FOR EACH ROW WHEN (((old.consumed_by IS NOT NULL) AND (new.consumed_by IS NULL))) EXECUTE FUNCTION check_unconsumed()
CREATE TRIGGER reserved_inputs_kept BEFORE INSERT OR UPDATE OF input, order_id ON reserved_inputs FOR EACH ROW EXECUTE FUNCTION check_reserved_input()
CREATE TRIGGER reserved_inputs_served BEFORE INSERT OR DELETE ON reserved_inputs FOR EACH ROW EXECUTE FUNCTION check_served_input()

table revocations (
  id uuid not null
  user_id uuid not null
  jti uuid
  issued_before timestamp with time zone
  xact xid8 not null default pg_current_xact_id()
  expires_at timestamp with time zone not null
  created_at timestamp with time zone not null
)
constraint revocations_check CHECK (((jti IS NULL) <> (issued_before IS NULL)))
constraint revocations_pkey PRIMARY KEY (id)
CREATE INDEX revocations_expires ON revocations USING btree (expires_at)
CREATE INDEX revocations_xact ON revocations USING btree (xact)

table row_counts (
  collection text not null
  owner uuid not null
  living bigint not null
  dead bigint not null
  summed boolean not null default false
)
CREATE INDEX row_counts_new ON row_counts USING btree (collection, owner) WHERE (NOT summed)
CREATE INDEX row_counts_owner ON row_counts USING btree (collection, owner)

table second_factors (
  user_id uuid not null
  secret bytea not null
  confirmed_at timestamp with time zone
  last_step bigint not null default 0
  recovery bytea[] not null default '{}'::bytea[]
  wrong_codes integer not null default 0
  wrong_since timestamp with time zone
  created_at timestamp with time zone not null
)
constraint second_factors_pkey PRIMARY KEY (user_id)
constraint second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
CREATE TRIGGER second_factors_forward BEFORE UPDATE ON second_factors FOR EACH ROW EXECUTE FUNCTION second_factors_forward()
CREATE TRIGGER second_factors_noted AFTER INSERT ON second_factors REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER second_factors_noted_change AFTER UPDATE OF user_id, secret, confirmed_at, recovery, created_at ON second_factors FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER second_factors_noted_end AFTER DELETE ON second_factors FOR EACH ROW EXECUTE FUNCTION note_changed_row()

table secrets (
  id uuid not null
  kind text not null
  master text not null
  wrapped bytea not null
  ciphertext bytea not null
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint secrets_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 40)))
constraint secrets_pkey PRIMARY KEY (id)
CREATE INDEX secrets_master ON secrets USING btree (master)
CREATE UNIQUE INDEX secrets_seed ON secrets USING btree (kind) WHERE (kind = 'seed'::text)
CREATE TRIGGER secrets_seed_kept BEFORE DELETE ON secrets FOR EACH ROW WHEN ((old.kind = 'seed'::text)) EXECUTE FUNCTION keep_seed()
CREATE TRIGGER secrets_seed_made BEFORE INSERT ON secrets FOR EACH ROW EXECUTE FUNCTION keep_seed()

table solvency (
  asset text not null
  testnet boolean not null
  assets numeric not null
  height integer not null
  liabilities numeric not null
  fees numeric not null
  position uuid
  pending numeric not null
  sending numeric not null
  drift numeric not null
  solvent boolean not null
  stopped boolean not null
  provisional boolean not null
  ramps jsonb not null default '[]'::jsonb
  checked_at timestamp with time zone not null
)
constraint solvency_covered CHECK (((NOT solvent) OR ((((assets - pending) - sending) >= liabilities) AND (drift >= (0)::numeric))))
constraint solvency_drift CHECK ((drift = ((((assets - pending) - sending) - liabilities) - fees)))
constraint solvency_finite CHECK (((GREATEST(assets, liabilities, fees, pending, sending) < 'Infinity'::numeric) AND (LEAST(assets, liabilities, fees, pending, sending) > '-Infinity'::numeric)))
constraint solvency_missing CHECK ((stopped OR (drift >= (0)::numeric)))
constraint solvency_pkey PRIMARY KEY (asset, testnet)
constraint solvency_ramps_check CHECK ((jsonb_typeof(ramps) = 'array'::text))

table solvency_samples (
  asset text not null
  testnet boolean not null
  checked_at timestamp with time zone not null
  hourly boolean not null
  assets numeric not null
  liabilities numeric not null
  fees numeric not null
  pending numeric not null
  sending numeric not null
  drift numeric not null
  solvent boolean not null
  height integer not null
  position uuid
)
constraint solvency_samples_drift CHECK ((drift = ((((assets - pending) - sending) - liabilities) - fees)))
constraint solvency_samples_finite CHECK (((GREATEST(assets, liabilities, fees, pending, sending) < 'Infinity'::numeric) AND (LEAST(assets, liabilities, fees, pending, sending) > '-Infinity'::numeric)))
constraint solvency_samples_pkey PRIMARY KEY (asset, testnet, checked_at)
CREATE INDEX solvency_samples_old ON solvency_samples USING btree (hourly, checked_at)

table stops (
  id uuid not null
  what text not null
  asset text
  chain text
  chain_assets text[]
  account uuid
  user_id uuid
  destination text
  destinations text[]
  reason text not null
  owner uuid
  restored boolean not null default false
  lifted_by uuid
  lifted_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint stops_asset_check CHECK (((length(asset) >= 1) AND (length(asset) <= 40)))
constraint stops_chain CHECK (((chain IS NULL) = (chain_assets IS NULL)))
constraint stops_destination CHECK (((destination IS NULL) = (destinations IS NULL)))
constraint stops_destination_check CHECK (((length(destination) >= 1) AND (length(destination) <= 200)))
constraint stops_lifted CHECK (((lifted_by IS NULL) OR (lifted_at IS NOT NULL)))
constraint stops_pkey PRIMARY KEY (id)
constraint stops_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500)))
constraint stops_restored CHECK (((NOT restored) OR ((owner IS NULL) AND (lifted_by IS NULL))))
constraint stops_what_check CHECK ((what = ANY (ARRAY['moves'::text, 'signing'::text])))
CREATE INDEX stops_active ON stops USING btree (what) WHERE (lifted_at IS NULL)
CREATE INDEX stops_owner ON stops USING btree (owner, id)
CREATE TRIGGER stops_keep BEFORE UPDATE ON stops FOR EACH ROW EXECUTE FUNCTION keep_stop()
CREATE TRIGGER stops_noted AFTER INSERT ON stops REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER stops_noted_change AFTER UPDATE OF id, what, asset, chain, chain_assets, account, user_id, destination, destinations, reason, owner, restored, lifted_by, lifted_at, created_at ON stops FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER stops_noted_end AFTER DELETE ON stops FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER stops_stay BEFORE DELETE OR TRUNCATE ON stops FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table sweeps (
  id uuid not null
  account uuid not null
  ramp uuid not null
  chain text not null
  network text not null
  state text not null default 'new'::text
  amount numeric
  arrived numeric
  fee numeric
  ahead numeric not null default 0
  borne numeric not null default 0
  gas_order uuid
  order_id uuid
  hash text
  strikes integer not null default 0
  beside boolean not null default false
  error jsonb
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint sweeps_ahead_check CHECK ((ahead >= (0)::numeric))
constraint sweeps_amount_check CHECK ((amount >= (0)::numeric))
constraint sweeps_arrived_check CHECK ((arrived >= (0)::numeric))
constraint sweeps_borne_check CHECK ((borne >= (0)::numeric))
constraint sweeps_check CHECK (((NOT beside) OR (state = ANY (ARRAY['sweeping'::text, 'done'::text, 'failed'::text]))))
constraint sweeps_fee_check CHECK ((fee >= (0)::numeric))
constraint sweeps_finite CHECK ((GREATEST(amount, arrived, fee, ahead, borne) < 'Infinity'::numeric))
constraint sweeps_pkey PRIMARY KEY (id)
constraint sweeps_state_check CHECK ((state = ANY (ARRAY['new'::text, 'waiting'::text, 'topping'::text, 'topped'::text, 'sweeping'::text, 'done'::text, 'failed'::text])))
constraint sweeps_strikes_check CHECK ((strikes >= 0))
CREATE UNIQUE INDEX sweeps_account ON sweeps USING btree (account) WHERE ((state <> ALL (ARRAY['done'::text, 'failed'::text])) AND (NOT beside))
CREATE INDEX sweeps_ahead ON sweeps USING btree (account) WHERE ((ahead > (0)::numeric) OR (borne > (0)::numeric))
CREATE INDEX sweeps_ended ON sweeps USING btree (account, id) WHERE (state = ANY (ARRAY['done'::text, 'failed'::text]))
CREATE INDEX sweeps_open ON sweeps USING btree (chain, network, id) WHERE (state <> ALL (ARRAY['done'::text, 'failed'::text]))
CREATE INDEX sweeps_ramp ON sweeps USING btree (ramp) WHERE (state <> ALL (ARRAY['done'::text, 'failed'::text]))
CREATE INDEX sweeps_recent ON sweeps USING btree (chain, network, updated_at)
CREATE TRIGGER sweeps_kept BEFORE INSERT OR UPDATE OF id, account, ramp, chain, network, beside, state, order_id, gas_order, arrived, fee ON sweeps FOR EACH ROW EXECUTE FUNCTION check_sweep()
CREATE TRIGGER sweeps_owed AFTER UPDATE ON sweeps FOR EACH ROW WHEN (((new.ahead > (0)::numeric) OR (new.borne > (0)::numeric))) EXECUTE FUNCTION check_sweep_owed()

table token_proofs (
  chain text not null
  network text not null
  contract text not null
  asset text not null
  created_at timestamp with time zone not null
)
constraint token_proofs_pkey PRIMARY KEY (chain, network, contract, asset)

table transaction_data (
  transaction uuid not null
  data jsonb not null
  updated_at timestamp with time zone
)
constraint transaction_data_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint transaction_data_pkey PRIMARY KEY (transaction)

table transaction_list (
  id uuid
  seq bigint
  hash text
  type text
  status text
  source uuid
  source_owner uuid
  source_holder uuid
  destination uuid
  destination_owner uuid
  destination_holder uuid
  asset text
  amount numeric
  fiat_currency text
  fiat_rate numeric
  fiat_value numeric
  seal jsonb
  data jsonb
  reference text
  address_data jsonb
  reverts uuid
  owner uuid
  updated_at timestamp with time zone
  created_at timestamp with time zone
)

table transaction_references (
  reference text not null
  transaction uuid not null
)
constraint transaction_references_pkey PRIMARY KEY (reference)
constraint transaction_references_transaction_key UNIQUE (transaction)
CREATE TRIGGER transaction_references_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transaction_references FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table transaction_reverts (
  reverts uuid not null
  transaction uuid not null
)
constraint transaction_reverts_pkey PRIMARY KEY (reverts)
constraint transaction_reverts_transaction_key UNIQUE (transaction)
CREATE TRIGGER transaction_reverts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transaction_reverts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table transactions (
  id uuid not null
  source uuid not null
  destination uuid not null
  source_seq bigint not null
  destination_seq bigint not null
  amount numeric not null
  type text not null
  testnet boolean not null
  asset text not null
  owner uuid
  client_ip inet
  api_key uuid
  fiat_currency text
  fiat_rate numeric
  fiat_value numeric
  reference text
  reverts uuid
  seal jsonb
  address_data jsonb
  created_at timestamp with time zone not null
)
partition by RANGE (id)
constraint transactions_amount_check CHECK ((amount > '0'::numeric))
constraint transactions_check CHECK ((source <> destination))
constraint transactions_check1 CHECK ((((fiat_currency IS NULL) = (fiat_value IS NULL)) AND ((fiat_rate IS NULL) = (fiat_value IS NULL))))
constraint transactions_deposit TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint transactions_pkey PRIMARY KEY (id)
constraint transactions_refund TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint transactions_type_check CHECK ((type = ANY ('{transfer,deposit,forward,withdrawal,return,fee,issue,destroy,capture,revert}'::text[])))
CREATE INDEX transactions_owner ON ONLY transactions USING btree (owner, id)
CREATE TRIGGER transactions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transactions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE CONSTRAINT TRIGGER transactions_deposit AFTER INSERT ON transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type = 'deposit'::text)) EXECUTE FUNCTION check_deposit_booked()
CREATE CONSTRAINT TRIGGER transactions_refund AFTER INSERT ON transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type = 'return'::text)) EXECUTE FUNCTION check_refund_booked()

table transactions_newest (
  id uuid not null
  source uuid not null
  destination uuid not null
  source_seq bigint not null
  destination_seq bigint not null
  amount numeric not null
  type text not null
  testnet boolean not null
  asset text not null
  owner uuid
  client_ip inet
  api_key uuid
  fiat_currency text
  fiat_rate numeric
  fiat_value numeric
  reference text
  reverts uuid
  seal jsonb
  address_data jsonb
  created_at timestamp with time zone not null
)
partition FOR VALUES FROM (MINVALUE) TO (MAXVALUE)
constraint transactions_amount_check CHECK ((amount > '0'::numeric))
constraint transactions_check CHECK ((source <> destination))
constraint transactions_check1 CHECK ((((fiat_currency IS NULL) = (fiat_value IS NULL)) AND ((fiat_rate IS NULL) = (fiat_value IS NULL))))
constraint transactions_deposit TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint transactions_newest_pkey PRIMARY KEY (id)
constraint transactions_refund TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint transactions_type_check CHECK ((type = ANY ('{transfer,deposit,forward,withdrawal,return,fee,issue,destroy,capture,revert}'::text[])))
CREATE INDEX transactions_newest_owner_id_idx ON transactions_newest USING btree (owner, id)
CREATE TRIGGER transactions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transactions_newest FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE CONSTRAINT TRIGGER transactions_deposit AFTER INSERT ON transactions_newest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type = 'deposit'::text)) EXECUTE FUNCTION check_deposit_booked()
CREATE CONSTRAINT TRIGGER transactions_refund AFTER INSERT ON transactions_newest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.type = 'return'::text)) EXECUTE FUNCTION check_refund_booked()

table unexplained_gains (
  chain text not null
  network text not null
  address text not null
  contract text not null default ''::text
  above bigint not null
  height bigint not null
  gained numeric(78,0) not null
  searched bigint not null
  found numeric(78,0) not null default 0
  rewarded boolean not null default false
  tries integer not null default 0
  error text
  retry_at timestamp with time zone not null
  created_at timestamp with time zone not null
)
constraint unexplained_gains_finite CHECK ((GREATEST(gained, found) < 'Infinity'::numeric))
constraint unexplained_gains_found_check CHECK ((found >= (0)::numeric))
constraint unexplained_gains_gained_check CHECK ((gained > (0)::numeric))
constraint unexplained_gains_pkey PRIMARY KEY (chain, network, address, contract, height)
constraint unexplained_gains_range CHECK (((above <= searched) AND (searched < height)))
constraint unexplained_gains_tries_check CHECK ((tries >= 0))
CREATE INDEX unexplained_gains_due ON unexplained_gains USING btree (chain, network, retry_at)

table unmatched_deposits (
  id uuid not null
  chain text not null
  network text not null
  hash text not null
  index integer not null
  account uuid not null
  address text not null
  asset text
  contract text
  amount_base numeric(78,0) not null
  sender text
  block bigint not null
  created_at timestamp with time zone not null
)
constraint unmatched_deposits_amount_base_check CHECK (((amount_base > (0)::numeric) AND (amount_base < 'Infinity'::numeric)))
constraint unmatched_deposits_pkey PRIMARY KEY (id)
CREATE INDEX unmatched_deposits_address ON unmatched_deposits USING btree (address, chain, network, id)
CREATE INDEX unmatched_deposits_block ON unmatched_deposits USING btree (chain, network, block)
CREATE UNIQUE INDEX unmatched_deposits_source ON unmatched_deposits USING btree (hash, index, chain, network, (
CASE
    WHEN (index = '-2'::integer) THEN address
    ELSE ''::text
END))

table unused_addresses (
  account uuid not null
  owner uuid not null
  root uuid not null
)
constraint unused_addresses_pkey PRIMARY KEY (account)
CREATE INDEX unused_addresses_owner ON unused_addresses USING btree (owner)
CREATE INDEX unused_addresses_root ON unused_addresses USING btree (root)

table users (
  id uuid not null
  username text not null
  folded text not null
  email text
  verifier text not null
  password_digest text not null
  identity uuid not null
  roles text[] not null
  scopes text[] not null
  channel jsonb not null default '{}'::jsonb
  data jsonb not null default '{}'::jsonb
  active boolean not null default true
  keys_until bigint not null default 0
  owner uuid not null
  root uuid
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint users_channel_check CHECK ((jsonb_typeof(channel) = 'object'::text))
constraint users_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint users_email_check CHECK ((email = lower(email)))
constraint users_folded_check CHECK (((length(folded) >= 1) AND (length(folded) <= 600)))
constraint users_folded_key UNIQUE (folded)
constraint users_folded_plain CHECK (is_folded(folded, username))
constraint users_identity_fkey FOREIGN KEY (identity) REFERENCES identities(id)
constraint users_pkey PRIMARY KEY (id)
constraint users_roles_check CHECK (((roles <@ ARRAY['admin'::text, 'manage'::text, 'user'::text]) AND ('user'::text = ANY (roles))))
constraint users_scopes_check CHECK (((scopes <@ ARRAY['realm'::text, 'own'::text]) AND ('own'::text = ANY (scopes))))
constraint users_username_check CHECK (((length(username) >= 1) AND (length(username) <= 200)))
constraint users_username_key UNIQUE (username)
constraint users_username_plain CHECK (is_plain(username))
constraint users_verifier_check CHECK ((verifier ~~ '$argon2id$%'::text))
CREATE UNIQUE INDEX users_admin_email ON users USING btree (email) WHERE (('admin'::text = ANY (roles)) AND ('realm'::text = ANY (scopes)) AND (deleted_at IS NULL))
CREATE INDEX users_deleted ON users USING btree (owner, id) WHERE (deleted_at IS NOT NULL)
CREATE INDEX users_email ON users USING btree (email, owner) WHERE ((email IS NOT NULL) AND (deleted_at IS NULL))
CREATE INDEX users_house ON users USING btree (identity) WHERE ('realm'::text = ANY (scopes))
CREATE INDEX users_name ON users USING btree (lower(username) text_pattern_ops) WHERE ((deleted_at IS NULL) AND (lower(username) IS NOT NULL))
CREATE INDEX users_own_name ON users USING btree (owner, lower(username) text_pattern_ops) WHERE ((deleted_at IS NULL) AND (lower(username) IS NOT NULL))
CREATE INDEX users_owner ON users USING btree (owner, id)
CREATE INDEX users_root ON users USING btree (identity, root) WHERE (root IS NOT NULL)
CREATE INDEX users_rooted ON users USING btree (root, identity) WHERE (root IS NOT NULL)
CREATE TRIGGER users_count_changed_rows AFTER UPDATE OF deleted_at ON users FOR EACH ROW WHEN (((old.deleted_at IS NULL) <> (new.deleted_at IS NULL))) EXECUTE FUNCTION count_changed_rows()
CREATE TRIGGER users_count_new_rows AFTER INSERT ON users REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE TRIGGER users_kin AFTER INSERT ON users FOR EACH ROW WHEN ((new.root IS NOT NULL)) EXECUTE FUNCTION note_new_kin()
CREATE TRIGGER users_kin_moved AFTER UPDATE ON users FOR EACH ROW WHEN (((pg_trigger_depth() = 0) AND (new.root IS DISTINCT FROM old.root))) EXECUTE FUNCTION regroup_kin()
CREATE TRIGGER users_noted AFTER INSERT ON users REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER users_noted_change AFTER UPDATE OF id, folded, verifier, identity, roles, scopes, active, keys_until, owner, root, deleted_at, created_at ON users FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER users_noted_end AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER users_root BEFORE INSERT OR UPDATE ON users FOR EACH ROW EXECUTE FUNCTION keep_root()

table webhook_deliveries (
  webhook uuid not null
  event uuid not null
  type text not null
  entity uuid not null
  status text not null default 'PENDING'::text
  attempts integer not null default 0
  next_at timestamp with time zone
  first_at timestamp with time zone
  last_at timestamp with time zone
  latency_ms integer
  response_status integer
  response_body text
  failure text
  created_at timestamp with time zone not null
)
constraint webhook_deliveries_attempts_check CHECK ((attempts >= 0))
constraint webhook_deliveries_failure_check CHECK (((length(failure) >= 1) AND (length(failure) <= 500)))
constraint webhook_deliveries_latency_ms_check CHECK ((latency_ms >= 0))
constraint webhook_deliveries_next CHECK (((status = 'PENDING'::text) = (next_at IS NOT NULL)))
constraint webhook_deliveries_pkey PRIMARY KEY (webhook, event)
constraint webhook_deliveries_response_body_check CHECK ((octet_length(response_body) <= 4096))
constraint webhook_deliveries_response_status_check CHECK (((response_status >= 100) AND (response_status <= 999)))
constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'DELIVERED'::text, 'FAILED'::text])))
constraint webhook_deliveries_tried CHECK (((attempts = 0) OR (last_at IS NOT NULL)))
constraint webhook_deliveries_webhook_fkey FOREIGN KEY (webhook) REFERENCES webhooks(id)
CREATE INDEX webhook_deliveries_due ON webhook_deliveries USING btree (webhook, next_at, event) WHERE (status = 'PENDING'::text)
CREATE INDEX webhook_deliveries_entity ON webhook_deliveries USING btree (entity, event, webhook) WHERE (status = 'PENDING'::text)
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries USING btree (webhook, event) WHERE (status = 'FAILED'::text)

table webhook_queues (
  webhook uuid not null
  lease_owner uuid
  lease_until timestamp with time zone
  failures integer not null default 0
  failing_since timestamp with time zone
  resume_at timestamp with time zone
  last_success_at timestamp with time zone
)
constraint webhook_queues_failing CHECK (((failing_since IS NULL) = (failures = 0)))
constraint webhook_queues_failures_check CHECK ((failures >= 0))
constraint webhook_queues_lease CHECK (((lease_owner IS NULL) = (lease_until IS NULL)))
constraint webhook_queues_pkey PRIMARY KEY (webhook)
constraint webhook_queues_webhook_fkey FOREIGN KEY (webhook) REFERENCES webhooks(id)

table webhooks (
  id uuid not null
  url text not null
  events text[] not null
  active boolean not null default true
  secret bytea not null
  previous_secret bytea
  previous_until timestamp with time zone
  disabled_reason text
  owner uuid not null
  data jsonb not null default '{}'::jsonb
  error jsonb
  told_at timestamp with time zone
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint webhooks_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint webhooks_disabled CHECK (((disabled_reason IS NULL) OR (NOT active)))
constraint webhooks_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['failing'::text, 'gone'::text])))
constraint webhooks_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 100)))
constraint webhooks_owner_fkey FOREIGN KEY (owner) REFERENCES users(id)
constraint webhooks_pkey PRIMARY KEY (id)
constraint webhooks_previous CHECK (((previous_secret IS NULL) = (previous_until IS NULL)))
constraint webhooks_previous_secret_check CHECK (((octet_length(previous_secret) >= 29) AND (octet_length(previous_secret) <= 200)))
constraint webhooks_secret_check CHECK (((octet_length(secret) >= 29) AND (octet_length(secret) <= 200)))
constraint webhooks_url_check CHECK ((((length(url) >= 1) AND (length(url) <= 2000)) AND (url ~ '^https?://'::text)))
CREATE INDEX webhooks_owner ON webhooks USING btree (owner, id)
CREATE TRIGGER webhooks_queue AFTER INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION open_webhook_queue()

table withdrawals (
  id uuid not null
  account uuid not null
  ramp uuid not null
  chain text not null
  network text not null
  sender text not null
  destination text not null
  asset text not null
  contract text
  value numeric not null
  amount numeric not null
  fee numeric not null
  charged numeric not null
  surcharge numeric not null default 0
  returned numeric not null default 0
  paid_by text not null
  speed text not null
  max_fee numeric
  gas_asset text
  gas numeric
  sponsored boolean not null default false
  order_id uuid not null
  block uuid not null
  transaction uuid
  status text not null default 'PROCESSING'::text
  hash text
  nonce integer
  height integer
  confirmations integer not null default 0
  cost numeric
  found_order_id uuid
  found_payment integer
  history jsonb not null default '[]'::jsonb
  data jsonb not null default '{}'::jsonb
  owner uuid
  error jsonb
  deleted_at timestamp with time zone
  updated_at timestamp with time zone
  created_at timestamp with time zone not null
)
constraint withdrawals_amount_check CHECK ((amount > (0)::numeric))
constraint withdrawals_charge CHECK ((charged = (amount + fee)))
constraint withdrawals_charged_check CHECK ((charged > (0)::numeric))
constraint withdrawals_check CHECK (((surcharge >= (0)::numeric) AND (surcharge <= fee)))
constraint withdrawals_check1 CHECK (((returned >= (0)::numeric) AND (returned <= surcharge)))
constraint withdrawals_cost_check CHECK ((cost >= (0)::numeric))
constraint withdrawals_covered TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint withdrawals_data_check CHECK ((jsonb_typeof(data) = 'object'::text))
constraint withdrawals_fee_check CHECK ((fee >= (0)::numeric))
constraint withdrawals_finite CHECK ((GREATEST(charged, max_fee, gas, cost) < 'Infinity'::numeric))
constraint withdrawals_found_done CHECK (((found_order_id IS NULL) OR (status = 'DONE'::text)))
constraint withdrawals_found_order_id_fkey FOREIGN KEY (found_order_id) REFERENCES chain_orders(id)
constraint withdrawals_found_payment_check CHECK ((found_payment >= 0))
constraint withdrawals_found_whole CHECK (((found_order_id IS NULL) = (found_payment IS NULL)))
constraint withdrawals_funded CHECK (((transaction IS NULL) = (account = ramp)))
constraint withdrawals_gas CHECK (((gas_asset IS NULL) = (gas IS NULL)))
constraint withdrawals_gas_check CHECK ((gas >= (0)::numeric))
constraint withdrawals_history_check CHECK ((jsonb_typeof(history) = 'array'::text))
constraint withdrawals_max_fee CHECK ((fee <= max_fee))
constraint withdrawals_max_fee_check CHECK ((max_fee >= (0)::numeric))
constraint withdrawals_order UNIQUE (order_id)
constraint withdrawals_paid_by_check CHECK ((paid_by = ANY (ARRAY['sender'::text, 'receiver'::text])))
constraint withdrawals_pkey PRIMARY KEY (id)
constraint withdrawals_returned CHECK (((returned = (0)::numeric) OR (status = 'DONE'::text)))
constraint withdrawals_speed_check CHECK ((speed = ANY (ARRAY['slow'::text, 'medium'::text, 'fast'::text])))
constraint withdrawals_sponsored TRIGGER DEFERRABLE INITIALLY DEFERRED
constraint withdrawals_status_check CHECK ((status = ANY (ARRAY['PROCESSING'::text, 'DONE'::text, 'FAILED'::text, 'CANCELED'::text])))
constraint withdrawals_value CHECK ((value =
CASE paid_by
    WHEN 'sender'::text THEN amount
    ELSE (charged - surcharge)
END))
constraint withdrawals_value_check CHECK ((value > (0)::numeric))
CREATE INDEX withdrawals_account ON withdrawals USING btree (account, id)
CREATE INDEX withdrawals_destination ON withdrawals USING btree (destination, id)
CREATE UNIQUE INDEX withdrawals_found ON withdrawals USING btree (found_order_id, found_payment) WHERE (found_order_id IS NOT NULL)
CREATE INDEX withdrawals_hash ON withdrawals USING btree (hash) WHERE (hash IS NOT NULL)
CREATE INDEX withdrawals_open ON withdrawals USING btree (id) WHERE (status = 'PROCESSING'::text)
CREATE INDEX withdrawals_own_destination ON withdrawals USING btree (owner, destination, id)
CREATE INDEX withdrawals_owner ON withdrawals USING btree (owner, id)
CREATE INDEX withdrawals_processing ON withdrawals USING btree (account) WHERE (status = 'PROCESSING'::text)
CREATE INDEX withdrawals_processing_asset ON withdrawals USING btree (asset) WHERE (status = 'PROCESSING'::text)
CREATE INDEX withdrawals_ramp ON withdrawals USING btree (ramp, id) WHERE (status = 'PROCESSING'::text)
CREATE INDEX withdrawals_sponsored ON withdrawals USING btree (sender, created_at) WHERE sponsored
CREATE UNIQUE INDEX withdrawals_transaction ON withdrawals USING btree (transaction) WHERE (transaction IS NOT NULL)
CREATE TRIGGER withdrawals_begin BEFORE INSERT ON withdrawals FOR EACH ROW WHEN (((new.status <> 'PROCESSING'::text) OR (new.surcharge <> (0)::numeric) OR (COALESCE(new.hash, (new.height)::text, (new.cost)::text) IS NOT NULL))) EXECUTE FUNCTION check_withdrawal()
CREATE TRIGGER withdrawals_count_new_rows AFTER INSERT ON withdrawals REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new_rows()
CREATE CONSTRAINT TRIGGER withdrawals_covered AFTER INSERT OR UPDATE OF charged, block, status ON withdrawals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.status = 'PROCESSING'::text)) EXECUTE FUNCTION check_withdrawal_covered()
CREATE TRIGGER withdrawals_ended BEFORE UPDATE ON withdrawals FOR EACH ROW EXECUTE FUNCTION check_withdrawal()
CREATE TRIGGER withdrawals_loss AFTER UPDATE OF status ON withdrawals FOR EACH ROW WHEN (((old.status = 'PROCESSING'::text) AND (new.status <> 'PROCESSING'::text) AND (new.gas_asset IS NULL))) EXECUTE FUNCTION note_loss()
CREATE TRIGGER withdrawals_noted AFTER INSERT ON withdrawals REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION note_new_rows()
CREATE TRIGGER withdrawals_noted_change AFTER UPDATE OF id, account, ramp, chain, network, sender, destination, asset, contract, value, amount, paid_by, max_fee, order_id, owner, created_at ON withdrawals FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE TRIGGER withdrawals_noted_end AFTER DELETE ON withdrawals FOR EACH ROW EXECUTE FUNCTION note_changed_row()
CREATE CONSTRAINT TRIGGER withdrawals_sponsored AFTER INSERT ON withdrawals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.fee = (0)::numeric)) EXECUTE FUNCTION check_sponsored()
CREATE TRIGGER withdrawals_stay BEFORE DELETE OR TRUNCATE ON withdrawals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

table write_offs (
  transaction uuid not null
  asset text not null
  testnet boolean not null
  amount numeric not null
  drift numeric not null
  height integer not null
  position uuid
  created_at timestamp with time zone not null
)
constraint write_offs_amount_check CHECK ((amount > (0)::numeric))
constraint write_offs_drift CHECK (((amount <= (- drift)) AND (drift < (0)::numeric) AND (drift > '-Infinity'::numeric)))
constraint write_offs_pkey PRIMARY KEY (transaction)
CREATE INDEX write_offs_asset ON write_offs USING btree (asset, testnet, transaction)
CREATE TRIGGER write_offs_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON write_offs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
CREATE TRIGGER write_offs_missing BEFORE INSERT ON write_offs FOR EACH ROW EXECUTE FUNCTION check_write_off()

CREATE OR REPLACE FUNCTION account_ties(p_account uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when a.total <> 0 or a.blocked <> 0 then 'balance'
    when (select true from withdrawals w where w.account = a.id and w.status = 'PROCESSING' limit 1)
      or (select true from withdrawals w where w.ramp = a.id and w.status = 'PROCESSING' limit 1) then 'withdrawal'
    when (select true from (select account from sweeps where state not in ('done', 'failed') order by ramp offset 0) s
        where s.account = a.id limit 1)
      or (select true from sweeps s where s.ramp = a.id and s.state not in ('done', 'failed') limit 1) then 'sweep'
    when (select true from deposits d where d.account = a.id and d.status = 'PENDING' limit 1) then 'deposit'
    when exists (select from addresses n join accounts x on x.id = n.account
      where n.target_account = a.id and (x.total <> 0
        or exists (select from deposits d where d.account = x.id and d.status = 'PENDING'))) then 'forward'
    when a.type = 'ramp' and exists (select from addresses n join accounts x on x.id = n.account
      where n.ramp = a.id and n.account <> a.id and (x.total <> 0
        or exists (select from deposits d where d.account = x.id and d.status = 'PENDING'))) then 'forward'
    end
  from accounts a where a.id = p_account
$function$;

CREATE OR REPLACE FUNCTION analyze_parts()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  analyze transactions;
  analyze entries;
end $function$;

CREATE OR REPLACE FUNCTION api_keys_ended()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.deleted_at is not null and new.deleted_at is distinct from old.deleted_at then
    raise exception 'a key that has ended stays so'
      using errcode = 'check_violation', constraint = 'api_keys_ended';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION api_keys_within_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from users u where u.id = new.owner and u.active and u.deleted_at is null
      and new.roles <@ u.roles and new.scopes <@ u.scopes) then
    raise exception 'a key has no more than the rights of its user'
      using errcode = 'check_violation', constraint = 'api_keys_within_user';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION archive_part(p_bound uuid, p_manifest bytea)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  suffix text := part_suffix(p_bound); part record; low uuid := archived_bound(); why text; whole text;
begin
  lock table archived_parts in share row exclusive mode; -- one at a time
  why := archive_refusal(p_bound);
  if why is not null then raise exception 'the part is not archived: %', why using errcode = 'restrict_violation'; end if;
  select * into part from read_part(('transactions_' || suffix)::regclass, ('entries_' || suffix)::regclass, p_bound);
  if part.fault is not null then
    raise exception 'the part is not archived: %', part.fault using errcode = 'restrict_violation';
  end if;
  insert into balance_checkpoints (account, bound, seq, balance, linked)
    select e.account, p_bound, e.seq, e.balance, e.linked from last_entries(('entries_' || suffix)::regclass) e;
  perform count_part(('transactions_' || suffix)::regclass, -1);
  perform lock_parts_patiently(suffix);
  if p_bound is distinct from oldest_bound() then
    raise exception 'the part is not archived: it is not the oldest' using errcode = 'restrict_violation';
  end if;
  if (parts_state()).moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I detach partition %I', whole, whole || '_' || suffix);
    execute format('alter table %I rename to %I', whole || '_' || suffix, 'detached_' || whole || '_' || suffix);
  end loop;
  insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
    values (p_bound, part.transactions, part.entries, part.last_seq, part.last_hash, part.accounts,
      checkpoint_digest(p_bound), issue_digest(low, p_bound), p_manifest);
end $function$;

CREATE OR REPLACE FUNCTION archive_refusal(p_bound uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  until timestamptz := ms_time(id_ms(p_bound));
begin
  if p_bound is distinct from oldest_bound() then return 'it is not the oldest part that has ended'; end if;
  if mod(id_ms(p_bound), 3600000) <> 0 then return 'it does not end at a whole hour, as the sums of hours do'; end if;
  if until > ledger_now() - interval '35 days' then return 'it ended less than 35 days ago'; end if;
  if (parts_state()).moving then return 'the realm is being copied to another database'; end if;
  if exists (select from ledger_commits c, unnest(c.transactions) u(id) where u.id < p_bound) then
    return 'transactions of it wait for their links in the hash chain';
  end if;
  -- A key was claimed when its transaction was posted.
  if exists (select from idempotency i where i.transaction < p_bound and i.created_at < until + interval '1 day')
    or exists (select from idempotency_earlier i where i.transaction < p_bound and i.created_at < until + interval '1 day')
    or exists (select from batches b, unnest(b.transactions) u(id) where u.id < p_bound and b.created_at < until + interval '1 day')
    or exists (select from batches_earlier b, unnest(b.transactions) u(id) where u.id < p_bound and b.created_at < until + interval '1 day')
  then
    return 'idempotency keys are kept that name transactions of it';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION archived_bound()
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select bound from archived_parts order by bound desc limit 1
$function$;

CREATE OR REPLACE FUNCTION attach_part(p_bound uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  suffix text := part_suffix(p_bound); was archived_parts; part record; low uuid; whole text; key text;
begin
  lock table archived_parts in share row exclusive mode; -- one at a time
  select * into was from archived_parts where bound = p_bound;
  if was.bound is null or p_bound <> archived_bound() then
    raise exception 'the part that was archived last comes back first' using errcode = 'restrict_violation';
  end if;
  if to_regclass('detached_transactions_' || suffix) is null then
    raise exception 'the tables of the part were dropped' using errcode = 'restrict_violation';
  end if;
  select p.bound into low from archived_parts p where p.bound < p_bound order by p.bound desc limit 1;
  foreach whole in array array['transactions', 'entries'] loop
    key := case whole when 'transactions' then 'id' else 'transaction' end;
    perform fit_part(whole, 'detached_' || whole || '_' || suffix);
    execute format('alter table %I add constraint attached_bound check (%s%I < %L::uuid)', 'detached_' || whole || '_' || suffix,
      case when low is null then '' else format('%I >= %L::uuid and ', key, low) end, key, p_bound);
  end loop;
  select * into part from read_part(('detached_transactions_' || suffix)::regclass, ('detached_entries_' || suffix)::regclass, p_bound);
  if part.fault is null and (part.transactions, part.entries, part.last_seq, part.last_hash, part.accounts, checkpoint_digest(p_bound),
        issue_digest(low, p_bound))
      is distinct from (was.transactions, was.entries, was.last_seq, was.last_hash, was.accounts, was.checkpoints, was.issues)
    or exists (select e.account, e.seq, e.balance, e.linked from last_entries(('detached_entries_' || suffix)::regclass) e
      except select c.account, c.seq, c.balance, c.linked from balance_checkpoints c where c.bound = p_bound) then
    part.fault := 'it is not what was archived';
  end if;
  if part.fault is not null then
    raise exception 'the part does not come back: %', part.fault using errcode = 'restrict_violation';
  end if;
  perform count_part(('detached_transactions_' || suffix)::regclass, 1);
  perform lock_parts_patiently(suffix);
  if (parts_state()).moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I rename to %I', 'detached_' || whole || '_' || suffix, whole || '_' || suffix);
    execute format('alter table %I attach partition %I for values from (%s) to (%L)', whole, whole || '_' || suffix,
      coalesce(quote_literal(low), 'minvalue'), p_bound);
    execute format('alter table %I drop constraint attached_bound', whole || '_' || suffix);
  end loop;
  alter table balance_checkpoints disable trigger balance_checkpoints_append_only;
  delete from balance_checkpoints where bound = p_bound;
  alter table balance_checkpoints enable trigger balance_checkpoints_append_only;
  alter table archived_parts disable trigger archived_parts_append_only;
  delete from archived_parts where bound = p_bound;
  alter table archived_parts enable trigger archived_parts_append_only;
end $function$;

CREATE OR REPLACE FUNCTION attach_parts()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  low uuid; state record; suffix text; whole text; r record;
begin
  perform lock_parts();
  low := newest_bound();
  state := parts_state();
  if state.moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  if state.validated is not true then raise exception 'the rows of the newest part are not proven to be below a bound'; end if;
  suffix := part_suffix(state.bound);
  foreach whole in array array['transactions', 'entries'] loop
    execute format('alter table %I detach partition %I', whole, whole || '_newest');
    execute format('alter table %I rename to %I', whole || '_newest', whole || '_' || suffix);
    for r in select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = (whole || '_' || suffix)::regclass loop
      execute format('alter index %I rename to %I', r.name, replace(r.name, whole || '_newest', whole || '_' || suffix));
    end loop;
    execute format('alter table %I attach partition %I for values from (%s) to (%L)', whole, whole || '_' || suffix,
      coalesce(quote_literal(low), 'minvalue'), state.bound);
    execute format('alter table %I drop constraint newest_bound', whole || '_' || suffix);
    execute format('create table %I partition of %I for values from (%L) to (maxvalue)', whole || '_newest', whole, state.bound);
    perform sample_less((whole || '_newest')::regclass);
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
      whole || '_append_only', whole || '_newest');
    for r in select distinct pg_get_userbyid(a.grantee) as name from pg_class c, aclexplode(c.relacl) a
        where c.oid = whole::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner loop
      execute format('grant select on %I to %I', whole || '_newest', r.name);
    end loop;
  end loop;
  alter table entries_newest add primary key (account, seq);
end $function$;

CREATE OR REPLACE FUNCTION bound_parts(p_bound uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  low uuid; state record; part record;
begin
  if ledger_id(left(replace(p_bound::text, '-', ''), 12) || '7000', 1, '000000000000') is distinct from p_bound then
    raise exception 'a bound of parts is the first id of a millisecond';
  end if;
  perform lock_parts();
  low := newest_bound();
  if p_bound <= greatest(ledger_newest(), low) then
    raise exception 'a bound of parts lies in the future' using errcode = 'check_violation';
  end if;
  state := parts_state();
  if state.moving then raise exception 'the realm is being copied' using errcode = 'lock_not_available'; end if;
  if state.bound is not null then return; end if;
  for part in select * from (values ('transactions_newest', 'id'), ('entries_newest', 'transaction')) v(name, key) loop
    execute format('alter table %I add constraint newest_bound check (%s%I < %L::uuid) not valid', part.name,
      case when low is null then '' else format('%I >= %L::uuid and ', part.key, low) end, part.key, p_bound);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION chain_coin(p_chain text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case p_chain when 'ETHEREUM' then 'ETH' when 'POLYGON' then 'MATIC' when 'CELO' then 'CELO'
    when 'BSC' then 'BSC' when 'TRON' then 'TRON' when 'SOLANA' then 'SOL' end
$function$;

CREATE OR REPLACE FUNCTION check_account()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  broken text := case
    when not new.type in ('virtual', 'ramp', 'deposit', 'system') then 'type'
    when not new.decimals between 0 and 77 then 'decimals'
    when not new.currency_places between 0 and 18 then 'currency_places'
    when not jsonb_typeof(new.data) = 'object' then 'data'
    when (new.blocked >= 0 and min_scale(new.blocked) <= new.decimals) is not true then 'blocked'
    when not (new.type not in ('deposit', 'system') or new.blocked = 0) then 'unblocked'
    when not (new.linked = 0 or new.linked > 0 and new.type = 'virtual') then 'linked'
    when not new.system in ('world', 'fees') or (new.type = 'system') <> (new.system is not null) then 'system'
    when not (new.type = 'system' or new.holder is not null and new.owner is not null) then 'held'
    when not (new.frozen or new.frozen_by is null and not new.frozen_by_realm) then 'frozen_by'
    when not (not new.is_default or new.type = 'virtual') then 'default_type' end;
begin
  if broken is not null then
    broken := 'accounts_' || broken;
    raise exception 'a row of accounts breaks the rule %', broken
      using errcode = 'check_violation', constraint = broken, table = 'accounts', schema = tg_table_schema;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_address()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform 1 from ramps r join accounts k on k.id = r.account join accounts a on a.id = new.account
    where r.account = new.ramp and (r.chain, r.network) = (new.chain, new.network)
      and a.asset = new.asset and k.testnet = (r.network <> 'main')
      and (a.id = k.id and new.derivation_key = 0 or a.type = 'deposit' and a.ramp = k.id)
      and ((k.asset, k.decimals, k.testnet) = (a.asset, a.decimals, a.testnet) or not a.testnet and exists (
        select from fungible_tokens t join currencies c on c.id = t.currency
        where t.account = k.id and t.status = 'registered' and c.name = a.asset and t.decimals = a.decimals))
      and (new.target_account is null or exists (select from accounts s where s.id = new.target_account and s.type = 'virtual'
        and (s.asset, s.testnet, s.decimals) = (a.asset, a.testnet, a.decimals)));
  if not found then
    raise exception 'address % does not fit its account and its ramp', new.address
      using errcode = 'check_violation', constraint = 'addresses_fit';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_asset_once()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_asset text := case tg_table_name when 'currencies' then to_jsonb(new) ->> 'name' else to_jsonb(new) ->> 'asset' end;
  v_kind text := case tg_table_name when 'currencies' then 'currency' else 'chain' end;
begin
  insert into asset_kinds (asset, kind) values (v_asset, v_kind) on conflict do nothing;
  if not exists (select from asset_kinds k where (k.asset, k.kind) = (v_asset, v_kind)) then
    raise exception 'an asset is of a chain, or a virtual currency, and not both'
      using errcode = 'check_violation', constraint = 'currencies_asset';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_attempt()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  o chain_orders;
  fault text;
begin
  select * into o from chain_orders where id = new.order_id for update;
  if tg_op = 'INSERT' then
    fault := case
      when new.late or new.late_order_id is not null or new.seen_height is not null or new.told_height is not null then 'begins in no block'
      when o.state = 'mined' and new.hash = o.hash and not new.dropped and in_quarantine(o.ramp)
          and not exists (select 1 from order_attempts c where c.order_id = o.id)
        then null
      when o.state not in ('new', 'sent') then 'comes too late'
      when new.raw is not null or new.sent_at is not null or new.dropped then 'begins as a plan'
      when exists (select 1 from order_attempts c where c.order_id = o.id and not c.dropped
          and (o.state = 'new' or not c.inputs && new.inputs))
        then 'could be mined beside another'
    end;
  else
    fault := case
      when (new.order_id, new.attempt, new.plan, new.inputs, new.cancels, new.borne_by)
          is distinct from (old.order_id, old.attempt, old.plan, old.inputs, old.cancels, old.borne_by)
        then 'cannot be another plan'
      when old.unreadable and not new.unreadable
        then 'stays unreadable'
      when old.raw is not null and (new.raw, new.hash, new.fee, new.expires)
          is distinct from (old.raw, old.hash, old.fee, old.expires)
        then 'keeps the bytes that were stored first'
      when old.raw is null and new.raw is not null and (new.dropped or o.state not in ('planned', 'sent'))
        then 'is signed too late'
      when old.sent_at is not null and new.sent_at is distinct from old.sent_at
        then 'has left'
      when old.sent_at is null and new.sent_at is not null
          and (new.dropped or o.state not in ('signed', 'sent'))
        then 'leaves too late'
      when old.late_order_id is not null and new.late_order_id is distinct from old.late_order_id
          and not (new.late_order_id is null and not new.late and old.seen_height is null and new.seen_height is null
            and exists (select from chain_orders r where r.id = old.late_order_id and r.state = 'sent'))
        then 'is booked'
      when old.late_order_id is null and new.late_order_id is not null
          and not (new.late and new.seen_height is not null and in_quarantine(o.ramp)
            and exists (select from chain_orders r where r.id = new.late_order_id and (r.purpose = 'recovered'
                or r.purpose = 'sweep' and o.purpose = 'sweep' and (r.sender, r.contract) = (o.sender, o.contract))
              and r.state = 'mined' and r.hash = new.hash
              and (r.chain, r.network, r.ramp) = (o.chain, o.network, o.ramp)))
        then 'was not mined late'
      when old.late_order_id is null and new.late_order_id is not null and o.purpose in ('withdrawal', 'batch')
          and (o.state = 'sent' or o.state = 'mined' and o.succeeded is not false
            or o.state = 'signed' and exists (select from order_attempts c where c.order_id = o.id and not c.dropped
              and (c.expires is not null or c.sent_at is not null)))
        then 'is booked beside another that may be mined'
      when old.dropped and (new.dropped, new.proof, new.proof_by, new.proof_height, new.proof_reached)
          is distinct from (old.dropped, old.proof, old.proof_by, old.proof_height, old.proof_reached)
        then 'stays dropped'
      when new.dropped and not old.dropped
          and o.state not in ('sent', 'mined')
          and not (o.state = 'planned' and new.raw is null)
          and not (o.state in ('planned', 'signed') and in_quarantine(o.ramp))
        then 'never left'
      when new.dropped and not old.dropped and (new.seen_height is not null or exists (
          select from reserved_inputs c where c.order_id = o.id and c.consumed_by = new.hash))
        then 'was seen in a block'
      when new.dropped and not old.dropped and not coalesce(case new.proof
          when 'consumed' then cardinality(new.inputs) > 0 and not exists (
            select 1 from order_attempts c where c.order_id = o.id and c.hash = new.proof_by and not c.late)
          when 'unsigned' then new.raw is null and o.state = 'planned'
          when 'expired' then new.raw is null or new.proof_height is not null and new.proof_reached
            > coalesce((new.expires->>'height')::bigint, (new.expires->>'time')::bigint)
          when 'orphaned' then exists (
            select 1 from unnest(new.inputs) k
              join order_attempts p on p.hash = split_part(k, ':', 1)
              join chain_orders q on q.id = p.order_id
            where p.dropped or q.state in ('dropped', 'canceled')
              or (q.state in ('done', 'failed') and q.hash is distinct from p.hash)
              or exists (select from displaced_orders d where d.hash = p.hash and d.state in ('displaced', 'replaced')))
        end, false)
        then 'is not proven dropped'
    end;
  end if;
  if fault is not null then
    raise exception 'transaction % of order % %', new.attempt, new.order_id, fault
      using errcode = 'check_violation', constraint = 'order_attempts_change';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_batch()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  p uuid;
begin
  foreach p in array array_remove(array[old.batch_order_id, new.batch_order_id, case when new.purpose = 'batch' then new.id end], null) loop
    perform 1 from chain_orders o
      cross join lateral (select o.state in ('done', 'failed', 'dropped') as ended) e
      cross join lateral (
        select count(*) as members, sum(m.amount) as amount, sum(m.fee) as fee, sum(m.budget) as budget,
          sum(m.charged) as charged,
          count(*) filter (where m.state <> case when e.ended then o.state else 'batched' end) as astray
        from chain_orders m where m.batch_order_id = p) c
      where o.id = p and o.purpose in ('batch', 'recovered') and case when o.purpose = 'recovered' then true
        when o.state = 'canceled' then c.members = 0
        else c.amount = o.amount and c.budget = o.budget and c.charged = o.charged and c.astray = 0 and (not e.ended or c.fee is not distinct from o.fee) end;
    if not found then
      raise exception 'batch % does not agree with what it carries', p
        using errcode = 'check_violation', constraint = 'chain_orders_batch';
    end if;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_belonging()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from users u where u.id = new.owner) or not exists (select from identities i where i.id = new.holder) then
    raise exception 'account % belongs to nobody', new.id
      using errcode = 'foreign_key_violation', constraint = 'accounts_belong';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_captured()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from transactions t where t.id = new.transaction
      and (t.type, t.source, t.amount) = ('capture', new.account, new.captured)) then
    raise exception 'no transaction captures block %', new.id
      using errcode = 'check_violation', constraint = 'blocks_paid';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_charge_blocked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from withdrawals w join blocks b on b.id = w.block
      where w.id = new.reference_id and w.status = 'PROCESSING' and b.status <> 'OPEN') then
    raise exception 'the charge of a withdrawal stays blocked until it has ended'
      using errcode = 'check_violation', constraint = 'blocks_serving';
  end if;
  if exists (select from chain_orders o join blocks b on b.id = o.gas_block
      where o.id = new.reference_id and b.status <> 'OPEN' and o.state not in ('done', 'failed', 'dropped', 'canceled')) then
    raise exception 'the budget of an order stays blocked until it has ended'
      using errcode = 'check_violation', constraint = 'blocks_serving';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_consolidation()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if (new.id, new.account, new.chain, new.network, new.address, new.asset, new.order_id, new.owner, new.estimate)
      is distinct from (old.id, old.account, old.chain, old.network, old.address, old.asset, old.order_id, old.owner, old.estimate)
    or old.status <> 'PROCESSING' and (new.status, new.amount, new.fee, new.max_fee, new.max_fee_rate)
      is distinct from (old.status, old.amount, old.fee, old.max_fee, old.max_fee_rate) then
    raise exception 'consolidation % has ended, or is another', old.id
      using errcode = 'check_violation', constraint = 'consolidations_kept';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_credited()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from deposits d where d.id = new.id and d.transaction = new.transaction)
      and not exists (select from transactions t where t.id = new.transaction
        and (t.type, t.destination, t.amount, t.seal) = ('deposit', new.account, new.credited,
          jsonb_build_object('chain', new.chain, 'network', new.network, 'hash', new.hash, 'index', new.index))) then
    raise exception 'transaction % does not credit deposit %', new.transaction, new.id
      using errcode = 'check_violation', constraint = 'deposits_backed';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_currency_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not is_circulating(new.name) then return new; end if;
  raise exception 'currency % cannot be deleted: value of it is in circulation', new.name
    using errcode = 'check_violation', constraint = 'currencies_deletable';
end $function$;

CREATE OR REPLACE FUNCTION check_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  tie text := account_ties(new.id);
begin
  if tie is null or new.type = 'system' then return new; end if;
  raise exception 'account % cannot be deleted: %', new.id, tie
    using errcode = 'check_violation', constraint = 'accounts_deletable';
end $function$;

CREATE OR REPLACE FUNCTION check_deposit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  fault text;
begin
  if tg_op = 'INSERT' then
    fault := 'is seen before it is booked';
  elsif tg_op = 'DELETE' then
    fault := 'was booked';
  elsif (new.chain, new.network, new.hash, new.index, new.address, new.asset, new.amount)
      is distinct from (old.chain, old.network, old.hash, old.index, old.address, old.asset, old.amount)
      or new.contract is distinct from old.contract then
    fault := 'stays what was seen';
  elsif old.status = 'CONFIRMED' then
    if ((new.status, new.account, new.credited) is distinct from (old.status, old.account, old.credited)
        or new.transaction is distinct from old.transaction) and not (new.status in ('PENDING', 'ORPHANED')
          and new.credited is null and new.transaction is null and watches_addresses(old.account)
          and exists (select from addresses o
            where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)))
      then fault := 'was booked'; end if;
  elsif new.status = 'CONFIRMED' then
    fault := case
      when new.block is null then 'is in no block'
      when exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)
          and not is_derived(o.address, o.derivation_key, o.ramp))
        then 'came to an address that no worker has derived'
      when exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address)
          and o.account <> new.account and not exists (select from fungible_tokens t join currencies c on c.id = t.currency
            where (t.account, t.contract, c.account) = (o.ramp, new.contract, new.account) and t.status = 'registered'))
        then 'came to the address of another account'
      when not exists (select from addresses o where (o.chain, o.network, o.address) = (new.chain, new.network, new.address))
        and not exists (select from external_addresses e
          where (e.chain, e.network, e.address, e.account) = (new.chain, new.network, new.address, new.account))
        then 'came to no address of its account'
    end;
  end if;
  if fault is not null then
    raise exception 'deposit % %', coalesce(old.id, new.id), fault using errcode = 'check_violation', constraint = 'deposits_booked';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_deposit_booked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from (select * from deposits where transaction = new.id offset 0) d
      where d.status = 'CONFIRMED' and d.account = new.destination and d.credited = new.amount
        and new.seal = jsonb_build_object('chain', d.chain, 'network', d.network, 'hash', d.hash, 'index', d.index)) then
    raise exception 'no deposit stands behind transaction %', new.id
      using errcode = 'check_violation', constraint = 'transactions_deposit';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_displaced()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if tg_op = 'INSERT' then
    perform 1 from chain_orders o join order_attempts k on k.hash = new.hash and o.id in (k.order_id, k.late_order_id)
    where o.id = new.order_id and (o.chain, o.network, o.ramp) = (new.chain, new.network, new.ramp)
      and (o.state = 'done' or o.state = 'failed' and o.hash = new.hash and not k.cancels);
    if not found then
      raise exception '% is no transaction of an order that is done, or failed with it', new.hash
        using errcode = 'check_violation', constraint = 'displaced_orders_done';
    end if;
    new.done := exists (select from chain_orders o where o.id = new.order_id and o.state = 'done');
  elsif (new.hash, new.order_id, new.chain, new.network, new.ramp, new.done) is distinct from
      (old.hash, old.order_id, old.chain, old.network, old.ramp, old.done)
    or old.told_at is not null and (new.told_at is null or new.told_at < old.told_at) then
    raise exception 'that the chain lost % cannot be of another, nor be untold', old.hash
      using errcode = 'check_violation', constraint = 'displaced_orders_stay';
  end if;
  if new.state in ('displaced', 'replaced', 'succeeded') and not exists (select from chain_orders o
      where o.id = new.order_id and o.state = case new.state when 'succeeded' then 'failed' else 'done' end) then
    raise exception '% cannot be %, as its order has ended otherwise', new.hash, new.state
      using errcode = 'check_violation', constraint = 'displaced_orders_outcome';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_forgotten()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from chain_orders o where o.id = new.order_id and (in_quarantine(o.ramp) or exists (
      select from chain_cursors c where (c.chain, c.network) = (o.chain, o.network)
        and (c.height < old.seen_height or c.height >= new.seen_height)))) then
    raise exception 'block % has transaction % of order %', old.seen_height, new.attempt, new.order_id
      using errcode = 'check_violation', constraint = 'order_attempts_forgotten';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_gas_held()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from chain_orders o where o.id = new.id and o.state not in ('done', 'failed', 'dropped', 'canceled')
      and (o.gas_block is not null or is_paid_by_ramp(o)) and not exists (
        select from blocks b join accounts k on k.id = b.account
        where b.id = o.gas_block and b.status = 'OPEN' and (b.reference_id, b.account) = (o.id, o.ramp)
          and (o.purpose = 'fill' or b.amount * ('1e' || k.decimals)::numeric
            >= o.budget + case o.purpose when 'gas' then coalesce(o.amount, 0) else 0 end))) then
    raise exception 'the budget of order % is not blocked on the account of its ramp', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_gas_held';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_kept()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from displaced_orders d where d.hash = old.kept and d.state in ('displaced', 'replaced', 'returned')) then
    raise exception 'coin %:% was spent by %, which is done, and nobody was told that the chain has lost it', old.hash, old.index, old.kept
      using errcode = 'check_violation', constraint = 'coins_kept';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_late()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if new.late and not is_given_up(new) or not new.late and new.seen_height is not null then
    raise exception 'transaction % of order % % given up', new.attempt, new.order_id,
        case when new.late then 'was not' else 'is in a block, and was' end
      using errcode = 'check_violation', constraint = 'order_attempts_given_up';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_nonce()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  last integer := case when tg_op = 'INSERT' then 0 else old.next end;
begin
  if new.next > last + 1 then
    if not exists (select 1 from addresses a join ramps r on r.account = a.ramp
        where a.chain = new.chain and a.network = new.network and a.address = new.address
          and r.quarantined is not null) then
      raise exception 'nonces of % cannot go from % to %', new.address, last, new.next
        using errcode = 'check_violation', constraint = 'nonces_step';
    end if;
    new.floor := new.next;
  end if;
  if new.next < last and (exists (select 1 from (
        select chain, network, input from reserved_inputs where split_part(input, ':', 1) = new.address offset 0) k
      where k.chain = new.chain and k.network = new.network and split_part(k.input, ':', 2)::integer >= new.next)
      or exists (select 1 from chain_orders o join order_attempts c on c.order_id = o.id and c.raw is not null
        where o.chain = new.chain and o.network = new.network and o.sender = new.address
          and o.nonce >= new.next)) then
    raise exception 'nonces of % are in use from % on', new.address, new.next
      using errcode = 'check_violation', constraint = 'nonces_step';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_order()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  demand text;
  fault text;
begin
  if tg_op = 'INSERT' then
    if (new.state <> 'new' or new.hash is not null or new.height is not null or new.batch_order_id is not null)
      and not (new.state = 'mined' and new.purpose in ('sweep', 'deploy', 'recovered') and in_quarantine(new.ramp)) then
      raise exception 'order % does not begin as new', new.id
        using errcode = 'check_violation', constraint = 'chain_orders_transition';
    end if;
    return new;
  end if;
  fault := case
    when (new.id, new.chain, new.network, new.ramp, new.purpose, new.sender, new.request, new.contract)
        is distinct from
        (old.id, old.chain, old.network, old.ramp, old.purpose, old.sender, old.request, old.contract)
      or new.reference_id is distinct from old.reference_id or new.budget_contract is distinct from old.budget_contract
      then 'cannot be for something else'
    when new.schedule_version < old.schedule_version then 'cannot have a lower schedule version'
    when new.sped_up_at is distinct from old.sped_up_at
        and not coalesce(new.sped_up_at > coalesce(old.sped_up_at, -1), false)
      then 'is sped up once a block'
    when new.sped_up_at is distinct from old.sped_up_at and old.state = 'sent' and coalesce((
        select c.unreadable from order_attempts c where c.order_id = new.id and not c.dropped
        order by c.attempt desc limit 1), false)
      then 'has a transaction that nothing can replace'
    when new.purpose in ('withdrawal', 'batch') and new.batch_order_id is null and old.batch_order_id is null
        and (new.charged, new.budget) is distinct from (old.charged, old.budget) and new.budget is not null
        and (new.sped_up_at is not distinct from old.sped_up_at or new.charged < old.charged
          or new.budget < old.budget)
      then 'is charged more only where it is sped up'
    when new.nonce is distinct from old.nonce and exists (
        select 1 from order_attempts c where c.order_id = new.id and not c.dropped
          and c.inputs <> array[new.sender || ':' || new.nonce])
      then 'cannot change the nonce of its transactions'
    when old.state in ('done', 'failed', 'dropped', 'canceled')
        and (new.nonce, new.hash, new.height, new.block_hash, new.fee, new.refund, new.amount, new.batch_order_id)
          is distinct from (old.nonce, old.hash, old.height, old.block_hash, old.fee, old.refund, old.amount, old.batch_order_id)
      then 'has ended'
    when old.refund_transaction is not null and new.refund_transaction is distinct from old.refund_transaction
      then 'has booked its refund'
  end;
  if fault is not null then
    raise exception 'order % %', new.id, fault
      using errcode = 'check_violation', constraint = 'chain_orders_fixed';
  end if;
  if new.state = old.state then return new; end if;
  new.state_at := now();
  -- What the scan takes back, or did not find, is noted of orders that have ended before.
  if new.state in ('done', 'failed') and was_scanned_without(new.chain, new.network, new.height, new.block_hash) then
    raise exception 'order % cannot end in block %, which was scanned without its transaction', new.id, new.height
      using errcode = 'check_violation', constraint = 'chain_orders_scanned';
  end if;
  if new.state in ('failed', 'dropped') and in_quarantine(new.ramp) then
    raise exception 'order % does not end unpaid while its ramp is in quarantine', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_quarantined';
  end if;
  if new.state = 'canceled' and new.purpose = 'withdrawal' and new.nonce is not null and new.hash is not null
      and not in_quarantine(new.ramp) and not may_discard(new.ramp, new.reference_id) then
    raise exception 'order % was signed, and too many such were canceled within a day', new.id
      using errcode = 'check_violation', constraint = 'chain_orders_discarded';
  end if;
  select t.demands into demand from order_transitions t
  where t.before = old.state and t.after = new.state;
  if demand is null
    or shows_demand(new, demand, coalesce(new.batch_order_id, old.batch_order_id)) is not true then
    raise exception 'order % cannot become % from %: %', new.id, new.state, old.state,
        coalesce('nothing shows ' || demand, 'there is no such change')
      using errcode = 'check_violation', constraint = 'chain_orders_transition';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_order_reason()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  pay jsonb := jsonb_build_object('kind', 'pay', 'from', new.sender, 'contract', nullif(new.contract, ''));
  justified boolean;
begin
  justified := case new.purpose
    when 'withdrawal' then exists (select from withdrawals w join accounts k on k.id = w.ramp
      where w.id = new.reference_id and w.order_id = new.id and case w.status when 'PROCESSING' then true end
        and (w.chain, w.network, w.sender, coalesce(w.contract, '')) = (new.chain, new.network, new.sender, new.contract)
        and k.asset = w.asset
        and (w.ramp = new.ramp and k.testnet = (w.network <> 'main') or not k.testnet and exists (
          select from fungible_tokens t join currencies c on c.id = t.currency
          where t.account = new.ramp and t.status = 'registered' and (c.name, t.contract, t.chain, t.network)
            = (w.asset, w.contract, w.chain, w.network)))
        and new.request = pay || jsonb_build_object('payments', jsonb_build_array(jsonb_build_object('to', w.destination,
          'amount', trim_scale(w.amount * ('1e' || k.decimals)::numeric)::text))))
    when 'batch' then new.request - 'payments' = pay and (
      select jsonb_agg(p order by p::text) from jsonb_array_elements(new.request -> 'payments') p) = (
      select jsonb_agg(p order by p::text) from chain_orders m, jsonb_array_elements(m.request -> 'payments') p
      where m.batch_order_id = new.id and (m.ramp, m.chain, m.network, m.sender, m.contract)
        = (new.ramp, new.chain, new.network, new.sender, new.contract))
    when 'fill' then new.request = jsonb_build_object('kind', 'noop', 'from', new.sender)
    when 'deploy' then new.request ->> 'kind' = 'deploy' and new.request ->> 'from' = new.sender
      and exists (select from fungible_tokens t where (t.id, t.order_id, t.account) = (new.reference_id, new.id, new.ramp))
    else new.request - 'payments' - 'feePayer' - 'closesNothing' = pay
      and not exists (select from jsonb_array_elements(new.request -> 'payments') p where (
        select true from (select ramp, chain, network from addresses where address = p ->> 'to' offset 0) a
        where (a.ramp, a.chain, a.network) = (new.ramp, new.chain, new.network) limit 1) is null)
  end;
  if justified is not true or not exists (select from addresses a
      where (a.ramp, a.chain, a.network, a.address) = (new.ramp, new.chain, new.network, new.sender)
        and (a.account = a.ramp or new.purpose in ('sweep', 'fill'))) then
    raise exception 'nothing justifies order % for a %', new.id, new.purpose
      using errcode = 'check_violation', constraint = 'chain_orders_reason';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_ramp_transfer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if new.state <> 'new' or new.doubtful or new.claims <> '[]' or coalesce(new.asked_at::text, new.reference, new.claimed, new.hash) is not null
    or coalesce(new.deposit, new.withdrawal) is not null then
    raise exception 'a transfer begins as new' using errcode = 'check_violation', constraint = 'ramp_transfers_new';
  end if;
  if new.created_at > clock_timestamp() + interval '1 minute' then
    raise exception 'the transfer is of the future' using errcode = 'check_violation', constraint = 'ramp_transfers_dated';
  end if;
  if new.kind = 'deposit' and not exists (select from addresses a
      where (a.chain, a.network, a.address) = (new.chain, new.network, new.address)
      and new.account in (a.account, a.target_account)) then
    raise exception 'the address is not the account''s' using errcode = 'check_violation', constraint = 'ramp_transfers_ours';
  end if;
  if new.kind = 'withdraw' and not exists (select from blocks b where b.id = new.block and b.status = 'OPEN'
      and (b.account, b.amount, b.reference_id) = (new.account, new.value, new.id)) then
    raise exception 'the value is not blocked' using errcode = 'check_violation', constraint = 'ramp_transfers_held';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_refund_booked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform 1 from accounts s where s.id = new.source and s.system = 'world';
  if found and not exists (select from chain_orders o join accounts s on s.id = new.source
      where o.refund_transaction = new.id and o.state = 'done'
        and o.refund = new.amount * ('1' || repeat('0', s.decimals::integer))::numeric) then
    raise exception 'no refund stands behind transaction %', new.id
      using errcode = 'check_violation', constraint = 'transactions_refund';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_refund_named()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from transactions t where t.id = new.refund_transaction and t.type = 'return') then
    raise exception 'no transaction %', new.refund_transaction
      using errcode = 'foreign_key_violation', constraint = 'chain_orders_refund';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_reserved_input()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  -- By the transaction, because an index of the network's coins costs as little while there are none.
  if exists (select 1 from (select chain, network, index, kept from coins where hash = split_part(new.input, ':', 1) offset 0) c
      where c.chain = new.chain and c.network = new.network and c.index::text = split_part(new.input, ':', 2)
      and c.kept is not null and not exists (select 1 from order_attempts k
        where k.order_id = new.order_id and k.hash = c.kept))
      and not exists (select 1 from chain_orders o where o.id = new.order_id and in_quarantine(o.ramp)) then
    raise exception '% was spent by a payment that is done', new.input
      using errcode = 'check_violation', constraint = 'coins_kept';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_served_chain()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  fine boolean := current_user <> tg_table_schema;
begin
  if fine then return new; end if;
  if tg_table_name = 'onchain_balances' then
    fine := new.amount = 0 and coalesce(new.nonce, 0) = 0 and new.height <= (select c.height from chain_cursors c
      where (c.chain, c.network) = (new.chain, new.network));
  elsif tg_op = 'UPDATE' then
    fine := new.next_index = old.next_index + 1 and is_confirmed();
  else
    fine := is_confirmed() and new.number = greatest(coalesce((select a.numbers_from from attestations a), 0),
      (select coalesce(max(r.number) + 1, 0) from ramps r where (r.chain, r.network) = (new.chain, new.network)));
  end if;
  if fine is not true then
    raise exception 'this row of % is the worker''s to write', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_served_input()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if current_user <> tg_table_schema or (tg_op = 'INSERT' and exists (
      select from (select purpose, state, chain, network, sender, nonce from chain_orders where id = new.order_id offset 0) o
      where o.purpose = 'fill' and o.state = 'new' and (o.chain, o.network) = (new.chain, new.network)
      and new.input = o.sender || ':' || o.nonce))
    or (tg_op = 'DELETE' and exists (select from chain_orders o where o.id = old.order_id
      and o.state in ('done', 'failed', 'dropped', 'canceled'))) then
    return case tg_op when 'INSERT' then new else old end;
  end if;
  raise exception 'order % has not ended', coalesce(new.order_id, old.order_id) using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION check_served_order()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if current_user <> tg_table_schema or (case when tg_op = 'INSERT'
      then new.purpose in ('withdrawal', 'fill', 'deploy', 'consolidation') and new.state = 'new'
          and (new.purpose <> 'fill' or leaves_nonce(new))
      else (new.state = old.state or new.state = 'canceled' and is_attested() and is_confirmed() and not in_quarantine(new.ramp))
          and (new.hash, new.height, new.batch_order_id, new.confirmations)
          is not distinct from (old.hash, old.height, old.batch_order_id, old.confirmations)
        or old.state = 'batched' and new.state = 'new' and (new.hash, new.height, new.batch_order_id) is null end) then
    return new;
  end if;
  raise exception 'order % for a % is the worker''s to write', new.id, new.purpose using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION check_sponsored()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from chain_orders o
      cross join lateral (select exists (select from fungible_tokens t
        where t.account = o.ramp and t.contract = o.contract) as own) q
      where o.id = new.order_id and o.contract <> '' and not is_sponsor(o.ramp, new.owner)
        and not (new.sponsored and may_be_sponsored(new.sender, new.owner, q.own, new.id))) then
    raise exception 'ramp % pays for too many withdrawals of others today', new.sender
      using errcode = 'check_violation', constraint = 'withdrawals_sponsored';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_stock()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from reserved_addresses r where r.address = new.address and r.ramp = new.ramp
    and r.derivation_key = new.derivation_key) then
    raise exception 'no worker has derived this address'
      using errcode = 'check_violation', constraint = 'addresses_stock';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_sweep()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  fault text;
begin
  fault := case
    when tg_op = 'INSERT' and (new.state in ('done', 'failed') or new.ahead <> 0 or new.borne <> 0
        or num_nonnulls(new.amount, new.arrived, new.fee) > 0)
      then 'begins with nothing carried'
    when tg_op = 'UPDATE' and (new.id, new.account, new.ramp, new.chain, new.network, new.beside)
        is distinct from (old.id, old.account, old.ramp, old.chain, old.network, old.beside)
      then 'stays that of its account'
    when tg_op = 'UPDATE' and old.state in ('done', 'failed')
        and (new.state, new.order_id, new.arrived, new.fee) is distinct from (old.state, old.order_id, old.arrived, old.fee)
      then 'has ended'
    when new.order_id is not null and not exists (select from chain_orders o where o.id = new.order_id
        and (o.purpose, o.reference_id, o.ramp, o.chain, o.network) = ('sweep', new.id, new.ramp, new.chain, new.network))
      or new.gas_order is not null and not exists (select from chain_orders o where o.id = new.gas_order
        and (o.purpose, o.reference_id, o.ramp, o.chain, o.network) = ('gas', new.id, new.ramp, new.chain, new.network))
      then 'has another''s order'
  end;
  if fault is not null then
    raise exception 'sweep % %', new.id, fault using errcode = 'check_violation', constraint = 'sweeps_kept';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_sweep_owed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.state in ('done', 'failed') and (new.ahead > old.ahead or new.borne > old.borne) or new.state = 'failed'
    and old.state <> 'failed' and new.ahead > 0 and not exists (
      select from chain_orders o join accounts a on a.id = new.account
      where o.id = new.order_id and o.state = 'failed' and new.ahead * ('1e' || a.decimals)::numeric <= o.fee - coalesce((
        select sum(g.amount) from chain_orders g
        where g.reference_id = new.id and g.purpose = 'gas' and g.id > o.id and g.state = 'done'), 0)) then
    raise exception 'the account of sweep % is owed less for it', new.id
      using errcode = 'check_violation', constraint = 'sweeps_owed';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_taken_back()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from transaction_reverts t where t.reverts = old.transaction) then
    raise exception 'deposit % was booked, and is not taken back', old.id
      using errcode = 'check_violation', constraint = 'deposits_taken_back';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_token_kept()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if (new.id, new.account, new.chain, new.network, new.symbol, new.decimals, new.supply, new.external, new.owner)
      is distinct from (old.id, old.account, old.chain, old.network, old.symbol, old.decimals, old.supply, old.external, old.owner)
    or old.contract is not null and new.contract is distinct from old.contract
    or old.currency is not null and new.currency is distinct from old.currency
    or new.status <> old.status and (old.status, new.status) not in
      (('pending', 'deployed'), ('pending', 'failed'), ('deployed', 'registered')) then
    raise exception 'token % is another', old.id using errcode = 'check_violation', constraint = 'fungible_tokens_kept';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_token_new()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if is_coin(new.chain, new.contract) then
    raise exception 'token % is the coin of its chain', new.id
      using errcode = 'check_violation', constraint = 'fungible_tokens_coin';
  end if;
  if new.status <> 'pending' or new.currency is not null then
    raise exception 'token % does not begin as pending', new.id
      using errcode = 'check_violation', constraint = 'fungible_tokens_begin';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_token_supply()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from fungible_tokens t join currencies c on c.id = t.currency
      where t.status = 'registered' and c.supply > t.supply
        and case tg_table_name when 'currencies' then c.id = new.id else t.id = new.id end) then
    raise exception 'more would be issued than there is of the token'
      using errcode = 'check_violation', constraint = 'currencies_backed';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_unconsumed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from chain_orders o where o.id = old.order_id and in_quarantine(o.ramp))
      and not exists (select from chain_cursors c where (c.chain, c.network) = (old.chain, old.network)
        and c.height < old.consumed_height) then
    raise exception 'block % shows that % used up %', old.consumed_height, old.consumed_by, old.input
      using errcode = 'check_violation', constraint = 'reserved_inputs_forgotten';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_unmade()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from order_attempts c join chain_orders o on o.id = c.order_id
      where c.hash = old.hash and not c.dropped and o.state <> 'canceled'
        and (o.state not in ('done', 'failed') or o.hash = c.hash)
        and not exists (select from displaced_orders d where d.hash = c.hash and d.state in ('displaced', 'replaced'))) then
    raise exception 'transaction % may still be', old.hash
      using errcode = 'check_violation', constraint = 'coins_unmade';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_withdrawal()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  fault text;
begin
  if tg_op = 'INSERT' then
    fault := 'begins as asked for';
  elsif (old.account, old.ramp, old.chain, old.network, old.sender, old.destination, old.asset, old.value, old.amount,
      old.paid_by, old.order_id) is distinct from (new.account, new.ramp, new.chain, new.network, new.sender,
      new.destination, new.asset, new.value, new.amount, new.paid_by, new.order_id)
      or new.contract is distinct from old.contract or new.transaction is distinct from old.transaction then
    fault := 'stays what was asked for';
  elsif new.max_fee is distinct from old.max_fee and (new.max_fee > old.max_fee) is not true then
    fault := 'keeps the bound of its fees, unless that is raised';
  elsif new.found_order_id is not null and new.found_order_id is distinct from old.found_order_id
      and not exists (select from chain_orders f join chain_orders o on o.id = new.order_id and o.ramp = f.ramp
          cross join lateral (select f.request -> 'payments' -> new.found_payment as paid) p
        where f.id = new.found_order_id and case f.purpose when 'recovered' then true end
          and p.paid ->> 'order' is null and coalesce((p.paid ->> 'withdrawal')::uuid, new.id) = new.id
          and (p.paid ->> 'withdrawal' is not null or f.state = 'done')
          and p.paid ->> 'contract' is not distinct from new.contract
          and coalesce(p.paid ->> 'whole', p.paid ->> 'amount') = o.request -> 'payments' -> 0 ->> 'amount'
          and p.paid ->> 'to' in (new.destination, o.request -> 'payments' -> 0 ->> 'to')) then
    fault := 'was not paid by that';
  elsif new.status = old.status then
    return new;
  elsif old.status <> 'PROCESSING' then
    fault := 'has ended';
  elsif current_user = tg_table_schema and new.status <> 'CANCELED' then
    fault := 'is ended by workers';
  elsif not exists (select from chain_orders o where o.id = new.order_id
      and o.state = any (case new.status when 'DONE' then array['done', 'canceled'] else array['canceled', 'failed', 'dropped'] end)) then
    fault := 'may still be paid';
  end if;
  if fault is not null then
    raise exception 'withdrawal % %', new.id, fault using errcode = 'check_violation', constraint = 'withdrawals_ended';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_withdrawal_covered()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not exists (select from withdrawals w where w.id = new.id and (w.status <> 'PROCESSING' or exists (
      select from blocks b where b.id = w.block and b.status = 'OPEN'
        and (b.reference_id, b.account, b.amount) = (w.id, w.ramp, w.charged)))) then
    raise exception 'withdrawal % is not covered', new.id
      using errcode = 'check_violation', constraint = 'withdrawals_covered';
  end if;
  if tg_op = 'INSERT' and new.transaction is not null and not exists (select from transactions t where t.id = new.transaction
      and (t.type, t.source, t.destination, t.amount) = ('withdrawal', new.account, new.ramp, new.charged)) then
    raise exception 'no transaction brought the charge of withdrawal % to its ramp', new.id
      using errcode = 'check_violation', constraint = 'withdrawals_funded';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_write_off()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  m record;
begin
  select * into m from missing_of(new.asset, new.testnet);
  if (new.amount <= m.amount and (new.drift, new.height) = (m.drift, m.height) and m.fresh and not m.provisional) is not true
      or new.position is distinct from m.position then
    raise exception 'transaction % takes more out of the books than is missing', new.transaction
      using errcode = 'check_violation', constraint = 'write_offs_missing';
  end if;
  if not exists (select from transactions t where t.id = new.transaction and t.type = 'fee'
      and (t.asset, t.testnet, t.amount, t.created_at) = (new.asset, new.testnet, new.amount, new.created_at)
      and t.seal - 'reason' = write_off_seal(new)) then
    raise exception 'transaction % does not say what it books', new.transaction
      using errcode = 'check_violation', constraint = 'write_offs_transaction';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION checkpoint_digest(p_bound uuid)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  select sha256(coalesce(string_agg(q.digest, ''::bytea order by q.accounts collate "C"), ''::bytea)) from (
    select left(c.account::text, 3) as accounts, sha256(convert_to(string_agg(
      concat_ws(' ', c.account, c.seq, trim_scale(c.balance), trim_scale(c.linked)) || chr(10), '' order by c.account), 'UTF8')) as digest
    from balance_checkpoints c where c.bound = p_bound group by 1) q
$function$;

CREATE OR REPLACE FUNCTION claim_key(p_key uuid, p_fingerprint uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  v_table oid;
begin
  insert into idempotency (key, fingerprint)
    select p_key, p_fingerprint where not exists (select from idempotency_earlier e where e.key = p_key)
    on conflict do nothing returning tableoid into v_table;
  if v_table is null then return false; end if;
  if not exists (select from pg_catalog.pg_class c where c.oid = v_table and c.relname = 'idempotency') then
    raise exception 'the kept answers were exchanged after the snapshot' using errcode = 'serialization_failure';
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION count_changed_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if new.owner is not null then
    insert into row_counts (collection, owner, living, dead)
      select tg_table_name, x.owner, case when new.deleted_at is null then 1 else -1 end,
        case when new.deleted_at is null then -1 else 1 end
      from (values (new.owner), ('00000000-0000-0000-0000-000000000000'::uuid)) x(owner);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION count_discarded(p_ramp uuid, p_reference uuid, OUT own bigint, OUT whole bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  asking uuid := (select owner from withdrawals where id = p_reference);
  asking_root uuid := (select root from users where id = asking);
begin
  select count(*) filter (where w.owner = asking or u.root = asking_root), count(*)
  into own, whole
  from chain_orders o join withdrawals w on w.id = o.reference_id left join users u on u.id = w.owner
  where o.ramp = p_ramp and o.state = 'canceled' and o.purpose = 'withdrawal' and o.nonce is not null
    and o.hash is not null and o.updated_at > now() - interval '1 day';
end $function$;

CREATE OR REPLACE FUNCTION count_moved_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into row_counts (collection, owner, living, dead)
    select tg_table_name, x.owner, x.living, 0 from (values (old.owner, -1),
      (case when tg_op = 'DELETE' then '00000000-0000-0000-0000-000000000000'::uuid else new.owner end,
        case when tg_op = 'DELETE' then -1 else 1 end)) x(owner, living)
    where x.owner is not null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION count_new_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into row_counts (collection, owner, living, dead)
    select tg_table_name, coalesce(f.owner, '00000000-0000-0000-0000-000000000000'), count(*), 0
    from fresh f where f.owner is not null or tg_table_name in ('deposits', 'withdrawals')
    group by grouping sets ((f.owner), ()) having count(*) > 0 and (f.owner is not null or grouping(f.owner) = 1);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION count_part(p_transactions regclass, p_sign integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format($q$insert into row_counts (collection, owner, living, dead)
    select 'transactions', t.owner, $1 * count(*), 0 from %s t where t.owner is not null group by t.owner$q$, p_transactions)
    using p_sign;
end $function$;

CREATE OR REPLACE FUNCTION currencies_differ()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if reads_like_anothers(new.name, new.owner) then
    raise exception 'this name reads like that of another user''s currency'
      using errcode = 'check_violation', constraint = 'currencies_likeness';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION database_ms()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select trunc(extract(epoch from clock_timestamp()) * 1000)::bigint
$function$;

CREATE OR REPLACE FUNCTION database_place()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select oid::text || ' ' || datname from pg_database where datname = current_database() $function$;

CREATE OR REPLACE FUNCTION digested_columns(p_table text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case p_table
    when 'users' then array['verifier']
    when 'api_keys' then array['digest']
    when 'second_factors' then array['secret', 'recovery']
    when 'ramps' then array['xpub']
    when 'addresses' then array['xpub']
    when 'reserved_addresses' then array['address']
    when 'external_ramps' then array['credentials']
    else '{}' end
$function$;

CREATE OR REPLACE FUNCTION discard_job(p_id uuid, p_by uuid, p_reason text)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  with discarded as (
    update jobs set state = 'discarded', discarded_by = p_by, discard_reason = p_reason, finished_at = now()
    where id = p_id and state = 'dead' returning id)
  select exists (select from discarded)
$function$;

CREATE OR REPLACE FUNCTION doubt_ramp_transfers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  update ramp_transfers t set doubtful = true
  where t.state = 'new' and not t.doubtful and (t.chain, t.network) = (new.chain, new.network);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION drop_part(p_bound uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from archived_parts where bound = p_bound) then
    raise exception 'the part is not archived' using errcode = 'restrict_violation';
  end if;
  execute format('drop table if exists %I, %I', 'detached_transactions_' || part_suffix(p_bound),
    'detached_entries_' || part_suffix(p_bound));
end $function$;

CREATE OR REPLACE FUNCTION earlier_kept()
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$select true$function$;

CREATE OR REPLACE FUNCTION entry_before(p_account uuid, p_bound uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  low bigint;
  v_bound uuid;
  high bigint;
  middle bigint;
begin
  select c.seq, c.bound into low, v_bound from balance_checkpoints c where c.account = p_account order by c.bound desc limit 1;
  if id_ms(p_bound) < id_ms(v_bound) - 1 then return null; end if;
  low := coalesce(low, 0);
  select seq + 1 into high from accounts where id = p_account;
  while high - low > 1 loop
    middle := (low + high) / 2;
    if exists (select from entries e where e.account = p_account and e.seq = middle and e.transaction <= p_bound)
      then low := middle; else high := middle; end if;
  end loop;
  return low;
end $function$;

CREATE OR REPLACE FUNCTION estimated_rows(p_table regclass)
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select (pg_relation_size(c.oid) * case when c.relpages > 0 and c.reltuples >= 0
      then c.reltuples / (c.relpages * current_setting('block_size')::float8) else 1 / 96.0 end)::bigint
    from pg_class c where c.oid = p_table
$function$;

CREATE OR REPLACE FUNCTION facts_of(p_table text, p_row jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select jsonb_strip_nulls(p_row - untold_columns(p_table) || coalesce(
    (select jsonb_object_agg(d, encode(sha256(convert_to(p_row ->> d, 'UTF8')), 'hex'))
      from unnest(digested_columns(p_table)) d where p_row is not null), '{}'))
$function$;

CREATE OR REPLACE FUNCTION fit_part(p_whole text, p_part text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  r record; gone text; given text; before text := 'the part does not come back as it is, because the ledger was migrated: ';
begin
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into gone from pg_attribute a
    where a.attrelid = p_part::regclass and a.attnum > 0 and not a.attisdropped and not exists (
      select from pg_attribute w where w.attrelid = p_whole::regclass and w.attname = a.attname and w.attnum > 0 and not w.attisdropped);
  if gone is not null then
    raise exception '%it has no % any more. Where what the part has there may go, drop it from %', before, gone, p_part
      using errcode = 'restrict_violation';
  end if;
  for r in
    select w.attname as name, format_type(w.atttypid, w.atttypmod) as type, w.attnotnull, w.attgenerated <> '' or w.attidentity <> '' as made,
      case when w.attcollation <> y.typcollation then ' collate ' || w.attcollation::regcollation else '' end as collation,
      pg_get_expr(d.adbin, d.adrelid) as preset, a.attnum is null as missing, coalesce(a.attnotnull, false) as filled,
      (a.atttypid, a.atttypmod, a.attcollation) is distinct from (w.atttypid, w.atttypmod, w.attcollation) as differs
    from pg_attribute w join pg_type y on y.oid = w.atttypid
    left join pg_attrdef d on d.adrelid = w.attrelid and d.adnum = w.attnum
    left join pg_attribute a on a.attrelid = p_part::regclass and a.attname = w.attname and not a.attisdropped
    where w.attrelid = p_whole::regclass and w.attnum > 0 and not w.attisdropped order by w.attnum
  loop
    if r.missing then
      -- What the rows of other parts have had of it since it was added; null where they were given nothing.
      select (m.attmissingval::text::text[])[1] into given from pg_inherits i join pg_attribute m on m.attrelid = i.inhrelid
        where i.inhparent = p_whole::regclass and m.attname = r.name and m.atthasmissing limit 1;
      if r.made or given is null and (r.preset is not null or r.attnotnull) then
        raise exception '%which % its rows have is not known. Add it to % with what they are to have', before, quote_ident(r.name), p_part
          using errcode = 'restrict_violation', hint = format('alter table %I add column %I %s', p_part, r.name, r.type);
      end if;
      execute format('alter table %I add column %I %s%s%s', p_part, r.name, r.type, r.collation,
        case when given is null then '' else format(' default %L', given) end);
      execute format('alter table %I alter column %I %s', p_part, r.name, coalesce('set default ' || r.preset, 'drop default'));
    elsif r.differs then
      raise exception '%its % is of the type %. Give the column of % that type', before, quote_ident(r.name), r.type, p_part
        using errcode = 'restrict_violation';
    end if;
    if r.attnotnull and not r.filled then execute format('alter table %I alter column %I set not null', p_part, r.name); end if;
  end loop;
  for r in
    select w.conname as name, pg_get_constraintdef(w.oid) as told, k.oid is not null as there from pg_constraint w
    left join pg_constraint k on k.conrelid = p_part::regclass and k.conname = w.conname
    where w.conrelid = p_whole::regclass and w.contype = 'c' and pg_get_constraintdef(k.oid) is distinct from pg_get_constraintdef(w.oid)
  loop
    if r.there then execute format('alter table %I drop constraint %I', p_part, r.name); end if;
    execute format('alter table %I add constraint %I %s', p_part, r.name, r.told);
  end loop;
  -- Made before the ledger is locked, which would otherwise wait for it.
  for r in
    select i.indisunique, substring(pg_get_indexdef(i.indexrelid) from ' USING .*$') as told from pg_index i
    where i.indrelid = p_whole::regclass and not exists (
      select from pg_index k where k.indrelid = p_part::regclass and k.indisunique = i.indisunique
        and substring(pg_get_indexdef(k.indexrelid) from ' USING .*$') = substring(pg_get_indexdef(i.indexrelid) from ' USING .*$'))
  loop
    execute format('create %s index on %I %s', case when r.indisunique then 'unique' else '' end, p_part, r.told);
  end loop;
  for r in
    select t.tgname as name, substring(pg_get_triggerdef(t.oid) from '^CREATE TRIGGER .*? ON ') as head,
      substring(pg_get_triggerdef(t.oid) from '^CREATE TRIGGER .*? ON \S+ (.*)$') as tail from pg_trigger t
    where t.tgrelid = (p_whole || '_newest')::regclass and not t.tgisinternal and t.tgparentid = 0 and not exists (
      select from pg_trigger k where k.tgrelid = p_part::regclass and k.tgname = t.tgname)
  loop
    execute r.head || quote_ident(p_part) || ' ' || r.tail;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION forget_events(p_before uuid, p_limit integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  with bound as (select id_before(now() - interval '1 day', p_before) as events,
    id_before(now() - interval '7 days', p_before) as deliveries),
  heard as materialized (select w.id, w.active and w.deleted_at is null and o.active and o.deleted_at is null as is_sent
    from webhooks w, lateral (select active, deleted_at from users where id = w.owner offset 0) o),
  old as (delete from events where position = any (array(
      select e.position from events e where e.id < (select events from bound)
        and (select true from webhook_deliveries d join heard h on h.id = d.webhook and h.is_sent
          where d.entity = e.entity and d.event = e.id and d.status = 'PENDING' limit 1) is null
      order by e.id limit p_limit)) returning id),
  head as (update event_head set forgotten = o.id from (select id from old order by id desc limit 1) o
    where event_head.forgotten < o.id),
  sent as (delete from webhook_deliveries where ctid = any (array(
      select q.ctid from heard h, lateral (
        select ctid from webhook_deliveries
        where webhook = h.id and event < (select deliveries from bound) and (status <> 'PENDING' or not h.is_sent)
        order by event limit p_limit) q limit p_limit)) returning 1)
  select (select count(*) from old) + (select count(*) from sent)
$function$;

CREATE OR REPLACE FUNCTION hand_over_deposits(p_address uuid, p_error jsonb, p_at timestamp with time zone, OUT account uuid, OUT transaction uuid, OUT amount numeric, OUT asset text, OUT decimals smallint, OUT testnet boolean)
 RETURNS SETOF record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  n addresses;
begin
  select * into n from addresses where id = p_address;
  if not found or not is_derived(n.address, n.derivation_key, n.ramp) then return; end if;
  return query select d.account, d.transaction, d.credited, a.asset, a.decimals, a.testnet
    from deposits d join accounts a on a.id = d.account
    -- Found by the address alone: by chain and network a plan made on an empty table would read all of them.
    where d.address = n.address and (d.chain || '', d.network || '') = (n.chain, n.network) and d.status = 'CONFIRMED'
      and watches_addresses(d.account) order by d.id for update of d;
  with waiting as (
    select d.id from deposits d where d.address = n.address and (d.chain || '', d.network || '') = (n.chain, n.network)
      and watches_addresses(d.account) order by d.id for update
  ), moved as (
    update deposits d set account = n.account, owner = n.owner, updated_at = p_at,
        address_data = nullif(n.data, '{}'), credited = null, transaction = null,
        status = case d.status when 'CONFIRMED' then 'PENDING' else d.status end
      from waiting w where d.id = w.id and d.asset = n.asset returning d.*
  ), given_up as (
    update deposits d set status = 'ORPHANED', confirmations = 0, error = p_error, updated_at = p_at,
        credited = null, transaction = null
      from waiting w where d.id = w.id and d.asset <> n.asset and d.status in ('PENDING', 'CONFIRMED')
  )
  insert into coins (chain, network, hash, index, address, ramp, amount, height, matures_at, created_at)
    select m.chain, m.network, m.hash, m.index, m.address, n.ramp,
      trim_scale(m.amount * ('1e' || a.decimals)::numeric), m.block, m.matures_at, p_at
    from moved m join accounts a on a.id = n.account where has_coins(n.chain) and m.block is not null and m.status = 'PENDING'
    on conflict (chain, network, hash, index) do nothing;
end $function$;

CREATE OR REPLACE FUNCTION has_coins(p_chain text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select p_chain in ('BITCOIN', 'LITECOIN', 'BITCOIN_CASH', 'DOGECOIN')
$function$;

CREATE OR REPLACE FUNCTION id_at(p_id uuid, p_ms bigint)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select (lpad(to_hex(p_ms), 12, '0') || substr(translate(p_id::text, '-', ''), 13))::uuid
$function$;

CREATE OR REPLACE FUNCTION id_before(p_at timestamp with time zone, p_id uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select least(p_id, (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || '7000' || repeat('0', 16))::uuid)
$function$;

CREATE OR REPLACE FUNCTION id_ms(p_id uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select ('x' || translate(left(p_id::text, 13), '-', ''))::bit(48)::bigint
$function$;

CREATE OR REPLACE FUNCTION in_quarantine(p_ramp uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select 1 from ramps where account = p_ramp and quarantined is not null)
$function$;

CREATE OR REPLACE FUNCTION is_archived(p_transaction uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return coalesce(p_transaction < archived_bound(), false)
    and exists (select from chain_links l where l.transaction = p_transaction);
end $function$;

CREATE OR REPLACE FUNCTION is_attested()
 RETURNS boolean
 LANGUAGE sql
AS $function$
  select coalesce((select a.seen_at > clock_timestamp() - interval '5 minutes' and a.place = database_place()
    and (pg_is_in_recovery() or a.timeline is not distinct from server_timeline()) from attestations a), false)
$function$;

CREATE OR REPLACE FUNCTION is_circulating(p_asset text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from accounts a where a.type = 'system' and a.asset = p_asset and not a.testnet and a.total <> 0)
$function$;

CREATE OR REPLACE FUNCTION is_coin(p_chain text, p_contract text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce((p_chain, lower(p_contract)) in (('CELO', '0x471ece3750da237f93b8e339c536989b8978a438'),
    ('POLYGON', '0x0000000000000000000000000000000000001010')), false)
$function$;

CREATE OR REPLACE FUNCTION is_confirmed()
 RETURNS boolean
 LANGUAGE sql
AS $function$
  select coalesce(current_setting('purser.confirmed', true), '')
    = coalesce((select a.token from attestations a)::text, 'none')
$function$;

CREATE OR REPLACE FUNCTION is_derived(p_address text, p_key integer, p_ramp uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from reserved_addresses r join ramps x on x.account = r.ramp join ramps y on y.account = p_ramp
    where r.address = p_address and r.derivation_key = p_key
      and (x.number, x.network = 'main') = (y.number, y.network = 'main'))
$function$;

CREATE OR REPLACE FUNCTION is_folded(folded text, name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((folded !~ '[A-Z\u200c\u200d]'::text) AND ((name ~ '[^ -~]'::text) OR (folded = translate(name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'::text, 'abcdefghijklmnopqrstuvwxyz'::text))));

CREATE OR REPLACE FUNCTION is_given_up(k order_attempts)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select k.hash is not null and (k.dropped or exists (select from chain_orders o where o.id = k.order_id
    and (o.state = 'canceled' or (o.state = 'failed' or o.state = 'done' and k.cancels) and o.hash is distinct from k.hash)))
$function$;

CREATE OR REPLACE FUNCTION is_heard(p_type text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select p_type = 'webhook.test' or exists (select from webhooks
      where active and deleted_at is null and events && array[p_type, '*'])
    or exists (select from event_listeners where type in (p_type, '*') and until > now())
$function$;

CREATE OR REPLACE FUNCTION is_house(u users)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select 'realm' = any (u.scopes) and u.roles && array['manage', 'admin']
$function$;

CREATE OR REPLACE FUNCTION is_paid_by_ramp(o chain_orders)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select o.budget_contract is null
    and exists (select from accounts k where k.id = o.ramp and k.asset = chain_coin(o.chain))
    and exists (select from fungible_tokens t where t.account = o.ramp and case o.purpose
      when 'withdrawal' then t.contract = o.contract
      when 'sweep' then t.contract = o.contract
      when 'gas' then exists (select from sweeps s join accounts a on a.id = s.account
        join currencies c on c.name = a.asset where s.id = o.reference_id and c.id = t.currency) end)
$function$;

CREATE OR REPLACE FUNCTION is_plain(name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((name IS NFC NORMALIZED) AND (name !~ '^ | $|  |(^|[ -~])[\u200c\u200d]|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200b\u200e-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'::text));

CREATE OR REPLACE FUNCTION is_provisional(p_asset text, p_testnet boolean)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from ramps r, lateral (select asset, testnet from accounts where id = r.account offset 0) a
    where ((a.asset, a.testnet) = (p_asset, p_testnet) or not p_testnet and exists (select from fungible_tokens t
        where t.account = r.account and t.symbol = p_asset and t.status = 'registered'))
      and (r.quarantined is not null or exists (select from chain_cursors c
        where (c.chain, c.network) = (r.chain, r.network) and c.halted is not null)))
$function$;

CREATE OR REPLACE FUNCTION is_repeat(p_kept uuid, p_given uuid)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select left(p_kept::text, 35) = left(p_given::text, 35) and k.rights >> 1 <= g.rights >> 1 and k.rights & 1 <= g.rights & 1
    from (select get_byte(uuid_send(p_kept), 15) & 15 as rights) k, (select get_byte(uuid_send(p_given), 15) & 15 as rights) g
$function$;

CREATE OR REPLACE FUNCTION is_sponsor(p_ramp uuid, p_user uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from accounts a where a.id = p_ramp and a.owner = p_user)
    or exists (select from users u where u.id = p_user and u.roles && array['admin', 'manage'] and 'realm' = any (u.scopes))
$function$;

CREATE OR REPLACE FUNCTION issue_digest(p_low uuid, p_bound uuid)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $function$
  select sha256(coalesce(string_agg(q.digest, ''::bytea order by q.accounts collate "C"), ''::bytea)) from (
    select left(i.account::text, 3) as accounts, sha256(convert_to(string_agg(
      concat_ws(' ', i.transaction, i.currency, i.operation, trim_scale(i.amount), i.account, extract(epoch from i.created_at))
        || chr(10), '' order by i.transaction), 'UTF8')) as digest
    from currency_issues i where i.transaction < p_bound and (p_low is null or i.transaction >= p_low) group by 1) q
$function$;

CREATE OR REPLACE FUNCTION keep_closed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select from earlier e full join later l on l.id = e.id
    where e.id is null or l.id is null or e.status <> 'OPEN' or l.status = 'OPEN'
      or (l.account, l.amount, l.created_at) is distinct from (e.account, e.amount, e.created_at)) then
    raise exception 'a block is closed once and otherwise stays as it is'
      using errcode = 'restrict_violation';
  end if;
  with freed as (
    update accounts x set blocked = x.blocked - c.amount
      from (select account, sum(amount) as amount from later group by account) c where x.id = c.account
      returning x.id, x.blocked + c.amount as before, x.frozen,
        (select max(s.at) from account_states s where s.account = x.id) as last_at)
  insert into account_states (account, at, blocked, frozen)
    select f.id, greatest(l.closed_at, f.last_at),
      f.before - sum(l.amount) over (partition by l.account order by l.closed_at, l.id), f.frozen
    from later l join freed f on f.id = l.account order by l.closed_at, l.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION keep_coin()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if current_user = tg_table_schema then
    raise exception 'a coin that a block has shown stays' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION keep_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.type = 'message.updated' and new.payload::jsonb = jsonb_build_object('id', old.entity)
    and (to_jsonb(new) - 'payload') is not distinct from (to_jsonb(old) - 'payload') then
    return new;
  end if;
  if old.id is not null or new.id is null
    or (to_jsonb(new) - 'id') is distinct from (to_jsonb(old) - 'id') then
    raise exception 'events are append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_facts()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  raise exception 'facts of % do not change', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION keep_index()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  raise exception 'an address index is handed out once' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION keep_kept()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  raise exception 'an answer is kept once' using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION keep_line()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.seq is not null or new.seq is null
    or (to_jsonb(new) - 'seq' - 'hash') is distinct from (to_jsonb(old) - 'seq' - 'hash') then
    raise exception 'audit is append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_link_root()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  new.root := (select u.root from users u where u.id = new.owner);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_linked()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if new.total - new.linked > old.total - old.linked or new.linked < (select coalesce(sum(d.credited), 0)
      from deposits d where d.account = new.id and d.status = 'CONFIRMED') then
    raise exception 'linked value does not become available' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_opened()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_blocked numeric;
  v_frozen boolean;
begin
  if new.status <> 'OPEN' then
    raise exception 'a block begins open' using errcode = 'restrict_violation';
  end if;
  update accounts set blocked = blocked + new.amount where id = new.account
    returning blocked, frozen into v_blocked, v_frozen;
  perform note_state(new.account, new.created_at, v_blocked, v_frozen);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION keep_ramp_transfer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  renamed constant boolean := old.claimed is not null and new.claimed is distinct from old.claimed;
begin
  if renamed then
    if new.claimed is null or coalesce(old.deposit, new.deposit) is not null or old.state not in ('sent', 'unclear')
        or (old.reference is not null and old.reference <> old.claimed) then
      raise exception 'the id is not to be named anew' using errcode = 'check_violation', constraint = 'ramp_transfers_renamed';
    end if;
    new.reference := null;
    new.hash := null;
    new.exchange_status := null;
    new.exchange_amount := null;
    new.exchange_fee := null;
  end if;
  if new.claims is distinct from old.claims or new.claimed is distinct from old.claimed then
    if jsonb_array_length(new.claims) = 0 or new.claims - (-1) <> old.claims
        or new.claims -> -1 ->> 'reference' is distinct from new.claimed
        or (new.claims -> -1 ->> 'by') is null or (new.claims -> -1 ->> 'at') is null then
      raise exception 'claims are added one by one' using errcode = 'check_violation', constraint = 'ramp_transfers_claimed';
    end if;
  end if;
  if (old.external_ramp, old.exchange, old.kind, old.account, old.asset, old.value, old.owner, old.chain, old.network, old.offered_fee, old.created_at)
      is distinct from (new.external_ramp, new.exchange, new.kind, new.account, new.asset, new.value, new.owner, new.chain, new.network, new.offered_fee, new.created_at)
    or new.max_fee is distinct from old.max_fee
    or (old.address is not null and new.address is distinct from old.address)
    or (old.asked_at is not null and new.asked_at is distinct from old.asked_at)
    or (old.deposit is not null and new.deposit is distinct from old.deposit)
    or (old.withdrawal is not null and new.withdrawal is distinct from old.withdrawal)
    or (old.reference is not null and new.reference is distinct from old.reference and not renamed) then
    raise exception 'what a transfer was made of stays' using errcode = 'check_violation', constraint = 'ramp_transfers_kept';
  end if;
  if old.state <> new.state and not exists (select from ramp_transfer_transitions t
      where (t.kind, t.was, t.becomes) = (new.kind, old.state, new.state)) then
    raise exception 'a transfer does not go from % to %', old.state, new.state
      using errcode = 'check_violation', constraint = 'ramp_transfers_state';
  end if;
  if new.deposit is not null and not exists (select from deposits d where d.id = new.deposit and d.status = 'CONFIRMED'
      and lower(d.hash) = lower(new.hash)
      and (d.chain, d.network, d.address, d.asset) = (new.chain, new.network, new.address, new.asset)
      and d.created_at >= new.created_at - interval '1 minute') then
    raise exception 'the deposit is not the transfer''s' using errcode = 'check_violation', constraint = 'ramp_transfers_arrived';
  end if;
  if new.withdrawal is not null and not exists (select from withdrawals w where w.id = new.withdrawal
      and (w.account, w.chain, w.network, w.destination, w.asset, w.value)
        = (new.account, new.chain, new.network, new.address, new.asset, new.value)) then
    raise exception 'the withdrawal is not the transfer''s' using errcode = 'check_violation', constraint = 'ramp_transfers_paid';
  end if;
  if new.withdrawal is not null and old.withdrawal is null and (new.doubtful
      or exists (select from external_ramps r where r.id = new.external_ramp and r.credentials_at > new.created_at)) then
    raise exception 'the withdraw is not to be paid any more'
      using errcode = 'check_violation', constraint = 'ramp_transfers_credentials';
  end if;
  if new.kind = 'withdraw' and new.state = 'done' and not exists (select from withdrawals w
      where w.id = new.withdrawal and w.status = 'DONE')
    and not (new.withdrawal is null and exists (select from blocks b where b.id = new.block and b.status <> 'OPEN')) then
    raise exception 'the withdrawal is not done' using errcode = 'check_violation', constraint = 'ramp_transfers_settled';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_root()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if pg_trigger_depth() = 1 then
    new.root := case when not is_house(new)
      then coalesce((select o.root from users o where o.id = new.owner and o.id <> new.id), new.id) end;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_seed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if tg_op = 'INSERT' then
    if new.kind = 'seed' and current_setting('purser.seed', true) is distinct from 'restored'
        and exists (select 1 from ramps where next_index > 0) then
      raise exception 'a realm with addresses gets no other seed' using errcode = 'restrict_violation';
    end if;
    return new;
  end if;
  if exists (select 1 from ramps where next_index > 0) then
    raise exception 'the seed of a realm with addresses stays' using errcode = 'restrict_violation';
  end if;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION keep_stop()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.lifted_at is not null or (to_jsonb(new) - 'lifted_at' - 'lifted_by')
    is distinct from (to_jsonb(old) - 'lifted_at' - 'lifted_by') then
    raise exception 'a stop is lifted once and otherwise stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION kept_answer(p_key uuid, OUT fingerprint uuid, OUT status smallint, OUT body text, OUT transaction uuid)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return query select x.fingerprint, x.status, x.body, x.transaction from idempotency x where x.key = p_key
    union all select x.fingerprint, x.status, x.body, x.transaction from idempotency_earlier x where x.key = p_key;
end $function$;

CREATE OR REPLACE FUNCTION last_entries(p_entries regclass)
 RETURNS TABLE(account uuid, seq bigint, balance numeric, linked numeric)
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return query execute format(
    'select distinct on (e.account) e.account, e.seq, e.balance, e.linked from %s e order by e.account, e.seq desc', p_entries);
end $function$;

CREATE OR REPLACE FUNCTION leaves_nonce(o chain_orders)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(bool_or(x.state = 'canceled') and not bool_or(x.purpose = 'fill' and x.state <> 'canceled'), false)
  from chain_orders x where (x.chain, x.network, x.sender, x.nonce, x.ramp) = (o.chain, o.network, o.sender, o.nonce, o.ramp)
$function$;

CREATE OR REPLACE FUNCTION ledger_apply(p_type text, p_system boolean, p_force boolean, p_atomic boolean, p_head text, p_tail text, p_go boolean[], p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[], OUT refusals text[], OUT source_total numeric[], OUT destination_total numeric[], OUT blocked numeric[], OUT fiat_rate numeric[], OUT fiat_value numeric[], OUT stamp text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET plan_cache_mode TO 'force_generic_plan'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  n integer := cardinality(p_amount);
  go boolean[] := coalesce(p_go, array_fill(true, array[n]));
  v_total numeric[]; v_held numeric[]; v_number bigint[]; v_before bigint[]; v_state integer[];
  v_linked numeric[]; v_blocked numeric[]; v_watches boolean[]; entry_linked numeric[];
  v_asset text[]; v_testnet boolean[]; v_owner uuid[]; v_bound boolean[]; v_places integer[];
  v_currency text[]; v_money_places integer[];
  source_seq bigint[] := array_fill(null::bigint, array[n]);
  destination_seq bigint[] := source_seq;
  reference_group integer[]; reference_taken boolean[];
  v_row tid[];
  unlinks boolean := p_type = 'revert' and p_force;
  stopped boolean[]; m jsonb; s integer; d integer; a numeric; why text;
  rate numeric; rate_asset text; rate_currency text;
  newest uuid; v_head text;
  v_tail text := coalesce(p_tail, right(gen_random_uuid()::text, 12));
  v_id uuid[]; v_at timestamptz; updated integer;
begin
  if current_setting('transaction_isolation') <> 'serializable' then
    raise exception 'the ledger posts in serializable transactions only';
  end if;
  if n > 16384 then raise exception 'too many moves in one posting'; end if;
  if (array_lower(p_ids, 1), array_lower(p_source, 1), array_lower(p_destination, 1), array_lower(p_amount, 1))
    <> (1, 1, 1, 1) or (cardinality(p_source), cardinality(p_destination)) <> (n, n) then
    raise exception 'positions begin with 1';
  end if;
  select t.id into newest from transactions_newest t order by t.id desc limit 1;
  if newest is null then newest := ledger_newest(); end if;
  if p_head is null then
    v_head := ledger_head(newest);
  else
    -- The head is read back from an id, because a UUID has several spellings. A clock put back while the head was drawn
    -- leaves it ahead; a head further ahead would shift the ledger's time.
    v_head := left(replace(ledger_id(p_head, 1, v_tail)::text, '-', ''), 16);
    if v_head <> p_head or p_head collate "C" <= left(replace(newest::text, '-', ''), 16)
      or id_ms(ledger_id(p_head, 1, v_tail)) > greatest(database_ms() + 60000, id_ms(newest) + 1) then
      raise exception 'ids are given by the ledger, under the ledger lock';
    end if;
  end if;
  stamp := v_head || v_tail;
  v_id := array(select ledger_id(v_head, q.ord, v_tail) from generate_series(1, n) q(ord));
  v_at := ms_time(id_ms(v_id[1]));
  source_total := array_fill(null::numeric, array[n]);
  destination_total := source_total;
  select array_agg(x.total), array_agg(x.blocked + x.linked), array_agg(nullif(x.linked, 0)),
      array_agg(case when not x.frozen and x.type <> 'deposit' then x.blocked end),
      array_agg(case when not x.frozen and x.type <> 'deposit' then x.blocked + x.linked end), array_agg(x.seq), array_agg(x.row),
      array_agg(x.asset), array_agg(x.testnet), array_agg(x.owner), array_agg(x.type <> 'system'),
      array_agg(x.decimals), array_agg(x.currency), array_agg(x.currency_places),
      array_agg(case when x.id is null or x.deleted_at is not null and not p_force then 4
        when x.type = 'system' then case when p_system then 0 else 5 end
        when x.type = 'deposit' and p_type not in ('deposit', 'forward', 'fee') then 6
        when p_force then 0 when not x.enabled then 3 when not x.active then 2
        when x.frozen then 1 else 0 end)
    into v_total, v_held, v_linked, v_blocked, blocked, v_number, v_row, v_asset, v_testnet, v_owner, v_bound, v_places, v_currency, v_money_places, v_state
    from (select y.* from unnest(p_ids) with ordinality u(id, ord)
      left join lateral (select i.ctid as row, i.id, i.total, i.blocked, i.linked, i.seq, i.asset, i.testnet, i.owner, i.type,
          i.decimals, i.currency, i.currency_places, i.enabled, i.active, i.frozen, i.deleted_at
        from accounts i where i.id = u.id offset 0) y on true order by u.ord) x;
  v_before := v_number;
  if p_type = 'deposit' then
    v_watches := array(select watches_addresses(u.id) from unnest(p_ids) with ordinality u(id, ord) order by u.ord);
    entry_linked := array_fill(null::numeric, array[2 * n]);
  end if;
  if not p_force and exists (select from stops where what = 'moves' and lifted_at is null) then
    stopped := stopped_moves(p_type, p_ids, p_source, p_destination, p_actor);
  end if;
  if array_remove(p_reference, null) <> '{}' then
    select array_agg(dense order by ord), array_agg(taken order by dense) filter (where first)
      into reference_group, reference_taken
      from (select u.ord, dense_rank() over (order by u.reference)::integer as dense,
          row_number() over (partition by u.reference order by u.ord) = 1 as first,
          (select true from transaction_references t where t.reference = u.reference) is not null as taken
        from unnest(p_reference) with ordinality u(reference, ord)) q;
  end if;

  for k in 1..n loop
    s := p_source[k]; d := p_destination[k]; a := p_amount[k];
    -- One expression checks the rules that nearly all moves pass; the reason of a refusal and rarer rules are
    -- evaluated only where it is not true.
    if (go[k] and v_state[s] = 0 and v_state[d] < 2 and s <> d and v_total[s] - v_held[s] >= a and p_extras[k] is null
      and p_reference[k] is null and v_asset[s] = v_asset[d] and v_testnet[s] = v_testnet[d] and scale(a) <= v_places[s]
      and (p_may_move_any[k] or p_system or v_owner[s] = p_actor[k]) and stopped is null and not unlinks) is not true then
      continue when not go[k];
      m := p_extras[k];
      if unlinks then
        if (v_linked[s] >= a) is not true then raise exception 'only linked value is taken back'; end if;
        v_linked[s] := nullif(v_linked[s] - a, 0); v_held[s] := v_held[s] - a; blocked[s] := blocked[s] - a;
      end if;
      why := case
        when v_state[s] in (4, 5) then 'source.not_found'
        when not p_system and p_may_move_any[k] is not true and v_owner[s] is distinct from p_actor[k] then 'source.forbidden'
        when v_state[s] = 6 then 'source.deposit'
        when v_state[d] in (4, 5) then 'destination.not_found'
        when v_state[d] = 6 then 'destination.deposit'
        when s = d then 'same_account'
        when stopped[k] then 'stopped'
        when v_asset[s] <> v_asset[d] or v_testnet[s] <> v_testnet[d] then 'asset_mismatch'
        when scale(a) > v_places[s] and scale(trim_scale(a)) > v_places[s] then 'scale'
        when v_state[s] = 3 then 'source.not_enabled' when v_state[d] = 3 then 'destination.not_enabled'
        when v_state[s] = 2 then 'source.inactive' when v_state[d] = 2 then 'destination.inactive'
        when v_state[s] = 1 then 'source.frozen'
        when v_bound[s] and v_total[s] - v_held[s] < a then 'insufficient'
        when p_reference[k] is not null and reference_taken[reference_group[k]] then 'reference'
        when m is not null and m ? 'asset' and m ->> 'asset' <> v_asset[s] then 'asset_mismatch'
        when m is not null and m ? 'destination_unread' then 'destination.unread'
        when m is not null and v_total[s] - v_held[s] < (m ->> 'source_available_gte')::numeric then 'condition.source_available_gte'
        when m is not null and v_total[s] <> (m ->> 'source_total_eq')::numeric then 'condition.source_total_eq'
        when m is not null and v_total[d] + a > (m ->> 'destination_total_lte')::numeric then 'condition.destination_total_lte'
      end;
      if why is not null then
        if refusals is null then refusals := array_fill(null::text, array[n]); end if;
        refusals[k] := why; go[k] := false;
        continue;
      end if;
    end if;
    v_total[s] := v_total[s] - a; v_number[s] := v_number[s] + 1;
    v_total[d] := v_total[d] + a; v_number[d] := v_number[d] + 1;
    source_total[k] := v_total[s]; destination_total[k] := v_total[d];
    source_seq[k] := v_number[s]; destination_seq[k] := v_number[d];
    if v_watches[d] or p_reference[k] is not null then
      if v_watches[d] then
        v_held[d] := v_held[d] + a; v_linked[d] := coalesce(v_linked[d], 0) + a; blocked[d] := blocked[d] + a;
        entry_linked[n + k] := v_linked[d];
      end if;
      if p_reference[k] is not null then reference_taken[reference_group[k]] := true; end if;
    end if;
    if rate_asset is distinct from v_asset[s] or rate_currency is distinct from v_currency[s] then
      rate_asset := v_asset[s]; rate_currency := v_currency[s]; rate := rate_of(rate_asset, rate_currency);
    end if;
    if rate is not null then
      if fiat_rate is null then
        fiat_rate := array_fill(null::numeric, array[n]); fiat_value := fiat_rate;
      end if;
      fiat_rate[k] := rate; fiat_value[k] := round_half_even(a * rate, v_money_places[s]);
    end if;
  end loop;

  if (p_atomic and refusals is not null) or not (true = any (go)) then return; end if;
  -- Accounts are found where they were read: nothing else of this transaction has moved their rows since. Arrays are
  -- unnested in the select list, because each one in FROM goes through a tuple store of its own.
  if unlinks then
    update accounts x set total = q.total, seq = q.seq, linked = coalesce(q.linked, 0)
      from (select unnest(p_ids) as id, unnest(v_total) as total, unnest(v_number) as seq, unnest(v_before) as before,
        unnest(v_linked) as linked) q
      where x.ctid = any (v_row) and x.id = q.id and q.seq <> q.before;
  else
    update accounts x set total = q.total, seq = q.seq
      from (select unnest(p_ids) as id, unnest(v_total) as total, unnest(v_number) as seq, unnest(v_before) as before) q
      where x.ctid = any (v_row) and x.id = q.id and q.seq <> q.before;
  end if;
  get diagnostics updated = row_count;
  -- An account that is named twice would keep one of its two balances, and value would be created or lost.
  if updated <> cardinality(p_ids) then
    if updated <> (select count(*) from unnest(v_number, v_before) q(seq, before) where q.seq <> q.before) then
      raise exception 'each account is named once';
    end if;
  end if;
  if true = any (v_watches) then
    update accounts x set linked = q.linked from unnest(p_ids, v_linked) q(id, linked)
      where x.id = q.id and q.linked <> x.linked;
  end if;
  insert into transactions (id, source, destination, source_seq, destination_seq, amount, type, testnet,
      asset, owner, client_ip, api_key, fiat_currency, fiat_rate, fiat_value, reference, reverts, seal, address_data, created_at)
    select q.id, p_ids[q.s], p_ids[q.d], q.ss, q.ds, q.amount, p_type, v_testnet[q.s], v_asset[q.s], q.actor, q.client_ip, q.api_key,
      case when q.fiat_value is not null then v_currency[q.s] end, q.fiat_rate, q.fiat_value, q.reference,
      case when p_type = 'revert' then (q.extras ->> 'reverts')::uuid end, q.seal, q.extras -> 'address_data', v_at
    from (select unnest(v_id) as id, unnest(p_source) as s, unnest(p_destination) as d, unnest(source_seq) as ss,
        unnest(destination_seq) as ds, unnest(p_amount) as amount, unnest(p_actor) as actor, unnest(p_client_ip) as client_ip,
        unnest(p_api_key) as api_key, unnest(fiat_rate) as fiat_rate, unnest(fiat_value) as fiat_value,
        unnest(p_reference) as reference, unnest(p_seal) as seal, unnest(p_extras) as extras, unnest(go) as go) q
    where q.go;
  insert into entries (account, seq, transaction, amount, balance, blocked, linked)
    select p_ids[q.a], q.seq, q.id, case when q.ord > n then q.amount else -q.amount end, q.total, v_blocked[q.a],
      coalesce(entry_linked[q.ord], v_linked[q.a])
    from (select unnest(v_id || v_id) as id, unnest(p_source || p_destination) as a,
        unnest(source_seq || destination_seq) as seq, unnest(p_amount || p_amount) as amount,
        unnest(source_total || destination_total) as total, unnest(go || go) as go, generate_series(1, 2 * n) as ord) q
    where q.go;
  if reference_group is not null then
    insert into transaction_references (reference, transaction)
      select q.reference, q.id from unnest(p_reference, v_id, go) q(reference, id, go) where q.go and q.reference is not null;
  end if;
  if p_type = 'revert' then
    insert into transaction_reverts (reverts, transaction)
      select (q.extras ->> 'reverts')::uuid, q.id from unnest(p_extras, v_id, go) q(extras, id, go)
      where q.go and q.extras ? 'reverts';
  end if;
  if array_remove(p_data, null) <> '{}' then
    insert into transaction_data (transaction, data)
      select q.id, q.data from unnest(v_id, p_data, go) q(id, data, go) where q.go and q.data is not null;
  end if;
  insert into ledger_commits (transactions)
    values (case when refusals is null and p_go is null then v_id
      else array(select q.id from unnest(v_id, go) with ordinality q(id, go, ord) where q.go order by q.ord) end);
end $function$;

CREATE OR REPLACE FUNCTION ledger_book(p_type text, p_atomic boolean, p_head text, p_tail text, p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[], OUT refusals text[], OUT source_total numeric[], OUT destination_total numeric[], OUT blocked numeric[], OUT fiat_rate numeric[], OUT fiat_value numeric[], OUT stamp text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform 1 from unnest(p_source, p_destination) q(source, destination)
    left join lateral (select a.* from accounts a where a.id = p_ids[q.source] offset 0) s on true
    left join lateral (select a.* from accounts a where a.id = p_ids[q.destination] offset 0) d on true
    where case p_type
      when 'deposit' then s.system = 'world' and d.type <> 'system'
      when 'forward' then exists (select from addresses a
        where (a.account, a.ramp) = (s.id, d.id) or (a.account, a.target_account) = (s.id, d.id) or (a.ramp, a.target_account) = (s.id, d.id))
      when 'withdrawal' then s.system is distinct from 'world' and d.system = 'world'
      when 'fee' then (s.system is null and d.type = 'system') or (s.system = 'fees' and (d.type = 'ramp' or d.system = 'world'))
      when 'return' then (s.system = 'fees' and d.type = 'ramp') or (s.system = 'world' and d.system = 'fees')
      end is not true;
  if found then
    raise exception 'nothing justifies a move of type %', p_type using errcode = 'insufficient_privilege';
  end if;
  select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
    into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
    from ledger_apply(p_type, true, true, p_atomic, p_head, p_tail, null, p_ids, p_source,
      p_destination, p_amount, p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras) a;
end $function$;

CREATE OR REPLACE FUNCTION ledger_bulk(p_key uuid, p_fingerprint uuid, p_request text, p_unresolved jsonb, p_atomic boolean, p_tail text, p_actor uuid, p_may_move_any boolean, p_client_ip inet, p_api_key uuid, p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[], OUT refusals text[], OUT source_total numeric[], OUT destination_total numeric[], OUT blocked numeric[], OUT fiat_rate numeric[], OUT fiat_value numeric[], OUT stamp text, OUT replay jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET plan_cache_mode TO 'force_generic_plan'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  n integer := cardinality(p_amount); first_refused integer;
begin
  insert into idempotency (key, fingerprint)
    select p_key, p_fingerprint
      where not (earlier_kept() and exists (select from idempotency_earlier e where e.key = p_key))
    on conflict do nothing;
  if not found then
    replay := ledger_replay(p_key, p_fingerprint);
    return;
  end if;
  if n > 0 then
    select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
      into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
      from ledger_apply('transfer', false, false, p_atomic, null, p_tail, null, p_ids, p_source, p_destination, p_amount,
        array_fill(p_actor, array[n]), array_fill(p_may_move_any, array[n]), array_fill(p_client_ip, array[n]),
        array_fill(p_api_key, array[n]), p_seal, p_data, p_reference, p_extras) a;
  end if;
  if p_atomic and refusals is not null then
    first_refused := (select min(q.ord) from unnest(refusals) with ordinality q(why, ord) where q.why is not null);
    update idempotency x set body = concat_ws(' ', first_refused - 1, refusals[first_refused], p_tail)
      where x.key = p_key;
    return;
  end if;
  insert into batches (key, request_id, transactions, refusals, unresolved)
    values (p_key, p_request, array(select ledger_id(left(stamp, 16), q.ord, p_tail) from generate_series(1, n) q(ord)),
      refusals, p_unresolved);
end $function$;

CREATE OR REPLACE FUNCTION ledger_closed(p_ms bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  newest bigint := id_ms(ledger_newest());
  wanted bigint := coalesce(p_ms, ledger_ms());
begin
  if wanted < newest then return wanted; end if;
  if pg_is_in_recovery() then return coalesce(newest, 0); end if;
  if wanted = ledger_ms() then perform pg_sleep(0.002); end if;
  lock table ledger_lock in share mode;
  return least(wanted, ledger_ms());
end $function$;

CREATE OR REPLACE FUNCTION ledger_head(p_newest uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  ms bigint := database_ms();
  number integer := 0;
begin
  if id_ms(p_newest) >= ms then
    ms := id_ms(p_newest);
    number := ('x' || substr(p_newest::text, 16, 3))::bit(12)::integer + 1;
    if number > 4095 then ms := ms + 1; number := 0; end if;
  end if;
  return lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(number), 3, '0');
end $function$;

CREATE OR REPLACE FUNCTION ledger_id(p_head text, p_position integer, p_tail text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select (p_head || to_hex(32767 + p_position) || p_tail)::uuid
$function$;

CREATE OR REPLACE FUNCTION ledger_ms()
 RETURNS bigint
 LANGUAGE sql
AS $function$
  select greatest(database_ms(), id_ms(ledger_newest()))
$function$;

CREATE OR REPLACE FUNCTION ledger_newest()
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
declare
  newest uuid;
begin
  select t.id into newest from transactions_newest t order by t.id desc limit 1;
  if newest is null then select t.id into newest from transactions t order by t.id desc limit 1; end if;
  return newest;
end $function$;

CREATE OR REPLACE FUNCTION ledger_now()
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$
  select ms_time(ledger_ms())
$function$;

CREATE OR REPLACE FUNCTION ledger_post(p_type text, p_atomic boolean, p_head text, p_tail text, p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[], OUT refusals text[], OUT source_total numeric[], OUT destination_total numeric[], OUT blocked numeric[], OUT fiat_rate numeric[], OUT fiat_value numeric[], OUT stamp text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  n integer := cardinality(p_amount);
  s accounts; d accounts; t transactions;
  v_issue text; v_force boolean := p_type = 'return'; v_fees boolean := false; v_missing boolean := false;
begin
  if n = 1 then
    select * into s from accounts a where a.id = p_ids[p_source[1]];
    select * into d from accounts a where a.id = p_ids[p_destination[1]];
    v_fees := d.system = 'fees' and s.type <> 'system'
      and (p_type = 'transfer' and d.total + p_amount[1] <= 0 or p_type = 'fee' and s.type = 'ramp');
    v_missing := coalesce(p_type = 'fee' and s.system = 'fees' and d.system = 'world', false);
  end if;
  if p_type <> 'transfer' then
    if n <> 1 and p_type <> 'return' then raise exception 'moves of type % are posted one by one', p_type; end if;
    case p_type
      when 'capture' then
        perform 1 from blocks b where b.status = 'CAPTURED' and b.transaction = ledger_id(p_head, 1, p_tail)
          and b.account = s.id and b.captured = p_amount[1];
      when 'withdrawal' then perform 1 where d.type = 'ramp';
      when 'fee' then
        perform 1 where s.type in ('virtual', 'ramp') and d.type = 'ramp' or v_fees or v_missing;
      when 'return' then
        -- Each names a withdrawal of its own, so that none is given back twice.
        perform 1 from (select count(*) as justified, count(distinct w.id) as apart
            from unnest(p_source, p_destination, p_amount, p_data) q(source, destination, amount, data)
              cross join lateral (select id, status, ramp, account, order_id, charged, surcharge from withdrawals
                where id = (q.data ->> 'withdrawal')::uuid offset 0) w
              cross join lateral (select state from chain_orders where id = w.order_id offset 0) o
            where w.status = 'PROCESSING' and w.ramp = p_ids[q.source] and w.account = p_ids[q.destination] and q.amount <=
              case when o.state in ('canceled', 'failed', 'dropped') then w.charged when o.state = 'done' then w.surcharge end) c
          where c.justified = n and c.apart = n;
      when 'issue' then
        v_issue := 'issue';
        perform 1 where s.system = 'world' and d.type <> 'system';
      when 'destroy' then
        v_issue := 'destroy';
        perform 1 where s.type <> 'system' and d.system = 'world';
      when 'revert' then
        select * into t from transactions x where x.id = (p_extras[1] ->> 'reverts')::uuid;
        -- A linked deposit that left with its part is taken back by its account alone: no more than is linked there
        -- (ledger_apply), and the audit compares that with the deposits (account.linked).
        if t.id is null and d.system = 'world' and watches_addresses(s.id) and is_archived((p_extras[1] ->> 'reverts')::uuid) then
          t.id := (p_extras[1] ->> 'reverts')::uuid; t.type := 'deposit';
          t.source := d.id; t.destination := s.id; t.amount := p_amount[1];
        end if;
        v_issue := case t.type when 'issue' then 'destroy' when 'destroy' then 'issue' end;
        v_force := t.type = 'deposit';
        perform 1 where (t.type in ('transfer', 'capture', 'issue', 'destroy') or t.type = 'deposit'
            and watches_addresses(t.destination) and not exists (select from deposits x where x.transaction = t.id))
          and (t.source, t.destination, t.amount) = (d.id, s.id, p_amount[1]);
      else raise exception 'moves of type % are not asked for', p_type
        using errcode = 'insufficient_privilege';
    end case;
    if not found then
      raise exception 'nothing justifies a move of type %', p_type using errcode = 'insufficient_privilege';
    end if;
  end if;
  select a.refusals, a.source_total, a.destination_total, a.blocked, a.fiat_rate, a.fiat_value, a.stamp
    into refusals, source_total, destination_total, blocked, fiat_rate, fiat_value, stamp
    from ledger_apply(p_type, v_issue is not null or v_missing or coalesce(v_fees, false) or coalesce(t.type = 'deposit', false), v_force, p_atomic, p_head, p_tail, null, p_ids, p_source,
      p_destination, p_amount, p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras) a;
  if v_issue is not null and refusals is null then
    perform note_issue(v_issue, ledger_id(left(stamp, 16), 1, substr(stamp, 17)), s.asset,
      case v_issue when 'issue' then d.id else s.id end, p_amount[1]);
  end if;
  if v_missing and refusals is null then
    insert into write_offs (transaction, asset, testnet, amount, drift, height, position, created_at)
      select x.id, x.asset, x.testnet, x.amount, m.drift, m.height, m.position, x.created_at
      from transactions x cross join missing_of(x.asset, x.testnet) m
      where x.id = ledger_id(left(stamp, 16), 1, substr(stamp, 17));
    if not found then raise exception 'nothing was written off'; end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION ledger_queued(p_key uuid[], p_fingerprint uuid[], p_tail text, p_ids uuid[], p_source integer[], p_destination integer[], p_amount numeric[], p_actor uuid[], p_may_move_any boolean[], p_client_ip inet[], p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_extras jsonb[], OUT refusals text[], OUT source_total numeric[], OUT destination_total numeric[], OUT blocked numeric[], OUT fiat_rate numeric[], OUT fiat_value numeric[], OUT stamp text, OUT replays jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET plan_cache_mode TO 'force_generic_plan'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  claimed integer; keyed integer; go boolean[]; n integer := cardinality(p_amount); applied record;
  head text := ledger_head(ledger_newest());
begin
  if n > 1 and cardinality(p_actor) = 1 then
    p_actor := array_fill(p_actor[1], array[n]); p_may_move_any := array_fill(p_may_move_any[1], array[n]);
    p_client_ip := array_fill(p_client_ip[1], array[n]); p_api_key := array_fill(p_api_key[1], array[n]);
  end if;
  -- Nearly always each key is new, and one that is not fails the plain statement. ON CONFLICT looks each key up before it
  -- inserts it, and inserts it in two steps: a twenty-fifth of a large batch.
  begin
    insert into idempotency (key, fingerprint, transaction)
      select q.key, q.fingerprint, ledger_id(head, q.ord, p_tail)
      from (select unnest(p_key) as key, unnest(p_fingerprint) as fingerprint, generate_series(1, n) as ord) q
      where q.key is not null
        and (not earlier_kept() or (select true from idempotency_earlier e where e.key = q.key) is null);
    get diagnostics claimed = row_count;
  exception when unique_violation then
    insert into idempotency (key, fingerprint, transaction)
      select q.key, q.fingerprint, ledger_id(head, q.ord, p_tail)
      from (select unnest(p_key) as key, unnest(p_fingerprint) as fingerprint, generate_series(1, n) as ord) q
      where q.key is not null
        and (not earlier_kept() or (select true from idempotency_earlier e where e.key = q.key) is null)
      on conflict do nothing;
    get diagnostics claimed = row_count;
  end;
  if claimed < n then
    keyed := cardinality(array_remove(p_key, null));
    if claimed < keyed then
      select jsonb_object_agg(q.ord, jsonb_build_object('same', is_repeat(x.fingerprint, q.fingerprint),
          'status', x.status, 'body', x.body, 'transaction', x.transaction))
        into replays
        from unnest(p_key, p_fingerprint) with ordinality q(key, fingerprint, ord)
        join lateral (select i.* from idempotency i where i.key = q.key
          union all select e.* from idempotency_earlier e where e.key = q.key) x on true
        where x.transaction is distinct from ledger_id(head, q.ord::integer, p_tail);
      go := array(select not (replays ? q.ord::text) from generate_series(1, n) q(ord) order by q.ord);
    end if;
  end if;
  applied := ledger_apply('transfer', false, false, false, head, p_tail, go, p_ids, p_source, p_destination, p_amount,
    p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras);
  refusals := applied.refusals; source_total := applied.source_total; destination_total := applied.destination_total;
  blocked := applied.blocked; fiat_rate := applied.fiat_rate; fiat_value := applied.fiat_value; stamp := applied.stamp;
  if refusals is not null then
    update idempotency x set transaction = null, body = q.refusal || ' ' || p_tail
      from unnest(p_key, refusals) q(key, refusal) where q.refusal is not null and x.key = q.key;
  end if;
end $function$;

CREATE OR REPLACE PROCEDURE ledger_queued_now(IN p_key uuid[], IN p_fingerprint uuid[], IN p_tail text, IN p_ids uuid[], IN p_source integer[], IN p_destination integer[], IN p_amount numeric[], IN p_actor uuid[], IN p_may_move_any boolean[], IN p_client_ip inet[], IN p_api_key uuid[], IN p_seal jsonb[], IN p_data jsonb[], IN p_reference text[], IN p_extras jsonb[], INOUT refusals text, INOUT source_total text, INOUT destination_total text, INOUT blocked text, INOUT fiat_rate text, INOUT fiat_value text, INOUT stamp text, INOUT replays jsonb)
 LANGUAGE plpgsql
AS $procedure$
declare
  l record;
begin
  commit;
  set transaction isolation level serializable;
  lock table ledger_lock in exclusive mode;
  l := ledger_queued(p_key, p_fingerprint, p_tail, p_ids, p_source, p_destination, p_amount,
    p_actor, p_may_move_any, p_client_ip, p_api_key, p_seal, p_data, p_reference, p_extras);
  refusals := l.refusals; source_total := l.source_total; destination_total := l.destination_total; blocked := l.blocked;
  fiat_rate := l.fiat_rate; fiat_value := l.fiat_value; stamp := l.stamp; replays := l.replays;
  commit;
end $procedure$;

CREATE OR REPLACE FUNCTION ledger_replay(p_key uuid, p_fingerprint uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
begin
  return (select jsonb_build_object('same', is_repeat(x.fingerprint, p_fingerprint), 'status', x.status, 'body', x.body,
      'transaction', x.transaction, 'request', b.request_id, 'unresolved', b.unresolved,
      'transactions', to_jsonb(b.transactions), 'refusals', to_jsonb(b.refusals))
    from (select i.* from idempotency i where i.key = p_key
      union all select e.* from idempotency_earlier e where e.key = p_key) x
    left join lateral (select o.* from batches o where o.key = p_key
      union all select e.* from batches_earlier e where e.key = p_key) b on true);
end $function$;

CREATE OR REPLACE FUNCTION ledger_single(p_key uuid, p_fingerprint uuid, p_tail text, p_source uuid, p_destination uuid, p_amount numeric, p_actor uuid, p_may_move_any boolean, p_client_ip inet, p_api_key uuid, p_seal jsonb, p_data jsonb, OUT posted text[], OUT refused text, OUT replay jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  plain boolean; s_total numeric; s_blocked numeric; s_linked numeric; s_seq bigint;
  d_total numeric; d_blocked numeric; d_linked numeric; d_seq bigint;
  v_asset text; v_testnet boolean; v_currency text; v_money_places integer; rate numeric; value numeric; s integer; d integer;
  newest uuid; head text; v_id uuid;
begin
  if current_setting('transaction_isolation') <> 'serializable' then
    raise exception 'the ledger posts in serializable transactions only';
  end if;
  select x.total - p_amount, x.blocked, nullif(x.linked, 0), x.seq + 1,
      y.total + p_amount, case when not y.frozen then y.blocked end, nullif(y.linked, 0), y.seq + 1,
      x.asset, x.testnet, x.currency, x.currency_places,
      x.type in ('virtual', 'ramp') and y.type in ('virtual', 'ramp') and x.deleted_at is null and y.deleted_at is null
        and x.enabled and y.enabled and x.active and y.active and not x.frozen and x.total - x.blocked - x.linked >= p_amount
        and x.asset = y.asset and x.testnet = y.testnet and scale(p_amount) <= x.decimals
        and (p_may_move_any or x.owner = p_actor)
        and not (earlier_kept() and exists (select from idempotency_earlier e where e.key = p_key))
        and not exists (select from stops z where z.what = 'moves' and z.lifted_at is null),
      (select t.id from transactions_newest t order by t.id desc limit 1)
    into s_total, s_blocked, s_linked, s_seq, d_total, d_blocked, d_linked, d_seq, v_asset, v_testnet, v_currency, v_money_places, plain,
      newest
    from accounts x, accounts y where x.id = p_source and y.id = p_destination and p_source <> p_destination;
  if plain then
    if newest is null then newest := ledger_newest(); end if;
    head := ledger_head(newest);
    v_id := ledger_id(head, 1, p_tail);
    insert into idempotency (key, fingerprint, transaction) values (p_key, p_fingerprint, v_id)
      on conflict do nothing;
    plain := found;
  end if;
  if plain then
    rate := rate_of(v_asset, v_currency);
    value := round_half_even(p_amount * rate, v_money_places);
    update accounts x set total = case x.id when p_source then s_total else d_total end, seq = x.seq + 1
      where x.id in (p_source, p_destination);
    insert into transactions (id, source, destination, source_seq, destination_seq, amount, type, testnet,
        asset, owner, client_ip, api_key, fiat_currency, fiat_rate, fiat_value, seal, created_at)
      values (v_id, p_source, p_destination, s_seq, d_seq, p_amount, 'transfer', v_testnet,
        v_asset, p_actor, p_client_ip, p_api_key, case when value is not null then v_currency end, rate, value, p_seal,
        ms_time(id_ms(v_id)));
    insert into entries (account, seq, transaction, amount, balance, blocked, linked)
      values (p_source, s_seq, v_id, -p_amount, s_total, s_blocked, s_linked),
        (p_destination, d_seq, v_id, p_amount, d_total, d_blocked, d_linked);
    if p_data is not null then
      insert into transaction_data (transaction, data) values (v_id, p_data);
    end if;
    insert into ledger_commits (transactions) values (array[v_id]);
    posted := array[s_total, d_total, s_blocked + coalesce(s_linked, 0), d_blocked + coalesce(d_linked, 0),
      rate, value]::text[] || (head || p_tail);
  else
    s := case when p_source <= p_destination then 1 else 2 end;
    d := case when p_destination <= p_source then 1 else 2 end;
    select array[l.source_total[1], l.destination_total[1], l.blocked[s], l.blocked[d], l.fiat_rate[1], l.fiat_value[1]]::text[]
          || l.stamp,
        l.refusals[1], l.replays -> '1'
      into posted, refused, replay
      from ledger_queued(array[p_key], array[p_fingerprint], p_tail,
        case when s = d then array[p_source] when s < d then array[p_source, p_destination] else array[p_destination, p_source] end,
        array[s], array[d], array[p_amount],
        array[p_actor], array[p_may_move_any], array[p_client_ip], array[p_api_key], array[p_seal], array[p_data],
        array[null::text], array[null::jsonb]) l;
  end if;
end $function$;

CREATE OR REPLACE PROCEDURE ledger_single_now(IN p_key uuid, IN p_fingerprint uuid, IN p_tail text, IN p_source uuid, IN p_destination uuid, IN p_amount numeric, IN p_actor uuid, IN p_may_move_any boolean, IN p_client_ip inet, IN p_api_key uuid, IN p_seal jsonb, IN p_data jsonb, INOUT posted text[], INOUT refused text, INOUT replay jsonb)
 LANGUAGE plpgsql
AS $procedure$
declare
  l record;
begin
  commit;
  set transaction isolation level serializable;
  lock table ledger_lock in exclusive mode;
  l := ledger_single(p_key, p_fingerprint, p_tail, p_source, p_destination, p_amount, p_actor, p_may_move_any, p_client_ip,
    p_api_key, p_seal, p_data);
  posted := l.posted; refused := l.refused; replay := l.replay;
  commit;
end $procedure$;

CREATE OR REPLACE FUNCTION link_plain(p_limit integer, OUT links integer, OUT more boolean, OUT trail boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  head chain_head;
  -- What the salts of this call are made of, and forgotten with it.
  secret bytea := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
  commits bigint[]; listed uuid[]; found uuid[]; ids uuid[]; salts bytea[]; fronts text[]; backs text[]; hashes bytea[] := '{}';
  rich uuid; first_asset text; written_asset text; front text; waiting record; taken integer := 0; number bigint; tip bytea;
begin
  select * into head from chain_head for update skip locked;
  if head.one is null then return; end if;
  links := 0;
  more := false;
  trail := exists (select from audit where seq is null);
  -- The size of its array bounds from below how many ids a commit holds; arrays of later calls are not read.
  for waiting in select q.id, q.events <> '{}' as told, greatest((pg_column_size(q.transactions) - 24) / 16, 1) as size
      from ledger_commits q order by q.id limit p_limit loop
    more := waiting.told;
    exit when more or taken >= p_limit;
    commits := commits || waiting.id;
    taken := taken + waiting.size;
  end loop;
  -- Asked after they were read: who began to listen before one of these commits is seen.
  if is_heard('transaction.created') then more := more or commits is not null; return; end if;
  loop
    select array_agg(q.id) into listed from (select unnest(c.transactions) as id
      from (select x.transactions from ledger_commits x where x.id = any (commits) order by x.id) c) q;
    if listed is null then return; end if;
    -- Where ids do not ascend, all of the ledger may lie between them.
    select array_agg(t.id), (array_agg(t.id) filter (where t.rich))[1], (array_agg(t.asset))[1] into found, rich, first_asset
      from (select x.id, x.asset, x.seal is not null or x.address_data is not null as rich from transactions x
        where x.id between listed[1] and listed[cardinality(listed)] order by x.id limit cardinality(listed) + 1) t;
    if found is distinct from listed then more := true; return; end if;
    exit when rich is null;
    more := true;
    select array_agg(c.id) into commits from ledger_commits c where c.id = any (commits)
      and c.id < (select min(f.id) from ledger_commits f where f.id = any (commits) and rich = any (f.transactions));
  end loop;
  -- The forms without their numbers. Written in pieces, because each || copies what is before it; most are of one asset.
  written_asset := to_json(first_asset);
  select array_agg(x.id), array_agg(x.salt),
      array_agg(('{"amount":"' || trim_scale(x.amount)
          || case when x.api_key is null then '","asset":' else '","api_key":"' || x.api_key || '","asset":' end
          || case when x.asset = first_asset then written_asset else to_json(x.asset)::text end
          || ',"created_at":' || floor(extract(epoch from x.created_at) * 1000))
        || (',"destination":"' || x.destination || case when x.fiat_currency is null then '","fiat":null,"id":"' else
          '","fiat":{"currency":"' || x.fiat_currency || '","rate":"' || trim_scale(x.fiat_rate)
            || '","value":"' || trim_scale(x.fiat_value) || '"},"id":"' end)
        || (x.id || case when x.owner is null then '","owner":null,"reference":' else '","owner":"' || x.owner || '","reference":' end
          || case when x.reference is null then 'null,"' else to_json(x.reference) || ',"' end
          || case when x.reverts is null then 'salt":"' else 'reverts":"' || x.reverts || '","salt":"' end
          || encode(x.salt, 'hex') || '","seal":null,"seq":')),
      array_agg(',"source":"' || x.source
        || case when x.testnet then '","testnet":true,"type":"' else '","testnet":false,"type":"' end || x.type || '"}')
    into ids, salts, fronts, backs
    from (select t.*, substr(sha256(secret || uuid_send(t.id)), 1, 16) as salt from transactions t
      where t.id between listed[1] and listed[cardinality(listed)] offset 0) x;
  -- The order of what is read is not asked for, because a sort costs as much as the reading.
  if ids is distinct from listed then more := true; return; end if;
  -- Read twice, because what is kept for two uses, or numbered, is copied, and a copy costs more than the reading.
  with sums as materialized (
      select x.testnet, date_bin('1 hour', x.created_at, '2000-01-01T00:00:00Z') as hour, x.asset, x.type,
          case when x.type = 'transfer' then 'inside'
            when (select a.system from accounts a where a.id = x.source) = 'world' then 'in'
            when (select a.system from accounts a where a.id = x.destination) = 'world' then 'out'
            else 'inside' end as direction,
          coalesce(x.fiat_currency, '') as currency, x.owner,
          count(*) as count, sum(x.amount) as amount, sum(coalesce(x.fiat_value, 0)) as value
        from transactions x where x.id between listed[1] and listed[cardinality(listed)] group by 1, 2, 3, 4, 5, 6, 7),
    summed as (
      insert into hourly_flows (testnet, hour, asset, type, direction, currency, count, amount, value)
      select x.testnet, x.hour, x.asset, x.type, x.direction, x.currency, sum(x.count), sum(x.amount), sum(x.value)
        from sums x group by 1, 2, 3, 4, 5, 6
      on conflict (testnet, hour, asset, type, direction, currency) do update
        set count = hourly_flows.count + excluded.count, amount = hourly_flows.amount + excluded.amount,
          value = hourly_flows.value + excluded.value)
  insert into row_counts (collection, owner, living, dead)
    select 'transactions', x.owner, sum(x.count), 0 from sums x where x.owner is not null group by x.owner;
  number := head.seq;
  tip := head.hash;
  foreach front in array fronts loop
    links := links + 1;
    number := number + 1;
    tip := sha256(tip || convert_to(front || number || backs[links], 'UTF8'));
    hashes[links] := tip;
  end loop;
  insert into chain_links (seq, transaction, salt, hash)
    select q.seq, q.id, q.salt, q.hash from (select generate_series(head.seq + 1, number) as seq, unnest(ids) as id,
      unnest(salts) as salt, unnest(hashes) as hash) q;
  delete from ledger_commits c where c.id = any (commits);
  update chain_head set seq = number, transactions = transactions + links, hash = tip;
  more := more or links >= p_limit;
end $function$;

CREATE OR REPLACE FUNCTION listen_until(p_until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  update event_head set forgotten = id_before(l.until, null) from event_listeners l
    where l.type = '*' and l.until < now() and forgotten < id_before(l.until, null);
  insert into event_listeners (type, until) values ('*', least(p_until, now() + interval '400 days'))
  on conflict (type) do update set until = greatest(event_listeners.until, excluded.until)
$function$;

CREATE OR REPLACE FUNCTION lock_parts()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform set_config('lock_timeout', '10s', true);
  lock table transactions_newest, entries_newest in share update exclusive mode;
  perform set_config('lock_timeout', '400ms', true);
  lock table ledger_lock in exclusive mode;
  lock table only transactions, only entries, transactions_newest, entries_newest in access exclusive mode;
end $function$;

CREATE OR REPLACE FUNCTION lock_parts_patiently(p_suffix text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if to_regclass('transactions_' || p_suffix) is not null then
    perform set_config('lock_timeout', '10s', true);
    execute format('lock table %I, %I in share update exclusive mode', 'transactions_' || p_suffix, 'entries_' || p_suffix);
  end if;
  for tries in 1..50 loop
    begin
      perform lock_parts();
      if to_regclass('transactions_' || p_suffix) is not null then
        execute format('lock table %I, %I in access exclusive mode', 'transactions_' || p_suffix, 'entries_' || p_suffix);
      end if;
      return;
    exception when lock_not_available or deadlock_detected then
      if tries = 50 then raise; end if;
    end;
    perform pg_sleep(0.2);
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION may_be_sponsored(p_sender text, p_user uuid, p_own boolean, p_but uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select count(*) filter (where w.owner = p_user or o.root = (select u.root from users u where u.id = p_user)) < case when p_own then 5 else 25 end and (not p_own or count(*) < 50)
  from withdrawals w left join users o on o.id = w.owner where w.sponsored and w.sender = p_sender and w.created_at > now() - interval '1 day'
    and w.id is distinct from p_but
$function$;

CREATE OR REPLACE FUNCTION may_discard(p_ramp uuid, p_reference uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select own < 5 and whole < 50 from count_discarded(p_ramp, p_reference)
$function$;

CREATE OR REPLACE FUNCTION message_rank(p_group smallint, p_status integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when p_group in (0, 1) then 0 when p_group = 3 and p_status = 2 then 1 when p_group = 3 then 3 else 2 end
$function$;

CREATE OR REPLACE FUNCTION messages_forward()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_before integer := message_rank(old.group_id, old.status_id);
  v_after integer := message_rank(new.group_id, new.status_id);
begin
  if (new.id, new.channel, new.user_id, new.identity, new.person, new.owner, new.notice, new.customer, new.created_at)
      is distinct from
      (old.id, old.channel, old.user_id, old.identity, old.person, old.owner, old.notice, old.customer, old.created_at)
    or new.destination is not null and new.destination is distinct from old.destination
    or new.content is not null and new.content is distinct from old.content
    or old.sent_at is not null and new.sent_at is distinct from old.sent_at
    or old.provider is not null and new.provider is distinct from old.provider
    or new.attempt < old.attempt
    or new.refusals < old.refusals then
    raise exception 'a message stays as it was written'
      using errcode = 'check_violation', constraint = 'messages_fixed';
  end if;
  if v_after < v_before or v_after = v_before and v_after > 1 and new.status_id <> old.status_id then
    raise exception 'the state of a message goes forward only'
      using errcode = 'check_violation', constraint = 'messages_forward';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION messages_pace()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  new.customer := (select u.root from users u where u.id = new.owner and not 'realm' = any (u.scopes));
  if (select count(*) from messages m where lower(m.destination) = lower(new.destination)
      and m.created_at > new.created_at - interval '1 minute' and m.notice is not distinct from new.notice
      and (m.notice is null or m.customer is not distinct from new.customer)) >= 20 then
    raise exception 'a recipient gets at most 20 messages a minute'
      using errcode = 'check_violation', constraint = 'messages_pace';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION missing_of(p_asset text, p_testnet boolean, OUT drift numeric, OUT height integer, OUT "position" uuid, OUT amount numeric, OUT fresh boolean, OUT provisional boolean)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select s.drift, s.height, s.position,
    greatest(0, (select min(-q.drift - coalesce((select sum(w.amount) from write_offs w
          where w.asset = s.asset and w.testnet = s.testnet
            and w.transaction > coalesce(q.position, '00000000-0000-0000-0000-000000000000')), 0))
        from (select s.drift, s.position union all select x.drift, x.position from solvency_samples x
          where x.asset = s.asset and x.testnet = s.testnet and x.checked_at >= h.before) q
        where h.before is not null)),
    s.checked_at between now() - interval '5 minutes' and now() + interval '1 minute',
    s.provisional or is_provisional(s.asset, s.testnet)
  from solvency s cross join lateral (select max(y.checked_at) as before from solvency_samples y where y.asset = s.asset
    and y.testnet = s.testnet and y.checked_at <= s.checked_at - interval '1 hour') h
  where s.asset = p_asset and s.testnet = p_testnet
$function$;

CREATE OR REPLACE FUNCTION ms_time(p_ms bigint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select to_timestamp(p_ms / 1000.0)
$function$;

CREATE OR REPLACE FUNCTION name_beneficiary()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  new.beneficiary := coalesce(
    (select o.target_account from addresses o
      where (o.chain, o.network, o.address, o.account) = (new.chain, new.network, new.address, new.account)),
    (select a.id from accounts a where a.id = new.account and a.type = 'virtual'));
  return new;
end $function$;

CREATE OR REPLACE FUNCTION name_likeness(p_name text, p_as text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select upper(translate(btrim(p_name, '-_'),
    case when p_as = 'I' then '0-1l' when p_name collate "C" ~ '[a-z]' then '0-1I' else '0-1' end, 'O_' || p_as || p_as) collate "C")
$function$;

CREATE OR REPLACE FUNCTION newest_bound()
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select substring(pg_get_expr(c.relpartbound, c.oid) from $r$FROM \('([0-9a-f-]{36})'\)$r$)::uuid
  from pg_class c where c.oid = to_regclass('transactions_newest')
$function$;

CREATE OR REPLACE FUNCTION note_changed_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET "TimeZone" TO 'UTC'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_new jsonb := case when tg_op = 'UPDATE' then to_jsonb(new) end;
  v_old jsonb := to_jsonb(old);
  v_facts jsonb := facts_of(tg_table_name, v_new);
begin
  if v_facts is not distinct from facts_of(tg_table_name, v_old) then return null; end if;
  if subject_of(tg_table_name, v_new) <> subject_of(tg_table_name, v_old) then
    perform note_events(tg_table_name, array[subject_of(tg_table_name, v_old)], array[null::jsonb]);
  end if;
  perform note_events(tg_table_name, array[subject_of(tg_table_name, coalesce(v_new, v_old))], array[v_facts]);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_events(p_kind text, p_subjects text[], p_facts jsonb[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  with noted as (
    insert into ledger_events (kind, subject, facts)
    select p_kind, q.subject, q.facts from unnest(p_subjects, p_facts) q(subject, facts) returning id)
  insert into ledger_commits (transactions, events)
    select '{}', array_agg(id order by id) from noted having count(*) > 0
$function$;

CREATE OR REPLACE FUNCTION note_frozen()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform note_state(new.id, ledger_now(), new.blocked, new.frozen);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_issue(p_operation text, p_transaction uuid, p_asset text, p_account uuid, p_amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_currency uuid;
begin
  update currencies c set supply = supply + case p_operation when 'issue' then p_amount else -p_amount end
    where c.name = p_asset and c.deleted_at is null returning c.id into v_currency;
  if v_currency is null then
    raise exception 'only virtual currencies are issued and destroyed' using errcode = 'insufficient_privilege';
  end if;
  insert into currency_issues (transaction, currency, operation, amount, account, created_at)
    values (p_transaction, v_currency, p_operation, p_amount, p_account, ms_time(id_ms(p_transaction)));
end $function$;

CREATE OR REPLACE FUNCTION note_kin_loss()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into kin_losses (root, asset, testnet, day, lost)
    select r, new.asset, new.testnet, new.day, new.lost - case tg_op when 'UPDATE' then old.lost else 0 end
    from roots_of(new.holder) r
    on conflict (root, asset, testnet, day) do update set lost = kin_losses.lost + excluded.lost;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_loss()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into holder_losses (holder, asset, testnet, day, lost)
    select h.holder, new.asset, a.testnet, (now() at time zone 'utc')::date, x.lost
    from accounts a cross join lateral (select a.holder union all
      select '00000000-0000-0000-0000-000000000000' where not exists (
        select from users u where u.identity = a.holder and is_house(u) and u.deleted_at is null)) h
      -- Of a batch the part that was charged for: its fee is divided evenly, and others may spend many more coins.
      cross join lateral (select coalesce((
        select b.fee * o.charged / b.charged / ('1e' || a.decimals)::numeric from chain_orders o
          join chain_orders b on b.id = o.batch_order_id
        where o.id = new.order_id and b.purpose = 'batch' and b.charged > 0), new.cost) as cost) c
      cross join lateral (select case
      when new.status = 'DONE' and new.cost is not null then c.cost - new.fee + new.returned
      -- A failure costs its sender no more than the charge, and than its own bound; one that the house canceled, nothing.
      when new.status = 'FAILED' and new.cost is not null then greatest(c.cost - case when exists (
        select from order_attempts t where (t.order_id, t.hash, t.borne_by) = (new.order_id, new.hash, 'house')) then 0
        else least(new.charged, new.max_fee) end, 0)
      when new.status = 'CANCELED' and exists (select from chain_orders o where o.id = new.order_id
        and o.nonce is not null and o.hash is not null) then new.fee else 0 end as lost) x
    where a.id = new.account and x.lost <> 0
    on conflict (holder, asset, testnet, day) do update set lost = holder_losses.lost + excluded.lost;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_new_kin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into kin_losses (root, asset, testnet, day, lost)
    select new.root, l.asset, l.testnet, l.day, l.lost from holder_losses l
    where l.holder = new.identity and not exists (
      select from users u where (u.identity, u.root) = (new.identity, new.root) and u.id <> new.id)
    on conflict (root, asset, testnet, day) do update set lost = kin_losses.lost + excluded.lost;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_new_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET "TimeZone" TO 'UTC'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform note_events(tg_table_name, array_agg(subject_of(tg_table_name, q.row)),
    array_agg(facts_of(tg_table_name, q.row))) from (select to_jsonb(f) as row from fresh f) q;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_seen(p_kind text, p_subject text, p_facts jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if p_kind not in ('realm', 'audit') then
    raise exception 'events of % are noted by their table', p_kind using errcode = 'insufficient_privilege';
  end if;
  perform note_events(p_kind, array[p_subject], array[p_facts]);
end $function$;

CREATE OR REPLACE FUNCTION note_state(p_account uuid, p_at timestamp with time zone, p_blocked numeric, p_frozen boolean)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  insert into account_states (account, at, blocked, frozen)
    values (p_account, greatest(p_at, (select max(s.at) from account_states s where s.account = p_account)),
      p_blocked, p_frozen)
$function$;

CREATE OR REPLACE FUNCTION note_unused()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into unused_addresses (account, owner, root)
    select a.id, u.id, u.root from accounts a join users u on u.id = a.owner
    where a.id = new.account and u.root is not null
    on conflict do nothing;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION note_used()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  delete from unused_addresses where account = new.account;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION notes_stay()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if old.text is null
    or new.text is not null and (new.text <> old.text or new.forgotten_at is not distinct from old.forgotten_at)
    or old.forgotten_at is not null and new.forgotten_at is distinct from old.forgotten_at
    or (to_jsonb(new) - '{text,erased_at,forgotten_at}'::text[])
      is distinct from (to_jsonb(old) - '{text,erased_at,forgotten_at}'::text[]) then
    raise exception 'notes are append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION oldest_bound()
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  select q.bound from (
    select substring(pg_get_expr(c.relpartbound, c.oid) from $r$TO \('([0-9a-f-]{36})'\)$r$)::uuid as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'transactions'::regclass) q
  where q.bound is not null order by q.bound limit 1
$function$;

CREATE OR REPLACE FUNCTION open_earlier(p_open boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if p_open = earlier_kept() then return; end if;
  execute format('create or replace function earlier_kept() returns boolean language sql immutable as ''select %s''', p_open::text);
  if p_open then
    alter table idempotency_earlier drop constraint idempotency_earlier_none;
    alter table batches_earlier drop constraint batches_earlier_none;
  else
    alter table idempotency_earlier add constraint idempotency_earlier_none check (false);
    alter table batches_earlier add constraint batches_earlier_none check (false);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION open_webhook_queue()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  insert into webhook_queues (webhook) values (new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION part_suffix(p_bound uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select to_char(ms_time(id_ms(p_bound)) at time zone 'UTC', 'YYYYMMDD"t"HH24MISSMS')
$function$;

CREATE OR REPLACE FUNCTION parts_state(OUT bound uuid, OUT validated boolean, OUT rows bigint, OUT moving boolean, OUT stale boolean)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  select min(substring(pg_get_constraintdef(k.oid) from $r$< '([0-9a-f-]{36})'$r$))::uuid, count(*) = 2 and bool_and(k.convalidated)
    into bound, validated
    from pg_constraint k where k.conname = 'newest_bound'
      and k.conrelid in (to_regclass('transactions_newest'), to_regclass('entries_newest'));
  select greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) into rows
    from pg_class c where c.oid = to_regclass('transactions_newest');
  moving := to_regclass('move_log_transactions') is not null;
  select sum(greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0)) > 1.2 * greatest(p.reltuples, 0) + 1000 into stale
    from pg_class p, pg_partition_tree(p.oid) t join pg_class c on c.oid = t.relid and t.isleaf
    where p.oid = 'transactions'::regclass group by p.reltuples;
end $function$;

CREATE OR REPLACE FUNCTION pays_destination(p_address text, p_destinations text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select p_address = any (p_destinations) or exists (select from addresses x where x.address = p_address
    and array[x.account::text, coalesce(x.target_account, x.ramp)::text] && p_destinations)
$function$;

CREATE OR REPLACE FUNCTION person_syncs_forward()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION rate_of(p_asset text, p_currency text)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  v_rate numeric; v_base text; v_base_rate numeric;
begin
  if p_asset = p_currency then return 1; end if;
  select r.rate into v_rate from rates r where r.base = p_asset and r.currency = p_currency;
  if found then return v_rate; end if;
  select c.rate, c.base into v_rate, v_base from currencies c where c.name = p_asset and c.deleted_at is null;
  if v_rate is null or v_base = p_currency then return v_rate; end if;
  select r.rate into v_base_rate from rates r where r.base = v_base and r.currency = p_currency;
  return v_rate * v_base_rate;
end $function$;

CREATE OR REPLACE FUNCTION read_part(p_transactions regclass, p_entries regclass, p_bound uuid, OUT transactions bigint, OUT entries bigint, OUT last_seq bigint, OUT last_hash bytea, OUT accounts bigint, OUT fault text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  low uuid; low_seq bigint := 0; linked bigint; within boolean; wrong text; chained bigint;
begin
  select p.bound, p.last_seq into low, low_seq from archived_parts p where p.bound < p_bound order by p.bound desc limit 1;
  low_seq := coalesce(low_seq, 0);
  execute format($q$
    select count(*), count(l.seq), coalesce(max(l.seq), $3), coalesce(bool_and(t.id < $1 and t.id >= coalesce($2, t.id)), true)
    from %s t left join chain_links l on l.transaction = t.id$q$, p_transactions)
    into transactions, linked, last_seq, within using p_bound, low, low_seq;
  execute format($q$
    select count(*), count(distinct e.account), $3 and coalesce(bool_and(e.transaction < $1 and e.transaction >= coalesce($2, e.transaction)), true)
    from %s e$q$, p_entries)
    into entries, accounts, within using p_bound, low, within;
  last_hash := coalesce((select l.hash from chain_links l where l.seq = read_part.last_seq), decode(repeat('00', 32), 'hex'));
  select count(l.transaction) into chained from chain_links l where l.seq > low_seq and l.seq <= read_part.last_seq;
  execute format($q$
    select t.id::text from %1$s t left join %2$s s on s.account = t.source and s.seq = t.source_seq
    left join %2$s d on d.account = t.destination and d.seq = t.destination_seq
    where (s.transaction, d.transaction, s.amount, d.amount) is distinct from (t.id, t.id, -t.amount, t.amount) limit 1$q$,
    p_transactions, p_entries) into wrong;
  fault := case when not within then 'rows are beyond its bounds' when linked <> transactions or chained <> transactions
      then 'not every transaction has its link in the hash chain'
    when wrong is not null then format('transaction %s does not have its two entries', wrong)
    when entries <> 2 * transactions then 'entries belong to no transaction' end;
  if fault is not null then return; end if;
  execute format($q$
    select q.account || ' ' || q.seq from (
      select e.account, e.seq, e.balance, e.amount, e.transaction, lag(e.transaction) over w as earlier,
        coalesce(lag(e.seq) over w, (select c.seq from balance_checkpoints c
          where c.account = e.account and c.bound < $1 order by c.bound desc limit 1), 0) as before,
        coalesce(lag(e.balance) over w, (select c.balance from balance_checkpoints c
          where c.account = e.account and c.bound < $1 order by c.bound desc limit 1), 0) as start
      from %s e window w as (partition by e.account order by e.seq)) q
    where q.seq <> q.before + 1 or q.balance <> q.start + q.amount or q.transaction <= q.earlier limit 1$q$, p_entries)
    into wrong using p_bound;
  if wrong is not null then fault := format('entry %s does not follow the one before it', wrong); end if;
end $function$;

CREATE OR REPLACE FUNCTION reads_like_anothers(p_name text, p_owner uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return not exists (select from users u where u.id = p_owner and is_house(u)) and (
    exists (select from currencies c where c.owner <> p_owner and c.name <> p_name
      and (name_likeness(c.name, 'I') = name_likeness(p_name, 'I')
        or name_likeness(c.name, 'L') = name_likeness(p_name, 'L')))
    or exists (select from fungible_tokens t where t.owner <> p_owner and t.symbol <> p_name
      and not t.external and t.status in ('pending', 'deployed')
      and (name_likeness(t.symbol, 'I') = name_likeness(p_name, 'I')
        or name_likeness(t.symbol, 'L') = name_likeness(p_name, 'L'))));
end $function$;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION refuse_fall()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  raise exception 'the number of an account''s last entry never falls'
    using errcode = 'check_violation', constraint = 'accounts_seq';
end $function$;

CREATE OR REPLACE FUNCTION refuse_linked_deposit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if watches_addresses(new.account) and exists (select 1 from addresses o
      where o.chain = new.chain and o.network = new.network and o.address = new.address) then
    raise exception 'a deposit at an address of ours is not linked value'
      using errcode = 'check_violation', constraint = 'deposits_linked';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION refuse_linked_own()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if exists (select 1 from external_addresses e where e.address = new.address and e.deleted_at is null) then
    raise exception 'an address of ours is still linked to an account'
      using errcode = 'unique_violation', constraint = 'addresses_linked';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION refuse_own_link()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if not watches_addresses(new.account) then
    raise exception 'nothing is linked to this account'
      using errcode = 'check_violation', constraint = 'external_addresses_watching';
  end if;
  if exists (select 1 from addresses a where a.address = new.address)
    or exists (select 1 from reserved_addresses r where r.address = new.address) then
    raise exception 'an address of ours is not linked'
      using errcode = 'unique_violation', constraint = 'external_addresses_own';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION refuse_signature()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform 1 from chain_orders o join ramps r on r.account = o.ramp
  where o.id = new.order_id and r.quarantined is not null for share of r;
  if found then
    raise exception 'nothing is signed for a ramp in quarantine'
      using errcode = 'check_violation', constraint = 'ramps_quarantined';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION register_token(p_token uuid, p_currency uuid, p_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  update fungible_tokens t set currency = p_currency, status = 'registered', updated_at = p_at
    from currencies c where t.id = p_token and t.status = 'deployed' and c.id = p_currency and c.name = t.symbol
      and c.decimals = t.decimals;
  if not found then
    raise exception 'token % was not deployed', p_token using errcode = 'insufficient_privilege';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION regroup_kin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  roots uuid[];
begin
  with recursive below as (
    select c.id, coalesce(new.root, c.id) as root from users c
    where c.owner = new.id and c.id <> new.id and not is_house(c)
    union
    select c.id, b.root from below b join users c on c.owner = b.id and c.id <> b.id and not is_house(c)
  ), moved as (
    update users u set root = b.root from below b
    where u.id = b.id and u.id <> new.id and u.root is distinct from b.root returning u.root
  )
  select array_agg(distinct root) into roots from (
    select root from moved union all select unnest(array[old.root, new.root])) r where root is not null;
  delete from kin_losses where root = any (roots);
  insert into kin_losses (root, asset, testnet, day, lost)
    select x.root, l.asset, l.testnet, l.day, sum(l.lost)
    from (select distinct root, identity from users where root = any (roots)) x
      join holder_losses l on l.holder = x.identity
    group by x.root, l.asset, l.testnet, l.day;
  delete from unused_addresses where owner = new.id and new.root is null;
  update unused_addresses x set root = u.root from users u
    where u.root = any (roots) and x.owner = u.id and x.root <> u.root;
  update external_addresses x set root = u.root from users u
    where (u.root = any (roots) or u.id = new.id) and x.owner = u.id and x.deleted_at is null and x.root is distinct from u.root;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION release_bound()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if ledger_ms() >= id_ms((parts_state()).bound) then perform unbound_parts(); end if;
end $function$;

CREATE OR REPLACE FUNCTION rename_with_all(p_from text, p_to text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  v_table constant regclass := p_from::regclass;
  o record;
begin
  execute format('alter table %I rename to %I', p_from, p_to);
  for o in
    select c.conname as name, format('alter table %I rename constraint %I to', p_to, c.conname) as command
      from pg_constraint c where c.conrelid = v_table
    union all select i.relname, format('alter index %I rename to', i.relname)
      from pg_index x join pg_class i on i.oid = x.indexrelid
      where x.indrelid = v_table and not exists (select from pg_constraint c where c.conindid = x.indexrelid)
    union all select t.tgname, format('alter trigger %I on %I rename to', t.tgname, p_to)
      from pg_trigger t where t.tgrelid = v_table and not t.tgisinternal
  loop
    if not starts_with(o.name, p_from || '_') then
      raise exception '% of table % does not begin with its name', o.name, p_from;
    end if;
    execute format('%s %I', o.command, p_to || substr(o.name, length(p_from) + 1));
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION renew_answers(p_least bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '3s'
 SET enable_seqscan TO 'off'
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_many boolean; v_empty boolean; v_kept constant timestamptz := clock_timestamp() - interval '7 days';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'an older snapshot shows no young rows';
  end if;
  lock table idempotency, idempotency_earlier, batches, batches_earlier in share update exclusive mode;
  v_many := estimated_rows('idempotency') >= p_least;
  v_empty := pg_relation_size('idempotency_earlier') + pg_relation_size('batches_earlier') = 0;
  if not v_many and v_empty and not earlier_kept()
    or exists (select from idempotency_earlier e where e.created_at >= v_kept)
    or exists (select from batches_earlier e where e.created_at >= v_kept) then
    return null;
  end if;
  perform set_config('lock_timeout', '200ms', true); -- those that wait behind this wait no longer
  lock table ledger_lock in exclusive mode;
  lock table idempotency, idempotency_earlier, batches, batches_earlier in access exclusive mode;
  if exists (select from pg_trigger t where t.tgname like 'move\_%' and not t.tgisinternal
      and t.tgrelid = any ('{idempotency,idempotency_earlier,batches,batches_earlier}'::regclass[])) then
    return null;
  end if;
  truncate idempotency_earlier, batches_earlier;
  perform open_earlier(v_many);
  if not v_many then return case when not v_empty then 'emptied' end; end if;
  perform rename_with_all('idempotency', 'idempotency_leaving'), rename_with_all('batches', 'batches_leaving');
  perform rename_with_all('idempotency_earlier', 'idempotency'), rename_with_all('batches_earlier', 'batches');
  perform rename_with_all('idempotency_leaving', 'idempotency_earlier'),
    rename_with_all('batches_leaving', 'batches_earlier');
  return 'exchanged';
end $function$;

CREATE OR REPLACE FUNCTION retry_job(p_id uuid)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
  with retried as (
    update jobs set state = 'ready', run_at = now(), attempts_max = attempts + 12, finished_at = null
    where id = p_id and state = 'dead' returning id)
  select exists (select from retried)
$function$;

CREATE OR REPLACE FUNCTION roots_of(p_identity uuid)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE
AS $function$
  with recursive r as (
    (select u.root from users u where u.identity = p_identity and u.root is not null order by u.root limit 1)
    union all
    select (select u.root from users u where u.identity = p_identity and u.root > r.root order by u.root limit 1)
    from r where r.root is not null)
  select root from r where root is not null
$function$;

CREATE OR REPLACE FUNCTION round_half_even(x numeric, places integer)
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
declare
  r numeric := round(x, places);
  unit numeric := 1;
begin
  if places > 0 then unit := ('0.' || repeat('0', places - 1) || '1')::numeric; end if;
  if abs(r - x) * 2 = unit and mod(abs(r) / unit, 2) = 1 then return r - sign(x) * unit; end if;
  return r;
end $function$;

CREATE OR REPLACE FUNCTION sample_less(p_table regclass)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute (select format('alter table only %s %s', p_table,
      string_agg(format('alter column %I set statistics 20', a.attname), ', '))
    from pg_attribute a where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped);
end $function$;

CREATE OR REPLACE FUNCTION second_factors_forward()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if new.secret = old.secret and (new.last_step < old.last_step
      or not new.recovery <@ old.recovery and old.confirmed_at is not null) then
    raise exception 'a code that was used stays so'
      using errcode = 'check_violation', constraint = 'second_factors_forward';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION server_timeline()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  return case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end;
exception when others then -- services that do not tell it differ in how they refuse
  return null;
end $function$;

CREATE OR REPLACE FUNCTION shape_parts(p_bounds uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  b uuid; wait text := current_setting('lock_timeout');
begin
  for b in select u from unnest(p_bounds) u order by u loop
    perform bound_parts(b);
    perform validate_part('transactions');
    perform validate_part('entries');
    perform attach_parts();
  end loop;
  perform set_config('lock_timeout', wait, true);
end $function$;

CREATE OR REPLACE FUNCTION shows_demand(o chain_orders, p_demand text, p_batch uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case p_demand
    when 'batch' then exists (select 1 from chain_orders p where p.id = p_batch
      and p.purpose in ('batch', 'recovered') and p.state = case when o.state = 'new' then 'canceled'
        when o.state <> 'batched' then o.state when p.purpose = 'batch' then 'planned' else 'mined' end)
    when 'found' then c.living = 0 and exists (select 1 from chain_orders p
      where p.id = p_batch and case p.purpose when 'recovered' then p.state end = 'mined')
    when 'plan' then c.living > 0
    when 'unsigned' then c.signed = 0
    when 'unsent' then c.sent = 0 and not exists (select from order_attempts k
      left join reserved_inputs i on i.order_id = k.order_id and i.consumed_by = k.hash
      where k.order_id = o.id and not k.dropped and (k.seen_height is not null or i.input is not null))
    when 'bytes' then c.named > 0
    when 'leaving' then c.leaving > 0
    when 'block' then c.named > 0 and o.height is not null and o.confirmations > 0
    when 'paid' then c.paying > 0 and o.succeeded and o.height is not null and o.confirmations > 0
    when 'in vain' then c.named > 0 and (c.paying = 0 or not o.succeeded) and o.height is not null
      and o.confirmations > 0
    when 'no block' then o.height is null
    when 'dropped' then c.living = 0 and (c.made > 0 or o.purpose in ('recovered', 'sweep'))
  end
  from (select count(*) as made, count(*) filter (where not dropped) as living,
      count(*) filter (where not dropped and hash is not null) as signed,
      count(*) filter (where not dropped and sent_at is not null) as sent,
      count(*) filter (where not dropped and hash = o.hash) as named,
      count(*) filter (where not dropped and hash = o.hash and not cancels) as paying,
      count(*) filter (where not dropped and hash = o.hash and sent_at is not null) as leaving
    from (select dropped, hash, sent_at, cancels from order_attempts where order_id = o.id
      union all select false, hash, sent_at, cancels from order_attempts
      where late_order_id = o.id and o.purpose in ('recovered', 'sweep')) k) c
$function$;

CREATE OR REPLACE FUNCTION stopped_moves(p_type text, p_ids uuid[], p_source integer[], p_destination integer[], p_actor uuid[])
 RETURNS boolean[]
 LANGUAGE sql
 STABLE
AS $function$
  select array_agg(exists (select from stops z where z.what = 'moves' and z.lifted_at is null
      and (z.asset is null or z.asset = s.asset)
      and (z.chain is null or s.asset = any (z.chain_assets) or exists (select from fungible_tokens t
        join currencies c on c.id = t.currency where t.chain = z.chain and c.name = s.asset))
      and (z.account is null or z.account in (s.id, d.id))
      and (z.user_id is null or z.user_id in (q.actor, s.owner))
      and (z.destination is null or d.id::text = any (z.destinations)
        or exists (select from addresses x where d.id in (x.account, x.target_account, x.ramp)
          and (x.address = any (z.destinations) or x.account::text = any (z.destinations))
          and case when d.id = x.account then true when x.target_account is not null then d.id = x.target_account
            else p_type not in ('withdrawal', 'fee') end)
        or exists (select from (select address, deleted_at from external_addresses where account = d.id offset 0) x
          where x.deleted_at is null and x.address = any (z.destinations)))) order by q.ord)
  from unnest(p_source, p_destination, p_actor) with ordinality q(source, destination, actor, ord)
    left join accounts s on s.id = p_ids[q.source] left join accounts d on d.id = p_ids[q.destination]
$function$;

CREATE OR REPLACE FUNCTION subject_of(p_table text, p_row jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case p_table when 'reserved_addresses' then encode(sha256(convert_to(p_row ->> 'address', 'UTF8')), 'hex')
    else p_row ->> case p_table when 'ramps' then 'account' when 'second_factors' then 'user_id'
      when 'archived_parts' then 'bound' else 'id' end end
$function$;

CREATE OR REPLACE FUNCTION tell_of(VARIADIC p_tables text[])
 RETURNS void
 LANGUAGE plpgsql
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  t text;
  told text;
  facts text := rtrim(pg_get_viewdef('ledger_facts'::regclass), ';');
begin
  foreach t in array p_tables loop
    select string_agg(quote_ident(attname), ', ' order by attnum) into told from pg_attribute
      where attrelid = t::regclass and attnum > 0 and not attisdropped and attname <> all (untold_columns(t));
    execute format('create trigger %I after insert on %I referencing new table as fresh
      for each statement execute function note_new_rows()', t || '_noted', t);
    execute format('create trigger %I after update of %s on %I
      for each row execute function note_changed_row()', t || '_noted_change', told, t);
    execute format('create trigger %I after delete on %I
      for each row execute function note_changed_row()', t || '_noted_end', t);
    facts := facts || format(' union all select %L::text, subject_of(%L, q.row), facts_of(%L, q.row)
      from (select to_jsonb(x) as row from %I x) q', t, t, t, t);
  end loop;
  execute 'create or replace view ledger_facts as ' || facts;
  perform note_events(kind, array_agg(subject), array_agg(f.facts)) from ledger_facts f where kind = any (p_tables) group by kind;
end $function$;

CREATE OR REPLACE FUNCTION time_block()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
declare
  v_now timestamptz := ledger_now();
begin
  if tg_op = 'INSERT' then
    new.created_at := v_now;
    return new;
  end if;
  if new.status = 'CAPTURED' and old.expires_at <= v_now then return null; end if;
  if new.status = 'EXPIRED' and (old.expires_at <= v_now) is not true then return null; end if;
  -- A capture closes it at the moment of its move, whose id was drawn just before.
  new.closed_at := least(v_now, ms_time(id_ms(new.transaction)));
  return new;
end $function$;

CREATE OR REPLACE FUNCTION tokens_differ()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if reads_like_anothers(new.symbol, new.owner) then
    raise exception 'this name reads like that of another user''s currency'
      using errcode = 'check_violation', constraint = 'fungible_tokens_likeness';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION unbound_parts()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  perform lock_parts();
  alter table transactions_newest drop constraint if exists newest_bound;
  alter table entries_newest drop constraint if exists newest_bound;
end $function$;

CREATE OR REPLACE FUNCTION untold_columns(p_table text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select array['data', 'error', 'updated_at'] || case p_table
    when 'accounts' then array['total', 'blocked', 'linked', 'seq']
    when 'currencies' then array['supply']
    when 'identities' then array['person', 'company']
    when 'users' then array['username', 'email', 'password_digest', 'channel']
    when 'api_keys' then array['last_used_at']
    when 'second_factors' then array['last_step', 'wrong_codes', 'wrong_since']
    when 'ramps' then array['next_index', 'reserved']
    when 'external_addresses' then array['root']
    when 'reserved_addresses' then array['shared']
    -- What was asked for is told; how it goes is proven by orders, by transactions and by chains.
    when 'withdrawals' then array['fee', 'charged', 'surcharge', 'returned', 'speed', 'gas_asset', 'gas', 'sponsored', 'block',
      'transaction', 'status', 'hash', 'nonce', 'height', 'confirmations', 'cost', 'found_order_id', 'found_payment', 'history',
      'deleted_at']
    when 'ramp_transfers' then array['state', 'block', 'asked_at', 'reference', 'claimed', 'claims', 'exchange_status',
      'exchange_amount', 'exchange_fee', 'hash', 'deposit', 'withdrawal', 'doubtful', 'reason', 'tries', 'next_at']
    when 'external_ramps' then array['hint', 'status', 'assets', 'failures', 'checked_at', 'check_at']
    else '{}' end
$function$;

CREATE OR REPLACE FUNCTION validate_part(p_table text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'realm', 'pg_temp'
AS $function$
begin
  if p_table not in ('transactions', 'entries') then raise exception 'no parts of %', p_table; end if;
  execute format('alter table %I validate constraint newest_bound', p_table || '_newest');
end $function$;

CREATE OR REPLACE FUNCTION was_scanned_without(p_chain text, p_network text, p_height bigint, p_hash text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select p_hash is not null
    and not exists (select from chain_blocks where (chain, network, height, hash) = (p_chain, p_network, p_height, p_hash))
    and exists (select from chain_blocks where (chain, network) = (p_chain, p_network) and height >= p_height)
    and exists (select from chain_blocks where (chain, network) = (p_chain, p_network) and height <= p_height)
$function$;

CREATE OR REPLACE FUNCTION watches_addresses(p_account uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select a.type = 'virtual' and not exists (select 1 from currencies c where c.account = a.id and c.name = a.asset)
    from accounts a where a.id = p_account
$function$;

CREATE OR REPLACE FUNCTION write_off_seal(w write_offs)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select jsonb_build_object('writes_off', 'missing', 'drift', trim_scale(w.drift)::text, 'height', w.height, 'position', w.position)
$function$;

realm may delete on coins
realm may delete on companies
realm may delete on company_domains
realm may delete on person_contacts
realm may delete on persons
realm may delete on reserved_inputs
realm may delete on second_factors
realm may execute on account_ties(uuid)
realm may execute on archived_bound()
realm may execute on chain_coin(text)
realm may execute on checkpoint_digest(uuid)
realm may execute on claim_key(uuid,uuid)
realm may execute on count_discarded(uuid,uuid)
realm may execute on database_ms()
realm may execute on database_place()
realm may execute on digested_columns(text)
realm may execute on discard_job(uuid,uuid,text)
realm may execute on earlier_kept()
realm may execute on entry_before(uuid,uuid)
realm may execute on estimated_rows(regclass)
realm may execute on facts_of(text,jsonb)
realm may execute on hand_over_deposits(uuid,jsonb,timestamp with time zone)
realm may execute on has_coins(text)
realm may execute on id_at(uuid,bigint)
realm may execute on id_before(timestamp with time zone,uuid)
realm may execute on id_ms(uuid)
realm may execute on in_quarantine(uuid)
realm may execute on is_archived(uuid)
realm may execute on is_attested()
realm may execute on is_circulating(text)
realm may execute on is_coin(text,text)
realm may execute on is_confirmed()
realm may execute on is_derived(text,integer,uuid)
realm may execute on is_folded(text,text)
realm may execute on is_given_up(order_attempts)
realm may execute on is_heard(text)
realm may execute on is_house(users)
realm may execute on is_paid_by_ramp(chain_orders)
realm may execute on is_plain(text)
realm may execute on is_provisional(text,boolean)
realm may execute on is_repeat(uuid,uuid)
realm may execute on is_sponsor(uuid,uuid)
realm may execute on issue_digest(uuid,uuid)
realm may execute on kept_answer(uuid)
realm may execute on leaves_nonce(chain_orders)
realm may execute on ledger_bulk(uuid,uuid,text,jsonb,boolean,text,uuid,boolean,inet,uuid,uuid[],integer[],integer[],numeric[],jsonb[],jsonb[],text[],jsonb[])
realm may execute on ledger_closed(bigint)
realm may execute on ledger_head(uuid)
realm may execute on ledger_id(text,integer,text)
realm may execute on ledger_ms()
realm may execute on ledger_newest()
realm may execute on ledger_now()
realm may execute on ledger_post(text,boolean,text,text,uuid[],integer[],integer[],numeric[],uuid[],boolean[],inet[],uuid[],jsonb[],jsonb[],text[],jsonb[])
realm may execute on ledger_queued(uuid[],uuid[],text,uuid[],integer[],integer[],numeric[],uuid[],boolean[],inet[],uuid[],jsonb[],jsonb[],text[],jsonb[])
realm may execute on ledger_queued_now(uuid[],uuid[],text,uuid[],integer[],integer[],numeric[],uuid[],boolean[],inet[],uuid[],jsonb[],jsonb[],text[],jsonb[],text,text,text,text,text,text,text,jsonb)
realm may execute on ledger_replay(uuid,uuid)
realm may execute on ledger_single(uuid,uuid,text,uuid,uuid,numeric,uuid,boolean,inet,uuid,jsonb,jsonb)
realm may execute on ledger_single_now(uuid,uuid,text,uuid,uuid,numeric,uuid,boolean,inet,uuid,jsonb,jsonb,text[],text,jsonb)
realm may execute on listen_until(timestamp with time zone)
realm may execute on may_be_sponsored(text,uuid,boolean,uuid)
realm may execute on may_discard(uuid,uuid)
realm may execute on message_rank(smallint,integer)
realm may execute on missing_of(text,boolean)
realm may execute on ms_time(bigint)
realm may execute on name_likeness(text,text)
realm may execute on newest_bound()
realm may execute on oldest_bound()
realm may execute on part_suffix(uuid)
realm may execute on parts_state()
realm may execute on pays_destination(text,text[])
realm may execute on rate_of(text,text)
realm may execute on reads_like_anothers(text,uuid)
realm may execute on register_token(uuid,uuid,timestamp with time zone)
realm may execute on release_bound()
realm may execute on retry_job(uuid)
realm may execute on roots_of(uuid)
realm may execute on round_half_even(numeric,integer)
realm may execute on sample_less(regclass)
realm may execute on server_timeline()
realm may execute on shows_demand(chain_orders,text,uuid)
realm may execute on stopped_moves(text,uuid[],integer[],integer[],uuid[])
realm may execute on subject_of(text,jsonb)
realm may execute on untold_columns(text)
realm may execute on was_scanned_without(text,text,bigint,text)
realm may execute on watches_addresses(uuid)
realm may execute on write_off_seal(write_offs)
realm may insert (account, address, asset, block, chain, created_at, currency, data, exchange, exchange_network, expected_address, external_ramp, id, kind, max_fee, network, offered_fee, owner, paid_by, speed, value) on ramp_transfers
realm may insert (account, base, country, created_at, currency, data, decimals, id, name, owner, rate, sub_unit, symbol, symbol_url) on currencies
realm may insert (account, chain, contract, created_at, currency, data, decimals, external, fee, id, name, network, order_id, owner, status, supply, symbol) on fungible_tokens
realm may insert (account, chain, created_at, network, number) on ramps
realm may insert (action, actor, address, api_key, api_key_name, created_at, entity, fields, id, request_id) on audit
realm may insert (active, asset, country, created_at, currency, currency_places, data, decimals, enabled, holder, id, is_default, owner, ramp, reference, system, testnet, type) on accounts
realm may insert (address, chain, contract, height, network, nonce, seen_at) on onchain_balances
realm may insert (chain, created_at, from_height, hash, id, network, owner, to_height) on rescans
realm may insert (collection, created_at, entity, id, identity, kind, owner, person, text) on notes
realm may insert (created_at, credentials, credentials_at, data, hint, id, identity, key, owner, ramp) on external_ramps
realm may insert (created_at, data, events, id, owner, secret, url) on webhooks
realm may insert (created_at, entity, others, owner, payload, type) on events
realm may insert (created_at, id, owner, parameters) on person_syncs
realm may insert (created_at, one, wrapped) on profile_keys
realm may insert (created_at, secret, user_id) on second_factors
realm may insert (dedupe, id, name, payload, run_at, serial_key, share, traceparent) on jobs
realm may insert (fingerprint, key) on idempotency
realm may insert (fingerprint, key) on idempotency_earlier
realm may insert on addresses
realm may insert on aliases
realm may insert on api_keys
realm may insert on blocks
realm may insert on chain_orders
realm may insert on companies
realm may insert on company_domains
realm may insert on consolidations
realm may insert on deposit_apps
realm may insert on external_addresses
realm may insert on identities
realm may insert on login_attempts
realm may insert on logins
realm may insert on messages
realm may insert on person_contacts
realm may insert on person_events
realm may insert on persons
realm may insert on rates
realm may insert on reserved_inputs
realm may insert on revocations
realm may insert on stops
realm may insert on transaction_data
realm may insert on users
realm may insert on withdrawals
realm may select (assets, check_at, checked_at, created_at, credentials_at, data, deleted_at, error, failures, hint, id, identity, key, owner, ramp, status, updated_at) on external_ramps
realm may select (attempt, borne_by, cancels, created_at, dropped, expires, fee, hash, inputs, late, late_order_id, order_id, outcome, plan, proof, proof_by, proof_height, proof_reached, seen_height, sent_at, unreadable) on order_attempts
realm may select (kind) on secrets
realm may select on account_states
realm may select on accounts
realm may select on addresses
realm may select on aliases
realm may select on api_keys
realm may select on archived_parts
realm may select on asset_kinds
realm may select on attestations
realm may select on audit
realm may select on balance_checkpoints
realm may select on batches
realm may select on batches_earlier
realm may select on blocks
realm may select on chain_blocks
realm may select on chain_cursors
realm may select on chain_head
realm may select on chain_links
realm may select on chain_orders
realm may select on chain_samples
realm may select on coin_rounds
realm may select on coin_searches
realm may select on coins
realm may select on companies
realm may select on company_domains
realm may select on consolidations
realm may select on currencies
realm may select on currency_issues
realm may select on deposit_apps
realm may select on deposit_list
realm may select on deposits
realm may select on displaced_orders
realm may select on entries
realm may select on entries_newest
realm may select on event_head
realm may select on event_listeners
realm may select on events
realm may select on exchange_keys
realm may select on external_addresses
realm may select on fee_quotes
realm may select on fungible_tokens
realm may select on holder_losses
realm may select on hourly_flows
realm may select on idempotency
realm may select on idempotency_earlier
realm may select on identities
realm may select on incidents
realm may select on jobs
realm may select on kin_losses
realm may select on leases
realm may select on ledger_commits
realm may select on ledger_events
realm may select on ledger_facts
realm may select on ledger_lock
realm may select on login_attempts
realm may select on logins
realm may select on messages
realm may select on migrations
realm may select on nonces
realm may select on notes
realm may select on onchain_balances
realm may select on opening_balances
realm may select on order_lock
realm may select on order_transitions
realm may select on passed_addresses
realm may select on person_contacts
realm may select on person_events
realm may select on person_syncs
realm may select on persons
realm may select on profile_keys
realm may select on ramp_costs
realm may select on ramp_transfer_transitions
realm may select on ramp_transfers
realm may select on ramps
realm may select on rates
realm may select on rescans
realm may select on reserved_addresses
realm may select on reserved_inputs
realm may select on revocations
realm may select on row_counts
realm may select on second_factors
realm may select on solvency
realm may select on solvency_samples
realm may select on stops
realm may select on sweeps
realm may select on token_proofs
realm may select on transaction_data
realm may select on transaction_list
realm may select on transaction_references
realm may select on transaction_reverts
realm may select on transactions
realm may select on transactions_newest
realm may select on unexplained_gains
realm may select on unmatched_deposits
realm may select on unused_addresses
realm may select on users
realm may select on webhook_deliveries
realm may select on webhook_queues
realm may select on webhooks
realm may select on withdrawals
realm may select on write_offs
realm may update (active, base, data, deleted_at, rate, sub_unit, symbol, symbol_url, updated_at) on currencies
realm may update (active, data, deleted_at, disabled_reason, events, previous_secret, previous_until, secret, told_at, updated_at, url) on webhooks
realm may update (active, data, deleted_at, enabled, error, frozen, frozen_by, frozen_by_realm, is_default, ramp, updated_at) on accounts
realm may update (assets, check_at, checked_at, credentials, credentials_at, data, deleted_at, error, failures, hint, key, status, updated_at) on external_ramps
realm may update (attempts, first_at, next_at, response_body, status) on webhook_deliveries
realm may update (batch_order_id, budget, charged, confirmations, error, gas_block, hash, height, last_attempt_at, replace, schedule_version, sped_up_at, speed, state, updated_at) on chain_orders
realm may update (block, charged, data, fee, gas, history, max_fee, speed, status, surcharge, updated_at) on withdrawals
realm may update (body, profile, status) on idempotency
realm may update (body, profile, status) on idempotency_earlier
realm may update (captured, closed_at, status, transaction) on blocks
realm may update (claimed, claims, deposit, error, next_at, reason, state, tries, updated_at) on ramp_transfers
realm may update (confirmed_at, last_step, recovery, secret, wrong_codes, wrong_since) on second_factors
realm may update (data, deleted_at, updated_at) on fungible_tokens
realm may update (deleted_at) on external_addresses
realm may update (deleted_at, last_used_at, updated_at) on api_keys
realm may update (ended_at, last_used_at) on logins
realm may update (erased_at, forgotten_at, text) on notes
realm may update (error, finished_at, parameters, state, updated_at) on person_syncs
realm may update (failing_since, failures, lease_owner, lease_until, resume_at) on webhook_queues
realm may update (max_fee, max_fee_rate, speed, updated_at) on consolidations
realm may update (next_index) on ramps
realm may update (payload) on events
realm may update (wrapped) on profile_keys
realm may update on aliases
realm may update on companies
realm may update on company_domains
realm may update on deposit_apps
realm may update on identities
realm may update on ledger_lock
realm may update on login_attempts
realm may update on messages
realm may update on person_contacts
realm may update on persons
realm may update on rates
realm may update on stops
realm may update on transaction_data
realm may update on users
realm may usage on schema
realm_worker is a member of realm
realm_worker may delete on batches
realm_worker may delete on batches_earlier
realm_worker may delete on chain_blocks
realm_worker may delete on chain_samples
realm_worker may delete on coins
realm_worker may delete on deposits
realm_worker may delete on idempotency
realm_worker may delete on idempotency_earlier
realm_worker may delete on incidents
realm_worker may delete on jobs
realm_worker may delete on ledger_commits
realm_worker may delete on login_attempts
realm_worker may delete on logins
realm_worker may delete on rescans
realm_worker may delete on reserved_inputs
realm_worker may delete on revocations
realm_worker may delete on row_counts
realm_worker may delete on solvency_samples
realm_worker may delete on unexplained_gains
realm_worker may delete on unmatched_deposits
realm_worker may execute on analyze_parts()
realm_worker may execute on attach_parts()
realm_worker may execute on bound_parts(uuid)
realm_worker may execute on forget_events(uuid,integer)
realm_worker may execute on ledger_book(text,boolean,text,text,uuid[],integer[],integer[],numeric[],uuid[],boolean[],inet[],uuid[],jsonb[],jsonb[],text[],jsonb[])
realm_worker may execute on link_plain(integer)
realm_worker may execute on note_seen(text,text,jsonb)
realm_worker may execute on renew_answers(bigint)
realm_worker may execute on unbound_parts()
realm_worker may execute on validate_part(text)
realm_worker may insert on addresses
realm_worker may insert on attestations
realm_worker may insert on chain_blocks
realm_worker may insert on chain_cursors
realm_worker may insert on chain_links
realm_worker may insert on chain_orders
realm_worker may insert on chain_samples
realm_worker may insert on coin_rounds
realm_worker may insert on coin_searches
realm_worker may insert on coins
realm_worker may insert on consolidations
realm_worker may insert on deposit_apps
realm_worker may insert on deposits
realm_worker may insert on displaced_orders
realm_worker may insert on events
realm_worker may insert on exchange_keys
realm_worker may insert on external_addresses
realm_worker may insert on external_ramps
realm_worker may insert on fee_quotes
realm_worker may insert on fungible_tokens
realm_worker may insert on hourly_flows
realm_worker may insert on incidents
realm_worker may insert on jobs
realm_worker may insert on leases
realm_worker may insert on login_attempts
realm_worker may insert on nonces
realm_worker may insert on onchain_balances
realm_worker may insert on order_attempts
realm_worker may insert on passed_addresses
realm_worker may insert on ramp_costs
realm_worker may insert on ramp_transfers
realm_worker may insert on ramps
realm_worker may insert on rates
realm_worker may insert on reserved_addresses
realm_worker may insert on reserved_inputs
realm_worker may insert on revocations
realm_worker may insert on row_counts
realm_worker may insert on secrets
realm_worker may insert on solvency
realm_worker may insert on solvency_samples
realm_worker may insert on sweeps
realm_worker may insert on token_proofs
realm_worker may insert on unexplained_gains
realm_worker may insert on unmatched_deposits
realm_worker may insert on webhook_deliveries
realm_worker may insert on withdrawals
realm_worker may select on account_states
realm_worker may select on accounts
realm_worker may select on addresses
realm_worker may select on aliases
realm_worker may select on api_keys
realm_worker may select on archived_parts
realm_worker may select on asset_kinds
realm_worker may select on attestations
realm_worker may select on audit
realm_worker may select on balance_checkpoints
realm_worker may select on batches
realm_worker may select on batches_earlier
realm_worker may select on blocks
realm_worker may select on chain_blocks
realm_worker may select on chain_cursors
realm_worker may select on chain_head
realm_worker may select on chain_links
realm_worker may select on chain_orders
realm_worker may select on chain_samples
realm_worker may select on coin_rounds
realm_worker may select on coin_searches
realm_worker may select on coins
realm_worker may select on companies
realm_worker may select on company_domains
realm_worker may select on consolidations
realm_worker may select on currencies
realm_worker may select on currency_issues
realm_worker may select on deposit_apps
realm_worker may select on deposit_list
realm_worker may select on deposits
realm_worker may select on displaced_orders
realm_worker may select on entries
realm_worker may select on entries_newest
realm_worker may select on event_head
realm_worker may select on event_listeners
realm_worker may select on events
realm_worker may select on exchange_keys
realm_worker may select on external_addresses
realm_worker may select on external_ramps
realm_worker may select on fee_quotes
realm_worker may select on fungible_tokens
realm_worker may select on holder_losses
realm_worker may select on hourly_flows
realm_worker may select on idempotency
realm_worker may select on idempotency_earlier
realm_worker may select on identities
realm_worker may select on incidents
realm_worker may select on jobs
realm_worker may select on kin_losses
realm_worker may select on leases
realm_worker may select on ledger_commits
realm_worker may select on ledger_events
realm_worker may select on ledger_facts
realm_worker may select on ledger_lock
realm_worker may select on login_attempts
realm_worker may select on logins
realm_worker may select on messages
realm_worker may select on migrations
realm_worker may select on nonces
realm_worker may select on notes
realm_worker may select on onchain_balances
realm_worker may select on opening_balances
realm_worker may select on order_attempts
realm_worker may select on order_lock
realm_worker may select on order_transitions
realm_worker may select on passed_addresses
realm_worker may select on person_contacts
realm_worker may select on person_events
realm_worker may select on person_syncs
realm_worker may select on persons
realm_worker may select on profile_keys
realm_worker may select on ramp_costs
realm_worker may select on ramp_transfer_transitions
realm_worker may select on ramp_transfers
realm_worker may select on ramps
realm_worker may select on rates
realm_worker may select on rescans
realm_worker may select on reserved_addresses
realm_worker may select on reserved_inputs
realm_worker may select on revocations
realm_worker may select on row_counts
realm_worker may select on second_factors
realm_worker may select on secrets
realm_worker may select on solvency
realm_worker may select on solvency_samples
realm_worker may select on stops
realm_worker may select on sweeps
realm_worker may select on token_proofs
realm_worker may select on transaction_data
realm_worker may select on transaction_list
realm_worker may select on transaction_references
realm_worker may select on transaction_reverts
realm_worker may select on transactions
realm_worker may select on transactions_newest
realm_worker may select on unexplained_gains
realm_worker may select on unmatched_deposits
realm_worker may select on unused_addresses
realm_worker may select on users
realm_worker may select on webhook_deliveries
realm_worker may select on webhook_queues
realm_worker may select on webhooks
realm_worker may select on withdrawals
realm_worker may select on write_offs
realm_worker may update (amount, count, value) on hourly_flows
realm_worker may update (completed, created, cursor, error, finished_at, linked, parameters, read, state, step, updated_at) on person_syncs
realm_worker may update (error, finished_at, found, found_count, node, node_height, updated_at) on rescans
realm_worker may update (hash, seq) on audit
realm_worker may update (id) on events
realm_worker may update on attestations
realm_worker may update on chain_blocks
realm_worker may update on chain_cursors
realm_worker may update on chain_head
realm_worker may update on chain_orders
realm_worker may update on coin_rounds
realm_worker may update on coin_searches
realm_worker may update on coins
realm_worker may update on consolidations
realm_worker may update on deposit_apps
realm_worker may update on deposits
realm_worker may update on displaced_orders
realm_worker may update on event_head
realm_worker may update on external_addresses
realm_worker may update on external_ramps
realm_worker may update on fee_quotes
realm_worker may update on fungible_tokens
realm_worker may update on jobs
realm_worker may update on leases
realm_worker may update on ledger_lock
realm_worker may update on login_attempts
realm_worker may update on nonces
realm_worker may update on onchain_balances
realm_worker may update on order_attempts
realm_worker may update on order_lock
realm_worker may update on ramp_costs
realm_worker may update on ramp_transfers
realm_worker may update on ramps
realm_worker may update on rates
realm_worker may update on reserved_addresses
realm_worker may update on reserved_inputs
realm_worker may update on solvency
realm_worker may update on sweeps
realm_worker may update on unexplained_gains
realm_worker may update on unmatched_deposits
realm_worker may update on webhook_deliveries
realm_worker may update on webhook_queues
realm_worker may update on withdrawals
realm_worker may usage on schema
