import { deepEqual, equal, match, ok } from "node:assert/strict";
import { add, compare, subtract, toUnits } from "../../domain/money.ts";
import type { WithdrawalSettings } from "../../domain/withdrawal_settings.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { type Desk, openDesk } from "../support/evm_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";

const CONTRACT = "0x00000000000000000000000000000000000b0b01";
const rounds = (count: number) => count.toString(16).padStart(6, "0");
/** A loop of so many rounds, each about 26 gas, then stop. */
const loop = (count: number) => `0x62${rounds(count)}5b600190038060045700`;
/** While the gas price is 0, as in an estimate: that loop. Else INVALID, which takes all gas. */
const trap = (count: number) => `0x3a601257` + `62${rounds(count)}5b600190038060085700` + "5bfe";

Deno.test("a destination whose code would cost more than the budget ends with withdrawal.fee_exceeded", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setCode", CONTRACT, loop(30_000));
  const made = await withdraw(desk, "0.001");
  const failed = await desk.finish(made.id);
  deepEqual([failed.status, failed.error.code], ["FAILED", "withdrawal.fee_exceeded"]);
  match(failed.error.detail, /at most \d+ may be spent/);
  equal(failed.chain, undefined);
  const signed = "select 1 from order_candidates";
  deepEqual(await rowsOf(desk.realm, signed), []);
  const { account, ramp, fees } = await desk.books();
  deepEqual([account, ramp, fees], ["10", "0", "0"]);
  await sound(desk);
});

Deno.test("a destination whose code stays within the budget is paid, and costs no more than that", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setCode", CONTRACT, loop(800));
  const made = await withdraw(desk, "0.001");
  const done = await desk.finish(made.id);
  equal(done.status, "DONE");
  const { fees } = await desk.books();
  ok(compare(fees, "0") < 0, "it cost more than was charged");
  ok(compare(add(fees, times(charged(made), 2n)), "0") >= 0, fees);
  await bounded(desk);
  await sound(desk);
});

Deno.test("a trap that shows a small estimate and burns all gas in the block costs its sender, again and again", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setCode", CONTRACT, trap(700));
  let left = "10";
  for (let round = 0; round < 3; round++) {
    // Blocks without payments have made gas cheaper than it was when prices were asked for.
    await desk.anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x2faf0800");
    await desk.anvil.mine();
    const made = await withdraw(desk, "0.001");
    const failed = await desk.finish(made.id);
    deepEqual([failed.status, failed.error.code], ["FAILED", "upstream.failed"]);
    const { account, ramp, fees } = await desk.books();
    deepEqual([ramp, fees], ["0", "0"]);
    const cost = subtract(left, account);
    ok(compare(cost, charged(made)) > 0, `the burnt gas of ${cost} is the sender's`);
    ok(compare(cost, times(charged(made), 3n)) <= 0, `${cost} is within the budget`);
    left = account;
  }
  const [{ within }] = await rowsOf<{ within: boolean }>(
    desk.realm,
    "select cost > 0 and cost <= charged as within from ramp_costs",
  );
  ok(within, "what the sender bears is not taken from the day of others");
  await bounded(desk);
  await sound(desk);
});

Deno.test("a trap with next to no value in it takes nothing from the house", async () => {
  await using desk = await openDesk();
  await desk.anvil.rpc("anvil_setCode", CONTRACT, trap(1));
  const made = await withdraw(desk, "0.000000000000000001");
  const failed = await desk.finish(made.id);
  equal(failed.status, "FAILED");
  const { ramp, fees } = await desk.books();
  deepEqual([ramp, fees], ["0", "0"]);
  await sound(desk);
});

Deno.test("HOT_FEE_MAX_FACTOR says how many times its charge a withdrawal may cost", async () => {
  await using desk = await openDesk({ env: { HOT_FEE_MAX_FACTOR: "1" } });
  const plain = await desk.withdraw("1");
  equal((await desk.finish(plain.body.id)).status, "DONE");
  await desk.anvil.rpc("anvil_setCode", CONTRACT, loop(800));
  const { id } = await withdraw(desk, "1");
  equal((await desk.finish(id)).error.code, "withdrawal.fee_exceeded");
  await bounded(desk);
});

