-- What:     messages: e-mails, texts and WhatsApp messages, each with its state of delivery.
-- Why:      contract, section 12.1: a message is stored with its cause, sent by a job, and followed by delivery reports.
-- Locks:    share row exclusive on users and identities for the foreign keys.
-- Backfill: none, the table is new.
-- Undo:     forward only.

-- How far a state is. A message never goes back: a report that comes late or twice changes nothing. Proof that a
-- device received it outweighs an earlier failure, which may only mean that no answer came in time.
create function message_rank(p_group smallint, p_status integer) returns integer language sql immutable as $$
  select case when p_group in (0, 1) then 0 when p_group = 3 and p_status = 2 then 1 when p_group = 3 then 3 else 2 end
$$;

create table messages (
  id uuid primary key,
  channel text not null check (channel in ('sms', 'whatsapp', 'email')),
  destination text,
  user_id uuid references users (id),
  identity uuid references identities (id),
  person text,
  content bytea check (octet_length(content) between 1 and 400000),
  attempt smallint not null default 1 check (attempt between 1 and 100),
  waiting boolean not null default false,
  refused_at timestamptz,
  refusals smallint not null default 0 check (refusals between 0 and 1000),
  provider text check (provider in ('infobip', 'smtp')),
  group_id smallint not null check (group_id between 0 and 5),
  group_name text not null check (length(group_name) between 1 and 100),
  status_id integer not null check (status_id >= 0),
  status_name text not null check (length(status_name) between 1 and 100),
  status_description text not null check (length(status_description) <= 500),
  sent_at timestamptz,
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  owner uuid,
  notice text check (notice in ('address', 'security', 'codes', 'webhook', 'disabled', 'sync')),
  customer uuid,
  error jsonb,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint messages_destination check (case channel
    when 'email' then length(destination) <= 254 and destination ~ '^[^[:cntrl:][:space:]@<>,;:"]+@[^[:cntrl:][:space:]@<>,;:"]+$'
    else destination ~ '^\+[1-9][0-9]{4,14}$' end),
  constraint messages_recipient check (user_id is null or identity is null),
  constraint messages_person check ((identity is null) = (person is null)),
  -- Nobody needs the content of a message that was handed over, or that will not be sent.
  constraint messages_content check (content is null or (sent_at is null and message_rank(group_id, status_id) = 0)),
  constraint messages_sent check (sent_at is null or provider is not null),
  constraint messages_waiting check (not waiting or (sent_at is null and message_rank(group_id, status_id) = 0))
);
create index messages_unsent on messages (id) where waiting;
create index messages_owner on messages (owner, id);
create index messages_customer on messages (customer, created_at) where customer is not null and notice is null;
create index messages_recent on messages (lower(destination), created_at);
create index messages_identity on messages (identity) where identity is not null;
create index messages_person on messages (person, id) where person is not null;
create index messages_user on messages (user_id) where user_id is not null;
comment on column messages.destination is 'An e-mail address or a number (E.164); null after the recipient''s data was erased.';
comment on column messages.content is 'Encrypted by the serving half with the platform key; erased when the message was handed over.';
comment on column messages.attempt is 'Number of the attempt at sending that is next or runs: a job of another one does nothing.';
comment on column messages.waiting is 'Whether its channel had no provider when it was to be sent, or one that refuses the installation''s settings.';
comment on column messages.refused_at is 'When its provider last refused the installation''s settings.';
comment on column messages.refusals is 'How often its provider took note of its id and refused the sender or the account: each next handover is under another id.';
comment on column messages.notice is 'What the service wrote of by itself: a changed address, a changed password or second factor, wrong codes of it, a changed or a disabled webhook, a synchronisation of persons. Null for what a request for a message asked for.';
comment on column messages.customer is 'The customer (users.root) whose user asked for it, or is told by it; null for users of scope realm. Set by a trigger.';
comment on column messages.group_id is 'Group of the state, as Infobip counts them: 1 pending, 2 undeliverable, 3 delivered, 4 expired, 5 rejected.';

-- At most 20 messages a minute to one recipient (contract, section 12.3). Notices of the service itself are counted apart:
-- whoever may send could else keep a warning from its reader, whoever may cause one kind, those of another, and whoever may
-- cause any, messages. So are those of each customer: addresses are taken unproven, and another may give its users the same.
create function messages_pace() returns trigger language plpgsql as $$
begin
  new.customer := (select u.root from users u where u.id = new.owner and not 'realm' = any (u.scopes));
  if (select count(*) from messages m where lower(m.destination) = lower(new.destination)
      and m.created_at > new.created_at - interval '1 minute' and m.notice is not distinct from new.notice
      and (m.notice is null or m.customer is not distinct from new.customer)) >= 20 then
    raise exception 'a recipient gets at most 20 messages a minute'
      using errcode = 'check_violation', constraint = 'messages_pace';
  end if;
  return new;
end $$;
create trigger messages_pace before insert on messages for each row execute function messages_pace();

create function messages_forward() returns trigger language plpgsql as $$
declare
  v_before integer := message_rank(old.group_id, old.status_id);
  v_after integer := message_rank(new.group_id, new.status_id);
begin
  if (new.id, new.channel, new.user_id, new.identity, new.person, new.owner, new.notice, new.customer, new.created_at)
      is distinct from
      (old.id, old.channel, old.user_id, old.identity, old.person, old.owner, old.notice, old.customer, old.created_at)
    or new.destination is not null and new.destination is distinct from old.destination
    or new.content is not null and new.content is distinct from old.content
    or old.sent_at is not null and new.sent_at is distinct from old.sent_at
    or old.provider is not null and new.provider is distinct from old.provider
    or new.attempt < old.attempt
    or new.refusals < old.refusals then
    raise exception 'a message stays as it was written'
      using errcode = 'check_violation', constraint = 'messages_fixed';
  end if;
  if v_after < v_before or v_after = v_before and v_after > 1 and new.status_id <> old.status_id then
    raise exception 'the state of a message goes forward only'
      using errcode = 'check_violation', constraint = 'messages_forward';
  end if;
  return new;
end $$;
create trigger messages_forward before update on messages for each row execute function messages_forward();
