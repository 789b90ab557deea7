-- What:     accounts with their balances, aliases, virtual currencies, rates.
-- Why:      service.md, sections Account, Alias, Virtual currency; contract, section 8.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

-- An update compares each column of an index in the old row and the new. Columns of fixed length come first (owner and
-- holder are there but for system accounts) and those that are mostly null last, because behind one of variable length
-- or a null a column is found by walking over all before it.
create table accounts (
  id uuid primary key,
  owner uuid,
  holder uuid,
  seq bigint not null default 0,
  created_at timestamptz not null,
  testnet boolean not null default false,
  active boolean not null default false,
  frozen boolean not null default false,
  enabled boolean not null default false,
  is_default boolean not null default false,
  frozen_by_realm boolean not null default false,
  decimals smallint not null,
  currency_places smallint not null,
  type text not null,
  asset text not null,
  currency text not null,
  total numeric not null default 0,
  blocked numeric not null default 0,
  linked numeric not null default 0,
  deleted_at timestamptz,
  country text not null,
  system text,
  ramp uuid,
  reference text,
  frozen_by uuid,
  updated_at timestamptz,
  data jsonb not null default '{}',
  error jsonb,
  constraint accounts_covered check (total >= blocked + linked or type = 'system'),
  -- Infinity and NaN, which is greater than any number, have no scale; and a check passes where it is null.
  constraint accounts_scale check ((min_scale(total) <= decimals) is true)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index accounts_owner on accounts (owner, id);
create index accounts_reference on accounts (reference, owner) where reference is not null and deleted_at is null;
create index accounts_holder on accounts (holder, asset);
create unique index accounts_default on accounts (holder, asset, testnet)
  where is_default and deleted_at is null;
create unique index accounts_counterparty on accounts (asset, testnet, system)
  where type = 'system';
comment on column accounts.frozen_by is 'The user who froze it; null for the operator and for the service itself.';
comment on column accounts.frozen_by_realm is 'Frozen by a user with write permission for the whole realm, or by the service itself: only such a user unfreezes it.';
comment on column accounts.total is 'Balance in whole units of the asset; changed by ledger_apply alone.';
comment on column accounts.blocked is 'Sum of the open blocks; available is total less blocked and linked.';
comment on column accounts.linked is
  'What arrived at addresses of others that are watched for the account: shown and never available. It falls only with the balance, where such an address turned out to be ours.';
comment on column accounts.seq is 'Number of the account''s last entry.';

-- The rules of an account that no posting can break, because they speak of columns that a transfer does not write. They
-- are a trigger of these columns: PostgreSQL reads each CHECK of a table anew in each statement that writes to the table,
-- and these cost a third of a single transfer. The trigger is always enabled: no setting of a session switches it off.
create function check_account() returns trigger language plpgsql as $$
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
end $$;
create trigger accounts_rules after insert or update of blocked, linked, type, decimals, frozen, frozen_by, frozen_by_realm,
    is_default, currency_places, holder, owner, system, data on accounts
  for each row execute function check_account();
alter table accounts enable always trigger accounts_rules;

-- The ledger's own updates name this column only for deposits at linked addresses. Linked value falls only with the
-- balance, when a deposit is taken from the account because its address turned out to be ours.
create function keep_linked() returns trigger language plpgsql as $$
begin
  if new.total - new.linked > old.total - old.linked or new.linked < (select coalesce(sum(d.credited), 0)
      from deposits d where d.account = new.id and d.status = 'CONFIRMED') then
    raise exception 'linked value does not become available' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger accounts_linked_stays after update of linked on accounts
  for each row when (new.linked < old.linked) execute function keep_linked();

-- Fields of an account that processes cache, and those that decide rights on it, never change.
create function keep_facts() returns trigger language plpgsql as $$
begin
  raise exception 'facts of % do not change', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger accounts_facts
  after update of type, asset, testnet, decimals, currency, currency_places, holder, owner, system, ramp on accounts
  for each row when ((old.type, old.asset, old.testnet, old.decimals, old.currency, old.currency_places, old.holder,
      old.owner, old.system) is distinct from (new.type, new.asset, new.testnet, new.decimals, new.currency,
      new.currency_places, new.holder, new.owner, new.system)
    or (old.type <> 'virtual' and old.ramp is distinct from new.ramp))
  execute function keep_facts();

-- An account belongs to a user and holds the value of an identity, which both stay for ever. No foreign keys: each
-- posting would ask whether the update of a balance concerns them.
create function check_belonging() returns trigger language plpgsql as $$
begin
  if not exists (select from users u where u.id = new.owner) or not exists (select from identities i where i.id = new.holder) then
    raise exception 'account % belongs to nobody', new.id
      using errcode = 'foreign_key_violation', constraint = 'accounts_belong';
  end if;
  return null;
end $$;
create trigger accounts_belong after insert on accounts
  for each row when (new.type <> 'system') execute function check_belonging();

create table aliases (
  id uuid primary key,
  alias text not null unique check (length(alias) between 1 and 200),
  folded text not null unique check (length(folded) between 1 and 600),
  type text not null check (type in ('account', 'identity')),
  account uuid references accounts (id),
  identity uuid references identities (id),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  check ((type = 'account') = (account is not null)),
  check ((type = 'identity') = (identity is not null)),
  constraint aliases_alias_plain check (is_plain(alias)),
  -- Whoever takes the id of another's account for its alias would be found, and paid, in that one's place.
  constraint aliases_alias_no_id check (folded !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  -- The same for an address; of those in base58, which their checksum tells from other codes, the service takes care.
  constraint aliases_alias_no_address check (folded !~ '^(0x[0-9a-f]{40}|(bc|tb|bcrt|t?ltc|rltc)1[02-9ac-hj-np-z]{20,90}|((bitcoincash|bchtest|bchreg):)?[pqrz]([02-9ac-hj-np-z]{41}|[02-9ac-hj-np-z]{60}))$'),
  constraint aliases_folded_plain check (is_folded(folded, alias))
);
comment on column aliases.folded is 'The alias without joiners, case and signs of compatibility: payments are sent by alias, and who took another spelling would be paid in the place of its owner (docs/adr/0018-names.md).';
create index aliases_name on aliases (lower(alias) text_pattern_ops)
  where deleted_at is null and lower(alias) is not null;
create index aliases_own_name on aliases (owner, lower(alias) text_pattern_ops)
  where deleted_at is null and lower(alias) is not null;
create index aliases_owner on aliases (owner, id);
-- Of an account or identity the oldest living one is shown, however many a customer has made and deleted.
create index aliases_account on aliases (account, id) where account is not null and deleted_at is null;
create index aliases_identity on aliases (identity, id) where identity is not null and deleted_at is null;

create table currencies (
  id uuid primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9_-]{2,40}$'),
  supply numeric not null default 0 check (supply >= 0),
  decimals smallint not null check (decimals between 0 and 77),
  base text,
  rate numeric check (rate > 0 and rate < 'infinity'),
  currency text not null,
  country text not null,
  symbol text,
  symbol_url text,
  sub_unit text[] check (cardinality(sub_unit) = 2),
  account uuid not null references accounts (id),
  active boolean not null default true,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  check ((min_scale(supply) <= decimals) is true)
);
create index currencies_owner on currencies (owner, id);
create index currencies_account on currencies (account);
create trigger currencies_facts before update of name, decimals, account, owner on currencies
  for each row when ((old.name, old.decimals, old.account, old.owner)
    is distinct from (new.name, new.decimals, new.account, new.owner)) execute function keep_facts();

-- What all holders of an asset have is what its system accounts lack: `fees` as well, where it bore a loss.
create function is_circulating(p_asset text) returns boolean language sql stable as $$
  select exists (select from accounts a where a.type = 'system' and a.asset = p_asset and not a.testnet and a.total <> 0)
$$;
create function check_currency_deletion() returns trigger language plpgsql as $$
begin
  if not is_circulating(new.name) then return new; end if;
  raise exception 'currency % cannot be deleted: value of it is in circulation', new.name
    using errcode = 'check_violation', constraint = 'currencies_deletable';
end $$;
create trigger currencies_deletable before update of deleted_at on currencies
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function check_currency_deletion();

-- What readers may take a name for: in capitals, with 0 as O and - as _, without those at its ends; p_as 'I': with l and 1
-- as I; 'L': with 1 as L, as which I is read, too, among small letters. domain/currencies/currencies.ts reads names and
-- the codes of assets in the same two ways.
create function name_likeness(p_name text, p_as text) returns text language sql immutable parallel safe as $$
  select upper(translate(btrim(p_name, '-_'),
    case when p_as = 'I' then '0-1l' when p_name collate "C" ~ '[a-z]' then '0-1I' else '0-1' end, 'O_' || p_as || p_as) collate "C")
$$;
create index currencies_likeness_i on currencies (name_likeness(name, 'I'));
create index currencies_likeness_l on currencies (name_likeness(name, 'L'));

-- A customer's currency is not called so that it is taken for another user's: who opens an account, or is promised value,
-- by name would get its units. A token whose deployment is paid for has its name, although no currency stands for it yet.
-- The house may choose any name that nobody has.
create function reads_like_anothers(p_name text, p_owner uuid) returns boolean language plpgsql stable as $$
begin
  return not exists (select from users u where u.id = p_owner and is_house(u)) and (
    exists (select from currencies c where c.owner <> p_owner and c.name <> p_name
      and (name_likeness(c.name, 'I') = name_likeness(p_name, 'I')
        or name_likeness(c.name, 'L') = name_likeness(p_name, 'L')))
    or exists (select from fungible_tokens t where t.owner <> p_owner and t.symbol <> p_name
      and not t.external and t.status in ('pending', 'deployed')
      and (name_likeness(t.symbol, 'I') = name_likeness(p_name, 'I')
        or name_likeness(t.symbol, 'L') = name_likeness(p_name, 'L'))));
end $$;
create function currencies_differ() returns trigger language plpgsql as $$
begin
  if reads_like_anothers(new.name, new.owner) then
    raise exception 'this name reads like that of another user''s currency'
      using errcode = 'check_violation', constraint = 'currencies_likeness';
  end if;
  return new;
end $$;
create trigger currencies_differ before insert on currencies for each row execute function currencies_differ();

-- Whether addresses of others may be watched for an account. A currency's own account alone of the virtual ones is
-- credited with deposits at an address of ours: a token of the realm's own that returns to its ramp.
create function watches_addresses(p_account uuid) returns boolean language sql stable as $$
  select a.type = 'virtual' and not exists (select 1 from currencies c where c.account = a.id and c.name = a.asset)
    from accounts a where a.id = p_account
$$;

create table currency_issues (
  transaction uuid primary key,
  currency uuid not null references currencies (id),
  operation text not null check (operation in ('issue', 'destroy')),
  amount numeric not null check (amount > 0),
  account uuid not null,
  created_at timestamptz not null
);
create index currency_issues_currency on currency_issues (currency, transaction);

create table rates (
  base text not null,
  currency text not null,
  rate numeric not null check (rate > 0 and rate < 'infinity'),
  source text not null,
  owner uuid,
  updated_at timestamptz not null,
  primary key (base, currency)
);
