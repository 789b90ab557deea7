import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { DomainError } from "../../domain/errors.ts";
import { openPeopleClient } from "../../workers/gateways/people/infobip_client.ts";
import { syncPersons } from "../../workers/people/sync.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import {
  type Answer,
  type Send,
  type TestProcess,
  type TestRealm,
  testRealm,
} from "../support/realm.ts";
import { until } from "../support/eventually.ts";
import { INFOBIP_KEY, type InfobipServer, startInfobip } from "./infobip_server.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];

/** What the steps share. */
interface Fixture {
  server: InfobipServer;
  realm: TestRealm;
  /** A process whose profiles are at the server. */
  process: TestProcess;
  /** Sends as the administrator, to that process. */
  send: Send;
  /** The answer to the first person's creation. */
  made: Answer;
  /** Path of the first identity. */
  path: string;
}

const steps: [string, (fixture: Fixture) => Promise<void>][] = [];

function step(title: string, work: (fixture: Fixture) => Promise<void>): void {
  steps.push([title, work]);
}

const email = "ana@persons.example";
const person = {
  firstName: "Ana",
  tags: ["vip"],
  customAttributes: { level: "gold" },
  contactInformation: { email: [{ address: email }] },
};

Deno.test("persons and companies at Infobip", async (t) => {
  await using server = startInfobip();
  await using realm = await testRealm();
  await using process = realm.another(settingsOf(server, realm, INFOBIP_KEY));
  const send = process.send(realm.admin.key);
  const made = await send("POST", "/v1/identities/person", { country: "HR", person });
  const path = `/v1/identities/${made.body.id}`;
  const fixture = { server, realm, process, send, made, path };
  for (const [title, work] of steps) await t.step(title, () => work(fixture));
});

function settingsOf(server: InfobipServer, realm: TestRealm, key: string) {
  return {
    CDP_PROVIDER: "infobip",
    CDP_REALM: realm.id,
    INFOBIP_BASE_URL: server.url,
    INFOBIP_API_KEY: key,
  };
}

step("an identity is the external id of its person there", async ({ send, made, path }) => {
  equal(made.status, 201, made.text);
  equal(made.body.person.id, "9001");
  equal(made.body.person.externalId, made.body.id);
  deepEqual((await send("GET", path)).body.person, "9001");
  deepEqual((await send("GET", `${path}/person`)).body.person, made.body.person);
  const populated = await send("GET", "/v1/identities/all?populate=person&scope=all");
  ok(populated.text.includes(email));
  const found = await send("GET", "/v1/identities/persons?firstName=Ana&limit=5");
  deepEqual(found.body, [made.body.person]);
});

step(
  "a change adds tags and contacts, and an event is told in five fields",
  async ({ server, send, path }) => {
    const change = { tags: ["early"], contactInformation: { phone: [{ number: "385911234567" }] } };
    const changed = await send("PATCH", `${path}/person`, change);
    deepEqual([changed.status, changed.body.person.tags], [200, ["vip", "early"]]);
    deepEqual(Object.keys(changed.body.person.contactInformation), ["email", "phone"]);
    const key = { "idempotency-key": crypto.randomUUID() };
    const body = { data: { properties: { amount: 3 } } };
    const event = await send("POST", `${path}/person/event/bought`, body, key);
    equal(event.status, 201, event.text);
    deepEqual(event.body, {
      definitionId: "bought",
      personId: "9001",
      personIdentifierType: "ID",
      occurredTime: "2026-01-02T03:04:05",
      properties: { amount: 3 },
    });
    const requests = server.log.length;
    const again = await send("POST", `${path}/person/event/bought`, body, key);
    equal(again.headers.get("idempotency-replayed"), "true");
    deepEqual([again.body, server.log.length], [event.body, requests]);
  },
);

