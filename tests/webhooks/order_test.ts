/** Order of an entity's events, and what a change of a webhook leaves of requests under way. */
import { deepEqual, equal } from "node:assert/strict";
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
  type Received,
  tell,
} from "../support/webhook_receiver.ts";

const DAY_MS = 24 * 3_600_000;
const test = sharing("order in one realm", PRIVATE);
const noteOf = ({ body }: Received): string => body.data.note;

/** Answers that wait until they are let go, by the note of their event. */
function openHolds() {
  const holds = new Map<string, PromiseWithResolvers<Response>>();
  const of = (note: string) => {
    const hold = holds.get(note) ?? Promise.withResolvers<Response>();
    holds.set(note, hold);
    return hold;
  };
  let isOver = false;
  return {
    answer: (received: Received) => isOver ? new Response() : of(noteOf(received)).promise,
    let: (note: string, status = 200) => of(note).resolve(new Response(null, { status })),
    [Symbol.dispose]() {
      isOver = true;
      for (const hold of holds.values()) hold.resolve(new Response());
    },
  };
}

test("what was under way when a webhook was led elsewhere says nothing of its new receiver", async (realm) => {
  await using old = openReceiver();
  await using other = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, old);
  for (const status of [410, 500]) {
    using holds = openHolds();
    old.received.length = other.received.length = 0;
    old.answer = holds.answer;
    await realm.command((tx) =>
      tx`update webhook_queues set failures = 1, failing_since = now() - interval '4 days'
        where webhook = ${made.id}`
    );
    await tell(realm, newEntity(), `${status}`);
    const run = worker.run();
    await until(() => old.received.length === 1);
    equal((await realm.admin.send("PATCH", made.at, { url: other.url })).status, 200);
    holds.let(`${status}`, status);
    await run;
    const row = await made.read();
    deepEqual([row.active, row.disabled_reason, row.failing_since], [true, null, null]);
    await worker.run();
    deepEqual(other.received.map(noteOf), [`${status}`], "it goes to the new one at once");
    equal((await realm.admin.send("PATCH", made.at, { url: old.url })).status, 200);
  }
  await made.end();
});

test("a webhook that is activated again begins anew, whatever comes late of before", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  using holds = openHolds();
  receiver.answer = holds.answer;
  for (const note of ["1", "2"]) await tell(realm, newEntity(), note);
  const run = worker.run();
  await until(() => receiver.received.length === 2);
  holds.let("1", 410);
  await until(async () =>
    (await made.deliveries()).every((one: { status: string }) => {
      return one.status === "FAILED";
    })
  );
  equal((await made.read()).active, false);
  const back = await realm.admin.send("PATCH", made.at, { active: true });
  deepEqual([back.body.active, back.body.failing_since], [true, null]);
  holds.let("2", 410);
  await run;
  equal((await made.read()).active, true, "the late answer is not one of the present");
  receiver.answer = () => new Response();
  const span = { from: 0, to: Date.now() + DAY_MS };
  const { body } = await realm.admin.send("POST", `${made.at}/deliveries/resend`, span);
  equal(body.resent, 2);
  await worker.run();
  deepEqual((await made.deliveries()).map((one: { status: string }) => one.status), [
    "DELIVERED",
    "DELIVERED",
  ]);
  await made.end();
});

test("an older event that is sent again never goes beside a newer one of its entity", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const x = newEntity();
  receiver.answer = fail(500);
  await tell(realm, x, "x1");
  await worker.run();
  await realm.command((tx) =>
    tx`update webhook_deliveries set status = 'FAILED', next_at = null where webhook = ${made.id}`
  );
  const [{ id: first }] = await made.deliveries();
  receiver.received.length = 0;
  using holds = openHolds();
  receiver.answer = holds.answer;
  await tell(realm, x, "x2", "x3");
  const y = newEntity();
  await tell(realm, y, "y1", "y2", "y3");
  const run = worker.run();
  await until(() => receiver.received.length === 2);
  await realm.admin.send("POST", `${made.at}/deliveries/${first}/resend`);
  for (const note of ["y1", "y2", "y3"]) holds.let(note);
  await until(() => receiver.received.some((one) => noteOf(one) === "y3"));
  deepEqual(receiver.received.map(noteOf).filter((note) => note.startsWith("x")), ["x2"]);
  for (const note of ["x2", "x1", "x3"]) holds.let(note);
  await run;
  deepEqual(receiver.received.map(noteOf).filter((note) => note.startsWith("x")), [
    "x2",
    "x1",
    "x3",
  ]);
  await made.end();
});

test("an entity's events arrive in order the first time, whatever fails, is sent again, switched off and on", async (realm) => {
  await using receiver = openReceiver();
  await using one = openTestDeliverer(realm);
  await using two = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const entities = Array.from({ length: 6 }, newEntity);
  const taken = new Map<string, string[]>();
  const failures = new Map<string, number>();
  receiver.answer = async ({ body }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
    const { id, note } = body.data;
    const failed = failures.get(`${id} ${note}`) ?? 0;
    // One that fails eleven times is given up, and lets those behind it pass.
    if (failed < 6 && Math.random() < 0.3) {
      failures.set(`${id} ${note}`, failed + 1);
      return new Response("no", { status: 503 });
    }
    const notes = taken.get(id) ?? [];
    if (!notes.includes(note)) taken.set(id, [...notes, note]);
    return new Response();
  };
  const notes = Array.from({ length: 6 }, (_, i) => `${i}`);
  for (const entity of entities) await tell(realm, entity, ...notes);
  await publishEvents(realm.pool, Date.now);
  const isDone = () => entities.every((entity) => taken.get(entity)?.length === notes.length);
  for (let turn = 0; turn < 60 && !isDone(); turn++) {
    const runs = Promise.all([one.run(), two.run()]);
    const deliveries = await made.deliveries();
    const { id } = deliveries[Math.floor(Math.random() * deliveries.length)];
    await realm.admin.send("POST", `${made.at}/deliveries/${id}/resend`);
    if (turn % 5 === 0) {
      await realm.admin.send("PATCH", made.at, { active: false });
      await realm.admin.send("PATCH", made.at, { active: true });
    }
    await runs;
    for (const worker of [one, two]) worker.later(3_600_000);
  }
  for (const entity of entities) deepEqual(taken.get(entity), notes);
  await made.end();
});
