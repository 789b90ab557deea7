import { deepEqual, equal, ok } from "node:assert/strict";
import { driftsOf, mineUntil, openRampFixture } from "../support/ramp_fixture.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;

Deno.test("a coin deposit is swept to the ramp less the fee, and booked to the end", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const virtual = (await fixture.realm.admin.send("POST", "/v1/accounts", {
    type: "virtual",
    asset: "ETH",
    testnet: true,
    ramp: ramp.id,
  })).body.id;
  const deposit = await fixture.address(virtual, { order: "7" });
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  const total = (await fixture.account(virtual)).balance.total;
  const [sweep] = await rowsOf<{ state: string; amount: string; fee: string }>(
    fixture.realm,
    "select state, amount::text, fee::text from sweeps",
  );
  equal(sweep.state, "done");
  equal(sweep.amount, total);
  ok(total.startsWith("0.9999"), total);
  deepEqual((await fixture.account(deposit.id)).balance.total, "0");
  deepEqual((await fixture.account(ramp.id)).balance.total, "0");
  await fixture.mine();
  equal((await fixture.account(ramp.id)).balance.assets, total);
  equal((await fixture.account(deposit.id)).balance.assets, "0");
  const types = await rowsOf<{ type: string; address_data: unknown }>(
    fixture.realm,
    "select type, address_data from transactions order by id",
  );
  deepEqual(types.map((one) => one.type), ["deposit", "fee", "forward", "forward"]);
  deepEqual(types[0].address_data, { order: "7" });
  equal((await fixture.deposits()).length, 1, "the sweep itself is no deposit of the ramp");
  deepEqual(await driftsOf(fixture), [["ETH", "0"]]);
});

Deno.test("dust is credited and waits; with more it goes on", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  await fixture.anvil.pool({ to: deposit.address, value: 1000n });
  await fixture.mine(3);
  equal((await fixture.account(deposit.id)).balance.total, "0.000000000000001");
  const states = () =>
    rowsOf<{ state: string }>(fixture.realm, "select state from sweeps order by id");
  deepEqual((await states()).map((one) => one.state), ["waiting"]);
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(ramp.id)).balance.total !== "0");
  equal((await fixture.account(deposit.id)).balance.total, "0");
  deepEqual((await states()).map((one) => one.state), ["done"]);
});

Deno.test("a deposit to an address that was swept before is swept again", async () => {
  await using fixture = await openRampFixture();
  const ramp = await fixture.ramp();
  const deposit = await fixture.address(ramp.id);
  for (const round of [1, 2]) {
    await fixture.anvil.pool({ to: deposit.address, value: ETHER });
    await mineUntil(fixture, async () => {
      const done = await rowsOf(fixture.realm, "select id from sweeps where state = 'done'");
      return done.length === round;
    });
  }
  const total = (await fixture.account(ramp.id)).balance.total;
  ok(total.startsWith("1.999"), total);
  const forwards = await rowsOf<{ payload: { forward: { status: string } } }>(
    fixture.realm,
    "select payload from events where type = 'deposit.forwarded' order by position",
  );
  deepEqual(forwards.map((one) => one.payload.forward.status), ["DONE", "DONE"]);
});
