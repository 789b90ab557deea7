/** Transactions that were found after a restore and that another of our keys replaces: their withdrawals come to an end, by an operator's answer where nothing else tells. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { answered, paidOut, reorganise, signElsewhere } from "../support/found_payments.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { paying, withTwoCoins } from "../support/paying_ramp.ts";
import { paidOnce, pay, queue, speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import {
  COIN,
  follow,
  LITECOIN,
  openUtxoRamp,
  UTXO_CHAINS,
  type UtxoRamp,
} from "../support/utxo_fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const ETHER = 10n ** 18n;
const test = sharingFundedRamp(
  "payments on Ethereum that were found and lose their block",
);
const ignore = !hasLitecoind();
const testCoins = sharingUtxoRamp(
  "UTXO payments that were found and lose their block",
  LITECOIN,
  ignore,
);
const DOGECOIN = UTXO_CHAINS.find(({ asset }) => asset === "DOGE")!;
const SLOW = { fee: { speed: "slow" } };
const QUARANTINED =
  "select quarantined ->> 'detail' as detail from ramps where quarantined is not null";

/** Mines until the ramp is in quarantine; gives the reason. */
async function quarantined(funded: UtxoRamp): Promise<string> {
  let rows: { detail: string }[] = [];
  await funded.until(async () => {
    rows = await rowsOf<{ detail: string }>(funded.realm, QUARANTINED);
    return rows.length > 0;
  });
  return rows[0].detail;
}

for (const place of ["a later block", "its block", "the newest block"] as const) {
  testCoins(
    `LTC: a payment that was found, and whose coin another transaction spends in ${place} instead, is asked about and made once more`,
    async (ramp) => {
      const funded = await paying(await withTwoCoins(ramp));
      const { realm, node, id, to: address } = funded;
      await keepRealm(realm);
      await funded.advance();
      const [{ input }] = await rowsOf<{ input: string }>(
        realm,
        "select input from reserved_inputs",
      );
      await restoreRealm(realm);
      await haltRealm(realm);
      await node.mine();
      const { report } = await answered(realm);
      deepEqual([report.lifted, report.taken.map(({ paid }) => paid)], [true, [[
        await orderOf(realm, id),
      ]]]);
      if (place === "its block") {
        await node.rpc("invalidateblock", await node.rpc("getbestblockhash"));
      } else await node.reorganise(1);
      await funded.rob((await newParty("LITECOIN")).address, input);
      if (place === "the newest block") {
        // As long as it may be the other way round again, the withdrawal waits, and nobody is asked.
        await haltRealm(realm);
        const { report: early, asked: none } = await answered(realm);
        deepEqual([early.lifted, early.obstacles, none], [true, [], []]);
        match(await quarantined(funded), /can never be mined/);
      } else match(await quarantined(funded), /spent our coin/);
      equal((await funded.withdrawal(id)).status, "PROCESSING");
      const { report: late, asked } = await answered(realm);
      deepEqual([late.lifted, asked.map(({ withdrawal, like }) => [withdrawal, like])], [true, [
        [id, null],
      ]]);
      const [row] = await funded.ended([id]);
      equal(row.status, "DONE");
      await follow(funded, 3);
      deepEqual(await funded.held(address), [COIN]);
      await funded.agree();
    },
  );
}

async function orderOf(realm: TestRealm, withdrawal: string): Promise<string> {
  const text = "select order_id as order from withdrawals where id = $1";
  return (await rowsOf<{ order: string }>(realm, text, [withdrawal]))[0].order;
}

testCoins(
  "LTC: a payment that is found never to be mined while an operator answers is asked about before anything is sent",
  async (ramp) => {
    const funded = await paying(await withTwoCoins(ramp));
    const { realm, node, id, to: address } = funded;
    await keepRealm(realm);
    await funded.advance();
    const [{ input }] = await rowsOf<{ input: string }>(realm, "select input from reserved_inputs");
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    await answered(realm);
    await node.reorganise(1);
    await funded.rob((await newParty("LITECOIN")).address, input);
    const other = await newParty("LITECOIN");
    const later = await pay(funded, other.address, "0.5");
    await haltRealm(realm);
    const [report] = await reconcile(realm, async () => {
      // Workers go on meanwhile.
      await node.mine(2);
      await funded.follow();
      await funded.advance();
      return false;
    });
    deepEqual([report.lifted, report.open], [false, []]);
    match(report.obstacles.join(), /meanwhile: run it again/);
    const { report: late, asked } = await answered(realm);
    deepEqual([late.lifted, asked.map(({ withdrawal }) => withdrawal)], [true, [id, later]]);
    const rows = await funded.ended([id, later]);
    deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
    deepEqual(await funded.held(address), [COIN]);
  },
);

testCoins(
  "LTC: a replacement that was found and loses its block is replaced once more where its withdrawal is sped up, and paid once",
  async (ramp) => {
    const funded = await paying(await withTwoCoins(ramp), SLOW);
    const { realm, node, id, to: address } = funded;
    await funded.advance();
    equal((await speedUp(funded, id)).status, 200);
    await keepRealm(realm);
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const { report, asked } = await answered(realm);
    deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
    await node.reorganise(1);
    for (let run = 0; run < 2; run++) await funded.advance();
    const faster = await speedUp(funded, id);
    equal(faster.status, 200, faster.text);
    await funded.advance();
    const made = "select hash from order_attempts order by attempt";
    const hashes = (await rowsOf<{ hash: string }>(realm, made)).map(({ hash }) => hash);
    equal(hashes.length, 3);
    const [row] = await funded.ended([id]);
    deepEqual([row.status, row.chain.hash], ["DONE", hashes[2]]);
    await follow(funded, 3);
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
  },
);

