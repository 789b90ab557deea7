/**
 * Statements of outgoing events: the outbox, and the log that it becomes when a process publishes
 * its events by giving them ids.
 * @module
 */
import type { Db, Tx } from "./database.ts";

/** An event that is added. */
export interface NewEventRow {
  type: string;
  entity: string;
  /** Null: for users who see the whole realm. */
  owner: string | null;
  /** Further users who see the entity. */
  others: readonly string[];
  /** JSON. */
  payload: string;
  created_at: number;
}

/** A published event. */
export interface EventRow {
  id: string;
  type: string;
  entity: string;
  owner: string | null;
  others: string[] | null;
  /** JSON as it was written. */
  payload: string;
  created_at: number;
}

/** Adds events of one type, in their order, if anybody listens. */
export async function insertEvents(
  tx: Tx,
  type: string,
  events: readonly NewEventRow[],
): Promise<void> {
  const text = JSON.stringify(events);
  await tx`
    insert into events (type, entity, owner, others, payload, created_at)
    select e.type, e.entity, e.owner, nullif(e.others, '{}'), e.payload::json,
      to_timestamp(e.created_at / 1000.0)
    from json_to_recordset(${text}::text::json)
      e(type text, entity uuid, owner uuid, others uuid[], payload text, created_at bigint)
    where (select is_heard(${type}))`;
}

/** The head of the log: the last id, and the database's time in milliseconds since the epoch. */
export interface EventHead {
  last: string;
  now: number;
}

/** Locks the head of the log and gives it; null while another process publishes. */
export async function lockEventHead(tx: Tx): Promise<EventHead | null> {
  const [row] = await tx<EventHead[]>`
    select last, database_ms()::float8 as now from event_head for update skip locked`;
  return row ?? null;
}

/** Waits for the head of the log, locks it, and gives it. */
export async function awaitEventHead(tx: Tx): Promise<EventHead> {
  const [row] = await tx<EventHead[]>`
    select last, database_ms()::float8 as now from event_head for update`;
  return row;
}

/** Reads the places of the oldest events that have no id yet, in their order. */
export async function selectUnpublished(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx<{ position: string }[]>`
    select position::text as position from events where id is null
    order by events.position limit ${limit}`;
  return rows.map((row) => row.position);
}

/** Gives events their ids, and the log its new head. */
export async function markPublished(tx: Tx, positions: string[], ids: string[]): Promise<void> {
  await tx`
    with head as (update event_head set last = ${ids.at(-1)!})
    update events e set id = u.id
    from unnest(${`{${positions.join(",")}}`}::text::bigint[], ${`{${
    ids.join(",")
  }}`}::text::uuid[])
      u(position, id) where e.position = u.position`;
}

/**
 * Adds events of one type that have their ids already, with a delivery for each webhook that listens to them and whose
 * owner may see them now, and moves the head of the log.
 *
 * @param due when the deliveries are due
 */
export async function insertPublished(
  tx: Tx,
  events: readonly (Omit<NewEventRow, "type"> & { id: string })[],
  { type, due }: { type: string; due: number },
): Promise<void> {
  const text = JSON.stringify(events);
  await tx`
    with head as (update event_head set last = ${events.at(-1)!.id}),
    heard as materialized (select w.id, w.owner, 'realm' = any (o.scopes) as sees_all
      from webhooks w cross join lateral (select scopes from users
        where id = w.owner and active and deleted_at is null offset 0) o
      where w.active and w.deleted_at is null and w.events && array[${type}, '*']),
    added as (insert into events (id, type, entity, owner, others, payload, created_at)
      select e.id, ${type}, e.entity, e.owner, nullif(e.others, '{}'), e.payload::json,
        to_timestamp(e.created_at / 1000.0)
      from json_to_recordset(${text}::text::json) e(id uuid, entity uuid, owner uuid,
        others uuid[], payload text, created_at bigint)
      returning id, entity, owner, others)
    insert into webhook_deliveries (webhook, event, type, entity, next_at, created_at)
    select w.id, e.id, ${type}, e.entity, ${due}, ${due}
    from heard w join added e on w.sees_all or e.owner = w.owner or w.owner = any (e.others)`;
}

/**
 * Adds a delivery for each webhook that listens to each of some events, and whose owner may see it
 * now. A test goes to its own webhook alone.
 *
 * @param how.forAdmins types of events that administrators of the realm alone may see
 */
