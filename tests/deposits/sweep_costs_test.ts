import { equal, ok } from "node:assert/strict";
import { selectSweepable } from "../../db/deposits/sweeps.ts";
import { stepSweep } from "../../domain/deposits/sweeps.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

async function balanceOf(fixture: RampFixture, address: string): Promise<bigint> {
  return BigInt(await fixture.anvil.rpc<string>("eth_getBalance", address, "latest"));
}

async function count(fixture: RampFixture, what: string): Promise<number> {
  return (await rowsOf(fixture.realm, `select 1 from ${what}`)).length;
}

/** Makes waiting sweeps and deposits due, as if so many minutes had passed. */
async function later(fixture: RampFixture, minutes: number): Promise<void> {
  const ago = `interval '${minutes} minutes'`;
  await rowsOf(fixture.realm, `update sweeps set updated_at = updated_at - ${ago}`);
  await rowsOf(fixture.realm, `update deposits set updated_at = updated_at - ${ago}`);
}

Deno.test("dust of a token that has no rate, or none of the last day, has no gas sent ahead: it waits until there is enough", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  /** Rates of three days ago by which a token's unit is worth so many coins. */
  const rate = async (worth: string) => {
    await rowsOf(
      fixture.realm,
      `insert into rates (base, currency, rate, source, updated_at)
        select base, $2, case base when 'USDC' then $1::numeric else 1 end, 'manual', now() - interval '3 days'
        from unnest(array['USDC', 'ETH']) base
        on conflict (base, currency) do update set rate = excluded.rate`,
      [worth, "USD"],
    );
  };
  await rate("1000000");
  for (const amount of [1n, 499_998n, 1n]) {
    await token.pay(deposit.address, amount);
    await fixture.mine(3);
    await later(fixture, 60);
    await fixture.mine();
    equal(await count(fixture, "chain_orders"), 0);
  }
  equal((await fixture.account(deposit.id)).balance.total, "0.5");
  equal(await balanceOf(fixture, ramp.address), ETHER);
  await rate("0.000000000001");
  await token.pay(deposit.address, 500_000n);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "1");
});

Deno.test("little of the gas that is sent ahead stays at the deposit address", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const { anvil } = fixture;
  const token = await installToken(anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await anvil.pool({ to: ramp.address, value: ETHER });
  await token.pay(deposit.address, 25n * USDC);
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total !== "0");
  const [{ amount }] = await rowsOf<{ amount: string }>(
    fixture.realm,
    "select amount::text from chain_orders where purpose = 'gas'",
  );
  const left = await balanceOf(fixture, deposit.address);
  // The base fee falls by an eighth with every empty block, so that less is used than was likely.
  ok(left < BigInt(amount) - left, `${left} of ${amount}`);
  const dear = "select 1 from chain_orders where fee > budget";
  equal((await rowsOf(fixture.realm, dear)).length, 0);
});

Deno.test("a token that fails in the block is tried again after pauses that grow, and in the end no more", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  const deposit = await fixture.address(ramp.id);
  await token.pay(deposit.address, 100n * USDC);
  await fixture.mine(3);
  await token.become("Liar");
  await fixture.anvil.pool({ to: ramp.address, value: ETHER });
  const failed = () => count(fixture, "sweeps where state = 'failed'");
  await mineUntil(fixture, async () => await failed() === 1);
  const orders = await count(fixture, "chain_orders");
  await rowsOf(fixture.realm, "update deposits set updated_at = now() - interval '1 hour'");
  await fixture.mine(2);
  equal(await count(fixture, "chain_orders"), orders, "it rests");
  await fixture.realm.command(async (tx) => {
    const sweepable = (await selectSweepable(tx, deposit.id))!;
    const step = { do: "sweep", amount: 100n * USDC } as const;
    await stepSweep(tx, { ...fixture.realm.admin.actor, at: Date.now() }, { sweepable, step });
  });
  equal(await count(fixture, "chain_orders"), orders, "and its step of before waits");
  await later(fixture, 11);
  await mineUntil(fixture, async () => await failed() === 2);
  const twice = await count(fixture, "chain_orders");
  await later(fixture, 11);
  await fixture.mine(2);
  equal(await count(fixture, "chain_orders"), twice, "it rests for longer");
  const [{ strikes }] = await rowsOf<{ strikes: number }>(
    fixture.realm,
    "select max(strikes) as strikes from sweeps",
  );
  equal(strikes, 2);
  await later(fixture, 60);
  await mineUntil(fixture, async () => await failed() === 3);
  await rowsOf(fixture.realm, "update sweeps set strikes = 8");
  const ended = await count(fixture, "chain_orders");
  await later(fixture, 15 * 24 * 60);
  await fixture.mine(2);
  equal(await count(fixture, "chain_orders"), ended, "it is not tried for ever");
  await token.become("Silent");
  await token.pay(deposit.address, 1n);
  await fixture.anvil.mine();
  await token.become("Liar");
  await mineUntil(fixture, async () => await failed() === 4);
});
