/** An order whose own transaction a scanned block shows is not dropped, on chains whose transactions do not expire. */
import { equal, rejects } from "node:assert/strict";
import { forgetAbove, markConsumed } from "../../db/chains/scan_results.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { reading } from "../../db/transaction.ts";
import { assertProven } from "../../workers/sending/dropped_orders.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const PLACE = { chain: "ETHEREUM", network: "main" };

Deno.test("an order on an EVM chain is not dropped while a scanned block shows its own transaction, and may be once a reorganisation takes that away", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  await funded.withdraw("1");
  await funded.advance();
  const [{ id, hash, input }] = await rowsOf<{ id: string; hash: string; input: string }>(
    realm,
    `select o.id, o.hash, k.input from chain_orders o join reserved_inputs k on k.order_id = o.id
      where o.state = 'sent'`,
  );
  const order = (await reading(realm.pool, (db) => selectOrder(db, id)))!;
  const attempts = await reading(realm.pool, (db) => selectAttempts(db, id));
  const proven = () => realm.command((tx) => assertProven(tx, order, attempts));
  await proven();
  const alone = { input, hash, height: 7, few: true };
  await realm.command((tx) => markConsumed(tx, PLACE, [alone])); // the word of one node
  await proven();
  await realm.command((tx) => markConsumed(tx, PLACE, [{ input, hash, height: 7 }]));
  await rejects(proven(), /can never be mined, and block 7, which was scanned, has it/);
  await realm.command((tx) => forgetAbove(tx, PLACE, 6));
  await proven();
  equal(attempts.length, 1);
});
