/** Transactions by a key of ours that spend a coin of somebody else beside ours: what they cost us is booked, and they end. */
import { deepEqual, equal, match } from "node:assert/strict";
import { Transaction } from "bitcoinjs-lib";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { answered } from "../support/found_payments.ts";
import { haltRealm, renewPrices } from "../support/installation.ts";
import {
  FEE,
  type HandPayment,
  mineByHand,
  type Strange,
  strangeCoin,
} from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { paying, withOneCoin } from "../support/paying_ramp.ts";
import { speedUp } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";

const ignore = !hasLitecoind();
const test = sharingUtxoRamp("transactions of coins of ours and of others", LITECOIN, ignore);
/** Mines a transaction of our coin and a stranger's, and reconciles. */
async function found(funded: UtxoRamp, strange: Strange, paying: readonly HandPayment[]) {
  const hash = await mineByHand(funded, strange, paying);
  await haltRealm(funded.realm);
  const { report, asked } = await answered(funded.realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  return { hash, report, asked };
}

async function foundOrder({ realm }: UtxoRamp) {
  const [row] = await rowsOf<{ state: string; fee: string; error: string | null }>(
    realm,
    "select state, fee::text, error from chain_orders where purpose = 'recovered'",
  );
  return row;
}

test("LTC: a payment of ours that spends a stranger's coin beside ours ends its withdrawal, and costs what our coins were worth", async (ramp) => {
  const funded = await paying(await withOneCoin(ramp));
  const { id, to } = funded;
  const strange = await strangeCoin(funded);
  const { address: theirs } = await newParty("LITECOIN");
  const { hash, report, asked } = await found(funded, strange, [
    { to: theirs, amount: strange.amount },
    { to, amount: COIN },
    { to: funded.address, amount: 4n * COIN - FEE },
  ]);
  deepEqual([report.taken.map((one) => one.paid.length), asked], [[1], []]);
  deepEqual(report.taken[0].unmatched, [{ to: theirs, contract: null, amount: `${FEE}` }]);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await follow(funded, 3);
  equal((await foundOrder(funded)).state, "done");
  deepEqual(await funded.held(to), [COIN]);
  await funded.agree();
});

test("LTC: a payment to nobody we know, of a coin of ours and a stranger's together, is done, and `fees` bears our coin and no more", async (ramp) => {
  const funded = await withOneCoin(ramp);
  const strange = await strangeCoin(funded, true);
  const { address: to } = await newParty("LITECOIN");
  const { report } = await found(funded, strange, [
    { to, amount: 5n * COIN + strange.amount - FEE },
  ]);
  deepEqual(report.taken.map(({ unmatched }) => unmatched), [
    [{ to, contract: null, amount: `${5n * COIN}` }],
  ]);
  await follow(funded, 4);
  equal((await foundOrder(funded)).state, "done");
  await funded.agree();
});

test("LTC: a payment of ours for which a stranger's coin paid ends its withdrawal, and what the stranger brought in is no deposit", async (ramp) => {
  const funded = await paying(await withOneCoin(ramp));
  const { id, to } = funded;
  const strange = await strangeCoin(funded);
  const { hash, asked } = await found(funded, strange, [
    { to, amount: COIN },
    { to: funded.address, amount: 4n * COIN + strange.amount - FEE },
  ]);
  deepEqual(asked, []);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await follow(funded, 3);
  equal((await foundOrder(funded)).state, "done");
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
  const deposits = "select status from deposits where status = 'CONFIRMED'";
  equal((await rowsOf(funded.realm, deposits)).length, 1);
});

test("LTC: a payment with a stranger's coin beside ours loses its block, cannot be sped up, and is asked about and made once more where the stranger spends that coin", async (ramp) => {
  const funded = await paying(await withOneCoin(ramp));
  const { realm, node, id, to } = funded;
  const strange = await strangeCoin(funded);
  await found(funded, strange, [
    { to, amount: COIN },
    { to: funded.address, amount: 4n * COIN + strange.amount - FEE },
  ]);
  const block = await node.rpc<string>("getbestblockhash");
  await node.rpc("invalidateblock", block);
  const elsewhere = new Transaction();
  elsewhere.version = 2;
  elsewhere.addInput(Uint8Array.fromHex(strange.txid).reverse(), strange.vout);
  const { address: theirs } = await newParty("LITECOIN");
  const their = await scriptOf("LITECOIN", "regtest", theirs);
  elsewhere.addOutput(their, strange.amount - FEE);
  const { hex } = await node.rpc<{ hex: string }>(
    "signrawtransactionwithwallet",
    elsewhere.toHex(),
  );
  const mined = async (...raws: readonly string[]) => {
    await node.rpc("generateblock", await node.rpc("getnewaddress"), raws);
    await funded.follow();
    await funded.advance();
  };
  await mined();
  await mined();
  await renewPrices(realm);
  const refused = await speedUp(funded, id);
  deepEqual([refused.status, refused.body.code], [409, "withdrawal.not_cancelable"]);
  await mined(hex);
  const quarantined = async () =>
    (await rowsOf<{ detail: string }>(
      realm,
      "select quarantined ->> 'detail' as detail from ramps where quarantined is not null",
    ))[0]?.detail;
  await funded.until(async () => await quarantined() !== undefined);
  match((await quarantined())!, /which was found on the chain, can never be mined/);
  const { report, asked } = await answered(realm);
  deepEqual([report.lifted, asked.map(({ withdrawal }) => withdrawal)], [true, [id]]);
  equal((await funded.ended([id]))[0].status, "DONE");
  await follow(funded, 3);
  deepEqual(await funded.held(to), [COIN]);
  await funded.agree();
});
