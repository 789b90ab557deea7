/** Persons: the profiles of identities, each of one identity at most. @module */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  type IdentityRow,
  selectIdentity,
  updateIdentity,
  updateIdentityPerson,
} from "../../db/identity/identities.ts";
import { reduceMessageEvents } from "../../db/events.ts";
import { eraseMessagesOf } from "../../db/messages/messages.ts";
import { eraseNotesOf, markForgotten } from "../../db/notes.ts";
import { replaceAnswers } from "../../db/people/persons.ts";
import { eraseResponses } from "../../db/webhooks/deliveries.ts";
import type { Actor } from "../actor.ts";
import { rowFor } from "../collections/collection.ts";
import { AliasCode, EntityFields, FreeForm, Id } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { addAlias, withAliases } from "../identity/aliases.ts";
import {
  AccountingCurrency,
  Country,
  createIdentity,
  IdentityView,
  viewIdentity,
} from "../identity/identities.ts";
import { CompanyId, IDENTITIES } from "../identity/identity_collection.ts";
import { newId } from "../ids.ts";
import { notFound, rightsOf } from "../permissions.ts";
import { assertMayTake, type Holder, holderFor, type ProfileCommand } from "./commands.ts";
import { assertCompanyThere, assertMaySeeCompany } from "./companies.ts";
import { type Person, type PersonChange, PersonFields, PersonView } from "./person_fields.ts";
import type { PeopleProvider, PersonEvent } from "./provider.ts";

/** A request for an identity with a person. */
export const NewPersonIdentity = z.strictObject({
  type: z.enum(["neutral", "person", "company"]).default("person"),
  country: Country.optional(),
  currency: AccountingCurrency.optional(),
  alias: AliasCode.optional(),
  company: CompanyId.nullable().optional(),
  data: FreeForm.default({}),
  person: PersonFields,
}).meta({ id: "NewPersonIdentity" });

/** An identity with its person in place of the id. */
export const PersonIdentityView = z.object({
  ...IdentityView.shape,
  ...EntityFields,
  person: PersonView.nullable(),
}).meta({ id: "PersonIdentity" });

/** The name of a custom event. */
export const EventName = z.string().regex(
  /^[A-Za-z0-9_-]{1,100}$/,
  "1 to 100 letters, digits, _ or - are expected",
);

/** A custom event of a person. */
export const NewPersonEventBody = z.strictObject({
  data: z.strictObject({ properties: FreeForm.default({}) }),
}).meta({ id: "NewPersonEvent" });

/** A custom event of a person as shown. */
export const PersonEventView = z.object({
  definitionId: z.string(),
  personId: z.string(),
  personIdentifierType: z.string(),
  occurredTime: z.string(),
  properties: z.record(z.string(), z.unknown()),
}).meta({ id: "PersonEvent" });

/** Which part of an export is asked for. */
export const ExportParameters = z.strictObject({
  events_before: Id.optional().meta({ description: "Only custom events before this place." }),
  messages_before: Id.optional().meta({ description: "Only messages before this place." }),
});

/** All data of a person; long lists come in parts. */
export const PersonExport = z.object({
  identity: z.record(z.string(), z.unknown()),
  person: PersonView,
  events: z.array(PersonEventView).nullable().meta({
    description:
      "Custom events, the latest first; null where the platform does not give them back.",
  }),
  events_next: z.string().nullable().meta({
    description: "`events_before` of the next part; null after the last.",
  }),
  messages: z.array(z.record(z.string(), z.unknown())).meta({
    description: "Messages to the person, the latest first, as `GET /v1/messages` shows them.",
  }),
  messages_next: z.string().nullable().meta({
    description: "`messages_before` of the next part; null after the last.",
  }),
  exported_at: z.number().int(),
}).meta({ id: "PersonExport" });

/** Creates an identity with a person. */
export function createPersonIdentity(
  people: PeopleProvider,
  actor: Actor,
  input: z.infer<typeof NewPersonIdentity>,
): ProfileCommand<{ id: string }, Person> {
  const id = newId(actor.at);
  const { person: fields, alias, company = null, ...rest } = input;
  return {
    async check(db) {
      if (company !== null) await assertMaySeeCompany(db, actor, people, company);
      return { id };
    },
    async prepare() {
      if (company !== null) await assertCompanyThere(people, company);
      return await people.persons.create(actor, { identity: id, fields });
    },
    async finish(tx, _found, person) {
      const made = await createIdentity(tx, actor, { ...rest, id });
      if (company !== null) {
        await updateIdentity(tx, id, { ...made, company: `${company}` }, actor.at);
      }
      if (alias !== undefined) {
        await addAlias(tx, actor, { alias, type: "identity", identity: id, data: {} });
      }
      return await withPerson(tx, await updateIdentityPerson(tx, id, person.id, actor.at), person);
    },
    person: (_found, { id: made }) => made,
  };
}

/** Gives an identity a new person. */
export function createPerson(
  people: PeopleProvider,
  actor: Actor,
  input: { identity: string; fields: PersonFields },
): ProfileCommand<IdentityRow, Person> {
  return {
    async check(db) {
      const identity = await rowFor(db, actor, IDENTITIES, input.identity, "write");
      if (identity.person === null) return identity;
      throw new DomainError("person.taken", "the identity has a person already: change that one");
    },
    prepare: ({ id }) => people.persons.create(actor, { identity: id, fields: input.fields }),
    finish: async (tx, { id }, person) =>
      await withPerson(tx, await updateIdentityPerson(tx, id, person.id, actor.at), person),
    person: (_found, person) => person.id,
  };
}