testCoins(
  "LTC: a batch that was found and loses its block is replaced where one of its withdrawals is sped up, and each is paid once",
  async (ramp) => {
    const funded = await withTwoCoins(ramp);
    const { realm, node } = funded;
    const queued = await queue(funded, LITECOIN, 2, SLOW);
    await keepRealm(realm);
    await funded.advance(); // joined
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const { report, asked } = await answered(realm);
    deepEqual([report.lifted, asked], [true, []]);
    deepEqual(report.taken.map(({ paid }) => paid.length), [2]);
    await node.reorganise(1);
    for (let run = 0; run < 2; run++) await funded.advance();
    const faster = await speedUp(funded, queued.ids[0]);
    equal(faster.status, 200, faster.text);
    await funded.advance();
    const made = "select hash, inputs from order_attempts order by attempt";
    const attempts = await rowsOf<{ hash: string; inputs: string[] }>(realm, made);
    equal(attempts.length, 2);
    ok(attempts[0].inputs.every((input) => attempts[1].inputs.includes(input)));
    const rows = await funded.ended(queued.ids);
    deepEqual(rows.map(({ chain }) => chain.hash), [attempts[1].hash, attempts[1].hash]);
    await follow(funded, 3);
    await paidOnce(funded, queued);
    await funded.agree();
  },
);

testCoins(
  "LTC: a payment that was found, loses its block and waits for long is sent again as it is, and paid once",
  async (ramp) => {
    const funded = await paying(await withTwoCoins(ramp));
    const { realm, node, id, to: address } = funded;
    await keepRealm(realm);
    await funded.advance();
    await restoreRealm(realm);
    await haltRealm(realm);
    await node.mine();
    const { report } = await answered(realm);
    ok(report.lifted);
    await node.reorganise(1);
    await rowsOf(realm, "update chain_orders set created_at = created_at - interval '20 minutes'");
    for (let run = 0; run < 3; run++) await funded.advance();
    const [row] = await funded.ended([id]);
    equal(row.status, "DONE");
    deepEqual(await funded.held(address), [COIN]);
    await funded.agree();
    deepEqual((await checkLedger(realm.pool)).mismatches, []);
  },
);

for (const chain of [LITECOIN, DOGECOIN]) {
  Deno.test({
    name:
      `${chain.asset}: a sweep that was found, loses its block and is stuck is sent again as it is, and booked once`,
    ignore,
    fn: async () => {
      await using funded = await openUtxoRamp(chain);
      const { realm, node } = funded;
      await funded.deposit(20n * COIN);
      await keepRealm(realm);
      const left = "select from chain_orders where purpose = 'sweep' and state = 'sent'";
      await funded.until(async () => (await rowsOf(realm, left)).length > 0);
      await restoreRealm(realm);
      await haltRealm(realm);
      await node.mine();
      const { report } = await answered(realm);
      deepEqual([report.lifted, report.taken.map(({ purpose }) => purpose)], [true, ["sweep"]]);
      await node.reorganise(1);
      await rowsOf(
        realm,
        "update chain_orders set created_at = created_at - interval '20 minutes'",
      );
      for (let run = 0; run < 3; run++) await funded.advance();
      equal((await rowsOf(realm, left)).length, 1);
      const swept = "select from chain_orders where purpose = 'sweep' and state = 'done'";
      await funded.until(async () => (await rowsOf(realm, swept)).length > 0);
      equal((await rowsOf(realm, "select from deposits where status <> 'ORPHANED'")).length, 1);
      equal((await rowsOf(realm, "select from chain_orders")).length, 1);
      await follow(funded, 3);
      await funded.agree();
    },
  });
}

test("a payment that was found, and whose nonce another transaction uses up instead, is asked about and made once more", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(realm);
  const first = await signElsewhere(funded);
  const rival = await signElsewhere(funded, async () => {
    equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
    await funded.withdraw("2");
  });
  const before = await anvil.rpc<string>("evm_snapshot");
  await anvil.rpc("eth_sendRawTransaction", first);
  await anvil.mine();
  await haltRealm(realm);
  const { report } = await answered(realm);
  deepEqual([report.lifted, report.taken.map(({ paid }) => paid.length)], [true, [1]]);
  await reorganise(funded, before, [rival]);
  await anvil.mine(3);
  await haltRealm(realm);
  const { report: late, asked } = await answered(realm);
  deepEqual([late.lifted, late.obstacles], [true, []]);
  deepEqual(asked.map(({ withdrawal }) => withdrawal), [id]);
  equal((await funded.finish(id)).status, "DONE");
  for (let round = 0; round < 4; round++) {
    await funded.advance();
    await anvil.mine();
  }
  equal(await paidOut(funded), 3n * ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a payment that was found, loses its block and waits for long before others of its sender is sent again as it is, and each is paid once", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine(3);
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(realm);
  const first = await signElsewhere(funded);
  const before = await anvil.rpc<string>("evm_snapshot");
  await anvil.rpc("eth_sendRawTransaction", first);
  await anvil.mine();
  await haltRealm(realm);
  const { report } = await answered(realm);
  deepEqual([report.lifted, report.taken.map(({ paid }) => paid.length)], [true, [1]]);
  await reorganise(funded, before, []);
  const { body: { id: behind } } = await funded.withdraw("2");
  await funded.advance();
  await rowsOf(realm, "update chain_orders set created_at = created_at - interval '20 minutes'");
  for (let run = 0; run < 4; run++) await funded.advance();
  const rows = [await funded.finish(id), await funded.finish(behind)];
  deepEqual(rows.map(({ status }) => status), ["DONE", "DONE"]);
  equal(await paidOut(funded), 3n * ETHER);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
