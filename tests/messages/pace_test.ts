/** The pace of messages to one recipient, against whoever tries to get around it. @module */
import { deepEqual, equal } from "node:assert/strict";
import { queueNotices } from "../../domain/messages/messages.ts";
import { rowsOf, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { number } from "./fixture.ts";

const test = sharing("the pace in one realm");
const content = { text: "hello" };

test("40 messages at once to one recipient: 20 are taken", async (realm) => {
  const to = number();
  const answers = await Promise.all(
    Array.from(
      { length: 40 },
      () => realm.admin.send("POST", "/v1/apps/message/sms", { to, content }),
    ),
  );
  const statuses = Object.groupBy(answers, ({ status }) => `${status}`);
  deepEqual([statuses["201"]?.length, statuses["429"]?.length], [20, 20]);
  const [{ stored }] = await rowsOf<{ stored: number }>(
    realm,
    "select count(*)::int as stored from messages where destination = $1",
    [to],
  );
  equal(stored, 20);
});

test("other spellings of a number, and another channel, count for the same recipient", async (realm) => {
  const user = await realm.user();
  await realm.admin.send("PATCH", `/v1/users/${user.id}`, {
    channel: { phone: "+385 (0)99 765.4321" },
  });
  const spellings = [
    ...["+385997654321", "+385 99 765 4321", "+385 (0)99 7654321", "+3850997654321"],
    ...["+385-99-765-4321", " +385.99.765.4321 "],
  ];
  const send = (i: number) =>
    i % 4 === 3
      ? realm.admin.send("POST", `/v1/users/${user.id}/message/sms`, { content })
      : realm.admin.send("POST", "/v1/apps/message/sms", {
        to: spellings[i % spellings.length],
        content,
      });
  for (let i = 0; i < 20; i++) {
    const answer = await send(i);
    equal(answer.body.messages?.[0].destination, "+385997654321", answer.text);
  }
  for (let i = 20; i < 24; i++) {
    const { status, body } = await send(i);
    deepEqual([status, body.code], [429, "rate.limited"]);
  }
});

test("of notices that are queued together those of a recipient that has had twenty are left out, and no other", async (realm) => {
  const [full, shared, free] = ["full", "shared", "free"].map((name) => `${name}@example.com`);
  const stored = async (destination: string) =>
    (await rowsOf(realm, "select id from messages where destination = $1", [destination])).length;
  const queueAll = async (to: readonly string[]) => {
    const actor = { ...realm.admin.actor, at: Date.now() };
    const message = { channel: "email", content: { subject: "a", text: "b" } } as const;
    const { secrets } = realm.services;
    const all = to.map((destination) => ({ message, to: { destination }, secrets }));
    const made = await realm.command((tx) => queueNotices(tx, actor, all, "webhook"));
    return made.map(({ destination }) => destination);
  };
  deepEqual(await queueAll(Array(20).fill(full)), Array(20).fill(full));
  deepEqual(await queueAll([full, free, "FULL@example.com"]), [free]);
  // More to one address than may be, which only the database sees.
  await queueAll(Array(19).fill(shared));
  deepEqual(await queueAll([shared, shared, free]), [shared, free]);
  deepEqual([await stored(full), await stored(shared), await stored(free)], [20, 20, 2]);
  const jobs = await rowsOf(realm, "select id from jobs where name = 'message.send'");
  equal(jobs.length >= 42, true);
});

test("where several send to a recipient no customer uses up what others have, and one alone has all", async (realm) => {
  const [ada, bob, eve] = [await realm.user(), await realm.user(), await realm.user()];
  const to = number();
  const sms = async (send: TestUser["send"], count: number, to: string) => {
    const all = await Promise.all(
      Array.from({ length: count }, () => send("POST", "/v1/apps/message/sms", { to, content })),
    );
    return all.filter(({ status }) => status === 201).length;
  };
  equal(await sms(ada.send, 30, number()), 20, "alone");
  equal(await sms(realm.admin.send, 1, to), 1);
  equal(await sms(ada.send, 30, to), 10);
  equal(await sms(bob.send, 30, to), 5);
  equal(await sms(eve.send, 5, to), 0, "customers have had theirs");
  equal(await sms(realm.admin.send, 10, to), 4, "twenty in all");
});

test("notices to an address that others have given their users keep no message from it", async (realm) => {
  const destination = "noticed@example.com";
  const { secrets } = realm.services;
  const actor = { ...realm.admin.actor, at: Date.now() };
  const message = { channel: "email", content: { subject: "a", text: "b" } } as const;
  for (const { id } of [await realm.user(), await realm.user()]) {
    const notices = Array(20).fill({ message, to: { destination }, secrets, owner: id });
    const made = await realm.command((tx) => queueNotices(tx, actor, notices, "security"));
    equal(made.length, 20);
  }
  const email = { to: destination, content: { subject: "hello", text: "hello" } };
  const answers = [];
  for (let i = 0; i < 21; i++) {
    answers.push((await realm.admin.send("POST", "/v1/apps/message/email", email)).status);
  }
  deepEqual(answers, [...Array(20).fill(201), 429]);
});
