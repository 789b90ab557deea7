import { deepEqual, equal, ok } from "node:assert/strict";
import { listenUntil } from "../../db/events.ts";
import { type Answer, rowsOf, type TestRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];
const unique = () => crypto.randomUUID().slice(0, 8);
const mail = () => `${unique()}@attacks.example`;
const contact = (address: string) => ({
  contactInformation: { email: [{ address }] },
});

async function personOf(
  user: TestUser,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  const made = await user.send(
    "POST",
    `/v1/identities/${user.identity}/person`,
    more,
  );
  equal(made.status, 201, made.text);
  return made;
}

/** Everything that the realm's tables hold of a text, by table. */
async function tracesOf(realm: TestRealm, text: string): Promise<string[]> {
  const tables = await rowsOf<{ name: string }>(
    realm,
    `select table_name as name from information_schema.tables
     where table_schema = current_schema() and table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [{ n }] = await rowsOf<{ n: string }>(
      realm,
      `select count(*) as n from "${name}" t where t::text ilike '%${text}%'`,
    );
    if (`${n}` !== "0") found.push(name);
  }
  return found;
}

const test = sharing("attacks on persons in one realm");

test("a person that moved is erased from the answers and messages of those that had it", async (realm) => {
  await realm.command((tx) => listenUntil(tx, Date.now() + 3_600_000));
  const address = mail();
  const [first, second] = [await realm.user(), await realm.user()];
  const key = { "idempotency-key": unique() };
  const path = `/v1/identities/${first.identity}/person`;
  const body = { lastName: `Moved${unique()}`, ...contact(address) };
  const made = await first.send("POST", path, body, key);
  equal(made.status, 201, made.text);
  const content = { subject: "Hello", text: "Hello" };
  const sent = await realm.admin.send("POST", `${path}/message/email`, {
    content,
  });
  equal(sent.status, 201, sent.text);
  const { id } = made.body.person;
  const take = `/v1/identities/${second.identity}/person/${id}/assign`;
  equal((await realm.admin.send("PATCH", take)).status, 200);
  const later = mail();
  await personOf(first, contact(later));
  const kept = await realm.admin.send("POST", `${path}/message/email`, {
    content,
  });
  equal(kept.status, 201, kept.text);
  await realm.drain();
  const gone = await realm.admin.send(
    "DELETE",
    `/v1/identities/${second.identity}/person`,
  );
  equal(gone.status, 200, gone.text);
  deepEqual(codeOf(await first.send("POST", path, body, key)), [
    404,
    "person.not_found",
  ]);
  deepEqual(await tracesOf(realm, address), []);
  const message = `/v1/messages/${kept.body.messages[0].messageId}`;
  equal(
    (await realm.admin.send("GET", message)).body.destination,
    later,
    "another person's stays",
  );
});

test("events of messages forget the address of a person that is forgotten", async (realm) => {
  await realm.command((tx) => listenUntil(tx, Date.now() + 3_600_000));
  const [user, address] = [await realm.user(), mail()];
  const made = await personOf(user, contact(address));
  const path = `/v1/identities/${user.identity}/person`;
  const content = { subject: "Hello", text: "Hello" };
  const sent = await user.send("POST", `${path}/message/email`, { content });
  const { messageId: message } = sent.body.messages[0];
  await realm.command(async (tx) => {
    const payload = JSON.stringify({ id: message, destination: address });
    await tx`insert into events (type, entity, owner, payload, created_at)
      values ('message.updated', ${message}, ${user.id}, ${payload}::text::json, now())`;
  });
  equal((await user.send("DELETE", path)).status, 200);
  deepEqual(await tracesOf(realm, address), [], made.body.person.id);
  const [event] = await rowsOf<{ payload: unknown }>(
    realm,
    `select payload from events where type = 'message.updated' and entity = '${message}'`,
  );
  deepEqual(event.payload, { id: message });
});

test("who had a person before does not see what the next one adds to it", async (realm) => {
  const [first, second] = [await realm.user(), await realm.user()];
  const made = await personOf(first, { lastName: "Before" });
  const path = `/v1/identities/${second.identity}/person`;
  equal(
    (await realm.admin.send("PATCH", `${path}/${made.body.person.id}/assign`))
      .status,
    200,
  );
  equal((await second.send("PATCH", path, { city: "Secret" })).status, 200);
  equal((await second.send("PATCH", `${path}/unassign`)).status, 200);
  deepEqual((await first.send("GET", "/v1/identities/persons")).body, []);
  const take = `/v1/identities/${first.identity}/person/${made.body.person.id}/assign`;
  deepEqual(codeOf(await first.send("PATCH", take)), [404, "person.not_found"]);
  equal((await second.send("GET", "/v1/identities/persons")).body.length, 1);
});

test("conditions on one field narrow a list, and none is passed over", async (realm) => {
  const user = await realm.user();
  const { body: { id: identity } } = await user.send(
    "POST",
    "/v1/identities",
    {},
  );
  const other = `/v1/identities/${identity}/person`;
  await personOf(user, { city: "Split", country: "Croatia" });
  equal(
    (await user.send("POST", other, { city: "Zadar", country: "Croatia" }))
      .status,
    201,
  );
  const list = async (query: string) => await user.send("GET", `/v1/identities/persons?${query}`);
  const filter = (value: unknown) => `filter=${encodeURIComponent(JSON.stringify(value))}`;
  equal((await list("country=Croatia")).body.length, 2);
  const both = {
    "#and": [{ "#eq": { city: "Split" } }, { "#eq": { city: "Zadar" } }],
  };
  deepEqual((await list(filter(both))).body, []);
  deepEqual((await list(`city=Split&${filter({ city: "Zadar" })}`)).body, []);
  for (
    const query of [
      `filter=${encodeURIComponent('{"__proto__": {"city": "Split"}}')}`,
      "constructor=x",
      "toString=x",
      "customAttributes.=x&customAttributes..=x&city.x=1",
      filter({ "#or": [] }),
      filter({ city: { "#eq": 1 } }),
      "contactInformation.facebook=x",
    ]
  ) {
    deepEqual(codeOf(await list(query)), [400, "query.invalid"], query);
  }
  for (
    const query of [
      "city=%00",
      "customAttributes.a=%00",
      "tags=%00",
      "email=%00",
      "id=%00",
    ]
  ) {
    ok((await list(query)).status < 500, query);
  }
  const companies = await user.send(
    "GET",
    `/v1/identities/companies?${filter({ name: "A" })}`,
  );
  deepEqual(companies.body, []);
  const unknown = await user.send(
    "GET",
    `/v1/identities/companies?${filter({ x: 1 })}`,
  );
  deepEqual(codeOf(unknown), [400, "query.invalid"]);
});

test("no text breaks a profile: odd characters are kept or refused", async (realm) => {
  const odd = [
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\u202e",
    "__proto__",
    "İ",
    "😀".repeat(100),
  ];
  for (const text of odd) {
    for (
      const body of [
        { firstName: text },
        { city: text },
        { tags: [text] },
        { profilePicture: `https://pictures.example/${text}` },
        { customAttributes: { [text]: text } },
        { customAttributes: { a: { [text]: [text] } } },
        {
          contactInformation: {
            facebook: [{ applicationId: text, userId: text }],
          },
        },
      ]
    ) {
      const made = await realm.admin.send("POST", "/v1/identities/person", {
        person: body,
      });
      ok(
        [201, 400].includes(made.status),
        `${JSON.stringify(body)}: ${made.text}`,
      );
    }
    for (
      const body of [{ name: text }, {
        name: "A",
        customAttributes: { [text]: text },
      }]
    ) {
      const made = await realm.admin.send(
        "POST",
        "/v1/identities/companies",
        body,
      );
      ok(
        [201, 400].includes(made.status),
        `${JSON.stringify(body)}: ${made.text}`,
      );
    }
    const event = { data: { properties: { [text]: text } } };
    const one = await realm.user();
    await personOf(one);
    const path = `/v1/identities/${one.identity}/person`;
    const told = await one.send("POST", `${path}/event/seen`, event);
    ok([201, 400].includes(told.status), told.text);
    equal((await one.send("GET", `${path}/export`)).status, 200);
  }
  const customAttributes = JSON.parse('{"__proto__": {"admin": true}}');
  const polluted = await realm.admin.send("POST", "/v1/identities/person", {
    person: { customAttributes },
  });
  deepEqual(codeOf(polluted), [400, "request.invalid"]);
});

