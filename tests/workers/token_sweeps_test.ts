import { deepEqual, equal, ok } from "node:assert/strict";
import { mineUntil, rampStage } from "../support/ramps.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/tokens.ts";

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
