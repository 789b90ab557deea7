/** Queues of deliveries: second chances, leases, what ends them in the middle, and slow receivers. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { markAttempts, selectDueDeliveries } from "../../db/webhooks/queue.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
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
  let [now, most, held] = [0, 0, Promise.resolve()];
  slow.answer = async () => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    await held;
    now--;
    return new Response();
  };
  const made = await hook(realm, slow);
  for (let i = 0; i < 5; i++) await tell(realm, newEntity(), `${i}`);
  await worker.run();
  most = 0;
  const other = await hook(realm, quick);
  for (let i = 0; i < 3; i++) await tell(realm, newEntity(), `${i}`);
  const over = Promise.withResolvers<void>();
  held = over.promise;
  const run = worker.run();
  await until(() => quick.received.length === 3);
  over.resolve();
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

test("a queue that grew in seconds is read and marked by its first deliveries alone, however long it is", async (realm) => {
  await using receiver = openReceiver();
  const made = await hook(realm, receiver);
  const [length, limit] = [20_000, 50];
  await realm.command((tx) =>
    tx`
    insert into events (type, entity, payload, created_at)
    select 'stop.set', gen_random_uuid(), '{}', now() from generate_series(1, ${length}::integer)`
  );
  await publishEvents(realm.pool, Date.now);
  const process = crypto.randomUUID();
  await realm.pool.sql`
    update webhook_queues set lease_owner = ${process}, lease_until = now() where webhook = ${made.id}`;
  const reads = await realm.command(async (tx) => {
    const read = async () => {
      const [row] = await tx<{ n: number }[]>`
        select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as n
        from pg_stat_xact_user_tables where relid = 'webhook_deliveries'::regclass`;
      return row.n;
    };
    const of = { webhook: made.id, at: Date.now() + HOUR_MS, limit, except: [] };
    const before = await read();
    const due = await selectDueDeliveries(tx, of);
    const selected = await read();
    const results = due.map(({ event, entity }, n) => ({
      ...{ event, entity, at: Date.now(), latency_ms: 1, response_status: 200, response_body: "" },
      ...(n % 2 === 0
        ? { status: "DELIVERED" as const, next_at: null, failure: null }
        : { status: "PENDING" as const, next_at: Date.now() + HOUR_MS, failure: "no" }),
    }));
    equal(await markAttempts(tx, { webhook: made.id, process }, results), limit);
    return [selected - before, await read() - selected];
  });
  for (const n of reads) ok(n < 10 * limit, `${reads} rows were read for ${limit} of ${length}`);
  await made.end();
});
