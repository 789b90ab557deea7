/** What users of one realm ask of the platform's database, whose connections serve all realms. */
import { deepEqual, equal } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { PASSWORD, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

Deno.test("changes of one realm without number hold up neither logins nor changes of another", async () => {
  await using realm = await testRealm();
  const neighbour = await realm.neighbour();
  const { realm: { realm_key }, applicationKey, admin } = neighbour.made;
  const over = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const held = serializable(realm.database.platform, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from realms where id = ${realm.id} for update`;
    locked.resolve();
    await over.promise;
  });
  await locked.promise;
  let refused = 0;
  const changes = Array.from({ length: 60 }, async (_, i) => {
    const { status } = await realm.admin.send("PATCH", `/v1/realms/${realm.id}`, { name: `n${i}` });
    if (status === 503) refused++;
    return status;
  });
  await until(() => refused === 39); // one runs, and twenty wait
  const asked = { realm_key, username: admin.username, password: PASSWORD };
  const login = await neighbour.nobody("POST", "/v1/auth/login", asked, {
    "x-api-key": applicationKey,
  });
  equal(login.status, 200);
  const path = `/v1/realms/${neighbour.id}`;
  equal((await neighbour.admin.send("PATCH", path, { name: "other" })).status, 200);
  equal((await neighbour.admin.send("GET", path)).body.name, "other");
  equal((await realm.admin.send("GET", "/v1/auth/me")).status, 200);
  over.resolve();
  await held;
  const statuses = await Promise.all(changes);
  deepEqual(Map.groupBy(statuses, (one) => one).get(200)?.length, 21);
  equal((await realm.admin.send("PATCH", `/v1/realms/${realm.id}`, { name: "last" })).status, 200);
});
