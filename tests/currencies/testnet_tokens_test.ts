import { deepEqual, equal } from "node:assert/strict";
import { rich } from "../support/nodes/anvil.ts";
import { ETHER, quote, SOON, total } from "../support/own_token.ts";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";

Deno.test("a token of the realm's own on a test network is withdrawn, comes back, and is swept", async () => {
  await using fixture = await openRampFixture();
  const { anvil, realm: { admin, drain } } = fixture;
  const ramp = await fixture.ramp();
  await anvil.pool({ from: 4, to: ramp.address, value: ETHER });
  await mineUntil(fixture, async () => await total(fixture, ramp.id) === "1");
  await quote(fixture);
  const body = { name: "Gold", symbol: "GOLD", supply: "9", decimal_places: 6, account: ramp.id };
  const path = `/v1/fungible/token/${
    (await admin.send("POST", "/v1/fungible/token/deploy", body, SOON)).body.id
  }`;
  const token = async () => (await admin.send("GET", path)).body;
  await mineUntil(fixture, async () => (await token()).status === "deployed");
  const registering = { account: ramp.id, symbol: "GOLD" };
  await admin.send("POST", "/v1/fungible/token/register", registering, SOON);
  await fixture.mine();
  await quote(fixture);
  const { virtualCurrency } = await token();
  const { account } = (await admin.send("GET", `/v1/currencies/${virtualCurrency}`)).body;
  const made = await admin.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" });
  await drain();
  const { address } = await fixture.address(made.body.id);
  for (const to of [rich(5).address, address]) {
    const asked = { source: { account }, destination: { address: to }, value: "2" };
    const drawn = await admin.send("POST", "/v1/withdrawals", asked);
    equal(drawn.status, 201, drawn.text);
    const read = `/v1/withdrawals/${drawn.body.id}`;
    await mineUntil(fixture, async () => (await admin.send("GET", read)).body.status === "DONE");
  }
  await mineUntil(fixture, async () => await total(fixture, made.body.id) === "2");
  equal(await total(fixture, account), "5");
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
});
