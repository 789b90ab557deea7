-- The yardstick: what one transfer does on the ledger's own tables, as one call. Rights, states,
-- both accounts, transaction, entries, idempotency key; nothing of HTTP, nothing shared with others.
create or replace function bench_account(n bigint) returns uuid language sql immutable as $$
  select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

-- PostgreSQL has it from 18 on.
do $do$
begin
  if to_regproc('pg_catalog.uuidv7') is null then
    create or replace function uuidv7() returns uuid language sql volatile as $$
      select overlay(replace(gen_random_uuid()::text, '-', '') placing
        lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
        from 1 for 13)::uuid $$;
  end if;
end $do$;

create or replace function bench_one(
  p_key uuid, p_fingerprint uuid, p_id uuid, p_source uuid, p_destination uuid, p_amount numeric,
  p_actor uuid
) returns text language plpgsql as $$
declare
  s record; d record; kept record; why text; at timestamptz := clock_timestamp();
begin
  insert into idempotency (key, fingerprint, transaction, created_at)
    values (p_key, p_fingerprint, p_id, at) on conflict do nothing;
  if not found then
    select x.fingerprint, x.transaction into kept from idempotency x where x.key = p_key;
    return case when kept.fingerprint = p_fingerprint then kept.transaction::text else 'reused' end;
  end if;
  if p_source < p_destination then
    select x.id, x.total, x.blocked, x.seq, x.asset, x.testnet, x.owner, x.active, x.enabled, x.frozen, x.type, x.decimals
      into s from accounts x where x.id = p_source and x.deleted_at is null for no key update;
    select x.id, x.total, x.blocked, x.seq, x.asset, x.testnet, x.owner, x.active, x.enabled, x.frozen, x.type, x.decimals
      into d from accounts x where x.id = p_destination and x.deleted_at is null for no key update;
  else
    select x.id, x.total, x.blocked, x.seq, x.asset, x.testnet, x.owner, x.active, x.enabled, x.frozen, x.type, x.decimals
      into d from accounts x where x.id = p_destination and x.deleted_at is null for no key update;
    select x.id, x.total, x.blocked, x.seq, x.asset, x.testnet, x.owner, x.active, x.enabled, x.frozen, x.type, x.decimals
      into s from accounts x where x.id = p_source and x.deleted_at is null for no key update;
  end if;
  why := case
    when s.id is null or d.id is null or s.id = d.id then 'not_found'
    when s.owner is distinct from p_actor then 'forbidden'
    when s.asset <> d.asset or s.testnet <> d.testnet then 'asset'
    when scale(p_amount) > s.decimals then 'scale'
    when not s.enabled or not d.enabled then 'not_enabled'
    when not s.active or not d.active then 'inactive'
    when s.frozen then 'frozen'
    when s.total - s.blocked < p_amount then 'insufficient' end;
  if why is not null then
    update idempotency x set transaction = null, body = why where x.key = p_key;
    return why;
  end if;
  update accounts x set total = x.total - p_amount, seq = x.seq + 1 where x.id = p_source;
  update accounts x set total = x.total + p_amount, seq = x.seq + 1 where x.id = p_destination;
  insert into transactions (id, source, destination, source_seq, destination_seq, amount, type,
      testnet, asset, owner, created_at)
    values (p_id, p_source, p_destination, s.seq + 1, d.seq + 1, p_amount, 'transfer', s.testnet,
      s.asset, p_actor, at);
  insert into entries (account, seq, transaction, amount, balance, blocked)
    values (p_source, s.seq + 1, p_id, -p_amount, s.total - p_amount, s.blocked),
      (p_destination, d.seq + 1, p_id, p_amount, d.total + p_amount, d.blocked);
  return p_id::text;
end $$;
