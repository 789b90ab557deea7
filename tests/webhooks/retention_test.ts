/** How long events and deliveries are kept, and that nothing undelivered leaves unseen. */
import { deepEqual, equal } from "node:assert/strict";
import { forgetEvents, listenUntil } from "../../db/events.ts";
import { writing } from "../../db/transaction.ts";
import { idBound, randomId } from "../../domain/ids.ts";
import { keptMs } from "../../domain/webhooks/event_log.ts";
import { PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";
import { hook, openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

/** Adds a published event of some days ago; gives its id. */
async function past(realm: TestRealm, days: number): Promise<string> {
  const id = randomId(Date.now() - days * DAY_MS);
  await realm.pool.sql`insert into events (id, type, entity, payload, created_at)
    values (${id}, 'stop.set', ${id}, json_build_object('id', ${id}::text), ${
    Date.now() - days * DAY_MS
  })`;
  return id;
}

/** Adds a delivery of an event. */
async function deliver(
  realm: TestRealm,
  { webhook, event, status }: { webhook: string; event: string; status: string },
): Promise<void> {
  await realm.pool.sql`
    insert into webhook_deliveries (webhook, event, type, entity, status, next_at, created_at)
    values (${webhook}, ${event}, 'stop.set', ${event}, ${status},
      ${status === "PENDING" ? Date.now() : null}, now())`;
}

/** Deletes what the timetable deletes of a realm that keeps events for some days. */
async function forget(realm: TestRealm, days: number): Promise<void> {
  const before = idBound(Date.now() - keptMs(days) - HOUR_MS);
  await writing(realm.pool, (db) => forgetEvents(db, before, 1000));
}

const listed = async (realm: TestRealm) => {
  const { body } = await realm.admin.send("GET", "/v1/events/all");
  return body.map((one: { id: string }) => one.id);
};
async function keep(realm: TestRealm, days: number): Promise<void> {
  const path = `/v1/realms/${realm.id}`;
  const changed = await realm.nobody("PATCH", path, { webhooks: { retention_days: days } }, {
    "x-api-key": PLATFORM_KEY,
  });
  equal(changed.status, 200, changed.text);
}

Deno.test("each realm keeps events for its own time, and a cursor behind deleted ones is refused also when that is prolonged", async () => {
  await using one = await testRealm();
  await using other = await one.neighbour();
  const ids: string[][] = [];
  for (const realm of [one, other]) {
    await realm.admin.send("GET", "/v1/events/all");
    ids.push(await Promise.all([8, 5, 2, 0].map((days) => past(realm, days))));
  }
  await keep(one, 3);
  await keep(other, 6);
  await forget(one, 3);
  await forget(other, 6);
  deepEqual(await listed(one), ids[0].slice(2));
  deepEqual(await listed(other), ids[1].slice(1));
  await keep(one, 30);
  const after = (id: string) => one.admin.send("GET", `/v1/events/all?after=${id}`);
  for (
    const path of [
      `/v1/events/all?after=${ids[0][0]}`,
      `/v1/events/all?after=${randomId(Date.now() - 6 * DAY_MS)}`,
      `/v1/events?after=${ids[0][0]}`,
    ]
  ) {
    const { status, body } = await one.admin.send("GET", path);
    deepEqual([status, body.code], [410, "event.expired"], path);
  }
  const known = await after(ids[0][1]);
  deepEqual(known.body.map((event: { id: string }) => event.id), ids[0].slice(2));
});

Deno.test("a reader that was away for so long that nothing was written is told so", async () => {
  await using realm = await testRealm();
  const [old, young] = [await past(realm, 4), await past(realm, 1)];
  await writing(realm.pool, (db) => listenUntil(db, Date.now() - 2 * DAY_MS));
  for (const path of [`/v1/events/all?after=${old}`, `/v1/events?after=${old}`]) {
    equal((await realm.admin.send("GET", path)).body.code, "event.expired", path);
  }
  equal((await realm.admin.send("GET", `/v1/events/all?after=${young}`)).status, 200);
});

Deno.test("what waits for a receiver is delivered however old it is, and what failed can be seen for a week", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const off = await hook(realm, receiver);
  await realm.admin.send("PATCH", off.at, { active: false });
  const [waiting, failed, delivered, gone] = await Promise.all(
    [9, 5, 5, 9].map((days) => past(realm, days)),
  );
  await deliver(realm, { webhook: made.id, event: waiting, status: "PENDING" });
  await deliver(realm, { webhook: made.id, event: failed, status: "FAILED" });
  await deliver(realm, { webhook: made.id, event: delivered, status: "DELIVERED" });
  await deliver(realm, { webhook: made.id, event: gone, status: "FAILED" });
  await deliver(realm, { webhook: off.id, event: gone, status: "PENDING" });
  await realm.admin.send("GET", "/v1/events/all");
  await forget(realm, 1);
  deepEqual(await listed(realm), [waiting]);
  const shown = async () =>
    (await made.deliveries()).map((one: { id: string; status: string }) => [one.id, one.status]);
  const young = [[failed, "FAILED"], [delivered, "DELIVERED"]].sort().reverse();
  deepEqual(await shown(), [...young, [waiting, "PENDING"]]);
  deepEqual(await off.deliveries(), [], "what is sent to nobody ends with its event");
  await worker.run();
  deepEqual(receiver.received.map(({ body }) => body.data.id), [waiting]);
  await forget(realm, 1);
  deepEqual(await listed(realm), []);
  deepEqual(await shown(), young);
});
