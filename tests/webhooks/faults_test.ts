import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { until } from "../support/eventually.ts";
import { sharing } from "../support/sharing.ts";
import {
  fail,
  hook,
  newEntity,
  openReceiver,
  openTestDeliverer,
  PRIVATE,
  type Receiver,
  tell,
} from "../support/webhook_receiver.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const notesOf = ({ received }: Receiver) => received.map((one) => one.body.data.note);
const test = sharing("deliveries in one realm", PRIVATE);

test("an entity's events arrive in order, and one that fails delays no other entity", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const [x, y] = [newEntity(), newEntity()];
  let refused = 0;
  receiver.answer = ({ body }) => {
    if (body.data.note === "x1" && refused++ === 0) return new Response("later", { status: 500 });
    return new Response();
  };
  await tell(realm, x, "x1", "x2", "x3");
  await tell(realm, y, "y1", "y2");
  await worker.run();
  deepEqual(notesOf(receiver).filter((note) => note !== "x1"), ["y1", "y2"]);
  const [, , , , first] = await made.deliveries();
  deepEqual([first.status, first.attempts, first.response.status], ["PENDING", 1, 500]);
  equal(first.failure, "the answer was 500");
  worker.later(10_000);
  await worker.run();
  deepEqual(notesOf(receiver).filter((note) => note.startsWith("x")), ["x1", "x1", "x2", "x3"]);
  const ids = receiver.received.filter(({ body }) => body.data.note === "x1")
    .map(({ headers }) => headers.get("webhook-id"));
  equal(new Set(ids).size, 1);
  await made.end();
});

test("a receiver that is down for an hour receives everything afterwards, in order", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  receiver.answer = fail(503);
  const entities = Array.from({ length: 60 }, newEntity);
  for (const entity of entities) await tell(realm, entity, "1", "2");
  for (let passed = 0; passed < HOUR_MS; passed += MINUTE_MS) {
    await worker.run();
    worker.later(MINUTE_MS);
  }
  ok(receiver.received.length < 250, `${receiver.received.length} attempts in an hour`);
  ok((await made.read()).failing_since !== null);
  receiver.answer = () => new Response();
  receiver.received.length = 0;
  await worker.run();
  worker.later(MINUTE_MS);
  await worker.run();
  for (const entity of entities) {
    const notes = receiver.received.filter(({ body }) => body.data.id === entity);
    deepEqual(notes.map(({ body }) => body.data.note), ["1", "2"]);
  }
  equal((await made.read()).failing_since, null);
  await made.end();
});

test("a receiver that answers 410 is disabled at once, with an event, and can be activated again", async (realm) => {
  await using receiver = openReceiver();
  await using watcher = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const watching = { url: watcher.url, events: ["webhook.disabled"] };
  const watch = (await realm.admin.send("POST", "/v1/webhooks", watching)).body;
  receiver.answer = fail(410);
  await tell(realm, newEntity(), "1", "2");
  await worker.run();
  const row = await made.read();
  deepEqual([row.active, row.disabled_reason], [false, "gone"]);
  deepEqual((await made.deliveries()).map((one: { status: string }) => one.status), [
    "FAILED",
    "FAILED",
  ]);
  await worker.run();
  deepEqual(watcher.received.map(({ body }) => [body.type, body.data.id]), [
    ["webhook.disabled", made.id],
  ]);
  const { body: [mailed] } = await realm.admin.send("GET", "/v1/messages/all");
  deepEqual([mailed.channel, mailed.user], ["email", realm.admin.id]);
  receiver.answer = () => new Response();
  await realm.admin.send("PATCH", made.at, { active: true });
  // Ids follow the newest clock that published.
  const span = { from: 0, to: Date.now() + 1000 * HOUR_MS };
  const resent = await realm.admin.send("POST", `${made.at}/deliveries/resend`, span);
  equal(resent.body.resent, 2, resent.text);
  receiver.received.length = 0;
  await worker.run();
  deepEqual(notesOf(receiver), ["1", "2"]);
  for (const id of [made.id, watch.id]) await realm.admin.send("DELETE", `/v1/webhooks/${id}`);
});