export async function insertDeliveries(
  tx: Tx,
  ids: string[],
  { at, forAdmins }: { at: number; forAdmins: readonly string[] },
): Promise<number> {
  const added = await tx`
    insert into webhook_deliveries (webhook, event, type, entity, next_at, created_at)
    select w.id, e.id, e.type, e.entity, ${at}, ${at}
    from unnest(${`{${ids.join(",")}}`}::text::uuid[]) u(id),
      lateral (select id, type, entity, owner, others from events where id = u.id offset 0) e
      join webhooks w on w.active and w.deleted_at is null
        and case when e.type = 'webhook.test' then w.id = e.entity
          else w.events && array[e.type, '*'] end
      cross join lateral (select scopes, roles from users
        where id = w.owner and active and deleted_at is null offset 0) o
    where case when e.type = any (${[...forAdmins]}::text[])
        then 'realm' = any (o.scopes) and 'admin' = any (o.roles)
      else 'realm' = any (o.scopes) or e.owner = w.owner or w.owner = any (e.others) end
    on conflict do nothing`;
  return added.count;
}

/** Leaves of the events about the messages to a person the messages' ids alone. */
export async function reduceMessageEvents(tx: Tx, person: string): Promise<void> {
  await tx`
    update events set payload = json_build_object('id', entity)
    where type = 'message.updated' and entity in (select id from messages where person = ${person})
      and payload::jsonb <> jsonb_build_object('id', entity)`;
}

/** The id of the last published event. */
export async function selectLastEvent(db: Db): Promise<string> {
  const [row] = await db<{ last: string }[]>`select last from event_head`;
  return row.last;
}

/** The greatest id of an event that was deleted. */
export async function selectForgotten(db: Db): Promise<string> {
  const [row] = await db<{ forgotten: string }[]>`select forgotten from event_head`;
  return row.forgotten;
}

/** Which events a reader is shown. */
export interface EventFilter {
  after: string;
  limit: number;
  /** The user who reads; null: all users' events. */
  viewer: string | null;
  types: readonly string[] | null;
  /** Types that the user may not see. */
  hidden: readonly string[];
  entity: string | null;
}

/**
 * Reads published events after an id, whoever may see them, in their order: so many, and so many bytes
 * of payload with the last one, at most.
 */
export async function selectEventPage(
  db: Db,
  of: { after: string; limit: number; bytes: number },
): Promise<EventRow[]> {
  return await db<EventRow[]>`
    select id, type, entity, owner, others, payload, created_at from (
      select p.*, sum(octet_length(payload)) over (order by id) - octet_length(payload) as before from (
        select id, type, entity, owner, others, payload::text as payload, created_at from events
        where id > ${of.after} order by id limit ${of.limit}) p) q
    where before < ${of.bytes} order by id`;
}

/** Reads published events after an id, in their order. */
export async function selectEvents(db: Db, filter: EventFilter): Promise<EventRow[]> {
  const { viewer, types, hidden, entity } = filter;
  return await db<EventRow[]>`
    select id, type, entity, owner, others, payload::text as payload, created_at from events
    where id > ${filter.after}
      ${viewer === null ? db`` : db`and (owner = ${viewer} or ${viewer}::uuid = any (others))`}
      ${types === null ? db`` : db`and type = any (${[...types]}::text[])`}
      ${hidden.length === 0 ? db`` : db`and type <> all (${[...hidden]}::text[])`}
      ${entity === null ? db`` : db`and entity = ${entity}`}
    order by id limit ${filter.limit}`;
}

/** Until when all events are written for readers; null: not for them. */
export async function selectListening(db: Db): Promise<number | null> {
  const [row] = await db<{ until: number }[]>`
    select until from event_listeners where type = '*'`;
  return row?.until ?? null;
}

/** Has all events written for readers until a time. */
export async function listenUntil(db: Db, until: number): Promise<void> {
  await db`select listen_until(${until})`;
}

/** Deletes some of the events and ended deliveries that are older than an id; gives their number. */
export async function forgetEvents(db: Db, before: string, limit: number): Promise<number> {
  const [row] = await db<{ gone: string }[]>`
    select forget_events(${before}, ${limit})::text as gone`;
  return parseInt(row.gone, 10);
}
