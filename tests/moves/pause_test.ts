/** The work that is done while a realm that moves takes no writes. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { carryOn } from "../../workers/moves/moving.ts";
import type { RoundReport } from "../../workers/moves/run.ts";
import { movingOptions } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

/** Transfers that are posted while the fence is about to be raised. */
const LATE = 5;
const MANY = 3000;

/** Moves a realm of so many transactions; gives what was read while it took no writes. */
async function moved(
  realm: TestRealm,
  transactions: number,
): Promise<RoundReport> {
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  const one = {
    source: { account },
    destination: { account: other },
    value: "1",
  };
  const post = async (count: number) => {
    for (let left = count; left > 0; left -= 1000) {
      const body = {
        atomic: true,
        transactions: new Array(Math.min(left, 1000)).fill(one),
      };
      equal(
        (await realm.admin.send("POST", "/v1/transactions/batch", body)).status,
        201,
      );
    }
    await extendHashChain(realm.pool, Date.now);
  };
  await post(transactions);
  const options = movingOptions(realm);
  const onStep = (step: string) => step === "fencing" ? post(LATE) : undefined;
  const order = { realm: realm.id, to: await server.database() };
  const move = await orderMove(options, order, Date.now());
  const { paused } = await carryOn({ ...options, onStep }, move);
  equal((await realm.balance(other)).total, `${transactions + LATE}`);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  return paused!;
}

Deno.test("while a realm that moves takes no writes, what is read does not grow with the realm", async () => {
  await using small = await testRealm();
  await using large = await small.neighbour();
  const few = await moved(small, LATE);
  const many = await moved(large, MANY);
  ok(few.noted >= 4 * LATE, `${few.noted} rows`); // transactions, entries, links
  ok(
    many.noted <= few.noted + LATE,
    `${many.noted} changed rows, of a small realm ${few.noted}`,
  );
  ok(
    many.read <= few.read + 100,
    `${many.read} rows are read, of a small realm ${few.read}`,
  );
});
