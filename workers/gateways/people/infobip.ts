/**
 * Persons and companies at Infobip. A person's `externalId` is the identity whose profile it is. The
 * API has no idempotency key: the external id keeps a repeat from making a second person, and an
 * event carries an id of its own.
 * @module
 */
import type { Actor } from "../../../domain/actor.ts";
import { DomainError } from "../../../domain/errors.ts";
import { type Company, CompanyView } from "../../../domain/people/company_fields.ts";
import {
  type Person,
  type PersonFields,
  PersonView,
} from "../../../domain/people/person_fields.ts";
import type {
  CompaniesProvider,
  PeopleProvider,
  PersonsProvider,
  ProfileQuery,
} from "../../../domain/people/provider.ts";
import { notFound } from "../../../domain/permissions.ts";
import {
  type InfobipAccount,
  member,
  openPeopleClient,
  type PeopleClient,
  PeopleRefusal,
  type PeopleRequest,
} from "./infobip_client.ts";

const PERSONS = "/people/2/persons";
const COMPANIES = "/people/2/companies";
/** Requests about the profiles of one list that run at a time. */
const AT_ONCE = 8;

/** Opens the platform of an account at Infobip. */
export function openInfobipPeople(account: InfobipAccount): PeopleProvider {
  const client = openPeopleClient(account);
  return {
    ...{ name: "infobip", remote: true },
    persons: personsAt(client),
    companies: companiesAt(client),
  };
}

function personsAt(client: PeopleClient): PersonsProvider {
  const patch = (id: string, body: unknown) =>
    asking(client, "person", {
      ...{ method: "PATCH", path: PERSONS, body },
      query: { type: "ID", identifier: id },
    });
  return {
    async list(_actor, query) {
      const { persons } = personsIn(
        await asking(client, "person", listRequest(PERSONS, query)),
        query.limit,
      );
      return () => Promise.resolve(persons);
    },
    async read(_actor, ids) {
      const found = await eachOf(ids, (id) => readPerson(client, "ID", id));
      const persons = new Map(found.flatMap((one) => one === null ? [] : [[one.id, one]]));
      return () => Promise.resolve(persons);
    },
    async create(_actor, { identity, fields }) {
      const person = await createPerson(client, { ...fields, externalId: identity });
      return () => Promise.resolve(person);
    },
    async change(_actor, id, change) {
      const answered = personOf(await patch(id, change));
      const person = answered?.id === id ? answered : await readPerson(client, "ID", id);
      if (person === null) throw notFound("person.not_found");
      if (person.id !== id) throw incomprehensible();
      return () => Promise.resolve(person);
    },
    async link(_actor, id, identity) {
      await patch(id, { externalId: identity });
      return () => Promise.resolve();
    },
    async linkMany(_actor, links) {
      await eachOf(links, ({ person, identity }) => patch(person, { externalId: identity }));
      return () => Promise.resolve();
    },
    async remove(_actor, id) {
      const query = { type: "ID", identifier: id };
      await asking(client, "person", { method: "DELETE", path: PERSONS, query })
        .catch((error) => {
          if (!(error instanceof DomainError) || error.code !== "person.not_found") throw error;
        });
      return () => Promise.resolve();
    },
    async recordEvent(actor, event) {
      return await recordEvent(client, actor, event);
    },
    events: () => Promise.resolve(() => Promise.resolve(null)),
    ownerOf: () => () => Promise.resolve(null),
    async batch(_actor, { filter, limit, cursor }) {
      const [page, before] = cursor === null ? [1, ""] : readCursor(cursor);
      const request = listRequest(PERSONS, { filters: {}, filter, limit, page });
      const query = { ...request.query, orderBy: "createdAt:asc" };
      const answer = await asking(client, "person", { ...request, query });
      const { persons, rows } = personsIn(answer, limit);
      const last = persons.at(-1)?.id ?? "";
      // A platform that gives one page for ever would be read for ever.
      if (rows > 0 && last === before) throw incomprehensible();
      const next = rows < limit ? null : `${page + 1} ${last}`;
      return () => Promise.resolve({ persons, next });
    },
  };
}

/** Creates a person; another's profile in the answer is never taken for the new one. */
async function createPerson(
  client: PeopleClient,
  body: PersonFields & { externalId: string },
): Promise<Person> {
  const { externalId } = body;
  const answer = await asking(client, "person", { method: "POST", path: PERSONS, body });
  const answered = personOf(answer);
  if (answered?.externalId === externalId) return answered;
  const person = await readPerson(client, "EXTERNAL_ID", externalId);
  if (person?.externalId !== externalId) throw incomprehensible();
  return person;
}

async function recordEvent(
  client: PeopleClient,
  actor: Actor,
  { id, person, definition, properties }: Parameters<PersonsProvider["recordEvent"]>[1],
): ReturnType<PersonsProvider["recordEvent"]> {
  const path = `/peopleevents/2/persons/${encodeURIComponent(person)}/definitions/` +
    `${encodeURIComponent(definition)}/events`;
  const answer = await asking(client, "person", {
    ...{ method: "POST", path },
    query: { identifierType: "ID", createPerson: "false" },
    body: { eventId: id, properties },
  });
  const occurred = member(answer, "occurredTime");
  const event = {
    definitionId: definition,
    personId: person,
    personIdentifierType: "ID" as const,
    occurredTime: typeof occurred === "string" ? occurred : new Date(actor.at).toISOString(),
    properties,
  };
  return () => Promise.resolve(event);
}

