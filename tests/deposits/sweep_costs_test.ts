import { equal, ok } from "node:assert/strict";
import { mineUntil, type RampStage, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

async function balanceOf(stage: RampStage, address: string): Promise<bigint> {
  return BigInt(await stage.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

async function count(stage: RampStage, what: string): Promise<number> {
  return (await rowsOf(stage.realm, `select 1 from ${what}`)).length;
}

/** Makes what waits due again, as if so many minutes had passed. */
async function later(stage: RampStage, minutes: number): Promise<void> {
  const ago = `interval '${minutes} minutes'`;
  await rowsOf(stage.realm, `update sweeps set updated_at = updated_at - ${ago}`);
  await rowsOf(stage.realm, `update deposits set updated_at = updated_at - ${ago}`);
}

Deno.test("dust of a token that has no rate has no gas sent ahead: it waits until there is enough", async () => {
  await using stage = await rampStage({ testnet: false });
  const { anvil } = stage;
  const token = await installToken(anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  for (const amount of [1n, 499_998n, 1n]) {
    await token.pay(deposit.address, amount);
    await stage.mine(3);
    await later(stage, 60);
    await stage.mine();
    equal(await count(stage, "orders"), 0);
  }
  equal((await stage.account(deposit.id)).balance.total, "0.5");
  equal(await balanceOf(stage, ramp.address), ETHER);
  await token.pay(deposit.address, 500_000n);
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total === "1");
});

Deno.test("little of the gas that is sent ahead stays at the deposit address", async () => {
  await using stage = await rampStage({ testnet: false });
  const { anvil } = stage;
  const token = await installToken(anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 25n * USDC);
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total !== "0");
  const [{ amount }] = await rowsOf<{ amount: string }>(
    stage.realm,
    "select amount::text from orders where purpose = 'gas'",
  );
  const left = await balanceOf(stage, deposit.address);
  // The base fee falls by an eighth with every empty block, so that less is used than was likely.
  ok(left < BigInt(amount) - left, `${left} of ${amount}`);
  const dear = "select 1 from orders where fee > budget";
  equal((await rowsOf(stage.realm, dear)).length, 0);
});

Deno.test("a token that fails in the block is tried again after pauses that grow, and in the end no more", async () => {
  await using stage = await rampStage({ testnet: false });
  const token = await installToken(stage.anvil, "USDC");
  const ramp = await stage.ramp("USDC");
  const deposit = await stage.address(ramp.id);
  await token.pay(deposit.address, 100n * USDC);
  await stage.mine(3);
  await token.become("Liar");
  await stage.anvil.pool({ to: ramp.address, value: ETHER });
  const failed = () => count(stage, "sweeps where state = 'failed'");
  await mineUntil(stage, async () => await failed() === 1);
  const orders = await count(stage, "orders");
  await rowsOf(stage.realm, "update deposits set updated_at = now() - interval '1 hour'");
  await stage.mine(2);
  equal(await count(stage, "orders"), orders, "it rests");
  await later(stage, 11);
  await mineUntil(stage, async () => await failed() === 2);
  const twice = await count(stage, "orders");
  await later(stage, 11);
  await stage.mine(2);
  equal(await count(stage, "orders"), twice, "it rests for longer");
  const [{ strikes }] = await rowsOf<{ strikes: number }>(
    stage.realm,
    "select max(strikes) as strikes from sweeps",
  );
  equal(strikes, 2);
  await later(stage, 60);
  await mineUntil(stage, async () => await failed() === 3);
  await rowsOf(stage.realm, "update sweeps set strikes = 8");
  const ended = await count(stage, "orders");
  await later(stage, 15 * 24 * 60);
  await stage.mine(2);
  equal(await count(stage, "orders"), ended, "it is not tried for ever");
  await token.become("Silent");
  await token.pay(deposit.address, 1n);
  await stage.anvil.mine();
  await token.become("Liar");
  await mineUntil(stage, async () => await failed() === 4);
});
