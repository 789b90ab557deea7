/** Lines of the platform's own trail about one realm, among those about all others. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { realmDatabase } from "../support/database.ts";
import { logPlans, readsOf } from "../support/plans.ts";
import { testRealm } from "../support/realm.ts";

/** Changes of other realms, each later than those of the realm that is read. */
const OTHERS = 5000;

Deno.test("a realm's trail reads its own lines of the platform's, however often other realms were changed", async () => {
  await using own = await realmDatabase();
  await using plans = await logPlans(own);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const path = `/v1/realms/${realm.id}`;
  for (const name of ["one", "two"]) {
    equal((await realm.operator("PATCH", path, { name })).status, 200);
  }
  equal((await realm.operator("POST", `${path}/keys`)).status, 201);
  await plans.sql.unsafe(`
    insert into platform.audit (id, action, entity, request_id, created_at)
      values (gen_random_uuid(), 'POST /v1/realms', '${realm.id}', 'made', now());
    insert into platform.audit (id, actor, action, realm, entity, request_id, created_at)
      select ('f' || lpad(to_hex(n), 7, '0') || '-0000-7000-8000-000000000000')::uuid, gen_random_uuid(),
        'PATCH /v1/realms/{id}', o.id, o.id, 'x', now()
      from generate_series(1, ${OTHERS}) n, (select gen_random_uuid() as id) o;
    analyze platform.audit`);
  await plans.forget();
  const asked = ["", "?limit=1", "?sort=created_at", "?action=POST /v1/realms"];
  for (const query of asked) {
    const { status, body } = await realm.admin.send("GET", `/v1/audit${query}`);
    equal(status, 200);
    if (query !== "") continue;
    const found = body.map(({ action }: { action: string }) => action)
      .filter((action: string) => action.includes("/v1/realms"));
    deepEqual(found.toSorted(), [
      "PATCH /v1/realms/{id}",
      "PATCH /v1/realms/{id}",
      "POST /v1/realms",
      "POST /v1/realms/{id}/keys",
    ]);
  }
  const reads = (await plans.read()).flatMap(readsOf)
    .filter(({ schema, table }) => schema === "platform" && table === "audit");
  ok(reads.length >= asked.length, `${reads.length} reads`);
  const wide = reads.filter(({ node, rows }) => node === "Seq Scan" || rows > 100);
  deepEqual(wide, []);
});
