/** Payments on UTXO chains whose block is lost after they were done, and workers that halt. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import type { Checkpoint } from "../../workers/sending/order_work.ts";
import {
  COIN,
  LITECOIN,
  openUtxoRamp,
  UTXO_CHAINS,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { pay, queue, sizeOf } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();

Deno.test({
  name:
    "LTC: coins of a payment that is done are spent by no other order, also when its block is lost",
  ignore,
  fn: async () => {
    await using funded = await openUtxoRamp(LITECOIN);
    const base = await funded.node.rpc<number>("getblockcount");
    await funded.fund(5n * COIN, 4n * COIN);
    const fundingBlock = await funded.node.rpc<number>("getblockcount");
    ok(fundingBlock > base);
    const [first, second] = [await newParty("LITECOIN"), await newParty("LITECOIN")];
    const id = await pay(funded, first.address, "3");
    equal((await funded.ended([id]))[0].status, "DONE");
    const [{ hash }] = await rowsOf<{ hash: string }>(
      funded.realm,
      "select hash from chain_orders",
    );
    const kept = "select kept from coins where kept is not null";
    deepEqual(await rowsOf(funded.realm, kept), [{ kept: hash }]);
    await loseBlocks(funded, fundingBlock);
    await funded.follow();
    deepEqual(await funded.held(first.address), [], "the chain has lost it");
    const free = "select 1 from coins where kept is not null and spent_by is null";
    equal((await rowsOf(funded.realm, free)).length, 1, "its coin is unspent again");
    await funded.realm.admin.send("POST", `/v1/accounts/${funded.ramp}/unfreeze`);
    await funded.quote();
    const next = await pay(funded, second.address, "3.5");
    await funded.advance();
    await funded.advance();
    const inputs = await rowsOf<{ inputs: string[] }>(
      funded.realm,
      `select c.inputs from order_attempts c join chain_orders o on o.id = c.order_id
        where o.reference_id = '${next}'`,
    );
    const [{ input }] = await rowsOf<{ input: string }>(
      funded.realm,
      "select hash || ':' || index as input from coins where kept is not null",
    );
    ok(inputs.length > 0);
    ok(
      inputs.every((one) => !one.inputs.includes(input)),
      "another payment may not take its place",
    );
    equal(await refusedBy(funded, input, next), "coins_kept");
    await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at: Date.now() } });
    ok((await funded.node.rpc<string[]>("getrawmempool")).includes(hash), "it is sent again");
    equal((await funded.ended([next]))[0].status, "DONE");
    deepEqual(await funded.held(first.address), [3n * COIN]);
    deepEqual(await funded.held(second.address), [COIN * 7n / 2n]);
    await funded.agree();
  },
});

for (const utxo of UTXO_CHAINS.filter(({ id }) => id === "BITCOIN_CASH" || id === "DOGECOIN")) {
  Deno.test({
    name:
      `${utxo.asset}: a sent withdrawal cannot be sped up, and nothing is charged for the attempt`,
    ignore,
    fn: async () => {
      await using funded = await openUtxoRamp(utxo);
      await funded.fund(90n * COIN);
      await funded.quote();
      const id = await pay(funded, (await newParty(utxo.id)).address, "5");
      await funded.advance();
      await funded.advance();
      const before = await funded.withdrawal(id);
      const sped = await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
        speed: "fast",
      });
      deepEqual([sped.status, sped.body.code], [409, "withdrawal.not_cancelable"]);
      deepEqual((await funded.withdrawal(id)).fee, before.fee);
      deepEqual(await rowsOf(funded.realm, "select replace from chain_orders"), [{
        replace: false,
      }]);
      equal((await funded.ended([id]))[0].status, "DONE");
      await funded.agree();
    },
  });
}

Deno.test({
  name:
    "LTC: a worker that stands still anywhere in a batch, while another ends it, changes nothing",
  ignore,
  fn: async (t) => {
    await using funded = await openUtxoRamp(LITECOIN);
    await funded.fund(10n * COIN, 10n * COIN);
    for (
      const step of ["drafted", "planned", "signed", "stored", "sending", "broadcast"] as const
    ) {
      await t.step(step, async () => {
        const { ids, to } = await queue(funded, LITECOIN, 3);
        if (step !== "drafted" && step !== "planned") {
          await funded.advance(endOn("planned")).catch(() => {});
        }
        const first = standAt(funded, step);
        await first.reached;
        const rows = await funded.ended(ids);
        deepEqual(rows.map(({ status }) => status), ["DONE", "DONE", "DONE"]);
        first.release();
        await first.ended;
        for (const [at, address] of to.entries()) {
          deepEqual(await funded.held(address), [sizeOf(at)]);
        }
        const open =
          "select 1 from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')";
        deepEqual(await rowsOf(funded.realm, open), []);
      });
    }
    await funded.agree();
  },
});

/** Starts a run that halts at a checkpoint until it is released. */
function standAt(funded: UtxoRamp, step: Checkpoint) {
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const ended = funded.advance(async (passed) => {
    if (passed !== step) return;
    reached.resolve();
    await released.promise;
  }).finally(() => reached.reject(new Error(`nobody passed ${step}`)));
  return { reached: reached.promise, release: released.resolve, ended };
}

function endOn(step: Checkpoint) {
  return (passed: Checkpoint) => {
    if (passed === step) throw new Error("far enough");
  };
}

/** Puts empty blocks in the place of all above a height; to an address of their own, so that they differ. */
async function loseBlocks({ node }: UtxoRamp, above: number): Promise<void> {
  const head = await node.rpc<number>("getblockcount");
  await node.rpc("invalidateblock", await node.rpc("getblockhash", above + 1));
  const to = await node.rpc("getnewaddress");
  for (let height = above; height <= head; height++) await node.rpc("generateblock", to, []);
}

async function refusedBy(
  funded: UtxoRamp,
  input: string,
  withdrawal: string,
): Promise<string | null> {
  const statement = `insert into reserved_inputs (chain, network, input, order_id, created_at)
    select chain, network, '${input}', id, now() from chain_orders where reference_id = '${withdrawal}'`;
  return await rowsOf(funded.realm, statement).then(() => null, (error) => error.constraint_name);
}
