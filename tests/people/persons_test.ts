import { deepEqual, equal, match, ok } from "node:assert/strict";
import { renew } from "../support/generations.ts";
import { type Answer, rowsOf, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];
const unique = () => crypto.randomUUID().slice(0, 8);
let numbers = 0;
const numberOf = () => `38591${1_000_000 + ++numbers}`;

/** Fields of a person that no other has. */
function fields(more: Record<string, unknown> = {}) {
  return {
    firstName: "Ana",
    lastName: "Horvat",
    address: "Ilica 1",
    city: "Zagreb",
    country: "Croatia",
    gender: "FEMALE",
    birthDate: "1990-02-28",
    tags: ["vip"],
    customAttributes: { level: "gold", score: 7 },
    contactInformation: {
      phone: [{ number: numberOf() }],
      email: [{ address: `${unique()}@persons.example` }],
    },
    ...more,
  };
}

const test = sharing("persons in one realm");

test("an identity is created with a person, whose contact data are encrypted at rest", async (realm) => {
  const person = fields();
  const made = await realm.admin.send("POST", "/v1/identities/person", {
    country: "HR",
    alias: `ana-${unique()}`,
    person,
  });
  equal(made.status, 201, made.text);
  equal(made.body.type, "person");
  deepEqual([made.body.country, made.body.currency], ["HR", "USD"]);
  const {
    id,
    externalId,
    createdAt,
    modifiedAt,
    origin,
    modifiedFrom,
    ...rest
  } = made.body.person;
  deepEqual(rest, person);
  equal(externalId, made.body.id);
  match(createdAt, /^\d{4}-\d\d-\d\dT/);
  deepEqual([modifiedAt, origin, modifiedFrom], [createdAt, "API", "API"]);
  const one = `/v1/identities/${made.body.id}`;
  equal((await realm.admin.send("GET", one)).body.person, id);
  deepEqual(
    (await realm.admin.send("GET", `${one}/person`)).body.person,
    made.body.person,
  );
  const populated = await realm.admin.send(
    "GET",
    `${one}?populate=person,company`,
  );
  deepEqual(populated.body.person, made.body.person);
  equal(populated.body.company, null);
  const all = await realm.admin.send(
    "GET",
    `/v1/identities/all?populate=person&query=${JSON.stringify({ id: made.body.id })}`,
  );
  deepEqual(all.body[0].person, made.body.person);
  const page = await realm.admin.send(
    "GET",
    "/v1/identities?populate=person&sort=-created_at",
  );
  deepEqual(page.body.rows[0].person, made.body.person);
  const [{ text }] = await rowsOf<{ text: string }>(
    realm,
    `select string_agg(t, ' ') as text from (select row_to_json(p)::text as t from persons p
       union all select row_to_json(c)::text from person_contacts c) x`,
  );
  const { phone, email } = person.contactInformation;
  for (
    const secret of [phone[0].number, email[0].address, "Ilica", "1990-02-28"]
  ) {
    ok(!text.includes(secret), secret);
  }
});

test("a change of a person replaces fields, and adds tags and contacts", async (realm) => {
  const identity = (await realm.admin.send("POST", "/v1/identities", {})).body.id;
  const path = `/v1/identities/${identity}/person`;
  deepEqual(codeOf(await realm.admin.send("GET", path)), [
    404,
    "person.not_found",
  ]);
  const given = fields();
  const made = await realm.admin.send("POST", path, given);
  equal(made.status, 201, made.text);
  deepEqual(codeOf(await realm.admin.send("POST", path, fields())), [
    409,
    "person.taken",
  ]);
  const [phone] = given.contactInformation.phone;
  const more = { number: numberOf() };
  const changed = await realm.admin.send("PATCH", path, {
    city: "Split",
    address: null,
    tags: ["vip", "early"],
    customAttributes: { level: null, color: "blue" },
    contactInformation: { phone: [{ number: `+${phone.number}` }, more] },
  });
  equal(changed.status, 200, changed.text);
  const { person } = changed.body;
  equal(person.city, "Split");
  equal("address" in person, false);
  deepEqual(person.tags, ["vip", "early"]);
  deepEqual(person.customAttributes, { score: 7, color: "blue" });
  deepEqual(person.contactInformation.phone.length, 2);
  deepEqual(person.contactInformation.phone[1], more);
  deepEqual(person.contactInformation.email, given.contactInformation.email);
  equal(person.id, made.body.person.id);
});

