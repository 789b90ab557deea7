-- What:     coin_searches, how far the search for coins that the database does not know has come.
-- Why:      contract, section 10: coins on UTXO chains are compared with the node, not with our own table.
-- Locks:    none, the table is new.
-- Backfill: none, the first search begins at the first address.
-- Undo:     forward only.

create table coin_searches (
  chain text not null,
  network text not null,
  address uuid,
  asked text[] not null default '{}',
  fruitless integer not null default 0 check (fruitless >= 0),
  searched_at timestamptz not null,
  primary key (chain, network)
) with (fillfactor = 50);
comment on column coin_searches.address is 'The last address that was asked for; null: the next search begins anew.';
comment on column coin_searches.asked is 'Coins that the last search missed, one of each block that was read again for it.';
comment on column coin_searches.fruitless is 'Searches in a row that found less than half of the coins asked for: each halves the number of blocks read.';
