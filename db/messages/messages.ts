/** Statements on messages. @module */
import type { Db, Tx } from "../database.ts";

/**
 * What the service writes of by itself: a user's address, its password or second factor, wrong codes of the latter, a
 * changed or a disabled webhook, a synchronisation of persons.
 */
export type NoticeKind = "address" | "security" | "codes" | "webhook" | "disabled" | "sync";

/** A message as stored. */
export interface MessageRow {
  id: string;
  channel: "sms" | "whatsapp" | "email";
  /** Null after the recipient's data was erased. */
  destination: string | null;
  user_id: string | null;
  identity: string | null;
  /** The person that the address is of. */
  person: string | null;
  /** Encrypted; null from the moment nobody needs it any more. */
  content: Uint8Array | null;
  /** Number of the attempt at sending that is next or runs. */
  attempt: number;
  /** Whether it waits because its channel had no provider, or one that refuses our settings. */
  waiting: boolean;
  /** How often the provider took note of its id and refused our sender or account. */
  refusals: number;
  provider: "infobip" | "smtp" | null;
  group_id: number;
  group_name: string;
  status_id: number;
  status_name: string;
  status_description: string;
  sent_at: number | null;
  data: Record<string, unknown>;
  owner: string | null;
  /** What the service wrote of by itself: each kind's pace is counted apart. Null for other messages. */
  notice: NoticeKind | null;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "channel",
  "destination",
  "user_id",
  "identity",
  "person",
  "content",
  "attempt",
  "waiting",
  "refusals",
  "provider",
  "group_id",
  "group_name",
  "status_id",
  "status_name",
  "status_description",
  "sent_at",
  "data",
  "owner",
  "notice",
  "error",
  "updated_at",
  "created_at",
] as const;

/** Fields of a new message. */
export type NewMessageRow = Omit<
  MessageRow,
  "attempt" | "waiting" | "refusals" | "provider" | "sent_at" | "data" | "error" | "updated_at"
>;

/** Adds a message. */
export async function insertMessage(tx: Tx, message: NewMessageRow): Promise<MessageRow> {
  const [row] = await tx<MessageRow[]>`
    insert into messages ${tx(message)} returning ${tx(COLUMNS)}`;
  return row;
}

/** Adds messages. Gives them in their order. */
export async function insertMessages(
  tx: Tx,
  messages: readonly NewMessageRow[],
): Promise<MessageRow[]> {
  return await tx<MessageRow[]>`
    insert into messages ${tx(messages as NewMessageRow[])} returning ${tx(COLUMNS)}`;
}

/** Reads messages by their ids. */
export async function selectMessages(db: Db, ids: string[]): Promise<MessageRow[]> {
  return await db<MessageRow[]>`
    select ${db(COLUMNS)} from messages where id = any (${ids}::uuid[])`;
}

/** Reads a message and keeps others from changing it until the transaction ends. */
export async function lockMessage(tx: Tx, id: string): Promise<MessageRow | null> {
  const [row] = await tx<MessageRow[]>`
    select ${tx(COLUMNS)} from messages where id = ${id} for update`;
  return row ?? null;
}

/** Reads messages by their ids, oldest first, and keeps others from changing them until the transaction ends. */
export async function lockMessages(tx: Tx, ids: readonly string[]): Promise<MessageRow[]> {
  return await tx<MessageRow[]>`
    select m.* from unnest(${ids.toSorted()}::uuid[]) u(id),
      lateral (select ${tx(COLUMNS)} from messages where id = u.id offset 0 for update) m`;
}

