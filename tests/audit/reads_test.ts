import { deepEqual, equal, ok } from "node:assert/strict";
import { insertReads } from "../../db/records.ts";
import { randomId } from "../../domain/ids.ts";
import { until } from "../support/eventually.ts";
import type { TestRealm, TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("reads in the audit trail of one realm");

interface Line {
  actor: string;
  action: string;
  entity: string | null;
  created_at: number;
}

/** The lines about what a user looked at. */
async function viewsOf(realm: TestRealm, user: TestUser): Promise<Line[]> {
  const { body } = await realm.admin.send("GET", `/v1/audit?actor=${user.id}&sort=created_at`);
  return body.filter(({ action }: Line) => action.endsWith(".view"));
}

/** What a user looked at; no two lines in an hour say the same. */
async function seen(realm: TestRealm, user: TestUser): Promise<[string, string | null][]> {
  const lines = await viewsOf(realm, user);
  const hourly = lines.map(({ action, entity, created_at }) =>
    `${action} ${entity} ${Math.floor(created_at / 3_600_000)}`
  );
  equal(new Set(hourly).size, lines.length);
  const once = new Map(lines.map((line) => [`${line.action} ${line.entity}`, line]));
  return [...once.values()].map(({ action, entity }) => [action, entity]);
}

async function customer(realm: TestRealm) {
  const { name } = await realm.currency("10");
  const user = await realm.user();
  return { user, account: await realm.account({ asset: name, by: user }) };
}

/** Reads what is noted last, and waits until it is. */
async function caughtUp(realm: TestRealm, user: TestUser): Promise<void> {
  await user.send("GET", "/v1/messages?scope=all");
  await until(async () => (await seen(realm, user)).some(([action]) => action === "messages.view"));
}

test("a manager who looks at a customer leaves one line an hour, however much is read", async (realm) => {
  const { user, account } = await customer(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  for (
    const path of [
      ...["", "/entries", "/balance", "/balances", "/statement", "/blocks"]
        .map((one) => `accounts/${account}${one}`),
      ...[`identities/${user.identity}`, `users/${user.id}`, `notes?entity=${account}`],
      `accounts/${account}`,
    ]
  ) equal((await manager.send("GET", `/v1/${path}`)).status, 200, path);
  await caughtUp(realm, manager);
  deepEqual(await seen(realm, manager), [
    ["customer.view", user.identity],
    ["messages.view", null],
  ]);
  const whole = (await realm.admin.send("GET", `/v1/audit?entity=${user.identity}`)).body;
  deepEqual(new Set(whole.map(({ actor }: Line) => actor)), new Set([manager.id]));
});

test("another process, and one that was started again, adds no second line in the hour", async (realm) => {
  const { user, account } = await customer(realm);
  const reader = await realm.user({ role: "user", scope: "realm" });
  await using other = realm.another();
  const send = other.send(reader.key);
  equal((await send("GET", `/v1/accounts/${account}`)).status, 200);
  equal((await reader.send("GET", `/v1/users/${user.id}`)).status, 200);
  await caughtUp(realm, reader);
  await until(async () => {
    await send("GET", "/v1/identities?scope=all");
    return (await seen(realm, reader)).some(([action]) => action === "identities.view");
  });
  const views = await seen(realm, reader);
  deepEqual(views.filter(([action]) => action === "customer.view"), [
    ["customer.view", user.identity],
  ]);
  const row = {
    ...{ actor: reader.id, action: "customer.view", entity: account, request_id: "r" },
    ...{ address: null, api_key: null, api_key_name: null },
  };
  const before = (await viewsOf(realm, reader)).length;
  const hours = [1, 1, 2].map((one) => randomId(Date.now() + one * 3_600_000));
  await insertReads(realm.pool.sql, hours.map((id) => ({ ...row, id })));
  equal((await viewsOf(realm, reader)).length, before + 2, "each hour has a line of its own");
});

test("nothing is noted of customers, of one's own, of what was not found, and of plain lists", async (realm) => {
  const { user, account } = await customer(realm);
  await user.send("GET", `/v1/accounts/${account}`);
  await user.send("GET", "/v1/accounts/all");
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const { name } = await realm.currency("1");
  const own = await realm.account({ asset: name, by: manager });
  for (const path of [`accounts/${own}`, `users/${manager.id}`, "accounts/all", "auth/me"]) {
    equal((await manager.send("GET", `/v1/${path}`)).status, 200, path);
  }
  equal((await manager.send("GET", `/v1/accounts/${crypto.randomUUID()}`)).status, 404);
  const customerKey = await user.send("GET", `/v1/accounts/${own}`);
  equal(customerKey.status, 404);
  await caughtUp(realm, manager);
  deepEqual(await seen(realm, manager), [["messages.view", null]]);
  deepEqual(await seen(realm, user), []);
  for (const path of ["accounts/all?scope=all&limit=1", "transactions?scope=all"]) {
    equal((await manager.send("GET", `/v1/${path}`)).status, 200);
  }
  await until(async () => (await seen(realm, manager)).length === 3);
});

test("a read does not wait for its line, and succeeds where it cannot be written; AUDIT_READS=off writes none", async (realm) => {
  const { account } = await customer(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const statements: string[] = [];
  await using off = realm.another({ AUDIT_READS: "off" }, (text) => statements.push(text));
  const path = `/v1/accounts/${account}`;
  equal((await off.send(manager.key)("GET", path)).status, 200);
  equal((await off.send(manager.key)("GET", path)).status, 200);
  ok(!statements.some((text) => /insert into audit/.test(text)));
  const sql = realm.database.platform.sql;
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  await sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx.unsafe(`lock table ${schema}.audit in exclusive mode`);
    equal((await manager.send("GET", path)).status, 200);
    equal((await manager.send("GET", `${path}/entries`)).status, 200);
  });
  await caughtUp(realm, manager);
  equal((await seen(realm, manager)).length, 2);
});

test("finding, notes of all and lists without a reach are noted, whatever words ask for them", async (realm) => {
  const { user } = await customer(realm);
  const paths = {
    "search.view": ["search?q=user", "search?q=nobody"],
    "addresses.view": ["addresses/0x00000000000000000000000000000000000000aa"],
    "explanations.view": [`deposits/explain?hash=0x${"ab".repeat(32)}`],
    "chain.view": ["transactions/chain", "transactions/chain?after=1&limit=1"],
    "companies.view": ["identities/companies"],
    "notes.view": ["notes"],
    "aliases.view": ["aliases/all?scope=all"],
    "users.view": ["users/all?scope=-own", "users/all?scope=own,-own"],
    "identities.view": ["identities?scope=false"],
    "accounts.view": ["accounts/all?scope=deleted"],
    "events.view": ["events/all"],
    "apps_deposit.view": ["apps/deposit?scope=all", "apps/deposit/all?scope=all"],
    "ramps.view": ["ramps?scope=all"],
  };
  for (const [action, ways] of Object.entries(paths)) {
    for (const way of ways) {
      const manager = await realm.user({ role: "manage", scope: "realm" });
      const { status, text } = await manager.send("GET", `/v1/${way}`);
      ok(status === 200 || action === "addresses.view", text);
      await caughtUp(realm, manager);
      const found = (await seen(realm, manager)).map(([one]) => one);
      equal(found.includes(action), status === 200, way);
      await user.send("GET", `/v1/${way}`);
    }
  }
  deepEqual(await seen(realm, user), []);
});

test("what populate shows in the place of an id is noted, and whose alias or message was read", async (realm) => {
  const { name, account: issuer } = await realm.currency("10");
  const [one, other] = [await realm.user(), await realm.user()];
  const source = await realm.account({ asset: name, by: one, from: issuer, total: "2" });
  const destination = await realm.account({ asset: name, by: other });
  const { send } = realm.admin;
  const made = async (by: TestUser, path: string, body: unknown) => {
    const answer = await by.send("POST", `/v1/${path}`, body);
    equal(answer.status, 201, answer.text);
    return answer.body.id;
  };
  const parties = { source: { account: source }, destination: { account: destination } };
  const transaction = await made(realm.admin, "transactions", { ...parties, value: "1" });
  const alias = await made(one, "aliases", {
    alias: "one-of-them",
    type: "account",
    account: source,
  });
  equal(
    (await send("PATCH", `/v1/users/${other.id}`, { channel: { email: "o@x.test" } })).status,
    200,
  );
  const mail = { content: { subject: "x", text: "x" } };
  const sent = await send("POST", `/v1/users/${other.id}/message/email`, mail);
  equal(sent.status, 201, sent.text);
  const message = sent.body.messages[0].messageId;
  const both = "source.account,destination.account";
  const ways: [string, TestUser[]][] = [
    [`transactions/${transaction}`, []],
    [`transactions/${transaction}?populate=source.account`, [one]],
    [`transactions/${transaction}?populate=${both}&fields=id`, [one, other]],
    [`transactions/all?populate=${both}&scope=all&limit=1`, []],
    [`aliases/${alias}`, [one]],
    [`messages/${message}`, [other]],
    [`events/all?entity=${source}`, [one]],
  ];
  for (const [path, whom] of ways) {
    const reader = await realm.user({ role: "manage", scope: "realm" });
    const { status, text } = await reader.send("GET", `/v1/${path}`);
    equal(status, 200, text);
    await caughtUp(realm, reader);
    const found = await seen(realm, reader);
    const customers = found.flatMap(([action, id]) => action === "customer.view" ? [id] : []);
    deepEqual(new Set(customers), new Set(whom.map(({ identity }) => identity)), path);
  }
  // A list of one's own rows has no line of its own: whom it shows has.
  const reader = await realm.user({ role: "manage", scope: "realm" });
  const own = await realm.account({ asset: name, by: reader, from: issuer, total: "2" });
  const paid = { source: { account: own }, destination: { account: destination }, value: "1" };
  await made(reader, "transactions", paid);
  equal((await reader.send("GET", `/v1/transactions?populate=${both}`)).body.rows.length, 1);
  await caughtUp(realm, reader);
  const last = (await seen(realm, reader)).filter(([action]) => action !== "messages.view");
  deepEqual(last, [["customer.view", other.identity]]);
  deepEqual([await seen(realm, one), await seen(realm, other)], [[], []]);
});
