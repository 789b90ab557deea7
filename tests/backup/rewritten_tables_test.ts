/** Tables that are written anew while a backup is made: an older moment sees none of their rows. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { testDatabase } from "../support/database.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { fixture, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { schemaOf, withMoney } from "./servers.ts";

/** Statements that give a table another file, as a migration may: its rows become new rows. */
const rewriting = (table: string) =>
  `alter table ${table} add column anew double precision default random();
   alter table ${table} drop column anew`;

Deno.test("a realm whose tables a migration writes anew during a backup is read after that, with all its rows", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, url, realm } = its;
  await using next = await realm.neighbour();
  await withMoney(next);
  const rowsOf = async (at: string) =>
    await rowsAt(
      at,
      `select id, total from ${schemaOf(next)}.accounts order by id`,
    );
  const before = await rowsOf(url);
  ok(before.length > 0);
  let running;
  {
    // The realms are read in the order of their ids, so the second one has its turn later.
    await using _lock = await holding(
      url,
      `lock table ${schemaOf(realm)}.withdrawals`,
    );
    running = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    await rowsAt(url, rewriting(`${schemaOf(next)}.accounts`));
  }
  const made = reportOf(await running.end());
  equal(made.realms, 2);
  const back = reportOf(await host.call(elsewhere.url, "restore", [made.path]));
  deepEqual([back.heads, back.rows], [made.heads, made.rows]);
  deepEqual(await rowsOf(elsewhere.url), before);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
});

Deno.test("a backup during which tables of the platform are written anew is not made, and says so", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  let running;
  {
    await using _lock = await holding(
      url,
      `lock table ${schemaOf(realm)}.withdrawals`,
    );
    running = host.start(url, "backup", []);
    await untilSomebodyWaits(url);
    await rowsAt(url, rewriting("platform.application_keys"));
    await rowsAt(url, "truncate platform.leases"); // no backup holds it
  }
  const refused = await running.end();
  deepEqual([refused.code, refused.out], [1, ""]);
  match(
    refused.said,
    /of the platform were written anew while .* \(application_keys\): nothing/,
  );
  deepEqual(await host.files(), []);
  equal(reportOf(await host.call(url, "backup", [])).realms, 1);
});