async function readPerson(
  client: PeopleClient,
  type: "ID" | "EXTERNAL_ID",
  identifier: string,
): Promise<Person | null> {
  const request = { method: "GET", path: PERSONS, query: { type, identifier } } as const;
  const answer = await asking(client, "person", request).catch(unlessMissing);
  return answer === null ? null : personOf(answer);
}

function companiesAt(client: PeopleClient): CompaniesProvider {
  const readOne = async (id: number) => {
    const request = { method: "GET", path: COMPANIES, query: { id: `${id}` } } as const;
    const answer = await asking(client, "company", request).catch(unlessMissing);
    return answer === null ? null : companyOf(answer);
  };
  return {
    async list(_actor, query) {
      const answer = await asking(client, "company", listRequest(COMPANIES, query));
      const list = member(answer, "companies");
      if (!Array.isArray(list) || list.length > query.limit) throw incomprehensible();
      const companies = list.flatMap((one) => companyOf(one) ?? []);
      return () => Promise.resolve(companies);
    },
    async read(_actor, ids) {
      const found = await eachOf(ids, readOne);
      const companies = new Map(found.flatMap((one) => one === null ? [] : [[one.id, one]]));
      return () => Promise.resolve(companies);
    },
    async create(_actor, input) {
      const request = { method: "POST", path: COMPANIES, body: input } as const;
      const company = companyOf(await asking(client, "company", request));
      if (company === null) throw incomprehensible();
      return () => Promise.resolve(company);
    },
    async change(_actor, id, change) {
      const request = { method: "PATCH", path: COMPANIES, body: change } as const;
      const answer = await asking(client, "company", { ...request, query: { id: `${id}` } });
      const answered = companyOf(answer);
      const company = answered?.id === id ? answered : await readOne(id);
      if (company === null) throw notFound("company.not_found");
      if (company.id !== id) throw incomprehensible();
      return () => Promise.resolve(company);
    },
    async remove(_actor, id) {
      const query = { id: `${id}` };
      const request = { method: "DELETE", path: COMPANIES, query } as const;
      const existed = await asking(client, "company", request).then(() => true, unlessMissing);
      return () => Promise.resolve(existed ?? false);
    },
    ownerOf: () => () => Promise.resolve(null),
    exists: async (id) => (await readOne(id))?.id === id,
  };
}

/** Asks, and tells refusals with the service's own codes. */
async function asking(
  client: PeopleClient,
  what: "person" | "company",
  request: PeopleRequest,
): Promise<unknown> {
  try {
    return await client(request);
  } catch (error) {
    if (!(error instanceof PeopleRefusal)) throw error;
    if (error.status === 404 || /^404\d\d$/.test(error.code)) throw notFound(`${what}.not_found`);
    if (/^4000[2-5]$/.test(error.code) || error.status === 409) {
      throw new DomainError(
        `${what}.taken`,
        what === "person"
          ? "another person has this telephone number, e-mail address or identity"
          : "another company has this name or one of these domains",
      );
    }
    throw new DomainError("upstream.failed", error.message);
  }
}

function unlessMissing(error: unknown): null {
  if (error instanceof DomainError && /^(person|company)\.not_found$/.test(error.code)) return null;
  throw error;
}

/** A page of a list: values of fields become conditions in the platform's own language. */
function listRequest(
  path: string,
  { filters, filter, limit, page }: ProfileQuery,
): PeopleRequest & { query: Record<string, string> } {
  const equal = Object.entries(filters).map(([name, value]) => ({ "#eq": { [name]: value } }));
  const conditions = [...equal, ...filter === null || filter === undefined ? [] : [filter]];
  const condition = conditions.length > 1 ? { "#and": conditions } : conditions[0];
  return {
    ...{ method: "GET", path },
    query: {
      limit: `${limit}`,
      page: `${page}`,
      ...(condition === undefined ? {} : { filter: JSON.stringify(condition) }),
    },
  };
}

/** The persons of a page, each once, and the rows that it had with those that are not understood. */
function personsIn(answer: unknown, limit: number): { persons: Person[]; rows: number } {
  const list = member(answer, "persons");
  if (!Array.isArray(list) || list.length > limit) throw incomprehensible();
  const found = list.flatMap((one) => personOf(one) ?? []);
  const persons = [...new Map(found.map((person) => [person.id, person])).values()];
  return { persons, rows: list.length };
}

/** The number of a page, and the last person of the one before. */
function readCursor(cursor: string): [page: number, before: string] {
  const [page, before = ""] = cursor.split(" ");
  return [Number(page), before];
}

/** Reads a person of an answer: ids are numbers there and texts here. */
function personOf(answer: unknown): Person | null {
  const id = member(answer, "id");
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(`${id}`)) return null;
  const read = PersonView.safeParse({ ...withoutNulls(answer), id: `${id}` });
  return read.success ? read.data : null;
}

function companyOf(answer: unknown): Company | null {
  const read = CompanyView.safeParse(withoutNulls(answer));
  return read.success ? read.data : null;
}

function withoutNulls(answer: unknown): Record<string, unknown> {
  if (typeof answer !== "object" || answer === null) return {};
  return Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null));
}

/** Does something for each, a few at a time. */
async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    results.push(...await Promise.all(items.slice(from, from + AT_ONCE).map(work)));
  }
  return results;
}

function incomprehensible(): DomainError {
  return new DomainError(
    "upstream.failed",
    "the customer-data platform's answer is not understood",
  );
}
