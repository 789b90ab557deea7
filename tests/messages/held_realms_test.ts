/** A provider that refuses one realm's messages, as if the account were wrong, holds up no other realm. */
import { deepEqual, equal } from "node:assert/strict";
import { openMessaging } from "../../workers/gateways/messages.ts";
import { sendMessage, sendWaiting } from "../../workers/messages/sending.ts";
import { workerContext } from "../../workers/worker_context.ts";
import { startInfobip } from "../support/infobip.ts";
import { testConfig, type TestRealm, testRealm } from "../support/realm.ts";
import { number, stored } from "./fixture.ts";

const MINUTE = 60_001;
/** Whether the provider was asked, and whether the message waits. */
const [ASKED, HELD, TAKEN] = [[true, true], [false, true], [true, false]];
const SENDER = { groupId: 5, groupName: "REJECTED", id: 13, name: "REJECTED_SENDER" };

Deno.test("a realm whose every message is refused for the account holds up no other realm", async () => {
  await using server = startInfobip();
  await using first = await testRealm({ env: server.env });
  await using second = await first.neighbour();
  await using third = await first.neighbour();
  let at = Date.now();
  const now = () => at;
  const messaging = openMessaging(testConfig(server.env), first.services.secrets, now);
  const { signal } = new AbortController();
  const context = (realm: TestRealm) =>
    workerContext({ log: () => {}, messaging, now, chains: null!, signer: null! }, {
      ...{ realm: realm.made.realm, pool: realm.pool, signal },
    });
  async function send(realm: TestRealm, isRefused: boolean): Promise<boolean[]> {
    const body = { to: number(), content: { text: "x" } };
    const made = await realm.admin.send("POST", "/v1/apps/message/sms", body);
    const message = made.body.messages[0].messageId as string;
    const asked = server.paths.length;
    const refusal = { status: 200, body: { messages: [{ messageId: message, status: SENDER }] } };
    if (isRefused) server.faults.push(refusal);
    await sendMessage(context(realm), { message, attempt: 1 });
    server.faults.splice(0);
    return [server.paths.length > asked, (await stored(realm, message))[0] as boolean];
  }
  const refuse = async (realm: TestRealm) => {
    const found = [];
    for (let one = 0; one < 4; one++) found.push(await send(realm, true));
    return found;
  };
  deepEqual(await refuse(first), [ASKED, ASKED, ASKED, HELD]);
  deepEqual([messaging.isHeld("sms", first.id), messaging.isHeld("sms", second.id)], [true, false]);
  for (let one = 0; one < 5; one++) deepEqual(await send(second, false), TAKEN);
  deepEqual(await send(first, true), HELD, "what others send does not free it");
  at += MINUTE;
  deepEqual([await send(first, true), await send(first, true)], [ASKED, HELD]);

  // Two realms are refused, and nobody's message was taken in between: it may be the account.
  deepEqual(await refuse(third), [ASKED, ASKED, ASKED, HELD]);
  at += MINUTE;
  deepEqual([await send(first, true), await send(third, true)], [ASKED, HELD]);
  deepEqual(await send(second, false), TAKEN, "one of the others asks all the same");
  deepEqual(await send(second, false), TAKEN, "and the account is taken");
  deepEqual(await send(third, true), ASKED, "a minute is over");

  // A wrong key: realms are not asked for one after the other.
  server.key = "another";
  at += MINUTE;
  deepEqual([await send(first, false), await send(third, false)], [ASKED, HELD]);
  deepEqual([await send(second, false), await send(second, false)], [ASKED, HELD]);
  const before = server.paths.length;
  at += MINUTE;
  for (const realm of [first, second, third, first, second, third]) await send(realm, false);
  equal(server.paths.length, before + 1, "all of them were refused");

  // Mended, each goes on, and what waited is sent.
  server.key = server.env.INFOBIP_API_KEY;
  at += MINUTE;
  deepEqual(await send(second, false), TAKEN);
  deepEqual(await send(second, false), TAKEN);
  for (const realm of [first, third]) deepEqual(await send(realm, false), TAKEN);
  for (const realm of [first, second, third]) {
    equal(messaging.isHeld("sms", realm.id), false);
    await sendWaiting(context(realm));
    const [{ waiting }] = await realm.pool.sql`select count(*)::int as waiting from messages
      where waiting`;
    equal(waiting, 0);
  }
  messaging.close();
});
