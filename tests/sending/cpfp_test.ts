import { deepEqual, equal, ok } from "node:assert/strict";
import { readPlan } from "../../workers/chains/outgoing.ts";
import { type Checkpoint, CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, openUtxoRamp, type UtxoChain, type UtxoRamp } from "../support/utxo_fixture.ts";
import { hasLitecoind, LIKE_DOGECOIN, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
/** A miner who takes nothing below 0.015 for 1000 bytes; a sweep pays 0.01. */
const DEAR: UtxoChain = {
  id: "DOGECOIN",
  asset: "DOGE",
  start: () => startLitecoind(...LIKE_DOGECOIN, "-blockmintxfee=0.015", "-paytxfee=0.02"),
};
const CASH: UtxoChain = { id: "BITCOIN_CASH", asset: "BCH", start: startBcash };

interface Sent {
  id: string;
  purpose: string;
  state: string;
  reference_id: string | null;
  hash: string;
  fee: string;
  height: number | null;
  error: string | null;
}

Deno.test({
  name: "DOGE: a stuck sweep is mined with a child that pays for it, and both are booked",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(DEAR);
    await stuckSweep(funded, 20n * COIN);
    await funded.node.mine();
    equal((await funded.node.rpc<string[]>("getrawmempool")).length, 1, "the miner wants more");
    await Promise.all([funded.advance(), funded.advance()]); // two workers see it at once
    await funded.advance();
    const [sweep, child, ...more] = await sentBy(funded);
    deepEqual([sweep.purpose, child.purpose, more], ["sweep", "cpfp", []]);
    equal(child.reference_id, sweep.id);
    const pool = await funded.node.rpc<string[]>("getrawmempool");
    deepEqual(pool.toSorted(), [sweep.hash, child.hash].toSorted());
    await fastTogether(funded, [sweep, child]);
    await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
    await funded.until(async () => (await sentBy(funded)).every(({ state }) => state === "done"));
    await funded.node.mine();
    await funded.follow();
    const deposits = await rowsOf(funded.realm, "select id from deposits");
    equal(deposits.length, 1, "neither sweep nor child is a deposit");
    await funded.agree();
    await spendable(funded, "DOGECOIN");
  },
});

Deno.test({
  name: "BCH: a child whose parent is mined without it is mined too, and nothing is lost",
  fn: async () => {
    await using funded = await openUtxoRamp(CASH);
    await stuckSweep(funded, 3n * COIN);
    await endAt(funded, "stored"); // signed, and not sent before the parent is mined
    await funded.node.mine();
    await funded.advance();
    await funded.until(async () => (await sentBy(funded)).every(({ state }) => state === "done"));
    const [sweep, child] = await sentBy(funded);
    ok(child.height! > sweep.height!);
    await funded.node.mine();
    await funded.follow();
    await funded.agree();
    await spendable(funded, "BITCOIN_CASH");
  },
});

Deno.test({
  name: "DOGE: a child dies with its parent, and nothing is booked for either",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(DEAR);
    await stuckSweep(funded, 20n * COIN);
    await funded.advance();
    await funded.advance();
    const [sweep, child] = await sentBy(funded);
    const height = await funded.node.rpc<number>("getblockcount");
    const [{ input }] = await inputsOf(funded, sweep.id);
    const party = await newParty("DOGECOIN");
    await funded.rob(party.address, input);
    await funded.release();
    await funded.until(async () => (await stateOf(funded, child.id)) === "dropped");
    equal(await stateOf(funded, sweep.id), "dropped");
    ok(await funded.node.rpc<number>("getblockcount") >= height + 2);
    deepEqual(await inputsOf(funded, child.id), []);
    const unmade = "select hash from coins where height is null";
    deepEqual(await rowsOf(funded.realm, unmade), []);
    const booked = "select id from transactions where type = 'fee'";
    deepEqual(await rowsOf(funded.realm, booked), [], "what nobody took is not booked");
  },
});

