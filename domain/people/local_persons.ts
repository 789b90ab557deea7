/** Persons in the realm's own tables. @module */
import type { Db, Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import {
  deletePerson,
  insertPerson,
  insertPersonEvent,
  lockPerson,
  type PersonEventRow,
  type PersonFilter,
  type PersonRow,
  selectPersonEvents,
  selectPersonPage,
  selectPersons,
  updateExternalId,
  updateExternalIds,
  updatePerson,
} from "../../db/people/persons.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { answerable, openAnswer } from "../answers.ts";
import { DomainError } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { notFound, rightsOf } from "../permissions.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import { type Condition, conditionsOf } from "./list_query.ts";
import {
  assertRoom,
  contactsOf,
  mergePerson,
  normalContact,
  type Person,
  type PersonFields,
} from "./person_fields.ts";
import { findProfileCipher, openProfileCipher, type ProfileCipher } from "./profile_cipher.ts";
import type { PersonEvent, PersonsProvider } from "./provider.ts";

/** Where profiles come from that the API writes. */
const ORIGIN = "API";
/** Events of a person that a part of an export shows, and the bytes of their properties. */
const EVENTS_MAX = 1000;
const EVENTS_SIZE_MAX = 4 * 1024 * 1024;
/** Persons that are read and decrypted at a time. */
const READ_AT_ONCE = 50;

/** Fields that a list can be filtered by, with their columns. */
const COLUMNS: Readonly<Record<string, keyof PersonRow>> = {
  id: "id",
  externalId: "external_id",
  firstName: "first_name",
  lastName: "last_name",
  middleName: "middle_name",
  city: "city",
  country: "country",
  gender: "gender",
  profilePicture: "profile_picture",
  origin: "origin",
  modifiedFrom: "modified_from",
};

/** The part of a person that is stored encrypted. */
type Contact = Pick<PersonFields, "address" | "birthDate" | "contactInformation">;

/** Opens the persons of the realms' own tables. */
export function openLocalPersons(secrets: Secrets): PersonsProvider {
  return { ...readsOf(secrets), ...changesOf(secrets) };
}

type Reads = "list" | "read" | "events" | "ownerOf" | "batch";

function readsOf(secrets: Secrets): Pick<PersonsProvider, Reads> {
  const cipherOf = (db: Db, actor: Actor) => findProfileCipher(db, secrets, actor.realm.id);
  return {
    list: (actor, { filters, filter, limit, page }) => {
      const asked = [...Object.entries(filters), ...conditionsOf(filter)];
      assertKnown(asked);
      const owner = rightsOf(actor).read === "all" ? null : actor.user;
      const part = { owner, limit, offset: (page - 1) * limit, after: null };
      return Promise.resolve(async (db) => {
        const cipher = await cipherOf(db, actor);
        if (cipher === null) return []; // no profile was ever made
        const filters = asked.map((one) => filterOf(one, cipher));
        const found = await selectPersonPage(db, { ...part, filters });
        return await showAll(db, cipher, found.map(({ id }) => id));
      });
    },
    read: (actor, ids) =>
      Promise.resolve(async (db) => {
        const cipher = await cipherOf(db, actor);
        const persons = cipher === null ? [] : await showAll(db, cipher, ids.filter(isId));
        return new Map(persons.map((person) => [person.id, person]));
      }),
    events: (actor, id, before) =>
      Promise.resolve(async (db) => {
        const cipher = await cipherOf(db, actor);
        const part = { before, limit: EVENTS_MAX, sizeMax: EVENTS_SIZE_MAX };
        const rows = cipher === null ? [] : await selectPersonEvents(db, id, part);
        const events = rows.map((row) =>
          viewEvent(row, cipher!.decrypt(row.id, row.properties) as Record<string, unknown>)
        );
        const last = rows.at(-1)?.id ?? null;
        const more = { before: last, limit: 1, sizeMax: EVENTS_SIZE_MAX };
        const isLast = last === null || (await selectPersonEvents(db, id, more)).length === 0;
        return { events, next: isLast ? null : last };
      }),
    ownerOf: (id) => async (db) =>
      isId(id) ? (await selectPersons(db, [id]))[0]?.owner ?? null : null,
    batch: (actor, { filter, limit, cursor }) => {
      const asked = conditionsOf(filter);
      assertKnown(asked);
      return Promise.resolve(async (db) => {
        const cipher = await cipherOf(db, actor);
        if (cipher === null) return { persons: [], next: null };
        const filters = asked.map((one) => filterOf(one, cipher));
        const part = { owner: null, limit, offset: 0, after: cursor };
        const found = await selectPersonPage(db, { ...part, filters });
        const persons = found.map(({ id, external_id }) => ({ id, externalId: external_id }));
        return { persons, next: persons.length < limit ? null : persons.at(-1)!.id };
      });
    },
  };
}

/** Reads persons in the order of their ids, few at a time: an answer too large is not read to its end. */
async function showAll(
  db: Db,
  cipher: ProfileCipher,
  ids: readonly string[],
): Promise<Person[]> {
  const persons: Person[] = [];
  const hasRoom = openAnswer();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const part = ids.slice(from, from + READ_AT_ONCE);
    const rows = new Map((await selectPersons(db, part)).map((row) => [row.id, row]));
    const shown = part.flatMap((id) => rows.has(id) ? [viewPerson(rows.get(id)!, cipher)] : []);
    persons.push(...ids.length > READ_AT_ONCE ? answerable(shown, hasRoom) : shown);
  }
  return persons;
}

