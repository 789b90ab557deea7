-- The rights of a realm's two roles, whole, restated after every migration of the realm. They own nothing: they
-- cannot change a table or a function, and they cannot touch append-only rows.
--   :role    serves requests. It writes entities of users. Value moves through the posting functions alone.
--   :worker  works: it has the rights of :role, writes observations and orders of chains, and books them.
-- Neither writes balances, transactions, entries or commits itself: the posting functions have their owner's rights.
do $rights$
declare
  -- Objects of the schema are found by an index; "all tables in schema" reads the catalog of all realms.
  relations text[] := array(select c.oid::regclass::text from pg_depend d join pg_class c on c.oid = d.objid
    where (d.refclassid, d.refobjid, d.classid) = ('pg_namespace'::regclass, ':schema'::regnamespace, 'pg_class'::regclass)
      and c.relkind in ('r', 'v', 'm', 'p') and c.relname not like 'move\_%' order by 1); -- a move's own notes
  sequences text[] := array(select c.oid::regclass::text from pg_depend d join pg_class c on c.oid = d.objid
    where (d.refclassid, d.refobjid, d.classid) = ('pg_namespace'::regclass, ':schema'::regnamespace, 'pg_class'::regclass)
      and c.relkind = 'S' order by 1);
begin
  -- Roles that were just made have no rights that could be taken: for each the server writes a table's row anew.
  if exists (select from pg_shdepend where refclassid = 'pg_authid'::regclass and deptype = 'a'
      and refobjid in (to_regrole(':role'), to_regrole(':worker'))) then
    execute format('revoke all on sequence %s from :role, :worker', array_to_string(sequences, ', '));
    execute format('revoke all on %s from :role, :worker', array_to_string(relations, ', '));
  end if;
  execute format('grant select on %s to :role, :worker', array_to_string(relations, ', '));
end $rights$;
grant usage on schema :schema to :role, :worker;
revoke select on secrets from :role;
grant select (kind) on secrets to :role;
-- Anybody who has signed bytes can send them: a withdrawal canceled before its broadcast could be paid all the same.
revoke select on order_attempts from :role;
grant select (order_id, attempt, plan, inputs, hash, expires, fee, sent_at, outcome, cancels, borne_by, unreadable, dropped, proof,
    proof_by, proof_height, proof_reached, seen_height, late, late_order_id, created_at) on order_attempts to :role;

-- Credentials of exchanges are read where they can be decrypted, and nowhere else.
revoke select on external_ramps from :role;
grant select (id, ramp, identity, key, credentials_at, hint, status, assets, checked_at, check_at, failures, data, owner, error,
    deleted_at, updated_at, created_at),
  insert (id, ramp, identity, key, credentials, credentials_at, hint, data, owner, created_at),
  update (key, credentials, credentials_at, hint, status, assets, checked_at, check_at, failures, data, error, deleted_at,
    updated_at)
  on external_ramps to :role;
grant insert (id, external_ramp, exchange, kind, account, asset, value, currency, exchange_network, offered_fee, chain, network,
    address, expected_address, paid_by, speed, max_fee, block, data, owner, created_at),
  update (state, claimed, claims, deposit, reason, tries, next_at, error, updated_at) on ramp_transfers to :role;

grant insert, update on identities, users, aliases, login_attempts, rates, deposit_apps, stops, transaction_data,
  messages to :role;
-- A job that waits is carried on, and ended, by workers. A dead one is retried or discarded by functions.
grant insert (id, name, payload, traceparent, serial_key, dedupe, share, run_at) on jobs to :role;
grant insert on revocations, blocks, addresses, external_addresses, withdrawals, chain_orders,
  consolidations, api_keys to :role;
-- An event gets its id, and with it its place, from a worker.
grant insert (type, entity, owner, others, payload, created_at), update (payload) on events to :role;
grant insert (id, url, events, secret, owner, data, created_at),
  update (url, events, active, secret, previous_secret, previous_until, disabled_reason, told_at, data, deleted_at,
    updated_at)
  on webhooks to :role;