Deno.test("the database keeps no plan that costs more than its budget", async () => {
  await using desk = await openDesk();
  const made = await desk.withdraw("1");
  await desk.look();
  const raise = "update orders set fee = budget + 1";
  const refused = await rowsOf(desk.realm, raise).then(() => null, (error) => error);
  equal(refused.constraint_name, "orders_budget");
  const unbound = "update orders set budget = null";
  const kept = await rowsOf(desk.realm, unbound).then(() => null, (error) => error);
  equal(kept.constraint_name, "orders_budgeted");
  equal((await desk.finish(made.body.id)).status, "DONE");
});

Deno.test("a speed-up is paid for by who asks, once a block, and no number of them costs the house", async () => {
  await using desk = await openDesk({ coins: 100n * 10n ** 18n });
  await desk.anvil.rpc("anvil_setCode", CONTRACT, loop(300));
  const made = await withdraw(desk, "0.001", { fee: { speed: "slow" } });
  await desk.look();
  await dearer(desk, 2n);
  const first = await speedUp(desk, made.id);
  equal(first.status, 200, first.text);
  const paid = subtract(charged(first.body), charged(made));
  ok(compare(paid, "0") > 0);
  equal((await desk.books()).account, subtract("9.999", charged(first.body)));
  const again = await speedUp(desk, made.id);
  deepEqual([again.status, again.body.code], [429, "rate.limited"]);
  ok(again.headers.has("retry-after"));
  for (let block = 0; block < 30; block++) {
    await desk.look();
    await seeBlock(desk);
    equal((await speedUp(desk, made.id)).status, 200);
  }
  const done = await desk.finish(made.id);
  equal(done.status, "DONE");
  const { fees } = await desk.books();
  ok(compare(add(fees, times(charged(done), 2n)), "0") >= 0, `${fees} of ${charged(done)}`);
  await bounded(desk);
  await sound(desk);
});

Deno.test("a speed-up that the balance does not cover is refused, and nothing is moved", async () => {
  await using desk = await openDesk({ total: "1" });
  const { body: estimate } = await desk.realm.admin.send(
    "GET",
    `/v1/withdrawals/estimate?account=${desk.account}&address=${CONTRACT}&amount=1&speed=slow`,
  );
  const made = await desk.withdraw(subtract("1", estimate), { fee: { speed: "slow" } });
  equal(made.status, 201, made.text);
  await desk.look();
  await dearer(desk, 2n);
  const refused = await speedUp(desk, made.body.id);
  deepEqual([refused.status, refused.body.code], [409, "balance.insufficient"]);
  deepEqual(await rowsOf(desk.realm, "select replace from orders"), [{ replace: false }]);
  equal((await desk.finish(made.body.id)).status, "DONE");
  await sound(desk);
});

Deno.test("a speed-up of what the receiver pays for is charged to the sender, and comes back with the rest", async () => {
  await using desk = await openDesk();
  const more = { fee: { paid_by: "receiver", speed: "slow" } };
  const made = await desk.withdraw("1", more);
  await dearer(desk, 2n);
  const sped = await speedUp(desk, made.body.id);
  equal(sped.status, 200, sped.text);
  equal(sped.body.value, 1);
  const canceled = await desk.realm.admin.send("POST", `/v1/withdrawals/${made.body.id}/cancel`);
  equal(canceled.status, 200, canceled.text);
  const { account, ramp, fees } = await desk.books();
  deepEqual([account, ramp, fees], ["10", "0", "0"]);
  await sound(desk);
});

