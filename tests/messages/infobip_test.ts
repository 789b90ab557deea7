/** Messages over Infobip, against a server as strict as its public description. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { openMessaging } from "../../workers/gateways/messages.ts";
import { openInfobip } from "../../workers/gateways/infobip.ts";
import type { DueMessage } from "../../domain/messages/sending.ts";
import { newId } from "../../domain/ids.ts";
import { sendMessage } from "../../workers/messages/sending.ts";
import { workerContext } from "../../workers/worker_context.ts";
import { type InfobipServer, startInfobip } from "../support/infobip.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { EMAIL, number, WHATSAPP, writeTo } from "./fixture.ts";

/** Opens one server and one realm for the steps of a test. */
async function withInfobip(
  t: Deno.TestContext,
  steps: Readonly<Record<string, (realm: TestRealm, server: InfobipServer) => Promise<void>>>,
): Promise<void> {
  await using server = startInfobip();
  await using realm = await testRealm({ env: server.env });
  realm.services.log = () => {};
  for (const [name, work] of Object.entries(steps)) {
    await t.step(name, async () => {
      server.faults.length = server.taken.length = server.paths.length = 0;
      await work(realm, server);
    });
  }
}

async function send(realm: TestRealm, channel: string, to: string, content: unknown) {
  const path = `/v1/apps/message/${channel}`;
  const answer = await realm.admin.send("POST", path, { to, content });
  equal(answer.status, 201, answer.text);
  return answer.body.messages[0].messageId as string;
}

async function shown(realm: TestRealm, id: string) {
  return (await realm.admin.send("GET", `/v1/messages/${id}`)).body;
}

/** What the database still holds of a message's content. */
async function keeps(realm: TestRealm, id: string): Promise<boolean> {
  const [row] = await rowsOf<{ kept: boolean }>(
    realm,
    "select content is not null as kept from messages where id = $1",
    [id],
  );
  return row.kept;
}

/** Runs jobs that wait for their time, and all that are due. */
async function hurry(realm: TestRealm): Promise<void> {
  await rowsOf(realm, "update jobs set run_at = now() where state = 'ready'");
  await realm.drain();
}

Deno.test("messages over Infobip", async (t) => {
  await withInfobip(t, {
    "each channel is sent as the provider describes it, and its content erased": eachChannel,
    "a provider that fails is asked again under the same id": failing,
    "an answer that was lost sends no text twice": lostAnswer,
    "a worker lost between the provider's answer and its record sends no text twice": lostWorker,
    "a message is given up after the last attempt": givenUp,
    "a request that the provider calls invalid is not repeated": invalid,
    "a refusal of the message by the provider is its state": refusedState,
    "logs hold neither recipients nor contents nor keys": logs,
    "contents are encrypted at rest": encrypted,
  });
});

async function eachChannel(realm: TestRealm, server: InfobipServer): Promise<void> {
  const to = number();
  await writeTo(realm, to);
  const both = { ...EMAIL, html: "<p>Your account is open.</p>" };
  const ids = [
    await send(realm, "sms", to, { text: "Your code is 123456" }),
    await send(realm, "whatsapp", to, WHATSAPP),
    await send(realm, "email", "ada@example.com", EMAIL),
    await send(realm, "email", "ada@example.com", both),
  ];
  await realm.drain();
  const byId = new Map(server.taken.map((one) => [one.messageId, one]));
  equal(server.taken.length, 4);
  const [sms, whatsapp, text, html] = ids.map((id) => byId.get(id)!);
  deepEqual([sms.from, sms.to, sms.content], ["Purser", to.slice(1), {
    text: "Your code is 123456",
  }]);
  deepEqual([whatsapp.from, whatsapp.to], ["447860099299", to.slice(1)]);
  deepEqual(whatsapp.content, WHATSAPP);
  deepEqual([text.from, text.to], ["Purser <no-reply@example.com>", "ada@example.com"]);
  deepEqual(text.content, EMAIL);
  deepEqual(html.content, { subject: EMAIL.subject, html: both.html });
  for (const id of ids) {
    equal(byId.get(id)!.callbackData, `purser:${realm.id}:${id}`);
    const message = await shown(realm, id);
    deepEqual([message.status.id, message.status.groupName, message.provider], [
      7,
      "PENDING",
      "infobip",
    ]);
    ok(message.sent_at >= message.created_at);
    equal(await keeps(realm, id), false);
  }
}