test("companies are created, named by identities, changed and deleted", async (realm) => {
  const domain = `${unique()}.example`;
  const made = await realm.admin.send("POST", "/v1/identities/company", {
    name: "Banka",
    industry: "Banking",
    domains: [domain.toUpperCase()],
    customAttributes: { offices: 5 },
  });
  equal(made.status, 201, made.text);
  ok(Number.isInteger(made.body.id));
  deepEqual([made.body.domains, made.body.customAttributes], [[domain], {
    offices: 5,
  }]);
  const again = await realm.admin.send("POST", "/v1/identities/companies", {
    name: "Other",
    domains: [domain],
  });
  deepEqual(codeOf(again), [409, "company.taken"]);
  const identity = (await realm.admin.send("POST", "/v1/identities", { type: "company" })).body
    .id;
  const path = `/v1/identities/${identity}`;
  const set = await realm.admin.send("PATCH", path, { company: made.body.id });
  deepEqual([set.status, set.body.company], [200, made.body.id]);
  deepEqual((await realm.admin.send("GET", `${path}/company`)).body, made.body);
  deepEqual(
    (await realm.admin.send("GET", `${path}?populate=company`)).body.company,
    made.body,
  );
  const unknown = await realm.admin.send("PATCH", path, { company: 999_999 });
  deepEqual(codeOf(unknown), [404, "company.not_found"]);
  const one = `/v1/identities/companies/${made.body.id}`;
  const changed = await realm.admin.send("PATCH", one, {
    industry: null,
    notes: "big",
  });
  deepEqual([changed.status, changed.body.notes, changed.body.industry], [
    200,
    "big",
    undefined,
  ]);
  deepEqual(changed.body.domains, [domain]);
  const found = await realm.admin.send(
    "GET",
    `/v1/identities/companies?domain=${domain}`,
  );
  deepEqual(found.body, [changed.body]);
  const gone = await realm.admin.send("DELETE", one);
  deepEqual([gone.status, gone.body], [200, []]);
  equal((await realm.admin.send("GET", path)).body.company, null);
  deepEqual(codeOf(await realm.admin.send("DELETE", one)), [
    404,
    "company.not_found",
  ]);
});

test("one number, one e-mail address, one domain: a second owner is told and not merged", async (realm) => {
  const { contactInformation } = fields();
  const { phone: [{ number }], email: [{ address }] } = contactInformation;
  const first = await realm.admin.send("POST", "/v1/identities/person", {
    person: { contactInformation },
  });
  equal(first.status, 201, first.text);
  for (
    const taken of [
      { phone: [{ number: `+${number}` }] },
      { email: [{ address: address.toUpperCase() }] },
    ]
  ) {
    const person = { contactInformation: taken };
    const second = await realm.admin.send("POST", "/v1/identities/person", { person });
    deepEqual(codeOf(second), [409, "person.taken"]);
    ok(!second.text.includes(number) && !second.text.includes(address));
  }
  for (const query of [`email=${address}`, `phone=%2B${number}`]) {
    const found = await realm.admin.send("GET", `/v1/identities/persons?${query}`);
    deepEqual(found.body.map(({ id }: { id: string }) => id), [first.body.person.id], query);
  }
});

