/** Who pays the network for tokens that a customer has made, and whose price it sets itself. */
import { deepEqual, equal, match } from "node:assert/strict";
import { compare } from "../../domain/money.ts";
import { refreshFees } from "../../workers/fees.ts";
import { CALLS, rich } from "../support/anvil.ts";
import { benchOf } from "../support/desk.ts";
import { driftsOf, mineUntil, type RampStage, rampStage } from "../support/ramps.ts";
import { type Answer, rowsOf, type TestUser } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const FEES =
  "select trim_scale(total)::text as total from accounts where system = 'fees' and asset = 'ETH'";

Deno.test("withdrawals of a customer's own token are paid by its ramp's account, whatever rate it sets", async () => {
  await using stage = await rampStage({ testnet: false });
  const mine = await customer(stage);
  const { realm, user, ramp } = { ...mine, realm: stage.realm };
  equal(
    (await user.send("PATCH", `/v1/currencies/${mine.currency}`, { rate: "1000000000" })).status,
    200,
  );
  await realm.admin.send("PUT", "/v1/rates", { base: "ETH", currency: "USD", rate: "3000" });
  await others(stage, mine, 5n);
  const before = await total(stage, ramp);
  const first = await withdraw(mine, "0.1");
  equal(first.status, 201, first.text);
  await ended(stage, mine, first);
  await stage.mine(3);
  const [{ fee }] = await rowsOf<{ fee: string }>(
    realm,
    "select fee::text from orders where purpose = 'withdrawal'",
  );
  equal(units(before) - units(await total(stage, ramp)), BigInt(fee), "to the last unit");
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
  deepEqual(await driftsOf(stage), [["ETH", "0"], ["GOLD_ETH", "0"]]);
  equal((await realm.admin.send("GET", "/v1/solvency?asset=ETH")).body[0].solvent, true);
  // Whoever takes the ramp's own value away has nothing to pay with: the coins there are others'.
  await empty(stage, mine);
  await quote(stage);
  const refused = await withdraw(mine, "0.1");
  deepEqual([refused.status, refused.body.code], [409, "ramp.gas_insufficient"]);
  match(refused.body.detail, /the ramp's own account does not cover the gas/);
  const tried = await user.send("POST", "/v1/withdrawals?dry_run=true", {
    source: { account: mine.account },
    destination: { address: rich(5).address },
    value: "0.1",
  });
  deepEqual([tried.status, tried.body.code], [409, "ramp.gas_insufficient"]);
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
});

Deno.test("sweeps of a customer's own token wait until its ramp's account covers the gas, say so, and cost the house nothing", async () => {
  await using stage = await rampStage({ testnet: false });
  const mine = await customer(stage);
  const { realm } = stage;
  await others(stage, mine, 5n);
  await ended(stage, mine, await withdraw(mine, "100"));
  await stage.mine(3);
  await empty(stage, mine);
  const made = await mine.user.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" });
  await realm.drain();
  const given = await mine.user.send("POST", `/v1/account/${made.body.id}/address`, {});
  equal(given.status, 201, given.text);
  await realm.drain();
  const { address } = given.body.address;
  const data = CALLS.encodeFunctionData("transfer", [address, 50n * 10n ** 6n]);
  await stage.anvil.pool({ from: 5, to: mine.contract, data });
  const query = encodeURIComponent(JSON.stringify({ account: given.body.id }));
  const shown = async () =>
    (await mine.user.send("GET", `/v1/deposits/all?query=${query}`)).body[0];
  await mineUntil(stage, async () => (await shown())?.forward?.status === "WAITING");
  for (let round = 0; round < 3; round++) await again(stage);
  const waiting = await shown();
  deepEqual([waiting.forward.status, waiting.forward.error.code], [
    "WAITING",
    "ramp.gas_insufficient",
  ]);
  const told = "select 1 from events where type = 'ramp.gas_insufficient'";
  equal((await rowsOf(realm, told)).length, 1);
  deepEqual(
    await rowsOf(
      realm,
      "select 1 from orders where purpose = 'gas' or contract <> '' and purpose = 'sweep'",
    ),
    [],
  );
  const { address: keeper } = (await stage.account(mine.ramp)).ramp;
  await stage.anvil.pool({ from: 4, to: keeper, value: ETHER });
  await mineUntil(stage, async () => (await total(stage, mine.ramp)) === "1");
  await again(stage);
  await mineUntil(stage, async () => (await shown()).forward?.status === "DONE");
  await stage.mine(3);
  const [{ spent }] = await rowsOf<{ spent: string }>(
    realm,
    `select sum(fee)::text as spent from orders
      where purpose = 'gas' or contract <> '' and purpose = 'sweep'`,
  );
  equal(ETHER - units(await total(stage, mine.ramp)), BigInt(spent));
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
  deepEqual(await driftsOf(stage), [["ETH", "0"], ["GOLD_ETH", "0"]]);
});

/** A customer with a ramp of its own, which has 1 ETH, and a token that it has deployed there. */
async function customer(stage: RampStage) {
  const { realm, anvil } = stage;
  const user = await realm.user();
  const made = await user.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  await realm.drain();
  const ramp: string = made.body.id;
  const { address } = (await user.send("GET", `/v1/accounts/${ramp}`)).body.ramp;
  await anvil.pool({ from: 4, to: address, value: ETHER });
  await mineUntil(stage, async () => await total(stage, ramp) === "1");
  await quote(stage);
  const body = { name: "Gold", symbol: "GOLD", supply: "1000", decimal_places: 6, account: ramp };
  const token = await user.send("POST", "/v1/fungible/token/deploy", body);
  equal(token.status, 201, token.text);
  const path = `/v1/fungible/token/${token.body.id}`;
  await mineUntil(stage, async () => (await user.send("GET", path)).body.status === "deployed");
  const registered = await user.send("POST", "/v1/fungible/token/register", {
    account: ramp,
    symbol: "GOLD",
  });
  equal(registered.status, 201, registered.text);
  await stage.mine();
  await quote(stage);
  const { virtualCurrency: currency, contractAddress: contract } =
    (await user.send("GET", path)).body;
  const { account } = (await user.send("GET", `/v1/currencies/${currency}`)).body;
  return { user, ramp, currency, contract, account };
}

type Customer = Awaited<ReturnType<typeof customer>>;

/** Coins of somebody else lie at the customer's ramp. */
async function others(stage: RampStage, { user, ramp }: Customer, ether: bigint): Promise<void> {
  const { realm, anvil } = stage;
  const body = { type: "virtual", asset: "ETH", ramp };
  const made = await realm.admin.send("POST", "/v1/accounts", body);
  await realm.drain();
  const { body: given } = await user.send("POST", `/v1/account/${ramp}/address`, {}).then(() =>
    realm.admin.send("POST", `/v1/account/${made.body.id}/address`, {})
  );
  await realm.drain();
  await anvil.pool({ from: 5, to: given.address.address, value: ether * ETHER });
  await mineUntil(
    stage,
    async () => compare((await stage.account(made.body.id)).balance.total, "4") > 0,
  );
  await stage.mine(2);
}

/** Takes what the ramp's own account holds away, within the ledger. */
async function empty(stage: RampStage, { user, ramp }: Customer): Promise<void> {
  const to = await stage.realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
  });
  await stage.realm.drain();
  const value = await total(stage, ramp);
  const out = { source: { account: ramp }, destination: { account: to.body.id }, value };
  equal((await user.send("POST", "/v1/transactions", out)).status, 201);
}

async function withdraw({ user, account }: Customer, value: string): Promise<Answer> {
  const destination = { address: rich(5).address };
  return await user.send("POST", "/v1/withdrawals", { source: { account }, destination, value });
}

async function ended(stage: RampStage, { user }: { user: TestUser }, made: Answer): Promise<void> {
  const path = `/v1/withdrawals/${made.body.id}`;
  await mineUntil(stage, async () => (await user.send("GET", path)).body.status === "DONE");
}

/** Lets what waits be looked at again. */
async function again(stage: RampStage): Promise<void> {
  await stage.realm.command((tx) =>
    tx`update sweeps set updated_at = now() - interval '1 hour' where state = 'waiting'`
  );
  await quote(stage);
  await stage.mine(2);
}

async function total(stage: RampStage, account: string): Promise<string> {
  return (await stage.account(account)).balance.total;
}

function units(text: string): bigint {
  const [whole, part = ""] = text.split(".");
  return BigInt(whole) * ETHER + BigInt(part.padEnd(18, "0"));
}

async function quote(stage: RampStage): Promise<void> {
  const bench = await benchOf(stage.realm);
  await refreshFees(bench);
  bench.chains.close();
}
