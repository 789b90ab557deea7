-- What:     identities (holders), users (owners who log in), revoked keys and failed logins.
-- Why:      service.md: a user is linked to exactly one identity; contract section 5: logins and revocation.
-- Locks:    none, first migration.
-- Backfill: none.
-- Undo:     forward only.

create table identities (
  id uuid primary key,
  type text not null default 'neutral' check (type in ('neutral', 'person', 'company')),
  country text not null check (country ~ '^[A-Z]{2}$'),
  currency text not null,
  person text,
  company bigint,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid not null,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null
);
create index identities_owner on identities (owner, id);
create unique index identities_person on identities (person) where person is not null;
create index identities_company on identities (company) where company is not null;
create index identities_name on identities (lower(left(data ->> 'name', 200)) text_pattern_ops)
  where deleted_at is null and data ->> 'name' is not null;
create index identities_own_name on identities (owner, lower(left(data ->> 'name', 200)) text_pattern_ops)
  where deleted_at is null and data ->> 'name' is not null;
comment on index identities_name is 'For prefixes, as the other indexes of names: what others own is passed over by those of an owner.';

-- Whether people can tell a name apart by eye: it is composed, without invisible characters, and joiners stand
-- between letters.
create function is_plain(name text) returns boolean language sql immutable parallel safe
  return name is nfc normalized and name !~
    '^ | $|  |(^|[ -~])[\u200c\u200d]|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200b\u200e-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]';

-- Whether a text may be the folded form of a name. The service folds (domain/names.ts), as a database knows letters
-- beyond ASCII only by its locale; of names in ASCII there is but one.
create function is_folded(folded text, name text) returns boolean language sql immutable parallel safe
  return folded !~ '[A-Z\u200c\u200d]' and (name ~ '[^ -~]' or folded = translate(name,
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'));

create table users (
  id uuid primary key,
  username text not null unique check (length(username) between 1 and 200),
  folded text not null unique check (length(folded) between 1 and 600),
  email text check (email = lower(email)),
  verifier text not null check (verifier like '$argon2id$%'),
  password_digest text not null,
  identity uuid not null references identities (id),
  roles text[] not null check (roles <@ array['admin', 'manage', 'user'] and 'user' = any (roles)),
  scopes text[] not null check (scopes <@ array['realm', 'own'] and 'own' = any (scopes)),
  channel jsonb not null default '{}' check (jsonb_typeof(channel) = 'object'),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  active boolean not null default true,
  keys_until bigint not null default 0,
  owner uuid not null,
  root uuid,
  error jsonb,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint users_username_plain check (is_plain(username)),
  constraint users_folded_plain check (is_folded(folded, username))
);
create index users_owner on users (owner, id);
create index users_root on users (identity, root) where root is not null;
create index users_rooted on users (root, identity) where root is not null;
create index users_house on users (identity) where 'realm' = any (scopes);
create unique index users_admin_email on users (email)
  where 'admin' = any (roles) and 'realm' = any (scopes) and deleted_at is null;
-- Statements that do not search by names must not take these indexes for a short way to living rows.
create index users_name on users (lower(username) text_pattern_ops)
  where deleted_at is null and lower(username) is not null;
create index users_own_name on users (owner, lower(username) text_pattern_ops)
  where deleted_at is null and lower(username) is not null;
create index users_email on users (email, owner) where email is not null and deleted_at is null;
comment on column users.folded is 'The username without joiners, case and signs of compatibility: two names never differ by them alone (docs/adr/0018-names.md).';
comment on column users.keys_until is 'Keys of the user that carry no greater time in their ids (milliseconds since 1970) are revoked. It only grows, by one at least, and the next login gets a greater one: no clock decides.';
comment on column users.root is 'The topmost user in its line of creators below the house, or itself: users of one root are one customer. Null for the house. Maintained by triggers.';
comment on column users.password_digest is 'Opaque text shown in answers; says nothing of the verifier.';

-- Whether a user has write permission for the whole realm, and so belongs to the house and is not its customer.
create function is_house(u users) returns boolean language sql immutable as $$
  select 'realm' = any (u.scopes) and u.roles && array['manage', 'admin']
$$;

-- A user's root is that of its creator: one read, however long the line of creators is.
create function keep_root() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() = 1 then
    new.root := case when not is_house(new)
      then coalesce((select o.root from users o where o.id = new.owner and o.id <> new.id), new.id) end;
  end if;
  return new;
end $$;
create trigger users_root before insert or update on users for each row execute function keep_root();

create table revocations (
  id uuid primary key,
  user_id uuid not null,
  jti uuid,
  issued_before timestamptz,
  xact xid8 not null default pg_current_xact_id(),
  expires_at timestamptz not null,
  created_at timestamptz not null,
  check ((jti is null) <> (issued_before is null))
);
create index revocations_xact on revocations (xact);
create index revocations_expires on revocations (expires_at);
comment on table revocations is 'Revoked keys: one key by jti, or all of a user issued before a time.';

create table logins (
  id uuid primary key,
  user_id uuid not null references users (id),
  method text not null check (method in ('password', 'totp', 'recovery_code')),
  address text,
  agent text check (length(agent) between 1 and 100),
  last_used_at timestamptz,
  expires_at timestamptz not null,
  ended_at timestamptz,
  created_at timestamptz not null,
  check (created_at < expires_at)
);
create index logins_user on logins (user_id, created_at) where ended_at is null;
create index logins_expires on logins (expires_at);
comment on table logins is 'Each user key that a login gave, until it expires; the id is the key''s jti.';
comment on column logins.ended_at is 'For lists; a revocation refuses the key.';

create table login_attempts (
  subject text primary key,
  wrong timestamptz[] not null default '{}',
  pending timestamptz[] not null default '{}',
  state text not null default 'open' check (state in ('open', 'busy', 'refused')),
  right_at timestamptz,
  updated_at timestamptz not null default now()
);
create index login_attempts_updated on login_attempts (updated_at) where right_at is null;
create index login_attempts_right on login_attempts (right_at) where right_at is not null;
comment on table login_attempts is 'Per digest of a name, per network, and per both: logins of the last minute that were wrong, and those being checked.';
comment on column login_attempts.right_at is 'Of a name from a network: its last right login, which others'' wrong ones do not hold up.';