async function failing(realm: TestRealm, server: InfobipServer): Promise<void> {
  server.faults.push({ status: 500 }, { status: 408 }, {
    status: 429,
    headers: { "retry-after": "900" },
  });
  const id = await send(realm, "sms", number(), { text: "x" });
  await realm.drain();
  equal((await shown(realm, id)).status.id, 26);
  equal(await keeps(realm, id), true);
  await hurry(realm);
  await hurry(realm);
  const [{ wait }] = await rowsOf<{ wait: number }>(
    realm,
    `select extract(epoch from run_at - now())::float as wait from jobs
      where name = 'message.send' and state = 'ready'`,
  );
  ok(wait > 800, `the provider asked for 900 s, the next attempt is in ${wait} s`);
  await hurry(realm);
  deepEqual(server.taken.map((one) => one.messageId), [id]);
  equal((await shown(realm, id)).status.id, 7);
}

async function lostAnswer(realm: TestRealm, server: InfobipServer): Promise<void> {
  server.faults.push("lost");
  const id = await send(realm, "sms", number(), { text: "x" });
  await realm.drain();
  deepEqual([server.taken.length, (await shown(realm, id)).status.id], [1, 26]);
  await hurry(realm);
  deepEqual([server.taken.length, server.paths.length], [1, 2]);
  deepEqual([(await shown(realm, id)).status.id, (await shown(realm, id)).error], [7, null]);
}

async function lostWorker(realm: TestRealm, server: InfobipServer): Promise<void> {
  const id = await send(realm, "sms", number(), { text: "x" });
  const { services: { config, secrets, log } } = realm;
  const messaging = openMessaging(config, secrets);
  const target = {
    realm: realm.made.realm,
    pool: realm.pool,
    signal: new AbortController().signal,
  };
  const shared = { log, messaging, now: Date.now, chains: null as never, signer: null as never };
  const context = workerContext(shared, target);
  let steps = 0;
  const step: typeof context.step = (work, ...options) => {
    if (++steps === 2) throw new Error("the worker is lost");
    return context.step(work, ...options);
  };
  const job = { message: id, attempt: 1 };
  await rejects(sendMessage({ ...context, step }, job), /the worker is lost/);
  deepEqual([server.taken.length, (await shown(realm, id)).status.id], [1, 26]);
  await realm.drain(); // the job is still there
  deepEqual([server.taken.length, server.paths.length], [1, 2]);
  equal((await shown(realm, id)).status.id, 7);
  await sendMessage(context, job); // and once more, as a job may
  equal(server.paths.length, 2);
}

async function givenUp(realm: TestRealm, server: InfobipServer): Promise<void> {
  const id = await send(realm, "sms", number(), { text: "x" });
  server.faults.push(...Array(6).fill({ status: 503 }));
  for (let attempt = 1; attempt <= 6; attempt++) await hurry(realm);
  await hurry(realm);
  equal(server.paths.length, 6);
  const { status, error } = await shown(realm, id);
  deepEqual([status.groupName, error], [
    "REJECTED",
    { code: "upstream.failed", detail: "Infobip answered 503" },
  ]);
  equal(await keeps(realm, id), false);
}

async function invalid(realm: TestRealm, server: InfobipServer): Promise<void> {
  const serviceException = { messageId: "BAD_REQUEST", text: "it repeats 123456 here" };
  server.faults.push({ status: 400, body: { requestError: { serviceException } } });
  const id = await send(realm, "sms", number(), { text: "123456" });
  await realm.drain();
  await hurry(realm);
  equal(server.paths.length, 1);
  const { status, error } = await shown(realm, id);
  deepEqual([status.name, error.detail], [
    "REJECTED_VALIDATION_FAILED",
    "Infobip answered 400 BAD_REQUEST",
  ]);
}