step(
  "a message to a person that is sent again under its key asks nobody again",
  async ({ server, send, made }) => {
    const path = `/v1/identities/${made.body.id}/person/message/email`;
    const key = { "idempotency-key": crypto.randomUUID() };
    const body = { content: { subject: "Welcome", text: "Your account is open." } };
    const first = await send("POST", path, body, key);
    equal(first.status, 201, first.text);
    const requests = server.log.length;
    server.always = () => new Response(null, { status: 500 });
    const again = await send("POST", path, body, key);
    server.always = null;
    equal(again.headers.get("idempotency-replayed"), "true");
    deepEqual([again.body, server.log.length], [first.body, requests]);
    const other = { content: { ...body.content, subject: "Another" } };
    equal((await send("POST", path, other, key)).body.code, "idempotency.key_reused");
    equal(server.log.length, requests);
  },
);

step("a provider that is silent is not waited for without a limit", async ({ server }) => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  server.next = () => promise;
  const client = openPeopleClient({ baseUrl: server.url, apiKey: INFOBIP_KEY }, 200);
  const asked = client({ method: "GET", path: "/people/2/persons" });
  await rejects(
    asked,
    (error) => error instanceof DomainError && error.code === "upstream.timeout",
  );
  resolve(new Response());
});

step("what another has is told, and nothing is merged", async ({ server, send, path }) => {
  const again = await send("POST", "/v1/identities/person", { person });
  deepEqual(codeOf(again), [409, "person.taken"]);
  ok(!again.text.includes(email));
  const company = { name: "Banka", domains: ["bank.example"] };
  const first = await send("POST", "/v1/identities/company", company);
  deepEqual([first.status, first.body.id], [201, 70]);
  deepEqual(codeOf(await send("POST", "/v1/identities/company", company)), [
    409,
    "company.taken",
  ]);
  equal((await send("PATCH", path, { company: 70 })).body.company, 70);
  equal((await send("GET", `${path}/company`)).body.name, "Banka");
  deepEqual(codeOf(await send("PATCH", path, { company: 71 })), [404, "company.not_found"]);
  const { length } = server.persons;
  const unknown = await send("POST", "/v1/identities/person", { company: 71, person: {} });
  deepEqual(codeOf(unknown), [404, "company.not_found"]);
  deepEqual([unknown.body.errors[0].path, server.persons.length], ["/company", length]);
  const named = await send("POST", "/v1/identities/person", { company: 70, person: {} });
  deepEqual([named.status, named.body.company], [201, 70], named.text);
  const changed = await send("PATCH", "/v1/identities/companies/70", { industry: "Banking" });
  equal(changed.body.industry, "Banking");
  deepEqual((await send("DELETE", "/v1/identities/companies/70")).body, []);
  equal((await send("GET", path)).body.company, null);
});

step(
  "a provider that refuses or fails is told without its key or the request",
  async ({ server, realm, send }) => {
    const refusals = [
      [() => Response.json({ secret: `App ${INFOBIP_KEY} ${email}` }, { status: 403 }), 502],
      [() => new Response(`<html>${INFOBIP_KEY}</html>`, { status: 500 }), 502],
      [() => new Response("not JSON", { status: 200 }), 502],
      [() => Response.redirect(`${server.url}/elsewhere`), 502],
    ] as const;
    for (const [next, status] of refusals) {
      server.next = next;
      const answer = await send("GET", "/v1/identities/persons");
      deepEqual(codeOf(answer), [status, "upstream.failed"], answer.text);
      ok(!answer.text.includes(INFOBIP_KEY) && !answer.text.includes(email), answer.text);
    }
    await using wrong = realm.another(settingsOf(server, realm, "another-key-of-the-tests"));
    const answer = await wrong.send(realm.admin.key)("GET", "/v1/identities/persons");
    deepEqual(codeOf(answer), [502, "upstream.failed"]);
    match(answer.body.detail, /401 UNAUTHORIZED/);
    ok(!answer.text.includes("another-key"));
  },
);

