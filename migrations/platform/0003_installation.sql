-- What:     the installation: its id, its epoch, where its database lives, its master key, and the hosts that keep a
--           record of it outside of the database.
-- Why:      contract, "Restored or copied databases": a database that is older than the chains, or a copy of one that
--           still runs, must be detected before anything is signed.
-- Locks:    none, all tables are new.
-- Backfill: the row of the installation, with an id of its own; the first worker claims it.
-- Undo:     forward only.

create table installation (
  singleton boolean primary key default true check (singleton),
  id uuid not null,
  epoch integer not null default 1 check (epoch > 0),
  label text check (label ~ '^[A-Za-z0-9._:-]{1,64}$'),
  home text,
  timeline text,
  master text,
  address_key uuid not null default gen_random_uuid(),
  login bytea,
  platform_key bytea,
  halted jsonb,
  updated_at timestamptz not null default now()
);
insert into installation (id) values (gen_random_uuid());
comment on column installation.epoch is 'Grows with every reconciliation after a restore.';
comment on column installation.label is 'The required INSTALLATION_EPOCH; null if hosts keep records in DATA_DIR.';
comment on column installation.home is 'The server and database that it lives in; null until a worker has claimed it.';
comment on column installation.timeline is 'The server''s timeline; another one means that the server was promoted or recovered, and may have lost something.';
comment on column installation.master is 'Fingerprint of the master key; secrets are written under this one alone.';
comment on column installation.address_key is 'The key of the digests in own_addresses.';
comment on column installation.login is 'Encrypted secret of the role as which processes serve; its password derives from it.';
comment on column installation.platform_key is 'The id, encrypted under PLATFORM_KEY: a process with another key reports that at its start.';
comment on column installation.halted is 'Why nothing is signed until the installation is reconciled.';

create table installation_witnesses (
  id uuid primary key,
  count bigint not null check (count > 0),
  token uuid not null,
  timeline text,
  synchronous boolean not null default false,
  seen_at timestamptz not null
);
comment on table installation_witnesses is 'Records of the installation that are kept outside of the database, one for each DATA_DIR.';
comment on column installation_witnesses.timeline is 'The server''s timeline at the last step: after a promotion nothing is signed until those that were there before have compared.';
comment on column installation_witnesses.synchronous is 'Whether the last step was answered only when a standby had it: a promotion loses nothing of this host.';

create table realm_faults (
  realm uuid not null references realms (id),
  code text not null,
  chain text not null default '',
  network text not null default '',
  detail text not null,
  seen_at timestamptz not null,
  primary key (realm, code, chain, network)
);
comment on table realm_faults is 'Reasons why workers do not sign for a realm, as they last found them; shown by /health/ready.';

create table own_addresses (
  digest bytea primary key check (length(digest) = 32),
  realm uuid not null references realms (id) on delete cascade
);
comment on table own_addresses is
  'Keyed digests of the addresses that realms have given out or reserved: no realm links an address of another.';

create table realm_steps (
  realm uuid primary key references realms (id),
  now uuid,
  next jsonb not null default '[]' check (jsonb_typeof(next) = 'array')
);
comment on table realm_steps is 'The step at which each realm''s schema was last found; one restored alone stands at another.';

create table network_identities (
  chain text not null,
  network text not null,
  identity text not null check (identity <> ''),
  decided_at timestamptz not null default now(),
  primary key (chain, network)
);
comment on table network_identities is 'Which network the nodes of a chain were found to be of, where several would do; nodes of another one are refused from then on.';
comment on column network_identities.identity is 'The chain id on EVM chains, elsewhere the first block.';
