/** Webhooks of processes that are killed: delivered again under the same `webhook-id`, and by one of two once. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { testDatabase } from "../../support/database.ts";
import { until } from "../../support/eventually.ts";
import { openReceiver } from "../../support/webhook_receiver.ts";
import { connect } from "./proof.ts";
import { type CrashRealm, makeRealm, type Service, startService } from "./service.ts";

const SETTINGS = { WEBHOOKS_ALLOW_PRIVATE: "true", INSTALLATION_EPOCH: "crash" };

async function post(service: Service, { key }: CrashRealm, path: string, body: unknown) {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  equal(answer.status, 201, path);
  return await answer.json();
}

/** Locks the head of the log, so that nobody publishes; gives what releases it. */
async function holdPublishing(sql: ReturnType<typeof connect>, schema: string) {
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx.unsafe(`select from ${schema}.event_head for update`);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  return async () => {
    release.resolve();
    await holding;
  };
}

Deno.test("webhooks of processes that are killed arrive, under one webhook-id each, and from two processes once", async (t) => {
  await using server = await testDatabase();
  await using service = await startService(server.url, SETTINGS);
  await using receiver = openReceiver();
  await using sql = connect(server);
  const isDelivered = (schema: string) => async () => {
    const [{ n }] = await sql.unsafe(`select count(*)::int as n
        from ${schema}.webhook_deliveries where status <> 'DELIVERED'`);
    return n === 0;
  };
  const realm = await makeRealm(service, 2);
  const [source, destination] = realm.accounts;
  const schema = `realm_${realm.schema.replaceAll("-", "")}`;
  const move = async () =>
    (await post(service, realm, "/v1/transactions", {
      ...{ source: { account: source }, destination: { account: destination }, value: "1" },
    })).id as string;
  await post(service, realm, "/v1/webhooks", {
    ...{ url: receiver.url, events: ["transaction.created"] },
  });
  /** The ids under which a transaction was told of. */
  const toldOf = (id: string) =>
    receiver.received.filter(({ body }) => body.data.id === id)
      .map(({ headers }) => headers.get("webhook-id")!);

  await t.step("killed between commit and delivery", async () => {
    const release = await holdPublishing(sql, schema);
    const id = await move();
    await service.kill();
    deepEqual(toldOf(id), []);
    await release();
    await until(() => toldOf(id).length > 0);
    equal(toldOf(id).length, 1);
  });

  await t.step("killed between delivery and mark", async () => {
    const hold = Promise.withResolvers<void>();
    receiver.answer = async () => (await hold.promise, new Response());
    const id = await move();
    await until(() => toldOf(id).length === 1);
    await service.kill();
    hold.resolve();
    receiver.answer = () => new Response();
    await sql.unsafe(`update ${schema}.webhook_queues set lease_until = now()
        where lease_owner is not null`);
    await until(() => toldOf(id).length === 2);
    equal(new Set(toldOf(id)).size, 1, "the same webhook-id");
    await until(isDelivered(schema));
    equal(toldOf(id).length, 2);
  });

  await t.step("two processes deliver each event once", async () => {
    await using other = await startService(server.url, SETTINGS);
    ok(other.url !== service.url);
    const ids: string[] = [];
    for (let i = 0; i < 60; i++) ids.push(await move());
    await until(() => ids.every((id) => toldOf(id).length > 0));
    await until(isDelivered(schema));
    for (const id of ids) equal(toldOf(id).length, 1);
  });
});
