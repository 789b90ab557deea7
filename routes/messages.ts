/** Routes of messages. @module */
import { z } from "zod";
import { rowFor } from "../domain/collections/collection.ts";
import { type Db, runQuery } from "../domain/command.ts";
import { DomainError, type ErrorCode } from "../domain/errors.ts";
import { IDENTITIES } from "../domain/identity/identity_collection.ts";
import {
  type Channel,
  CHANNELS,
  type Content,
  EmailContent,
  MESSAGE_BODY_MAX,
  SmsContent,
  WhatsAppContent,
} from "../domain/messages/contents.ts";
import { hasInteraction, noInteraction } from "../domain/messages/interactions.ts";
import {
  changeMessage,
  MessageChange,
  MESSAGES,
  MessagesStatusView,
  MessageView,
  queueMessage,
  viewSent,
} from "../domain/messages/messages.ts";
import {
  checkAddress,
  type PersonContact,
  personRecipient,
  readContact,
  type Recipient,
  userRecipient,
} from "../domain/messages/recipients.ts";
import { markProfile } from "../domain/people/erasure.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { isRepeat, readEarly, readPlatformEarly } from "./http/early_reads.ts";
import { command } from "./http/execution.ts";
import { platformOf } from "./http/profiles.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const CONTENTS = { sms: SmsContent, whatsapp: WhatsAppContent, email: EmailContent } as const;
const NAMES = { sms: "an SMS", whatsapp: "a WhatsApp message", email: "an e-mail" } as const;
/** Names of the operations and of their bodies. */
const WORDS = { sms: "Sms", whatsapp: "WhatsApp", email: "Email" } as const;

/** Finds the recipient of a request; its first part may ask the customer-data platform. */
type Finder = (call: AnyCall) => Promise<(db: Db) => Promise<Recipient>>;
type AnyCall = Call<{ id: string }, unknown, { to: string; content: unknown }>;

/** Routes that share the way in which the recipient is found. */
interface Sends {
  path: string;
  to: string;
  operation: string;
  /** Codes besides those of every send. */
  errors: readonly ErrorCode[];
  find(channel: Channel): Finder;
}

const SENDS: readonly Sends[] = [
  {
    path: "/v1/apps/message",
    to: "anyone",
    operation: "ToAnyone",
    errors: [],
    find: (channel) => ({ body }) =>
      Promise.resolve(async () => ({ destination: await checkAddress(channel, body.to) })),
  },
  {
    path: "/v1/users/{id}/message",
    to: "a user",
    operation: "ToUser",
    errors: ["user.not_found", "recipient.missing"],
    find: (channel) => ({ actor, params }) =>
      Promise.resolve((db) => userRecipient(db, actor, channel, params.id)),
  },
  {
    path: "/v1/identities/{id}/person/message",
    to: "a person",
    operation: "ToPerson",
    errors: [
      "identity.not_found",
      "recipient.missing",
      "extension.disabled",
      "upstream.failed",
      "upstream.timeout",
    ],
    find: (channel) => async (call) => {
      const contact = await contactOf(call);
      const { actor, params: { id } } = call;
      return (db) => personRecipient(db, actor, channel, { id, contact });
    },
  },
];

const To = z.string().min(1).max(300).meta({
  description: "An e-mail address, or a telephone number in international form (E.164).",
});

const DESCRIPTIONS: Readonly<Record<Channel, string>> = {
  sms: "The message is stored and sent by a job; its state is PENDING until then.",
  whatsapp: "The recipient must have written to the sending number before. The message is stored " +
    "and sent by a job; its state is PENDING until then.",
  email: "Given both `html` and `text`, the e-mail is sent as html. The message is stored and " +
    "sent by a job; its state is PENDING until then.",
};

