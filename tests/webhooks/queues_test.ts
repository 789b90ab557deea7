/** Queues of deliveries: second chances, leases, what ends them in the middle, and slow receivers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
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

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const test = sharing("queues of one realm", PRIVATE);

test("what is sent again after a day has a day again", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  receiver.answer = fail(500);
  await tell(realm, newEntity(), "1");
  for (let hours = 0; hours < 25; hours += 4) {
    await worker.run();
    for (let i = 0; i < 7; i++) {
      worker.later(HOUR_MS);
      await worker.run();
    }
  }
  const [{ id, status }] = await made.deliveries();
  equal(status, "FAILED");
  await realm.admin.send("POST", `${made.at}/deliveries/${id}/resend`);
  await worker.run();
  equal((await made.deliveries())[0].status, "PENDING", "it is tried again");
  receiver.answer = () => new Response();
  worker.later(MINUTE_MS);
  await worker.run();
  equal((await made.deliveries())[0].status, "DELIVERED");
  await made.end();
});

test("a webhook that is deleted while its queue is delivered is sent nothing more", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  receiver.answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    return new Response();
  };
  await tell(realm, newEntity(), ...Array.from({ length: 24 }, (_, i) => `${i}`));
  const run = worker.run();
  await until(() => receiver.received.length > 0);
  await made.end();
  await run;
  ok(receiver.received.length < 20, `${receiver.received.length} were sent`);
});

test("receivers that answer late get few requests at once, and hold up no other", async (realm) => {
  await using slow = openReceiver();
  await using quick = openReceiver();
  await using worker = openTestDeliverer(realm);
  let [now, most] = [0, 0];
  slow.answer = async () => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    now--;
    return new Response();
  };
  const made = await hook(realm, slow);
  for (let i = 0; i < 5; i++) await tell(realm, newEntity(), `${i}`);
  await worker.run();
  most = 0;
  const other = await hook(realm, quick);
  for (let i = 0; i < 3; i++) await tell(realm, newEntity(), `${i}`);
  const run = worker.run();
  await until(() => quick.received.length === 3);
  ok(slow.received.length < 8, "while the slow one is still at it");
  await run;
  equal(most, 1, "one at once, also in the next run");
  for (const one of [made, other]) await one.end();
});

test("however many events are published at once, each arrives once, in the order of its entity", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const notes = ["1", "2", "3", "4"];
  const entities = Array.from({ length: 40 }, newEntity);
  for (const entity of entities) await tell(realm, entity, ...notes);
  let seen = 0;
  // More than a hundred, so that their places differ in length: as text 100 comes before 99.
  // Answers come one by one, so that some results are stored while others are on their way.
  receiver.answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5 * (seen++ % 8)));
    return new Response();
  };
  await worker.run();
  equal(receiver.received.length, entities.length * notes.length, "none twice, none left");
  for (const entity of entities) {
    const of = receiver.received.filter(({ body }) => body.data.id === entity);
    deepEqual(of.map(({ body }) => body.data.note), notes);
  }
  await made.end();
});
