import { deepEqual, equal, ok } from "node:assert/strict";
import { LITECOIN } from "../support/utxo_fixture.ts";
import {
  agrees,
  type ConsolidatingRamp,
  openConsolidatingRamp,
} from "../support/consolidation_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

/** MANY_COINS=10000 takes longer, and is measured in docs/operations/performance.md. */
const MANY = Number(Deno.env.get("MANY_COINS") ?? 4000);
/** Outputs of a transaction, and transactions of a block; whatever a node passes on. */
const AT_ONCE = 500;
const A_BLOCK = 4;
/** Of the whole process, in which other tests run. */
const MEMORY_BYTES = 400 * 2 ** 20;
/** A node that has seen so many payments has estimates of its own. */
const WHATEVER = { max_fee_rate: "0.001" };

Deno.test({
  name: "a ramp of thousands of real coins withdraws in little memory, and is gathered in parts",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    await fill(fixture);
    equal((await fixture.coins()).length, MANY);
    await fixture.quote();
    const before = Deno.memoryUsage().rss;
    const { address } = await newParty("LITECOIN");
    const withdrawn = await fixture.realm.admin.send("POST", "/v1/withdrawals", {
      source: { account: fixture.ramp },
      destination: { address },
      value: "0.005",
    });
    equal(withdrawn.status, 201, withdrawn.text);
    await fixture.advance();
    for (const left of [MANY - 1000, MANY - 2000]) {
      const made = await fixture.consolidate(WHATEVER);
      equal(made.status, 201, made.text);
      await fixture.advance();
      const done = await fixture.finish(made.body.id);
      deepEqual([done.status, done.coins], ["DONE", 1000]);
      const held = await fixture.coins();
      ok(held.length <= left + 2 && held.length > left - 500, `${held.length} coins are left`);
    }
    const { body } = await fixture.realm.admin.send("GET", `/v1/withdrawals/${withdrawn.body.id}`);
    equal(body.status, "DONE");
    await fixture.mine();
    await agrees(fixture);
    const grown = Deno.memoryUsage().rss - before;
    ok(grown < MEMORY_BYTES, `${grown} bytes more`);
  },
});

/** Pays all these coins to the ramp, and follows until all are credited. */
async function fill(fixture: ConsolidatingRamp): Promise<void> {
  const { node, script, realm } = fixture;
  const coins = Array.from({ length: AT_ONCE }, (_, at) => ({
    script,
    amount: 10_000n + BigInt(at),
  }));
  for (let paid = 0; paid < MANY; paid += AT_ONCE * A_BLOCK) {
    for (let part = 0; part < A_BLOCK; part++) await node.pay(coins);
    await node.mine();
  }
  await node.mine();
  for (let round = 0; round < 50; round++) {
    await fixture.mine(0);
    await realm.drain();
    const credited = "select id from deposits where status = 'CONFIRMED'";
    if ((await rowsOf(realm, credited)).length === MANY) return;
  }
  throw new Error("not everything is credited");
}
