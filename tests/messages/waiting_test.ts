/** Messages that wait because nothing was configured, and messages that became too old. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { sendMessage, sendWaiting } from "../../workers/messages/sending.ts";
import { startMailServer } from "../support/smtp.ts";
import type { TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { EMAIL, number, processOf, stored } from "./fixture.ts";

const test = sharing("waiting messages in one realm");
const HOUR_MS = 3_600_000;

async function send(
  realm: TestRealm,
  channel: string,
  to: string,
  content: unknown,
) {
  const { body } = await realm.admin.send(
    "POST",
    `/v1/apps/message/${channel}`,
    { to, content },
  );
  return body.messages[0].messageId as string;
}

async function shown(realm: TestRealm, id: string) {
  const { body } = await realm.admin.send("GET", `/v1/messages/${id}`);
  return [body.status.groupName, body.status.name, body.error?.detail ?? null];
}

const PENDING = ["PENDING", "PENDING_ACCEPTED", null];
const EXPIRED = ["EXPIRED", "EXPIRED_EXPIRED", "no provider took it in time"];

test("a message waits while nothing is configured, and is sent once its channel has a provider", async (realm) => {
  await using server = await startMailServer();
  const [mail, text] = [
    await send(realm, "email", "waits@example.com", EMAIL),
    await send(realm, "sms", number(), { text: "hello" }),
  ];
  await realm.drain();
  for (const id of [mail, text]) {
    deepEqual(await stored(realm, id), [true, true, 0]);
  }
  const none = processOf(realm, {});
  await sendWaiting(none.context);
  deepEqual([await shown(realm, mail), await stored(realm, mail)], [PENDING, [
    true,
    true,
    0,
  ]]);

  const env = { SMTP_URL: server.url, SMTP_FROM: "no-reply@example.com" };
  const [one, other] = [processOf(realm, env), processOf(realm, env)];
  await Promise.all([sendWaiting(one.context), sendWaiting(other.context)]);
  deepEqual(
    await stored(realm, mail),
    [false, true, 1],
    "one job, whoever else looks",
  );
  deepEqual(
    await stored(realm, text),
    [true, true, 0],
    "texts have no provider yet",
  );
  await sendMessage(none.context, { message: mail, attempt: 1 });
  deepEqual(
    (await stored(realm, mail))[0],
    true,
    "a process without a provider puts it back",
  );
  await sendWaiting(one.context);
  await sendMessage(one.context, { message: mail, attempt: 1 });
  await sendMessage(other.context, { message: mail, attempt: 1 });
  equal(server.taken.length, 1);
  deepEqual(await shown(realm, mail), [
    "DELIVERED",
    "DELIVERED_TO_OPERATOR",
    null,
  ]);
  deepEqual((await stored(realm, mail)).slice(0, 2), [false, false]);
  one.close();
  other.close();
});

test("a message that waited for too long keeps nothing, and expires when its channel has a provider", async (realm) => {
  await using server = await startMailServer();
  const id = await send(realm, "email", "late@example.com", EMAIL);
  await realm.drain();
  const later = Date.now() + HOUR_MS + 1000;
  const none = processOf(realm, {}, later);
  await sendWaiting(none.context);
  deepEqual(await shown(realm, id), PENDING, "nothing is configured");
  deepEqual((await stored(realm, id))[1], false, "its content is gone");

  const env = { SMTP_URL: server.url, SMTP_FROM: "no-reply@example.com" };
  const configured = processOf(realm, env, later);
  await sendWaiting(configured.context);
  deepEqual(await shown(realm, id), EXPIRED);
  deepEqual((await stored(realm, id))[0], false);
  equal(server.taken.length, 0);
  configured.close();
});

test("an attempt that comes too late, as after a restore, sends nothing; the age is a setting", async (realm) => {
  await using server = await startMailServer();
  const env = { SMTP_URL: server.url, SMTP_FROM: "no-reply@example.com" };
  const later = Date.now() + HOUR_MS + 1000;
  const old = await send(realm, "email", "restored@example.com", EMAIL);
  const late = processOf(realm, env, later);
  await sendMessage(late.context, { message: old, attempt: 1 });
  deepEqual(await shown(realm, old), EXPIRED);
  equal(server.taken.length, 0);
  const kept = await send(realm, "email", "patient@example.com", EMAIL);
  const patient = processOf(
    realm,
    { ...env, MESSAGE_TTL_SECONDS: "86400" },
    later,
  );
  await sendMessage(patient.context, { message: kept, attempt: 1 });
  equal((await shown(realm, kept))[0], "DELIVERED");
  equal(server.taken.length, 1);
  late.close();
  patient.close();
});

test("the database refuses that a message waits which was sent or has ended", async (realm) => {
  const id = await send(realm, "email", "ended@example.com", EMAIL);
  const set = (change: string) => () =>
    realm.command((tx) => tx.unsafe(`update messages set ${change} where id = '${id}'`));
  for (
    const change of [
      "content = null, provider = 'smtp', sent_at = now(), waiting = true",
      "content = null, group_id = 4, status_id = 15, waiting = true",
    ]
  ) await rejects(set(change), { constraint_name: "messages_waiting" });
  ok((await stored(realm, id))[1]);
});