test("a user reads, changes, assigns and exports persons of its own only", async (realm) => {
  const [one, other] = [await realm.user(), await realm.user()];
  const given = fields();
  const made = await one.send("POST", `/v1/identities/${one.identity}/person`, given);
  equal(made.status, 201, made.text);
  const { id: person } = made.body.person;
  const path = `/v1/identities/${one.identity}/person`;
  for (
    const [method, at, body] of [
      ["GET", path],
      ["GET", `${path}/export`],
      ["PATCH", path, { city: "Split" }],
      ["PATCH", `${path}/unassign`],
      ["DELETE", path],
      ["POST", `${path}/event/seen`, { data: { properties: {} } }],
    ] as const
  ) {
    deepEqual(codeOf(await other.send(method, at, body)), [404, "identity.not_found"]);
  }
  const take = `/v1/identities/${other.identity}/person/${person}/assign`;
  deepEqual(codeOf(await other.send("PATCH", take)), [404, "person.not_found"]);
  const reader = await realm.user({ role: "user", scope: "realm" });
  equal((await reader.send("GET", path)).status, 200);
  deepEqual(codeOf(await reader.send("PATCH", path, {})), [403, "permission.owner"]);
  deepEqual((await other.send("GET", "/v1/identities/persons")).body, []);
  deepEqual((await one.send("GET", "/v1/identities/persons")).body.length, 1);
  const neighbour = await realm.neighbour();
  deepEqual((await neighbour.admin.send("GET", "/v1/identities/persons")).body, []);
  neighbour.leave();
  // A manager moves it, and its first user sees it no more.
  const moved = await realm.admin.send("PATCH", take);
  deepEqual([moved.status, moved.body.person], [200, person]);
  deepEqual(codeOf(await one.send("GET", path)), [404, "person.not_found"]);
  deepEqual((await one.send("GET", "/v1/identities/persons")).body, []);
  const now = await other.send("GET", `/v1/identities/${other.identity}/person`);
  deepEqual(now.body.person.externalId, other.identity);
});

test("events are told in five fields, exported, and erased with the person and its stored answers", async (realm) => {
  const given = fields({ firstName: "Erased" });
  const key = { "idempotency-key": crypto.randomUUID() };
  const body = { person: given };
  const made = await realm.admin.send("POST", "/v1/identities/person", body, key);
  const path = `/v1/identities/${made.body.id}/person`;
  const properties = { amount: "7.50", where: "shop" };
  const event = await realm.admin.send("POST", `${path}/event/bought`, { data: { properties } });
  equal(event.status, 201, event.text);
  deepEqual(Object.keys(event.body).sort(), [
    ...["definitionId", "occurredTime", "personId", "personIdentifierType", "properties"],
  ]);
  deepEqual([event.body.definitionId, event.body.properties], ["bought", properties]);
  const whole = await realm.admin.send("GET", `${path}/export`);
  deepEqual(whole.body.person, made.body.person);
  deepEqual(whole.body.events, [event.body]);
  const replayed = await realm.admin.send("POST", "/v1/identities/person", body, key);
  deepEqual(replayed.body, made.body);
  equal(await renew(realm), "exchanged"); // erased in both generations
  const gone = await realm.admin.send("DELETE", path);
  deepEqual([gone.status, gone.body.person], [200, null], gone.text);
  deepEqual(codeOf(await realm.admin.send("GET", path)), [404, "person.not_found"]);
  const again = await realm.admin.send("POST", "/v1/identities/person", body, key);
  deepEqual(codeOf(again), [404, "person.not_found"]);
  const rows = await realm.command((tx) =>
    tx<{ n: string }[]>`select (select count(*) from persons where first_name = 'Erased')
      + (select count(*) from person_events where person = ${made.body.person.id})
      + (select count(*) from person_contacts where person = ${made.body.person.id}) as n`
  );
  equal(`${rows[0].n}`, "0");
  const later = await realm.admin.send("POST", path, given);
  equal(later.status, 201, "its number and address are free again");
});