test("one e-mail address at once makes one person, and tags added at once all stay", async (realm) => {
  const address = mail();
  const made = await Promise.all(
    Array.from(
      { length: 6 },
      () =>
        realm.admin.send("POST", "/v1/identities/person", {
          person: contact(address),
        }),
    ),
  );
  deepEqual(made.map(({ status }) => status).sort(), [
    201,
    409,
    409,
    409,
    409,
    409,
  ]);
  ok(
    made.every(({ status, body }) => status === 201 || body.code === "person.taken"),
  );
  const path = `/v1/identities/${made.find(({ status }) => status === 201)!.body.id}/person`;
  const tags = ["a", "b", "c", "d", "e", "f"];
  const added = await Promise.all(
    tags.map((tag) => realm.admin.send("PATCH", path, { tags: [tag] })),
  );
  deepEqual(added.map(({ status }) => status), tags.map(() => 200));
  deepEqual(
    (await realm.admin.send("GET", path)).body.person.tags.sort(),
    tags,
  );
});

test("one domain makes one company, and one person has one identity, also at once", async (realm) => {
  const tags = ["a", "b", "c", "d", "e", "f"];
  const domain = `${unique()}.example`;
  const companies = await Promise.all(
    tags.map((name) =>
      realm.admin.send("POST", "/v1/identities/companies", {
        name,
        domains: [domain],
      })
    ),
  );
  deepEqual(companies.map(({ status }) => status).sort(), [
    201,
    409,
    409,
    409,
    409,
    409,
  ]);
  // One person taken by several identities at once has one identity in the end.
  const { body: { id } } = await realm.admin.send(
    "POST",
    "/v1/identities/person",
    { person: {} },
  );
  const { person } = (await realm.admin.send("GET", `/v1/identities/${id}/person`)).body;
  const users = await Promise.all([realm.user(), realm.user(), realm.user()]);
  const taken = await Promise.all(
    users.map(({ identity }) =>
      realm.admin.send(
        "PATCH",
        `/v1/identities/${identity}/person/${person.id}/assign`,
      )
    ),
  );
  deepEqual(taken.map(({ status }) => status), [200, 200, 200]);
  const query = JSON.stringify({ person: person.id });
  const [holder, ...more] = (await realm.admin.send(
    "GET",
    `/v1/identities/all?scope=all&query=${query}`,
  )).body;
  deepEqual(more, []);
  const shown = await realm.admin.send(
    "GET",
    `/v1/identities/${holder.id}/person`,
  );
  equal(shown.body.person.externalId, holder.id);
});