grant update (failures, failing_since, resume_at, lease_owner, lease_until) on webhook_queues to :role;
grant update (status, attempts, next_at, first_at, response_body) on webhook_deliveries to :role;
grant update (deleted_at) on external_addresses to :role;
-- A line's place in the chain of the trail is given by a worker.
grant insert (id, actor, action, entity, fields, request_id, address, api_key, api_key_name, created_at)
  on audit to :role;
grant insert (id, chain, network, hash, from_height, to_height, owner, created_at) on rescans to :role;
-- A worker derives a ramp's xpub and the addresses that are reserved below it.
grant insert (account, chain, network, number, created_at), update (next_index) on ramps to :role;
grant update (last_used_at, updated_at, deleted_at) on api_keys to :role;
grant insert on logins to :role;
grant update (last_used_at, ended_at) on logins to :role;
grant insert (user_id, secret, created_at), update (secret, confirmed_at, last_step, recovery, wrong_codes, wrong_since), delete
  on second_factors to :role;
-- Both tables have the same rights, because they exchange their names.
grant insert (key, fingerprint), update (status, body, profile) on idempotency, idempotency_earlier to :role;
grant insert, update, delete on persons, person_contacts, companies, company_domains to :role;
grant insert on person_events to :role;
-- A note stays; its text is erased with the person that it is about.
grant insert (id, collection, entity, identity, person, kind, text, owner, created_at),
  update (text, erased_at, forgotten_at) on notes to :role;
grant insert (one, wrapped, created_at), update (wrapped) on profile_keys to :role;
grant insert (id, parameters, owner, created_at), update (parameters, state, error, updated_at, finished_at)
  on person_syncs to :role;
grant insert (id, type, asset, testnet, decimals, active, enabled, is_default, currency, currency_places, country,
    holder, owner, system, ramp, reference, data, created_at),
  update (active, enabled, is_default, frozen, frozen_by, frozen_by_realm, ramp, data, error, deleted_at, updated_at)
  on accounts to :role;
grant insert (id, name, decimals, base, rate, currency, country, symbol, symbol_url, sub_unit, account, data, owner,
    created_at),
  update (base, rate, symbol, symbol_url, sub_unit, active, data, deleted_at, updated_at) on currencies to :role;
grant update (status, captured, transaction, closed_at) on blocks to :role;
grant insert (id, account, chain, network, name, symbol, supply, decimals, currency, contract, status, fee, order_id,
    external, data, owner, created_at), update (data, deleted_at, updated_at) on fungible_tokens to :role;
grant update (status, speed, max_fee, fee, charged, surcharge, block, gas, history, data, updated_at) on withdrawals to :role;
grant update (speed, max_fee, max_fee_rate, updated_at) on consolidations to :role;
-- A cancellation withdraws a plan that was never sent; triggers limit the columns that this role may
-- write.
grant update (state, batch_order_id, hash, height, confirmations, speed, replace, schedule_version, last_attempt_at, sped_up_at, charged,
    budget, gas_block, error, updated_at) on chain_orders to :role;
grant insert, delete on reserved_inputs to :role;
grant insert (chain, network, address, contract, height, nonce, seen_at) on onchain_balances to :role; -- of nothing, at first
grant delete on coins to :role;
-- LOCK asks for a right to write; the table has no columns.
grant update on ledger_lock to :role, :worker;
grant update on order_lock to :worker;

grant :role to :worker;
grant insert, update on ramps, external_addresses, reserved_addresses, chain_cursors, chain_blocks, deposits, unmatched_deposits,
  coins, coin_rounds, coin_searches, onchain_balances, unexplained_gains, fee_quotes, reserved_inputs, sweeps, deposit_apps, nonces,
  ramp_costs, withdrawals, fungible_tokens, solvency, consolidations, chain_orders, order_attempts, displaced_orders, attestations,
  login_attempts, jobs, leases, rates, external_ramps, ramp_transfers to :worker;
grant update (parameters, step, cursor, read, linked, completed, created, state, error, updated_at, finished_at)
  on person_syncs to :worker;
grant update (found, found_count, node, node_height, error, finished_at, updated_at), delete on rescans to :worker;
grant insert on addresses, passed_addresses, token_proofs, row_counts, revocations, events, chain_links, webhook_deliveries, incidents,
  solvency_samples, chain_samples, hourly_flows to :worker;
