/** Providers that refuse the installation's settings: messages wait and are sent when they are mended. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { keepMeasurement, readMeasurements } from "../../domain/realms/measurements.ts";
import { sendMessage, sendWaiting } from "../../workers/messages/sending.ts";
import { startInfobip } from "../support/infobip.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { startMailServer } from "../support/smtp.ts";
import { EMAIL, number, processOf, SECRET, stored } from "./fixture.ts";

async function send(realm: TestRealm, channel: string, to: string, content: unknown) {
  const { body } = await realm.admin.send("POST", `/v1/apps/message/${channel}`, { to, content });
  return body.messages[0].messageId as string;
}

async function stateOf(realm: TestRealm, id: string) {
  const { body } = await realm.admin.send("GET", `/v1/messages/${id}`);
  return [body.status.groupName, body.status.name, body.error];
}

const PENDING = ["PENDING", "PENDING_ACCEPTED", null];
const TAKEN = ["PENDING", "PENDING_ENROUTE", null];
const WAITS = [true, true, 0];

Deno.test("texts of a wrong key wait, the provider is asked now and then, and all are sent once it is mended", async () => {
  await using server = startInfobip();
  await using realm = await testRealm();
  let at = Date.now();
  const env = { ...server.env, INFOBIP_API_KEY: "another-key" };
  const wrong = processOf(realm, env, () => at);
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push(await send(realm, "sms", number(), { text: "x" }));
  for (const message of ids) await sendMessage(wrong.at(), { message, attempt: 1 });
  equal(server.paths.length, 3, "no provider is asked again and again with a key that it refuses");
  for (const id of ids) {
    deepEqual([await stateOf(realm, id), (await stored(realm, id)).slice(0, 2)], [
      PENDING,
      WAITS.slice(0, 2),
    ]);
  }
  ok(wrong.lines.every((line) => line.includes("the provider of messages refuses the settings")));
  match(wrong.lines[0], /Infobip answered 401 UNAUTHORIZED/);
  const { pool, services: { platform } } = realm;
  await keepMeasurement(platform, { id: realm.id, pool });
  const held = (await readMeasurements(platform, true))
    .find(({ name }) => name === "purser_messages_held")!.values
    .filter(({ labels }) => labels.realm === realm.id);
  deepEqual(held.map(({ labels, value }) => [labels.channel, value]), [["sms", 8]]);

  // A minute later one asks for all, each time another one.
  for (const asked of [4, 5]) {
    at += 60_001;
    await sendWaiting(wrong.at());
    const taken = await waitingNot(realm, ids);
    equal(taken.length, 1);
    await sendMessage(wrong.at(), { message: taken[0], attempt: 1 });
    equal(server.paths.length, asked);
  }
  equal(server.taken.length, 0);
  const mended = processOf(realm, server.env, () => at + 1);
  await sendWaiting(mended.at());
  for (const message of [...ids, ...ids]) await sendMessage(mended.at(), { message, attempt: 1 });
  deepEqual(server.taken.map(({ messageId }) => messageId).toSorted(), ids.toSorted());
  for (const id of ids) deepEqual(await stateOf(realm, id), TAKEN);
});

/** The messages that are taken up. */
async function waitingNot(realm: TestRealm, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) if ((await stored(realm, id))[0] === false) found.push(id);
  return found;
}

Deno.test("a provider that is mended on its own side gets what waited, in the process that was refused", async () => {
  await using server = startInfobip();
  await using realm = await testRealm();
  let at = Date.now();
  const process = processOf(realm, server.env, () => at);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await send(realm, "sms", number(), { text: "x" }));
  server.faults.push({ status: 403 }, { status: 401 }, { status: 404, body: "no such site" });
  for (const message of ids) await sendMessage(process.at(), { message, attempt: 1 });
  deepEqual([server.paths.length, server.taken.length], [3, 0]);
  for (let pass = 0; pass < 2; pass++) {
    at += 60_001;
    await sendWaiting(process.at());
    for (const message of await waitingNot(realm, ids)) {
      await sendMessage(process.at(), { message, attempt: 1 });
    }
  }
  deepEqual(server.taken.map(({ messageId }) => messageId).toSorted(), ids.toSorted());
});