function changesOf(secrets: Secrets): Omit<PersonsProvider, Reads> {
  const cipherFor = (tx: Tx, actor: Actor) =>
    openProfileCipher(tx, secrets, { realm: actor.realm.id, at: actor.at });
  return {
    create: (actor, { identity, fields }) =>
      Promise.resolve(async (tx) => {
        const cipher = await cipherFor(tx, actor);
        const row = {
          ...rowOf(newId(actor.at), fields, cipher),
          external_id: identity,
          ...{ origin: ORIGIN, modified_from: ORIGIN, owner: actor.user },
          created_at: actor.at,
        };
        const digests = digestsOf(fields, cipher);
        return viewPerson(await unlessTaken(tx, (sp) => insertPerson(sp, row, digests)), cipher);
      }),
    change: (actor, id, change) =>
      Promise.resolve(async (tx) => {
        const before = await lockedPerson(tx, id);
        const cipher = await cipherFor(tx, actor);
        const fields = mergePerson(fieldsOf(before, cipher), change);
        assertRoom(fields);
        const row = {
          ...rowOf(id, fields, cipher),
          modified_from: ORIGIN,
          updated_at: actor.at,
        };
        const digests = digestsOf(fields, cipher);
        return viewPerson(await unlessTaken(tx, (sp) => updatePerson(sp, row, digests)), cipher);
      }),
    link: (actor, id, identity) =>
      Promise.resolve(async (tx) => {
        await lockedPerson(tx, id);
        await updateExternalId(tx, id, identity, actor.at);
      }),
    linkMany: (actor, links) => Promise.resolve((tx) => updateExternalIds(tx, links, actor.at)),
    remove: (_actor, id) =>
      Promise.resolve(async (tx) => {
        if (isId(id)) await deletePerson(tx, id);
      }),
    recordEvent: (actor, { person, definition, properties }) =>
      Promise.resolve(async (tx) => {
        await lockedPerson(tx, person);
        const cipher = await cipherFor(tx, actor);
        const id = newId(actor.at);
        const row = { id, person, definition, owner: actor.user, created_at: actor.at };
        await insertPersonEvent(tx, { ...row, properties: cipher.encrypt(id, properties) });
        return viewEvent(row, properties);
      }),
  };
}

