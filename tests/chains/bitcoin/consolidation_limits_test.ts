import { deepEqual, equal, ok } from "node:assert/strict";
import { chainInfo, nativeAsset } from "../../../domain/assets.ts";
import { NewConsolidation } from "../../../domain/consolidations/consolidation_views.ts";
import { CONSOLIDATION_LIMITS } from "../../../domain/consolidations/consolidation_limits.ts";
import { toUnits } from "../../../domain/money.ts";
import { COIN_TABLES, type CoinChainId } from "../../../workers/chains/bitcoin/networks.ts";
import { planDraft } from "../../../workers/chains/bitcoin/payment.ts";
import { inputWeight } from "../../../workers/chains/bitcoin/size.ts";
import type { Draft } from "../../../workers/chains/outgoing.ts";

const COIN = 100_000_000n;

for (const [id, limits] of Object.entries(CONSOLIDATION_LIMITS)) {
  Deno.test(`${id}: the domain's limits equal the adapter's, down to the smallest`, () => {
    const table = COIN_TABLES[id as CoinChainId];
    equal(4 * limits.inputSize, inputWeight(table));
    equal(toUnits(limits.rateLow, 8), table.rateLow);
    equal(limits.replaceable, table.replaceable);
    const coins = Array.from({ length: 1000 }, (_, at) => ({
      hash: at.toString(16).padStart(64, "0"),
      index: 0,
      address: "ramp",
      amount: COIN + BigInt((at * 7919) % 1000),
      height: 1,
      parent: null,
    }));
    const plan = planDraft(table, consolidationDraft(table.rateMin), { coins });
    const { coinsMax } = chainInfo(id as CoinChainId);
    equal(plan.inputs.length, coinsMax);
    const least = coins.map(({ amount }) => amount).sort((a, b) => (a < b ? -1 : 1))
      .slice(0, coinsMax).reduce((sum, one) => sum + one, 0n);
    equal(plan.amounts[0] + plan.fee, least);
    deepEqual([plan.change, plan.amounts.length], [null, 1]);
  });
}

Deno.test("the documented rates up to which fees count as low are the real ones", async () => {
  const page = await Deno.readTextFile(
    new URL("../../../docs/guide/consolidations.md", import.meta.url),
  );
  const { description } = NewConsolidation.shape.max_fee_rate.meta() ?? {};
  for (const [id, { rateLow }] of Object.entries(CONSOLIDATION_LIMITS)) {
    const said = `${rateLow} ${nativeAsset(id as CoinChainId).code}`;
    ok(page.includes(said), `docs/guide/consolidations.md does not say ${said}`);
    ok(description?.includes(said), `the reference does not say ${said}`);
  }
});

function consolidationDraft(rate: bigint): Draft {
  const source = `76a914${"aa".repeat(20)}88ac`;
  return {
    order: {
      kind: "pay",
      from: "ramp",
      contract: null,
      payments: [{ to: "ramp", amount: "all" }],
    },
    fee: { contract: null, base: 0n, perInput: 0n, perPayment: 0n, least: 0n },
    feePayer: "ramp",
    lacking: 0n,
    body: JSON.stringify({
      ...{ rate: `${rate}`, step: "1000", ceiling: "1000000000", budget: null },
      ...{ source, scripts: [source] },
    }),
  };
}
