/**
 * Messages: e-mails, texts and WhatsApp messages. A message is stored with its cause and a job that
 * sends it; its content is encrypted at rest, and erased when the message was handed over.
 * @module
 */
import { z } from "zod";
import { brokenConstraint } from "../../db/errors.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  insertMessage,
  insertMessages,
  type MessageRow,
  type NewMessageRow,
  type NoticeKind,
  selectMessages,
  selectMessagesOf,
  selectPaced,
  updateMessageData,
} from "../../db/messages/messages.ts";
import type { Actor } from "../actor.ts";
import { type Collection, ENTITY_COLUMNS, rowFor, textColumn } from "../collections/collection.ts";
import { EntityFields, FreeForm } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { emitAll } from "../events.ts";
import { newId } from "../ids.ts";
import { enqueue, enqueueAll } from "../jobs.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import type { Content } from "./contents.ts";
import { assertPace, PACE_MAX, PACE_MS, tooMany } from "./pace.ts";
import type { Recipient } from "./recipients.ts";
import { ACCEPTED, MessageStatus } from "./statuses.ts";

/** A message as shown; never its content. */
export const MessageView = z.object({
  id: z.string(),
  channel: z.enum(["sms", "whatsapp", "email"]),
  destination: z.string().meta({
    description:
      "An e-mail address or a number (E.164); empty after the recipient's data was erased.",
  }),
  status: MessageStatus,
  user: z.string().optional(),
  identity: z.string().optional(),
  provider: z.enum(["infobip", "smtp"]).nullable(),
  sent_at: z.number().int().optional().meta({ description: "When the provider took it." }),
  ...EntityFields,
}).omit({ deleted: true, deleted_at: true }).meta({ id: "Message" });

/** The answer to every send: the specification's message processing status. */
export const MessagesStatusView = z.object({
  messages: z.array(z.object({
    messageId: z.string(),
    status: MessageStatus,
    destination: z.string(),
  })),
}).meta({ id: "MessageProcessingStatus" });

/** The collection of messages: records, whose data alone a request changes. */
export const MESSAGES: Collection<MessageRow> = {
  name: "messages",
  table: "messages",
  deletable: false,
  counted: false,
  notFound: "message.not_found",
  fields: ["status", "error"],
  columns: {
    ...ENTITY_COLUMNS,
    channel: textColumn("channel"),
    destination: textColumn("destination", true),
    user: { column: "user_id", type: "id", nullable: true },
    identity: { column: "identity", type: "id", nullable: true },
    provider: textColumn("provider", true),
    "status.groupId": { column: "group_id", type: "integer" },
    "status.groupName": textColumn("group_name"),
    "status.id": { column: "status_id", type: "integer" },
    "status.name": textColumn("status_name"),
    "status.description": textColumn("status_description"),
    data: { column: "data", type: "json" },
    sent_at: { column: "sent_at", type: "time", nullable: true },
    updated_at: { column: "updated_at", type: "time", nullable: true },
  },
  read: selectMessages,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewMessage)),
};

/** A message to be queued. */
export interface OutgoingMessage {
  message: Content;
  /** Whom it goes to: of `checkAddress`, `userRecipient` or `personRecipient`. */
  to: Recipient;
  /** Encrypts the content at rest: `call.services.secrets` in routes, `context.secrets` in jobs. */
  secrets: Secrets;
  /** The user whose message it is, for work that no user started; else the actor. */
  owner?: string;
  /** What the service writes of by itself. Each kind is counted apart, so that no flood keeps another away. */
  notice?: NoticeKind | null;
}

/**
 * Queues a message in the caller's transaction: it is sent after the commit, or not at all. Any
 * capability may call this, for example to mail a report to the user who asked for it:
 *
 * ```ts
 * const to = await userRecipient(tx, context.actor, "email", user);
 * const message = { channel: "email", content: { subject: "Done", text: "…" } } as const;
 * const { secrets } = context;
 * await queueMessage(tx, context.actor, { message, to, secrets, owner: user, notice: "sync" });
 * ```
 *
 * An address that is not a user's or a person's is `{ destination: await checkAddress("email", text) }`.
 * A WhatsApp message also takes the recipient's interaction (`hasInteraction`), which the caller checks.
 *
 * @returns the stored message, of the state PENDING
 * @throws {DomainError} rate.limited after 20 messages to the recipient within a minute, or too many of a customer
 */
export async function queueMessage(
  tx: Tx,
  actor: Actor,
  message: OutgoingMessage,
): Promise<MessageRow> {
  const { to: { destination }, owner = actor.user, notice = null } = message;
  await assertPace(tx, actor, { destination, owner, notice });
  const row = rowOf(actor, message);
  try {
    const made = await tx.savepoint((sp) => insertMessage(sp, row));
    await enqueue(tx, actor, "message.send", { message: made.id, attempt: made.attempt });
    return made;
  } catch (error) {
    if (brokenConstraint(error) !== "messages_pace") throw error;
    throw tooMany(PACE_MS);
  }
}

/**
 * Queues notices of the service itself, of one kind. Recipients that have had too many of these, of the customer
 * whose they are, are left out: others may have given their users the same address.
 *
 * @returns the stored messages
 */
