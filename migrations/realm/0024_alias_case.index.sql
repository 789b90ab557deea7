-- What:     aliases_alias_fold, unique over aliases without the case of their letters.
-- Why:      payments are sent by alias, and people and their keyboards write Alice for alice: who took the other spelling
--           would be paid in the place of its owner (docs/adr/0018-names.md).
-- Locks:    share update exclusive on aliases, as an index step takes it.
-- Backfill: none. Where two aliases differ in case alone, the index is not made and the error names them: the realm
--           deletes the row of one.
-- Undo:     forward only.

create unique index concurrently if not exists aliases_alias_fold on aliases (lower(translate(alias, e'\u200c\u200d', '')));
