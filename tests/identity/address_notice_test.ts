/** What is told to the e-mail address that a user had. */
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { createUser } from "../../domain/identity/users.ts";
import { tellSecurityChange } from "../../domain/messages/notices.ts";
import { queueNotices } from "../../domain/messages/messages.ts";
import { VERIFIER } from "../support/new_realm.ts";
import { PASSWORD, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const HOOK = { url: "https://hooks.example.com/purser", events: ["*"] };
const test = sharing("notices to addresses that users had");

test("an address hears that its user changed it, before the notices of a taken login go elsewhere", async (realm) => {
  const user = await realm.user();
  const path = `/v1/users/${user.id}`;
  await addressed(realm, user.id, "Owner@example.com");
  equal((await user.send("PATCH", path, { data: { x: 1 } })).status, 200);
  deepEqual(await mailed(realm, user.id), [], "another change is none of the address");
  const thief = { channel: { email: "thief@example.com" } };
  equal((await user.send("PATCH", path, thief)).status, 200);
  equal((await user.send("PATCH", path, thief)).status, 200);
  equal((await user.send("POST", "/v1/webhooks", HOOK)).status, 201);
  deepEqual(await mailed(realm, user.id), ["owner@example.com", "thief@example.com"]);
});

test("an address hears that its user removed it, and a refused change tells nobody", async (realm) => {
  const user = await realm.user();
  await addressed(realm, user.id, "left@example.com");
  const { body: { username } } = await realm.admin.send("GET", `/v1/users/${realm.admin.id}`);
  const taken = { username, channel: {} };
  equal((await user.send("PATCH", `/v1/users/${user.id}`, taken)).status, 409);
  deepEqual(await mailed(realm, user.id), []);
  equal((await user.send("PATCH", `/v1/users/${user.id}`, { channel: {} })).status, 200);
  deepEqual(await mailed(realm, user.id), ["left@example.com"]);
});

test("a customer has the service write to no strangers by naming one address after another", async (realm) => {
  const user = await realm.user();
  for (let i = 0; i < 8; i++) {
    const change = { channel: { email: `stranger-${i}@example.com` } };
    equal((await user.send("PATCH", `/v1/users/${user.id}`, change)).status, 200);
  }
  deepEqual(await mailed(realm, user.id), ["stranger-0@example.com", "stranger-1@example.com"]);
  const other = await realm.user();
  await addressed(realm, other.id, "another@example.com");
  await addressed(realm, other.id, "next@example.com");
  deepEqual(await mailed(realm, other.id), [], "of a change by others nobody is told");
});

test("whoever has the service write other notices, also twenty a minute, keeps none of a changed address from its reader", async (realm) => {
  const user = await realm.user({ role: "manage" });
  const destination = "reader@example.com";
  await addressed(realm, user.id, destination);
  const { secrets } = realm.services;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const message = { channel: "email", content: { subject: "a", text: "b" } } as const;
  const notices = Array(20).fill({ message, to: { destination }, secrets, owner: user.id });
  for (const kind of ["sync", "disabled"] as const) {
    const made = await realm.command((tx) => queueNotices(tx, actor, notices, kind));
    equal(made.length, 20);
  }
  equal((await user.send("POST", "/v1/webhooks", HOOK)).status, 201);
  const thief = { channel: { email: "thief@example.com" } };
  equal((await user.send("PATCH", `/v1/users/${user.id}`, thief)).status, 200);
  const told = await realm.pool.sql<{ notice: string }[]>`
    select notice from messages where owner = ${user.id} and notice in ('address', 'webhook') order by id`;
  deepEqual(told.map(({ notice }) => notice), ["webhook", "address"]);
});

test("a customer that gives its users another's address uses up none of the notices that this one gets", async (realm) => {
  const [victim, chief] = [await realm.user(), await realm.user({ role: "admin", scope: "own" })];
  const named = { username: "made-by-a-chief", password: PASSWORD };
  const made = (await chief.send("POST", "/v1/users", named)).body;
  const destination = "victim@example.com";
  await addressed(realm, victim.id, destination);
  const { secrets } = realm.services;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const message = { channel: "email", content: { subject: "a", text: "b" } } as const;
  const flood = async (kind: "address" | "security", owners: readonly string[]) => {
    const notices = owners.map((owner) => ({ message, to: { destination }, secrets, owner }));
    return (await realm.command((tx) => queueNotices(tx, actor, notices, kind))).length;
  };
  const users = Array.from({ length: 20 }, (_, i) => i % 2 ? chief.id : made.id);
  for (const kind of ["address", "security"] as const) {
    equal(await flood(kind, users), 20);
    equal(await flood(kind, [made.id]), 0, "through all its users twenty in all");
    equal(await flood(kind, [chief.id]), 0);
  }
  const thief = { channel: { email: "thief@example.com" } };
  equal((await victim.send("PATCH", `/v1/users/${victim.id}`, thief)).status, 200);
  deepEqual(await mailed(realm, victim.id), [destination]);
});

test("customers that give many users a stranger's address have it told few notices a day, and keep none of another's from it", async (realm) => {
  const destination = "stranger@example.com";
  const noticesTo = async () => {
    const [{ count }] = await realm.pool.sql<{ count: number }[]>`
      select count(*)::integer as count from messages
      where lower(destination) = ${destination} and notice = 'security'`;
    return count;
  };
  const tell = (id: string, laterMs = 0) =>
    realm.command((tx) =>
      tellSecurityChange(tx, { ...realm.admin.actor, at: Date.now() + laterMs }, {
        ...{ user: { id, email: destination }, change: "password" },
        secrets: realm.services.secrets,
      })
    );
  const tellOfMade = async (users: number, apartMs: number) => {
    const chief = await realm.user({ role: "admin", scope: "own" });
    for (let i = 0; i < users; i++) {
      const named = { username: `made-${crypto.randomUUID()}`, password: PASSWORD };
      await tell((await chief.send("POST", "/v1/users", named)).body.id, i * apartMs);
    }
  };
  await tellOfMade(35, 10_000);
  equal(await noticesTo(), 30, "of all users of a customer together");
  // Customers that anybody can become by signing up.
  for (let customers = 0; customers < 20; customers++) {
    const { id } = await realm.user();
    for (let i = 0; i < 2; i++) await tell(id);
  }
  equal(await noticesTo(), 70);
  const other = await realm.user({ role: "admin", scope: "own" });
  for (let i = 0; i < 5; i++) await tell(other.id, i * 700_000);
  equal(await noticesTo(), 73, "of each customer few, where there are many");
  await tellOfMade(15, 10_000);
  equal(await noticesTo(), 83, "also of one that makes many users");
  const victim = await realm.user();
  for (let i = 0; i < 2; i++) await tell(victim.id);
  equal(await noticesTo(), 85, "another's own are told");
  const staff = await realm.user({ role: "manage", scope: "realm" });
  for (let i = 0; i < 2; i++) await tell(staff.id);
  equal(await noticesTo(), 87);
});

test("who has a customer's key uses up none of its notices by those about users that it makes", async (realm) => {
  const destination = "chief@example.com";
  const chief = await realm.user({ role: "admin", scope: "own" });
  const tell = (id: string) =>
    realm.command((tx) =>
      tellSecurityChange(tx, { ...realm.admin.actor, at: Date.now() }, {
        ...{ user: { id, email: destination }, change: "password" },
        secrets: realm.services.secrets,
      })
    );
  for (let i = 0; i < 12; i++) {
    const named = { username: `made-${crypto.randomUUID()}`, password: PASSWORD };
    await tell((await chief.send("POST", "/v1/users", named)).body.id);
  }
  const about = async (condition: string) =>
    (await realm.pool.sql.unsafe(
      `select from messages where destination = $1 and owner ${condition} $2`,
      [destination, chief.id],
    )).length;
  equal(await about("<>"), 12);
  await tell(chief.id);
  equal(await about("="), 1);
});

test("a user uses up the notices of no other that its customer has made, through users and users of those neither", async (realm) => {
  const destination = "shared@example.com";
  const chief = await realm.user({ role: "admin", scope: "own" });
  const makeUser = async (maker: string) => {
    const actor = { ...chief.actor, user: maker, at: Date.now() };
    const made = await realm.command((tx) =>
      createUser(tx, actor, {
        ...{ username: `made-${crypto.randomUUID()}`, verifier: VERIFIER, channel: {}, data: {} },
        ...{ roles: ["admin"], scopes: ["own"] },
      })
    );
    return made.id;
  };
  const [robbed, robber] = [await makeUser(chief.id), await makeUser(chief.id)];
  const below: string[] = [];
  for (let i = 0; i < 8; i++) below.push(await makeUser(robber));
  for (let i = 0; i < 7; i++) below.push(await makeUser(below.at(-1)!));
  const tell = (id: string) =>
    realm.command((tx) =>
      tellSecurityChange(tx, { ...realm.admin.actor, at: Date.now() }, {
        ...{ user: { id, email: destination }, change: "password" },
        secrets: realm.services.secrets,
      })
    );
  const about = async (ids: string[]) =>
    (await realm.pool.sql`select from messages
      where destination = ${destination} and owner = any (${ids}::uuid[])`).length;
  for (const id of [robber, ...below]) await tell(id);
  equal(await about([robber, ...below]), 10);
  for (let i = 0; i < 3; i++) await tell(robbed);
  equal(await about([robbed]), 2);
  for (const id of below) await tell(id);
  equal(await about([robber, ...below]), 10);
});

test("an address that has had ten notices of webhooks in a day gets no more, and webhooks are made all the same", async (realm) => {
  const user = await realm.user();
  const destination = "hooked@example.com";
  await addressed(realm, user.id, destination);
  const { secrets } = realm.services;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const message = { channel: "email", content: { subject: "a", text: "b" } } as const;
  const notices = Array(10).fill({ message, to: { destination }, secrets, owner: user.id });
  await realm.command((tx) => queueNotices(tx, actor, notices, "webhook"));
  equal((await user.send("POST", "/v1/webhooks", HOOK)).status, 201);
  equal((await mailed(realm, user.id)).length, 10);
});

test("an e-mail to an address that a user had holds no words of the user, and the request where its id is one of ours", async (realm) => {
  const user = await realm.user();
  const change = async (n: number, id: string) => {
    const body = { channel: { email: `words-${n}@example.com` } };
    const headers = { "x-request-id": id };
    const { status } = await user.send("PATCH", `/v1/users/${user.id}`, body, headers);
    equal(status, 200);
  };
  const own = crypto.randomUUID();
  for (const [n, id] of ["first", "www.example.net:your-prize", own].entries()) await change(n, id);
  const rows = await realm.pool.sql<{ id: string; content: Uint8Array }[]>`
    select id, content from messages where owner = ${user.id} and notice is not null order by id`;
  const { secrets } = realm.services;
  const texts = rows.map(({ id, content }) =>
    secrets.decrypt("message", `${realm.id}|${id}`, content)!
  );
  equal(texts.length, 2);
  for (const text of texts) doesNotMatch(text, /example\.net|words-/);
  match(texts[1], new RegExp(own));
});

/** Gives a user an address, as an administrator. */
async function addressed(realm: TestRealm, user: string, email: string): Promise<void> {
  const changed = await realm.admin.send("PATCH", `/v1/users/${user}`, { channel: { email } });
  equal(changed.status, 200, changed.text);
}

async function mailed(realm: TestRealm, user: string): Promise<string[]> {
  const rows = await realm.pool.sql<{ destination: string }[]>`
    select destination from messages where owner = ${user} and notice is not null order by id`;
  return rows.map(({ destination }) => destination);
}