async function lockedPerson(tx: Tx, id: string): Promise<PersonRow> {
  const row = isId(id) ? await lockPerson(tx, id) : null;
  if (row === null) throw notFound("person.not_found");
  return row;
}

async function unlessTaken<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await tx.savepoint((sp) => work(sp)) as T;
  } catch (error) {
    if (brokenConstraint(error) !== "person_contacts_pkey") throw error;
    const message = "another person has this telephone number or e-mail address";
    throw new DomainError("person.taken", message);
  }
}

function rowOf(id: string, fields: PersonFields, cipher: ProfileCipher) {
  const { address, birthDate, contactInformation } = fields;
  const contact: Contact = { address, birthDate, contactInformation };
  return {
    id,
    first_name: fields.firstName ?? null,
    last_name: fields.lastName ?? null,
    middle_name: fields.middleName ?? null,
    city: fields.city ?? null,
    country: fields.country ?? null,
    gender: fields.gender ?? null,
    profile_picture: fields.profilePicture ?? null,
    tags: [...new Set(fields.tags ?? [])],
    custom_attributes: fields.customAttributes ?? {},
    contact: cipher.encrypt(id, contact),
  };
}

function digestsOf({ contactInformation }: PersonFields, cipher: ProfileCipher) {
  return contactsOf(contactInformation ?? {}).map(({ channel, value }) => ({
    channel,
    digest: cipher.digest(channel, value),
  }));
}

function fieldsOf(row: PersonRow, cipher: ProfileCipher): PersonFields {
  const fields = {
    firstName: row.first_name,
    lastName: row.last_name,
    middleName: row.middle_name,
    city: row.city,
    country: row.country,
    gender: row.gender,
    profilePicture: row.profile_picture,
    tags: row.tags,
    customAttributes: row.custom_attributes,
    ...cipher.decrypt(row.id, row.contact) as Contact,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(given) as PersonFields;
}

function viewPerson(row: PersonRow, cipher: ProfileCipher): Person {
  return {
    id: row.id,
    externalId: row.external_id,
    ...fieldsOf(row, cipher),
    createdAt: new Date(row.created_at).toISOString(),
    modifiedAt: new Date(row.updated_at ?? row.created_at).toISOString(),
    origin: row.origin,
    modifiedFrom: row.modified_from,
  };
}

function viewEvent(
  { person, definition, created_at }: Omit<PersonEventRow, "properties">,
  properties: Record<string, unknown>,
): PersonEvent {
  return {
    definitionId: definition,
    personId: person,
    personIdentifierType: "ID",
    occurredTime: new Date(created_at).toISOString(),
    properties,
  };
}

function assertKnown(asked: readonly Condition[]): void {
  for (const [name] of asked) {
    const known = Object.hasOwn(COLUMNS, name) ||
      ["tags", "tag", "phone", "email"].includes(name) ||
      name.startsWith("customAttributes.") || channelOf(name) !== null;
    if (!known) {
      throw invalidQuery(`/${name.slice(0, 60)}`, "persons are not filtered by this field");
    }
  }
}

/** The channel of a filter such as `email` or `contactInformation.email.address`. */
function channelOf(name: string): "phone" | "email" | null {
  return /^(contactInformation\.)?phone(\.number)?$/.test(name)
    ? "phone"
    : /^(contactInformation\.)?email(\.address)?$/.test(name)
    ? "email"
    : null;
}

function filterOf([name, value]: Condition, cipher: ProfileCipher): PersonFilter {
  if (Object.hasOwn(COLUMNS, name)) return { kind: "column", column: COLUMNS[name], value };
  const channel = channelOf(name);
  if (channel !== null) {
    const digest = cipher.digest(channel, normalContact(channel, value));
    return { kind: "contact", of: { channel, digest } };
  }
  if (!name.startsWith("customAttributes.")) return { kind: "tag", value };
  return { kind: "attribute", name: name.slice("customAttributes.".length), value };
}