export async function queueNotices(
  tx: Tx,
  actor: Actor,
  messages: readonly Omit<OutgoingMessage, "notice">[],
  notice: NoticeKind,
): Promise<MessageRow[]> {
  const recipients = messages.map(({ to: { destination }, owner }) => ({
    destination,
    owner: ownerOf(actor, owner),
  }));
  const counted = { since: actor.at - PACE_MS, count: PACE_MAX, notice };
  const paced = new Set(await selectPaced(tx, recipients, counted));
  const due = messages.filter((_, i) => !paced.has(i)).map((one) => ({ ...one, notice }));
  if (due.length === 0) return [];
  try {
    const rows = due.map((one) => rowOf(actor, one));
    const made = await tx.savepoint((sp) => insertMessages(sp, rows));
    const jobs = made.map(({ id, attempt }) => ({ payload: { message: id, attempt } }));
    await enqueueAll(tx, actor, "message.send", jobs);
    return made;
  } catch (error) {
    if (brokenConstraint(error) !== "messages_pace") throw error;
    return await queueApart(tx, actor, due); // several of them go to one address
  }
}

async function queueApart(
  tx: Tx,
  actor: Actor,
  messages: readonly OutgoingMessage[],
): Promise<MessageRow[]> {
  const made: MessageRow[] = [];
  for (const message of messages) {
    try {
      made.push(await queueMessage(tx, actor, message));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
  return made;
}

function rowOf(
  actor: Actor,
  { message: { channel, content }, to, secrets, owner, notice = null }: OutgoingMessage,
): NewMessageRow {
  const id = newId(actor.at);
  return {
    ...{ id, channel, destination: to.destination },
    user_id: to.user ?? null,
    identity: to.identity ?? null,
    person: to.person ?? null,
    content: secrets.encrypt("message", `${actor.realm.id}|${id}`, JSON.stringify(content)),
    ...columnsOf(ACCEPTED),
    owner: ownerOf(actor, owner),
    notice,
    created_at: actor.at,
  };
}

/** The user whose message it is; null for work that no user started. */
function ownerOf(actor: Actor, owner: string | undefined): string | null {
  return owner ?? (actor.kind === "user" ? actor.user : null);
}

/** The columns of a state. */
export function columnsOf(
  state: MessageStatus,
): Pick<
  MessageRow,
  "group_id" | "group_name" | "status_id" | "status_name" | "status_description"
> {
  return {
    group_id: state.groupId,
    group_name: state.groupName,
    status_id: state.id,
    status_name: state.name,
    status_description: state.description,
  };
}

/** The state of a message. */
export function statusOf(row: MessageRow): MessageStatus {
  return {
    groupId: row.group_id,
    groupName: row.group_name,
    id: row.status_id,
    name: row.status_name,
    description: row.status_description,
  };
}

/** Shows a message. */
function viewMessage(row: MessageRow): Record<string, unknown> {
  return {
    id: row.id,
    channel: row.channel,
    destination: row.destination ?? "",
    status: statusOf(row),
    ...(row.user_id === null ? {} : { user: row.user_id }),
    ...(row.identity === null ? {} : { identity: row.identity }),
    provider: row.provider,
    ...(row.sent_at === null ? {} : { sent_at: row.sent_at }),
    owner: row.owner,
    created_at: row.created_at,
    data: row.data,
    error: row.error,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
  };
}

/** Shows the answer to a send. */
export function viewSent(row: MessageRow): z.infer<typeof MessagesStatusView> {
  const shown = { messageId: row.id, status: statusOf(row), destination: row.destination ?? "" };
  return { messages: [shown] };
}

/** Emits the event of a message's new state. */
export async function tellMessage(tx: Tx, actor: Actor, row: MessageRow): Promise<void> {
  await tellMessages(tx, actor, [row]);
}

/** Tells the readers of messages how far each is, in their order. */
export async function tellMessages(
  tx: Tx,
  actor: Actor,
  rows: readonly MessageRow[],
): Promise<void> {
  const told = rows.map((row) => ({ id: row.id, owner: row.owner, view: viewMessage(row) }));
  await emitAll(tx, actor, "message.updated", told);
}

/** A change of a message. */
export const MessageChange = z.strictObject({ data: FreeForm }).meta({ id: "MessageChange" });

/**
 * Changes the data of a message. `person` is the one that it was sent to, whose address it shows.
 *
 * @throws {DomainError} message.not_found, permission.role, permission.owner
 */
export async function changeMessage(
  tx: Tx,
  actor: Actor,
  { id, data }: z.infer<typeof MessageChange> & { id: string },
): Promise<{ view: Record<string, unknown>; person: string | null }> {
  const { id: found, person } = await rowFor(tx, actor, MESSAGES, id, "write");
  return { view: viewMessage(await updateMessageData(tx, found, { data, at: actor.at })), person };
}

/** Messages to a person that one part of an export shows. */
const EXPORTED_MAX = 100;

/** Shows a part of the messages to a person, the latest first, and where the next part begins. */
export async function messagesOf(
  db: Db,
  person: string,
  before: string | null,
): Promise<{ messages: Record<string, unknown>[]; next: string | null }> {
  const rows = await selectMessagesOf(db, person, { before, limit: EXPORTED_MAX });
  const next = rows.length < EXPORTED_MAX ? null : rows.at(-1)!.id;
  return { messages: rows.map(viewMessage), next };
}
