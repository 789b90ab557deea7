import { deepEqual, equal } from "node:assert/strict";
import { CALLS, rich } from "../support/nodes/anvil.ts";
import { openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const OUTSIDE = rich(3).address;

Deno.test("coins that a contract pays to a watched address inside a call are found", async () => {
  await using fixture = await openRampFixture();
  const account = await watching(fixture);
  await fromContract(fixture, ETHER);
  await fixture.mine();
  await fixture.mine(2);
  equal((await fixture.account(account)).balance.total, "1");
  const [found] = await fixture.deposits();
  deepEqual([found.account, found.index < -1, found.sweep], [account, true, null]);
});

Deno.test("value that a watched address held before it was assigned is not found", async () => {
  await using fixture = await openRampFixture();
  await fixture.ramp(); // so that the chain is followed
  await fromContract(fixture, ETHER);
  await fixture.mine(3);
  const account = await watching(fixture);
  await fixture.mine(3);
  deepEqual(await fixture.deposits(), []);
  equal((await fixture.account(account)).balance.total, "0");
});

Deno.test("coins that leave a watched address take nothing, and do not hide later deposits", async () => {
  await using fixture = await openRampFixture();
  const account = await watching(fixture);
  await fixture.anvil.pool({ from: 3, to: rich(4).address, value: 5n * ETHER });
  await fixture.mine(3);
  await fromContract(fixture, ETHER);
  await fixture.mine();
  await fixture.mine(2);
  equal((await fixture.account(account)).balance.total, "1");
});

Deno.test("a direct payment and one inside a call in one block are both found, each once", async () => {
  await using fixture = await openRampFixture();
  const account = await watching(fixture);
  await fixture.anvil.pool({ to: OUTSIDE, value: 2n * ETHER });
  await fromContract(fixture, ETHER);
  await fixture.mine();
  await fixture.mine(2);
  equal((await fixture.account(account)).balance.total, "3");
  equal((await fixture.deposits()).length, 2);
});

Deno.test("an address that is no longer assigned is no longer watched", async () => {
  await using fixture = await openRampFixture();
  const account = await watching(fixture);
  const path = `/v1/accounts/${account}/assign/${OUTSIDE}`;
  equal((await fixture.realm.admin.send("DELETE", path)).status, 200);
  await fixture.ramp();
  await fromContract(fixture, ETHER);
  await fixture.mine(3);
  deepEqual(await fixture.deposits(), []);
});

/** A virtual account that watches an address of others, whose balance was seen once. */
async function watching(fixture: RampFixture): Promise<string> {
  const { send } = fixture.realm.admin;
  const asked = { type: "virtual", asset: "ETH", testnet: true };
  const account: string = (await send("POST", "/v1/accounts", asked)).body.id;
  await fixture.realm.drain();
  const assigned = await send("POST", `/v1/accounts/${account}/assign/${OUTSIDE}`);
  equal(assigned.status, 200, assigned.text);
  await fixture.mine();
  equal(
    (await rowsOf(fixture.realm, "select 1 from onchain_balances where address = $1", [OUTSIDE]))
      .length,
    1,
  );
  return account;
}

/** Pays the watched address from inside a contract's call; mined alone. */
async function fromContract(fixture: RampFixture, value: bigint): Promise<void> {
  const batcher = await fixture.anvil.deploy("Batcher");
  const data = CALLS.encodeFunctionData("payCoin", [[OUTSIDE], value]);
  await fixture.anvil.pool({ to: batcher, value, data });
}
