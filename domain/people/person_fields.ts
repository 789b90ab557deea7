/**
 * Fields of persons, as callers give them and as they are shown. Names and limits are those of
 * Infobip's people API, which the specification follows.
 * @module
 */
import { z } from "zod";
import { FreeForm, jsonLength, text } from "../entity.ts";
import { DomainError } from "../errors.ts";

/** Ways to reach a person, and tags, that one person has at most. */
const MANY = 100;
const ATTRIBUTE_MAX = 4096;
/** Greatest size of all ways to reach a person, and of all custom attributes, in bytes as JSON. */
const CONTACTS_MAX = 131_072;
const ATTRIBUTES_MAX = 65_536;

/** A telephone number in international form, with or without `+`. */
const Phone = z.string().regex(
  /^\+?[1-9]\d{4,14}$/,
  "a telephone number in international form (E.164) is expected",
);
const Email = z.email().max(254).regex(/^[^@]{1,64}@[^@]+$/, "an e-mail address is expected");
const SystemData = FreeForm.optional();
const Account = z.strictObject({
  applicationId: text(255),
  userId: text(255),
  systemData: SystemData,
});
const Push = z.strictObject({
  applicationId: text(255),
  registrationId: text(255),
  additionalData: FreeForm.optional(),
  systemData: SystemData,
});

/** Custom attributes: any JSON, each text at most 4096 characters. */
export const CustomAttributes: z.ZodType<Record<string, unknown>> = FreeForm.refine(
  (value) => Object.keys(value).every((name) => /^[^\p{Cc}]{1,255}$/u.test(name)),
  "names of attributes have 1 to 255 characters",
).refine(
  (value) => Object.values(value).every(isShort),
  `a value has at most ${ATTRIBUTE_MAX} characters`,
);

function isShort(value: unknown): boolean {
  if (typeof value === "string") return value.length <= ATTRIBUTE_MAX;
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isShort);
}

/** The ways to reach a person. */
export const ContactInformation = z.strictObject({
  phone: z.array(z.strictObject({ number: Phone })).max(MANY).optional(),
  email: z.array(z.strictObject({ address: Email })).max(MANY).optional(),
  push: z.array(Push).max(MANY).optional(),
  facebook: z.array(Account).max(MANY).optional(),
  line: z.array(Account).max(MANY).optional(),
  instagram: z.array(Account).max(MANY).optional(),
  twitter: z.array(Account).max(MANY).optional(),
}).refine(
  (value) => jsonLength(value, CONTACTS_MAX) <= CONTACTS_MAX,
  "at most 128 KiB as JSON",
).meta({ id: "ContactInformation" });
/** The ways to reach a person. */
export type ContactInformation = z.infer<typeof ContactInformation>;

// deno-lint-ignore no-control-regex -- the pattern matches control characters
const Tag = z.string().regex(/^[^\x00-\x1f\x7f-\x9f]{1,255}$/, "a tag has 1 to 255 characters");
const BirthDate = z.iso.date().refine(
  (day) => day >= "1800-01-01" && day <= "2999-12-31",
  "a day of birth is expected",
);
const Picture = z.url({ protocol: /^https?$/ }).max(2083);

/** Fields of a person. */
export const PersonFields = z.strictObject({
  firstName: text(255).optional(),
  lastName: text(255).optional(),
  middleName: text(50).optional(),
  address: text(256).optional(),
  city: text(50).optional(),
  country: text(50).optional(),
  gender: z.enum(["MALE", "FEMALE"]).optional(),
  birthDate: BirthDate.optional(),
  profilePicture: Picture.optional(),
  tags: z.array(Tag).max(MANY).optional(),
  customAttributes: CustomAttributes.optional(),
  contactInformation: ContactInformation.optional(),
}).meta({ id: "PersonFields" });
/** Fields of a person. */
export type PersonFields = z.infer<typeof PersonFields>;

/** A change of a person: null removes a field; tags and ways to reach it are added. */
export const PersonChange = z.strictObject({
  firstName: text(255).nullable().optional(),
  lastName: text(255).nullable().optional(),
  middleName: text(50).nullable().optional(),
  address: text(256).nullable().optional(),
  city: text(50).nullable().optional(),
  country: text(50).nullable().optional(),
  gender: z.enum(["MALE", "FEMALE"]).nullable().optional(),
  birthDate: BirthDate.nullable().optional(),
  profilePicture: Picture.nullable().optional(),
  tags: z.array(Tag).max(MANY).optional().meta({ description: "Added to those that are there." }),
  customAttributes: CustomAttributes.optional().meta({
    description: "Each replaces the one of its name; null removes it.",
  }),
  contactInformation: ContactInformation.optional().meta({
    description: "Added to what is there.",
  }),
}).meta({ id: "PersonChange" });
/** A change of a person. */
export type PersonChange = z.infer<typeof PersonChange>;

