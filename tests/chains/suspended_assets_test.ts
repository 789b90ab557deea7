import { deepEqual, equal, match } from "node:assert/strict";
import { applyAssets } from "../../domain/chains/asset_settings.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { tamper } from "../support/tamper.ts";

const USDC = 10n ** 6n;
const ETHER = 10n ** 18n;
/** Contract of USDC that the operator of this installation has set. */
const OWN = "0x5FbDB2315678afecb367f032d93F642f64180aa3";

// Settings of assets hold for the whole process, hence for this whole file, from here on.
deepEqual(
  await applyAssets({
    USDC: { contract: OWN, symbol: "oUSD" },
    USDT: { state: "deposit-only", reason: "payments are paused" },
    BAT: { state: "suspended", reason: "under review" },
    BUSD: { state: "active" },
    SAND: { state: "withdraw-only", reason: "retired" },
  }),
  [],
);

Deno.test("GET /v1/assets shows the operator's settings, with the reason", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { body } = await fixture.realm.admin.send("GET", "/v1/assets");
  const shown = (code: string) => {
    const { contract, state, reason } = body.find((one: { code: string }) => one.code === code);
    return { contract, state, reason };
  };
  deepEqual(shown("USDC"), { contract: OWN, state: "active", reason: null });
  equal(shown("USDT").reason, "payments are paused");
  deepEqual([shown("BAT").state, shown("SAND").state], ["suspended", "withdraw-only"]);
});

Deno.test("a token at the operator's contract is checked once, paid in and booked", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  equal(token.contract, OWN);
  const ramp = await fixture.ramp("USDC");
  await token.pay(ramp.address, 5n * USDC);
  await fixture.mine(3);
  const { balance } = await fixture.account(ramp.id);
  deepEqual([balance.total, balance.assets], ["5", "5"]);
  const proofs = await rowsOf(fixture.realm, "select contract, asset from token_proofs");
  deepEqual(proofs, [{ contract: OWN, asset: "USDC" }]);
});

Deno.test("an operator's contract that is another token gets no ramp", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  await installToken(fixture.anvil, "USDC", { symbol: "USDC" });
  const asked = { type: "ramp", asset: "USDC" };
  const made = await fixture.realm.admin.send("POST", "/v1/accounts", asked);
  await fixture.realm.drain();
  const account = await fixture.account(made.body.id);
  deepEqual([account.enabled, account.error.code], [false, "token.invalid"]);
  match(account.error.detail, /symbol\(\) answers "USDC"/);
});

Deno.test("a contract that was set later is verified before anything is credited or swept", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  // As if the ramp had been opened under another contract.
  await rowsOf(fixture.realm, "delete from token_proofs");
  const honest = await anvil.rpc("eth_getCode", OWN, "latest");
  await token.pay(deposit.address, 5n * USDC);
  await token.become("Silent");
  await fixture.mine(4);
  const [held] = await fixture.deposits();
  deepEqual([held.status, held.error.code], ["PENDING", "asset.suspended"]);
  match(held.error.detail, /symbol\(\) answers "SIL"/);
  await anvil.rpc("anvil_setCode", OWN, honest);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "5");
  const [credited] = await fixture.deposits();
  deepEqual([credited.status, credited.credited, credited.error], ["CONFIRMED", "5", null]);
});

Deno.test("a contract that was set later is verified before the first withdrawal is sent", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(ramp.address, 5n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "5");
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
  await rowsOf(fixture.realm, "delete from token_proofs");
  await token.become("Silent");
  const made = await withdraw(fixture, ramp.id);
  equal(made.status, 201, made.text);
  const path = `/v1/withdrawals/${made.body.id}`;
  const read = async () => (await fixture.realm.admin.send("GET", path)).body;
  await mineUntil(fixture, async () => (await read()).status !== "PROCESSING");
  const failed = await read();
  equal(failed.status, "FAILED");
  match(failed.error.detail, /symbol\(\) answers "SIL"/);
  equal((await fixture.account(ramp.id)).balance.available, "5");
});

Deno.test("booked value of a suspended asset is not swept", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "BUSD");
  const ramp = await fixture.ramp("BUSD");
  const deposit = await fixture.address(ramp.id);
  await token.pay(deposit.address, ETHER);
  await fixture.mine(3); // booked, and waiting for gas that the ramp does not have
  equal((await fixture.account(deposit.id)).balance.total, "1");
  await become(fixture, ramp.id, "BAT");
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  const held = "select 1 from chain_orders where purpose = 'gas' and error like '%is suspended%'";
  await mineUntil(fixture, async () => (await rowsOf(fixture.realm, held)).length === 1);
  await fixture.mine(2);
  const signed = "select 1 from order_attempts where raw is not null";
  equal((await rowsOf(fixture.realm, signed)).length, 0, "no gas is sent ahead for it either");
  equal(
    (await rowsOf(fixture.realm, "select id from chain_orders where purpose = 'sweep'")).length,
    0,
  );
});

Deno.test("deposit-only: deposits are credited, withdrawals are refused", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDT");
  const ramp = await fixture.ramp("USDT");
  await token.pay(ramp.address, 5n * USDC);
  await fixture.mine(3);
  equal((await fixture.account(ramp.id)).balance.total, "5");
  const refused = await withdraw(fixture, ramp.id);
  deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  match(refused.body.detail, /payments are paused/);
});

Deno.test("suspended and withdraw-only: no ramp and no address are made", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  for (const asset of ["BAT", "SAND"]) {
    const asked = { type: "ramp", asset };
    const refused = await fixture.realm.admin.send("POST", "/v1/accounts", asked);
    deepEqual([refused.status, refused.body.code], [409, "asset.suspended"]);
  }
  await installToken(fixture.anvil, "BUSD");
  const ramp = await fixture.ramp("BUSD");
  await become(fixture, ramp.id, "SAND");
  const path = `/v1/account/${ramp.id}/address`;
  equal((await fixture.realm.admin.send("POST", path, {})).body.code, "asset.suspended");
});

for (
  const [asset, reason, leaves] of [
    ["SAND", "retired", true],
    ["BAT", "under review", false],
  ] as const
) {
  Deno.test(`a deposit of ${asset}, which takes none, is seen, and is not booked`, async () => {
    await using fixture = await openRampFixture({ testnet: false });
    const token = await installToken(fixture.anvil, asset);
    await installToken(fixture.anvil, "BUSD");
    const ramp = await fixture.ramp("BUSD");
    await become(fixture, ramp.id, asset);
    await token.pay(ramp.address, 5n * ETHER);
    await fixture.mine(5);
    const listed = await fixture.realm.admin.send("GET", "/v1/deposits/all");
    const [held] = listed.body;
    deepEqual([held.status, held.confirmations, held.error], [
      "PENDING",
      5,
      { code: "asset.suspended", detail: reason },
    ]);
    equal((await fixture.account(ramp.id)).balance.total, "0");
    const refused = await withdraw(fixture, ramp.id);
    equal(refused.body.code === "asset.suspended", !leaves, refused.text);
  });
}

/** Makes a ramp one of another asset: as if it had been opened before the asset was held. */
async function become(fixture: RampFixture, ramp: string, asset: string): Promise<void> {
  await tamper(
    fixture.realm,
    `update accounts set asset = '${asset}' where id = '${ramp}' or ramp = '${ramp}'`,
    `update addresses set asset = '${asset}' where ramp = '${ramp}'`,
  );
}

async function withdraw(fixture: RampFixture, account: string) {
  return await fixture.realm.admin.send("POST", "/v1/withdrawals", {
    source: { account },
    destination: { address: OUTSIDE },
    value: "1",
  });
}
