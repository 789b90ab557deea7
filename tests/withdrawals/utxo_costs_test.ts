import { deepEqual, equal, ok } from "node:assert/strict";
import { compare, subtract } from "../../domain/money.ts";
import { COIN, hurry, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const testCoins = sharingUtxoRamp("LTC: costs of speed-ups from one ramp", LITECOIN);
const TO = await newParty("LITECOIN");

async function speedUp(funded: UtxoRamp, id: string) {
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

async function chargedTo(funded: UtxoRamp): Promise<string> {
  const [{ charged }] = await rowsOf<{ charged: string }>(
    funded.realm,
    "select trim_scale(sum(fee))::text as charged from withdrawals",
  );
  return charged;
}

async function feesOf(funded: UtxoRamp): Promise<string> {
  const [row] = await rowsOf<{ total: string }>(
    funded.realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees'",
  );
  return row?.total ?? "0";
}

testCoins(
  "LTC: speed-ups of one withdrawal are paid for, once a block, and stay within its budget",
  async (funded) => {
    await funded.fund(5n * COIN);
    await funded.deposit(3n * COIN);
    await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
    await funded.quote();
    const id = await funded.withdraw(TO.address, "1", { fee: { speed: "slow" } });
    await funded.advance();
    const before = await chargedTo(funded);
    equal((await speedUp(funded, id)).status, 200);
    ok(compare(await chargedTo(funded), before) > 0);
    equal((await speedUp(funded, id)).body.code, "rate.limited");
    for (let block = 0; block < 20; block++) {
      await funded.advance();
      await rowsOf(funded.realm, "update chain_cursors set head = head + 1");
      equal((await speedUp(funded, id)).status, 200);
    }
    await hurry(funded.realm);
    await funded.advance();
    await rowsOf(funded.realm, "update chain_cursors set head = height");
    const [done] = await funded.ended([id]);
    equal(done.status, "DONE");
    const [{ fee, budget }] = await rowsOf<{ fee: string; budget: string }>(
      funded.realm,
      "select fee::text, budget::text from chain_orders where purpose = 'withdrawal'",
    );
    ok(BigInt(fee) <= BigInt(budget), `${fee} of ${budget}`);
    await funded.agree();
  },
);

testCoins("LTC: the user who speeds up a batch pays for lifting all of it", async (funded) => {
  await funded.fund(5n * COIN);
  await funded.deposit(4n * COIN);
  await funded.until(async () => (await funded.account(funded.virtual)).balance.total !== "0");
  await funded.quote();
  const ids = [];
  for (let at = 0; at < 4; at++) {
    ids.push(await funded.withdraw(TO.address, "0.5", { fee: { speed: "slow" } }));
  }
  const before = await chargedTo(funded);
  await funded.advance();
  const batches = "select 1 from chain_orders where purpose = 'batch'";
  equal((await rowsOf(funded.realm, batches)).length, 1);
  const sped = await speedUp(funded, ids[2]);
  equal(sped.status, 200, sped.text);
  const after = await chargedTo(funded);
  const surcharges = await rowsOf<{ id: string; surcharge: string }>(
    funded.realm,
    "select id, trim_scale(surcharge)::text as surcharge from withdrawals where surcharge > 0",
  );
  deepEqual(surcharges, [{ id: ids[2], surcharge: subtract(after, before) }]);
  const ended = await funded.ended(ids);
  ok(ended.every(({ status }) => status === "DONE"));
  ok(!(await feesOf(funded)).startsWith("-"), "the house lost nothing");
  await funded.agree();
});
