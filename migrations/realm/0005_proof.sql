-- What:     blocks with their rules, the history of blocking and freezing, links of the hash chain and their head,
--           sums of transactions by the hour, leases of repeated work, and listeners to transactions.
-- Why:      contract, section 8: blocks (7), balance at a time (6), the hash chain (2). A chart of a year must not read
--           each transaction.
-- Locks:    share row exclusive on accounts for one trigger; the other tables are new.
-- Backfill: the head of an empty chain.
-- Undo:     forward only.

create table blocks (
  id uuid primary key,
  account uuid not null references accounts (id),
  amount numeric not null check (amount > 0),
  captured numeric not null default 0,
  reason text check (length(reason) between 1 and 500),
  status text not null default 'OPEN'
    check (status in ('OPEN', 'CAPTURED', 'RELEASED', 'EXPIRED')),
  expires_at timestamptz,
  transaction uuid,
  reference_id uuid,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid,
  closed_at timestamptz,
  created_at timestamptz not null,
  constraint blocks_captured check (captured between 0 and amount),
  constraint blocks_capture check ((status = 'CAPTURED') = (captured > 0)
    and (status = 'CAPTURED') = (transaction is not null)),
  constraint blocks_closed check ((status = 'OPEN') = (closed_at is null))
);
create index blocks_account on blocks (account, id);
create unique index blocks_transaction on blocks (transaction) where transaction is not null;
create index blocks_expiry on blocks (expires_at) where status = 'OPEN' and expires_at is not null;
comment on column blocks.reference_id is
  'The withdrawal or chain order that this block was made for; users can neither release nor capture it. Null for a block of a user.';

-- The blocked amount of an account, and whether it was frozen, from a moment on. With the entries it gives every past
-- balance without a scan.
create table account_states (
  account uuid not null,
  at timestamptz not null,
  id bigint generated always as identity,
  blocked numeric not null,
  frozen boolean not null,
  primary key (account, at, id)
);
comment on column account_states.at is 'Ascends with id within an account.';

create function note_state(p_account uuid, p_at timestamptz, p_blocked numeric, p_frozen boolean)
returns void language sql as $$
  insert into account_states (account, at, blocked, frozen)
    values (p_account, greatest(p_at, (select max(s.at) from account_states s where s.account = p_account)),
      p_blocked, p_frozen)
$$;

-- The times of opening and closing a block come from the ledger's clock alone. A block cannot be captured from its
-- expiry on, and does not expire before it: such a change finds no row.
create function time_block() returns trigger language plpgsql as $$
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
end $$;
create trigger blocks_open before insert on blocks for each row execute function time_block();
create trigger blocks_close before update on blocks
  for each row when (old.status = 'OPEN' and new.status <> 'OPEN') execute function time_block();

-- A block is opened once, closed once, and otherwise stays as it is; accounts.blocked follows. Blocks are
-- opened one by one; those that one statement closes are taken together, since very many may expire at once.
create function keep_opened() returns trigger language plpgsql as $$
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
end $$;
create trigger blocks_keep after insert on blocks for each row execute function keep_opened();

create function keep_closed() returns trigger language plpgsql as $$
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
end $$;
create trigger blocks_keep_closed after update on blocks
  referencing old table as earlier new table as later
  for each statement execute function keep_closed();
create trigger blocks_stay before delete or truncate on blocks
  for each statement execute function refuse_change();

-- The ledger's own updates name neither column, so postings never fire this trigger.
create function note_frozen() returns trigger language plpgsql as $$
begin
  perform note_state(new.id, ledger_now(), new.blocked, new.frozen);
  return null;
end $$;
create trigger accounts_frozen after update of frozen on accounts
  for each row when (old.frozen is distinct from new.frozen) execute function note_frozen();

create trigger account_states_append_only before update or delete or truncate on account_states
  for each statement execute function refuse_change();

