import { deepEqual, equal, match, ok } from "node:assert/strict";
import { add, compare, subtract, toUnits } from "../../domain/money.ts";
import type { WithdrawalSettings } from "../../domain/withdrawal_settings.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { insideOne } from "../support/eventually.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { type Answer, rowsOf } from "../support/realm.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";

const test = sharingFundedRamp("costs of withdrawals from one ramp");

const DAY_MS = 86_400_000;
const CONTRACT = "0x00000000000000000000000000000000000b0b01";
const rounds = (count: number) => count.toString(16).padStart(6, "0");
/** A loop of so many rounds, each about 26 gas, then stop. */
const loop = (count: number) => `0x62${rounds(count)}5b600190038060045700`;
/** While the gas price is 0, as in an estimate: that loop. Else INVALID, which takes all gas. */
const trap = (count: number) => `0x3a601257` + `62${rounds(count)}5b600190038060085700` + "5bfe";

test("a destination whose code would cost more than the budget ends with withdrawal.fee_exceeded", async (funded) => {
  await funded.anvil.rpc("anvil_setCode", CONTRACT, loop(30_000));
  const made = await withdraw(funded, "0.001");
  const failed = await funded.finish(made.id);
  deepEqual([failed.status, failed.error.code], ["FAILED", "withdrawal.fee_exceeded"]);
  match(failed.error.detail, /at most \d+ may be spent/);
  equal(failed.chain, undefined);
  const signed = "select 1 from order_attempts";
  deepEqual(await rowsOf(funded.realm, signed), []);
  const { account, ramp, fees } = await funded.books();
  deepEqual([account, ramp, fees], ["10", "0", "0"]);
  await sound(funded);
});

test("a destination whose code stays within the budget is paid, and costs no more than that", async (funded) => {
  await funded.anvil.rpc("anvil_setCode", CONTRACT, loop(800));
  const made = await withdraw(funded, "0.001");
  const done = await funded.finish(made.id);
  equal(done.status, "DONE");
  const { fees } = await funded.books();
  ok(compare(fees, "0") < 0, "it cost more than was charged");
  ok(compare(add(fees, times(charged(made), 2n)), "0") >= 0, fees);
  await bounded(funded);
  await sound(funded);
});

test("a trap that shows a small estimate and burns all gas in the block costs its sender, again and again", async (funded) => {
  await funded.anvil.rpc("anvil_setCode", CONTRACT, trap(700));
  let left = "10";
  for (let round = 0; round < 3; round++) {
    // Blocks without payments have made gas cheaper than it was when prices were asked for.
    await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x2faf0800");
    await funded.anvil.mine();
    const made = await withdraw(funded, "0.001");
    const failed = await funded.finish(made.id);
    deepEqual([failed.status, failed.error.code], ["FAILED", "upstream.failed"]);
    const { account, ramp, fees } = await funded.books();
    deepEqual([ramp, fees], ["0", "0"]);
    const cost = subtract(left, account);
    ok(compare(cost, charged(made)) > 0, `the burnt gas of ${cost} is the sender's`);
    ok(compare(cost, times(charged(made), 3n)) <= 0, `${cost} is within the budget`);
    left = account;
  }
  const [{ within }] = await rowsOf<{ within: boolean }>(
    funded.realm,
    "select cost > 0 and cost <= charged as within from ramp_costs",
  );
  ok(within, "what the sender bears is not taken from the day of others");
  await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x2faf0800");
  await funded.anvil.mine();
  const bound = add(charged(await dryRun(funded)), "0.000000000000000001");
  const made = await withdraw(funded, "0.001", { max_fee: bound });
  const failed = await funded.finish(made.id);
  deepEqual([failed.status, failed.max_fee], ["FAILED", bound]);
  const { account, fees } = await funded.books();
  ok(compare(subtract(left, account), bound) <= 0, "a failure costs no more than its bound either");
  equal(fees, "0");
  await bounded(funded);
  await sound(funded);
});

