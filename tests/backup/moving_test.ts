/** Backups that are made while a realm moves to another server. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { carryOn, dropOld } from "../../workers/moves/moving.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { realmDatabase } from "../support/database.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY, type TestRealm } from "../support/realm.ts";
import { type Fixture, fixture, type Report, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { databaseLike, movingOptions, schemaOf, serverOf, withMoney } from "./servers.ts";
import { server } from "./shared_server.ts";

/** Restores a backup into one database; the realm has what it had, and nothing is left of its move. */
async function comesBack(its: Fixture, realm: TestRealm, { made, total }: {
  made: Report;
  total: string;
}): Promise<void> {
  await using elsewhere = await databaseLike(server);
  reportOf(await its.host.call(elsewhere.url, "restore", [made.path]));
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  deepEqual(await rowsAt(elsewhere.url, "select realm from platform.realm_moves"), []);
  const [found] = await rowsAt<{ total: string; move: number }>(
    elsewhere.url,
    `select (select max(total)::text from ${schemaOf(realm)}.accounts where total < 1000) as total,
      (select count(*)::integer from pg_class where relname like 'move\\_%') as move`,
  );
  deepEqual(found, { total, move: 0 });
}

Deno.test("a backup that is made at any step of a move holds the realm once, and nothing of the move", async (t) => {
  await using its = await fixture(() => databaseLike(server, realmDatabase));
  await using moving = await its.realm.neighbour();
  const money = await withMoney(moving);
  const to = await server.database();
  const backups = new Map<string, Report>();
  const options = movingOptions(moving);
  const steps = ["copying", "loaded", "fenced", "complete", "switched"];
  await carryOn({
    ...options,
    async onStep(step) {
      if (step === "loaded") await money.transfer(); // the capture has noted it
      if (!steps.includes(step)) return;
      backups.set(step, reportOf(await its.host.call(its.url, "backup", [], server.env)));
    },
  }, await orderMove(options, { realm: moving.id, to }, Date.now()));
  deepEqual([...backups.keys()], steps);
  for (const [step, made] of backups) {
    const away = step === "switched";
    deepEqual(made.elsewhere, away ? { [moving.id]: serverOf(to) } : {}, step);
    const total = step === "copying" ? "10" : "11";
    await t.step(step, () => comesBack(its, moving, { made, total }));
  }
});

Deno.test("a realm that moves while a backup is made is read in its new place, also where the old one is gone", async () => {
  await using its = await fixture(() => databaseLike(server, realmDatabase));
  const { host, url, realm } = its;
  await using moving = await realm.neighbour();
  const money = await withMoney(moving);
  const to = await server.database();
  ok(moving.id > realm.id, "realms are read in the order of their ids");
  let reading;
  {
    await using _lock = await holding(url, `lock table ${schemaOf(realm)}.withdrawals`);
    reading = host.start(url, "backup", [], server.env);
    await untilSomebodyWaits(url);
    const options = movingOptions(moving);
    await carryOn(options, await orderMove(options, { realm: moving.id, to }, Date.now()));
    await dropOld(options, moving.id);
    await money.transfer();
  }
  const made = reportOf(await reading.end());
  deepEqual(made.elsewhere, { [moving.id]: serverOf(to) });
  equal(Object.keys(made.heads).length, 2);
  await comesBack(its, moving, { made, total: "11" });
});
