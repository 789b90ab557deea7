-- What:     realm_moves, the move of a realm to another database: how far it is, and who carries it on.
-- Why:      a move that stops at any step is carried on, or taken back, by the next call; processes that are refused
--           by the old place learn here whether to wait.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table realm_moves (
  realm uuid primary key references realms (id),
  id uuid not null unique,
  step text not null check (step in ('copying', 'fencing', 'fenced', 'switched', 'done', 'canceled')),
  runner uuid not null,
  place integer not null check (place > 0),
  source_encrypted bytea,
  target_encrypted bytea,
  pause_ms integer check (pause_ms >= 0),
  error text,
  updated_at timestamptz not null default now(),
  created_at timestamptz not null
);
comment on table realm_moves is 'The last move of each realm to another database.';
comment on column realm_moves.step is 'copying: the realm works where it was. fencing, fenced: it takes no writes. switched: it works in the new place.';
comment on column realm_moves.runner is 'The run that carries the move on; one that was replaced changes nothing any more.';
comment on column realm_moves.place is 'Number that the new place has; realms.place is smaller until the switch.';
comment on column realm_moves.source_encrypted is 'Encrypted address of the old place, which is kept read-only; null: the database of the platform.';
comment on column realm_moves.target_encrypted is 'Encrypted address of the new place; null: the database of the platform.';
