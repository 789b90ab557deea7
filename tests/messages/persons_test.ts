/** Messages to persons, at the addresses of their profiles. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { startInfobip } from "../support/infobip.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { EMAIL, number, WHATSAPP, writeTo } from "./fixture.ts";

Deno.test("a message to a person goes to its first address, and is forgotten with the person", async () => {
  await using server = startInfobip();
  await using realm = await testRealm({ env: server.env });
  const [phone, email] = [number(), "ada.lovelace@example.com"];
  const contactInformation = {
    phone: [{ number: phone.slice(1) }, { number: number() }],
    email: [{ address: email }, { address: "other@example.com" }],
  };
  const person = { firstName: "Ada", contactInformation };
  const made = await realm.admin.send("POST", "/v1/identities/person", { person });
  equal(made.status, 201, made.text);
  const { id } = made.body;
  await writeTo(realm, phone);
  const path = `/v1/identities/${id}/person/message`;
  const key = { "idempotency-key": "to-a-person" };
  const sent: string[] = [];
  for (
    const [channel, content, destination] of [
      ["sms", { text: "hello" }, phone],
      ["whatsapp", WHATSAPP, phone],
      ["email", EMAIL, email],
    ] as const
  ) {
    const headers = channel === "email" ? key : {};
    const answer = await realm.admin.send("POST", `${path}/${channel}`, { content }, headers);
    equal(answer.status, 201, answer.text);
    const [message] = answer.body.messages;
    equal(message.destination, destination);
    equal((await realm.admin.send("GET", `/v1/messages/${message.messageId}`)).body.identity, id);
    sent.push(message.messageId);
  }
  await realm.drain();
  deepEqual(
    server.taken.map((one) => one.to).sort(),
    [email, phone.slice(1), phone.slice(1)].sort(),
  );

  const waiting = await realm.admin.send("POST", `${path}/sms`, { content: { text: "hello" } });
  equal(waiting.status, 201);
  const forgotten = await realm.admin.send("DELETE", `/v1/identities/${id}/person`);
  equal(forgotten.status, 200, forgotten.text);
  await realm.drain();
  equal(server.taken.length, 3, "a message that waits is not sent any more");
  for (const message of sent) {
    const { body } = await realm.admin.send("GET", `/v1/messages/${message}`);
    deepEqual([body.destination, body.identity], ["", id]);
  }
  const rows = await rowsOf<{ row: string }>(
    realm,
    "select to_jsonb(m)::text as row from messages m",
  );
  ok(rows.every(({ row }) => !row.includes(phone) && !row.includes(email)));
  const again = await realm.admin.send("POST", `${path}/email`, { content: EMAIL }, key);
  ok(!again.text.includes(email), "the stored answer is forgotten too");
  const refused = await realm.admin.send("POST", `${path}/email`, { content: EMAIL });
  deepEqual([refused.status, refused.body.code], [422, "recipient.missing"]);
});

Deno.test("a person without an address of the channel, or none at all, gets no message", async () => {
  await using realm = await testRealm();
  const person = {
    firstName: "Ada",
    contactInformation: { email: [{ address: "a@example.com" }] },
  };
  const { body: { id } } = await realm.admin.send("POST", "/v1/identities/person", { person });
  const sms = { content: { text: "hello" } };
  const send = (to: string) =>
    realm.admin.send("POST", `/v1/identities/${to}/person/message/sms`, sms);
  for (const to of [id, realm.admin.identity]) {
    const { status, body } = await send(to);
    deepEqual([status, body.code], [422, "recipient.missing"]);
  }
  equal((await send(crypto.randomUUID())).body.code, "identity.not_found");
  await using off = realm.another({ CDP_PROVIDER: "off" });
  const path = `/v1/identities/${id}/person/message/sms`;
  const { status, body } = await off.send(realm.admin.key)("POST", path, sms);
  deepEqual([status, body.code], [501, "extension.disabled"]);
});
