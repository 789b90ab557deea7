/** Moves of a realm whose ledger has parts. @module */
import { deepEqual, equal, notEqual, rejects } from "node:assert/strict";
import { boundParts, selectPartBounds, selectPartsState } from "../../db/ledger/parts.ts";
import { locking, reading } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { idFrom } from "../../domain/ids.ts";
import { nextBound } from "../../workers/schedule/parts.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { server } from "../backup/shared_server.ts";
import { carryCutOn, countParts, cutNow } from "../support/parts.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("a ledger keeps its parts when its realm moves, none is cut meanwhile, and rows of all parts are copied right", async () => {
  await using realm = await testRealm();
  const { account: source } = await realm.currency("1000000", "GOLD");
  const target = await realm.account({ asset: "GOLD" });
  const body = { source: { account: source }, destination: { account: target }, value: "1" };
  const post = async () => {
    const { status, text } = await realm.admin.send("POST", "/v1/transactions", body);
    equal(status, 201, text);
  };
  for (let part = 0; part < 3; part++) {
    await post();
    await post();
    if (part < 2) await cutNow(realm);
  }
  const bounds = await reading(realm.pool, selectPartBounds);
  const { database, services } = realm;
  const options = {
    ...{ database, migrations: services.provisioning.migrations, secrets: services.secrets },
    async onStep(step: string) {
      if (step !== "loaded") return;
      // Rows that are noted meanwhile have places in their part like those of older rows in others.
      await post();
      equal((await reading(realm.pool, selectPartsState)).moving, true);
      await carryCutOn(realm);
      equal(await countParts(realm), 3);
    },
  };
  const order = { realm: realm.id, to: await server.database() };
  await carryOn(options, await orderMove(options, order, Date.now()));
  deepEqual(await reading(realm.pool, selectPartBounds), bounds);
  equal((await realm.balance(target)).total, "7");
  await post();
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await cutNow(realm);
  await post();
  equal(await countParts(realm), 4);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a cut that was begun is given up when its realm is copied, and none is begun, however long the copy takes", async () => {
  await using realm = await testRealm();
  const { account: source } = await realm.currency("1000000", "GOLD");
  const target = await realm.account({ asset: "GOLD" });
  const killed = (step: string) => {
    if (step === "bound") throw new Error("killed");
  };
  await rejects(carryCutOn(realm, { onStep: killed }), /killed/);
  const { database, services } = realm;
  const state = () => reading(realm.pool, selectPartsState);
  notEqual((await state()).bound, null);
  const reached: string[] = [];
  const options = {
    ...{ database, migrations: services.provisioning.migrations, secrets: services.secrets },
    async onStep(step: string) {
      if (step !== "noting") return;
      reached.push(step);
      const { moving, bound, at } = await state();
      deepEqual([moving, bound], [true, null]);
      // A worker that read the state before the move began.
      const late = locking(realm.pool, (tx) => boundParts(tx, idFrom(nextBound(at))));
      await rejects(late, { code: "55P03" });
      const body = { source: { account: source }, destination: { account: target }, value: "1" };
      equal((await realm.admin.send("POST", "/v1/transactions", body)).status, 201);
    },
  };
  const order = { realm: realm.id, to: await server.database() };
  await carryOn(options, await orderMove(options, order, Date.now()));
  deepEqual(reached, ["noting"]);
  await cutNow(realm);
  equal(await countParts(realm), 2);
});
