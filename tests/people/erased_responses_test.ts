import { deepEqual, equal, ok } from "node:assert/strict";
import { recordSent } from "../../domain/messages/sending.ts";
import { AT_OPERATOR } from "../../domain/messages/statuses.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { openReceiver, openTestDeliverer, PRIVATE } from "../support/webhook_receiver.ts";

const mail = () => `${crypto.randomUUID().slice(0, 8)}@attacks.example`;

Deno.test("a receiver that repeats what it is sent keeps no address of a person that is forgotten", async () => {
  await using realm = await testRealm(PRIVATE);
  await using receiver = openReceiver();
  await using worker = openTestDeliverer(realm);
  receiver.answer = ({ text }) => new Response(text);
  const hook = await realm.admin.send("POST", "/v1/webhooks", {
    ...{ url: receiver.url, events: ["message.updated"] },
  });
  equal(hook.status, 201, hook.text);
  const [user, address, other] = [await realm.user(), mail(), mail()];
  const path = `/v1/identities/${user.identity}/person`;
  const contactInformation = { email: [{ address }] };
  equal((await user.send("POST", path, { contactInformation })).status, 201);
  const content = { subject: "Hello", text: "Hello" };
  const answers = [
    await user.send("POST", `${path}/message/email`, { content }),
    await user.send("POST", "/v1/apps/message/email", { to: other, content }),
  ];
  for (const { status, body, text } of answers) {
    equal(status, 201, text);
    const sent = { provider: "smtp", status: AT_OPERATOR } as const;
    const { messageId: message } = body.messages[0];
    await realm.command((tx) => recordSent(tx, realm.admin.actor, { message, ...sent }));
  }
  await worker.run();
  const deliveries = async () =>
    (await realm.admin.send("GET", `/v1/webhooks/${hook.body.id}/deliveries`)).text;
  const before = await deliveries();
  ok(before.includes(address) && before.includes(other), before);
  equal((await user.send("DELETE", path)).status, 200);
  const after = await deliveries();
  ok(!after.includes(address) && after.includes(other), after);
  const kept = await rowsOf(
    realm,
    `select 1 from webhook_deliveries d where d::text like '%${address}%'`,
  );
  deepEqual(kept, []);
});
