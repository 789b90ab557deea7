-- What:     an index of the attempts that an order books because they were mined late.
-- Why:      one order books one such attempt, and reads it as its own.
-- Locks:    share update exclusive, for as long as the build takes; readers and writers go on.
-- Backfill: none.
-- Undo:     forward only.

create unique index concurrently if not exists order_attempts_late_order on order_attempts (late_order_id)
  where late_order_id is not null;
