/** The routes of messages: the nine sends, and the collection. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { sharing } from "../support/sharing.ts";
import { EMAIL, number, PENDING, SECRET, WHATSAPP, writeTo } from "./fixture.ts";

const test = sharing("messages in one realm", { env: { INFOBIP_WEBHOOK_SECRET: SECRET } });

test("the sends to anyone store a message of the state PENDING, and answer with its status", async (realm) => {
  const to = number();
  await writeTo(realm, to);
  const sends = [
    ["sms", to, { text: "Your code is 123456" }],
    ["whatsapp", to, WHATSAPP],
    ["email", "ada@example.com", EMAIL],
  ] as const;
  for (const [channel, to, content] of sends) {
    const path = `/v1/apps/message/${channel}`;
    const { status, body, headers } = await realm.admin.send("POST", path, {
      to,
      content,
    });
    equal(status, 201, JSON.stringify(body));
    ok(headers.get("x-request-id"));
    const [{ messageId }] = body.messages;
    deepEqual(body, {
      messages: [{ messageId, status: PENDING, destination: to }],
    });
    await realm.drain(); // nothing is configured: it stays as it is
    const stored = await realm.admin.send("GET", `/v1/messages/${messageId}`);
    const { created_at, ...rest } = stored.body;
    ok(created_at > 0);
    deepEqual(rest, {
      ...{
        id: messageId,
        channel,
        destination: to,
        status: PENDING,
        provider: null,
      },
      ...{ owner: realm.admin.id, data: {}, error: null },
    });
    ok(!stored.text.includes("123456"));
  }
  const { body: { messages: [{ messageId }] } } = await realm.admin.send(
    "POST",
    "/v1/apps/message/email",
    { to: "ada@example.com", content: EMAIL },
  );
  const query = JSON.stringify({
    "status.groupName": "PENDING",
    channel: "email",
  });
  const found = await realm.admin.send(
    "GET",
    `/v1/messages/all?query=${encodeURIComponent(query)}`,
  );
  ok(found.body.some((one: { id: string }) => one.id === messageId));
});

test("a message to a user goes to its channel; without one it is refused", async (realm) => {
  const [phone, whatsapp] = [number(), number()];
  const channel = { phone, whatsapp, email: "grace@example.com" };
  const user = await realm.user();
  const set = await realm.admin.send("PATCH", `/v1/users/${user.id}`, {
    channel,
  });
  equal(set.status, 200, set.text);
  await writeTo(realm, whatsapp);
  const path = `/v1/users/${user.id}/message`;
  for (
    const [name, content, destination] of [
      ["sms", { text: "hello" }, phone],
      ["whatsapp", WHATSAPP, whatsapp],
      ["email", EMAIL, "grace@example.com"],
    ] as const
  ) {
    const answer = await realm.admin.send("POST", `${path}/${name}`, {
      content,
    });
    equal(answer.status, 201, answer.text);
    equal(answer.body.messages[0].destination, destination);
    const id = answer.body.messages[0].messageId;
    equal(
      (await realm.admin.send("GET", `/v1/messages/${id}`)).body.user,
      user.id,
    );
  }
  // The specification also names channel.sms as the target of an SMS.
  const sms = number();
  await realm.admin.send("PATCH", `/v1/users/${user.id}`, {
    channel: { phone, sms },
  });
  const text = { content: { text: "hello" } };
  const toSms = await realm.admin.send("POST", `${path}/sms`, text);
  equal(toSms.body.messages[0].destination, sms);
  for (const name of ["whatsapp", "email"]) {
    const content = name === "email" ? EMAIL : WHATSAPP;
    const { status, body } = await realm.admin.send("POST", `${path}/${name}`, {
      content,
    });
    deepEqual([status, body.code], [422, "recipient.missing"], name);
  }
  await realm.admin.send("PATCH", `/v1/users/${user.id}`, {
    channel: { phone: "the office" },
  });
  equal(
    (await realm.admin.send("POST", `${path}/sms`, text)).body.code,
    "recipient.invalid",
  );
  const stranger = await realm.user();
  equal(
    (await stranger.send("POST", `${path}/sms`, text)).body.code,
    "user.not_found",
  );
  await realm.admin.send("PATCH", `/v1/users/${user.id}`, { channel: { whatsapp: number() } });
  const unwritten = await realm.admin.send("POST", `${path}/whatsapp`, { content: WHATSAPP });
  deepEqual([unwritten.status, unwritten.body.code], [422, "recipient.no_interaction"]);
  for (const to of [path, `/v1/identities/${user.identity}/person/message`]) {
    const { status, body } = await realm.admin.send("POST", `${to}/fax`, text);
    deepEqual([status, body.code], [404, "route.not_found"]);
  }
  const person = `/v1/identities/${user.identity}/person/message/email`;
  const toPerson = await realm.admin.send("POST", person, { content: EMAIL });
  deepEqual([toPerson.status, toPerson.body.code], [422, "recipient.missing"]);
  equal(
    (await stranger.send("POST", person, { content: EMAIL })).body.code,
    "identity.not_found",
  );
});

test("WhatsApp takes that the recipient has written to the sending number", async (realm) => {
  const to = number();
  const send = () =>
    realm.admin.send("POST", "/v1/apps/message/whatsapp", {
      to,
      content: WHATSAPP,
    });
  const refused = await send();
  deepEqual([refused.status, refused.body.code], [
    422,
    "recipient.no_interaction",
  ]);
  await writeTo(realm, number());
  equal((await send()).status, 422);
  await writeTo(realm, to);
  equal((await send()).status, 201);
});

test("a recipient gets 20 messages a minute, whatever its letters' case, in the database too", async (realm) => {
  const send = (to: string, headers = {}) =>
    realm.admin.send(
      "POST",
      "/v1/apps/message/email",
      { to, content: EMAIL },
      headers,
    );
  const key = { "idempotency-key": "the-first-of-twenty" };
  const first = await send("busy@example.com", key);
  equal(first.status, 201);
  for (let i = 0; i < 19; i++) {
    equal((await send("busy@example.com")).status, 201);
  }
  for (const to of ["busy@example.com", "Busy@EXAMPLE.com"]) {
    const { status, body, headers } = await send(to);
    deepEqual([status, body.code], [429, "rate.limited"]);
    const wait = Number(headers.get("retry-after"));
    ok(wait >= 1 && wait <= 60, `${wait}`);
  }
  equal((await send("idle@example.com")).status, 201);
  const again = await send("busy@example.com", key);
  deepEqual([again.status, again.body], [201, first.body]);
  equal(again.headers.get("idempotency-replayed"), "true");
  await rejects(
    realm.command((tx) =>
      tx`insert into messages (id, channel, destination, group_id, group_name, status_id,
          status_name, status_description, created_at)
        values (${crypto.randomUUID()}, 'email', 'BUSY@example.com', 1, 'PENDING', 26, 'x', 'x', now())`
    ),
    { constraint_name: "messages_pace" },
  );
});

test("messages are records of their senders: read by scope, changed in their data alone", async (realm) => {
  const user = await realm.user();
  const body = { to: "own@example.com", content: EMAIL };
  const sent = await user.send("POST", "/v1/apps/message/email", body);
  equal(sent.status, 201, sent.text);
  const path = `/v1/messages/${sent.body.messages[0].messageId}`;
  equal((await user.send("GET", path)).status, 200);
  equal(
    (await (await realm.user()).send("GET", path)).body.code,
    "message.not_found",
  );
  equal((await realm.admin.send("GET", path)).status, 200);
  const changed = await user.send("PATCH", path, { data: { order: 17 } });
  deepEqual([changed.status, changed.body.data], [200, { order: 17 }]);
  const reader = await realm.user({ scope: "realm" });
  equal(
    (await reader.send("PATCH", path, { data: {} })).body.code,
    "permission.owner",
  );
  for (const [method, at] of [["DELETE", path], ["POST", `${path}/undelete`]]) {
    ok([404, 405].includes((await user.send(method, at)).status), method);
  }
  equal((await user.send("DELETE", path)).status, 405);
  equal(
    (await user.send("PATCH", path, { status: {} })).body.code,
    "request.invalid",
  );
  const search = await user.send("GET", "/v1/messages?search=own@EXAMPLE");
  deepEqual([search.body.total, search.body.rows[0].destination], [
    1,
    "own@example.com",
  ]);
});

test("a send costs 5 credits", async (realm) => {
  const before = await realm.operator(
    "GET",
    `/v1/realms/${realm.id}/credits/available`,
  );
  equal(before.status, 200);
  await realm.operator("PATCH", `/v1/realms/${realm.id}`, { tier: "pro" });
  const { services } = realm;
  const left = async () =>
    Number(
      (await realm.admin.send("GET", "/v1/auth/me")).headers.get(
        "x-credits-remaining",
      ),
    );
  services.now = Date.now;
  const first = await left();
  const body = { to: "credits@example.com", content: EMAIL };
  const sent = await realm.admin.send("POST", "/v1/apps/message/email", body);
  equal(sent.status, 201);
  equal(Number(sent.headers.get("x-credits-remaining")), first - 5);
  await realm.operator("PATCH", `/v1/realms/${realm.id}`, {
    tier: "unlimited",
  });
});