grant update (count, amount, value) on hourly_flows to :worker;
grant update (id) on events to :worker;
grant update on chain_head, event_head, webhook_queues, webhook_deliveries to :worker;
-- A lost seed is lost for ever: only the owner wraps it again.
grant insert on secrets, exchange_keys to :worker;
grant delete on chain_blocks, deposits, unmatched_deposits, coins, unexplained_gains, reserved_inputs, row_counts, login_attempts, revocations,
  jobs to :worker;
grant update (seq, hash) on audit to :worker;
grant delete on ledger_commits, idempotency, idempotency_earlier, batches, batches_earlier, logins, incidents, solvency_samples, chain_samples to :worker;

do $rights$
declare
  f record;
  served text[] := '{}';
  worked text[] := '{}';
  same boolean := true;
  -- Posting functions, and those that keep the books, act with their owner's rights.
  definers constant text[] := array['ledger_apply', 'ledger_queued', 'ledger_single', 'ledger_bulk', 'ledger_post',
    'ledger_book', 'renew_answers', 'hand_over_deposits', 'register_token', 'note_seen', 'note_issue', 'note_state', 'note_events',
    'note_frozen', 'note_loss', 'open_webhook_queue', 'retry_job', 'discard_job', 'listen_until', 'forget_events', 'note_kin_loss', 'note_new_kin', 'note_unused', 'note_used', 'regroup_kin', 'check_asset_once', 'note_new_rows', 'note_changed_row', 'keep_opened',
    'keep_closed', 'count_new_rows', 'count_changed_rows', 'count_moved_rows', 'bound_parts', 'unbound_parts', 'release_bound', 'validate_part',
    'attach_parts', 'analyze_parts'];
  -- Functions that only the worker calls, and functions that only other functions call.
  working constant text[] := array['ledger_book', 'note_seen', 'forget_events', 'renew_answers', 'bound_parts',
    'unbound_parts', 'validate_part', 'attach_parts', 'analyze_parts', 'link_plain'];
  inner_ones constant text[] := array['ledger_apply', 'note_events', 'lock_parts', 'note_issue', 'note_state', 'shape_parts', 'tell_of',
    'rename_with_all', 'open_earlier', 'archive_part', 'attach_part', 'fit_part', 'drop_part', 'count_part', 'lock_parts_patiently',
    'read_part', 'last_entries', 'archive_refusal'];
begin
  for f in select q.*, case when proname = any (working) then array[worker] when inner_one then '{}' else array[role] end as may,
      prosecdef = definer and format('search_path=%s, pg_temp', ':schema'::regnamespace) = any (proconfig) as is_set
    from (select format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) as name, p.proname, p.prosecdef, p.proconfig,
        p.proname = any (definers) as definer, p.prorettype = 'trigger'::regtype as of_trigger,
        p.proname = any (inner_ones) or p.prorettype = 'trigger'::regtype as inner_one,
        to_regrole(':role')::oid as role, to_regrole(':worker')::oid as worker,
        array(select a.grantee from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
          where a.grantee in (0, to_regrole(':role'), to_regrole(':worker'))) as does
      from pg_depend d join pg_proc p on p.oid = d.objid
      where (d.refclassid, d.refobjid, d.classid) = ('pg_namespace'::regclass, ':schema'::regnamespace, 'pg_proc'::regclass)
        and p.proname not like 'move\_%') q -- those that note changes while the realm moves; no migration makes one
  loop
    -- Temporary tables of a session never stand for the realm's, in triggers neither.
    if (f.definer or f.of_trigger) and f.is_set is not true then
      execute format('alter function %s security %s set search_path to :schema, pg_temp', f.name,
        case when f.definer then 'definer' else 'invoker' end);
    end if;
    same := same and f.does = f.may;
    if f.proname = any (working) then
      worked := worked || f.name;
    elsif not f.inner_one then
      served := served || f.name;
    end if;
  end loop;
  -- The server finds a function by its name among those of all realms. Where all are as they must be, none is looked up.
  if same then return; end if;
  revoke execute on all routines in schema :schema from public, :role, :worker;
  execute format('grant execute on routine %s to :role', array_to_string(served, ', '));
  execute format('grant execute on routine %s to :worker', array_to_string(worked, ', '));
end $rights$;
