/** Network costs of orders of a ramp's owner that move nothing for customers. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createCurrency, NewCurrency } from "../../domain/currencies/currencies.ts";
import { add, compare } from "../../domain/money.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { COIN, LITECOIN } from "../support/utxo_fixture.ts";
import { agrees, feesOf, openConsolidatingRamp } from "../support/consolidation_fixture.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { SOON } from "../support/own_token.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestUser } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";

const ETHER = 10n ** 18n;
const FEES = "select trim_scale(total)::text as total from accounts where system = 'fees'";

Deno.test("a customer's deployments on its own ramp are paid from its account, and cost the house nothing", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const user = await realm.user({ scope: "realm" }); // who sees the realm pays as well
  const made = await user.send("POST", "/v1/accounts", {
    type: "ramp",
    asset: "ETH",
    testnet: true,
  });
  await realm.drain();
  const ramp = (await user.send("GET", `/v1/accounts/${made.body.id}`)).body;
  await anvil.pool({ from: 4, to: ramp.ramp.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "1");
  await quote(fixture);
  const first = await deploy(user, ramp.id, "ONE");
  equal(first.status, 201, first.text);
  const promised = (await fixture.account(ramp.id)).balance.total;
  ok(compare(promised, "1") < 0, promised);
  const path = `/v1/fungible/token/${first.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "deployed");
  const told = "select entity from events where type = 'token.deployed'";
  deepEqual(await rowsOf(realm, told), [{ entity: first.body.id }]);
  await fixture.mine(2);
  // The chain's fee is gone from the ramp's account, to the last unit, and nothing from the fees.
  const [order] = await rowsOf<{ fee: string }>(
    realm,
    "select fee::text from chain_orders where purpose = 'deploy'",
  );
  const { balance } = await fixture.account(ramp.id);
  equal(BigInt(order.fee), ETHER - units(balance.total));
  ok(compare(balance.total, promised) > 0, "what was not taken has come back");
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
  equal((await realm.admin.send("GET", "/v1/solvency")).body[0].solvent, true);
  // After its value was taken out, the account has nothing to pay with, although coins lie at the address.
  const to = await realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
  });
  await realm.drain();
  const out = {
    source: { account: ramp.id },
    destination: { account: to.body.id },
    value: balance.total,
  };
  equal((await user.send("POST", "/v1/transactions", out)).status, 201);
  const refused = await deploy(user, ramp.id, "TWO");
  deepEqual([refused.status, refused.body.code], [409, "balance.insufficient"]);
  // A user with write permission for the realm decides for the house.
  await quote(fixture);
  equal((await deploy(realm.admin, ramp.id, "TWO")).status, 201);
});

Deno.test("a deployment that is never sent costs its customer nothing", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const user = await realm.user();
  const made = await user.send("POST", "/v1/accounts", {
    type: "ramp",
    asset: "ETH",
    testnet: true,
  });
  await realm.drain();
  const ramp = (await user.send("GET", `/v1/accounts/${made.body.id}`)).body;
  await anvil.pool({ from: 4, to: ramp.ramp.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total === "1");
  await quote(fixture);
  const asked = await deploy(user, ramp.id, "ONE");
  equal(asked.status, 201, asked.text);
  // By the time that it is signed, the network has become dearer than what was charged.
  await anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x2540be400000");
  const path = `/v1/fungible/token/${asked.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "failed");
  equal((await fixture.account(ramp.id)).balance.total, "1");
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
});

Deno.test("nobody pays for a token that could not be registered, as its name reads like another's, and a name that was paid for is nobody else's", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const [user, rival] = [await realm.user(), await realm.user()];
  const [ramp, other] = await Promise.all([user, rival].map(async ({ send }) => {
    const asked = { type: "ramp", asset: "ETH", testnet: true };
    return (await send("POST", "/v1/accounts", asked)).body.id as string;
  }));
  await realm.drain();
  const { address } = (await fixture.account(ramp)).ramp;
  await anvil.pool({ from: 4, to: address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total === "1");
  await quote(fixture);
  const first = await deploy(user, ramp, "GOLD");
  equal(first.status, 201, first.text);
  const refused = async (name: string) => {
    const { body } = await deploy(rival, other, name);
    equal(body.code, "currency.taken", "before anything is paid");
    const registered = await rival.send("POST", "/v1/fungible/token/register", {
      ...{ account: other, symbol: name, supply: "0", decimal_places: 2 },
      contract_address: `0x${"a1".repeat(20)}`,
    });
    equal(registered.body.code, "currency.taken", registered.text);
    const currency = { ...NewCurrency.parse({ name: `${name}_ETH` }), decimals: 2 };
    const made = realm.command((tx) => createCurrency(tx, rival.actor, currency), {
      lockLedger: true,
    });
    await rejects(made, { code: "currency.taken" });
    const insert = realm.command((tx) =>
      tx`insert into fungible_tokens (id, account, chain, network, symbol, supply, decimals, external, owner, created_at)
        values (gen_random_uuid(), ${other}, 'ETHEREUM', 'testnet', ${name}||'_ETH', 0, 2, true, ${rival.id}, now())`
        .then(() => {})
    );
    await rejects(insert, { constraint_name: "fungible_tokens_likeness" });
  };
  await refused("G0LD");
  const path = `/v1/fungible/token/${first.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "deployed");
  await refused("go1d");
  const kept = { account: ramp, symbol: "GOLD" };
  equal((await user.send("POST", "/v1/fungible/token/register", kept)).status, 201);
  await refused("gold");
});

Deno.test({
  name: "LTC: a customer's consolidation of its own ramp is paid from its account",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    const { realm } = fixture;
    const user = await realm.user();
    await fixture.fund(COIN, 2n * COIN, 3n * COIN, 4n * COIN);
    const before =
      (await realm.admin.send("GET", `/v1/accounts/${fixture.ramp}`)).body.balance.total;
    const give = (owner: string) =>
      tamper(realm, `update accounts set owner = '${owner}' where id = '${fixture.ramp}'`);
    await give(user.id);
    const path = `/v1/accounts/${fixture.ramp}`;
    const made = await user.send("POST", `${path}/consolidate`, {});
    equal(made.status, 201, made.text);
    const done = await fixture.finish(made.body.id);
    equal(done.status, "DONE");
    const after = (await realm.admin.send("GET", path)).body.balance.total;
    equal(add(after, done.fee), before);
    equal(await feesOf(fixture), "0");
    await give(realm.admin.id);
    await agrees(fixture);
  },
});

Deno.test({
  name: "LTC: a customer who speeds up a consolidation pays for that too, or is refused",
  ignore: !hasLitecoind(),
  fn: async () => {
    await using fixture = await openConsolidatingRamp(LITECOIN);
    const { realm } = fixture;
    const user = await realm.user();
    await fixture.fund(COIN, 2n * COIN, 3n * COIN, 4n * COIN);
    await tamper(
      realm,
      `update accounts set owner = '${user.id}', holder = '${user.identity}'
        where id = '${fixture.ramp}'`,
    );
    const path = `/v1/accounts/${fixture.ramp}`;
    const balance = async () => (await user.send("GET", path)).body.balance.total;
    const before = await balance();
    const made = await user.send("POST", `${path}/consolidate`, {});
    equal(made.status, 201, made.text);
    await fixture.advance();
    const body = { type: "virtual", asset: "LTC", testnet: true, ramp: fixture.ramp };
    const { id: aside } = (await user.send("POST", "/v1/accounts", body)).body;
    await realm.drain();
    const move = async (source: string, destination: string, value: string) => {
      const asked = { source: { account: source }, destination: { account: destination }, value };
      equal((await user.send("POST", "/v1/transactions", asked)).status, 201);
    };
    const rest = await balance();
    await move(fixture.ramp, aside, rest);
    const speedUp = () =>
      user.send("POST", `${path}/consolidations/${made.body.id}/speed-up`, {
        speed: "fast",
        max_fee_rate: "0.0002",
      });
    const refused = await speedUp();
    deepEqual([refused.status, refused.body.code], [409, "balance.insufficient"]);
    await move(aside, fixture.ramp, rest);
    const spedUp = await speedUp();
    equal(spedUp.status, 200, spedUp.text);
    await move(fixture.ramp, aside, await balance());
    const done = await fixture.finish(made.body.id);
    equal(done.status, "DONE");
    ok(compare(done.fee, made.body.estimate ?? "0") > 0, "it was replaced");
    const shown = (await user.send("GET", `/v1/accounts/${aside}`)).body.balance.total;
    equal(add(add(await balance(), shown), done.fee), before);
    equal(await feesOf(fixture), "0");
  },
});

function units(text: string): bigint {
  const [whole, part = ""] = text.split(".");
  return BigInt(whole) * ETHER + BigInt(part.padEnd(18, "0"));
}

async function quote(fixture: RampFixture): Promise<void> {
  const context = await workerContextOf(fixture.realm);
  await refreshFees(context);
  context.chains.close();
}

async function deploy(user: TestUser, account: string, symbol: string) {
  const body = { name: symbol, symbol, supply: "10", decimal_places: 2, account };
  return await user.send("POST", "/v1/fungible/token/deploy", body, SOON);
}
