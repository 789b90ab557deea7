import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { installToken } from "../support/token_contracts.ts";
import { depositsOf, sharingNodes, type Witnessed } from "../support/witnesses.ts";

const ETHER = 10n ** 18n;
const USDC = 10n ** 6n;

const test = sharingNodes("sweeps of tokens", { testnet: false });

test(
  "a token deposit has gas sent ahead, is swept whole, and books no gas",
  "h",
  async (witnessed) => {
    const { fixture } = witnessed;
    const { anvil } = fixture;
    const token = await installToken(anvil, "USDC");
    const ramp = await fixture.ramp("USDC");
    const deposit = await fixture.address(ramp.id);
    await anvil.pool({ to: ramp.address, value: ETHER });
    await token.pay(deposit.address, 25n * USDC);
    await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total !== "0");
    await fixture.mine();
    const account = await fixture.account(ramp.id);
    deepEqual([account.balance.total, account.balance.assets], ["25", "25"]);
    ok(account.balance.gas.startsWith("0.99"), account.balance.gas);
    const states = await rowsOf<{ purpose: string; state: string }>(
      fixture.realm,
      "select purpose, state from chain_orders where sender in ($1, $2) order by id",
      [ramp.address, deposit.address],
    );
    deepEqual(states.map((one) => `${one.purpose} ${one.state}`), ["gas done", "sweep done"]);
    equal((await depositsOf(witnessed, ramp, deposit)).length, 1, "gas and sweep are no deposits");
    const types = await rowsOf<{ type: string }>(
      fixture.realm,
      "select type from transactions where $1 in (source, destination) order by id",
      [deposit.id],
    );
    deepEqual(types.map((one) => one.type), ["deposit", "forward"]);
  },
);

test(
  "a token sweep waits for gas that the ramp does not have, and goes when it has",
  "h",
  async (witnessed) => {
    const { fixture } = witnessed;
    const { anvil } = fixture;
    const token = await installToken(anvil, "USDT");
    await token.become("Silent");
    await fixture.realm.drain();
    const honest = await installToken(anvil, "USDT");
    const ramp = await fixture.ramp("USDT");
    await honest.become("Silent");
    const deposit = await fixture.address(ramp.id);
    await token.pay(deposit.address, 5n * USDC);
    await fixture.mine(3);
    await fixture.mine();
    equal((await fixture.account(deposit.id)).balance.total, "5");
    equal((await fixture.account(ramp.id)).balance.total, "0");
    await anvil.pool({ to: ramp.address, value: ETHER });
    await mineUntil(fixture, async () => {
      await fixture.realm.command((tx) =>
        tx`update sweeps set updated_at = now() - interval '1 hour'`
      );
      return (await fixture.account(ramp.id)).balance.total === "5";
    });
  },
);

test(
  "a token that keeps a part in secret credits the amount that really arrived",
  "h",
  async (witnessed) => {
    const { fixture } = witnessed;
    const token = await installToken(fixture.anvil, "USDC");
    const ramp = await fixture.ramp("USDC");
    await token.become("Taxed");
    await token.pay(ramp.address, 100n * USDC);
    await fixture.mine(3);
    const [deposit] = await depositsOf(witnessed, ramp);
    deepEqual([deposit.status, deposit.amount, deposit.credited], ["CONFIRMED", "100", "90"]);
    equal((await fixture.account(ramp.id)).balance.total, "90");
  },
);

