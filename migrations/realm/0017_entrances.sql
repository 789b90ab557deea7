-- What:     the entrance for what users ask the ledger to post; rules that keep a right to write rows from
--           making value.
-- Why:      least rights in the database: who may call ledger_apply with system accounts books what it likes.
-- Locks:    share row exclusive on four tables for their triggers.
-- Backfill: none.
-- Undo:     forward only.

-- Posts what a user asks for, and nothing else: value comes out of accounts that hold it. The world takes part in
-- issuing and destroying a virtual currency alone, which is noted with it. The fees take what a ramp is charged for the
-- network, and what covers a loss of the house, up to that loss. A return is of a withdrawal whose
-- order has ended without paying, and is booked whatever state the accounts are in.
create function ledger_post(
  p_type text, p_atomic boolean, p_head text, p_tail text, p_ids uuid[], p_source integer[],
  p_destination integer[], p_amount numeric[], p_actor uuid[], p_any boolean[], p_origin inet[],
  p_api_key uuid[], p_seal jsonb[], p_data jsonb[], p_reference text[], p_more jsonb[],
  out refusals text[], out source_total numeric[], out destination_total numeric[],
  out blocked numeric[], out fiat_rate numeric[], out fiat_value numeric[], out stamp text
) language plpgsql as $$
declare
  n integer := cardinality(p_amount);
  s accounts; d accounts; t transactions;
  v_issue text; v_force boolean := p_type = 'return'; v_fees boolean := false;
begin
  if n = 1 then
    select * into s from accounts a where a.id = p_ids[p_source[1]];
    select * into d from accounts a where a.id = p_ids[p_destination[1]];
    v_fees := d.system = 'fees' and s.type <> 'system'
      and (p_type = 'transfer' and d.total + p_amount[1] <= 0 or p_type = 'fee' and s.type = 'ramp');
  end if;
  if p_type <> 'transfer' then
    if n <> 1 then raise exception 'moves of type % are posted one by one', p_type; end if;
    case p_type
      when 'capture' then
        perform 1 from blocks b where b.status = 'CAPTURED' and b.transaction = ledger_id(p_head, 1, p_tail)
          and b.account = s.id and b.captured = p_amount[1];
      when 'withdrawal' then perform 1 where d.type = 'ramp';
      when 'fee' then
        perform 1 where s.type in ('virtual', 'ramp') and d.type = 'ramp' or v_fees;
      when 'return' then
        perform 1 from withdrawals w join orders o on o.id = w.order_id
          where w.status = 'PROCESSING' and w.ramp = s.id and w.account = d.id and p_amount[1] <=
            case when o.state in ('canceled', 'failed', 'dead') then w.charged when o.state = 'done' then w.surcharge end;
      when 'issue' then
        v_issue := 'issue';
        perform 1 where s.system = 'world' and d.type <> 'system';
      when 'destroy' then
        v_issue := 'destroy';
        perform 1 where s.type <> 'system' and d.system = 'world';
      when 'revert' then
        select * into t from transactions x where x.id = (p_more[1] ->> 'reverts')::uuid;
        v_issue := case t.type when 'issue' then 'destroy' when 'destroy' then 'issue' end;
        perform 1 where t.type in ('transfer', 'capture', 'issue', 'destroy')
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
    from ledger_apply(p_type, v_issue is not null or coalesce(v_fees, false), v_force, p_atomic, p_head, p_tail, null, p_ids, p_source,
      p_destination, p_amount, p_actor, p_any, p_origin, p_api_key, p_seal, p_data, p_reference, p_more) a;
  if v_issue is not null and refusals is null then
    perform note_issue(v_issue, ledger_id(left(stamp, 16), 1, substr(stamp, 17)), s.asset,
      case v_issue when 'issue' then d.id else s.id end, p_amount[1]);
  end if;
end $$;

-- Notes an issue or a destruction beside its transaction, and what circulates from then on.
create function note_issue(
  p_operation text, p_transaction uuid, p_asset text, p_account uuid, p_amount numeric
) returns void language plpgsql as $$
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
end $$;

-- An asset is a chain's, or a virtual currency: were it both, issuing would make coins of the chain.
create function check_asset_once() returns trigger language plpgsql as $$
declare
  taken boolean;