Deno.test({
  name: "DOGE: a worker that ends at any step of a child and begins anew makes one child",
  ignore,
  fn: async (t) => {
    await using funded = await openUtxoRamp(DEAR);
    let done = 0;
    for (const step of CHECKPOINTS) {
      await t.step(`ends at "${step}"`, async () => {
        await stuckSweep(funded, 20n * COIN);
        await endAt(funded, step);
        await funded.until(async () => {
          const sent = await sentBy(funded);
          return sent.length === done + 2 && sent.every(({ state }) => state === "done");
        });
        done += 2;
      });
    }
    await funded.node.mine();
    await funded.follow();
    await funded.agree();
  },
});

Deno.test({
  name: "DOGE: a sweep that pays enough gets no child, however long it is stuck",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(DEAR);
    await stuckSweep(funded, 20n * COIN);
    // As if the sweep had been made when that was the price.
    await tamper(
      funded.realm,
      `update order_attempts set plan = jsonb_set(plan::jsonb, '{fee}',
        '{"n": "900000000"}')::text`,
    );
    await funded.advance();
    equal((await sentBy(funded)).length, 1);
  },
});

/** Makes a deposit whose sweep was sent long ago and is in no block. */
async function stuckSweep(funded: UtxoRamp, amount: bigint): Promise<void> {
  await funded.deposit(amount);
  const sent = async () => (await sentBy(funded)).some(({ state }) => state === "sent");
  await funded.until(sent);
  await rowsOf(
    funded.realm,
    "update chain_orders set created_at = created_at - interval '20 minutes'",
  );
}

async function sentBy(funded: UtxoRamp): Promise<Sent[]> {
  return await rowsOf<Sent>(
    funded.realm,
    `select id, purpose, state, reference_id, hash, fee::text, height, error from chain_orders order by id`,
  );
}

async function stateOf(funded: UtxoRamp, id: string): Promise<string> {
  return (await sentBy(funded)).find((one) => one.id === id)!.state;
}

async function inputsOf(funded: UtxoRamp, order: string): Promise<{ input: string }[]> {
  return await rowsOf(
    funded.realm,
    `select input from reserved_inputs where order_id = '${order}'`,
  );
}

/** Parent and child together pay the rate of what is to be mined soon. */
async function fastTogether(funded: UtxoRamp, sent: readonly Sent[]): Promise<void> {
  const plans = await rowsOf<{ plan: string }>(funded.realm, "select plan from order_attempts");
  const size = plans.reduce((sum, { plan }) => sum + readPlan(plan).vsize!, 0);
  const fee = sent.reduce((sum, one) => sum + BigInt(one.fee), 0n);
  const chain = await funded.context.chains.open({ chain: "DOGECOIN", testnet: true });
  const { fast, medium } = await chain.quote(null);
  const rate = fast.perInput * BigInt(size) / 148n; // an input is 148 bytes
  ok(fee >= rate * 99n / 100n, `${fee} for ${size} bytes`);
  ok(fast.perInput > medium.perInput);
}

/** Spends the output of the CPFP transaction for a withdrawal. */
async function spendable(funded: UtxoRamp, id: "DOGECOIN" | "BITCOIN_CASH"): Promise<void> {
  await funded.quote();
  const to = await newParty(id);
  const paid = await funded.withdraw(to.address, "1.5", { fee: { speed: "fast" } });
  const [row] = await funded.ended([paid]);
  equal(row.status, "DONE");
  await funded.node.mine();
  await funded.follow();
  deepEqual(await funded.held(to.address), [COIN * 3n / 2n]);
  await funded.agree();
}

/** Ends a worker at a step, of the sweep or of its child. */
async function endAt(funded: UtxoRamp, step: Checkpoint): Promise<void> {
  let reached = false;
  for (let round = 0; !reached && round < 8; round++) {
    if (round > 1) await funded.node.mine();
    try {
      await funded.advance((passed) => {
        if (passed !== step) return;
        reached = true;
        throw new Error("the worker has ended");
      });
    } catch (error) {
      if (!reached) throw error;
    }
  }
  ok(reached);
}
