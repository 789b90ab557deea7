/** The checker on ledgers whose value came from a chain, and left by it. @module */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { openFundedRamp } from "../support/evm_fixture.ts";
import { mineUntil, openRampFixture } from "../support/ramp_fixture.ts";

const ETHER = 10n ** 18n;

Deno.test("the checker finds nothing in deposits that were credited and forwarded", async () => {
  await using fixture = await openRampFixture();
  const { send } = fixture.realm.admin;
  const ramp = (await fixture.ramp()).id;
  const asked = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const virtual = (await send("POST", "/v1/accounts", asked)).body.id;
  const deposit = await fixture.address(virtual);
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(fixture, async () => (await fixture.account(virtual)).balance.total !== "0");
  await fixture.anvil.pool({ to: deposit.address, value: ETHER });
  await fixture.mine(); // seen, and not deep enough to count
  deepEqual((await fixture.deposits()).map(({ status }) => status), ["CONFIRMED", "PENDING"]);
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, []);
});

Deno.test("the checker finds nothing in withdrawals under way, done and canceled", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  const codes = async () => {
    const { mismatches } = await checkLedger(realm.pool);
    return [...new Set(mismatches.map(({ code }) => code))];
  };
  deepEqual(await codes(), []);
  const [done, canceled] = [await funded.withdraw("0.1"), await funded.withdraw("0.2")];
  equal(canceled.status, 201, canceled.text);
  deepEqual(await codes(), []);
  const withdrawal = `/v1/withdrawals/${canceled.body.id}`;
  const answer = await realm.admin.send("POST", `${withdrawal}/cancel`);
  equal(answer.status, 200, answer.text);
  deepEqual(await codes(), []);
  equal((await funded.finish(done.body.id)).status, "DONE");
  deepEqual(await codes(), []);
});
