/** Transactions of ours that were found, and that spend several coins of ours: of a block that is not scanned yet, or of another ramp. */
import { deepEqual, equal } from "node:assert/strict";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { until } from "../support/eventually.ts";
import { answered } from "../support/found_payments.ts";
import { haltRealm } from "../support/installation.ts";
import { FEE, mineByHand, signByHand } from "../support/made_by_hand.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { paying, withOneCoin } from "../support/paying_ramp.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { COIN, follow, LITECOIN } from "../support/utxo_fixture.ts";

const test = sharingUtxoRamp("UTXO payments that were given up", LITECOIN, !hasLitecoind());

test("LTC: a replacement of ours that spends a coin which is not scanned yet waits for the scan, and costs its fee: the coin is no stranger's", async (ramp) => {
  const funded = await paying(await withOneCoin(ramp));
  const { realm, node, address, id, to } = funded;
  const states = "select state, fee::text from chain_orders where purpose = 'withdrawal'";
  await until(async () => {
    if ((await rowsOf<{ state: string }>(realm, states))[0].state === "sent") return true;
    await funded.advance();
    return false;
  }, 0);
  const mined = async (raw: string) =>
    await node.rpc("generateblock", await node.rpc("getnewaddress"), [raw]);
  const deposit = await node.rpc<string>("sendtoaddress", address, 2);
  await mined((await node.rpc<{ hex: string }>("gettransaction", deposit)).hex);
  const { raw, hash } = await signByHand(funded, null, [
    { to, amount: COIN },
    { to: address, amount: 6n * COIN - FEE },
  ]);
  await mined(raw);
  await node.mine(3);
  for (let step = 0; step < 3; step++) await funded.advance();
  equal((await rowsOf<{ state: string }>(realm, states))[0].state, "sent", "it waits");
  await follow(funded, 4);
  deepEqual(await rowsOf(realm, states), [{ state: "done", fee: `${FEE}` }]);
  const row = await funded.withdrawal(id);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await haltRealm(realm);
  const { report } = await answered(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  await follow(funded, 3);
  await funded.agree();
});

test("LTC: a transaction that spends coins of two ramps and pays a withdrawal of the second ends it, and is no payment of the first", async (given) => {
  const funded = await withOneCoin(given);
  const { realm, node, address } = funded;
  const { send } = realm.admin;
  const ramp = { type: "ramp", asset: "LTC", testnet: true };
  const { body: second } = await send("POST", "/v1/accounts", ramp);
  await realm.drain();
  const { ramp: { address: other } } = (await send("GET", `/v1/accounts/${second.id}`)).body;
  await funded.follow();
  await node.rpc("sendtoaddress", other, 3);
  await funded.until(async () => (await funded.account(second.id)).balance.total === "3");
  const { address: to } = await newParty("LITECOIN");
  const id = await pay(funded, to, "1", { source: { account: second.id } });
  const hash = await mineByHand(funded, null, [
    { to, amount: COIN },
    { to: address, amount: 5n * COIN },
    { to: other, amount: 2n * COIN - FEE },
  ], { others: [other] });
  await node.mine(2);
  await haltRealm(realm);
  const { report, asked } = await answered(realm);
  deepEqual([report.lifted, report.obstacles, asked], [true, [], []]);
  deepEqual(report.taken.map(({ unmatched }) => unmatched), [[]]);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", hash]);
  await follow(funded, 3);
  deepEqual(await funded.held(to), [COIN]);
  await funded.agree();
});
