/** A database that was restored or copied tells the world nothing until it is reconciled. */
import { deepEqual, equal } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { isRealmApart } from "../../workers/installation/attestation.ts";
import { openFence } from "../../workers/installation/fence.ts";
import { sendMessage, sendWaiting } from "../../workers/messages/sending.ts";
import { workerContext } from "../../workers/worker_context.ts";
import { attest, backups, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import {
  hook,
  newEntity,
  openReceiver,
  openTestDeliverer,
  PRIVATE,
  tell,
} from "../support/webhook_receiver.ts";

/** The fence of a host with a folder of its own, as a process that starts there opens it. */
async function fenceOf(url: string, dataDir: string) {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  const { platform } = database;
  const fence = await openFence({
    ...{ platform, dataDir, label: null, master: "the same", loop: false },
    log: () => {},
  });
  const close = async () => {
    await fence.close();
    await database.close();
  };
  return { isApart: fence.isApart, close, [Symbol.asyncDispose]: close };
}

/** A worker that sends messages, and counts them. */
function openSender(realm: TestRealm, isApart: () => Promise<boolean>) {
  let sent = 0;
  const send = () => (sent++, Promise.resolve({ provider: "smtp", status: "SENT" } as never));
  const messaging = {
    secrets: realm.services.secrets,
    gatewayOf: () => ({ send }) as never,
    isHeld: () => false,
    ...{ isApart, ttlMs: 3_600_000, close: () => {} },
  };
  const target = {
    ...{ realm: realm.made.realm, pool: realm.pool },
    signal: new AbortController().signal,
  };
  const shared = { log: () => {}, messaging, now: Date.now, chains: null!, signer: null! };
  return { sent: () => sent, context: () => workerContext(shared, target) };
}

Deno.test("a database that waits for its reconciliation sends neither webhooks nor messages", async () => {
  await using own = await backups();
  await using realm = await testRealm({
    env: { DATABASE_URL: own.url, ...PRIVATE.env },
  });
  await using receiver = openReceiver();
  const dataDir = await Deno.makeTempDir({ prefix: "purser-epoch-" });
  await hook(realm, receiver); // its owner is told of it by e-mail
  await tell(realm, newEntity(), "1");
  await (await fenceOf(own.url, dataDir)).close();
  const yesterday = await own.copy();
  await (await fenceOf(own.url, dataDir)).close();
  await own.restore(yesterday);
  await using fence = await fenceOf(own.url, dataDir);
  equal(await fence.isApart(), true);
  await realm.admin.renew();

  await using worker = openTestDeliverer(realm, fence);
  await worker.run();
  equal(receiver.received.length, 0);
  const { body: [{ id }] } = await realm.admin.send("GET", "/v1/messages/all");
  const held = openSender(realm, fence.isApart);
  await sendMessage(held.context(), { message: id, attempt: 1 });
  await sendWaiting(held.context());
  const waiting = async () =>
    (await realm.pool.sql`select waiting from messages where id = ${id}`)[0].waiting;
  deepEqual([held.sent(), await waiting()], [0, true]);

  // Reconciled, both go on.
  await using again = openTestDeliverer(realm);
  await again.run();
  equal(receiver.received.length, 1);
  const sender = openSender(realm, () => Promise.resolve(false));
  await sendWaiting(sender.context());
  equal(await waiting(), false, "it is taken up again");
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("a realm that was restored alone sends neither webhooks nor messages until it is reconciled", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  const { platform } = realm.database;
  const isApart = (target: Parameters<typeof isRealmApart>[1]) => isRealmApart(platform, target);
  await using worker = openTestDeliverer(realm, { isApart });
  await hook(realm, receiver);
  await tell(realm, newEntity(), "1");
  await attest(realm);
  await keepRealm(realm);
  await worker.run();
  equal(receiver.received.length, 1);
  await attest(realm);
  await restoreRealm(realm);

  // At once, and after a worker has compared the schema and taken it as it is.
  for (let turn = 0; turn < 2; turn++) {
    await worker.run();
    equal(receiver.received.length, 1, "it was told once");
    const { body: [{ id }] } = await realm.admin.send("GET", "/v1/messages/all");
    const held = openSender(realm, () => isApart({ realm, pool: realm.pool }));
    await sendMessage(held.context(), { message: id, attempt: 1 });
    equal(held.sent(), 0);
    await attest(realm);
    await attest(realm);
  }
  await reconcile(realm);
  await worker.run();
  equal(receiver.received.length, 2, "what waited in the backup is told again, under its own id");
});