/** A person, as the platform has it. */
export const PersonView = z.looseObject({
  id: z.string(),
  externalId: z.string().nullable().optional().meta({
    description: "The identity whose profile it is.",
  }),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  middleName: z.string().optional(),
  address: z.string().optional(),
  city: z.string().optional(),
  country: z.string().optional(),
  gender: z.string().optional(),
  birthDate: z.string().optional(),
  profilePicture: z.string().optional(),
  tags: z.array(z.string()).optional(),
  customAttributes: z.record(z.string(), z.unknown()).optional(),
  contactInformation: z.record(z.string(), z.unknown()).optional(),
  createdAt: z.string().optional(),
  modifiedAt: z.string().optional(),
  origin: z.string().optional(),
  modifiedFrom: z.string().optional(),
}).meta({ id: "Person" });
/** A person, as the platform has it. */
export type Person = z.infer<typeof PersonView>;

/** Merges a change into a person's fields: tags and ways to reach it are added, each once. */
export function mergePerson(before: PersonFields, change: PersonChange): PersonFields {
  const { tags, customAttributes, contactInformation, ...rest } = change;
  const merged: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(rest)) {
    if (value === null) delete merged[name];
    else if (value !== undefined) merged[name] = value;
  }
  merged.tags = [...new Set([...before.tags ?? [], ...tags ?? []])];
  merged.customAttributes = mergeAttributes(before.customAttributes ?? {}, customAttributes ?? {});
  merged.contactInformation = mergeContacts(
    before.contactInformation ?? {},
    contactInformation ?? {},
  );
  return merged as PersonFields;
}

/**
 * Refuses what many changes have made larger than one request may.
 *
 * @throws {DomainError} request.invalid
 */
export function assertRoom(
  { tags, contactInformation, customAttributes }: Partial<PersonFields>,
): void {
  const lists: unknown[][] = [tags ?? [], ...Object.values(contactInformation ?? {})];
  if (lists.some((list) => list.length > MANY)) {
    throw new DomainError("request.invalid", `at most ${MANY} tags and ${MANY} ways of a kind`);
  }
  if (jsonLength(contactInformation ?? {}, CONTACTS_MAX) > CONTACTS_MAX) {
    throw new DomainError("request.invalid", "contactInformation: at most 128 KiB altogether");
  }
  if (jsonLength(customAttributes ?? {}, ATTRIBUTES_MAX) > ATTRIBUTES_MAX) {
    throw new DomainError("request.invalid", "customAttributes: at most 64 KiB altogether");
  }
}

/** Merges custom attributes: null removes one. */
export function mergeAttributes(
  before: Record<string, unknown>,
  change: Record<string, unknown>,
): Record<string, unknown> {
  const merged = { ...before, ...change };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

/** Adds ways to reach a person to those that are there, each once. */
function mergeContacts(before: ContactInformation, more: ContactInformation): ContactInformation {
  const merged: Record<string, unknown[]> = {};
  for (const channel of Object.keys({ ...before, ...more }) as (keyof ContactInformation)[]) {
    const all: unknown[] = [...before[channel] ?? [], ...more[channel] ?? []];
    merged[channel] = [...new Map(all.map((one) => [keyOf(channel, one), one])).values()];
  }
  return merged as ContactInformation;
}

/** What makes two ways of a channel the same. */
function keyOf(channel: keyof ContactInformation, one: unknown): string {
  const { number = "", address = "", applicationId, userId, registrationId } = one as Record<
    string,
    string
  >;
  if (channel === "phone" || channel === "email") return normalContact(channel, number || address);
  return JSON.stringify([applicationId, userId ?? registrationId]);
}

/** A number or an e-mail address in the one form in which it is compared. */
export function normalContact(channel: "phone" | "email", value: string): string {
  return channel === "phone" ? value.replace(/^\+/, "") : value.toLowerCase();
}

/** The numbers and e-mail addresses of a person, each once, in the form in which they are compared. */
export function contactsOf(
  information: ContactInformation,
): { channel: "phone" | "email"; value: string }[] {
  const found = [
    ...(information.phone ?? []).map(({ number }) => ({
      channel: "phone" as const,
      value: number,
    })),
    ...(information.email ?? []).map(({ address }) => ({
      channel: "email" as const,
      value: address,
    })),
  ].map(({ channel, value }) => ({ channel, value: normalContact(channel, value) }));
  return [...new Map(found.map((one) => [`${one.channel} ${one.value}`, one])).values()];
}
