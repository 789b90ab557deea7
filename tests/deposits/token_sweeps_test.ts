import { deepEqual, equal, ok } from "node:assert/strict";
import { driftsOf, mineUntil, type RampStage, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

Deno.test("a token deposit has gas sent ahead, is swept whole, and books no gas", async () => {
  await using stage = await rampStage({ testnet: false });
  const { anvil } = stage;
  const token = await installToken(anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 25n * USDC);
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total !== "0");
  await stage.mine();
  const account = await stage.account(ramp.id);
  deepEqual([account.balance.total, account.balance.assets], ["25", "25"]);
  ok(account.balance.gas.startsWith("0.99"), account.balance.gas);
  const states = await rowsOf<{ purpose: string; state: string }>(
    stage.realm,
    "select purpose, state from orders order by id",
  );
  deepEqual(states.map((one) => `${one.purpose} ${one.state}`), ["gas done", "sweep done"]);
  equal((await stage.deposits()).length, 1, "gas and sweep are no deposits");
  const types = await rowsOf<{ type: string }>(
    stage.realm,
    "select type from transactions order by id",
  );
  deepEqual(types.map((one) => one.type), ["deposit", "forward"]);
});

Deno.test("a token sweep waits for gas that the ramp does not have, and goes when it has", async () => {
  await using stage = await rampStage({ testnet: false });
  const { anvil } = stage;
  const token = await installToken(anvil, "USDT");
  await token.become("Silent");
  await stage.realm.drain();
  const honest = await installToken(anvil, "USDT");
  const ramp = await stage.ramp("USDT");
  await honest.become("Silent");
  const deposit = await stage.address(ramp.id);
  await token.pay(deposit.address, 5n * USDC);
  await stage.mine(3);
  await stage.mine();
  equal((await stage.account(deposit.id)).balance.total, "5");
  equal((await stage.account(ramp.id)).balance.total, "0");
  await anvil.pool({ to: ramp.address, value: ETHER });
  await mineUntil(stage, async () => {
    await stage.realm.command((tx) => tx`update sweeps set updated_at = now() - interval '1 hour'`);
    return (await stage.account(ramp.id)).balance.total === "5";
  });
});

Deno.test("a token that keeps a part in secret credits what really arrived", async () => {
  await using stage = await rampStage({ testnet: false });
  const token = await installToken(stage.anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  await token.become("Taxed");
  await token.pay(ramp.address, 100n * USDC);
  await stage.mine(3);
  const [deposit] = await stage.deposits();
  deepEqual([deposit.status, deposit.amount, deposit.credited], ["CONFIRMED", "100", "90"]);
  equal((await stage.account(ramp.id)).balance.total, "90");
});

for (const [when, credited, arrived] of [["before", "90", "81"], ["after", "100", "90"]]) {
  Deno.test(`a token that keeps a part since ${when} its deposit: the fees bear what a sweep loses`, async () => {
    await using stage = await rampStage({ testnet: false });
    const token = await installToken(stage.anvil, "USDC");
    const ramp = await stage.ramp("USDC");
    const asked = { type: "virtual", asset: "USDC", ramp: ramp.id };
    const virtual = (await stage.realm.admin.send("POST", "/v1/accounts", asked)).body.id;
    await stage.realm.drain();
    const deposit = await stage.address(virtual);
    if (when === "before") await token.become("Taxed");
    await token.pay(deposit.address, 100n * USDC);
    await stage.mine(3);
    if (when === "after") await token.become("Taxed");
    await stage.anvil.pool({ to: ramp.address, value: ETHER });
    await mineUntil(stage, async () => (await stage.account(virtual)).balance.total !== "0");
    await stage.mine();
    equal((await stage.account(virtual)).balance.total, credited);
    equal((await stage.account(ramp.id)).balance.assets, arrived);
    const [sweep] = await rowsOf(
      stage.realm,
      "select state, trim_scale(amount)::text as amount, trim_scale(arrived)::text as arrived from sweeps",
    );
    deepEqual(sweep, { state: "done", amount: credited, arrived });
    const lost = (BigInt(credited) - BigInt(arrived)).toString();
    equal(await feesOf(stage), `-${lost}`);
    deepEqual(await driftsOf(stage), [["USDC", "0"]]);
    await loseBooking(stage);
    equal(await feesOf(stage), `-${lost}`, "booked once");
  });
}

/** As if the booking of a sweep had been lost: it is taken up again, and changes nothing twice. */
async function loseBooking(stage: RampStage): Promise<void> {
  await stage.realm.command(async (tx) => {
    await tx`update sweeps set state = 'sweeping'`;
    await tx`update orders set updated_at = now() - interval '1 hour'`;
  });
  const state = async () =>
    (await rowsOf<{ state: string }>(stage.realm, "select state from sweeps"))[0].state;
  await mineUntil(stage, async () => await state() === "done");
}

async function feesOf(stage: RampStage): Promise<string> {
  const [row] = await rowsOf<{ total: string }>(
    stage.realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = 'USDC'",
  );
  return row.total;
}

Deno.test("a token that says it moved and did not: the sweep FAILED, and nothing is lost", async () => {
  await using stage = await rampStage({ testnet: false });
  const token = await installToken(stage.anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await token.pay(deposit.address, 100n * USDC);
  await stage.mine(3);
  await token.become("Liar");
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  const failed = async () =>
    await rowsOf<{ error: { detail: string } }>(
      stage.realm,
      "select error from sweeps where state = 'failed'",
    );
  await mineUntil(stage, async () => (await failed()).length > 0);
  equal((await failed())[0].error.detail, "the token moved nothing");
  equal((await stage.account(deposit.id)).balance.total, "100");
  await stage.mine();
  deepEqual(await driftsOf(stage), [["USDC", "0"]]);
});

Deno.test("a token that lies in its log credits nothing", async () => {
  await using stage = await rampStage({ testnet: false });
  const token = await installToken(stage.anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  await token.become("Liar");
  await token.pay(ramp.address, 100n * USDC);
  await stage.mine(4);
  const [deposit] = await stage.deposits();
  deepEqual([deposit.status, deposit.error.code], ["ORPHANED", "deposit.not_found"]);
  equal((await stage.account(ramp.id)).balance.total, "0");
});

Deno.test("a token whose contract says other decimals or another symbol gets no ramp", async () => {
  for (const says of [{ decimals: 18 }, { symbol: "USDC.e" }]) {
    await using stage = await rampStage({ testnet: false });
    await installToken(stage.anvil, "USDC", says);
    const made = await stage.realm.admin.send("POST", "/v1/accounts", {
      type: "ramp",
      asset: "USDC",
    });
    await stage.realm.drain();
    const account = await stage.account(made.body.id);
    deepEqual([account.enabled, account.error.code], [false, "token.invalid"]);
    deepEqual(account.ramp, { address: null });
  }
});