test("a receiver that fails for three days is disabled, with an event", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  receiver.answer = fail(500);
  await tell(realm, newEntity(), "1");
  await worker.run();
  worker.later(71 * HOUR_MS);
  await tell(realm, newEntity(), "2");
  await worker.run();
  equal((await made.read()).active, true);
  worker.later(2 * HOUR_MS);
  await tell(realm, newEntity(), "3");
  await worker.run();
  const row = await made.read();
  deepEqual([row.active, row.disabled_reason], [false, "failing"]);
  const [mail] = await realm.pool.sql<{ id: string; user: string; content: Uint8Array }[]>`
    select id, user_id as user, content from messages where channel = 'email' order by id desc limit 1`;
  equal(mail.user, realm.admin.id);
  const { secrets } = realm.services;
  const text = secrets.decrypt("message", `${realm.id}|${mail.id}`, mail.content)!;
  ok(text.includes(made.id) && text.includes("failed for three days"), text);
  ok(!text.includes(receiver.url), "the address may be a secret of the receiver");
  await made.end();
});

test("redirects are not followed, and bad answers are failures that are tried again", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  await using impatient = openTestDeliverer(realm, { timeoutMs: 500 }); // of answers that never come
  const made = await hook(realm, receiver);
  let hold = Promise.withResolvers<void>();
  const answers: [() => Response | Promise<Response>, RegExp][] = [
    [
      () => new Response(null, { status: 301, headers: { location: `${receiver.url}/other` } }),
      /^the answer was 301: redirects are not followed$/,
    ],
    [fail(500), /^the answer was 500$/],
    [fail(404), /^the answer was 404$/],
    [async () => (await hold.promise, new Response()), /^no answer came within 1 s$/],
    [
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
          }),
        ),
      /^no answer came within 1 s$/,
    ],
  ];
  for (const [answer, failure] of answers) {
    receiver.answer = answer;
    await tell(realm, newEntity(), "1");
    await (failure.source.includes("no answer") ? impatient : worker).run();
    const [last] = await made.deliveries();
    deepEqual([last.status, last.attempts], ["PENDING", 1]);
    match(last.failure, failure);
    hold.resolve();
    hold = Promise.withResolvers();
    await realm.command((tx) =>
      tx`update webhook_deliveries set status = 'FAILED', next_at = null`
    );
  }
  equal(receiver.received.some(({ path }) => path === "/other"), false);
  receiver.answer = () => new Response(`\0\x01${"long ".repeat(100_000)}`);
  await tell(realm, newEntity(), "1");
  await worker.run();
  const [last] = await made.deliveries();
  deepEqual([last.status, last.response.body.length], ["DELIVERED", 1024]);
  await made.end();
});

test("garbage, and a connection that closes before or in the middle of the answer, are failures", async (realm) => {
  await using worker = openTestDeliverer(realm);
  for (const text of ["garbage\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf", ""]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const serve = async () => {
      for await (const connection of listener) {
        await connection.read(new Uint8Array(65_536));
        await connection.write(new TextEncoder().encode(text));
        connection.close();
      }
    };
    const serving = serve().catch(() => {});
    const url = `http://127.0.0.1:${listener.addr.port}`;
    const made = await hook(realm, { url } as Receiver);
    await tell(realm, newEntity(), "1");
    await worker.run();
    const [one] = await made.deliveries();
    deepEqual([one.status, one.attempts], ["PENDING", 1], JSON.stringify(text));
    match(one.failure, /^the (connection|answer)/, text);
    await made.end();
    listener.close();
    await serving;
  }
});

test("a slow receiver delays no other", async (realm) => {
  await using slow = openReceiver();
  await using quick = openReceiver();
  await using worker = openTestDeliverer(realm);
  const hold = Promise.withResolvers<void>();
  slow.answer = async () => (await hold.promise, new Response());
  const made = [await hook(realm, slow), await hook(realm, quick)];
  for (let i = 0; i < 50; i++) await tell(realm, newEntity(), `${i}`);
  const run = worker.run();
  await until(() => quick.received.length === 50);
  ok(slow.received.length > 0);
  hold.resolve();
  await run;
  equal(slow.received.length, 50);
  for (const one of made) await one.end();
});

test("two workers deliver each event once", async (realm) => {
  await using receiver = openReceiver();
  await using one = openTestDeliverer(realm);
  await using two = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  receiver.answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
    return new Response();
  };
  for (let i = 0; i < 100; i++) await tell(realm, newEntity(), `${i}`);
  await Promise.all([one.run(), two.run()]);
  await Promise.all([one.run(), two.run()]);
  equal(receiver.received.length, 100);
  equal(new Set(notesOf(receiver)).size, 100);
  await made.end();
});