test("a trap with next to no value in it takes nothing from the house", async (funded) => {
  await funded.anvil.rpc("anvil_setCode", CONTRACT, trap(1));
  const made = await withdraw(funded, "0.000000000000000001");
  const failed = await funded.finish(made.id);
  equal(failed.status, "FAILED");
  const { ramp, fees } = await funded.books();
  deepEqual([ramp, fees], ["0", "0"]);
  await sound(funded);
});

Deno.test("HOT_FEE_MAX_FACTOR says how many times its charge a withdrawal may cost", async () => {
  await using funded = await openFundedRamp({ env: { HOT_FEE_MAX_FACTOR: "1" } });
  const plain = await funded.withdraw("1");
  equal((await funded.finish(plain.body.id)).status, "DONE");
  await funded.anvil.rpc("anvil_setCode", CONTRACT, loop(800));
  const { id } = await withdraw(funded, "1");
  equal((await funded.finish(id)).error.code, "withdrawal.fee_exceeded");
  await bounded(funded);
});

test("the database keeps no plan that costs more than its budget", async (funded) => {
  const made = await funded.withdraw("1");
  await funded.advance();
  const raise = "update chain_orders set fee = budget + 1";
  const refused = await rowsOf(funded.realm, raise).then(() => null, (error) => error);
  equal(refused.constraint_name, "chain_orders_budget");
  const unbound = "update chain_orders set budget = null";
  const kept = await rowsOf(funded.realm, unbound).then(() => null, (error) => error);
  equal(kept.constraint_name, "chain_orders_budgeted");
  equal((await funded.finish(made.body.id)).status, "DONE");
});

Deno.test("a speed-up is paid for by its requester, once a block, and no number of them costs the house", async () => {
  await using funded = await openFundedRamp({ coins: 100n * 10n ** 18n });
  await funded.anvil.rpc("anvil_setCode", CONTRACT, loop(300));
  const made = await withdraw(funded, "0.001", { fee: { speed: "slow" } });
  await funded.advance();
  await dearer(funded, 2n);
  const first = await speedUp(funded, made.id);
  equal(first.status, 200, first.text);
  const paid = subtract(charged(first.body), charged(made));
  ok(compare(paid, "0") > 0);
  equal((await funded.books()).account, subtract("9.999", charged(first.body)));
  const again = await speedUp(funded, made.id);
  deepEqual([again.status, again.body.code], [429, "rate.limited"]);
  ok(again.headers.has("retry-after"));
  for (let block = 0; block < 30; block++) {
    await funded.advance();
    await seeBlock(funded);
    equal((await speedUp(funded, made.id)).status, 200);
  }
  const done = await funded.finish(made.id);
  equal(done.status, "DONE");
  const { fees } = await funded.books();
  ok(compare(add(fees, times(charged(done), 2n)), "0") >= 0, `${fees} of ${charged(done)}`);
  await bounded(funded);
  await sound(funded);
});

test("a speed-up whose fee is above the bound of its withdrawal is refused unless it raises that, and nothing is moved", async (funded) => {
  const fee = charged(await dryRun(funded));
  const made = await funded.withdraw("1", { max_fee: fee });
  equal(made.status, 201, made.text);
  await funded.advance();
  await dearer(funded, 2n);
  for (const more of [{}, { max_fee: fee }]) {
    const refused = await speedUp(funded, made.body.id, more);
    deepEqual([refused.body.code, refused.body.errors[0].path], ["condition.failed", "/max_fee"]);
  }
  equal((await speedUp(funded, made.body.id, { max_fee: "1e2" })).body.code, "request.invalid");
  equal((await funded.books()).account, subtract("9", fee));
  deepEqual(await rowsOf(funded.realm, "select replace from chain_orders"), [{ replace: false }]);
  const bound = times(fee, 4n);
  const raised = await speedUp(funded, made.body.id, { max_fee: bound });
  deepEqual([raised.status, raised.body.max_fee], [200, bound], raised.text);
  for (
    const [change, constraint] of [
      ["max_fee = max_fee - 1e-18", "withdrawals_ended"],
      ["max_fee = null", "withdrawals_ended"],
      ["fee = max_fee + 1e-18, charged = amount + max_fee + 1e-18", "withdrawals_max_fee"],
    ]
  ) {
    const { constraint_name } = await rowsOf(funded.realm, `update withdrawals set ${change}`)
      .then(() => ({ constraint_name: null }), (error) => error);
    equal(constraint_name, constraint, change);
  }
  equal((await funded.finish(made.body.id)).status, "DONE");
  await bounded(funded);
  await sound(funded);
});

