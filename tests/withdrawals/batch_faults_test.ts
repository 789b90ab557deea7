import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { CHECKPOINTS } from "../../workers/sending/order_work.ts";
import { COIN, LITECOIN, openUtxoRamp } from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import {
  batchesOf,
  cancel,
  crashAt,
  feesDivided,
  paidOnce,
  pay,
  queue,
  sizeOf,
  speedUp,
  statesOf,
} from "../support/pending_withdrawals.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { sharingUtxo } from "../support/sharing_utxo.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
/** A test ends what it asks for, and nobody else spends its coins. */
const test = sharingUtxo("LTC: batches in one realm, and faults", LITECOIN, ignore);

test(
  "LTC: batches that end at any step and begin anew pay each withdrawal exactly once",
  async ({ funded }, t) => {
    await funded.fund(10n * COIN, 10n * COIN);
    for (const step of CHECKPOINTS) {
      await t.step(`a worker that ends at "${step}"`, async () => {
        const queued = await queue(funded, LITECOIN, 4);
        const reached = { done: false };
        for (let round = 0; !reached.done && round < 5; round++) {
          await crashAt(funded, step, reached);
          await funded.node.mine();
        }
        ok(reached.done, `nobody passed ${step}`);
        await funded.ended(queued.ids);
        await paidOnce(funded, queued);
        equal(await batchesOf(funded, queued), 1);
      });
    }
    for (const step of ["drafted", "planned", "signed", "stored", "sending"] as const) {
      await t.step(`a speed-up that ends at "${step}"`, async () => {
        const queued = await queue(funded, LITECOIN, 4, { fee: { speed: "slow" } });
        await funded.advance();
        await funded.advance();
        const before = (await funded.withdrawal(queued.ids[0])).chain.hash;
        equal((await speedUp(funded, queued.ids[2])).status, 200);
        ok((await crashAt(funded, step)).done);
        await funded.advance(); // before a block takes the first
        const rows = await funded.ended(queued.ids);
        await paidOnce(funded, queued);
        for (const { chain } of rows) notEqual(chain.hash, before);
      });
    }
    await feesDivided(funded);
    await funded.agree();
  },
);

test("LTC: two workers at once pay the waiting withdrawals exactly once", async ({ funded }) => {
  await funded.fund(5n * COIN, 5n * COIN, 5n * COIN);
  const queued = await queue(funded, LITECOIN, 6);
  for (let round = 0; round < 4; round++) {
    await Promise.all([funded.advance(), funded.advance(), funded.advance()]);
    await funded.node.mine();
  }
  const more = await queue(funded, LITECOIN, 6);
  await Promise.all([funded.realm.drain(), funded.realm.drain()]);
  const [late] = await Promise.all([
    queue(funded, LITECOIN, 12),
    ...Array.from({ length: 4 }, () => funded.advance()),
    funded.realm.drain(),
  ]);
  for (const one of [queued, more, late]) {
    await funded.ended(one.ids);
    await paidOnce(funded, one);
  }
  await funded.agree();
});

test(
  "LTC: a withdrawal that is canceled before its batch was sent is not paid, and the others are",
  async ({ funded }, t) => {
    await funded.fund(10n * COIN);
    for (const step of ["planned", "signed", "stored"] as const) {
      await t.step(`canceled at "${step}"`, async () => {
        const { ids, to } = await queue(funded, LITECOIN, 4);
        await crashAt(funded, "planned");
        if (step !== "planned") await crashAt(funded, step);
        equal((await statesOf(funded, ids)).join(), "batched,batched,batched,batched");
        await rowsOf(funded.realm, "delete from jobs"); // the next steps name the worker that goes on
        const answer = await cancel(funded, ids[1]);
        deepEqual([answer.status, answer.body.status], [200, "CANCELED"], answer.text);
        equal((await statesOf(funded, ids)).join(), "new,canceled,new,new");
        const rest = { ids: ids.filter((_, at) => at !== 1), to: to.filter((_, at) => at !== 1) };
        await funded.ended(rest.ids);
        const sizes = [sizeOf(0), sizeOf(2), sizeOf(3)];
        for (const [at, address] of rest.to.entries()) {
          deepEqual(await funded.held(address), [sizes[at]]);
        }
        deepEqual(await funded.held(to[1]), []);
      });
    }
    await t.step("canceled after the node priced them together", async () => {
      const { ids, to } = await queue(funded, LITECOIN, 3);
      let answer: Answer | null = null;
      await funded.advance(async (step) => {
        if (step === "drafted") answer ??= await cancel(funded, ids[1]);
      });
      equal(answer!.body.status, "CANCELED");
      equal((await statesOf(funded, ids)).join(), "batched,canceled,batched");
      await funded.ended([ids[0], ids[2]]);
      const sizes = [[sizeOf(0)], [], [sizeOf(2)]];
      for (const [at, address] of to.entries()) deepEqual(await funded.held(address), sizes[at]);
    });
    await t.step("sped up after the node priced them together", async () => {
      const queued = await queue(funded, LITECOIN, 3, { fee: { speed: "slow" } });
      let answer: Answer | null = null;
      await funded.advance(async (step) => {
        if (step === "drafted") answer ??= await speedUp(funded, queued.ids[1]);
      });
      equal(answer!.status, 200);
      const [{ batch_order_id, speed }] = await rowsOf<
        { batch_order_id: string | null; speed: string }
      >(
        funded.realm,
        `select batch_order_id, speed from chain_orders where reference_id = '${queued.ids[1]}'`,
      );
      deepEqual([batch_order_id, speed], [null, "fast"], "it does not leave at the slow rate");
      await funded.ended(queued.ids);
      await paidOnce(funded, queued);
    });
    await t.step("too late once bytes may have left", async () => {
      const queued = await queue(funded, LITECOIN, 3);
      await funded.advance();
      await funded.advance();
      const late = await cancel(funded, queued.ids[1]);
      deepEqual([late.status, late.body.code], [409, "withdrawal.not_cancelable"]);
      await funded.ended(queued.ids);
      await paidOnce(funded, queued);
    });
    await funded.agree();
    deepEqual(await rowsOf(funded.realm, "select input from reserved_inputs"), []);
  },
);