test("a worker that is lost between commit and delivery, or between delivery and mark, loses and changes nothing", async (realm) => {
  await using receiver = openReceiver();
  await using lost = openTestDeliverer(realm);
  await using next = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  await tell(realm, newEntity(), "1");
  // Committed, and not yet delivered: another process delivers.
  await next.run();
  equal(receiver.received.length, 1);
  // Delivered, and not yet marked: its lease runs out.
  const hold = Promise.withResolvers<void>();
  receiver.answer = async ({ n }) => (n === 1 && await hold.promise, new Response());
  await tell(realm, newEntity(), "2");
  const run = lost.run();
  await until(() => receiver.received.length === 2);
  await next.run();
  equal(receiver.received.length, 2, "under a lease nobody else delivers");
  // Leases run out by the database's clock, and by no process's.
  next.later(2 * MINUTE_MS);
  await next.run();
  equal(receiver.received.length, 2);
  await until(async () => { // the first may just prolong it
    await realm.pool.sql`update webhook_queues set lease_until = now() where webhook = ${made.id}`;
    await next.run();
    return receiver.received.length > 2;
  });
  equal(receiver.received.length, 3);
  const [, first, second] = receiver.received.map(({ headers }) => headers.get("webhook-id"));
  equal(first, second);
  hold.resolve();
  await run;
  const [delivery] = await made.deliveries();
  deepEqual([delivery.status, delivery.attempts], ["DELIVERED", 1]);
  await made.end();
});

test("after a rotation deliveries carry two signatures, and later one", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const rotated = await realm.admin.send("POST", `${made.at}/rotate`, { hours: 1 });
  const verified = () => {
    const { text, headers } = receiver.received.at(-1)!;
    return [made.secret, rotated.body.secret].map((secret) => {
      try {
        new Webhook(secret).verify(text, Object.fromEntries(headers));
        return true;
      } catch {
        return false;
      }
    });
  };
  await tell(realm, newEntity(), "1");
  await worker.run();
  deepEqual(verified(), [true, true]);
  const [{ id }] = await made.deliveries();
  await realm.command((tx) =>
    tx`update webhooks set previous_until = now() - interval '1 minute' where id = ${made.id}`
  );
  equal(
    (await realm.admin.send("POST", `${made.at}/deliveries/${id}/resend`)).body.status,
    "PENDING",
  );
  await worker.run();
  deepEqual(verified(), [false, true]);
  const ids = receiver.received.map(({ headers }) => headers.get("webhook-id"));
  deepEqual(ids, [id, id]);
  await made.end();
});

test("a test is sent to its webhook alone, whatever it listens to", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const [one, other] = [await hook(realm, receiver, "/one"), await hook(realm, receiver, "/other")];
  equal((await realm.admin.send("POST", `${one.at}/test`)).status, 200);
  await worker.run();
  deepEqual(receiver.received.map(({ path, body }) => [path, body.type, body.data.id]), [
    ["/one", "webhook.test", one.id],
  ]);
  for (const made of [one, other]) await made.end();
});

test("a large entity is told by its id alone", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const made = await hook(realm, receiver);
  const [large, small] = [newEntity(), newEntity()];
  await tell(realm, large, "é".repeat(10_000));
  await tell(realm, small, "x".repeat(19_000));
  await worker.run();
  const told = (entity: string) =>
    receiver.received.map(({ body }) => body.data).filter(({ id }) => id === entity)
      .map((data) => Object.keys(data));
  deepEqual([told(large), told(small)], [[["id"]], [["id", "note"]]]);
  await made.end();
});

test("a webhook whose owner loses its rights receives nothing more", async (realm) => {
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const user = await realm.user({ role: "manage", scope: "realm" });
  const input = { url: receiver.url, events: ["stop.set"] };
  const { id } = (await user.send("POST", "/v1/webhooks", input)).body;
  await tell(realm, newEntity(), "1");
  await worker.run();
  equal(receiver.received.length, 1);
  receiver.answer = fail(500);
  await tell(realm, newEntity(), "2");
  await worker.run();
  const narrow = { roles: "user", scopes: "own" };
  const changed = await realm.admin.send("PATCH", `/v1/users/${user.id}`, narrow);
  equal(changed.status, 200, changed.text);
  receiver.received.length = 0;
  worker.later(MINUTE_MS);
  await tell(realm, newEntity(), "3");
  await worker.run();
  equal(receiver.received.length, 0);
  await realm.admin.send("DELETE", `/v1/webhooks/${id}`);
});
