/** Withdrawals that an operator calls paid while the change of their own transactions, which were never sent, is to be spent. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { crashAt, pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { COIN, hurry, LITECOIN, openUtxoRamp, type UtxoRamp } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();

/** Two withdrawals that are signed and were not sent, the second of which spends the change of the first. */
async function openDepending() {
  const funded = await openUtxoRamp(LITECOIN);
  await funded.fund(5n * COIN);
  const to = [(await newParty("LITECOIN")).address, (await newParty("LITECOIN")).address];
  const ids = [await pay(funded, to[0], "1")];
  ok((await crashAt(funded, "stored")).done);
  ids.push(await pay(funded, to[1], "0.5"));
  const [seen] = await rowsOf<{ order: string; version: number }>(
    funded.realm,
    `select id as order, schedule_version as version from chain_orders where reference_id = '${
      ids[1]
    }'`,
  );
  const at = Date.now();
  const actor = { ...funded.context.actor, at, requestId: newId(at) };
  let stored = false;
  await advanceOrder({ ...funded.context, actor }, seen, (passed) => {
    if (passed !== "stored") return;
    stored = true;
    throw new Error("the worker has ended");
  }).catch((error) => {
    if (!stored) throw error;
  });
  const spends = await rowsOf(
    funded.realm,
    `select from order_attempts a join order_attempts b on split_part(b.inputs[1], ':', 1) = a.hash`,
  );
  equal(spends.length, 1, "the second spends the change of the first");
  return { funded, ids, to };
}

async function follow(funded: UtxoRamp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(funded.realm);
    await funded.follow();
    await funded.node.mine();
  }
}

Deno.test({
  name:
    "LTC: two withdrawals that are called paid are not sent, although one was to spend the change of the other's transaction",
  ignore,
  fn: async () => {
    const { funded, ids, to } = await openDepending();
    await using _ = funded;
    await haltRealm(funded.realm);
    await funded.node.mine(3);
    const [report] = await reconcile(funded.realm, () => Promise.resolve(true));
    deepEqual([report.obstacles, report.late, report.open, report.lifted], [[], [], [], true]);
    await follow(funded, 3);
    for (const address of to) deepEqual(await funded.held(address), []);
    for (const id of ids) equal((await funded.withdrawal(id)).status, "DONE");
  },
});

Deno.test({
  name:
    "LTC: a withdrawal that is called paid stays open, and is not sent, while another that was not paid is to spend the change of its transaction",
  ignore,
  fn: async () => {
    const { funded, ids, to } = await openDepending();
    await using _ = funded;
    await haltRealm(funded.realm);
    await funded.node.mine(3);
    const [report] = await reconcile(
      funded.realm,
      ({ withdrawal }) => Promise.resolve(withdrawal === ids[0]),
    );
    deepEqual([report.late, report.open.map(({ withdrawal }) => withdrawal), report.lifted], [
      [],
      [ids[0]],
      false,
    ]);
    match(report.obstacles.join(), new RegExp(`withdrawal ${ids[0]} was called paid`));
    await follow(funded, 3);
    for (const address of to) deepEqual(await funded.held(address), []);
    const [paid] = await reconcile(funded.realm, () => Promise.resolve(true));
    deepEqual([paid.obstacles, paid.lifted], [[], true]);
    for (const id of ids) equal((await funded.withdrawal(id)).status, "DONE");
  },
});