begin
  if tg_table_name = 'currencies' then
    taken := exists (select from accounts a where a.type = 'ramp' and a.asset = new.name);
  else
    taken := exists (select from currencies c where c.name = new.asset);
  end if;
  if taken then
    raise exception 'an asset is of a chain, or a virtual currency, and not both'
      using errcode = 'check_violation', constraint = 'currencies_asset';
  end if;
  return new;
end $$;
create trigger currencies_asset before insert or update of name on currencies
  for each row execute function check_asset_once();
create trigger accounts_asset before insert or update of asset, type on accounts
  for each row when (new.type = 'ramp') execute function check_asset_once();

-- An answer is kept once. What stands for a move is told from the ledger's own rows.
create function keep_kept() returns trigger language plpgsql as $$
begin
  raise exception 'an answer is kept once' using errcode = 'restrict_violation';
end $$;
create trigger idempotency_kept before update of status, body on idempotency for each row
  when (old.status is not null or (old.transaction is not null and new.transaction is not null))
  execute function keep_kept();
create trigger idempotency_stays before delete on idempotency for each row
  when (old.created_at > now() - interval '6 days') execute function keep_kept();

-- What a withdrawal was charged stays blocked on its ramp until the withdrawal has ended, and it ends unpaid where
-- its order did.
create function check_charge_blocked() returns trigger language plpgsql as $$
begin
  if exists (select from withdrawals w join blocks b on b.id = w.block
      where w.id = new.serves and w.status = 'PROCESSING' and b.status <> 'OPEN') then
    raise exception 'what a withdrawal was charged stays blocked until it has ended'
      using errcode = 'check_violation', constraint = 'blocks_serving';
  end if;
  return null;
end $$;
create constraint trigger blocks_serving after update on blocks deferrable initially deferred
  for each row when (new.serves is not null and new.status <> 'OPEN') execute function check_charge_blocked();

create function check_withdrawal_end() returns trigger language plpgsql as $$
begin
  if not exists (select from orders o where o.id = new.order_id and o.state in ('canceled', 'failed', 'dead')) then
    raise exception 'withdrawal % may still be paid', new.id
      using errcode = 'check_violation', constraint = 'withdrawals_ended';
  end if;
  return new;
end $$;
create trigger withdrawals_ended before update of status on withdrawals for each row
  when (old.status = 'PROCESSING' and new.status in ('FAILED', 'CANCELED')) execute function check_withdrawal_end();

-- A token is registered after it was deployed or looked at.
create function check_token_new() returns trigger language plpgsql as $$
begin
  if new.status <> 'pending' or new.currency is not null then
    raise exception 'token % does not begin as pending', new.id
      using errcode = 'check_violation', constraint = 'fungible_tokens_begin';
  end if;
  return new;
end $$;
create trigger fungible_tokens_begin before insert on fungible_tokens
  for each row execute function check_token_new();

-- Gives what waits at an address that was handed out, and came while somebody watched it, to the account of the
-- address; what is of another asset is given up. The coins that it left are ours from then on.
create function hand_over_deposits(p_address uuid, p_coins boolean, p_error jsonb, p_at timestamptz) returns void
language plpgsql as $$
declare
  n addresses;
begin
  select * into n from addresses where id = p_address;
  with waiting as (
    select d.id from deposits d where (d.chain, d.network, d.address) = (n.chain, n.network, n.address)
      and d.status <> 'CONFIRMED' and watches_addresses(d.account) order by d.id for update
  ), moved as (
    update deposits d set account = n.account, owner = n.owner, updated_at = p_at,
        address_data = nullif(n.data, '{}')
      from waiting w where d.id = w.id and d.asset = n.asset returning d.*
  ), given_up as (
    update deposits d set status = 'ORPHANED', confirmations = 0, error = p_error, updated_at = p_at
      from waiting w where d.id = w.id and d.asset <> n.asset and d.status = 'PENDING'
  )
  insert into coins (chain, network, hash, index, address, ramp, amount, height, matures_at, created_at)
    select m.chain, m.network, m.hash, m.index, m.address, n.ramp,
      trim_scale(m.amount * ('1e' || a.decimals)::numeric), m.block, m.matures_at, p_at
    from moved m join accounts a on a.id = n.account where p_coins and m.block is not null
    on conflict (chain, network, hash, index) do nothing;
end $$;

-- Whether a worker has derived an address: the role that serves writes none of these.
create function is_derived(p_address text, p_key integer) returns boolean language sql stable as $$
  select exists (select from reserved_addresses r where r.address = p_address and r.derivation_key = p_key)
$$;
