/** The checker on ledgers whose value came from a chain, and left by it. @module */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { openDesk } from "../support/evm_fixture.ts";
import { mineUntil, rampStage } from "../support/ramp_fixture.ts";

const ETHER = 10n ** 18n;

Deno.test("the checker finds nothing in deposits that were credited and forwarded", async () => {
  await using stage = await rampStage();
  const { send } = stage.realm.admin;
  const ramp = (await stage.ramp()).id;
  const asked = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const virtual = (await send("POST", "/v1/accounts", asked)).body.id;
  const deposit = await stage.address(virtual);
  await stage.anvil.pool({ to: deposit.address, value: ETHER });
  await mineUntil(stage, async () => (await stage.account(virtual)).balance.total !== "0");
  await stage.anvil.pool({ to: deposit.address, value: ETHER });
  await stage.mine(); // seen, and not deep enough to count
  deepEqual((await stage.deposits()).map(({ status }) => status), ["CONFIRMED", "PENDING"]);
  deepEqual((await checkLedger(stage.realm.pool)).mismatches, []);
});

Deno.test("the checker finds nothing in withdrawals under way, done and canceled", async () => {
  await using desk = await openDesk();
  const { realm } = desk;
  const codes = async () => {
    const { mismatches } = await checkLedger(realm.pool);
    return [...new Set(mismatches.map(({ code }) => code))];
  };
  deepEqual(await codes(), []);
  const [done, canceled] = [await desk.withdraw("0.1"), await desk.withdraw("0.2")];
  equal(canceled.status, 201, canceled.text);
  deepEqual(await codes(), []);
  const withdrawal = `/v1/withdrawals/${canceled.body.id}`;
  const answer = await realm.admin.send("POST", `${withdrawal}/cancel`);
  equal(answer.status, 200, answer.text);
  deepEqual(await codes(), []);
  equal((await desk.finish(done.body.id)).status, "DONE");
  deepEqual(await codes(), []);
});
