/** Network costs of tokens that a customer has made, and whose price it sets itself. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { allAssets, CHAINS, nativeAsset } from "../../domain/assets.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { fromUnits, subtract } from "../../domain/money.ts";
import { CALLS } from "../support/nodes/anvil.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import {
  advance,
  availableAt,
  type Customer,
  customer,
  empty,
  ended,
  ETHER,
  FEES,
  moveCoins,
  others,
  quote,
  tokenDraw,
  total,
  units,
} from "../support/own_token.ts";
import { driftsOf, mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { type Answer, rowsOf, testRealm } from "../support/realm.ts";
import { type FaultyNode, NodeError, startFaultyNode } from "../support/nodes/faulty_node.ts";

Deno.test("withdrawals of a customer's own token are paid by its ramp's account, whatever rate it sets", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture, "realm");
  const { realm, user, ramp } = { ...mine, realm: fixture.realm };
  equal(
    (await user.send("PATCH", `/v1/currencies/${mine.currency}`, { rate: "1000000000" })).status,
    200,
  );
  await realm.admin.send("PUT", "/v1/rates", { base: "ETH", currency: "USD", rate: "3000" });
  await others(fixture, mine, 5n);
  const before = await total(fixture, ramp);
  const first = await tokenDraw(mine, "0.1");
  equal(first.status, 201, first.text);
  await ended(fixture, mine, first);
  await fixture.mine(3);
  const [{ fee }] = await rowsOf<{ fee: string }>(
    realm,
    "select fee::text from chain_orders where purpose = 'withdrawal'",
  );
  equal(units(before) - units(await total(fixture, ramp)), BigInt(fee), "to the last unit");
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
  equal((await realm.admin.send("GET", "/v1/solvency?asset=ETH")).body[0].solvent, true);
  // After a withdrawal of the ramp's own value nothing is left to pay with: the coins there are others'.
  await empty(fixture, mine);
  await quote(fixture);
  const refused = await tokenDraw(mine, "0.1");
  deepEqual([refused.status, refused.body.code], [409, "ramp.gas_insufficient"]);
  match(refused.body.detail, /the ramp's own account does not cover the gas/);
  const tried = await user.send("POST", "/v1/withdrawals?dry_run=true", {
    source: { account: mine.account },
    destination: { address: OUTSIDE },
    value: "0.1",
  });
  deepEqual([tried.status, tried.body.code], [409, "ramp.gas_insufficient"]);
  deepEqual(await rowsOf(realm, FEES), [{ total: "0" }]);
});

Deno.test("sweeps of a customer's own token wait until its ramp's account covers the gas, say so, and cost the house nothing", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture, "realm");
  const { realm } = fixture;
  await others(fixture, mine, 5n);
  await ended(fixture, mine, await tokenDraw(mine, "100"));
  await fixture.mine(3);
  await empty(fixture, mine);
  const made = await mine.user.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" });
  await realm.drain();
  const given = await mine.user.send("POST", `/v1/account/${made.body.id}/address`, {});
  equal(given.status, 201, given.text);
  await realm.drain();
  const { address } = given.body.address;
  const data = CALLS.encodeFunctionData("transfer", [address, 50n * 10n ** 6n]);
  await fixture.anvil.pool({ from: 5, to: mine.contract, data });
  const query = encodeURIComponent(JSON.stringify({ account: given.body.id }));
  const shown = async () =>
    (await mine.user.send("GET", `/v1/deposits/all?query=${query}`)).body[0];
  await mineUntil(fixture, async () => (await shown())?.forward?.status === "WAITING");
  for (let round = 0; round < 3; round++) await again(fixture);
  const waiting = await shown();
  deepEqual([waiting.forward.status, waiting.forward.error.code], [
    "WAITING",
    "ramp.gas_insufficient",
  ]);
  const told = "select 1 from events where type = 'ramp.gas_insufficient'";
  equal((await rowsOf(realm, told)).length, 1);
  deepEqual(
    await rowsOf(
      realm,
      "select 1 from chain_orders where purpose = 'gas' or contract <> '' and purpose = 'sweep'",
    ),
    [],
  );
  const { address: rampAddress } = (await fixture.account(mine.ramp)).ramp;
  await fixture.anvil.pool({ from: 4, to: rampAddress, value: ETHER });
  await mineUntil(fixture, async () => (await total(fixture, mine.ramp)) === "1");
  await again(fixture);
  await mineUntil(fixture, async () => (await shown()).forward?.status === "DONE");
  await fixture.mine(3);
  const [{ spent, left }] = await rowsOf<{ spent: string; left: string }>(
    realm,
    `select sum(fee + amount) filter (where purpose = 'gas')::text as spent,
      (sum(amount) filter (where purpose = 'gas') - sum(fee) filter (where purpose = 'sweep'))::text as left
      from chain_orders where purpose = 'gas' or contract <> '' and purpose = 'sweep'`,
  );
  // Gas that was sent ahead is paid for whole; the rest of it lies at the address, and is the house's.
  equal(ETHER - units(await total(fixture, mine.ramp)), BigInt(spent));
  deepEqual(await rowsOf(realm, FEES), [{ total: fromUnits(BigInt(left), 18) }]);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
});

Deno.test("the budget of an own token's withdrawals is blocked on the ramp's account: five do not rely on one balance, and nobody takes it away", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture, "realm");
  const { user, ramp } = mine;
  const first = await tokenDraw(mine);
  equal(first.status, 201, first.text);
  const { id, budget } = await orderOf(fixture, first);
  const whole = await total(fixture, ramp);
  equal(units(whole) - units(await availableAt(user, ramp)), BigInt(budget));
  const rest = BigInt(budget) * 3n / 2n;
  await empty(fixture, mine, fromUnits(units(await availableAt(user, ramp)) - rest, 18));
  const more = [];
  for (let one = 0; one < 4; one++) more.push(await tokenDraw(mine));
  deepEqual(more.map(({ status, body }) => body.code ?? status), [
    201,
    ...Array(3).fill("ramp.gas_insufficient"),
  ]);
  await empty(fixture, mine);
  equal(await availableAt(user, ramp), "0");
  const blocks = (await user.send("GET", `/v1/accounts/${ramp}/blocks`)).body.rows;
  equal(blocks.length, 2);
  for (const block of blocks) {
    const path = `/v1/accounts/${ramp}/blocks/${block.id}`;
    equal((await user.send("DELETE", path)).body.code, "permission.owner");
  }
  for (
    const [text, why] of [
      [
        "update blocks set status = 'RELEASED' where reference_id = $1",
        /stays blocked until it has ended/,
      ],
      ["update chain_orders set gas_block = null where id = $1", /is not blocked on the account/],
      [
        `update chain_orders set gas_block = (select gas_block from chain_orders where id <> $1
          and gas_block is not null) where id = $1`,
        /is not blocked on the account/,
      ],
    ] as const
  ) {
    await rejects(fixture.realm.command((tx) => tx.unsafe(text, [id])), why);
  }
  const before = await total(fixture, ramp);
  // Chain and ledger agree at every step, and what customers hold is covered.
  for (let round = 0; round < 5; round++) {
    await fixture.realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
    await fixture.mine();
    deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
    equal((await fixture.realm.admin.send("GET", "/v1/solvency?asset=ETH")).body[0].solvent, true);
  }
  for (const made of [first, more[0]]) await ended(fixture, mine, made);
  const spent = await spentOn(fixture, "withdrawal");
  equal(units(before) - units(await total(fixture, ramp)), spent, "to the last unit");
  equal(await availableAt(user, ramp), await total(fixture, ramp));
  deepEqual(await rowsOf(fixture.realm, FEES), [{ total: "0" }]);
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, []);
});

Deno.test("a speed-up of an own token's withdrawal blocks more on the ramp's account, or is refused", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture, "realm");
  const { user, ramp } = mine;
  await rate(fixture);
  const to = await empty(fixture, mine, "0.1");
  const whole = await total(fixture, ramp);
  const made = await tokenDraw(mine);
  equal(made.status, 201, made.text);
  const before = await orderOf(fixture, made);
  await fixture.anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x4a817c800");
  await fixture.anvil.mine();
  await quote(fixture);
  await moveCoins(user, [ramp, to], await availableAt(user, ramp));
  const path = `/v1/withdrawals/${made.body.id}`;
  const refused = await user.send("POST", `${path}/speed-up`, { speed: "fast" });
  deepEqual([refused.status, refused.body.code], [409, "ramp.gas_insufficient"]);
  deepEqual(await orderOf(fixture, made), before);
  await moveCoins(user, [to, ramp], subtract(await availableAt(user, to), "0.1"));
  const spedUp = await user.send("POST", `${path}/speed-up`, { speed: "fast" });
  equal(spedUp.status, 200, spedUp.text);
  const raised = await orderOf(fixture, made);
  ok(BigInt(raised.budget) > BigInt(before.budget));
  equal(units(whole) - units(await availableAt(user, ramp)), BigInt(raised.budget));
  equal((await user.send("POST", `${path}/cancel`)).status, 200);
  equal(await availableAt(user, ramp), whole);
  // Of one that would fail, and is never signed, nothing stays blocked.
  const vain = await tokenDraw(mine);
  equal(vain.status, 201, vain.text);
  await fixture.anvil.rpc("anvil_setCode", mine.contract, NO_TRANSFER);
  for (let round = 0; round < 2; round++) await advance(fixture);
  const { body } = await user.send("GET", `/v1/withdrawals/${vain.body.id}`);
  deepEqual([body.status, body.chain?.hash ?? null], ["FAILED", null], JSON.stringify(body));
  equal(await availableAt(user, ramp), whole);
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, []);
});

Deno.test("a canceled withdrawal of an own token is paid for: the filler by the ramp's account, and by the house where the house cancels", async () => {
  let faulty: FaultyNode | null = null;
  const through = (url: string) => (faulty = startFaultyNode(url)).url;
  await using fixture = await openRampFixture({ testnet: false, through });
  await using node = faulty!;
  const mine = await customer(fixture, "realm");
  const { user, ramp } = mine;
  const whole = units(await total(fixture, ramp));
  await cancelSigned(fixture, mine, (path) => user.send("POST", path));
  const own = await spentOn(fixture, "fill");
  ok(own > 0n);
  equal(whole - units(await total(fixture, ramp)), own);
  deepEqual(await rowsOf(fixture.realm, FEES), [{ total: "0" }]);
  await cancelSigned(fixture, mine, (path) => fixture.realm.admin.send("POST", path));
  equal(whole - units(await total(fixture, ramp)), own);
  const fills = await spentOn(fixture, "fill");
  deepEqual(await rowsOf(fixture.realm, FEES), [{ total: fromUnits(own - fills, 18) }]);
  // A transaction that no node takes is canceled by the house, for reasons of its own.
  const made = await tokenDraw(mine);
  let bytes: unknown = null;
  node.trick = ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return undefined;
    bytes ??= params[0];
    if (params[0] === bytes) throw new NodeError(-32000, "transaction type not supported");
    return undefined;
  };
  await advance(fixture);
  await advance(fixture);
  await rowsOf(fixture.realm, "update chain_orders set created_at = now() - interval '20 minutes'");
  const path = `/v1/withdrawals/${made.body.id}`;
  await mineUntil(fixture, async () => (await user.send("GET", path)).body.status === "FAILED");
  equal(whole - units(await total(fixture, ramp)), own);
  equal(await availableAt(user, ramp), await total(fixture, ramp));
  const spent = fills + await spentOn(fixture, "withdrawal");
  deepEqual(await rowsOf(fixture.realm, FEES), [{ total: fromUnits(own - spent, 18) }]);
  await fixture.mine(3);
  deepEqual(await driftsOf(fixture), [["ETH", "0"], ["GOLD_ETH", "0"]]);
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, []);
});

Deno.test("a holder of an own token that has no rate withdraws it five times a day at the ramp's cost, and no more", async () => {
  await using fixture = await openRampFixture({ testnet: false });
  const mine = await customer(fixture, "realm");
  const { realm } = fixture;
  const user = await realm.user();
  const account = (await user.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD_ETH" }))
    .body.id;
  await realm.drain();
  await moveCoins(mine.user, [mine.account, account], "10");
  const holder = { user, account };
  const statuses = [];
  for (let one = 0; one < 6; one++) {
    const { status, body } = await tokenDraw(holder, "0.000001");
    statuses.push(body.code ?? status);
  }
  deepEqual(statuses, [...Array(5).fill(201), "rate.limited"]);
  const [order, withdrawal] = [crypto.randomUUID(), crypto.randomUUID()];
  await rejects(
    realm.command(async (tx) => {
      await tx`set constraints withdrawals_sponsored immediate`;
      await tx`insert into chain_orders select (jsonb_populate_record(o, jsonb_build_object(
        'id', ${order}::uuid, 'reference_id', ${withdrawal}::uuid))).*
        from chain_orders o where purpose = 'withdrawal' limit 1`;
      await tx`insert into withdrawals select (jsonb_populate_record(w, jsonb_build_object(
        'id', ${withdrawal}::uuid, 'order_id', ${order}::uuid, 'account', w.ramp, 'transaction', null))).*
        from withdrawals w limit 1`;
    }),
    /pays for too many withdrawals of others/,
  );
  equal((await tokenDraw(mine)).status, 201, "the owner is not counted");
  await rate(fixture);
  const paid = await tokenDraw(holder, "1");
  equal(paid.status, 201, paid.text);
  ok(Number(paid.body.fee.value) > 0);
});

Deno.test("the database names the coin of each chain that carries tokens as the registry does", async () => {
  await using realm = await testRealm();
  for (const { id } of CHAINS) {
    const [{ coin }] = await rowsOf<{ coin: string | null }>(
      realm,
      "select chain_coin($1) as coin",
      [id],
    );
    const carries = allAssets().some((one) => one.chain === id && one.contract !== null);
    equal(coin, carries ? nativeAsset(id).code : null, id);
  }
});

/** Code of a token that has much of everything, and reverts each `transfer`. */
const NO_TRANSFER =
  "0x60003560e01c63a9059cbb1460205767ffffffffffffffff60005260206000f35b60006000fd";

