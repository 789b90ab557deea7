import { deepEqual, equal, ok } from "node:assert/strict";
import { driftsOf, mineUntil, rampStage } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

Deno.test("a coin deposit is swept to the ramp less the fee, and booked to the end", async () => {
  await using stage = await rampStage();
  const ramp = await stage.ramp();
  const virtual = (await stage.realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
    ramp: ramp.id,
  })).body.id;
  const deposit = await stage.address(virtual, { order: "7" });
  await stage.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(stage, async () => (await stage.account(virtual)).balance.total !== "0");
  const total = (await stage.account(virtual)).balance.total;
  const [sweep] = await rowsOf<{ state: string; amount: string; fee: string }>(
    stage.realm,
    "select state, amount::text, fee::text from sweeps",
  );
  equal(sweep.state, "done");
  equal(sweep.amount, total);
  ok(total.startsWith("0.9999"), total);
  deepEqual((await stage.account(deposit.id)).balance.total, "0");
  deepEqual((await stage.account(ramp.id)).balance.total, "0");
  await stage.mine();
  equal((await stage.account(ramp.id)).balance.assets, total);
  equal((await stage.account(deposit.id)).balance.assets, "0");
  const types = await rowsOf<{ type: string; address_data: unknown }>(
    stage.realm,
    "select type, address_data from transactions order by id",
  );
  deepEqual(types.map((one) => one.type), ["deposit", "fee", "forward", "forward"]);
  deepEqual(types[0].address_data, { order: "7" });
  equal((await stage.deposits()).length, 1, "the sweep itself is no deposit of the ramp");
  deepEqual(await driftsOf(stage), [["ETH", "0"]]);
});

Deno.test("dust is credited and waits; with more it goes on", async () => {
  await using stage = await rampStage();
  const ramp = await stage.ramp();
  const deposit = await stage.address(ramp.id);
  await stage.anvil.pool({ to: deposit.address, value: 1000n });
  await stage.mine(3);
  equal((await stage.account(deposit.id)).balance.total, "0.000000000000001");
  const states = () =>
    rowsOf<{ state: string }>(stage.realm, "select state from sweeps order by id");
  deepEqual((await states()).map((one) => one.state), ["waiting"]);
  await stage.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(stage, async () => (await stage.account(ramp.id)).balance.total !== "0");
  equal((await stage.account(deposit.id)).balance.total, "0");
  deepEqual((await states()).map((one) => one.state), ["done"]);
});

Deno.test("a deposit to an address that was swept before is swept again", async () => {
  await using stage = await rampStage();
  const ramp = await stage.ramp();
  const deposit = await stage.address(ramp.id);
  for (const round of [1, 2]) {
    await stage.anvil.pool({ to: deposit.address, value: ETHER });
    await mineUntil(stage, async () => {
      const done = await rowsOf(stage.realm, "select id from sweeps where state = 'done'");
      return done.length === round;
    });
  }
  const total = (await stage.account(ramp.id)).balance.total;
  ok(total.startsWith("1.999"), total);
  const forwards = await rowsOf<{ payload: { forward: { status: string } } }>(
    stage.realm,
    "select payload from events where type = 'deposit.forwarded' order by id",
  );
  deepEqual(forwards.map((one) => one.payload.forward.status), ["DONE", "DONE"]);
});
