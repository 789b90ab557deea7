/** What a stolen key, a customer among others, or a liar as receiver must not achieve with webhooks. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { claimsOf } from "../../domain/security/sessions.ts";
import { type Answer, type Send, type TestRealm, testRealm } from "../support/realm.ts";
import { openSlots } from "../../workers/webhooks/slots.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const HOOK = { url: "https://hooks.example.com/purser", events: ["*"] };
const codeOf = ({ status, body }: Answer) => [status, body.code];

function sender(realm: TestRealm, key: string): Send {
  return (method, path, body) => realm.nobody(method, path, body, { "x-api-key": key });
}

Deno.test("neither a machine key nor an old login makes a webhook, leads one elsewhere or learns its secret", async () => {
  await using realm = await testRealm();
  const { services } = realm;
  const narrow = { name: "m", scopes: "own" };
  const made = await realm.admin.send("POST", "/v1/keys", narrow);
  equal(made.status, 201, made.text);
  const ago = Date.now() - 11 * 60_000;
  const old = await services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, ago, services.config.userKeyTtlS),
  );
  const { id } = (await realm.admin.send("POST", "/v1/webhooks", HOOK)).body;
  const path = `/v1/webhooks/${id}`;
  for (
    const [key, code] of [[made.body.key, "auth.invalid"], [
      old,
      "auth.expired",
    ]]
  ) {
    const send = sender(realm, key);
    for (
      const [method, at, body] of [
        ["POST", "/v1/webhooks", HOOK],
        ["PATCH", path, { url: "https://elsewhere.example.com" }],
        ["PATCH", path, { events: ["stop.set"] }],
        ["PATCH", path, { active: true }],
        ["POST", `${path}/rotate`, {}],
        ["POST", `${path}/undelete`],
      ] as const
    ) {
      deepEqual(
        codeOf(await send(method, at, body)),
        [401, code],
        `${method} ${at}`,
      );
    }
    const off = await send("PATCH", path, {
      active: false,
      data: { why: "odd" },
    });
    deepEqual([off.status, off.body.active, off.body.url], [
      200,
      false,
      HOOK.url,
    ], "to end it may");
  }
});

Deno.test("a flood of messages keeps no warning from its reader", async () => {
  await using realm = await testRealm();
  const customer = await realm.user();
  await realm.command((tx) =>
    tx`update users set email = 'own@example.com' where id = ${customer.id}`
  );
  const flood = () => {
    const message = { to: "Own@example.com", content: { subject: "Offer", text: "Offer" } };
    return customer.send("POST", "/v1/apps/message/email", message);
  };
  for (let i = 0; i < 20; i++) equal((await flood()).status, 201);
  equal((await flood()).status, 429);
  equal((await customer.send("POST", "/v1/webhooks", HOOK)).status, 201);
  const told = () =>
    realm.pool.sql<{ destination: string }[]>`
      select destination from messages where user_id = ${customer.id} and notice is not null`;
  deepEqual((await told()).map(({ destination }) => destination), ["own@example.com"]);
  equal((await flood()).status, 429, "what the service writes counts for others");
  // The service itself floods nobody either: ten of a kind a day.
  for (let i = 0; i < 25; i++) {
    await realm.command((tx) => tx`update webhooks set told_at = now() - interval '11 minutes'`);
    const { status } = await customer.send("POST", "/v1/webhooks", HOOK);
    ok([201, 400].includes(status));
    if (status === 201) continue;
    await realm.command((tx) => tx`update webhooks set deleted_at = now()`);
  }
  equal((await told()).length, 10);
});

Deno.test("owners and administrators are mailed when a webhook is made or changed, once in ten minutes", async () => {
  await using realm = await testRealm();
  const mails = () =>
    realm.pool.sql<{ user: string }[]>`
      select user_id as "user" from messages where channel = 'email' order by user_id`;
  await realm.command((tx) =>
    tx`update users set email = id || '@example.com' where email is null or email not like '%@%'`
  );
  const user = await realm.user();
  await realm.command((tx) => tx`update users set email = 'own@example.com' where id = ${user.id}`);
  equal((await user.send("POST", "/v1/webhooks", HOOK)).status, 201);
  deepEqual(
    (await mails()).map((one) => one.user),
    [user.id],
    "a customer's: the customer alone",
  );
  const { id } = (await realm.admin.send("POST", "/v1/webhooks", HOOK)).body;
  deepEqual(
    (await mails()).map((one) => one.user).sort(),
    [user.id, realm.admin.id].sort(),
  );
  for (const url of ["https://a.example.com", "https://b.example.com"]) {
    equal(
      (await realm.admin.send("PATCH", `/v1/webhooks/${id}`, { url })).status,
      200,
    );
  }
  equal((await mails()).length, 2, "a series is told of once");
  await realm.command((tx) => tx`update webhooks set told_at = now() - interval '11 minutes'`);
  equal(
    (await realm.admin.send("PATCH", `/v1/webhooks/${id}`, { data: {} }))
      .status,
    200,
  );
  equal(
    (await mails()).length,
    2,
    "of what changes nothing that is sent nobody is told",
  );
  equal(
    (await realm.admin.send("POST", `/v1/webhooks/${id}/rotate`, {})).status,
    200,
  );
  equal((await mails()).length, 3);
  const audit = (await realm.admin.send("GET", `/v1/audit?entity=${id}`)).text;
  ok(audit.includes("/rotate"), "the mail names where all changes are");
});

Deno.test("restored webhooks count towards the limits, and customers leave some to administrators", async () => {
  await using realm = await testRealm();
  const { send } = realm.admin;
  const ids: string[] = [];
  const fill = async (by: Send, count: number) => {
    for (let i = 0; i < count; i++) {
      const made = await by("POST", "/v1/webhooks", HOOK);
      equal(made.status, 201, made.text);
      ids.push(made.body.id);
    }
  };
  await fill(send, 20);
  for (const id of ids) await send("DELETE", `/v1/webhooks/${id}`);
  const old = [...ids];
  await fill(send, 19);
  equal((await send("POST", `/v1/webhooks/${old[0]}/undelete`)).status, 200);
  deepEqual(codeOf(await send("POST", `/v1/webhooks/${old[1]}/undelete`)), [
    400,
    "request.invalid",
  ]);
  for (const count of [20, 20, 20]) {
    await fill((await realm.user()).send, count);
  }
  const customer = await realm.user();
  deepEqual(codeOf(await customer.send("POST", "/v1/webhooks", HOOK)), [
    400,
    "request.invalid",
  ]);
  await fill((await realm.user({ role: "manage", scope: "realm" })).send, 1);
});

Deno.test("tests that wait are not added to", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const input = { url: receiver.url, events: ["stop.set"] };
  const { id } = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
  const ask = async () => {
    for (let i = 0; i < 5; i++) {
      const asked = await realm.admin.send("POST", `/v1/webhooks/${id}/test`);
      deepEqual([asked.status, asked.body.status], [200, "PENDING"]);
    }
  };
  await ask();
  receiver.answer = () => new Response("no", { status: 500 });
  await worker.run();
  equal(receiver.received.length, 1);
  await ask();
  await worker.run();
  receiver.answer = () => new Response();
  worker.later(10_000);
  await worker.run();
  equal(receiver.received.length, 2, "the one that waited");
  await ask();
  await worker.run();
  equal(receiver.received.length, 3);
});

Deno.test("queues of a realm take turns for its slots", async () => {
  const slots = openSlots({ all: 4, perRealm: 2 });
  const done: string[] = [];
  const leaves: (() => void)[] = [];
  const asked = ["slow", "slow", "slow", "slow", "slow", "quick"].map(
    async (queue) => {
      const leave = await slots.take("realm", queue);
      done.push(queue);
      leaves.push(leave);
    },
  );
  for (let i = 0; i < asked.length; i++) {
    await new Promise((resolve) => setTimeout(resolve));
    leaves.shift()?.();
  }
  await Promise.all(asked);
  ok(done.indexOf("quick") <= 3, done.join());
});