Deno.test("what the network has cost a ramp in a day stops its signing, is told once, and ends with a higher limit", async () => {
  await using desk = await openDesk();
  await setWithdrawals(desk, { ETH: { daily_cost: "0.00001" } });
  const first = await desk.withdraw("1");
  equal((await desk.finish(first.body.id)).status, "DONE");
  const [spent] = await rowsOf<{ cost: string; charged: string }>(
    desk.realm,
    "select cost::text, charged::text from ramp_costs",
  );
  const [order] = await rowsOf(desk.realm, "select fee::text as cost, charged::text from orders");
  deepEqual(spent, order);
  const ids = [];
  for (let count = 0; count < 2; count++) {
    const made = await desk.withdraw("1");
    equal(made.status, 201, made.text);
    ids.push(made.body.id);
    await desk.look();
    await desk.look();
    const { status, history, chain } = await desk.read(made.body.id);
    deepEqual([status, chain], ["PROCESSING", undefined]);
    match(history.at(-1).reason, /has cost the ramp .* ETH today, of 0.00001/);
  }
  const told = "select 1 from events where type = 'ramp.cost_limited'";
  equal((await rowsOf(desk.realm, told)).length, 1);
  await setWithdrawals(desk, { ETH: { daily_cost: "1" } });
  for (const id of ids) equal((await desk.finish(id)).status, "DONE");
  await sound(desk);
});

Deno.test("withdrawals that are planned at the same moment pass neither the day's limit of their ramp nor what it holds", async (t) => {
  await using desk = await openDesk({ coins: 100n * 10n ** 18n, total: "100" });
  const toHex = (value: string) => `0x${toUnits(value, 18).toString(16)}`;
  const made = async (value: string, before: () => Promise<unknown> = () => Promise.resolve()) => {
    for (let count = 0; count < 8; count++) await desk.withdraw(value);
    await before();
    const orders = await rowsOf<{ order: string; look: number }>(
      desk.realm,
      "select id as order, looks as look from orders where state = 'new'",
    );
    await Promise.all(orders.map((seen) => advanceOrder(desk.context, seen)));
  };
  await t.step("the limit", async () => {
    await setWithdrawals(desk, { ETH: { daily_cost: "0.0001" } });
    await made("1");
    const [{ fee, signed }] = await rowsOf<{ fee: string; signed: number }>(
      desk.realm,
      "select max(fee)::text as fee, count(fee)::integer as signed from orders",
    );
    // The one that reaches the limit is the last.
    equal(signed, Number((toUnits("0.0001", 18) - 1n) / BigInt(fee)) + 1);
    ok(signed > 1 && signed < 8, `${signed} were signed`);
    await setWithdrawals(desk, { ETH: { daily_cost: "1" } });
    for (const row of await rowsOf<{ id: string }>(desk.realm, "select id from withdrawals")) {
      equal((await desk.finish(row.id)).status, "DONE");
    }
  });
  await t.step("what it holds", async () => {
    await desk.sight();
    await made("1", () => desk.anvil.rpc("anvil_setBalance", desk.address, toHex("2.5")));
    const open = "select id from orders where state = 'sent'";
    equal((await rowsOf(desk.realm, open)).length, 2);
    await desk.anvil.rpc("anvil_setBalance", desk.address, toHex("80"));
    for (const row of await rowsOf<{ id: string }>(desk.realm, "select id from withdrawals")) {
      equal((await desk.finish(row.id)).status, "DONE");
    }
  });
  await t.step("what was mined and booked since the balance was asked for", async () => {
    await desk.anvil.rpc("anvil_setBalance", desk.address, toHex("2.5"));
    await desk.withdraw("2");
    await desk.look();
    const seen = async () =>
      (await rowsOf<{ order: string; look: number; state: string }>(
        desk.realm,
        "select id as order, looks as look, state from orders order by id desc limit 2",
      )).toReversed();
    await desk.withdraw("2");
    const [, second] = await seen();
    await advanceOrder(desk.context, second, async (step) => {
      if (step !== "drafted") return;
      for (let round = 0; round < 4; round++) {
        await desk.anvil.mine();
        await advanceOrder(desk.context, (await seen())[0]);
      }
    });
    deepEqual((await seen()).map(({ state }) => state), ["done", "new"]);
  });
});

