-- What:     an index of the attempts that were given up as expired, and that a block shows.
-- Why:      a reconciliation lists them.
-- Locks:    share update exclusive, for as long as the build takes; readers and writers go on.
-- Backfill: none.
-- Undo:     forward only.

create index concurrently if not exists order_attempts_late on order_attempts (order_id)
  where proof = 'expired' and seen_height is not null and late_order_id is null;