/** Counts the notices of a kind to a user after an id. */
export async function countNotices(
  db: Db,
  { owner, kind, after }: { owner: string; kind: NoticeKind; after: string },
): Promise<number> {
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count from messages
    where owner = ${owner} and id > ${after} and notice = ${kind}`;
  return count;
}

/** Notices to an address that are counted. */
export interface CountedNotices {
  destination: string;
  kind: NoticeKind;
  /** Milliseconds. */
  since: number;
  /** Who is told, and its customer. */
  user: string;
  customer: string;
  most: number;
}

/** How many makers are followed from a user to its customer: of a longer line the branch is not known. */
const LINE_MAX = 100;

/**
 * Counts the notices of a kind to an address since a time: about one customer's users, or about the customer alone where it
 * is the one who is told; of these, about users of the same branch, which are one whom the customer made and those below; and
 * of all customers. The branch is null where it is not known.
 */
export async function countNoticesAt(
  db: Db,
  of: CountedNotices,
): Promise<{ own: number; branch: number | null; all: number }> {
  const [counts] = await db<{ own: number; branch: number | null; all: number }[]>`
    with recursive counted as materialized (
      select customer, owner from messages
      where lower(destination) = lower(${of.destination}) and created_at > ${of.since}
        and notice = ${of.kind} and customer is not null limit ${of.most}),
    line as (
      select u.id as told, u.id as at, u.owner, 0 as steps from users u
      where u.id = any (array(select ${of.user}::uuid
        union select owner from counted where customer = ${of.customer}))
      union all
      select l.told, m.id, m.owner, l.steps + 1 from line l cross join lateral (
        select id, owner from users where id = l.owner offset 0) m
      where l.at <> ${of.customer} and l.owner <> ${of.customer} and l.steps < ${LINE_MAX}),
    branches as materialized (
      select told, at from line where owner = ${of.customer} and at <> ${of.customer})
    select count(*) filter (where customer = ${of.customer}
        and (owner = ${of.customer} or ${of.user} <> ${of.customer}))::integer as own,
      (select (select count(*) from counted c join branches b on b.told = c.owner
          where c.customer = ${of.customer} and b.at = mine.at)::integer
        from branches mine where mine.told = ${of.user}) as branch,
      count(*)::integer as "all"
    from counted`;
  return counts;
}

/** Messages to one recipient since a time (milliseconds) that are counted. */
export interface CountedPace {
  since: number;
  count: number;
  /** The kind of which notices are counted; null counts what is no notice. */
  notice: NoticeKind | null;
}

/**
 * Gives the time (milliseconds) of the oldest of the last `count` messages to a destination since a
 * time; null if there were fewer.
 *
 * @param of.customer of notices those of this customer are counted; null is that of users of scope realm
 */
export async function selectPace(
  db: Db,
  of: CountedPace & { destination: string; customer: string | null },
): Promise<number | null> {
  const [row] = await db<{ created_at: number }[]>`
    select created_at from messages
    where lower(destination) = lower(${of.destination}) and created_at > ${of.since}
      and notice is not distinct from ${of.notice}::text
      and (notice is null or customer is not distinct from ${of.customer}::uuid)
    order by created_at desc offset ${of.count - 1} limit 1`;
  return row?.created_at ?? null;
}

/** A recipient of a notice, and the user whose notice it is. */
export interface NoticeRecipient {
  destination: string;
  owner: string | null;
}

/**
 * Reads which of some recipients, by their places from 0, have got at least so many notices of a kind since a time, of the
 * customer of their owner.
 */
export async function selectPaced(
  db: Db,
  recipients: readonly NoticeRecipient[],
  { since, count, notice }: CountedPace & { notice: NoticeKind },
): Promise<number[]> {
  const rows = await db<{ place: number }[]>`
    select (r.place - 1)::integer as place
    from unnest(${recipients.map(({ destination }) => destination)}::text[],
        ${
    recipients.map(({ owner }) => owner)
  }::uuid[]) with ordinality r(destination, owner, place)
      left join lateral (select root from users
        where id = r.owner and not 'realm' = any (scopes) offset 0) u on true
    where exists (select from messages m
      where lower(m.destination) = lower(r.destination) and m.created_at > ${since}
        and m.notice = ${notice} and m.customer is not distinct from u.root
      offset ${count - 1})`;
  return rows.map(({ place }) => place);
}

/** Fields of a message that change while it is sent. */
export type MessageChange = Partial<
  Pick<
    MessageRow,
    | "content"
    | "attempt"
    | "waiting"
    | "provider"
    | "group_id"
    | "group_name"
    | "status_id"
    | "status_name"
    | "status_description"
    | "sent_at"
    | "error"
  >
>;

/** Changes the state of a message. */
export async function updateMessage(
  tx: Tx,
  id: string,
  { error, ...change }: MessageChange,
  at: number,
): Promise<MessageRow> {
  const set = {
    ...change,
    ...(error === undefined ? {} : { error: error === null ? null : tx.json(error as never) }),
    updated_at: at,
  };
  const [row] = await tx<MessageRow[]>`
    update messages set ${tx(set as never)}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Stores how far messages are, with what is left of their contents: none, or all of it. */
export async function updateReported(
  tx: Tx,
  messages: readonly MessageRow[],
  at: number,
): Promise<void> {
  const rows = messages.map((row) => ({
    id: row.id,
    group_id: row.group_id,
    group_name: row.group_name,
    status_id: row.status_id,
    status_name: row.status_name,
    status_description: row.status_description,
    error: row.error,
    erased: row.content === null,
    waiting: row.waiting,
  }));
  // Planned each time: a plan that was made while the table was small would read all of it.
  await tx.unsafe(
    `update messages m set group_id = r.group_id, group_name = r.group_name,
      status_id = r.status_id, status_name = r.status_name,
      status_description = r.status_description, error = r.error, waiting = r.waiting,
      content = case when r.erased then null else m.content end,
      updated_at = to_timestamp($2::bigint / 1000.0)
    from json_to_recordset($1::text::json) r(id uuid, group_id smallint, group_name text,
      status_id integer, status_name text, status_description text, error jsonb, waiting boolean,
      erased boolean)
    where m.id = r.id`,
    [JSON.stringify(rows), at],
    { prepare: false },
  );
}

/** Replaces the free-form data of a message. */
export async function updateMessageData(
  tx: Tx,
  id: string,
  { data, at }: { data: Record<string, unknown>; at: number },
): Promise<MessageRow> {
  const [row] = await tx<MessageRow[]>`
    update messages set data = ${tx.json(data as never)}, updated_at = ${at}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Marks whether a message waits for a provider, which its readers are not told of. */
export async function markWaiting(tx: Tx, id: string, waiting: boolean): Promise<void> {
  await tx`update messages set waiting = ${waiting} where id = ${id}`;
}

/** Marks that messages wait for a provider no longer. */
export async function markTakenUp(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    update messages set waiting = false
    where ctid = any (array(
      select m.ctid from unnest(${ids as string[]}::uuid[]) u(id),
        lateral (select ctid from messages where id = u.id offset 0) m))`;
}

/** Marks that a message waits because its provider refuses our settings; the id counts as used, or not. */
export async function markRefused(
  tx: Tx,
  id: string,
  { at, isKnown }: { at: number; isKnown: boolean },
): Promise<void> {
  await tx`
    update messages set waiting = true, refused_at = ${at},
      refusals = refusals + ${isKnown ? 1 : 0}::smallint where id = ${id}`;
}

/** Which waiting messages are meant. */
export interface WaitingFilter {
  channels: readonly string[];
  /** Those that are older (milliseconds since the epoch); else all. */
  createdBefore?: number;
  /** Leaves out those whose provider refused our settings since. */
  refusedBefore: number;
  limit: number;
}

/** Locks waiting messages: those first whose provider was not asked, or whose refusal is the oldest. */
export async function lockWaiting(tx: Tx, filter: WaitingFilter): Promise<MessageRow[]> {
  const { channels, createdBefore, refusedBefore, limit } = filter;
  return await tx<MessageRow[]>`
    select ${tx(COLUMNS)} from messages
    where waiting and channel = any (${[...channels]}::text[])
      and (refused_at is null or refused_at < ${refusedBefore})
      and ${createdBefore === undefined ? tx`true` : tx`created_at < ${createdBefore}`}
    order by refused_at nulls first, id limit ${limit} for update`;
}

/** Erases the contents of messages that waited for a provider since before a time. */
export async function eraseOldWaiting(tx: Tx, before: number): Promise<void> {
  await tx`
    update messages set content = null
    where id = any (array(
      select id from (select id, content, created_at from messages where waiting order by id offset 0) m
      where content is not null and created_at < ${before}))`;
}

/** Erases destination, content, free-form data and the provider's words of the messages to a person. */
export async function eraseMessagesOf(tx: Tx, person: string, at: number): Promise<void> {
  await tx`
    update messages set destination = null, content = null, data = '{}', waiting = false,
      error = error || '{"detail": ""}', updated_at = ${at}
    where person = ${person} and (destination is not null or data <> '{}')`;
}

/** Reads a part of the messages to a person, the latest first. */
export async function selectMessagesOf(
  db: Db,
  person: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<MessageRow[]> {
  return await db<MessageRow[]>`
    select ${db(COLUMNS)} from messages
    where person = ${person} and ${before === null ? db`true` : db`id < ${before}`}
    order by id desc limit ${limit}`;
}
