import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type Checkpoint, CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { COIN, LITECOIN } from "../support/utxo_fixture.ts";
import {
  beginConsolidation,
  consolidatedOnce,
  consolidating,
  type ConsolidatingRamp,
  feesOf,
  openConsolidatingRamp,
} from "../support/consolidation_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxo("faults of consolidations", LITECOIN, ignore);

Deno.test({
  name: "a worker that stops anywhere and starts again consolidates once",
  ignore,
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    for (const step of CHECKPOINTS) {
      await fixture.fund(COIN, COIN);
      const { body: { id } } = await fixture.consolidate();
      const reached = { done: false };
      for (let round = 0; !reached.done && round < 4; round++) {
        await crashAt(fixture, step, reached);
        await fixture.mine();
      }
      ok(reached.done, `nobody passed ${step}`);
      equal((await fixture.finish(id)).status, "DONE", step);
      await consolidatedOnce(fixture);
    }
  },
});

async function crashAt(
  fixture: ConsolidatingRamp,
  step: Checkpoint,
  reached: { done: boolean },
): Promise<void> {
  try {
    await fixture.advance((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
}

test("several workers at once consolidate once", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  for (let round = 0; round < 4; round++) {
    await Promise.all([fixture.advance(), fixture.advance(), fixture.advance()]);
    await fixture.mine();
  }
  equal((await fixture.finish(id)).status, "DONE");
  await consolidatedOnce(fixture);
});

test("a consolidation that a reorganisation takes out of its block is mined again, booked once", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  const chain = await fixture.minedOnce();
  await fixture.node.reorganise(1);
  await fixture.mine(0);
  await fixture.advance();
  equal((await fixture.read(id)).status, "PROCESSING");
  const done = await fixture.finish(id);
  equal(done.status, "DONE");
  equal(done.chain.hash, chain.hash);
  ok(done.chain.block > chain.block);
  await consolidatedOnce(fixture);
});

test("coins that are gone before it is planned end it, at no cost", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  const before = await feesOf(fixture);
  await fixture.realm.command((tx) =>
    tx`
        insert into reserved_inputs (chain, network, input, order_id, created_at)
        select chain, network, hash || ':' || index, ${fixture.ramp}, now() from coins
        where ramp = ${fixture.ramp} order by hash, index limit 2`
  );
  await fixture.advance();
  const { status, error, fee, chain } = await fixture.read(id);
  deepEqual({ status, fee, chain }, { status: "FAILED", fee: null, chain: undefined });
  deepEqual([error.code, error.status], ["condition.failed", 409]);
  match(error.detail, /fewer than two coins/);
  equal(await feesOf(fixture), before);
  await rowsOf(fixture.realm, "delete from reserved_inputs");
  const again = await fixture.consolidate();
  equal((await fixture.finish(again.body.id)).status, "DONE");
  await consolidatedOnce(fixture);
});

for (const ceiling of [{ max_fee: "0.000002" }, { max_fee_rate: "0.000009" }]) {
  const [name] = Object.keys(ceiling);
  test(`a price that has risen above ${name} ends it before anything is signed`, async ({ funded }) => {
    await using fixture = await consolidating(LITECOIN, funded);
    await fixture.fund(COIN, COIN, COIN);
    const refused = await fixture.consolidate(ceiling);
    deepEqual([refused.status, refused.body.code], [409, "condition.failed"]);
    // Workers saw a lower price than there is when it is planned.
    await rowsOf(fixture.realm, "update fee_quotes set base = 1, per_payment = 1, per_input = 1");
    const made = await fixture.consolidate(ceiling);
    equal(made.status, 201, made.text);
    await fixture.advance();
    const { status, error } = await fixture.read(made.body.id);
    deepEqual([status, error.code], ["FAILED", "condition.failed"]);
    match(error.detail, /would cost .* above/);
    deepEqual(
      await rowsOf(
        fixture.realm,
        "select a.hash from order_attempts a join chain_orders o on o.id = a.order_id where o.ramp = $1",
        [fixture.ramp],
      ),
      [],
    );
    equal((await fixture.coins()).length, 3);
  });
}

test("one that was in a block and can never be again has cost nothing, and frees its coins", async ({ funded }) => {
  await using fixture = await beginConsolidation(
    await consolidating(LITECOIN, funded),
    COIN,
    COIN,
    COIN,
  );
  const { id } = fixture;
  const before = await feesOf(fixture);
  const chain = await fixture.minedOnce();
  const [{ input }] = await rowsOf<{ input: string }>(
    fixture.realm,
    "select input from reserved_inputs order by input limit 1",
  );
  await fixture.node.rpc("invalidateblock", await fixture.node.rpc("getbestblockhash"));
  await fixture.rob((await newParty("LITECOIN")).address, input);
  await fixture.release();
  const { status, fee, error, chain: last } = await fixture.finish(id);
  deepEqual({ status, fee }, { status: "FAILED", fee: null });
  equal(error.code, "upstream.failed");
  match(error.detail, /another transaction took its place/);
  deepEqual([last.hash, last.block], [chain.hash, null]);
  equal(await feesOf(fixture), before);
  deepEqual(await rowsOf(fixture.realm, "select input from reserved_inputs"), []);
  equal((await fixture.coins()).length, 2);
});

test("the database itself refuses a fee above a ceiling, and a second open consolidation", async ({ funded }) => {
  await using fixture = await consolidating(LITECOIN, funded);
  await fixture.fund(COIN, COIN);
  const { status } = await fixture.consolidate({ max_fee: "0.00001", max_fee_rate: "0.00002" });
  equal(status, 201);
  const change = (fee: string, size: number) =>
    rowsOf(
      fixture.realm,
      `update consolidations set fee = ${fee}, size = ${size} where account = $1`,
      [fixture.ramp],
    );
  await rejects(change("0.00001001", 100_000), /consolidations_fee/);
  await rejects(change("0.00000203", 101), /consolidations_rate/);
  await change("0.00000202", 101);
  const copy = `insert into consolidations (id, account, chain, network, address, asset, speed,
      max_fee_rate, coins, amount, estimate, order_id, created_at)
      select gen_random_uuid(), account, chain, network, address, asset, speed, max_fee_rate, coins,
        amount, estimate, gen_random_uuid(), now() from consolidations where account = $1`;
  await rejects(rowsOf(fixture.realm, copy, [fixture.ramp]), /consolidations_open/);
});
