import { deepEqual, equal } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { installToken } from "../support/token_contracts.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
const STRANGER = rich(3).address;

Deno.test("a linked address counts for the asset of its account alone, and tokens are linked value too", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { realm, anvil } = fixture;
  const [usdc, usdt] = [await installToken(anvil, "USDC"), await installToken(anvil, "USDT")];
  const account = await virtualOf(fixture, "USDC");
  const assigned = await realm.admin.send("POST", `/v1/accounts/${account}/assign/${STRANGER}`);
  equal(assigned.status, 200, assigned.text);
  await fixture.mine();
  await usdt.pay(STRANGER, 7n * USDC);
  await usdc.pay(STRANGER, 3n * USDC);
  await anvil.pool({ to: STRANGER, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(account)).balance.total !== "0");
  await fixture.mine(3);
  const { balance } = await fixture.account(account);
  deepEqual(balance, { total: "3", available: "0", linked: "3" });
  equal((await fixture.deposits()).length, 1);
  deepEqual((await realm.admin.send("GET", "/v1/deposits/unmatched")).body, []);
  const other = await virtualOf(fixture, "USDC");
  const moved = await realm.admin.send("POST", "/v1/transactions", {
    source: { account },
    destination: { account: other },
    value: "0.000001",
  });
  equal(moved.body.code, "balance.insufficient");
});

Deno.test("a withdrawal to an address of ours where it would be stranded is refused, and says why", async () => {
  await using fixture = await openRampFixture({
    testnet: false,
    env: { POLYGON_RPC_URL: "http://127.0.0.1:9" },
  });
  const { realm, anvil } = fixture;
  await installToken(anvil, "USDC");
  const [eth, usdc] = [await fixture.ramp("ETH"), await fixture.ramp("USDC")];
  const strange = await fixture.address(usdc.id);
  const account = await virtualOf(fixture, "ETH", eth.id);
  const same = await fixture.address(await virtualOf(fixture, "ETH", eth.id));
  await anvil.pool({ to: eth.address, value: 9n * ETHER });
  await mineUntil(fixture, async () => (await fixture.account(eth.id)).balance.total === "9");
  const gift = { source: { account: eth.id }, destination: { account }, value: "4" };
  equal((await realm.admin.send("POST", "/v1/transactions", gift)).status, 201);
  const context = await workerContextOf(realm);
  await refreshFees(context);
  context.chains.close();
  const withdraw = async (source: string, address: string) => {
    const body = { source: { account: source }, destination: { address }, value: "1" };
    const answer = await realm.admin.send("POST", "/v1/withdrawals", body);
    return [answer.status, answer.body.code, answer.body.detail];
  };
  const refused = (why: string) => [422, "address.invalid", why];
  const ofUsdc = refused("the address is ours, and for USDC");
  deepEqual(await withdraw(account, strange.address), ofUsdc);
  deepEqual(await withdraw(account, strange.address.toLowerCase()), ofUsdc);
  deepEqual(await withdraw(account, usdc.address), ofUsdc);
  deepEqual(await withdraw(eth.id, strange.address), ofUsdc);
  const next = await realm.command((tx) =>
    tx<{ address: string }[]>`select address from reserved_addresses
      where ramp = ${usdc.id} and derivation_key = 2`
  );
  const early = refused("the address is ours and was not handed out yet");
  deepEqual(await withdraw(account, next[0].address), early);
  // To the same asset it goes, and a ramp may send another the coins that pay its fees.
  equal((await withdraw(account, same.address))[0], 201);
  equal((await withdraw(eth.id, usdc.address))[0], 201);
  // The key is the same on the other chains of the family, where the address is not watched.
  const there = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: "MATIC" });
  const link = `/v1/accounts/${there.body.id}/assign/${same.address}`;
  equal((await realm.admin.send("POST", link)).body.code, "address.assigned");
});

async function virtualOf(fixture: RampFixture, asset: string, ramp?: string): Promise<string> {
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset,
    ramp,
  });
  equal(made.status, 201, made.text);
  await fixture.realm.drain();
  return made.body.id;
}
