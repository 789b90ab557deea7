import { deepEqual, equal } from "node:assert/strict";
import { testRealm } from "../support/realm.ts";

Deno.test("with DATABASE_PREPARE=off nothing outlives a transaction, and everything works", async () => {
  await using realm = await testRealm({ env: { DATABASE_PREPARE: "off" } });
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "2.5" };
  const key = { "idempotency-key": "once" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(first.status, 201);
  equal((await realm.admin.send("POST", "/v1/transactions", move, key)).text, first.text);
  const batch = { atomic: true, transactions: [move, move] };
  equal((await realm.admin.send("POST", "/v1/transactions/batch", batch)).status, 201);
  deepEqual(await realm.balance(other), { total: "7.5", available: "7.5" });
  equal((await realm.admin.send("GET", "/v1/accounts?sort=-created_at")).body.total, 2);
  const [row] = await realm.database.platform.sql`select current_setting('search_path') as path`;
  equal(row.path.includes("realm_"), false);
});