/** Changes the person of an identity. */
export function changePerson(
  people: PeopleProvider,
  actor: Actor,
  input: { identity: string; change: PersonChange },
): ProfileCommand<Holder, Person> {
  return {
    check: (db) => holderFor(db, actor, input.identity, "write"),
    prepare: ({ person }) => people.persons.change(actor, person, input.change),
    finish: (tx, { identity }, person) => withPerson(tx, identity, person),
    person: ({ person }) => person,
  };
}

/** Gives an identity a person that exists; the identity that had it loses it. */
export function assignPerson(
  people: PeopleProvider,
  actor: Actor,
  input: { identity: string; person: string },
): ProfileCommand<{ identity: IdentityRow; holder: IdentityRow | null }, void> {
  return {
    async check(db) {
      const identity = await rowFor(db, actor, IDENTITIES, input.identity, "write");
      const holder = await assertMayTake(db, actor, people, input.person);
      if (identity.person === null || identity.person === input.person) return { identity, holder };
      throw new DomainError("person.taken", "the identity has another person: unassign it first");
    },
    prepare: ({ identity }) => people.persons.link(actor, input.person, identity.id),
    async finish(tx, { identity, holder }) {
      if (holder !== null && holder.id !== identity.id) {
        await updateIdentityPerson(tx, holder.id, null, actor.at);
      }
      return await shown(tx, await updateIdentityPerson(tx, identity.id, input.person, actor.at));
    },
    person: () => null,
  };
}

/** Takes the person of an identity away; the person stays, without an identity. */
export function unassignPerson(
  people: PeopleProvider,
  actor: Actor,
  id: string,
): ProfileCommand<IdentityRow, void> {
  return {
    check: (db) => rowFor(db, actor, IDENTITIES, id, "write"),
    prepare: async ({ person }) =>
      person === null ? () => Promise.resolve() : await people.persons.link(actor, person, null),
    finish: async (tx, identity) =>
      await shown(tx, await updateIdentityPerson(tx, identity.id, null, actor.at)),
    person: () => null,
  };
}

/**
 * Forgets the person of an identity with its events, the messages to it, what receivers of webhooks answered to events
 * about these, the notes about it, and the stored answers that show it, whichever identity had it then. The ledger keeps ids that say nothing any more.
 * A customer that forgets its own person leaves the notes, which are the realm's; those who write the whole realm
 * erase them afterwards, by forgetting the person that is gone, or another that the identity has by then.
 *
 * @param erased the answer to repeats of requests that showed the person
 */
export function forgetPerson(
  people: PeopleProvider,
  actor: Actor,
  input: { identity: string; erased: { status: number; body: string } },
): ProfileCommand<IdentityRow, void> {
  const isRealms = rightsOf(actor).write === "all";
  return {
    async check(db) {
      const identity = await rowFor(db, actor, IDENTITIES, input.identity, "write");
      if (identity.person === null && !isRealms) throw notFound("person.not_found");
      return identity;
    },
    prepare: async ({ person }) =>
      person === null ? () => Promise.resolve() : await people.persons.remove(actor, person),
    async finish(tx, identity) {
      const { id, person } = identity;
      if (person === null) {
        const erased = await eraseNotesOf(tx, { identity: id, person, at: actor.at });
        if (erased === 0) throw notFound("person.not_found");
        return await shown(tx, identity);
      }
      await replaceAnswers(tx, { identity: id, person }, input.erased);
      await reduceMessageEvents(tx, person);
      await eraseResponses(tx, person);
      await eraseMessagesOf(tx, person, actor.at);
      if (isRealms) await eraseNotesOf(tx, { identity: id, person, at: actor.at });
      else await markForgotten(tx, { person, at: actor.at });
      return await shown(tx, await updateIdentityPerson(tx, id, null, actor.at));
    },
    person: () => null,
  };
}

/** Records a custom event of the person of an identity. */
export function recordPersonEvent(
  people: PeopleProvider,
  actor: Actor,
  input: { identity: string; id: string; event: string; properties: Record<string, unknown> },
): ProfileCommand<Holder, PersonEvent> {
  const { id, event: definition, properties } = input;
  return {
    check: (db) => holderFor(db, actor, input.identity, "write"),
    prepare: ({ person }) =>
      people.persons.recordEvent(actor, { id, person, definition, properties }),
    finish: (_tx, _found, event) => Promise.resolve({ ...event }),
    person: ({ person }) => person,
  };
}

/**
 * Shows an identity with its person.
 *
 * @throws {DomainError} person.not_found where the platform has lost it
 */
export async function showPerson(
  db: Db,
  { identity, person }: Holder,
  found: ReadonlyMap<string, Person>,
): Promise<Record<string, unknown>> {
  const whole = found.get(person);
  if (whole === undefined) throw notFound("person.not_found");
  return await withPerson(db, identity, whole);
}

async function withPerson(
  db: Db | Tx,
  identity: IdentityRow,
  person: Person,
): Promise<Record<string, unknown>> {
  return { ...await shown(db, identity), person };
}

async function shown(db: Db | Tx, { id }: IdentityRow): Promise<Record<string, unknown>> {
  const row = (await selectIdentity(db, id))!;
  return (await withAliases(db, [row], [viewIdentity(row)]))[0];
}