Deno.test("without a setting a day may cost what was charged twice over, and an allowance", async () => {
  await using desk = await openDesk();
  const burnt = `insert into ramp_costs (ramp, day, cost, charged)
    select $1, (now() at time zone 'utc')::date, base * 2250, base * 1000 from fee_quotes
    where contract = '' and speed = 'medium'
    on conflict (ramp, day, contract) do update set cost = excluded.cost + $2::numeric`;
  const ramp = `${desk.ramp}`;
  await rowsOf(desk.realm, burnt.replace("2250", "2249"), [ramp, "0"]);
  const first = await desk.withdraw("1");
  equal((await desk.finish(first.body.id)).status, "DONE");
  await rowsOf(desk.realm, burnt, [ramp, `${10n ** 18n}`]);
  const second = await desk.withdraw("1");
  await desk.look();
  equal((await desk.read(second.body.id)).history.at(-1).event, "waiting");
  const canceled = await desk.realm.admin.send("POST", `/v1/withdrawals/${second.body.id}/cancel`);
  equal(canceled.body.status, "CANCELED", canceled.text);
  await sound(desk);
});

/** Changes what the realm sets of withdrawals, and lets the desk's workers know. */
async function setWithdrawals(desk: Desk, withdrawals: WithdrawalSettings): Promise<void> {
  const path = `/v1/realms/${desk.realm.id}`;
  const answer = await desk.realm.admin.send("PATCH", path, { withdrawals });
  equal(answer.status, 200, answer.text);
  deepEqual(answer.body.withdrawals, withdrawals);
  desk.context.actor.realm = { ...desk.context.actor.realm, withdrawals };
}

/** Withdraws to the contract; gives what was answered. */
async function withdraw(desk: Desk, value: string, more = {}): Promise<Answer["body"]> {
  const made = await desk.withdraw(value, { destination: { address: CONTRACT }, ...more });
  equal(made.status, 201, made.text);
  return made.body;
}

async function speedUp(desk: Desk, id: string): Promise<Answer> {
  const body = { speed: "fast" };
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

/** What a withdrawal's user is charged for its fee. */
function charged(body: Answer["body"]): string {
  return Number(body.fee.value).toFixed(18).replace(/0+$/, "");
}

function times(amount: string, factor: bigint): string {
  return Array.from({ length: Number(factor) }, () => amount).reduce(add);
}

/** Multiplies what workers last saw of prices. */
async function dearer(desk: Desk, factor: bigint): Promise<void> {
  await rowsOf(desk.realm, `update fee_quotes set base = base * ${factor}, quoted_at = now()`);
}

/** Lets the scanner have seen one more block, and prices stay as they were seen. */
async function seeBlock(desk: Desk): Promise<void> {
  await rowsOf(desk.realm, "update chain_cursors set head = head + 1");
}

/** No transaction that was signed can cost more than its order may. */
async function bounded(desk: Desk): Promise<void> {
  const rows = await rowsOf<{ plan: string; budget: string }>(
    desk.realm,
    "select c.plan, o.budget::text from order_candidates c join orders o on o.id = c.order_id",
  );
  ok(rows.length > 0);
  for (const { plan, budget } of rows) {
    const { gas, max } = JSON.parse(JSON.parse(plan).body);
    ok(BigInt(gas) * BigInt(max) <= BigInt(budget), `${gas} gas at ${max} of ${budget}`);
  }
}

/** The chain holds what the ledger says, the audit finds nothing, and nothing drifts. */
async function sound(desk: Desk): Promise<void> {
  const held = BigInt(await desk.anvil.rpc<string>("eth_getBalance", desk.address, "latest"));
  const { world } = await desk.books();
  const { mismatches } = await checkLedger(desk.realm.pool);
  deepEqual(mismatches, []);
  const [{ funded }] = await rowsOf<{ funded: string }>(
    desk.realm,
    `select trim_scale(sum(amount))::text as funded from transactions where type = 'deposit'`,
  );
  const head = parseInt(await desk.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(desk.realm, "update chain_cursors set height = $1, head = $1", [head]);
  await checkSolvency({ ...desk.context, actor: { ...desk.context.actor, at: Date.now() } });
  const { body: [row] } = await desk.realm.admin.send("GET", "/v1/solvency?asset=ETH");
  const more = held + toUnits(world, 18);
  equal(toUnits(row.drift, 18), more, `${row.drift} of ${funded}`);
}
