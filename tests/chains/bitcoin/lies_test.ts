/** Lies about every field of every answer of a coin chain's node. */
import { deepEqual, ok } from "node:assert/strict";
import { oneInTurn, tryLies } from "../../support/lie_probes.ts";
import { hasLitecoind } from "../../support/nodes/litecoind.ts";
import { lyingCoins } from "./lying_chain.ts";

Deno.test({
  name: "no lie about a field of a UTXO chain's answer ends a scan, invents or hides anything",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using context = await lyingCoins();
    const { answers, faults } = await tryLies(context, oneInTurn());
    deepEqual(faults, []);
    ok(answers > 100);
  },
});
