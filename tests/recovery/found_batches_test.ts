/** Batches that were found on a coin chain, lose their block, and are sped up: who pays for it, and what they may cost. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { answered } from "../support/found_payments.ts";
import { haltRealm, keepRealm, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { openTwoCoins } from "../support/paying_ramp.ts";
import { paidOnce, pay, queue, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, follow, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const SLOW = { fee: { speed: "slow" } };
/** The default of HOT_FEE_MAX_FACTOR. */
const FACTOR = 3n;

/** Makes all fees as many times as high, also of transactions that are sent from now on. */
async function raisePrices({ realm }: UtxoRamp, times: number): Promise<void> {
  await rowsOf(
    realm,
    `update fee_quotes set base = base * ${times}, per_input = per_input * ${times},
      per_payment = per_payment * ${times}`,
  );
}

/** What the withdrawals were charged, and what their orders say of it, in base units. */
async function chargesOf({ realm }: UtxoRamp) {
  const [row] = await rowsOf<{ fees: string; charged: string; budget: string }>(
    realm,
    `select trim_scale(sum(w.fee) * ${COIN})::text as fees, sum(o.charged)::text as charged,
        sum(o.budget)::text as budget
      from withdrawals w join chain_orders o on o.id = w.order_id`,
  );
  return { fees: BigInt(row.fees), charged: BigInt(row.charged), budget: BigInt(row.budget) };
}

Deno.test({
  name:
    "LTC: a found batch that also pays somebody whom nobody here knows is sped up by two of its customers, each payment is made once, and it may cost a multiple of what both have paid",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using funded = await openTwoCoins();
    const { realm, node } = funded;
    const queued = await queue(funded, LITECOIN, 2, SLOW);
    await keepRealm(realm);
    const lost = (await newParty("LITECOIN")).address;
    await pay(funded, lost, "0.3", SLOW);
    await funded.advance(); // joined
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const { report } = await answered(realm);
    deepEqual(
      report.taken.map(({ paid, unmatched }) => [paid.length, unmatched.length]),
      [[2, 1]],
    );
    await node.reorganise(1);
    for (let run = 0; run < 2; run++) await funded.advance();
    const before = await chargesOf(funded);
    equal(before.fees, before.charged);
    for (const id of queued.ids) {
      await raisePrices(funded, 3);
      const faster = await speedUp(funded, id);
      equal(faster.status, 200, faster.text);
      const { fees, charged, budget } = await chargesOf(funded);
      equal(charged, fees, "what its orders count as charged is what the customers pay");
      ok(budget - before.budget <= FACTOR * (fees - before.fees), `${budget} for ${fees}`);
      await funded.advance();
      await node.rpc("generateblock", await node.rpc("getnewaddress"), []);
      await funded.follow();
    }
    const { budget } = await chargesOf(funded);
    const [{ fee, made }] = await rowsOf<{ fee: string; made: number }>(
      realm,
      `select o.fee::text as fee, (select count(*) from order_attempts a where a.order_id = o.id)::integer as made
        from chain_orders o where purpose = 'recovered'`,
    );
    ok(made > 1 && BigInt(fee) <= budget, `${made} attempts, ${fee} of ${budget}`);
    await funded.ended(queued.ids);
    await follow(funded, 3);
    await paidOnce(funded, queued);
    deepEqual(await funded.held(lost), [3n * COIN / 10n]);
    await funded.agree();
  },
});
