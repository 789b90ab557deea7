import { deepEqual, equal, ok } from "node:assert/strict";
import { readPlan } from "../../workers/chains/outgoing.ts";
import { type Step, STEPS } from "../../workers/sending/signing.ts";
import { startBcash } from "../support/nodes/bcash.ts";
import { COIN, type CoinDesk, openCoinDesk, type Play } from "../support/utxo_fixture.ts";
import { hasLitecoind, LIKE_DOGECOIN, startLitecoind } from "../support/nodes/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
/** A miner who takes nothing below 0.015 for 1000 bytes; a sweep pays 0.01. */
const DEAR: Play = {
  id: "DOGECOIN",
  asset: "DOGE",
  start: () => startLitecoind(...LIKE_DOGECOIN, "-blockmintxfee=0.015", "-paytxfee=0.02"),
};
const CASH: Play = { id: "BITCOIN_CASH", asset: "BCH", start: startBcash };

interface Sent {
  id: string;
  purpose: string;
  state: string;
  subject: string | null;
  hash: string;
  fee: string;
  height: number | null;
  error: string | null;
}

Deno.test({
  name: "DOGE: a sweep that lingers is mined with a child that pays for it, and both are booked",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(DEAR);
    await lingering(desk, 20n * COIN);
    await desk.node.mine();
    equal((await desk.node.rpc<string[]>("getrawmempool")).length, 1, "the miner wants more");
    await Promise.all([desk.look(), desk.look()]); // two workers see it at once
    await desk.look();
    const [sweep, child, ...more] = await sentBy(desk);
    deepEqual([sweep.purpose, child.purpose, more], ["sweep", "child", []]);
    equal(child.subject, sweep.id);
    const pool = await desk.node.rpc<string[]>("getrawmempool");
    deepEqual(pool.toSorted(), [sweep.hash, child.hash].toSorted());
    await fastTogether(desk, [sweep, child]);
    await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
    await desk.until(async () => (await sentBy(desk)).every(({ state }) => state === "done"));
    await desk.node.mine();
    await desk.follow();
    const deposits = await rowsOf(desk.realm, "select id from deposits");
    equal(deposits.length, 1, "neither sweep nor child is a deposit");
    await desk.agree();
    await spendable(desk, "DOGECOIN");
  },
});

Deno.test({
  name: "BCH: a child whose parent is mined without it is mined too, and nothing is lost",
  fn: async () => {
    await using desk = await openCoinDesk(CASH);
    await lingering(desk, 3n * COIN);
    await endAt(desk, "stored"); // signed, and not sent before the parent is mined
    await desk.node.mine();
    await desk.look();
    await desk.until(async () => (await sentBy(desk)).every(({ state }) => state === "done"));
    const [sweep, child] = await sentBy(desk);
    ok(child.height! > sweep.height!);
    await desk.node.mine();
    await desk.follow();
    await desk.agree();
    await spendable(desk, "BITCOIN_CASH");
  },
});

Deno.test({
  name: "DOGE: a child dies with its parent, and nothing is booked for either",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(DEAR);
    await lingering(desk, 20n * COIN);
    await desk.look();
    await desk.look();
    const [sweep, child] = await sentBy(desk);
    const height = await desk.node.rpc<number>("getblockcount");
    const [{ claim }] = await claimsOf(desk, sweep.id);
    const party = await newParty("DOGECOIN");
    await desk.rob(party.address, claim);
    await desk.release();
    await desk.until(async () => (await stateOf(desk, child.id)) === "dead");
    equal(await stateOf(desk, sweep.id), "dead");
    ok(await desk.node.rpc<number>("getblockcount") >= height + 2);
    deepEqual(await claimsOf(desk, child.id), []);
    const unmade = "select hash from coins where height is null";
    deepEqual(await rowsOf(desk.realm, unmade), []);
    const booked = "select id from transactions where type = 'fee'";
    deepEqual(await rowsOf(desk.realm, booked), [], "what nobody took is not booked");
  },
});

Deno.test({
  name: "DOGE: a worker that ends at any step of a child and begins anew makes one child",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(DEAR);
    let done = 0;
    for (const step of STEPS) {
      await t.step(`ends at "${step}"`, async () => {
        await lingering(desk, 20n * COIN);
        await endAt(desk, step);
        await desk.until(async () => {
          const sent = await sentBy(desk);
          return sent.length === done + 2 && sent.every(({ state }) => state === "done");
        });
        done += 2;
      });
    }
    await desk.node.mine();
    await desk.follow();
    await desk.agree();
  },
});

Deno.test({
  name: "DOGE: a sweep that pays enough gets no child, however long it lingers",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(DEAR);
    await lingering(desk, 20n * COIN);
    // As if the sweep had been made when that was the price.
    await tamper(
      desk.realm,
      `update order_candidates set plan = jsonb_set(plan::jsonb, '{fee}',
        '{"n": "900000000"}')::text`,
    );
    await desk.look();
    equal((await sentBy(desk)).length, 1);
  },
});

/** Makes a deposit whose sweep was sent long ago and is in no block. */
async function lingering(desk: CoinDesk, amount: bigint): Promise<void> {
  await desk.deposit(amount);
  const sent = async () => (await sentBy(desk)).some(({ state }) => state === "sent");
  await desk.until(sent);
  await rowsOf(desk.realm, "update orders set created_at = created_at - interval '20 minutes'");
}

async function sentBy(desk: CoinDesk): Promise<Sent[]> {
  return await rowsOf<Sent>(
    desk.realm,
    `select id, purpose, state, subject, hash, fee::text, height, error from orders order by id`,
  );
}

async function stateOf(desk: CoinDesk, id: string): Promise<string> {
  return (await sentBy(desk)).find((one) => one.id === id)!.state;
}

async function claimsOf(desk: CoinDesk, order: string): Promise<{ claim: string }[]> {
  return await rowsOf(desk.realm, `select claim from claims where order_id = '${order}'`);
}

/** Parent and child together pay the rate of what is to be mined soon. */
async function fastTogether(desk: CoinDesk, sent: readonly Sent[]): Promise<void> {
  const plans = await rowsOf<{ plan: string }>(desk.realm, "select plan from order_candidates");
  const size = plans.reduce((sum, { plan }) => sum + readPlan(plan).vsize!, 0);
  const fee = sent.reduce((sum, one) => sum + BigInt(one.fee), 0n);
  const chain = await desk.context.chains.open({ chain: "DOGECOIN", testnet: true });
  const { fast, medium } = await chain.quote(null);
  const rate = fast.perInput * BigInt(size) / 148n; // an input is 148 bytes
  ok(fee >= rate * 99n / 100n, `${fee} for ${size} bytes`);
  ok(fast.perInput > medium.perInput);
}

/** What the child brought back pays a withdrawal. */
async function spendable(desk: CoinDesk, id: "DOGECOIN" | "BITCOIN_CASH"): Promise<void> {
  await desk.quote();
  const to = await newParty(id);
  const paid = await desk.withdraw(to.address, "1.5", { fee: { speed: "fast" } });
  const [row] = await desk.ended([paid]);
  equal(row.status, "DONE");
  await desk.node.mine();
  await desk.follow();
  deepEqual(await desk.held(to.address), [COIN * 3n / 2n]);
  await desk.agree();
}

/** Ends a worker at a step, of the sweep or of its child. */
async function endAt(desk: CoinDesk, step: Step): Promise<void> {
  let reached = false;
  for (let round = 0; !reached && round < 8; round++) {
    if (round > 1) await desk.node.mine();
    try {
      await desk.look((passed) => {
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
