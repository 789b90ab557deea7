/** Deliveries beside transfers that crowd their process. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import { testRealm } from "../support/realm.ts";
import {
  hook,
  newEntity,
  openReceiver,
  openTestDeliverer,
  PRIVATE,
  tell,
} from "../support/webhook_receiver.ts";
import { openSlots } from "../../workers/webhooks/slots.ts";

Deno.test("requests to receivers start at a bounded rate while transfers crowd the process, in turns, and freely afterwards", async () => {
  let isCrowded = true;
  const slots = openSlots({ all: 10_000, perRealm: 10_000, isCrowded: () => isCrowded });
  const order: string[] = [];
  const ask = async (realm: string) => {
    await slots.take(realm, "queue");
    order.push(realm);
  };
  const begun = performance.now();
  const asked = Array.from({ length: 300 }, () => ask("loud"));
  asked.push(ask("quiet"));
  await new Promise((resolve) => setTimeout(resolve));
  const first = order.length;
  await until(() => order.length >= 100);
  // A start each other millisecond, and ten that had not been used.
  ok(order.length <= (performance.now() - begun) / 2 + 12, `${order.length}`);
  ok(order.indexOf("quiet") <= first + 2, order.join());
  isCrowded = false;
  await Promise.all(asked);
  equal(order.length, 301);
  const free = Array.from({ length: 1000 }, () => ask("loud"));
  await Promise.all(free);
});

Deno.test("deliveries beside transfers without end are slower, and none is left out or out of order", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  const { account } = await realm.currency("1000000000", "PACED");
  const target = await realm.account({ asset: "PACED" });
  const move = { source: { account }, destination: { account: target }, value: "1" };
  let [isOver, wasCrowded] = [false, false];
  const isCrowded = () => {
    const now = realm.services.realms.isCrowded();
    wasCrowded ||= now;
    return now;
  };
  await using worker = openTestDeliverer(realm, { isCrowded });
  await hook(realm, receiver);
  const entity = newEntity();
  const notes = Array.from({ length: 60 }, (_, n) => `${n}`);
  await tell(realm, entity, ...notes);
  const posting = Array.from({ length: 100 }, async () => {
    while (!isOver) equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  });
  await until(() => realm.services.realms.isCrowded());
  await worker.run();
  isOver = true;
  await Promise.all(posting);
  ok(wasCrowded);
  deepEqual(receiver.received.map(({ body }) => body.data.note), notes);
});
