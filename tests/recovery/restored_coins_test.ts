/** Restored databases of coin chains: coins that a lost database spent are spent by nothing else. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Question } from "../../workers/recovery/reconcile.ts";
import { paying, withTwoCoins } from "../support/paying_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { overtakeBatch } from "../support/overtaken_batch.ts";
import { pay, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("coins that a lost database spent", LITECOIN, ignore);

test("LTC: a payment that waits in the pool is waited for, and nobody is asked about it", async (ramp) => {
  const funded = await paying(await withTwoCoins(ramp));
  const { realm, id, to: address } = funded;
  await keepRealm(realm);
  await funded.advance();
  await restoreRealm(realm);
  await haltRealm(realm);
  const asked: Question[] = [];
  const answer = (question: Question) => {
    asked.push(question);
    return Promise.resolve(false);
  };
  const [waiting] = await reconcile(realm, answer);
  equal(waiting.lifted, false);
  match(waiting.obstacles.join(), /wait to be mined spend 1 coin\(s\) of ours/);
  await funded.node.mine();
  const [report] = await reconcile(realm, answer);
  deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
  equal((await funded.ended([id]))[0].status, "DONE");
  await follow(funded, 3);
  deepEqual(await funded.held(address), [COIN]);
  await funded.agree();
});

test("LTC: a batch planned in a dump is not sent beside a payment in the pool that took its place, whatever is answered", async (ramp) => {
  const funded = await overtakeBatch(ramp, "planned");
  const { realm, dropped, paid, to } = funded;
  await haltRealm(realm);
  const [waiting] = await reconcile(realm, () => Promise.resolve(false));
  equal(waiting.lifted, false);
  match(waiting.obstacles.join(), /wait to be mined/);
  await follow(funded, 3);
  const [report] = await reconcile(realm, () => Promise.resolve(false));
  deepEqual([report.lifted, report.taken.map((one) => one.paid.length)], [true, [1]]);
  await funded.ended([dropped, paid]);
  await follow(funded, 3);
  for (const address of to) equal((await funded.held(address)).length, 1);
});

test("LTC: a payment replaced since the dump is found under its replacement, in the pool too", async (ramp) => {
  const funded = await paying(await withTwoCoins(ramp), { fee: { speed: "slow" } });
  const { realm, id, to: address } = funded;
  await funded.advance();
  await keepRealm(realm);
  equal((await speedUp(funded, id)).status, 200);
  await funded.advance();
  const [{ hash }] = await rowsOf<{ hash: string }>(realm, "select hash from chain_orders");
  await restoreRealm(realm);
  await haltRealm(realm);
  const [pooled] = await reconcile(realm);
  deepEqual([pooled.lifted, pooled.open], [true, []]);
  await haltRealm(realm);
  await follow(funded, 3);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.open, report.obstacles], [true, [], []]);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  deepEqual(await funded.held(address), [COIN]);
  await funded.agree();
});

test("LTC: a deposit that came to an address of the lost database, and its sweep, are booked once where workers have read their blocks before", async (funded) => {
  const { realm, node } = funded;
  await funded.fund(5n * COIN);
  await keepRealm(realm);
  const made = await realm.admin.send("POST", `/v1/account/${funded.virtual}/address`, {});
  equal(made.status, 201, made.text);
  await realm.drain();
  const script = (await scriptOf("LITECOIN", "regtest", made.body.address.address)).toHex();
  await node.pay([{ script, amount: 2n * COIN }]);
  await funded.until(async () =>
    (await rowsOf(realm, "select id from sweeps where state = 'done'")).length > 0
  );
  await restoreRealm(realm);
  await haltRealm(realm);
  await follow(funded, 3);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
  await follow(funded, 6);
  const deposits = "select amount::text, status from deposits where status <> 'ORPHANED'";
  const amounts = (await rowsOf<{ amount: string; status: string }>(realm, deposits))
    .map(({ amount, status }) => [Number(amount), status]);
  deepEqual(amounts.toSorted(), [[2, "CONFIRMED"], [5, "CONFIRMED"]]);
  await funded.agree();
});

test("LTC: a payment whose coins are gone is not sent anew by itself where a transaction that was found paid the same", async (funded) => {
  const { realm } = funded;
  await funded.fund(5n * COIN);
  const first = await pay(funded, (await newParty("LITECOIN")).address, "1");
  await funded.advance();
  const [{ input }] = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
  const { address } = await newParty("LITECOIN");
  const second = await pay(funded, address, "0.3"); // out of the change of the first
  await funded.advance();
  await funded.advance();
  await keepRealm(realm);
  await funded.rob((await newParty("LITECOIN")).address, input);
  await funded.release();
  await funded.fund(3n * COIN);
  const rows = await funded.ended([first, second]);
  deepEqual(rows.map(({ status }) => status), ["FAILED", "DONE"]);
  await restoreRealm(realm);
  await haltRealm(realm);
  await reconcile(realm);
  await follow(funded, 6);
  const quarantined = "select quarantined ->> 'detail' as detail from ramps";
  const [{ detail }] = await rowsOf<{ detail: string }>(realm, quarantined);
  match(detail, /can be mined, and \w+, which was found on the chain, paid the same/);
  const asked: Question[] = [];
  const [report] = await reconcile(realm, (question) => {
    asked.push(question);
    return Promise.resolve(true);
  });
  ok(report.lifted, JSON.stringify(report));
  deepEqual(asked.map(({ withdrawal, like }) => [withdrawal, like]), [
    [second, rows[1].chain.hash],
  ]);
  await follow(funded, 6);
  deepEqual(await funded.held(address), [COIN * 3n / 10n]);
  const ended = await funded.ended([first, second]);
  deepEqual(ended.map(({ status }) => status), ["FAILED", "DONE"]);
  equal(ended[1].chain.hash, rows[1].chain.hash);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("LTC: a payment that is mined while an operator answers ends its withdrawal, whatever is answered", async (ramp) => {
  const funded = await overtakeBatch(ramp, "planned", true);
  const { realm, node, paid, to } = funded;
  await haltRealm(realm);
  let asked = 0;
  const answer = async () => {
    if (asked++ > 0) return false;
    // Nobody's node had it when the operator looked.
    await funded.send();
    await node.mine();
    // Workers go on scanning meanwhile.
    await funded.follow();
    return false;
  };
  await reconcile(realm, answer);
  await reconcile(realm, () => Promise.resolve(false));
  await follow(funded, 4);
  equal((await funded.ended([paid]))[0].status, "DONE");
  equal((await funded.held(to[1])).length, 1);
});