test("a person stays small however often it is added to", async (realm) => {
  const user = await realm.user();
  await personOf(user);
  const path = `/v1/identities/${user.identity}/person`;
  const push = (n: number) => ({
    contactInformation: {
      push: Array.from({ length: 5 }, (_, i) => ({
        ...{ applicationId: "a", registrationId: `${n}-${i}` },
        additionalData: { text: "x".repeat(60_000) },
      })),
    },
  });
  const answers: Answer[] = [];
  for (let n = 0; n < 5; n++) {
    answers.push(await user.send("PATCH", path, push(n)));
  }
  ok(
    answers.every(({ status }) => status === 200 || status === 400),
    answers.at(-1)!.text,
  );
  equal(answers.at(-1)!.body.code, "request.invalid");
  const whole = await realm.admin.send("POST", "/v1/identities/person", {
    person: push(9).contactInformation.push.length > 0 ? push(9) : {},
  });
  deepEqual(codeOf(whole), [400, "request.invalid"]);
});

test("an export is whole, in parts of a bounded size", async (realm) => {
  const user = await realm.user();
  await personOf(user);
  const path = `/v1/identities/${user.identity}/person`;
  const properties = { text: "x".repeat(60_000) };
  for (let n = 0; n < 80; n++) {
    const told = await user.send("POST", `${path}/event/seen`, {
      data: { properties: { ...properties, n } },
    });
    equal(told.status, 201, told.text);
  }
  const seen: number[] = [];
  let next = "";
  let parts = 0;
  do {
    const { body, text } = await user.send(
      "GET",
      `${path}/export${next && `?events_before=${next}`}`,
    );
    ok(text.length < 5_000_000, `${text.length}`);
    seen.push(
      ...body.events.map((one: { properties: { n: number } }) => one.properties.n),
    );
    next = body.events_next;
    parts++;
  } while (next !== null && parts < 20);
  ok(parts > 1);
  deepEqual(seen, Array.from({ length: 80 }, (_, n) => 79 - n));
});
