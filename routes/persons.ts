/** Routes of persons, the profiles of identities. @module */
import { z } from "zod";
import { DomainError } from "../domain/errors.ts";
import { IdentityView } from "../domain/identity/identities.ts";
import { messagesOf } from "../domain/messages/messages.ts";
import { isId } from "../domain/ids.ts";
import { invalidQuery } from "../domain/collections/filter.ts";
import { assertPlatform, holderFor } from "../domain/people/commands.ts";
import {
  LIMIT_DEFAULT,
  ProfileParameters,
  readProfileQuery,
  ROWS_MAX,
} from "../domain/people/list_query.ts";
import { PersonChange, PersonFields, PersonView } from "../domain/people/person_fields.ts";
import {
  assignPerson,
  changePerson,
  createPerson,
  createPersonIdentity,
  EventName,
  ExportParameters,
  forgetPerson,
  NewPersonEventBody,
  NewPersonIdentity,
  PersonEventView,
  PersonExport,
  PersonIdentityView,
  recordPersonEvent,
  showPerson,
  unassignPerson,
} from "../domain/people/persons.ts";
import {
  listSyncs,
  NewSync,
  startSync,
  syncFilter,
  SyncStarted,
  SyncView,
} from "../domain/people/sync.ts";
import { command, query } from "./http/execution.ts";
import { changeProfile, platformOf, readProfiles } from "./http/profiles.ts";
import { problemOf, PROBLEMS } from "./http/problems.ts";
import { type AnyRoute, type Call, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const PLATFORM = ["extension.disabled", "upstream.failed", "upstream.timeout"] as const;
const READ = [...PLATFORM, "identity.not_found", "person.not_found"] as const;
const WRITE = [...READ, "permission.role", "permission.owner"] as const;
const shared = { tag: "Persons", access: "user" } as const;

/** The routes of persons. */
export const personRoutes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/persons",
    operation: "listPersons",
    summary: "List persons",
    description: "Any other parameter is a field and its value: `?lastName=Novak&city=Zagreb`, " +
      "`?email=a@b.example`, `?tags=vip`, `?customAttributes.level=gold`.",
    query: ProfileParameters,
    continues: { usual: LIMIT_DEFAULT, pagesOver: ROWS_MAX },
    status: 200,
    answer: z.array(PersonView),
    errors: [...PLATFORM, "permission.scope", "permission.role"],
    handle: (call) => {
      const asked = readProfileQuery(call.query);
      return readProfiles(
        call,
        () => Promise.resolve(null),
        (people) => {
          assertPlatform(call.actor, people, "read");
          return people.persons.list(call.actor, asked);
        },
        { list: asked },
      );
    },
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/persons/sync",
    operation: "listPersonsSyncs",
    summary: "List the synchronisations of persons",
    description: "The last 20, the latest first, with their state and what they did so far.",
    status: 200,
    answer: z.array(SyncView),
    errors: ["extension.disabled", "permission.scope", "permission.role"],
    handle: async (call) => {
      await platformOf(call);
      return await query(call, (db) => listSyncs(db, call.actor));
    },
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/identities/persons/sync",
    operation: "syncPersons",
    summary: "Synchronise persons with identities",
    description: "Identities are given the person that names them, persons the name of their " +
      "identity, and persons without an identity a new one. One runs at a time; `GET` shows it. Its report comes " +
      "by e-mail to the caller's `channel.email`, and as the event `persons.sync.finished`.",
    body: NewSync,
    status: 202,
    answer: SyncStarted,
    errors: [...PLATFORM, "sync.running", "permission.scope", "permission.role"],
    handle: async (call) => {
      const people = await platformOf(call);
      const filter = await syncFilter(people, call.actor, call.body.filter);
      return await command(call, (tx) => startSync(tx, call.actor, { ...call.body, filter }));
    },
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/identities/person",
    operation: "createPersonIdentity",
    summary: "Create an identity with a person",
    body: NewPersonIdentity,
    status: 201,
    makes: "/v1/identities/{made}",
    answer: PersonIdentityView,
    errors: [
      ...PLATFORM,
      "person.taken",
      "alias.taken",
      "company.not_found",
      "permission.scope",
      "permission.role",
    ],
    handle: (call) =>
      changeProfile(call, (people) => createPersonIdentity(people, call.actor, call.body)),
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/{id}/person",
    operation: "getPerson",
    summary: "Read an identity with its person",
    params: ById,
    status: 200,
    answer: PersonIdentityView,
    errors: READ,
    handle: (call) =>
      readProfiles(
        call,
        (db) => holderFor(db, call.actor, call.params.id, "read"),
        async (people, found) => {
          const read = await people.persons.read(call.actor, [found.person]);
          return async (db) => await showPerson(db, found, await read(db));
        },
      ),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/identities/{id}/person",
    operation: "createPerson",
    summary: "Give an identity a new person",
    params: ById,
    body: PersonFields,
    status: 201,
    answer: PersonIdentityView,
    errors: [...WRITE, "person.taken"],
    handle: (call) => {
      const input = { identity: call.params.id, fields: call.body };
      return changeProfile(call, (people) => createPerson(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "PATCH",
    path: "/v1/identities/{id}/person",
    operation: "changePerson",
    summary: "Change the person of an identity",
    description: "Fields that are left out stay; tags and ways to reach the person are added.",
    params: ById,
    body: PersonChange,
    status: 200,
    answer: PersonIdentityView,
    errors: [...WRITE, "person.taken"],
    handle: (call) => {
      const input = { identity: call.params.id, change: call.body };
      return changeProfile(call, (people) => changePerson(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/identities/{id}/person",
    operation: "deletePerson",
    summary: "Forget the person of an identity",
    description: "Its profile, its events and the messages to it are erased. The identity and " +
      "its accounts stay.",
    params: ById,
    status: 200,
    answer: IdentityView,
    errors: WRITE,
    handle: (call) => {
      const input = { identity: call.params.id, erased: erasedAnswer(call) };
      return changeProfile(call, (people) => forgetPerson(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "PATCH",
    path: "/v1/identities/{id}/person/{person}/assign",
    operation: "assignPerson",
    summary: "Give an identity a person that exists",
    description: "An identity that had the person loses it.",
    params: z.strictObject({ id: z.string(), person: z.string().min(1).max(100) }),
    status: 200,
    answer: IdentityView,
    errors: [...WRITE, "person.taken", "permission.scope"],
    handle: (call) => {
      const input = { identity: call.params.id, person: call.params.person };
      return changeProfile(call, (people) => assignPerson(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "PATCH",
    path: "/v1/identities/{id}/person/unassign",
    operation: "unassignPerson",
    summary: "Take the person of an identity away",
    description: "The person stays, without an identity.",
    params: ById,
    status: 200,
    answer: IdentityView,
    errors: WRITE,
    handle: (call) =>
      changeProfile(call, (people) => unassignPerson(people, call.actor, call.params.id)),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/identities/{id}/person/event/{event}",
    operation: "createPersonEvent",
    summary: "Record a custom event of a person",
    params: z.strictObject({ id: z.string(), event: EventName }),
    body: NewPersonEventBody,
    status: 201,
    answer: PersonEventView,
    errors: WRITE,
    handle: (call) => {
      const input = {
        id: call.idempotency?.key ?? crypto.randomUUID(),
        identity: call.params.id,
        event: call.params.event,
        properties: call.body.data.properties,
      };
      return changeProfile(call, (people) => recordPersonEvent(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/{id}/person/export",
    operation: "getPersonExport",
    summary: "Export all data of a person",
    description: "Its profile, its custom events and the messages to it, the latest first. Long " +
      "lists come in parts: ask again with `events_before` or `messages_before`.",
    params: ById,
    query: ExportParameters,
    status: 200,
    answer: PersonExport,
    errors: READ,
    handle: (call) =>
      readProfiles(
        call,
        (db) => holderFor(db, call.actor, call.params.id, "read"),
        async (people, found) => {
          const read = await people.persons.read(call.actor, [found.person]);
          const [eventsBefore, messagesBefore] = placesOf(call.query);
          const events = await people.persons.events(call.actor, found.person, eventsBefore);
          return async (db) => {
            const { person, ...identity } = await showPerson(db, found, await read(db));
            const part = await events(db);
            const sent = await messagesOf(db, found.person, messagesBefore);
            return {
              ...{
                identity,
                person,
                events: part?.events ?? null,
                events_next: part?.next ?? null,
              },
              ...{ messages: sent.messages, messages_next: sent.next, exported_at: call.at },
            };
          };
        },
        { isLong: true },
      ),
  }),
];

/** Where the parts of an export begin. @throws {DomainError} query.invalid */
function placesOf(asked: z.infer<typeof ExportParameters>): (string | null)[] {
  return (["events_before", "messages_before"] as const).map((name) => {
    const place = asked[name] ?? null;
    if (place === null || isId(place)) return place;
    throw invalidQuery(`/${name}`, "the place that the part before gave is expected");
  });
}

/** The answer to repeats of requests whose answers showed a person that is forgotten. */
function erasedAnswer<P, Q, B>(call: Call<P, Q, B>): { status: number; body: string } {
  const erased = new DomainError("person.not_found", "the person was forgotten");
  const problem = problemOf(erased, call.services.config.baseUrl, call.requestId);
  return { status: PROBLEMS[erased.code].status, body: JSON.stringify(problem) };
}