/** Sets rates of the token and of the coin, so that a fee can be counted in the token. */
async function rate({ realm }: RampFixture): Promise<void> {
  for (const [base, rate] of [["ETH", "3000"], ["GOLD_ETH", "1"]]) {
    const set = await realm.admin.send("PUT", "/v1/rates", { base, currency: "USD", rate });
    equal(set.status, 200, set.text);
  }
}

/** Withdraws, cancels the signed withdrawal, and mines the filler of its nonce. */
async function cancelSigned(
  fixture: RampFixture,
  mine: Customer,
  cancel: (path: string) => Promise<Answer>,
): Promise<void> {
  const made = await tokenDraw(mine);
  equal(made.status, 201, made.text);
  let canceled: Answer | null = null;
  await advance(fixture, async (step) => {
    if (step === "stored") canceled ??= await cancel(`/v1/withdrawals/${made.body.id}/cancel`);
  });
  equal(canceled!.status, 200, canceled!.text);
  const open = "select 1 from chain_orders where purpose = 'fill' and state <> 'done'";
  await mineUntil(fixture, async () => (await rowsOf(fixture.realm, open)).length === 0);
}

async function orderOf(
  fixture: RampFixture,
  made: Answer,
): Promise<{ id: string; budget: string }> {
  const [order] = await rowsOf<{ id: string; budget: string }>(
    fixture.realm,
    "select id, budget::text from chain_orders where reference_id = $1",
    [made.body.id],
  );
  return order;
}

/** The network's fees for the orders of a purpose. */
async function spentOn(fixture: RampFixture, purpose: string): Promise<bigint> {
  const [{ spent }] = await rowsOf<{ spent: string }>(
    fixture.realm,
    "select coalesce(sum(fee), 0)::text as spent from chain_orders where purpose = $1 and height is not null",
    [purpose],
  );
  return BigInt(spent);
}

/** Makes waiting sweeps due at once, and mines. */
async function again(fixture: RampFixture): Promise<void> {
  await fixture.realm.command((tx) =>
    tx`update sweeps set updated_at = now() - interval '1 hour' where state = 'waiting'`
  );
  await quote(fixture);
  await fixture.mine(2);
}
