-- What:     answers kept under idempotency keys, in two generations, jobs, outgoing events, the audit trail.
-- Why:      all four are written in the transaction that causes them (design, section 2).
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table idempotency (
  key uuid primary key,
  fingerprint uuid not null,
  status smallint,
  body text,
  transaction uuid,
  profile text,
  created_at timestamptz not null default clock_timestamp()
);
create index idempotency_age on idempotency using brin (created_at);
create index idempotency_profile on idempotency (profile) where profile is not null;
comment on column idempotency.key is 'First 128 bits of the SHA-256 of user and key.';
comment on column idempotency.fingerprint is 'First 124 bits of the SHA-256 of method, path and body, and the caller''s rights.';
comment on column idempotency.transaction is 'The move whose answer is rebuilt from the ledger''s own rows.';

comment on column idempotency.profile is 'The person that the answer shows, or the identity that had no person then: forgetting the person erases the answer.';

-- The generation before, of the same shape: renew_answers() empties it and exchanges it with the current one, whose
-- rows then leave as a whole file instead of one by one. Names of indexes and triggers begin with the table's name. Keys
-- are claimed in the current tables alone, and looked up in both.
create table idempotency_earlier (
  key uuid primary key,
  fingerprint uuid not null,
  status smallint,
  body text,
  transaction uuid,
  profile text,
  created_at timestamptz not null default clock_timestamp()
);
create index idempotency_earlier_age on idempotency_earlier using brin (created_at);
create index idempotency_earlier_profile on idempotency_earlier (profile) where profile is not null;
comment on column idempotency_earlier.key is 'First 128 bits of the SHA-256 of user and key.';
comment on column idempotency_earlier.fingerprint is 'First 124 bits of the SHA-256 of method, path and body, and the caller''s rights.';
comment on column idempotency_earlier.transaction is 'The move whose answer is rebuilt from the ledger''s own rows.';
comment on column idempotency_earlier.profile is 'The person that the answer shows, or the identity that had no person then: forgetting the person erases the answer.';
create table batches_earlier (
  key uuid primary key,
  request_id text not null,
  transactions uuid[] not null,
  refusals text[],
  unresolved jsonb,
  created_at timestamptz not null default clock_timestamp()
);
create index batches_earlier_age on batches_earlier using brin (created_at);
comment on table batches_earlier is 'The data from which the answer of a batch is rebuilt, under its idempotency key.';

select sample_less(t) from unnest('{idempotency,idempotency_earlier,batches_earlier}'::regclass[]) t;

-- Whether there may be rows in the earlier tables. The planner puts the constant in the place of the call, so while it is
-- false a posting does not even look there; when it is replaced, plans are made anew. renew_answers() alone replaces
-- it: by false while the tables are empty, with a constraint that keeps them so, and by true in each exchange.
create function earlier_kept() returns boolean language sql immutable as 'select true';

-- Claims a key for a command's serializable transaction; false: its row is there. The snapshot may be older than the
-- exchange of the tables, and then shows no row that was claimed between the two. The name of the table that took the
-- row is therefore read from the catalog as of the snapshot: another name than now means another generation.
-- Posting functions claim keys without this, because the ledger lock keeps their snapshots behind the exchange.
create function claim_key(p_key uuid, p_fingerprint uuid) returns boolean language plpgsql as $$
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
end $$;

-- The stored answer of a key, of either generation.
create function kept_answer(p_key uuid, out fingerprint uuid, out status smallint, out body text, out transaction uuid)
returns setof record language plpgsql stable as $$
begin
  return query select x.fingerprint, x.status, x.body, x.transaction from idempotency x where x.key = p_key
    union all select x.fingerprint, x.status, x.body, x.transaction from idempotency_earlier x where x.key = p_key;
end $$;