/** The routes of messages. */
export const messageRoutes: readonly AnyRoute[] = [
  ...SENDS.flatMap((sends) => CHANNELS.map((channel) => sendRoute(sends, channel))),
  ...collectionRoutes({
    collection: MESSAGES,
    tag: "Messages",
    one: "a message",
    view: MessageView,
    mayLag: true,
  }),
  route({
    method: "PATCH",
    path: "/v1/messages/{id}",
    tag: "Messages",
    summary: "Change the free-form part of a message",
    access: "user",
    params: ById,
    body: MessageChange,
    status: 200,
    answer: MessageView,
    errors: ["message.not_found", "permission.owner", "permission.role"],
    handle: (call) =>
      command(call, async (tx) => {
        const change = { ...call.body, id: call.params.id };
        const { view, person } = await changeMessage(tx, call.actor, change);
        if (person !== null && call.idempotency !== null) {
          await markProfile(tx, call.idempotency.key, person); // the answer shows the person's address
        }
        return view;
      }),
  }),
];

function sendRoute(sends: Sends, channel: Channel): AnyRoute {
  const hasId = sends.path.includes("{id}");
  const fields = { content: CONTENTS[channel] };
  const body = hasId ? z.strictObject(fields) : z.strictObject({ to: To, ...fields });
  const name = `${WORDS[channel]}${sends.operation}`;
  const find = sends.find(channel);
  return route<{ id: string }, unknown, { to: string; content: unknown }>({
    method: "POST",
    path: `${sends.path}/${channel}`,
    tag: "Messages",
    operation: `send${name}`,
    summary: `Send ${NAMES[channel]} to ${sends.to}`,
    description: DESCRIPTIONS[channel],
    access: "user",
    cost: "message",
    ...(hasId ? { params: ById } : {}),
    body: body.meta({ id: `New${name}` }) as never,
    bodyMax: MESSAGE_BODY_MAX,
    status: 201,
    answer: MessagesStatusView,
    errors: [
      "recipient.invalid",
      "rate.limited",
      ...sends.errors,
      ...(channel === "whatsapp" ? ["recipient.no_interaction"] as const : []),
    ],
    handle: (call) => send(call, channel, find),
  });
}

/** Finds the recipient, checks its interaction where the channel needs one, and queues the message. */
async function send(call: AnyCall, channel: Channel, find: Finder): Promise<Reply> {
  const { services: { secrets }, actor, body, idempotency } = call;
  const message = { channel, content: body.content } as Content;
  // A repeat gets the stored answer: neither the platform of persons nor the interactions are asked.
  const repeats = await isRepeat(call);
  const recipient = repeats ? notAsked : await find(call);
  const known = channel === "whatsapp" && !repeats ? await knownRecipient(call, recipient) : null;
  return await command(call, async (tx) => {
    const to = await recipient(tx);
    if (channel === "whatsapp" && to.destination !== known) throw noInteraction();
    const row = await queueMessage(tx, actor, { message, to, secrets });
    if (to.person !== undefined && idempotency !== null) {
      await markProfile(tx, idempotency.key, to.person); // the answer shows the person's address
    }
    return viewSent(row);
  }, { secret: true });
}

/** The stored answer of a repeat was erased in between: the next request finds the recipient anew. */
function notAsked(): Promise<Recipient> {
  throw new DomainError("service.overloaded", "send the request again", { retryAfterS: 1 });
}

/** The ways to reach the person of a call's identity; null where it has none. */
async function contactOf(call: AnyCall): Promise<PersonContact | null> {
  const people = await platformOf(call);
  const { actor, params } = call;
  const { person } = await readEarly(
    call,
    (db) => rowFor(db, actor, IDENTITIES, params.id, "read"),
  );
  if (person === null) return null;
  const read = await people.persons.read(actor, [person]);
  const found = (await readEarly(call, read)).get(person);
  return readContact(person, found?.contactInformation);
}

/**
 * The recipient's number, if it has written to ours. Interactions are the platform's, which no
 * transaction of a realm reads; the command finds the recipient again, and refuses where there is none.
 */
async function knownRecipient(
  call: AnyCall,
  recipient: (db: Db) => Promise<Recipient>,
): Promise<string | null> {
  const { platform, config } = call.services;
  const to = await readEarly(call, (db) =>
    recipient(db).catch((error) => {
      if (error instanceof DomainError) return null;
      throw error;
    }));
  if (to === null) return null;
  const sender = config.infobip?.whatsappFrom ?? null;
  const ask = () => runQuery(platform, (db) => hasInteraction(db, sender, to.destination));
  const has = await readPlatformEarly(call, ask);
  return has ? to.destination : null;
}