-- The number of an account's last entry whose transaction's id is at most the given one: a search by
-- halves, because ids ascend with the numbers of entries. Null where that entry may be archived: all before an
-- account's newest checkpoint (0023_archive.sql), up to the last millisecond before its bound.
create function entry_before(p_account uuid, p_bound uuid) returns bigint
language plpgsql stable as $$
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
end $$;

create table chain_links (
  seq bigint primary key check (seq > 0),
  transaction uuid unique,
  event bigint,
  salt bytea not null check (octet_length(salt) = 16),
  hash bytea not null check (octet_length(hash) = 32),
  constraint chain_links_subject check ((transaction is null) <> (event is null))
);
create unique index chain_links_event on chain_links (event) where event is not null;
comment on table chain_links is
  'Append-only. Position and hash of each transaction and each event of the ledger, in the order of commit.';
comment on column chain_links.salt is 'Random, and covered by the hash: so the hash reveals nothing of the row that it covers.';
create trigger chain_links_append_only before update or delete or truncate on chain_links
  for each statement execute function refuse_change();

select sample_less('chain_links');

create table chain_head (
  one boolean primary key default true check (one),
  seq bigint not null check (seq >= 0),
  transactions bigint not null default 0 check (transactions between 0 and seq),
  hash bytea not null check (octet_length(hash) = 32)
) with (fillfactor = 10);
comment on table chain_head is 'The last link; the process that appends locks its row.';
comment on column chain_head.transactions is 'How many of the links are those of transactions.';
insert into chain_head (seq, hash) values (0, decode(repeat('00', 32), 'hex'));

-- Sums of the transactions in the hash chain, by the hour of the ledger's time. The database transaction that appends
-- their links adds them, so each counts once; posting never touches a row. Days are sums of hours, in UTC.
create table hourly_flows (
  testnet boolean not null,
  hour timestamptz not null,
  asset text not null,
  type text not null,
  direction text not null,
  currency text not null default '',
  count bigint not null check (count > 0),
  amount numeric not null check (amount > 0),
  value numeric not null default 0 check (value >= 0),
  primary key (testnet, hour, asset, type, direction, currency),
  constraint hourly_flows_hour check (mod(extract(epoch from hour), 3600) = 0),
  constraint hourly_flows_direction check (direction in ('in', 'out', 'inside')),
  constraint hourly_flows_value check (currency <> '' or value = 0),
  constraint hourly_flows_finite check (greatest(amount, value) < 'infinity')
) with (fillfactor = 80);
comment on column hourly_flows.direction is 'In from the counterparty world, out to it, or between other accounts.';
comment on column hourly_flows.currency is 'Of the fiat values; empty where the transactions have none.';
comment on column hourly_flows.value is 'Sum of the fiat values.';

-- Appends links for the oldest commits, of `p_limit` transactions or somewhat more, as long as they are plain: neither
-- events, nor transactions with JSON, whose canonical form the service writes, nor any while somebody is told of them.
-- Gives how many, whether others may wait, and whether lines of the audit trail do; null while another process appends. The
-- forms are those of domain/audit/chain_links.ts, which proves them whenever links are recomputed. Ids ascend in the order
-- of commits, so the transactions are one range of ids.
create function link_plain(p_limit integer, out links integer, out more boolean, out trail boolean) language plpgsql
-- A plan that was made while a table was empty must not read through it. Before PostgreSQL 18 a plan that does so all the
-- same, such as that of the head's one row, counts as so costly that each call would compile it for a tenth of a second.
-- Plans made anew would cost a call 0.7 ms.
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
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
end $$;

create table event_listeners (
  type text primary key,
  until timestamptz not null
);
comment on table event_listeners is
  'Types of events that somebody reads (* for all), and until when they are written for it, besides those of webhooks.';

create table leases (
  name text primary key,
  owner_process uuid not null,
  until timestamptz not null,
  next_at timestamptz not null
);
comment on table leases is 'Repeated work: the process that does it, until when, and when it is due again.';