create table jobs (
  id uuid primary key,
  name text not null,
  payload jsonb not null,
  state text not null default 'ready' check (state in ('ready', 'running', 'done', 'dead', 'discarded')),
  serial_key text,
  dedupe text,
  share text,
  attempts integer not null default 0,
  attempts_max integer not null default 12 check (attempts_max > 0),
  run_at timestamptz not null default now(),
  locked_until timestamptz,
  last_error text,
  traceparent text check (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$'),
  discarded_by uuid,
  discard_reason text check (length(discard_reason) between 1 and 500),
  finished_at timestamptz,
  created_at timestamptz not null default now(),
  constraint jobs_share check (length(share) between 1 and 100),
  constraint jobs_discarded check (
    (state = 'discarded') = (discard_reason is not null) and (discarded_by is null or discard_reason is not null)
    and (state <> 'discarded' or name in ('exchange.check', 'message.send', 'persons.sync')))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index jobs_due on jobs (run_at, id) where state = 'ready';
create index jobs_due_at_exchanges on jobs (run_at, id)
  where state = 'ready' and name in ('exchange.advance', 'exchange.check');
create index jobs_due_by_name on jobs (name, run_at, id) where state = 'ready';
create index jobs_waiting on jobs (serial_key, id) where state = 'ready' and serial_key is not null;
create index jobs_exchange_turns on jobs (md5(split_part(coalesce(share, ''), '/', 1)), coalesce(share, ''), run_at, id)
  where state = 'ready' and name in ('exchange.advance', 'exchange.check');
create index jobs_running_at_exchanges on jobs (share)
  where state = 'running' and name in ('exchange.advance', 'exchange.check');
-- Requests of one account are numbered: a payment whose number another process overtakes is refused, or in doubt.
create unique index jobs_exchange_account on jobs (split_part(share, '/', 2))
  where state = 'running' and name in ('exchange.advance', 'exchange.check');
create index jobs_leased on jobs (locked_until) where state = 'running';
create index jobs_finished on jobs (state, finished_at) where state in ('done', 'dead', 'discarded');
create index jobs_dead on jobs (id) where state = 'dead';
create index jobs_dead_name on jobs (name, id) where state = 'dead';
create unique index jobs_dedupe on jobs (name, dedupe) where state in ('ready', 'running');
create unique index jobs_serial_key on jobs (serial_key) where state = 'running';
comment on column jobs.serial_key is 'Jobs with one serial key run one at a time, oldest first.';
comment on column jobs.share is
  'Of a job for exchanges: who caused it and at which account at an exchange, as user/record. Slots are shared out by it.';
comment on column jobs.traceparent is 'The trace of what caused it, in the form of W3C Trace Context; null where none was recorded.';
comment on column jobs.attempts is 'Also the fencing token: a worker whose lease ran out cannot finish another''s run. Never set back.';
comment on column jobs.discard_reason is 'Why an administrator gave a dead job up. Only jobs for which no value waits are given up (jobs_discarded).';

-- What the role that serves requests may do with jobs: with dead ones, and with no other. A job that waits or runs is a
-- worker's. The attempts go on counting, so an attempt whose lease ran out before never ends a later one.
create function retry_job(p_id uuid) returns boolean language sql as $$
  with retried as (
    update jobs set state = 'ready', run_at = now(), attempts_max = attempts + 12, finished_at = null
    where id = p_id and state = 'dead' returning id)
  select exists (select from retried)
$$;
create function discard_job(p_id uuid, p_by uuid, p_reason text) returns boolean language sql as $$
  with discarded as (
    update jobs set state = 'discarded', discarded_by = p_by, discard_reason = p_reason, finished_at = now()
    where id = p_id and state = 'dead' returning id)
  select exists (select from discarded)
$$;

create table events (
  position bigint generated always as identity primary key,
  id uuid unique,
  type text not null check (length(type) between 1 and 60),
  entity uuid not null,
  owner uuid,
  others uuid[] check (cardinality(others) between 1 and 10),
  payload json not null check (octet_length(payload::text) <= 20480),
  created_at timestamptz not null
);
create index events_unpublished on events (position) where id is null;
create index events_of_messages on events (entity) where type = 'message.updated';
comment on table events is 'The outbox, and once an event has its id the log that webhooks and streams read.';
comment on column events.id is
  'Given by the process that publishes, in ascending order, so no reader that has seen an id meets a smaller one later.';
comment on column events.owner is 'The user to whom the entity belongs; null: for users who see the whole realm.';
comment on column events.others is 'Further users who see the entity, such as the owners of a transaction''s accounts.';

create table event_head (
  one boolean primary key default true check (one),
  last uuid not null,
  forgotten uuid not null default '00000000-0000-7000-8000-000000000000'
) with (fillfactor = 10);
comment on table event_head is 'The greatest id of an event; the process that publishes locks its row.';
comment on column event_head.forgotten is
  'The greatest id of an event that was deleted, or not written for want of readers: who knows no later one may miss some.';
insert into event_head (last) values ('00000000-0000-7000-8000-000000000000');

-- An event has its id once, and is otherwise as it was written. An event of a message names its entity alone once the
-- person's data is erased.
create function keep_event() returns trigger language plpgsql as $$
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
end $$;
create trigger events_stay before update on events for each row execute function keep_event();

create table audit (
  id uuid primary key,
  actor uuid,
  action text not null,
  entity uuid,
  fields text[],
  request_id text not null,
  address text,
  api_key uuid,
  api_key_name text,
  created_at timestamptz not null,
  seq bigint unique check (seq > 0),
  hash bytea check (octet_length(hash) = 32),
  constraint audit_chained check ((seq is null) = (hash is null)),
  constraint audit_api_key check ((api_key is null) = (api_key_name is null))
);
create index audit_unchained on audit (id) where seq is null;
create index audit_actor on audit (actor, id);
create index audit_entity on audit (entity, id);
create index audit_api_key on audit (api_key, id) where api_key is not null;
-- Whom a user looked at: a line for each user, customer and hour, or list and hour.
create unique index audit_views on audit (actor, action, coalesce(entity, '00000000-0000-0000-0000-000000000000'),
  (id_ms(id) / 3600000)) where action like '%.view';
comment on column audit.actor is 'The user; null for the operator of the installation, and for failed logins.';
comment on column audit.api_key is 'The machine key that acted as the user; api_key_name is its name then.';
comment on column audit.fields is 'Names of the fields that the request gave; never their values.';
comment on column audit.hash is 'Given in the background: SHA-256 of the hash of line seq - 1 and of this line.';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger audit_append_only before delete or truncate on audit
  for each statement execute function refuse_change();
-- A line gets its number and its hash once, and otherwise stays as it was written.
create function keep_line() returns trigger language plpgsql as $$
begin
  if old.seq is not null or new.seq is null
    or (to_jsonb(new) - 'seq' - 'hash') is distinct from (to_jsonb(old) - 'seq' - 'hash') then
    raise exception 'audit is append-only' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger audit_stays before update on audit for each row execute function keep_line();
create trigger transactions_append_only before update or delete or truncate on transactions
  for each statement execute function refuse_change();
create trigger transactions_append_only before update or delete or truncate on transactions_newest
  for each statement execute function refuse_change();
create trigger transaction_references_append_only before update or delete or truncate on transaction_references
  for each statement execute function refuse_change();
create trigger transaction_reverts_append_only before update or delete or truncate on transaction_reverts
  for each statement execute function refuse_change();
create trigger entries_append_only before update or delete or truncate on entries
  for each statement execute function refuse_change();
create trigger entries_append_only before update or delete or truncate on entries_newest
  for each statement execute function refuse_change();
-- No index spans the parts of entries: an account's number that fell would give two entries one place.
create function refuse_fall() returns trigger language plpgsql as $$
begin
  raise exception 'the number of an account''s last entry never falls'
    using errcode = 'check_violation', constraint = 'accounts_seq';
end $$;
create trigger accounts_seq after update of seq on accounts
  for each row when (new.seq < old.seq) execute function refuse_fall();
create trigger currency_issues_append_only before update or delete or truncate on currency_issues
  for each statement execute function refuse_change();
