import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { STEPS } from "../../workers/sending/signing.ts";
import { COIN, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import {
  cancel,
  crashAt,
  feesDivided,
  paidOnce,
  payoutsOf,
  queue,
  sizeOf,
  speedUp,
  statesOf,
} from "../support/pending_withdrawals.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

Deno.test({
  name: "LTC: payouts that end at any step and begin anew pay each withdrawal exactly once",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(10n * COIN, 10n * COIN);
    for (const step of STEPS) {
      await t.step(`a worker that ends at "${step}"`, async () => {
        const queued = await queue(desk, LITECOIN, 4);
        const reached = { done: false };
        for (let round = 0; !reached.done && round < 5; round++) {
          await crashAt(desk, step, reached);
          await desk.node.mine();
        }
        ok(reached.done, `nobody passed ${step}`);
        await desk.ended(queued.ids);
        await paidOnce(desk, queued);
        equal(await payoutsOf(desk, queued), 1);
      });
    }
    for (const step of ["drafted", "planned", "signed", "stored", "sending"] as const) {
      await t.step(`a speed-up that ends at "${step}"`, async () => {
        const queued = await queue(desk, LITECOIN, 4, { fee: { speed: "slow" } });
        await desk.look();
        await desk.look();
        const before = (await desk.withdrawal(queued.ids[0])).chain.hash;
        equal((await speedUp(desk, queued.ids[2])).status, 200);
        ok((await crashAt(desk, step)).done);
        await desk.look(); // before a block takes the first
        const rows = await desk.ended(queued.ids);
        await paidOnce(desk, queued);
        for (const { chain } of rows) notEqual(chain.hash, before);
      });
    }
    await feesDivided(desk);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: two workers at once pay what they find waiting exactly once",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN, 5n * COIN, 5n * COIN);
    const queued = await queue(desk, LITECOIN, 6);
    for (let round = 0; round < 4; round++) {
      await Promise.all([desk.look(), desk.look(), desk.look()]);
      await desk.node.mine();
    }
    const more = await queue(desk, LITECOIN, 6);
    await Promise.all([desk.realm.drain(), desk.realm.drain()]);
    const [late] = await Promise.all([
      queue(desk, LITECOIN, 12),
      ...Array.from({ length: 4 }, () => desk.look()),
      desk.realm.drain(),
    ]);
    for (const one of [queued, more, late]) {
      await desk.ended(one.ids);
      await paidOnce(desk, one);
    }
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: who is canceled while nothing has left is not paid, and the others are",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(10n * COIN);
    for (const step of ["planned", "signed", "stored"] as const) {
      await t.step(`canceled at "${step}"`, async () => {
        const { ids, to } = await queue(desk, LITECOIN, 4);
        await crashAt(desk, "planned");
        if (step !== "planned") await crashAt(desk, step);
        equal((await statesOf(desk, ids)).join(), "joined,joined,joined,joined");
        await rowsOf(desk.realm, "delete from jobs"); // whoever goes on is told by what follows
        const answer = await cancel(desk, ids[1]);
        deepEqual([answer.status, answer.body.status], [200, "CANCELED"], answer.text);
        equal((await statesOf(desk, ids)).join(), "new,canceled,new,new");
        const rest = { ids: ids.filter((_, at) => at !== 1), to: to.filter((_, at) => at !== 1) };
        await desk.ended(rest.ids);
        const sizes = [sizeOf(0), sizeOf(2), sizeOf(3)];
        for (const [at, address] of rest.to.entries()) {
          deepEqual(await desk.held(address), [sizes[at]]);
        }
        deepEqual(await desk.held(to[1]), []);
      });
    }
    await t.step("canceled after the node priced them together", async () => {
      const { ids, to } = await queue(desk, LITECOIN, 3);
      let answer: Answer | null = null;
      await desk.look(async (step) => {
        if (step === "drafted") answer ??= await cancel(desk, ids[1]);
      });
      equal(answer!.body.status, "CANCELED");
      equal((await statesOf(desk, ids)).join(), "joined,canceled,joined");
      await desk.ended([ids[0], ids[2]]);
      const sizes = [[sizeOf(0)], [], [sizeOf(2)]];
      for (const [at, address] of to.entries()) deepEqual(await desk.held(address), sizes[at]);
    });
    await t.step("hastened after the node priced them together", async () => {
      const queued = await queue(desk, LITECOIN, 3, { fee: { speed: "slow" } });
      let answer: Answer | null = null;
      await desk.look(async (step) => {
        if (step === "drafted") answer ??= await speedUp(desk, queued.ids[1]);
      });
      equal(answer!.status, 200);
      const [{ carrier, speed }] = await rowsOf<{ carrier: string | null; speed: string }>(
        desk.realm,
        `select carrier, speed from orders where subject = '${queued.ids[1]}'`,
      );
      deepEqual([carrier, speed], [null, "fast"], "it does not leave at the slow rate");
      await desk.ended(queued.ids);
      await paidOnce(desk, queued);
    });
    await t.step("too late once bytes may have left", async () => {
      const queued = await queue(desk, LITECOIN, 3);
      await desk.look();
      await desk.look();
      const late = await cancel(desk, queued.ids[1]);
      deepEqual([late.status, late.body.code], [409, "withdrawal.not_cancelable"]);
      await desk.ended(queued.ids);
      await paidOnce(desk, queued);
    });
    await desk.agree();
    deepEqual(await rowsOf(desk.realm, "select claim from claims"), []);
  },
});

Deno.test({
  name: "LTC: a reorganisation takes a payout's block, and each is paid once all the same",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const queued = await queue(desk, LITECOIN, 3);
    await desk.look();
    await desk.look();
    await desk.node.mine();
    await desk.look();
    const mined = (await desk.withdrawal(queued.ids[0])).chain;
    equal(mined.confirmations, 1);
    await desk.node.reorganise(1);
    await desk.look();
    const lost = (await desk.withdrawal(queued.ids[0])).chain;
    deepEqual([lost.block, lost.confirmations, lost.hash], [null, 0, mined.hash]);
    const rows = await desk.ended(queued.ids);
    for (const { chain } of rows) ok(chain.block > mined.block);
    await paidOnce(desk, queued);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: a payout whose coin another transaction takes pays nobody and gives all back",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const { ids, to } = await queue(desk, LITECOIN, 3);
    await desk.look();
    await desk.look();
    await desk.node.mine();
    await desk.look(); // seen in a block that is about to go
    const height = await desk.node.rpc<number>("getblockcount");
    await desk.node.rpc("invalidateblock", await desk.node.rpc("getblockhash", height));
    const [{ claim }] = await rowsOf<{ claim: string }>(desk.realm, "select claim from claims");
    await desk.rob((await newParty("LITECOIN")).address, claim);
    await desk.release();
    const rows = await desk.ended(ids);
    deepEqual(rows.map(({ status }) => status), ["FAILED", "FAILED", "FAILED"]);
    for (const address of to) deepEqual(await desk.held(address), []);
    const costs = "select cost from withdrawals where cost is not null";
    deepEqual(await rowsOf(desk.realm, costs), []);
    equal((await desk.realm.balance(desk.ramp)).available, "5");
  },
});