step(
  "nothing is asked for a caller without the right, nor in another realm",
  async ({ server, realm, process, path }) => {
    const own = await realm.user();
    const asOwn = process.send(own.key);
    const requests = server.log.length;
    deepEqual(codeOf(await asOwn("GET", "/v1/identities/persons")), [403, "permission.scope"]);
    deepEqual(codeOf(await asOwn("GET", `${path}/person`)), [404, "identity.not_found"]);
    const reader = process.send((await realm.user({ scope: "realm" })).key);
    const named = await asOwn("POST", "/v1/identities/person", { company: 70, person: {} });
    deepEqual(codeOf(named), [403, "permission.scope"]);
    for (
      const [method, at, body] of [
        ["POST", "", { name: "Own" }],
        ["PATCH", "/70", { industry: "Own" }],
        ["DELETE", "/70", undefined],
      ] as const
    ) {
      const company = `/v1/identities/companies${at}`;
      deepEqual(codeOf(await asOwn(method, company, body)), [403, "permission.scope"], method);
      deepEqual(codeOf(await reader(method, company, body)), [403, "permission.role"], method);
    }
    const take = `/v1/identities/${own.identity}/person/9001/assign`;
    deepEqual(codeOf(await asOwn("PATCH", take)), [404, "person.not_found"]);
    const other = await realm.neighbour();
    const stranger = process.send(other.admin.key);
    deepEqual(codeOf(await stranger("GET", "/v1/identities/persons")), [
      501,
      "extension.disabled",
    ]);
    other.leave();
    equal(server.log.length, requests);
  },
);

step(
  "a synchronisation names the identities of persons there",
  async ({ server, realm, process, send }) => {
    const at = "2026-01-02T03:04:05";
    server.persons.push({ id: 9100, firstName: "Iva", createdAt: at, modifiedAt: at });
    equal((await send("POST", "/v1/identities/persons/sync", {})).status, 202);
    const context = { ...await workerContextOf(realm), people: process.services.people };
    const [{ id }] = await realm.command((tx) =>
      tx<{ id: string }[]>`select id from person_syncs where state = 'running'`
    );
    await syncPersons(context, { sync: id });
    context.chains.close();
    const identity = `${server.persons.at(-1)!.externalId}`;
    const shown = await send("GET", `/v1/identities/${identity}?populate=person`);
    deepEqual([shown.body.type, shown.body.person.firstName], ["person", "Iva"]);
  },
);

step(
  "a forgotten person is gone there, and from the stored answers",
  async ({ server, realm, send, made, path }) => {
    const key = { "idempotency-key": crypto.randomUUID() };
    const change = { city: "Split" };
    const before = await send("PATCH", `${path}/person`, change, key);
    deepEqual([before.status, before.body.person.city], [200, "Split"]);
    const kept = await realm.command((tx) =>
      tx<{ body: string }[]>`select body from idempotency where profile = ${made.body.person.id}`
    );
    ok(kept.length > 0 && kept.every(({ body }) => !body.includes("Split")));
    const gone = await send("DELETE", `${path}/person`);
    deepEqual([gone.status, gone.body.person], [200, null]);
    ok(!server.persons.some(({ id }) => id === 9001));
    deepEqual(codeOf(await send("GET", `${path}/person`)), [404, "person.not_found"]);
    const again = await send("PATCH", `${path}/person`, change, key);
    equal(again.headers.get("idempotency-replayed"), "true");
    deepEqual(codeOf(again), [404, "person.not_found"]);
  },
);

step("a provider that does not answer for one list holds up no other", async ({ server, send }) => {
  for (let i = 0; i < 21; i++) {
    const made = await send("POST", "/v1/identities/person", { person: { firstName: `P${i}` } });
    equal(made.status, 201, made.text);
  }
  const over = Promise.withResolvers<void>();
  let hanging = 0;
  const hang = async () => {
    server.next = hang;
    hanging++;
    await over.promise;
    return Response.json({ requestError: {} }, { status: 404 });
  };
  server.next = hang;
  const lists = [1, 2].map(async () => {
    await send("GET", "/v1/identities/all?populate=person&scope=all&limit=30");
    return "populated";
  });
  await until(() => hanging >= 2);
  const other = send("GET", "/v1/identities/all?scope=all&limit=1000");
  const first = await Promise.race([other.then(() => "other"), ...lists]);
  over.resolve();
  server.next = null;
  await Promise.all(lists);
  deepEqual([first, (await other).status], ["other", 200]);
});

