/** Recipients: the address that a message goes to, given, or found at a user or a person. @module */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { rowFor } from "../collections/collection.ts";
import { DomainError } from "../errors.ts";
import { IDENTITIES } from "../identity/identity_collection.ts";
import { findUser } from "../identity/users.ts";
import type { Channel } from "./contents.ts";
import { formsOf } from "./number_forms.ts";

/** Whom a message goes to. */
export interface Recipient {
  /** An e-mail address, or a number (E.164). */
  destination: string;
  /** The user or the identity whose person it is. */
  user?: string;
  identity?: string;
  /** The person, as the customer-data platform names it. */
  person?: string;
}

/** An e-mail address that every gateway takes: no name, no comment, no quotes. */
const EmailAddress = z.email().max(254).regex(/^[^@]{1,64}@[^@]+$/);

/**
 * Checks an address of a channel, and writes it in its one form.
 *
 * @throws {DomainError} recipient.invalid
 */
export async function checkAddress(channel: Channel, given: string): Promise<string> {
  const text = given.trim();
  if (channel === "email") {
    const read = EmailAddress.safeParse(text);
    if (!read.success) throw invalid("an e-mail address is expected, without a name");
    const at = text.lastIndexOf("@");
    return `${text.slice(0, at)}${text.slice(at).toLowerCase()}`;
  }
  // Loaded where it is needed: its table of the world's numbers costs more than most starts.
  const { parsePhoneNumberFromString } = await import("libphonenumber-js/min");
  const isNumber = text.length <= 30 && /^\+[0-9 ().-]+$/.test(text);
  // A form that only WhatsApp writes is not possible, its other one is.
  const forms = isNumber ? [text, ...formsOf(text.replace(/[ ().-]/g, ""))] : [];
  const number = forms.map((form) => parsePhoneNumberFromString(form))
    .find((form) => form?.isPossible());
  if (number === undefined) {
    throw invalid("a telephone number in international form (E.164) is expected: +385911234567");
  }
  return number.number;
}

/**
 * Finds the address of a user that the actor may see.
 *
 * @throws {DomainError} user.not_found, recipient.missing, recipient.invalid
 */
export async function userRecipient(
  db: Db,
  actor: Actor,
  channel: Channel,
  id: string,
): Promise<Recipient> {
  const { channel: channels } = await findUser(db, actor, id);
  const given = channel === "sms" ? channels.sms ?? channels.phone : channels[channel];
  if (typeof given !== "string" || given.trim() === "") {
    throw missing(`the user has no address for ${channel}`);
  }
  return { destination: await checkAddress(channel, given), user: id };
}

/** The ways to reach the person of an identity, as the customer-data platform gives them. */
export interface PersonContact {
  /** Id of the person. */
  person: string;
  phone: string | null;
  email: string | null;
}

/**
 * The first number and the first e-mail address of a person. Numbers of profiles are international,
 * with a plus or without.
 */
export function readContact(person: string, contactInformation: unknown): PersonContact {
  const { data } = Contact.safeParse(contactInformation);
  const { phone, email } = data ?? {};
  const number = phone?.[0]?.number ?? null;
  const isBare = number !== null && /^[1-9][0-9]{6,14}$/.test(number);
  return { person, phone: isBare ? `+${number}` : number, email: email?.[0]?.address ?? null };
}

const Contact = z.object({
  phone: z.array(z.object({ number: z.string() })).optional(),
  email: z.array(z.object({ address: z.string() })).optional(),
});

/**
 * Finds the address of the person of an identity that the actor may see.
 *
 * @param contact of the person that the identity had when the platform was asked; null: it had none
 * @throws {DomainError} identity.not_found, recipient.missing, recipient.invalid
 */
export async function personRecipient(
  db: Db,
  actor: Actor,
  channel: Channel,
  { id, contact }: { id: string; contact: PersonContact | null },
): Promise<Recipient> {
  const { id: identity, person } = await rowFor(db, actor, IDENTITIES, id, "read");
  const known = contact !== null && contact.person === person ? contact : null;
  const given = channel === "email" ? known?.email : known?.phone;
  if (given === undefined || given === null || given.trim() === "") {
    throw missing(`the identity has no person with an address for ${channel}`);
  }
  return { destination: await checkAddress(channel, given), identity, person: person! };
}

function invalid(message: string): DomainError {
  return new DomainError("recipient.invalid", message);
}

function missing(message: string): DomainError {
  return new DomainError("recipient.missing", message);
}
