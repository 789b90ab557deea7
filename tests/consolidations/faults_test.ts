import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type Step, STEPS } from "../../workers/sending/signing.ts";
import { COIN, LITECOIN } from "../support/utxo_fixture.ts";
import { type CoinRamp, coinRamp, feesOf, gatheredOnce } from "../support/consolidation_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

Deno.test({
  name: "a worker that ends anywhere and begins anew gathers once",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    for (const step of STEPS) {
      await stage.fund(COIN, COIN);
      const { body: { id } } = await stage.consolidate();
      const reached = { done: false };
      for (let round = 0; !reached.done && round < 4; round++) {
        await crashAt(stage, step, reached);
        await stage.mine();
      }
      ok(reached.done, `nobody passed ${step}`);
      equal((await stage.finish(id)).status, "DONE", step);
      await gatheredOnce(stage);
    }
  },
});

async function crashAt(stage: CoinRamp, step: Step, reached: { done: boolean }): Promise<void> {
  try {
    await stage.look((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
}

Deno.test({
  name: "several workers at once gather once",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    await stage.fund(COIN, COIN, COIN);
    const { body: { id } } = await stage.consolidate();
    for (let round = 0; round < 4; round++) {
      await Promise.all([stage.look(), stage.look(), stage.look()]);
      await stage.mine();
    }
    equal((await stage.finish(id)).status, "DONE");
    await gatheredOnce(stage);
  },
});

Deno.test({
  name: "a consolidation that a reorganisation takes out of its block is mined again, booked once",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    await stage.fund(COIN, COIN, COIN);
    const { body: { id } } = await stage.consolidate();
    await stage.look();
    await stage.mine();
    await stage.look();
    const { chain } = await stage.read(id);
    equal(chain.confirmations, 1);
    await stage.node.reorganise(1);
    await stage.mine(0);
    await stage.look();
    equal((await stage.read(id)).status, "PROCESSING");
    const done = await stage.finish(id);
    equal(done.status, "DONE");
    equal(done.chain.hash, chain.hash);
    ok(done.chain.block > chain.block);
    await gatheredOnce(stage);
  },
});

Deno.test({
  name: "coins that are gone before it is planned end it, at no cost",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    await stage.fund(COIN, COIN, COIN);
    const { body: { id } } = await stage.consolidate();
    await stage.realm.command((tx) =>
      tx`
        insert into claims (chain, network, claim, order_id, created_at)
        select chain, network, hash || ':' || index, ${stage.ramp}, now() from coins
        order by hash, index limit 2`
    );
    await stage.look();
    const { status, error, fee, chain } = await stage.read(id);
    deepEqual({ status, fee, chain }, { status: "FAILED", fee: null, chain: undefined });
    deepEqual([error.code, error.status], ["condition.failed", 409]);
    match(error.detail, /no two coins/);
    equal(await feesOf(stage), "0");
    await rowsOf(stage.realm, "delete from claims");
    const again = await stage.consolidate();
    equal((await stage.finish(again.body.id)).status, "DONE");
    await gatheredOnce(stage);
  },
});

for (const ceiling of [{ max_fee: "0.000002" }, { max_fee_rate: "0.000009" }]) {
  const [name] = Object.keys(ceiling);
  Deno.test({
    name: `a price that has risen above ${name} ends it before anything is signed`,
    ignore,
    fn: async () => {
      await using stage = await coinRamp(LITECOIN);
      await stage.fund(COIN, COIN, COIN);
      const refused = await stage.consolidate(ceiling);
      deepEqual([refused.status, refused.body.code], [409, "condition.failed"]);
      // Workers saw a lower price than there is when it is planned.
      await rowsOf(stage.realm, "update fee_quotes set base = 1, per_payment = 1, per_input = 1");
      const made = await stage.consolidate(ceiling);
      equal(made.status, 201, made.text);
      await stage.look();
      const { status, error } = await stage.read(made.body.id);
      deepEqual([status, error.code], ["FAILED", "condition.failed"]);
      match(error.detail, /would cost .* above/);
      deepEqual(await rowsOf(stage.realm, "select hash from order_candidates"), []);
      equal((await stage.coins()).length, 3);
    },
  });
}

Deno.test({
  name: "one that was in a block and can never be again has cost nothing, and frees its coins",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    await stage.fund(COIN, COIN, COIN);
    const { body: { id } } = await stage.consolidate();
    await stage.look();
    await stage.mine();
    await stage.look();
    const { chain } = await stage.read(id);
    equal(chain.confirmations, 1);
    const [{ claim }] = await rowsOf<{ claim: string }>(
      stage.realm,
      "select claim from claims order by claim limit 1",
    );
    await stage.node.rpc("invalidateblock", await stage.node.rpc("getbestblockhash"));
    await stage.rob((await newParty("LITECOIN")).address, claim);
    await stage.release();
    const { status, fee, error, chain: last } = await stage.finish(id);
    deepEqual({ status, fee }, { status: "FAILED", fee: null });
    equal(error.code, "upstream.failed");
    match(error.detail, /another transaction took its place/);
    deepEqual([last.hash, last.block], [chain.hash, null]);
    equal(await feesOf(stage), "0");
    deepEqual(await rowsOf(stage.realm, "select claim from claims"), []);
    equal((await stage.coins()).length, 2);
  },
});

Deno.test({
  name: "the database itself refuses a fee above a ceiling, and a second open consolidation",
  ignore,
  fn: async () => {
    await using stage = await coinRamp(LITECOIN);
    await stage.fund(COIN, COIN);
    const { status } = await stage.consolidate({ max_fee: "0.00001", max_fee_rate: "0.00002" });
    equal(status, 201);
    const change = (fee: string, size: number) =>
      rowsOf(stage.realm, `update consolidations set fee = ${fee}, size = ${size}`);
    await rejects(change("0.00001001", 100_000), /consolidations_fee/);
    await rejects(change("0.00000203", 101), /consolidations_rate/);
    await change("0.00000202", 101);
    const copy = `insert into consolidations (id, account, chain, network, address, asset, speed,
      max_fee_rate, coins, amount, estimate, order_id, created_at)
      select gen_random_uuid(), account, chain, network, address, asset, speed, max_fee_rate, coins,
        amount, estimate, gen_random_uuid(), now() from consolidations`;
    await rejects(rowsOf(stage.realm, copy), /consolidations_open/);
  },
});
