import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import type { TestRealm, TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("notes of one realm");

async function customer(realm: TestRealm) {
  const { name } = await realm.currency("10");
  const user = await realm.user({ scope: "realm" });
  return { user, account: await realm.account({ asset: name, by: user }) };
}

async function note(
  by: TestUser,
  entity: string,
  text: string,
  more: Record<string, unknown> = {},
) {
  return await by.send("POST", "/v1/notes", { entity, text, ...more });
}

async function texts(by: TestUser, entity: string): Promise<(string | null)[]> {
  const { status, body } = await by.send("GET", `/v1/notes?entity=${entity}`);
  equal(status, 200);
  return body.map(({ text }: { text: string | null }) => text);
}

test("POST /v1/notes adds notes about entities of each kind, and GET /v1/notes lists them, the latest first", async (realm) => {
  const { user, account } = await customer(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const first = await note(manager, account, "called at noon", { kind: "call" });
  equal(first.status, 201, first.text);
  deepEqual(first.body, {
    id: first.body.id,
    collection: "accounts",
    entity: account,
    kind: "call",
    text: "called at noon",
    owner: manager.id,
    created_at: first.body.created_at,
  });
  const second = (await note(realm.admin, account, "called again")).body;
  deepEqual(await texts(manager, account), ["called again", "called at noon"]);
  const page = `/v1/notes?entity=${account}&limit=1`;
  const answer = await manager.send("GET", page);
  equal(answer.headers.get("link"), `<${page}&after=${second.id}>; rel="next"`);
  const rest = await manager.send("GET", `${page}&after=${second.id}`);
  deepEqual(rest.body, [first.body]);
  const { name, account: source } = await realm.currency("10");
  const destination = { account: await realm.account({ asset: name }) };
  const move = { source: { account: source }, destination, value: "1" };
  const transaction = (await realm.admin.send("POST", "/v1/transactions", move)).body.id;
  for (
    const [collection, id] of [
      ...[["users", user.id], ["identities", user.identity], ["transactions", transaction]],
    ]
  ) equal((await note(manager, id, "x")).body.collection, collection);
  equal((await manager.send("GET", "/v1/notes?limit=3")).body.length, 3);
});

test("customers neither write nor see notes, and a note is about an entity of the realm", async (realm) => {
  const { user, account } = await customer(realm);
  await note(realm.admin, account, "watch this one");
  const owner = await realm.user({ role: "admin", scope: "own" });
  for (const [by, code] of [[user, "permission.role"], [owner, "permission.scope"]] as const) {
    equal((await note(by, account, "x")).body.code, code);
    equal((await by.send("GET", `/v1/notes?entity=${account}`)).body.code, code);
    equal((await by.send("GET", "/v1/notes")).body.code, code);
  }
  const reader = await realm.user({ role: "user", scope: "realm" });
  equal((await reader.send("GET", `/v1/notes?entity=${account}`)).body.code, "permission.role");
  const shown = await user.send("GET", `/v1/accounts/${account}`);
  ok(!/watch this one/.test(shown.text));
  const neighbour = await realm.neighbour();
  equal((await note(neighbour.admin, account, "x")).body.code, "request.invalid");
  deepEqual(await texts(neighbour.admin, account), []);
  for (const entity of [crypto.randomUUID(), "none", "'; drop table notes"]) {
    const { body } = await note(realm.admin, entity, "x");
    deepEqual([body.code, body.errors[0].path], ["request.invalid", "/entity"], entity);
  }
  for (
    const body of [
      ...[{ entity: account }, { entity: account, text: "" }, { text: "x" }],
      ...[{ entity: account, text: "x".repeat(2001) }, { entity: account, text: "x", kind: "A b" }],
    ]
  ) equal((await realm.admin.send("POST", "/v1/notes", body)).body.code, "request.invalid");
  for (const query of ["limit=0", "limit=201", "after=x", "color=red"]) {
    equal((await realm.admin.send("GET", `/v1/notes?${query}`)).body.code, "query.invalid", query);
  }
});

test("POST …/freeze takes a reason, which is a note; a customer gives none", async (realm) => {
  const { user, account } = await customer(realm);
  const post = (by: TestUser, state: string, body?: unknown) =>
    by.send("POST", `/v1/accounts/${account}/${state}`, body);
  const frozen = await post(realm.admin, "freeze", { reason: "card reported stolen" });
  deepEqual([frozen.status, frozen.body.frozen], [200, true], frozen.text);
  equal((await post(realm.admin, "unfreeze", { reason: "card found" })).status, 200);
  const { body } = await realm.admin.send("GET", `/v1/notes?entity=${account}`);
  deepEqual(
    body.map((one: { kind: string; text: string }) => [one.kind, one.text]),
    [["unfreeze", "card found"], ["freeze", "card reported stolen"]],
  );
  const own = await post(user, "freeze", { reason: "I lost my phone" });
  equal(own.body.code, "permission.role");
  equal((await user.send("GET", `/v1/accounts/${account}`)).body.frozen, false);
  equal((await post(user, "freeze")).status, 200);
  equal((await post(realm.admin, "unfreeze", {})).status, 200);
  equal((await texts(realm.admin, account)).length, 2);
  for (const given of [{ reason: "" }, { reason: "x".repeat(2001) }, { why: "x" }]) {
    equal((await post(realm.admin, "freeze", given)).body.code, "request.invalid");
  }
});

test("forgetting a person erases the texts of the notes about it, and the stored answers that show them", async (realm) => {
  const { name } = await realm.currency("10");
  const made = async (firstName: string) => {
    const body = { type: "person", country: "HR", currency: "EUR", person: { firstName } };
    const answer = await realm.admin.send("POST", "/v1/identities/person", body);
    equal(answer.status, 201, answer.text);
    const identity = answer.body.id;
    const holder = { asset: name, type: "virtual", holder: identity };
    const account = (await realm.admin.send("POST", "/v1/accounts", holder)).body.id;
    return { identity, account };
  };
  const [one, other] = [await made("Ana"), await made("Iva")];
  const key = crypto.randomUUID();
  const body = { entity: one.identity, text: "Ana Novak called" };
  const headers = { "idempotency-key": key };
  equal((await realm.admin.send("POST", "/v1/notes", body, headers)).status, 201);
  await note(realm.admin, one.account, "of Ana Novak");
  await note(realm.admin, other.account, "of Iva");
  const forgotten = await realm.admin.send("DELETE", `/v1/identities/${one.identity}/person`);
  equal(forgotten.status, 200, forgotten.text);
  deepEqual(await texts(realm.admin, one.identity), [null]);
  deepEqual(await texts(realm.admin, one.account), [null]);
  deepEqual(await texts(realm.admin, other.account), ["of Iva"]);
  const again = await realm.admin.send("POST", "/v1/notes", body, headers);
  ok(!/Novak/.test(again.text), again.text);
  await note(realm.admin, one.account, "after that");
  deepEqual(await texts(realm.admin, one.account), ["after that", null]);
});

test("forgetting a person erases stored answers from before its identity had it, and of its messages", async (realm) => {
  const post = (path: string, body: unknown, headers?: Record<string, string>) =>
    realm.admin.send("POST", `/v1/${path}`, body, headers);
  const { body: { id: identity } } = await post("identities", { type: "person" });
  const keyed = () => ({ "idempotency-key": crypto.randomUUID() });
  const noted = { entity: identity, text: "Ana Novak, not a customer yet" };
  const before = keyed();
  equal((await post("notes", noted, before)).status, 201);
  const { body: { id: other } } = await post("identities", { type: "person" });
  const others = keyed();
  equal((await post("notes", { ...noted, entity: other }, others)).status, 201);
  const email = [{ address: "ana@novak.test" }];
  const person = { firstName: "Ana", contactInformation: { email } };
  const made = await post(`identities/${identity}/person`, person);
  equal(made.status, 201, made.text);
  const mail = { content: { subject: "x", text: "x" } };
  const sent = await post(`identities/${identity}/person/message/email`, mail);
  equal(sent.status, 201, sent.text);
  const change = keyed();
  const patch = () => {
    const path = `/v1/messages/${sent.body.messages[0].messageId}`;
    return realm.admin.send("PATCH", path, { data: { of: "Ana" } }, change);
  };
  equal((await patch()).body.destination, "ana@novak.test");
  equal((await realm.admin.send("DELETE", `/v1/identities/${identity}/person`)).status, 200);
  for (const again of [await post("notes", noted, before), await patch()]) {
    deepEqual([again.status, again.body.code], [404, "person.not_found"]);
    ok(!/Ana|ana@/.test(again.text));
  }
  equal((await post("notes", { ...noted, entity: other }, others)).status, 201);
  deepEqual(await texts(realm.admin, identity), [null]);
});

test("a customer that forgets its own person leaves the realm's notes, which a manager erases afterwards", async (realm) => {
  const { user, account } = await customer(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const path = `/v1/identities/${user.identity}/person`;
  const forget = async (by: TestUser) => (await by.send("DELETE", path)).body;
  await note(manager, user.identity, "before it had a person");
  equal((await user.send("POST", path, { firstName: "Eve" })).status, 201);
  const reason = { reason: "stolen funds came in" };
  equal((await manager.send("POST", `/v1/accounts/${account}/freeze`, reason)).status, 200);
  await note(manager, user.id, "says that it knows nothing");
  equal((await forget(user)).person, null);
  deepEqual(await texts(manager, account), ["stolen funds came in"]);
  deepEqual(await texts(manager, user.id), ["says that it knows nothing"]);
  deepEqual(await texts(manager, user.identity), ["before it had a person"]);
  equal((await forget(user)).code, "person.not_found");
  equal((await user.send("POST", path, { firstName: "Eva" })).status, 201);
  await note(manager, user.id, "another name now");
  equal((await forget(user)).person, null);
  equal((await forget(manager)).person, null);
  for (const entity of [account, user.id, user.identity]) {
    ok((await texts(manager, entity)).every((text) => text === null), entity);
  }
  equal((await forget(manager)).code, "person.not_found");
  // Notes from before any person are no person's: there is nothing to forget.
  await note(manager, account, "a customer again");
  equal((await forget(manager)).code, "person.not_found");
  deepEqual((await texts(manager, account))[0], "a customer again");
});

test("one request erases what is left of persons whom customers forgot, everywhere, and nothing about others", async (realm) => {
  const { user, account } = await customer(realm);
  const { user: next } = await customer(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const path = (of: TestUser) => `/v1/identities/${of.identity}/person`;
  const add = async (of: TestUser, firstName: string) => {
    const { status, body, text } = await of.send("POST", path(of), { firstName });
    equal(status, 201, text);
    return body.person.id as string;
  };
  const moved = await add(user, "moved");
  await note(manager, user.id, "about who moves");
  const assigned = await manager.send("PATCH", `${path(next)}/${moved}/assign`);
  equal(assigned.status, 200, assigned.text);
  await note(manager, next.id, "about who moved");
  await add(user, "forgotten");
  await note(manager, account, "about who forgot itself");
  equal((await user.send("DELETE", path(user))).status, 200);
  await add(user, "last");
  await note(manager, user.identity, "about the last");
  equal((await manager.send("DELETE", path(user))).status, 200);
  deepEqual(await texts(manager, account), [null]);
  deepEqual(await texts(manager, user.identity), [null]);
  deepEqual(await texts(manager, user.id), ["about who moves"], "it is not forgotten");
  equal((await next.send("DELETE", path(next))).status, 200);
  deepEqual(
    await texts(manager, user.id),
    ["about who moves"],
    "a customer leaves the realm's notes",
  );
  equal((await manager.send("DELETE", path(next))).status, 200);
  for (const one of [user.id, next.id]) deepEqual(await texts(manager, one), [null]);
});

test("a note is added and never changed: the database refuses, its text may be erased once", async (realm) => {
  const { account } = await customer(realm);
  const { id } = (await note(realm.admin, account, "as it was")).body;
  const { schema } = locationOf(realm.made.realm);
  const sql = realm.database.platform.sql;
  for (
    const statement of [
      `update ${schema}.notes set text = 'other' where id = '${id}'`,
      `update ${schema}.notes set kind = 'other' where id = '${id}'`,
      `update ${schema}.notes set entity = id where id = '${id}'`,
      `delete from ${schema}.notes where id = '${id}'`,
      `truncate ${schema}.notes`,
    ]
  ) await rejects(sql.unsafe(statement), { code: "23001" }, statement);
  await sql.unsafe(`update ${schema}.notes set text = null, erased_at = now() where id = '${id}'`);
  const back = `update ${schema}.notes set text = 'x', erased_at = null where id = '${id}'`;
  await rejects(sql.unsafe(back), { code: "23001" });
});
