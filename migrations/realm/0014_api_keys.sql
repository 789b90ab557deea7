-- What:     machine keys: each acts as its user, with no more than the user's rights.
-- Why:      contract, section 15.2: service clients that neither keep a password nor log in every day.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table api_keys (
  id uuid primary key,
  name text not null check (length(name) between 1 and 100),
  digest bytea not null unique check (octet_length(digest) = 32),
  roles text[] not null check (roles <@ array['admin', 'manage', 'user'] and 'user' = any (roles)),
  scopes text[] not null check (scopes <@ array['realm', 'own'] and 'own' = any (scopes)),
  addresses text[] not null default '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  owner uuid not null references users (id),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint api_keys_name_plain check (is_plain(name))
);
create index api_keys_owner on api_keys (owner, id);
comment on column api_keys.digest is 'SHA-256 of the key; the key itself is shown once and not kept.';
comment on column api_keys.addresses is 'Networks (CIDR) that the key may be used from; empty: from everywhere.';

create function api_keys_within_user() returns trigger language plpgsql as $$
begin
  if not exists (select from users u where u.id = new.owner and u.active and u.deleted_at is null
      and new.roles <@ u.roles and new.scopes <@ u.scopes) then
    raise exception 'a key has no more than the rights of its user'
      using errcode = 'check_violation', constraint = 'api_keys_within_user';
  end if;
  return new;
end $$;
create trigger api_keys_within_user before insert on api_keys
  for each row execute function api_keys_within_user();

create function api_keys_ended() returns trigger language plpgsql as $$
begin
  if old.deleted_at is not null and new.deleted_at is distinct from old.deleted_at then
    raise exception 'a key that has ended stays so'
      using errcode = 'check_violation', constraint = 'api_keys_ended';
  end if;
  return new;
end $$;
create trigger api_keys_ended before update on api_keys
  for each row execute function api_keys_ended();

select tell_of('api_keys');
