-- What:     jobs.share, whose share of the slots for exchanges a job takes; external_ramps.failures, failed checks in a
--           row; ramp_transfers.claims, the ids at the exchange that persons named for a transfer.
-- Why:      one customer's exchange that hangs takes the turns of nobody else, an exchange that fails is asked ever more
--           rarely, and an id that was mistyped can be named anew.
-- Locks:    access exclusive on the three tables for columns with constant defaults or none: no rewrite.
-- Backfill: none. Jobs without a share have one together; claims of before are in ramp_transfers.claimed alone.
-- Undo:     forward only.

alter table jobs add column share text;
alter table external_ramps add column failures integer not null default 0;
alter table ramp_transfers add column claims jsonb not null default '[]';
alter table jobs add constraint jobs_share check (length(share) between 1 and 100) not valid;
alter table external_ramps add constraint external_ramps_failures check (failures >= 0) not valid;
alter table ramp_transfers add constraint ramp_transfers_claims
  check (jsonb_typeof(claims) = 'array' and jsonb_array_length(claims) <= 20) not valid;
comment on column jobs.share is
  'Of a job for exchanges: who caused it and at which account at an exchange, as user/record. Slots are shared out by it.';
comment on column external_ramps.failures is 'Checks in a row that failed, or that the exchange refused: the next waits longer.';
comment on column ramp_transfers.claims is
  'Every id that a person named, oldest first: {reference, by, at}. The last is claimed. Nothing of it is ever removed.';

-- What was asked for stays as it was, states move by the table of transitions, and what has ended stays so. The end that
-- is ours is the one that was agreed: the same asset, account and address. An id that a person named may be named anew
-- while no deposit is known: what the exchange told of the former goes with it. What the exchange itself named stays.
create or replace function keep_ramp_transfer() returns trigger language plpgsql as $$
declare
  renamed constant boolean := old.claimed is not null and new.claimed is distinct from old.claimed;
  known jsonb := old.claims;
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
    if old.claims = '[]' and old.claimed is not null then -- it was named before there was a list
      known := jsonb_build_array(jsonb_build_object('reference', old.claimed, 'by', null, 'at', null));
    end if;
    if new.claims = old.claims then -- so writes a process of the version before
      new.claims := known || jsonb_build_object('reference', new.claimed, 'by', null, 'at', null);
    end if;
    if jsonb_array_length(new.claims) = 0 or new.claims - (-1) <> known
        or new.claims -> -1 ->> 'reference' is distinct from new.claimed then
      raise exception 'claims are added one by one' using errcode = 'check_violation', constraint = 'ramp_transfers_claimed';
    end if;
  end if;
  if (old.external_ramp, old.exchange, old.kind, old.account, old.asset, old.value, old.owner, old.chain, old.network, old.offered_fee)
      is distinct from (new.external_ramp, new.exchange, new.kind, new.account, new.asset, new.value, new.owner, new.chain, new.network, new.offered_fee)
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
end $$;
