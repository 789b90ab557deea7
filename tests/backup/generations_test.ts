/** Backups and restores of both generations of stored answers. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { holdTables, selectRewritten, selectTables } from "../../db/backup/catalog.ts";
import { readOnce } from "../../db/backup/snapshots.ts";
import { keptOf, MANY, renew } from "../support/generations.ts";
import { testDatabase } from "../support/database.ts";
import { testRealm } from "../support/realm.ts";
import { adminAt, fixture, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { schemaOf } from "./servers.ts";

const KEY = { "idempotency-key": "kept" };

Deno.test("answers that are exchanged during a backup are in it, and are found after the restore", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, url, realm } = its;
  await using next = await realm.neighbour();
  equal(await renew(next, MANY), null); // the earlier tables take no rows until the exchange
  const { name, account } = await next.currency("10");
  const other = await next.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "3" };
  const first = await next.admin.send("POST", "/v1/transactions", move, KEY);
  equal(first.status, 201);
  let running;
  {
    // The realms are read in the order of their ids, so the second one has its turn later.
    await using _lock = await holding(url, `lock table ${schemaOf(realm)}.withdrawals`);
    running = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    equal(await renew(next), "exchanged");
  }
  const made = reportOf(await running.end());
  equal(made.realms, 2);
  equal(reportOf(await host.call(elsewhere.url, "restore", [made.path])).rows, made.rows);
  const schema = schemaOf(next);
  const [restored] = await rowsAt<{ current: number; earlier: number; kept: boolean }>(
    elsewhere.url,
    `select (select count(*)::integer from ${schema}.idempotency) as current,
      (select count(*)::integer from ${schema}.idempotency_earlier) as earlier, ${schema}.earlier_kept() as kept`,
  );
  const [current, , earlier] = await keptOf(next);
  deepEqual({ ...restored }, { current, earlier, kept: true });
  equal(earlier > 0, true);
  await using process = next.another({ DATABASE_URL: elsewhere.url });
  const repeated = await (await adminAt(process, next))("POST", "/v1/transactions", move, KEY);
  deepEqual([repeated.status, repeated.text], [first.status, first.text]);
});

Deno.test("a realm whose tables a backup holds begins no generation", async () => {
  await using realm = await testRealm();
  const schema = schemaOf(realm);
  await readOnce(realm.database.builder, async (tx) => {
    await holdTables(tx, schema, await selectTables(tx, schema));
    await rejects(renew(realm), { code: "55P03" });
    deepEqual(await selectRewritten(tx, schema, []), []);
  });
  equal(await renew(realm), "exchanged");
});