step("a provider that answers with another's profile is not believed", async (fixture) => {
  const { server, send } = fixture;
  const other = { id: 9001, externalId: crypto.randomUUID(), firstName: "Mallory" };
  server.next = () => Response.json(other);
  const made = await send("POST", "/v1/identities/person", { person: { firstName: "Iva" } });
  deepEqual(codeOf(made), [502, "upstream.failed"], made.text);
  const sound = await send("POST", "/v1/identities/person", { person: { firstName: "Iva" } });
  equal(sound.status, 201, sound.text);
  const path = `/v1/identities/${sound.body.id}/person`;
  server.next = () => Response.json(other);
  const changed = await send("PATCH", path, { city: "Split" });
  deepEqual([changed.status, changed.body.person.firstName], [200, "Iva"]);
  server.next = () => Response.json(other);
  deepEqual(codeOf(await send("GET", path)), [404, "person.not_found"]);
  for (
    const answer of [
      { persons: Array.from({ length: 6 }, (_, id) => ({ id })) },
      { persons: "none" },
      { persons: { length: 1 } },
    ]
  ) {
    server.next = () => Response.json(answer);
    const list = await send("GET", "/v1/identities/persons?limit=5");
    deepEqual(codeOf(list), [502, "upstream.failed"], list.text);
  }
  server.next = () =>
    Response.json({ persons: [{ id: { $ne: 1 } }, { id: "" }, { id: 5, tags: 7 }] });
  deepEqual((await send("GET", "/v1/identities/persons?limit=5")).body, []);
  server.next = () => new Response("{}", { status: 429, headers: { "retry-after": "77" } });
  const busy = await send("GET", "/v1/identities/persons");
  deepEqual([...codeOf(busy), busy.headers.get("retry-after")], [502, "upstream.failed", "77"]);
  const conflict = { requestError: { serviceException: { messageId: "40902" } } };
  server.next = () => Response.json(conflict, { status: 409 });
  deepEqual(codeOf(await send("PATCH", path, { city: "Pula" })), [502, "upstream.failed"]);
});

step(
  "a company that is gone there is taken from its identities by a repeat",
  async ({ server, send }) => {
    const company = { name: "Gone", domains: ["gone.example"] };
    const { body: { id } } = await send("POST", "/v1/identities/company", company);
    const identity = (await send("POST", "/v1/identities", {})).body.id;
    equal((await send("PATCH", `/v1/identities/${identity}`, { company: id })).status, 200);
    server.companies.splice(0); // deleted there, and the process stopped before its own commit
    const again = await send("DELETE", `/v1/identities/companies/${id}`);
    deepEqual([again.status, again.body], [200, []]);
    equal((await send("GET", `/v1/identities/${identity}`)).body.company, null);
    const third = await send("DELETE", `/v1/identities/companies/${id}`);
    deepEqual(codeOf(third), [404, "company.not_found"]);
  },
);

step(
  "a synchronisation ends where the platform gives one page for ever, or twice one person",
  async (fixture) => {
    const { server, realm, process, send } = fixture;
    const page = Array.from({ length: 500 }, (_, id) => ({ id: 70_000 + id % 499 }));
    const context = { ...await workerContextOf(realm), people: process.services.people };
    const state = async () => (await send("GET", "/v1/identities/persons/sync")).body[0];
    equal((await send("POST", "/v1/identities/persons/sync", {})).status, 202);
    const { id: sync } = await state();
    server.always = () => Response.json({ persons: page });
    await syncPersons(context, { sync });
    server.always = null;
    context.chains.close();
    const { state: ended, error, read } = await state();
    deepEqual([ended, error.code, read], ["failed", "upstream.failed", 499]);
  },
);
