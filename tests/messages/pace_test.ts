/** The pace of messages to one recipient, against whoever tries to get around it. @module */
import { deepEqual, equal } from "node:assert/strict";
import { rowsOf } from "../support/realm.ts";
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