for (const [when, credited, arrived] of [["before", "90", "81"], ["after", "100", "90"]]) {
  test(
    `a token that keeps a part since ${when} its deposit: the fees bear the part that a sweep loses`,
    "h",
    async (witnessed) => {
      const { fixture } = witnessed;
      const token = await installToken(fixture.anvil, "USDC");
      const ramp = await fixture.ramp("USDC");
      const asked = { type: "virtual", asset: "USDC", ramp: ramp.id };
      const virtual = (await fixture.realm.admin.send("POST", "/v1/accounts", asked)).body.id;
      await fixture.realm.drain();
      const deposit = await fixture.address(virtual);
      const before = await feesOf(fixture);
      if (when === "before") await token.become("Taxed");
      await token.pay(deposit.address, 100n * USDC);
      await fixture.mine(3);
      if (when === "after") await token.become("Taxed");
      await fixture.anvil.pool({ to: ramp.address, value: ETHER });
      await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
      await fixture.mine();
      equal((await fixture.account(virtual)).balance.total, credited);
      equal((await fixture.account(ramp.id)).balance.assets, arrived);
      const [sweep] = await rowsOf(
        fixture.realm,
        "select state, trim_scale(amount)::text as amount, trim_scale(arrived)::text as arrived from sweeps where account = $1",
        [deposit.id],
      );
      deepEqual(sweep, { state: "done", amount: credited, arrived });
      const lost = Number(credited) - Number(arrived);
      equal(await feesOf(fixture), before - lost);
      deepEqual((await driftsOf(fixture)).find(([asset]) => asset === "USDC"), ["USDC", "0"]);
      await reopen(fixture, deposit.id);
    },
  );
}

/** Nothing opens a sweep again that has ended: it is booked once. */
async function reopen(fixture: Witnessed["fixture"], account: string): Promise<void> {
  const again = fixture.realm.command((tx) =>
    tx`update sweeps set state = 'sweeping' where account = ${account}`
  );
  await rejects(again, { constraint_name: "sweeps_kept" });
}

async function feesOf(fixture: Witnessed["fixture"]): Promise<number> {
  const [row] = await rowsOf<{ total: string }>(
    fixture.realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = 'USDC'",
  );
  return Number(row?.total ?? 0);
}

test(
  "a token that says it moved and did not: the sweep FAILED, and nothing is lost",
  "h",
  async (witnessed) => {
    const { fixture } = witnessed;
    const token = await installToken(fixture.anvil, "USDC");
    const ramp = await fixture.ramp("USDC");
    const deposit = await fixture.address(ramp.id);
    await token.pay(deposit.address, 100n * USDC);
    await fixture.mine(3);
    await token.become("Liar");
    await fixture.anvil.pool({ to: ramp.address, value: ETHER });
    const failed = async () =>
      await rowsOf<{ error: { detail: string } }>(
        fixture.realm,
        "select error from sweeps where state = 'failed' and account = $1",
        [deposit.id],
      );
    await mineUntil(fixture, async () => (await failed()).length > 0);
    equal((await failed())[0].error.detail, "the token moved nothing");
    equal((await fixture.account(deposit.id)).balance.total, "100");
    await fixture.mine();
    deepEqual((await driftsOf(fixture)).find(([asset]) => asset === "USDC"), ["USDC", "0"]);
  },
);

test("a token that lies in its log credits nothing", "h", async (witnessed) => {
  const { fixture } = witnessed;
  const token = await installToken(fixture.anvil, "USDC");
  const ramp = await fixture.ramp("USDC");
  await token.become("Liar");
  await token.pay(ramp.address, 100n * USDC);
  await fixture.mine(4);
  const [deposit] = await depositsOf(witnessed, ramp);
  deepEqual([deposit.status, deposit.error.code], ["ORPHANED", "deposit.not_found"]);
  equal((await fixture.account(ramp.id)).balance.total, "0");
});

Deno.test("a token whose contract says other decimals or another symbol gets no ramp", async () => {
  for (const says of [{ decimals: 18 }, { symbol: "USDC.e" }]) {
    await using fixture = await openRampFixture({ testnet: false });
    await installToken(fixture.anvil, "USDC", says);
    const made = await fixture.realm.admin.send("POST", "/v1/accounts", {
      type: "ramp",
      asset: "USDC",
    });
    await fixture.realm.drain();
    const account = await fixture.account(made.body.id);
    deepEqual([account.enabled, account.error.code], [false, "token.invalid"]);
    deepEqual(account.ramp, { address: null });
  }
});
