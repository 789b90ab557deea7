import { deepEqual, equal } from "node:assert/strict";
import { CALLS } from "../support/nodes/anvil.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";
import { deployToken, installToken } from "../support/token_contracts.ts";
import { applyAssets } from "../../domain/chains/asset_settings.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;
const LIST = "/v1/deposits/unmatched";

Deno.test("another token, the chain's coin and an unknown token are listed as unmatched, and never booked", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  await installToken(anvil, "USDC");
  const usdt = await installToken(anvil, "USDT");
  const stranger = await anvil.deploy("Silent");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  const hash = await usdt.pay(deposit.address, 7n * USDC);
  await anvil.pool({ to: deposit.address, value: ETHER / 2n });
  const data = CALLS.encodeFunctionData("transfer", [ramp.address, 12345n]);
  await anvil.pool({ to: stranger, data });
  await fixture.mine();
  await fixture.mine(4);
  deepEqual(await fixture.deposits(), []);
  const unmatched = await unmatchedOf(fixture);
  deepEqual(unmatched.map((one) => [one.asset, one.expected, one.amount, one.units, one.account]), [
    ["USDT", "USDC", "7", "7000000", deposit.id],
    ["ETH", "USDC", "0.5", `${ETHER / 2n}`, deposit.id],
    [null, "USDC", null, "12345", ramp.id],
  ]);
  deepEqual([unmatched[0].hash, unmatched[0].contract, unmatched[2].contract], [
    hash,
    usdt.contract,
    stranger,
  ]);
  const { balance } = await fixture.account(ramp.id);
  deepEqual(
    [balance.total, balance.gas],
    ["0", "1"],
    "the ramp's coins are its gas, and no unmatched deposit",
  );
  equal((await rowsOf(fixture.realm, "select id from transactions")).length, 0);
});

Deno.test("a sweep carries the address's own asset: an unmatched deposit beside it stays where it is", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const usdc = await installToken(anvil, "USDC");
  const usdt = await installToken(anvil, "USDT");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await usdt.pay(deposit.address, 7n * USDC);
  await usdc.pay(deposit.address, 3n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "3");
  equal(await balanceOf(fixture, usdt.contract, deposit.address), 7n * USDC);
  equal(await balanceOf(fixture, usdc.contract, deposit.address), 0n);
  equal((await unmatchedOf(fixture)).length, 1, "gas and sweep of our own are none");
});

Deno.test("a reorganisation takes an unmatched deposit away, and its new block brings it back once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  await installToken(anvil, "USDC");
  const usdt = await installToken(anvil, "USDT");
  const ramp = await fixture.ramp("USDC");
  await anvil.mine(3);
  const hash = await usdt.pay(ramp.address, USDC);
  await fixture.mine();
  const [first] = await unmatchedOf(fixture);
  const raw = await anvil.rpc<string>("eth_getRawTransactionByHash", hash);
  await anvil.rpc("anvil_reorg", 1, []);
  await fixture.mine();
  deepEqual(await unmatchedOf(fixture), []);
  await anvil.rpc("anvil_reorg", 1, [[raw, 0]]);
  await fixture.mine();
  const again = await unmatchedOf(fixture);
  deepEqual(again.map((one) => [one.hash, one.units]), [[first.hash, first.units]]);
});

Deno.test("among very many addresses an unknown token is found by a rescan, a known one at once", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil, realm } = fixture;
  await installToken(anvil, "USDC");
  const usdt = await installToken(anvil, "USDT");
  const stranger = await anvil.deploy("Silent");
  const ramp = await fixture.ramp("USDC");
  await tamper(
    realm,
    `insert into addresses (id, account, ramp, chain, network, address, derivation_key, asset, created_at)
      select gen_random_uuid(), gen_random_uuid(), '${ramp.id}', 'ETHEREUM', 'main',
        '0x' || lpad(to_hex(n + 4096), 40, '1'), 1000 + n, 'USDC', now()
      from generate_series(1, 400) n`,
  );
  await usdt.pay(ramp.address, 5n);
  const data = CALLS.encodeFunctionData("transfer", [ramp.address, 6n]);
  const hash = await anvil.pool({ to: stranger, data });
  await fixture.mine();
  deepEqual((await unmatchedOf(fixture)).map((one) => one.units), ["5"]);
  const wanted = { chain: "ETHEREUM", testnet: false, hash };
  equal((await realm.admin.send("POST", "/v1/deposits/rescan", wanted)).status, 200);
  await realm.drain();
  deepEqual((await unmatchedOf(fixture)).map((one) => one.units), ["5", "6"]);
});

Deno.test("GET /v1/deposits/unmatched is for administrators of the realm, in pages", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  await installToken(fixture.anvil, "USDC");
  const usdt = await installToken(fixture.anvil, "USDT");
  const ramp = await fixture.ramp("USDC");
  await usdt.pay(ramp.address, 1n);
  await usdt.pay(ramp.address, 2n);
  await fixture.mine();
  const { admin } = fixture.realm;
  const [first, second] = await unmatchedOf(fixture);
  deepEqual((await admin.send("GET", `${LIST}?limit=1`)).body, [first]);
  deepEqual((await admin.send("GET", `${LIST}?after=${first.id}`)).body, [second]);
  equal((await admin.send("GET", `${LIST}?after=x`)).body.code, "query.invalid");
  const user = await fixture.realm.user({ role: "admin", scope: "own" });
  equal((await user.send("GET", LIST)).body.code, "permission.scope");
});

// The last one here: what is set of assets holds for the rest of the file.
Deno.test("an unmatched deposit of a contract that an operator names later is a deposit once it is rescanned", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil, realm } = fixture;
  await installToken(anvil, "USDC");
  const contract = await deployToken(anvil, { symbol: "USDC.e", decimals: 6 });
  const ramp = await fixture.ramp("USDC");
  const data = CALLS.encodeFunctionData("transfer", [ramp.address, 4n * USDC]);
  const hash = await anvil.pool({ to: contract, data });
  await fixture.mine(3);
  deepEqual((await unmatchedOf(fixture)).map((one) => [one.asset, one.hash]), [[null, hash]]);
  deepEqual(await applyAssets({ USDC: { contract, symbol: "USDC.e" } }), []);
  await fixture.mine();
  deepEqual(await fixture.deposits(), []);
  const wanted = { chain: "ETHEREUM", testnet: false, hash };
  equal((await realm.admin.send("POST", "/v1/deposits/rescan", wanted)).status, 200);
  await realm.drain();
  deepEqual(await unmatchedOf(fixture), []);
  await fixture.mine();
  equal((await fixture.account(ramp.id)).balance.total, "4");
});

// deno-lint-ignore no-explicit-any
async function unmatchedOf(fixture: RampFixture): Promise<any[]> {
  return (await fixture.realm.admin.send("GET", LIST)).body;
}

async function balanceOf(fixture: RampFixture, contract: string, address: string): Promise<bigint> {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
  return BigInt(await fixture.anvil.rpc<string>("eth_call", { to: contract, data }, "latest"));
}
