-- What:     whatsapp_interactions: who has written to which WhatsApp number of the installation.
-- Why:      contract, section 12.2: WhatsApp messages go only to people who wrote to the sender first; the provider
--           reports that once, for every realm that sends from the number.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table whatsapp_interactions (
  sender text not null check (sender ~ '^[0-9]{3,15}$'),
  recipient text not null check (recipient ~ '^\+[1-9][0-9]{4,14}$'),
  last_at timestamptz not null,
  primary key (recipient, sender)
);
comment on column whatsapp_interactions.sender is 'The number that messages are sent from, digits alone.';
comment on column whatsapp_interactions.recipient is 'The number of the person who wrote to it.';
