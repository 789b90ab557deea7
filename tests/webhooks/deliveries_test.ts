import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

/** A realm with a currency and two accounts, and a function that moves value between them. */
async function openLedger(realm: TestRealm) {
  const { name, account } = await realm.currency("100000");
  const other = await realm.account({ asset: name });
  const move = async (value = "1") => {
    const body = { source: { account }, destination: { account: other }, value };
    const answer = await realm.admin.send("POST", "/v1/transactions", body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  return { account, other, move };
}

Deno.test("a webhook receives signed events of its types, once each, as the API shows them", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  const { send } = realm.admin;
  const input = { url: `${receiver.url}/hook`, events: ["transaction.created"], data: { a: 1 } };
  const made = await send("POST", "/v1/webhooks", input);
  equal(made.status, 201, made.text);
  match(made.body.secret, /^whsec_/);
  const { move } = await openLedger(realm);
  const [one, two] = [await move("1.5"), await move()];
  await worker.run();
  const last = receiver.received.slice(-2);
  deepEqual(last.map((each) => each.body.data.id), [one.id, two.id]);
  const shown = (await send("GET", `/v1/transactions/${one.id}`)).body;
  deepEqual(last[0].body.data, shown);
  deepEqual(Object.keys(last[0].body), ["type", "timestamp", "data"]);
  const verifier = new Webhook(made.body.secret);
  for (const each of receiver.received) {
    verifier.verify(each.text, Object.fromEntries(each.headers));
  }
  const ids = receiver.received.map((each) => each.headers.get("webhook-id"));
  deepEqual(ids, [...ids].sort());
  await worker.run();
  equal(receiver.received.length, ids.length);
  const deliveries = (await send("GET", `/v1/webhooks/${made.body.id}/deliveries`)).body;
  equal(deliveries.length, ids.length);
  const [newest] = deliveries;
  deepEqual(
    [newest.webhook_id, newest.status, newest.attempts, newest.response],
    [ids.at(-1), "DELIVERED", 1, { status: 200, body: "thanks" }],
  );
  ok(newest.latency_ms >= 0);
});
