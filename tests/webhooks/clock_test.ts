/** Processes whose clocks are wrong. */
import { equal, ok } from "node:assert/strict";
import { openDatabaseClock } from "../../workers/installation/database_clock.ts";
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
const YEAR_MS = 365 * 24 * 3_600_000;
const test = sharing("clocks of one realm", PRIVATE);

test("a process whose clock is a year ahead or behind signs, tries again and judges by the database's clock", async (realm) => {
  for (const apart of [YEAR_MS, -YEAR_MS]) {
    const clock = openDatabaseClock(realm.database.platform, () => Date.now() + apart);
    await using receiver = openReceiver();
    await using worker = openTestDeliverer(realm, { clock });
    const made = await hook(realm, receiver);
    receiver.answer = fail(500);
    await realm.command((tx) =>
      tx`update webhook_queues set failures = 30, failing_since = now() - interval '1 hour'
        where webhook = ${made.id}`
    );
    await tell(realm, newEntity(), "1");
    await worker.run();
    equal(receiver.received.length, 1, "it is due");
    const signed = Number(receiver.received[0].headers.get("webhook-timestamp")) * 1000;
    ok(Math.abs(signed - Date.now()) < MINUTE_MS, `signed at ${new Date(signed)}`);
    const [{ next_attempt_at, status }] = await made.deliveries();
    equal(status, "PENDING");
    ok(Math.abs(next_attempt_at - Date.now()) < MINUTE_MS, `next at ${new Date(next_attempt_at)}`);
    equal((await made.read()).active, true, "an hour is no three days");
    const [{ wait }] = await realm.pool.sql<{ wait: number }[]>`
      select extract(epoch from resume_at - now())::float8 as wait from webhook_queues
      where webhook = ${made.id}`;
    ok(wait < 120, `the queue waits for ${wait} s`);
    await made.end();
  }
});

test("a clock that cannot be compared stays as it is, and small differences are left", async (realm) => {
  const { platform } = realm.database;
  let asked = 0;
  const away = new Proxy(platform, {
    get: () => {
      asked++;
      throw new Error("away");
    },
  });
  const lost = openDatabaseClock(away, () => 1000);
  await lost.compare();
  await lost.compare();
  equal(lost.now(), 1000);
  ok(asked >= 2, "it is tried again at once");
  // On a busy machine a question takes long, and looks like a difference: of many one does not.
  await until(async () => {
    const near = openDatabaseClock(platform, () => Math.round(Date.now()) - 300);
    await near.compare();
    return Math.abs(near.now() + 300 - Date.now()) < 100;
  });
});
