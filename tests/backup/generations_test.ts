/** Backups and restores of both generations of stored answers. */
import { deepEqual, equal } from "node:assert/strict";
import { age, keptOf, MANY, renew } from "../support/generations.ts";
import { testDatabase } from "../support/database.ts";
import { adminAt, fixture, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { schemaOf } from "./servers.ts";
import { PLATFORM_KEY } from "../support/realm.ts";

const KEY = { "idempotency-key": "kept" };

Deno.test("answers of both generations are backed up beside an exchange, and found after the restore", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, url, realm, account, other } = its;
  await using next = await realm.neighbour();
  const move = { source: { account }, destination: { account: other }, value: "3" };
  equal(await renew(realm, MANY), null); // the earlier tables take no rows until the exchange
  const first = await realm.admin.send("POST", "/v1/transactions", move, KEY);
  equal(first.status, 201);
  let running;
  const [one, later] = [realm, next].sort((a, b) => a.id < b.id ? -1 : 1);
  {
    // The realms are read in the order of their ids: the exchanges come before the turn of the second.
    await using _lock = await holding(url, `lock table ${schemaOf(one)}.withdrawals`);
    running = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    equal(await renew(later), "exchanged");
  }
  const made = reportOf(await running.end());
  equal(made.realms, 2);
  if (later !== realm) equal(await renew(realm), "exchanged");
  const again = reportOf(await host.run(url, "backup", []));
  const kept = await keptOf(realm);
  for (const { path, rows } of [made, again]) {
    equal(reportOf(await host.run(elsewhere.url, "restore", [path, "--replace"])).rows, rows);
  }
  const schema = schemaOf(realm);
  const [restored] = await rowsAt<{ n: number; current: number; earlier: boolean }>(
    elsewhere.url,
    `select (select count(*)::integer from ${schema}.idempotency_earlier) as n,
      (select count(*)::integer from ${schema}.idempotency) as current, ${schema}.earlier_kept() as earlier`,
  );
  deepEqual({ ...restored }, { n: kept[2], current: kept[0], earlier: true });
  await using process = realm.another({ DATABASE_URL: elsewhere.url, PLATFORM_KEY });
  const send = await adminAt(process, realm);
  const repeated = await send("POST", "/v1/transactions", move, KEY);
  deepEqual([repeated.status, repeated.text], [first.status, first.text]);
  await age(realm);
});
