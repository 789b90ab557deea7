-- What:     stops: they refuse postings that users ask for, or keep workers from signing, until a stop is lifted.
-- Why:      contract, section 15.1: an emergency stop that takes effect at once in every process.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table stops (
  id uuid primary key,
  what text not null check (what in ('moves', 'signing')),
  asset text check (length(asset) between 1 and 40),
  chain text,
  chain_assets text[],
  account uuid,
  user_id uuid,
  destination text check (length(destination) between 1 and 200),
  destinations text[],
  reason text not null check (length(reason) between 1 and 500),
  owner uuid,
  restored boolean not null default false,
  lifted_by uuid,
  lifted_at timestamptz,
  created_at timestamptz not null,
  constraint stops_chain check ((chain is null) = (chain_assets is null)),
  constraint stops_destination check ((destination is null) = (destinations is null)),
  constraint stops_lifted check (lifted_by is null or lifted_at is not null),
  constraint stops_restored check (not restored or (owner is null and lifted_by is null))
);
create index stops_active on stops (what) where lifted_at is null;
create index stops_owner on stops (owner, id);
comment on table stops is 'Never deleted. Set and lifted under the ledger lock, so every later posting or signature obeys it.';
comment on column stops.chain_assets is 'Codes of the assets that live on the chain.';
comment on column stops.destinations is 'The id of an account, or an address in its canonical form on each chain that has such addresses.';
comment on column stops.owner is 'The user who set it; null for the operator of the installation.';
comment on column stops.restored is 'A realm that was restored began with it. Users of the time of the backup, whose rights may have ended since, do not lift it: the operator does.';
comment on column stops.lifted_by is 'The user who lifted it; null for the operator.';

-- A stop is lifted once, and otherwise stays as it was set.
create function keep_stop() returns trigger language plpgsql as $$
begin
  if old.lifted_at is not null or (to_jsonb(new) - 'lifted_at' - 'lifted_by')
    is distinct from (to_jsonb(old) - 'lifted_at' - 'lifted_by') then
    raise exception 'a stop is lifted once and otherwise stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger stops_keep before update on stops for each row execute function keep_stop();
create trigger stops_stay before delete or truncate on stops
  for each statement execute function refuse_change();

-- Whether a payment to an address is one to some destinations: the address itself, or the account that it is ours for.
create function pays_destination(p_address text, p_destinations text[]) returns boolean language sql stable as $$
  select p_address = any (p_destinations) or exists (select from addresses x where x.address = p_address
    and array[x.account::text, coalesce(x.target_account, x.ramp)::text] && p_destinations)
$$;

-- Which of some moves a stop concerns. Value sent to an own address goes to its target account, or to its
-- ramp; a withdrawal through the ramp is not sent to the ramp's addresses. ledger_apply calls this if a stop of
-- transfers is in force.
create function stopped_moves(p_type text, p_ids uuid[], p_source integer[], p_destination integer[], p_actor uuid[])
returns boolean[] language sql stable as $$
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
$$;