async function refusedState(realm: TestRealm, server: InfobipServer): Promise<void> {
  const status = { groupId: 5, groupName: "REJECTED", id: 10, name: "REJECTED_DND" };
  server.faults.push({ status: 200, body: { messages: [{ messageId: "x", status }] } });
  server.faults.push({ status: 200, body: "no state" });
  const id = await send(realm, "sms", number(), { text: "x" });
  await realm.drain();
  const message = await shown(realm, id);
  deepEqual([message.status.name, message.error.code], ["REJECTED_DND", "upstream.failed"]);
  const other = await send(realm, "sms", number(), { text: "x" });
  await realm.drain();
  await hurry(realm);
  equal((await shown(realm, other)).status.id, 7);
}

async function logs(realm: TestRealm, server: InfobipServer): Promise<void> {
  const lines: string[] = [];
  realm.services.log = (...line) => lines.push(JSON.stringify(line));
  const to = number();
  server.faults.push({ status: 500, body: { text: "the code is 123456" } });
  await send(realm, "sms", to, { text: "the code is 123456" });
  await realm.drain();
  await realm.admin.send("POST", "/v1/apps/message/sms", {
    to: "Ada 123456",
    content: { text: "x" },
  });
  await hurry(realm);
  realm.services.log = () => {};
  ok(lines.some((line) => line.includes("message not sent")), lines.join("\n"));
  for (const secret of ["123456", to.slice(1), server.key]) {
    deepEqual(lines.filter((line) => line.includes(secret)), [], secret);
  }
}

async function encrypted(realm: TestRealm, server: InfobipServer): Promise<void> {
  server.faults.push({ status: 500 });
  const id = await send(realm, "sms", number(), { text: "the code is 123456" });
  await realm.drain();
  const [{ content }] = await rowsOf<{ content: Uint8Array }>(
    realm,
    "select content from messages where id = $1",
    [id],
  );
  ok(!new TextDecoder("latin1").decode(content).includes("123456"));
  const { secrets } = realm.services;
  match(secrets.decrypt("message", `${realm.id}|${id}`, content)!, /123456/);
  equal(secrets.decrypt("message", `${realm.id}|${newId(1)}`, content), null);
  await hurry(realm);
}

Deno.test("the server of these tests refuses what Infobip would refuse", async () => {
  await using server = startInfobip();
  const headers = { authorization: `App ${server.key}`, "content-type": "application/json" };
  const one = { from: "447860099299", to: "385911234567", messageId: "m", callbackData: "c" };
  const post = async (body: unknown, more: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/whatsapp/1/message/template`, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
    return response.status;
  };
  const message = { ...one, content: WHATSAPP };
  equal(await post({ messages: [message] }), 200);
  equal(await post({ messages: [{ ...message, from: undefined }] }), 400);
  equal(await post({ messages: [{ ...message, sender: "x" }] }), 400);
  equal(await post({ messages: [message] }, { authorization: "App x" }), 401);
  equal(await post({ messages: [message] }, { "content-type": "text/plain" }), 415);
});

Deno.test("a provider that answers nothing, another shape or a redirect is no answer", async () => {
  const answers: (() => Response)[] = [
    () => Response.json({ messages: [] }),
    () => new Response("not json"),
    () => new Response("x".repeat(300_000)),
    () => new Response(null, { status: 302, headers: { location: "http://127.0.0.1:1/" } }),
  ];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      await request.body?.cancel();
      return answers.shift()!();
    },
  );
  const gateway = openInfobip({
    baseUrl: `http://127.0.0.1:${server.addr.port}`,
    apiKey: "k",
    smsFrom: "Purser",
    whatsappFrom: null,
    emailFrom: null,
  });
  const due: DueMessage = {
    channel: "sms",
    content: { text: "x" },
    ...{
      id: newId(1),
      realm: newId(1),
      destination: "+385911234567",
      attempt: 1,
      toPerson: false,
      refusals: 0,
    },
    created_at: 1,
  };
  const { signal } = new AbortController();
  while (answers.length > 0) {
    await rejects(gateway.send(due, signal), { name: "GatewayError", kind: "failed" });
  }
  await server.shutdown();
  await rejects(gateway.send(due, signal), {
    kind: "failed",
    message: "Infobip could not be reached",
  });
});