Deno.test("a speed-up that the balance does not cover is refused, and nothing is moved", async () => {
  await using funded = await openFundedRamp({ total: "1" });
  const { body: estimate } = await funded.realm.admin.send(
    "GET",
    `/v1/withdrawals/estimate?account=${funded.account}&address=${CONTRACT}&amount=1&speed=slow`,
  );
  const made = await funded.withdraw(subtract("1", estimate), { fee: { speed: "slow" } });
  equal(made.status, 201, made.text);
  await funded.advance();
  await dearer(funded, 2n);
  const refused = await speedUp(funded, made.body.id);
  deepEqual([refused.status, refused.body.code], [409, "balance.insufficient"]);
  deepEqual(await rowsOf(funded.realm, "select replace from chain_orders"), [{ replace: false }]);
  equal((await funded.finish(made.body.id)).status, "DONE");
  await sound(funded);
});

test("a speed-up of a withdrawal whose receiver pays is charged to the sender, and comes back with the rest", async (funded) => {
  const more = { fee: { paid_by: "receiver", speed: "slow" } };
  const made = await funded.withdraw("1", more);
  await dearer(funded, 2n);
  const sped = await speedUp(funded, made.body.id);
  equal(sped.status, 200, sped.text);
  equal(sped.body.value, 1);
  const canceled = await funded.realm.admin.send("POST", `/v1/withdrawals/${made.body.id}/cancel`);
  equal(canceled.status, 200, canceled.text);
  const { account, ramp, fees } = await funded.books();
  deepEqual([account, ramp, fees], ["10", "0", "0"]);
  await sound(funded);
});

Deno.test("the daily limit of a ramp's network costs stops its signing, is reported once, and ends with a higher limit", async () => {
  await using funded = await openFundedRamp();
  await insideOne(DAY_MS);
  await setWithdrawals(funded, { ETH: { daily_cost: "0.00001" } });
  const first = await funded.withdraw("1");
  equal((await funded.finish(first.body.id)).status, "DONE");
  const [spent] = await rowsOf<{ cost: string; charged: string }>(
    funded.realm,
    "select cost::text, charged::text from ramp_costs",
  );
  const [order] = await rowsOf(
    funded.realm,
    "select fee::text as cost, charged::text from chain_orders",
  );
  deepEqual(spent, order);
  const ids = [];
  for (let count = 0; count < 2; count++) {
    const made = await funded.withdraw("1");
    equal(made.status, 201, made.text);
    ids.push(made.body.id);
    await funded.advance();
    await funded.advance();
    const { status, history, chain } = await funded.read(made.body.id);
    deepEqual([status, chain], ["PROCESSING", undefined]);
    match(history.at(-1).reason, /has cost the ramp .* ETH today, of 0.00001/);
  }
  const told = "select 1 from events where type = 'ramp.cost_limited'";
  equal((await rowsOf(funded.realm, told)).length, 1);
  await setWithdrawals(funded, { ETH: { daily_cost: "1" } });
  for (const id of ids) equal((await funded.finish(id)).status, "DONE");
  await sound(funded);
});

