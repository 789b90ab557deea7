-- What:     webhooks, their deliveries, and what a process knows of each receiver while it delivers.
-- Why:      contract, section 13.2: events reach receivers at least once, in order per entity.
-- Locks:    none, all tables are new.
-- Backfill: none.
-- Undo:     forward only.

create table webhooks (
  id uuid primary key,
  url text not null check (length(url) between 1 and 2000 and url ~ '^https?://'),
  events text[] not null check (cardinality(events) between 1 and 100),
  active boolean not null default true,
  secret bytea not null check (octet_length(secret) between 29 and 200),
  previous_secret bytea check (octet_length(previous_secret) between 29 and 200),
  previous_until timestamptz,
  disabled_reason text check (disabled_reason in ('failing', 'gone')),
  owner uuid not null references users (id),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  error jsonb,
  told_at timestamptz,
  deleted_at timestamptz,
  updated_at timestamptz,
  created_at timestamptz not null,
  constraint webhooks_previous check ((previous_secret is null) = (previous_until is null)),
  constraint webhooks_disabled check (disabled_reason is null or not active)
);
create index webhooks_owner on webhooks (owner, id);
comment on column webhooks.secret is 'Encrypted under the platform key; shown once, when it is made.';
comment on column webhooks.previous_secret is 'Signs beside the present one until previous_until.';
comment on column webhooks.told_at is 'When people were last told by e-mail that it was created or changed.';
comment on column webhooks.disabled_reason is 'Why the service deactivated it; null where a user did.';

create table webhook_queues (
  webhook uuid primary key references webhooks (id),
  lease_owner uuid,
  lease_until timestamptz,
  failures integer not null default 0 check (failures >= 0),
  failing_since timestamptz,
  resume_at timestamptz,
  last_success_at timestamptz,
  constraint webhook_queues_lease check ((lease_owner is null) = (lease_until is null)),
  constraint webhook_queues_failing check ((failing_since is null) = (failures = 0))
) with (fillfactor = 50);
comment on table webhook_queues is 'One row for each webhook: the process that delivers, and how its receiver fares.';
comment on column webhook_queues.failures is 'Failures since the last success.';
comment on column webhook_queues.resume_at is 'Nothing is sent before: a receiver that fails is asked rarely.';

create table webhook_deliveries (
  webhook uuid not null references webhooks (id),
  event uuid not null,
  type text not null,
  entity uuid not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts integer not null default 0 check (attempts >= 0),
  next_at timestamptz,
  first_at timestamptz,
  last_at timestamptz,
  latency_ms integer check (latency_ms >= 0),
  response_status integer check (response_status between 100 and 999),
  response_body text check (octet_length(response_body) <= 4096),
  failure text check (length(failure) between 1 and 500),
  created_at timestamptz not null,
  primary key (webhook, event),
  constraint webhook_deliveries_next check ((status = 'PENDING') = (next_at is not null)),
  constraint webhook_deliveries_tried check ((attempts = 0) or (last_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_deliveries_due on webhook_deliveries (webhook, next_at, event) where status = 'PENDING';
create index webhook_deliveries_entity on webhook_deliveries (entity, event, webhook) where status = 'PENDING';
create index webhook_deliveries_failed on webhook_deliveries (webhook, event) where status = 'FAILED';
comment on table webhook_deliveries is 'An event on its way to a webhook. Its id for receivers (webhook-id) is that of the event.';
comment on column webhook_deliveries.next_at is 'When it is tried, or tried again.';

create function open_webhook_queue() returns trigger language plpgsql as $$
begin
  insert into webhook_queues (webhook) values (new.id);
  return null;
end $$;
create trigger webhooks_queue after insert on webhooks for each row execute function open_webhook_queue();

create table incidents (
  kind text not null check (kind in ('chain.lagging', 'withdrawal.stuck')),
  subject text not null,
  since timestamptz not null,
  primary key (kind, subject)
);
comment on table incidents is 'What was told of and lasts: it is told of once.';

-- Whether an event of this type is written at all.
create function is_heard(p_type text) returns boolean language sql stable as $$
  select p_type = 'webhook.test' or exists (select from webhooks
      where active and deleted_at is null and events && array[p_type, '*'])
    or exists (select from event_listeners where type in (p_type, '*') and until > now())
$$;

-- The lesser of an id and the smallest one of a time.
create function id_before(p_at timestamptz, p_id uuid) returns uuid language sql immutable as $$
  select least(p_id, (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || '7000' || repeat('0', 16))::uuid)
$$;

-- Has all events written for a reader of streams and lists. Where nobody read for so long that they were not written
-- for a while, that is noted as if they had been deleted.
create function listen_until(p_until timestamptz) returns void language sql as $$
  update event_head set forgotten = id_before(l.until, null) from event_listeners l
    where l.type = '*' and l.until < now() and forgotten < id_before(l.until, null);
  insert into event_listeners (type, until) values ('*', least(p_until, now() + interval '400 days'))
  on conflict (type) do update set until = greatest(event_listeners.until, excluded.until)
$$;

-- Deletes some of the events, and of their deliveries, that are older than an id and than a day. An event that waits
-- for a webhook that is sent something stays, and what has ended stays for a week at least, so nothing that was not
-- delivered leaves before somebody can have seen that. What waits for a webhook that is sent nothing ends with its event.
create function forget_events(p_before uuid, p_limit integer) returns bigint language sql as $$
  with bound as (select id_before(now() - interval '1 day', p_before) as events,
    id_before(now() - interval '7 days', p_before) as deliveries),
  heard as materialized (select w.id, w.active and w.deleted_at is null and o.active and o.deleted_at is null as is_sent
    from webhooks w, lateral (select active, deleted_at from users where id = w.owner offset 0) o),
  old as (delete from events where position = any (array(
      select e.position from events e where e.id < (select events from bound)
        and (select true from webhook_deliveries d join heard h on h.id = d.webhook and h.is_sent
          where d.entity = e.entity and d.event = e.id and d.status = 'PENDING' limit 1) is null
      order by e.id limit p_limit)) returning id),
  head as (update event_head set forgotten = o.id from (select id from old order by id desc limit 1) o
    where event_head.forgotten < o.id),
  sent as (delete from webhook_deliveries where ctid = any (array(
      select q.ctid from heard h, lateral (
        select ctid from webhook_deliveries
        where webhook = h.id and event < (select deliveries from bound) and (status <> 'PENDING' or not h.is_sent)
        order by event limit p_limit) q limit p_limit)) returning 1)
  select (select count(*) from old) + (select count(*) from sent)
$$;