test("wrong fields of persons and companies are refused by name", async (realm) => {
  const cases = [
    [{ nickname: "A" }, "/person/nickname"],
    [{ firstName: "" }, "/person/firstName"],
    [{ firstName: "A".repeat(256) }, "/person/firstName"],
    [{ gender: "male" }, "/person/gender"],
    [{ birthDate: "1990-02-30" }, "/person/birthDate"],
    [{ profilePicture: "javascript:alert(1)" }, "/person/profilePicture"],
    [{ tags: "vip" }, "/person/tags"],
    [
      { contactInformation: { phone: [{ number: "call me" }] } },
      "/person/contactInformation/phone/0/number",
    ],
    [{ contactInformation: { email: ["a@b.example"] } }, "/person/contactInformation/email/0"],
    [{ customAttributes: { a: "x".repeat(4097) } }, "/person/customAttributes"],
  ] as const;
  for (const [person, path] of cases) {
    const answer = await realm.admin.send("POST", "/v1/identities/person", { person });
    deepEqual([answer.status, answer.body.errors?.[0].path], [400, path], answer.text);
  }
  for (const body of [{}, { name: "A", id: 7 }, { name: "A", domains: ["no domain"] }]) {
    equal((await realm.admin.send("POST", "/v1/identities/company", body)).status, 400);
  }
  for (
    const query of [
      "limit=1001",
      "limit=0",
      "page=0",
      "limit=x",
      "nickname=A",
      "filter={",
      "filter=[]",
    ]
  ) {
    const answer = await realm.admin.send("GET", `/v1/identities/persons?${query}`);
    deepEqual(codeOf(answer), [400, "query.invalid"], query);
  }
  equal((await realm.admin.send("PATCH", "/v1/identities/companies/x", {})).status, 404);
});

/** The path of a route, with `{}` for what a request fills in. */
function templateOf(path: string, id: string): string {
  return path.replace(id, "{}").replace(/\/companies\/1$/, "/companies/{}")
    .replace("/x/assign", "/{}/assign").replace("/event/seen", "/event/{}");
}

Deno.test("without a customer-data platform every route of it answers 501", async () => {
  await using realm = await testRealm({ env: { CDP_PROVIDER: "off" } });
  const id = realm.admin.identity;
  const content = { text: "hello" };
  const asked = new Set<string>();
  for (
    const [method, path, body] of [
      ["POST", "/v1/identities/persons/sync", {}],
      ["GET", "/v1/identities/persons/sync"],
      ["GET", `/v1/identities/${id}/person/export`],
      ["POST", `/v1/identities/${id}/person/message/sms`, { content }],
      ["POST", `/v1/identities/${id}/person/message/email`, {
        content: { subject: "Welcome", ...content },
      }],
      ["POST", `/v1/identities/${id}/person/message/whatsapp`, {
        content: {
          templateName: "a",
          templateData: { body: { placeholders: [] } },
          language: "en",
        },
      }],
      ["POST", "/v1/identities/companies", { name: "A" }],
      ["GET", "/v1/identities/persons"],
      ["POST", "/v1/identities/person", { person: {} }],
      ["GET", `/v1/identities/${id}/person`],
      ["POST", `/v1/identities/${id}/person`, {}],
      ["PATCH", `/v1/identities/${id}/person`, {}],
      ["DELETE", `/v1/identities/${id}/person`],
      ["PATCH", `/v1/identities/${id}/person/x/assign`],
      ["PATCH", `/v1/identities/${id}/person/unassign`],
      ["POST", `/v1/identities/${id}/person/event/seen`, {
        data: { properties: {} },
      }],
      ["GET", "/v1/identities/companies"],
      ["POST", "/v1/identities/company", { name: "A" }],
      ["GET", `/v1/identities/${id}/company`],
      ["PATCH", "/v1/identities/companies/1", {}],
      ["DELETE", "/v1/identities/companies/1"],
    ] as const
  ) {
    const answer = await realm.admin.send(method, path, body);
    deepEqual(
      codeOf(answer),
      [501, "extension.disabled"],
      `${method} ${path}: ${answer.text}`,
    );
    asked.add(`${method} ${templateOf(path, id)}`);
  }
  const { paths } = (await realm.nobody("GET", "/v1/openapi.json")).body;
  const all = Object.entries(paths as Record<string, Record<string, unknown>>)
    .filter(([path]) => /^\/v1\/identities\/.*(person|compan)/.test(path))
    .flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => /^(get|post|put|patch|delete)$/.test(method))
        .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, "{}")}`)
    );
  equal([...new Set(all)].filter((one) => !asked.has(one)).join(), "", "no route is left out");
  const populated = await realm.admin.send(
    "GET",
    `/v1/identities/${id}?populate=person,company`,
  );
  deepEqual([populated.status, populated.body.person], [200, null]);
});