Deno.test("withdrawals that are planned at the same moment pass neither the day's limit of their ramp nor its balance", async (t) => {
  await using funded = await openFundedRamp({ coins: 100n * 10n ** 18n, total: "100" });
  await insideOne(DAY_MS);
  const toHex = (value: string) => `0x${toUnits(value, 18).toString(16)}`;
  const made = async (value: string, before: () => Promise<unknown> = () => Promise.resolve()) => {
    for (let count = 0; count < 8; count++) await funded.withdraw(value);
    await before();
    const orders = await rowsOf<{ order: string; version: number }>(
      funded.realm,
      "select id as order, schedule_version as version from chain_orders where state = 'new'",
    );
    await Promise.all(orders.map((seen) => advanceOrder(funded.context, seen)));
  };
  await t.step("the limit", async () => {
    await setWithdrawals(funded, { ETH: { daily_cost: "0.0001" } });
    await made("1");
    const [{ fee, signed }] = await rowsOf<{ fee: string; signed: number }>(
      funded.realm,
      "select max(fee)::text as fee, count(fee)::integer as signed from chain_orders",
    );
    // The one that reaches the limit is the last.
    equal(signed, Number((toUnits("0.0001", 18) - 1n) / BigInt(fee)) + 1);
    ok(signed > 1 && signed < 8, `${signed} were signed`);
    await setWithdrawals(funded, { ETH: { daily_cost: "1" } });
    for (const row of await rowsOf<{ id: string }>(funded.realm, "select id from withdrawals")) {
      equal((await funded.finish(row.id)).status, "DONE");
    }
  });
  await t.step("the balance", async () => {
    await funded.refreshBalances();
    await made("1", () => funded.anvil.rpc("anvil_setBalance", funded.address, toHex("2.5")));
    const open = "select id from chain_orders where state = 'sent'";
    equal((await rowsOf(funded.realm, open)).length, 2);
    await funded.anvil.rpc("anvil_setBalance", funded.address, toHex("80"));
    for (const row of await rowsOf<{ id: string }>(funded.realm, "select id from withdrawals")) {
      equal((await funded.finish(row.id)).status, "DONE");
    }
  });
  await t.step("transactions mined and booked since the balance was read", async () => {
    await funded.anvil.rpc("anvil_setBalance", funded.address, toHex("2.5"));
    await funded.withdraw("2");
    await funded.advance();
    const seen = async () =>
      (await rowsOf<{ order: string; version: number; state: string }>(
        funded.realm,
        "select id as order, schedule_version as version, state from chain_orders order by id desc limit 2",
      )).toReversed();
    await funded.withdraw("2");
    const [, second] = await seen();
    await advanceOrder(funded.context, second, async (step) => {
      if (step !== "drafted") return;
      for (let round = 0; round < 4; round++) {
        await funded.anvil.mine();
        await advanceOrder(funded.context, (await seen())[0]);
      }
    });
    deepEqual((await seen()).map(({ state }) => state), ["done", "new"]);
  });
});

Deno.test("without a setting a day may cost twice the charges, and an allowance", async () => {
  await using funded = await openFundedRamp();
  await insideOne(DAY_MS);
  const burnt = `insert into ramp_costs (ramp, day, cost, charged)
    select $1, (now() at time zone 'utc')::date, base * 2250, base * 1000 from fee_quotes
    where contract = '' and speed = 'medium'
    on conflict (ramp, day, contract) do update set cost = excluded.cost + $2::numeric`;
  const ramp = `${funded.ramp}`;
  await rowsOf(funded.realm, burnt.replace("2250", "2249"), [ramp, "0"]);
  const first = await funded.withdraw("1");
  equal((await funded.finish(first.body.id)).status, "DONE");
  await rowsOf(funded.realm, burnt, [ramp, `${10n ** 18n}`]);
  const second = await funded.withdraw("1");
  await funded.advance();
  equal((await funded.read(second.body.id)).history.at(-1).event, "waiting");
  const canceled = await funded.realm.admin.send(
    "POST",
    `/v1/withdrawals/${second.body.id}/cancel`,
  );
  equal(canceled.body.status, "CANCELED", canceled.text);
  await sound(funded);
});

