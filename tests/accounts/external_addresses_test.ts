import { deepEqual, equal } from "node:assert/strict";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { type RampStage, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const OUTSIDE = rich(3).address;

Deno.test("coins that a contract pays to a watched address inside a call are found", async () => {
  await using stage = await rampStage();
  const account = await watching(stage);
  await fromContract(stage, ETHER);
  await stage.mine();
  await stage.mine(2);
  equal((await stage.account(account)).balance.total, "1");
  const [found] = await stage.deposits();
  deepEqual([found.account, found.index < -1, found.sweep], [account, true, null]);
});

Deno.test("what a watched address held before it was assigned is not found", async () => {
  await using stage = await rampStage();
  await stage.ramp(); // so that the chain is followed
  await fromContract(stage, ETHER);
  await stage.mine(3);
  const account = await watching(stage);
  await stage.mine(3);
  deepEqual(await stage.deposits(), []);
  equal((await stage.account(account)).balance.total, "0");
});

Deno.test("coins that leave a watched address take nothing, and do not hide what comes later", async () => {
  await using stage = await rampStage();
  const account = await watching(stage);
  await stage.anvil.pool({ from: 3, to: rich(4).address, value: 5n * ETHER });
  await stage.mine(3);
  await fromContract(stage, ETHER);
  await stage.mine();
  await stage.mine(2);
  equal((await stage.account(account)).balance.total, "1");
});

Deno.test("a direct payment and one inside a call in one block are both found, each once", async () => {
  await using stage = await rampStage();
  const account = await watching(stage);
  await stage.anvil.pool({ to: OUTSIDE, value: 2n * ETHER });
  await fromContract(stage, ETHER);
  await stage.mine();
  await stage.mine(2);
  equal((await stage.account(account)).balance.total, "3");
  equal((await stage.deposits()).length, 2);
});

Deno.test("an address that is no longer assigned is no longer looked at", async () => {
  await using stage = await rampStage();
  const account = await watching(stage);
  const path = `/v1/accounts/${account}/assign/${OUTSIDE}`;
  equal((await stage.realm.admin.send("DELETE", path)).status, 200);
  await stage.ramp();
  await fromContract(stage, ETHER);
  await stage.mine(3);
  deepEqual(await stage.deposits(), []);
});

/** A virtual account that watches an address of others, whose balance was seen once. */
async function watching(stage: RampStage): Promise<string> {
  const { send } = stage.realm.admin;
  const asked = { type: "virtual", asset: "ETH", testnet: true };
  const account: string = (await send("POST", "/v1/accounts", asked)).body.id;
  await stage.realm.drain();
  const assigned = await send("POST", `/v1/accounts/${account}/assign/${OUTSIDE}`);
  equal(assigned.status, 200, assigned.text);
  await stage.mine();
  equal(
    (await rowsOf(stage.realm, "select 1 from holdings where address = $1", [OUTSIDE])).length,
    1,
  );
  return account;
}

/** Pays the watched address from inside a contract's call; mined alone. */
async function fromContract(stage: RampStage, value: bigint): Promise<void> {
  const batcher = await stage.anvil.deploy("Batcher");
  const data = CALLS.encodeFunctionData("payCoin", [[OUTSIDE], value]);
  await stage.anvil.pool({ to: batcher, value, data });
}
