/** Repeats that are asked for without measure, and what webhooks keep to themselves. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createLog } from "../../log.ts";
import { openSlots } from "../../workers/webhooks/slots.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import type { TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import {
  fail,
  hook,
  newEntity,
  openReceiver,
  openTestDeliverer,
  PRIVATE,
  tell,
} from "../support/webhook_receiver.ts";

const DAY_MS = 24 * 3_600_000;
const test = sharing("floods in one realm", PRIVATE);
const EVER = { from: 0, to: Date.now() + 1000 * DAY_MS };

/** Gives a webhook so many deliveries that have failed. */
async function failed(realm: TestRealm, webhook: string, count: number): Promise<void> {
  await realm.command((tx) =>
    tx`
    insert into events (type, entity, payload, created_at)
    select 'stop.set', id, json_build_object('id', id), now()
    from (select gen_random_uuid() as id from generate_series(1, ${count}::integer)) q`
  );
  await publishEvents(realm.pool, Date.now);
  await realm.command((tx) =>
    tx`update webhook_deliveries set status = 'FAILED', next_at = null where webhook = ${webhook}`
  );
}

test("a span that is sent again a hundred times at once, while deliveries run, is sent once more", async (realm) => {
  await using receiver = openReceiver();
  await using quick = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  await failed(realm, made.id, 300);
  const other = await hook(realm, quick);
  await tell(realm, newEntity(), "1");
  let resent = 0;
  const ask = async () => {
    for (let i = 0; i < 10; i++) {
      const { status, body } = await realm.admin.send("POST", `${made.at}/deliveries/resend`, EVER);
      if (status === 200) resent += body.resent;
      else deepEqual([status, body.code], [503, "service.overloaded"]);
    }
  };
  await Promise.all([...Array.from({ length: 10 }, ask), worker.run(), worker.run()]);
  await worker.run();
  equal(resent, 300, "what waits or has arrived is not sent again");
  const ids = receiver.received.map(({ headers }) => headers.get("webhook-id"));
  deepEqual([ids.length, new Set(ids).size], [301, 301]);
  equal(quick.received.length, 1);
  for (const one of [made, other]) await one.end();
});

test("a request has a thousand deliveries sent again and no more, the oldest first, however many have failed", async (realm) => {
  await using receiver = openReceiver();
  const made = await hook(realm, receiver);
  await failed(realm, made.id, 10_050);
  const answers: number[] = [];
  while (answers.at(-1) !== 0) {
    const { body, text } = await realm.admin.send("POST", `${made.at}/deliveries/resend`, EVER);
    ok(body.resent <= 1000, text);
    answers.push(body.resent);
    const [{ isOldest }] = await realm.pool.sql<{ isOldest: boolean | null }[]>`
      select max(event::text) filter (where status = 'PENDING')
        < min(event::text) filter (where status = 'FAILED') as "isOldest"
      from webhook_deliveries where webhook = ${made.id}`;
    ok(isOldest !== false);
  }
  deepEqual(answers, [...Array.from({ length: 10 }, () => 1000), 50, 0]);
  await made.end();
});

test("realms take turns for slots, however many requests one of them waits with", async () => {
  const slots = openSlots({ all: 8, perRealm: 4 });
  const order: string[] = [];
  const leaves: (() => void)[] = [];
  const ask = async (realm: string) => {
    const leave = await slots.take(realm, "queue");
    order.push(realm);
    leaves.push(leave);
  };
  const turn = async () => {
    leaves.shift()?.();
    await new Promise((resolve) => setTimeout(resolve));
  };
  const asked = ["a", "b", "c"].flatMap((realm) => Array.from({ length: 50 }, () => ask(realm)));
  asked.push(ask("quiet"));
  while (order.length < asked.length) await turn();
  await Promise.all(asked);
  // Eight began at once; of the turns after them each realm has every fourth.
  ok(order.indexOf("quiet") < 8 + 4, order.slice(0, 20).join());
});

test("no answer, log, event, mail or line of the audit shows a webhook's secret, though its receiver repeats all it is sent", async (realm) => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: "debug", format: "json", write });
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm, { log });
  equal((await realm.admin.send("GET", "/v1/events/all")).status, 200);
  const made = await hook(realm, receiver, "/hook?token=hunter2");
  const rotated = (await realm.admin.send("POST", `${made.at}/rotate`, {})).body.secret;
  receiver.answer = ({ headers, text }) => {
    return new Response(`${JSON.stringify([...headers])} ${text}`, { status: 500 });
  };
  await tell(realm, newEntity(), "1");
  await realm.admin.send("POST", `${made.at}/test`);
  await worker.run();
  const { text: told } = await realm.admin.send("GET", `${made.at}/deliveries`);
  ok(told.includes("webhook-signature"), "the receiver's answer is shown");
  receiver.answer = fail(410);
  worker.later(DAY_MS);
  await worker.run();
  await worker.run();
  const paths = [made.at, "/v1/webhooks/all", `${made.at}/deliveries`, "/v1/audit"];
  const answers = await Promise.all(
    [...paths, "/v1/events/all", "/v1/messages/all"].map((path) => realm.admin.send("GET", path)),
  );
  for (const { status } of answers) equal(status, 200);
  const shown = [told, ...answers.map(({ text }) => text)].join();
  ok(lines.join().includes("webhook disabled"), lines.join());
  for (const secret of [made.secret, rotated]) {
    const [, bare] = secret.split("_");
    for (const text of [shown, lines.join()]) ok(!text.includes(bare) && !text.includes(secret));
  }
  ok(!lines.join().includes("hunter2") && !lines.join().includes(receiver.url), lines.join());
  await made.end();
});