/** Changes what the realm sets of withdrawals, and lets the funded's workers know. */
async function setWithdrawals(funded: FundedRamp, withdrawals: WithdrawalSettings): Promise<void> {
  const path = `/v1/realms/${funded.realm.id}`;
  const answer = await funded.realm.admin.send("PATCH", path, { withdrawals });
  equal(answer.status, 200, answer.text);
  deepEqual(answer.body.withdrawals, withdrawals);
  funded.context.actor.realm = { ...funded.context.actor.realm, withdrawals };
}

/** Withdraws to the contract; gives what was answered. */
async function withdraw(funded: FundedRamp, value: string, more = {}): Promise<Answer["body"]> {
  const made = await funded.withdraw(value, { destination: { address: CONTRACT }, ...more });
  equal(made.status, 201, made.text);
  return made.body;
}

/** Shows a withdrawal to the contract that is not made. */
async function dryRun({ realm, account: of }: FundedRamp): Promise<Answer["body"]> {
  const body = { source: { account: of }, destination: { address: CONTRACT }, value: "0.001" };
  return (await realm.admin.send("POST", "/v1/withdrawals?dry_run=true", body)).body;
}

async function speedUp(funded: FundedRamp, id: string, more = {}): Promise<Answer> {
  const body = { speed: "fast", ...more };
  return await funded.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, body);
}

/** The fee charged to a withdrawal's user. */
function charged(body: Answer["body"]): string {
  return Number(body.fee.value).toFixed(18).replace(/0+$/, "");
}

function times(amount: string, factor: bigint): string {
  return Array.from({ length: Number(factor) }, () => amount).reduce(add);
}

/** Multiplies what workers last saw of prices. */
async function dearer(funded: FundedRamp, factor: bigint): Promise<void> {
  await rowsOf(funded.realm, `update fee_quotes set base = base * ${factor}, quoted_at = now()`);
}

/** Lets the scanner have seen one more block, and prices stay as they were seen. */
async function seeBlock(funded: FundedRamp): Promise<void> {
  await rowsOf(funded.realm, "update chain_cursors set head = head + 1");
}

/** No transaction that was signed can cost more than its order may. */
async function bounded(funded: FundedRamp): Promise<void> {
  const rows = await rowsOf<{ plan: string; budget: string }>(
    funded.realm,
    "select c.plan, o.budget::text from order_attempts c join chain_orders o on o.id = c.order_id",
  );
  ok(rows.length > 0);
  for (const { plan, budget } of rows) {
    const { gas, max } = JSON.parse(JSON.parse(plan).body);
    ok(BigInt(gas) * BigInt(max) <= BigInt(budget), `${gas} gas at ${max} of ${budget}`);
  }
}

/** The chain holds what the ledger says, the audit finds nothing, and nothing drifts. */
async function sound(funded: FundedRamp): Promise<void> {
  const held = BigInt(await funded.anvil.rpc<string>("eth_getBalance", funded.address, "latest"));
  const { world } = await funded.books();
  const { mismatches } = await checkLedger(funded.realm.pool);
  deepEqual(mismatches, []);
  const [{ received }] = await rowsOf<{ received: string }>(
    funded.realm,
    `select trim_scale(sum(amount))::text as received from transactions where type = 'deposit'`,
  );
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1, head = $1", [head]);
  await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at: Date.now() } });
  const { body: [row] } = await funded.realm.admin.send("GET", "/v1/solvency?asset=ETH");
  const more = held + toUnits(world, 18);
  equal(toUnits(row.drift, 18), more, `${row.drift} of ${received}`);
}
