/** Deposits of TRX and TRC-20 from a block of Tron to the ledger and to the ramp. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { Interface } from "ethers";
import { TRC20, TRX, word } from "../../support/nodes/tron/client.ts";
import { richTron, toHex } from "../../support/nodes/tron/wallet.ts";
import { driftsOf, mineUntil } from "../../support/ramp_fixture.ts";
import { rowsOf } from "../../support/realm.ts";
import { installTether, openTronRamp, type TronRamp } from "../../support/tron_ramp.ts";

async function deposits(fixture: TronRamp) {
  return await rowsOf<{ status: string; amount: string; error: unknown; asset: string }>(
    fixture.realm,
    "select status, trim_scale(amount)::text as amount, error, asset from deposits order by id",
  );
}

Deno.test("a TRX deposit is pending until its block is final, credited once, and swept to the ramp", async () => {
  await using fixture = await openTronRamp({ lag: 5 });
  const { node } = fixture;
  const ramp = await fixture.ramp("TRON");
  const deposit = await fixture.address(ramp.id);
  await node.pay(deposit.address, 20n * TRX);
  await fixture.mine(3);
  deepEqual(await deposits(fixture), [
    { status: "PENDING", amount: "20", error: null, asset: "TRON" },
  ]);
  await fixture.mine(4);
  equal((await deposits(fixture))[0].status, "CONFIRMED");
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total !== "0");
  await fixture.mine(6);
  const { balance } = await fixture.account(ramp.id);
  // The ramp had no account yet: its first payment makes one for 1.1 TRX.
  equal(balance.total, "18.9");
  equal(balance.assets, "18.9");
  equal((await deposits(fixture)).length, 1, "the sweep is no deposit");
  deepEqual(await driftsOf(fixture), [["TRON", "0"]]);
});

Deno.test("a USDT deposit has TRX sent ahead for its energy, and is swept whole", async () => {
  await using fixture = await openTronRamp({ lag: 1 });
  const { node } = fixture;
  const contract = await installTether(node);
  const ramp = await fixture.ramp("USDT_TRON");
  const deposit = await fixture.address(ramp.id);
  await node.fund(ramp.address, 500n * TRX);
  const data = TRC20.encodeFunctionData("transfer", [word(toHex(deposit.address)), 25n * TRX]);
  await node.trigger(contract, data);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total !== "0");
  await fixture.mine(2);
  const { balance } = await fixture.account(ramp.id);
  deepEqual([balance.total, balance.assets], ["25", "25"]);
  ok(Number(balance.gas) < 500, balance.gas);
  const orders = await rowsOf<{ purpose: string; state: string }>(
    fixture.realm,
    "select purpose, state from chain_orders order by id",
  );
  deepEqual(orders.map((one) => `${one.purpose} ${one.state}`), ["gas done", "sweep done"]);
  equal((await deposits(fixture)).length, 1, "gas and sweep are no deposits");
  deepEqual(await driftsOf(fixture), [["USDT_TRON", "0"]]);
});

Deno.test("TRC-10 and unknown TRC-20 are shown as unmatched, and credit nobody", async () => {
  await using fixture = await openTronRamp({ lag: 1 });
  const { node } = fixture;
  const ramp = await fixture.ramp("TRON");
  const token = await node.deployToken("PLN", 6);
  await node.fund(ramp.address, 1n);
  await node.grantAsset(richTron().address, "1000001", 50n);
  await node.payAsset(ramp.address, "1000001", 5n);
  const data = TRC20.encodeFunctionData("transfer", [word(toHex(ramp.address)), 7n]);
  await node.trigger(token, data);
  await fixture.mine(4);
  deepEqual(await deposits(fixture), []);
  const unmatched = await rowsOf<{ contract: string; amount: string }>(
    fixture.realm,
    "select contract, amount_base::text as amount from unmatched_deposits order by amount_base",
  );
  deepEqual(unmatched.map(({ amount }) => amount), ["5", "7"]);
  equal(unmatched[0].contract, "TRC10:1000001");
  equal((await fixture.account(ramp.id)).balance.total, "0");
});

Deno.test("TRX that a contract paid is unexplained while its node keeps no inner calls, and credited when it does", async () => {
  await using fixture = await openTronRamp({ lag: 1 });
  const { node } = fixture;
  const ramp = await fixture.ramp("TRON");
  await fixture.mine(2);
  const batcher = await node.deploy("Batcher");
  node.settings.savesInternals = false;
  const calls = new Interface(["function payCoin(address[],uint256) payable"]);
  const pay = calls.encodeFunctionData("payCoin", [[word(toHex(ramp.address))], 7n * TRX]);
  await node.trigger(batcher, pay, { value: 7n * TRX });
  for (let round = 0; round < 4; round++) await fixture.mine();
  deepEqual(await deposits(fixture), []);
  const unexplained = async () => {
    const { body } = await fixture.realm.admin.send("GET", "/v1/chains");
    return body.find((one: { chain: string }) => one.chain === "TRON").unexplained;
  };
  equal(await unexplained(), 1);
  node.settings.savesInternals = true;
  await mineUntil(fixture, async () => {
    await fixture.realm.command((tx) => tx`update unexplained_gains set retry_at = now()`);
    return (await fixture.account(ramp.id)).balance.total === "7";
  });
  deepEqual((await deposits(fixture)).map(({ amount }) => amount), ["7"]);
  await fixture.mine();
  equal(await unexplained(), 0);
});
