/**
 * Events as the client reads them: the stream over lost connections, and webhooks that were really delivered.
 *
 * @module
 */
import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { isProblem, type PurserEvent } from "../../client/client.ts";
import { verifyWebhook, WebhookError } from "../../client/webhooks.ts";
import { emit } from "../../domain/events.ts";
import { randomId } from "../../domain/ids.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { answerOf, clientOf, headerOf, openNetwork, serve } from "../support/client_fixture.ts";
import { until } from "../support/eventually.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const test = sharing("events of one realm, as the client reads them");

/** Emits an event that carries a number, and publishes it. */
async function tell(realm: TestRealm, n: number, owner: string | null = null): Promise<void> {
  await realm.command((tx) => {
    const id = randomId(Date.now());
    // The digits of a withdrawal's amount are those of a number on the wire.
    const view = { id, value: n + 0.25, data: { value: n } };
    return emit(tx, { at: Date.now() }, "withdrawal.updated", { id, owner, view });
  });
  await publishEvents(realm.pool, Date.now);
}

function numberOf({ data }: PurserEvent): number {
  return (data as unknown as { data: { value: number } }).data.value;
}

/** Reads events in the background; gives the numbers that they carry. */
function collect(events: AsyncIterable<PurserEvent>) {
  const seen: number[] = [];
  const all: PurserEvent[] = [];
  const reading = (async () => {
    for await (const event of events) {
      all.push(event);
      seen.push(numberOf(event));
    }
  })();
  return { seen, all, reading };
}

test("a stream that is cut goes on without a gap and without a repeat", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, (n) => {
    // Now and then the service cannot be reached, or a proxy answers for it.
    if (n % 5 === 2) return answerOf("502 Bad Gateway", { "retry-after": "0" }, "<html>");
    return n % 5 === 4 ? "never" : "pass";
  });
  const ended = new AbortController();
  const client = clientOf(network, realm.admin);
  const { seen, all, reading } = collect(client.events({ signal: ended.signal }));
  await until(() => network.begun() === 1);
  for (let n = 1; n <= 6; n++) {
    // Before it is told, after it was told, or both.
    if (n % 2 === 0) network.cut();
    await tell(realm, n);
    if (n % 3 === 0) network.cut();
    await until(() => seen.length >= n);
  }
  deepEqual(seen, [1, 2, 3, 4, 5, 6]);
  ok(network.requests.length > 3, "it was opened anew");
  ok(network.requests.slice(1).every((one) => headerOf(one, "last-event-id") !== null));
  const last = all.at(-1)!;
  ok(last.type === "withdrawal.updated" && "value" in last.data);
  equal(last.data.value, "6.25", "an amount is text");
  ended.abort(new Error("enough"));
  await rejects(reading, /enough/);
});

test("reading goes on after an event that is known, of chosen types, until the loop is left", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, () => "pass");
  const user = await realm.user();
  const client = clientOf(network, user);
  const events = client.events({ types: ["withdrawal.updated", "stop.set"] });
  const first = events.next();
  await until(() => network.begun() === 1);
  for (const n of [1, 2, 3]) await tell(realm, n, user.id);
  const { value: event } = await first;
  equal(numberOf(event!), 1);
  await events.return();
  const rest: number[] = [];
  for await (const one of client.events({ after: event!.id })) {
    rest.push(numberOf(one));
    if (rest.length === 2) break;
  }
  deepEqual(rest, [2, 3]);
});

test("a stream that falls silent is opened again after the last event", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, () => "pass");
  const ended = new AbortController();
  const options = { signal: ended.signal, silenceMaxMs: 300 };
  const { seen, reading } = collect(clientOf(network, realm.admin).events(options));
  await until(() => network.requests.length >= 2);
  ok(headerOf(network.requests[1], "last-event-id") !== null);
  await tell(realm, 1);
  await until(() => seen.length === 1);
  ended.abort(new Error("enough"));
  await rejects(reading, /enough/);
});

test("a stream that no repeat mends ends with its problem", async (realm) => {
  await using service = serve(realm);
  const expired = "00000001-0000-7000-8000-000000000000";
  await rejects(
    clientOf(service, realm.admin).events({ after: expired }).next(),
    (error) => isProblem(error, "event.expired"),
  );
  await rejects(
    clientOf(service, { key: "no-key" }).events().next(),
    (error) => isProblem(error, "auth.invalid"),
  );
});

Deno.test("a webhook that was really delivered is verified, and one that somebody changed is not", async () => {
  await using realm = await testRealm(PRIVATE);
  await using service = serve(realm);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const client = clientOf(service, realm.admin);
  const body = { url: `${receiver.url}/hook`, events: ["transaction.created" as const] };
  const { id, secret } = await client.post("/v1/webhooks", { body });
  const { account } = await realm.currency("12.5");
  await worker.run();
  const [{ text, headers }] = receiver.received;
  const event = verifyWebhook(secret, text, headers);
  ok(event.type === "transaction.created" && "amount" in event.data);
  equal(event.data.amount, "12.5");
  equal(event.data.destination.account, account);
  equal(event.id, headers.get("webhook-id"));
  deepEqual(verifyWebhook(secret, text, Object.fromEntries(headers)), event);
  const rotated = await client.post("/v1/webhooks/{id}/rotate", { path: { id }, body: {} });
  deepEqual(verifyWebhook([rotated.secret, secret], text, headers), event);
  const late = new Headers(headers);
  late.set("webhook-timestamp", `${Number(headers.get("webhook-timestamp")) - 600}`);
  const bare = new Headers(headers);
  bare.delete("webhook-signature");
  for (
    const [secrets, changed, under] of [
      [rotated.secret, text, headers],
      [secret, text.replace("12.5", "99.5"), headers],
      [secret, text, late],
      [secret, text, bare],
      ["", text, headers],
      [[], text, headers],
    ] as const
  ) {
    throws(() => verifyWebhook(secrets, changed, under), WebhookError);
  }
});
