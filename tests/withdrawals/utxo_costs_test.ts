import { deepEqual, equal, ok } from "node:assert/strict";
import { compare, subtract } from "../../domain/money.ts";
import { COIN, type CoinDesk, hurry, LITECOIN, openCoinDesk } from "../support/utxo_fixture.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const TO = await newParty("LITECOIN");

async function speedUp(desk: CoinDesk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

async function chargedTo(desk: CoinDesk): Promise<string> {
  const [{ charged }] = await rowsOf<{ charged: string }>(
    desk.realm,
    "select trim_scale(sum(fee))::text as charged from withdrawals",
  );
  return charged;
}

async function feesOf(desk: CoinDesk): Promise<string> {
  const [row] = await rowsOf<{ total: string }>(
    desk.realm,
    "select trim_scale(total)::text as total from accounts where system = 'fees'",
  );
  return row?.total ?? "0";
}

Deno.test("LTC: speed-ups of one withdrawal are paid for, once a block, and stay within its budget", async () => {
  await using desk = await openCoinDesk(LITECOIN);
  await desk.fund(5n * COIN);
  await desk.deposit(3n * COIN);
  await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
  await desk.quote();
  const id = await desk.withdraw(TO.address, "1", { fee: { speed: "slow" } });
  await desk.look();
  const before = await chargedTo(desk);
  equal((await speedUp(desk, id)).status, 200);
  ok(compare(await chargedTo(desk), before) > 0);
  equal((await speedUp(desk, id)).body.code, "rate.limited");
  for (let block = 0; block < 20; block++) {
    await desk.look();
    await rowsOf(desk.realm, "update chain_cursors set head = head + 1");
    equal((await speedUp(desk, id)).status, 200);
  }
  await hurry(desk.realm);
  await desk.look();
  await rowsOf(desk.realm, "update chain_cursors set head = height");
  const [done] = await desk.ended([id]);
  equal(done.status, "DONE");
  const [{ fee, budget }] = await rowsOf<{ fee: string; budget: string }>(
    desk.realm,
    "select fee::text, budget::text from orders where purpose = 'withdrawal'",
  );
  ok(BigInt(fee) <= BigInt(budget), `${fee} of ${budget}`);
  await desk.agree();
});

Deno.test("LTC: who speeds up a payout pays for lifting all of it", async () => {
  await using desk = await openCoinDesk(LITECOIN);
  await desk.fund(5n * COIN);
  await desk.deposit(4n * COIN);
  await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
  await desk.quote();
  const ids = [];
  for (let at = 0; at < 4; at++) {
    ids.push(await desk.withdraw(TO.address, "0.5", { fee: { speed: "slow" } }));
  }
  const before = await chargedTo(desk);
  await desk.look();
  const payouts = "select 1 from orders where purpose = 'payout'";
  equal((await rowsOf(desk.realm, payouts)).length, 1);
  const sped = await speedUp(desk, ids[2]);
  equal(sped.status, 200, sped.text);
  const after = await chargedTo(desk);
  const surcharges = await rowsOf<{ id: string; surcharge: string }>(
    desk.realm,
    "select id, trim_scale(surcharge)::text as surcharge from withdrawals where surcharge > 0",
  );
  deepEqual(surcharges, [{ id: ids[2], surcharge: subtract(after, before) }]);
  const ended = await desk.ended(ids);
  ok(ended.every(({ status }) => status === "DONE"));
  ok(!(await feesOf(desk)).startsWith("-"), "the house lost nothing");
  await desk.agree();
});