test("LTC: a reorganisation takes a batch's block, and each is paid once all the same", async ({ funded }) => {
  await funded.fund(5n * COIN);
  const queued = await queue(funded, LITECOIN, 3);
  await funded.advance();
  await funded.advance();
  await funded.node.mine();
  await funded.advance();
  const mined = (await funded.withdrawal(queued.ids[0])).chain;
  equal(mined.confirmations, 1);
  await funded.node.reorganise(1);
  await funded.advance();
  const lost = (await funded.withdrawal(queued.ids[0])).chain;
  deepEqual([lost.block, lost.confirmations, lost.hash], [null, 0, mined.hash]);
  const rows = await funded.ended(queued.ids);
  for (const { chain } of rows) ok(chain.block > mined.block);
  await paidOnce(funded, queued);
  await funded.agree();
});

Deno.test({
  name: "LTC: a batch whose coin another transaction takes pays nobody and gives all back",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const { realm, virtual } = funded;
    const { send } = realm.admin;
    await funded.fund(5n * COIN);
    await funded.deposit(3n * COIN);
    const swept = "select from chain_orders where purpose = 'sweep' and state = 'done'";
    await funded.until(async () => (await rowsOf(realm, swept)).length > 0);
    const body = { type: "virtual", asset: "LTC", testnet: true, ramp: funded.ramp };
    const other = (await send("POST", "/v1/accounts", body)).body.id;
    await realm.drain();
    const given = { source: { account: virtual }, destination: { account: other }, value: "1" };
    equal((await send("POST", "/v1/transactions", given)).status, 201);
    const held = async () => {
      const all = await Promise.all([funded.ramp, virtual, other].map(funded.account));
      return all.map(({ balance }) => balance.total);
    };
    const before = await held();
    const queued = await queue(funded, LITECOIN, 3);
    const [ids, to] = [[...queued.ids], [...queued.to]];
    for (const account of [virtual, other, virtual]) {
      to.push((await newParty("LITECOIN")).address);
      ids.push(await pay(funded, to.at(-1)!, "0.4", { source: { account } }));
    }
    await funded.advance();
    await funded.advance();
    await funded.node.mine();
    await funded.advance(); // seen in a block that is about to go
    const height = await funded.node.rpc<number>("getblockcount");
    await funded.node.rpc("invalidateblock", await funded.node.rpc("getblockhash", height));
    const [{ input }] = await rowsOf<{ input: string }>(
      funded.realm,
      "select input from reserved_inputs",
    );
    await funded.rob((await newParty("LITECOIN")).address, input);
    equal((await statesOf(funded, ids)).join(), Array(6).fill("batched").join());
    equal((await send("POST", `/v1/accounts/${virtual}/freeze`)).status, 200);
    const promised = await send("POST", `/v1/accounts/${other}/deactivate`);
    equal(promised.status, 409, "nothing that may come back finds its account closed");
    await funded.release();
    const rows = await funded.ended(ids);
    deepEqual(rows.map(({ status }) => status), Array(6).fill("FAILED"));
    deepEqual(await held(), before, "the frozen account, too");
    for (const address of to) deepEqual(await funded.held(address), []);
    const costs = "select cost from withdrawals where cost is not null";
    deepEqual(await rowsOf(funded.realm, costs), []);
    equal((await realm.balance(funded.ramp)).available, before[0]);
  },
});