Deno.test("a refusal that is about one message holds up no other", async () => {
  await using server = startInfobip();
  await using realm = await testRealm();
  const process = processOf(realm, server.env);
  for (let n = 0; n < 6; n++) {
    const message = await send(realm, "sms", number(), { text: "x" });
    if (n % 2 === 0) server.faults.push({ status: 403 });
    await sendMessage(process.at(), { message, attempt: 1 });
  }
  deepEqual([server.paths.length, server.taken.length], [6, 3]);
});

Deno.test("a message whose sender was refused goes under its next id; reports of the first change nothing", async () => {
  await using server = startInfobip();
  await using realm = await testRealm({ env: server.env });
  const process = processOf(realm, server.env);
  const sender = { groupId: 5, groupName: "REJECTED", id: 13, name: "REJECTED_SENDER" };
  const id = await send(realm, "sms", number(), { text: "x" });
  server.faults.push({ status: 200, body: { messages: [{ messageId: id, status: sender }] } });
  const early = { callbackData: `purser:${realm.id}:${id}`, messageId: id, status: sender };
  const report = async (one: unknown) => {
    const path = "/v1/messages/webhook/infobip";
    const headers = { authorization: `Bearer ${SECRET}` };
    return (await realm.nobody("POST", path, { results: [one] }, headers)).body.taken;
  };
  equal(await report(early), 0, "before its worker has the answer");
  await sendMessage(process.at(), { message: id, attempt: 1 });
  deepEqual([await stateOf(realm, id), await stored(realm, id)], [PENDING, [true, true, 1]]);
  equal(await report(early), 0);
  await sendWaiting(processOf(realm, server.env, Date.now() + 1000).context);
  await sendMessage(process.at(), { message: id, attempt: 1 });
  deepEqual(server.taken.map(({ messageId }) => messageId), [`${id}-1`]);
  deepEqual(await stateOf(realm, id), TAKEN);
  equal(await report(early), 0, "a report that comes late");
  const status = { groupId: 3, groupName: "DELIVERED", id: 5, name: "DELIVERED_TO_HANDSET" };
  equal(await report({ ...early, messageId: `${id}-1`, status }), 1);
});

Deno.test({
  name: "e-mails wait while the server refuses the login or the sender",
  // The client's pool leaves short timers behind when it closes after a failure.
  ...{ sanitizeOps: false, sanitizeResources: false },
  async fn() {
    await using server = await startMailServer({
      onMailFrom: ({ address }, _session, done) =>
        done(
          address !== "stranger@example.com"
            ? null
            : Object.assign(new Error("not yours"), { responseCode: 553 }),
        ),
    });
    await using realm = await testRealm();
    const right = {
      SMTP_URL: server.url,
      SMTP_FROM: "no-reply@example.com",
    };
    const cases: Record<string, Record<string, string>> = {
      "a wrong login": { SMTP_URL: server.url.replace("p%40ss", "other") },
      "a wrong sender": { SMTP_FROM: "stranger@example.com" },
    };
    for (const [name, env] of Object.entries(cases)) {
      const process = processOf(realm, { ...right, ...env });
      const id = await send(realm, "email", "ada@example.com", EMAIL);
      await sendMessage(process.at(), { message: id, attempt: 1 });
      deepEqual([await stateOf(realm, id), (await stored(realm, id))[0]], [PENDING, true], name);
      ok(process.lines.length === 1 && !/p@ss|other|stranger|ada@/.test(process.lines[0]), name);
      process.close();
      const restarted = processOf(realm, right, Date.now() + 1000);
      await sendWaiting(restarted.context);
      await sendMessage(restarted.context, { message: id, attempt: 1 });
      deepEqual((await stateOf(realm, id))[1], "DELIVERED_TO_OPERATOR", name);
      restarted.close();
    }
    equal(server.taken.length, 2);
  },
});
