/** The share of one customer in the house's messages, against whoever tries to get around it. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { rowsOf, testRealm, type TestUser } from "../support/realm.ts";
import { number } from "./fixture.ts";

const content = { text: "hello" };
const PATH = "/v1/apps/message/sms";

Deno.test("a customer sends no more than the realm lets it in a day, through however many users it makes", async () => {
  await using realm = await testRealm();
  const set = (messages: unknown) =>
    realm.admin.send("PATCH", `/v1/realms/${realm.id}`, { messages });
  const refused = await set({ customer_per_day: -1 });
  deepEqual([refused.status, refused.body.code], [400, "request.invalid"]);
  equal(refused.body.errors[0].path, "/messages/customer_per_day");
  const changed = await set({ customer_per_day: 5 });
  deepEqual([changed.status, changed.body.messages], [200, { customer_per_day: 5 }]);
  const chief = await realm.user({ role: "admin", scope: "own" });
  const made = await realm.user();
  await rowsOf(realm, "update users set owner = $1 where id = $2", [chief.id, made.id]);
  // What the service writes to its users is none of theirs.
  for (const email of ["one@example.com", "two@example.com"]) {
    equal((await chief.send("PATCH", `/v1/users/${chief.id}`, { channel: { email } })).status, 200);
  }
  const send = (by: TestUser) => by.send("POST", PATH, { to: number(), content });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => send(i % 2 ? chief : made)),
  );
  const statuses = Object.groupBy(answers, ({ status }) => `${status}`);
  deepEqual([statuses["201"]?.length, statuses["429"]?.length], [5, 7]);
  const over = await send(made);
  deepEqual([over.status, over.body.code], [429, "rate.limited"]);
  equal(Number(over.headers.get("retry-after")) > 60, true);
  const toItself = await made.send("PATCH", `/v1/users/${made.id}`, { channel: { sms: number() } });
  equal(toItself.status, 200);
  equal((await made.send("POST", `/v1/users/${made.id}/message/sms`, { content })).status, 429);
  // Another customer, and those who work for the realm, send on.
  equal((await send(await realm.user())).status, 201);
  const reader = await realm.user({ scope: "realm" });
  for (let i = 0; i < 7; i++) equal((await send(i % 2 ? realm.admin : reader)).status, 201);
  // A day later there is room again.
  await rowsOf(
    realm,
    `alter table messages disable trigger messages_forward;
     update messages set created_at = created_at - interval '24 hours' where customer = '${chief.id}';
     alter table messages enable trigger messages_forward`,
  );
  equal((await send(made)).status, 201);
  equal((await set({ customer_per_day: 0 })).status, 200);
  equal((await send(await realm.user())).status, 429);
  equal((await set({})).status, 200);
});

Deno.test("the database counts the messages of customers itself, whatever a statement claims", async () => {
  await using realm = await testRealm();
  const customer = await realm.user();
  const to = number();
  equal((await customer.send("POST", PATH, { to, content })).status, 201);
  const copy = (owner: string, count: number) =>
    rowsOf<{ customer: string | null }>(
      realm,
      `insert into messages (id, channel, destination, group_id, group_name, status_id, status_name,
         status_description, owner, customer, created_at)
       select gen_random_uuid(), channel, $2, group_id, group_name, status_id, status_name,
         status_description, $1, null, now() from (select * from messages where destination = $2 limit 1) m,
         generate_series(1, $3::int)
       returning customer`,
      [owner, to, count],
    );
  deepEqual(await copy(customer.id, 1), [{ customer: customer.id }]);
  deepEqual(await copy(realm.admin.id, 1), [{ customer: null }]);
  for (const owner of [customer.id, realm.admin.id]) {
    await rejects(copy(owner, 18), { constraint_name: "messages_pace" });
  }
});
