/** Plans of coin transactions that are read from their bytes. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { Plan, Signed } from "../../../workers/chains/outgoing.ts";
import { hasLitecoind } from "../../support/nodes/litecoind.ts";
import { newParty, openLitecoindFixture } from "./fixture.ts";

/** What a plan makes of a transaction. */
function effectOf({ order, inputs, signers, amounts, change, fee }: Plan) {
  return { order, inputs, signers, amounts, change, fee };
}

Deno.test({
  name:
    "LTC: the plan of signed bytes that nothing here planned makes what the bytes make, and bytes that our key has not signed have none",
  ignore: !hasLitecoind(),
  fn: async (t) => {
    await using fixture = await openLitecoindFixture("LITECOIN");
    const { node, chain, payer, amount, script } = fixture;
    const [to, other, thief] = [
      (await newParty("LITECOIN")).address,
      (await newParty("LITECOIN")).address,
      (await newParty("LITECOIN")).address,
    ];
    const payments = [{ to, amount }, { to: other, amount: 3n * amount }];
    const request = { kind: "pay" as const, from: payer.address, contract: null, payments };
    const coins = await fixture.coins(payer.address);
    const plan = chain.plan(await chain.draft(request, "medium"), { coins });
    const keys = new Map([[payer.address, payer.key]]);
    const made = await chain.sign(plan, keys);
    /** Bytes as they are found: of their plan, only coins of ours are known. */
    const found = async (raw: string, change: (amount: string) => string = (one) => one) => {
      const { inputs, source } = JSON.parse(made.body!);
      const known = inputs.map((one: { input: string; amount: string }) => {
        return { input: one.input, amount: change(one.amount) };
      });
      const { hash, inputs: spent } = await chain.inspect(raw);
      const body = JSON.stringify({ source, inputs: known });
      const signed: Signed = { hash, raw, inputs: spent, expires: null, body };
      return await chain.planOf(signed, { all: false });
    };
    await t.step("a payment to several is replaced by the same at a higher price", async () => {
      const read = (await found(made.raw))!;
      deepEqual(effectOf(read), effectOf(plan));
      const how = { speed: "fast" as const, budget: null, cancels: false };
      const next = chain.plan(await chain.redraft(read, how), {}, read);
      const replacement = await chain.sign(next, keys);
      ok(next.fee > plan.fee);
      deepEqual([next.order, next.inputs, next.amounts], [plan.order, plan.inputs, plan.amounts]);
      for (const one of [made, replacement]) {
        equal((await chain.broadcast(one)).outcome, "accepted");
      }
      await node.mine();
      deepEqual((await node.coins(await script(other))).map((one) => one.hash), [replacement.hash]);
    });
    await t.step("bytes with another receiver, which our key has not signed", async () => {
      const raw = made.raw.replace(await script(to), await script(thief));
      notEqual(raw, made.raw);
      const { from, payments: [paid] } = await chain.inspect(raw);
      deepEqual([from, paid.to], [[payer.address], thief], "they name our key all the same");
      equal(await found(raw), null);
    });
    await t.step("bytes with a coin whose amount is not the recorded one", async () => {
      equal(await found(made.raw, (one) => `${BigInt(one) + 1n}`), null);
    });
  },
});
