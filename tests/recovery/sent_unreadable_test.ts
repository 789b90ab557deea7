/** Transactions of our own keys that cannot be read, and that took the place of what was sent for withdrawals. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { until } from "../support/eventually.ts";
import { haltRealm, reconcile } from "../support/installation.ts";
import { FEE, mineByHand } from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { withOneCoin } from "../support/paying_ramp.ts";
import { isKilled } from "../support/killed_reconcile.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { reconciled, trailOf } from "../support/unreadable.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp(
  "transactions that cannot be read, in the place of others",
  LITECOIN,
  ignore,
);

/** Makes withdrawals of 1 LTC each, and sends them in one transaction, which a node has. */
async function send(ramp: UtxoRamp, count: number) {
  const funded = await withOneCoin(ramp);
  const made: { id: string; to: string }[] = [];
  for (let at = 0; at < count; at++) {
    const { address: to } = await newParty("LITECOIN");
    made.push({ id: await pay(funded, to, "1"), to });
  }
  const sent =
    "select count(distinct order_id)::integer as count from order_attempts where outcome is not null";
  await until(async () => {
    if ((await rowsOf<{ count: number }>(funded.realm, sent))[0].count > 0) return true;
    await funded.advance();
    return false;
  }, 0);
  equal((await funded.node.rpc<string[]>("getrawmempool")).length, 1, "one transaction pays all");
  return { ...funded, made };
}

/** Mines what spends all coins and pays to some, and to a script without an address. */
async function mineUnreadable(funded: UtxoRamp, to: readonly string[]): Promise<string> {
  return await mineByHand(funded, null, [
    { to: "script:51", amount: COIN },
    ...to.map((one) => ({ to: one, amount: COIN })),
    { to: funded.address, amount: (4n - BigInt(to.length)) * COIN - FEE },
  ]);
}

test("LTC: a transaction that cannot be read and took the place of what was sent for a withdrawal is its payment where an operator says so, and no loss", async (ramp) => {
  const funded = await send(ramp, 1);
  const { realm, node, made: [{ id, to }] } = funded;
  const hash = await mineUnreadable(funded, [to]);
  await haltRealm(realm);
  const early = await reconciled(realm, { [hash]: id });
  match(early.report.obstacles.join(), /may still lose its block/);
  await node.mine(2);
  const wrong = await reconciled(realm, { [hash]: null });
  match(
    wrong.report.obstacles.join(),
    new RegExp(`is not booked as a loss: the chain shows that it paid ${id}`),
  );
  deepEqual(await trailOf(realm), []);
  equal((await funded.withdrawal(id)).status, "PROCESSING");
  const all = await Promise.all([1, 2].map(() => reconciled(realm, { [hash]: id })));
  equal(all.flatMap(({ report }) => report.taken).length, 1, "twice at once");
  ok(all.some(({ report }) => report.lifted), JSON.stringify(all));
  deepEqual(all.flatMap(({ report }) => report.open), [], "nobody is asked");
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await follow(funded, 3);
  deepEqual(await funded.held(to), [COIN]);
  deepEqual((await trailOf(realm)).map(({ action, entity }) => [action, entity]), [
    ["reconcile.payment", id],
  ]);
  await funded.agree();
});

test("LTC: of two withdrawals that were sent together, a transaction that cannot be read and paid one ends that one, and the other is asked about", async (ramp) => {
  const funded = await send(ramp, 2);
  const { realm, node, made: [paid, other] } = funded;
  const hash = await mineUnreadable(funded, [paid.to]);
  await node.mine(2);
  await haltRealm(realm);
  for (const wrong of [other.id, [paid.id, other.id]]) {
    const { report } = await reconciled(realm, { [hash]: wrong });
    match(report.obstacles.join(), new RegExp(`the chain shows that it paid ${paid.id}`));
  }
  const { report } = await reconciled(realm, { [hash]: paid.id });
  deepEqual([report.lifted, report.obstacles], [false, []]);
  deepEqual(report.open.map(({ withdrawal, like }) => [withdrawal, like]), [[other.id, null]]);
  const [last] = await reconcile(realm, () => Promise.resolve(false));
  equal(last.lifted, true, last.obstacles.join());
  const rows = await funded.ended([paid.id, other.id]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  equal(rows[0].chain.hash, hash);
  await follow(funded, 3);
  for (const { to } of [paid, other]) deepEqual(await funded.held(to), [COIN]);
  await funded.agree();
});

test("LTC: a reconciliation that is killed before any of its steps, in which an operator names what took the place of a sent withdrawal, books it once", async (ramp) => {
  const funded = await send(ramp, 2);
  const { realm, node, made: [paid, other] } = funded;
  const hash = await mineUnreadable(funded, [paid.to]);
  await node.mine(2);
  await haltRealm(realm);
  let steps = 0;
  while (await isKilled(realm, steps, new Map([[hash, [paid.id]]]))) steps++;
  ok(steps > 2, `killed at ${steps} steps`);
  const rows = await funded.ended([paid.id, other.id]);
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  equal(rows[0].chain.hash, hash);
  await follow(funded, 3);
  for (const { to } of [paid, other]) deepEqual(await funded.held(to), [COIN]);
  deepEqual((await trailOf(realm)).map(({ entity }) => entity), [paid.id]);
  await funded.agree();
});
