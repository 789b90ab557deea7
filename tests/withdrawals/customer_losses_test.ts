import { deepEqual, equal, ok } from "node:assert/strict";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { reading } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { BORNE, cappedBudgets } from "../../domain/sending/holder_losses.ts";
import { compare, fromUnits, toUnits } from "../../domain/money.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import { LITECOIN } from "../support/utxo_fixture.ts";
import {
  credit,
  type FundedRamp,
  openFundedRamp,
  OUTSIDE,
  workerContextOf,
} from "../support/evm_fixture.ts";
import { insideOne } from "../support/eventually.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { type Answer, rowsOf, type TestUser } from "../support/realm.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";

const testCoins = sharingUtxoRamp(
  "LTC: losses by customers of one ramp",
  LITECOIN,
  !hasLitecoind(),
);
const test = sharingFundedRamp("losses by customers of one ramp", { coins: 15n * 10n ** 18n });

const COIN = 10n ** 18n;
const DAY_MS = 86_400_000;
const BURNER = "0x00000000000000000000000000000000000b0b01";
/** A loop of a thousand rounds, each about 26 gas, then stop: more than twice what a payment takes. */
const BURNS = "0x620003e85b600190038060045700";
const ATTEMPTS = 6;

Deno.test("one customer whose destinations burn gas cannot bring the house to where withdrawals stop", async () => {
  await insideOne(DAY_MS);
  await using funded = await openFundedRamp({ coins: 15n * COIN });
  const { realm } = funded;
  await funded.anvil.rpc("anvil_setCode", BURNER, BURNS);
  const customer = await customerOf(funded);
  const first = await drawn(funded, customer, BURNER);
  const fee = toUnits((await costOf(funded, first.id)).fee, 18);
  await setLossMax(funded, fromUnits(4n * fee, 18));
  const ids = [first.id];
  for (let one = 1; one < ATTEMPTS; one++) ids.push((await drawn(funded, customer, BURNER)).id);
  const rows = await Promise.all(ids.map((id) => funded.read(id)));
  const done = rows.filter(({ status }) => status === "DONE");
  const waiting = rows.filter(({ status }) => status === "PROCESSING");
  ok(done.length > 0 && waiting.length > 0, JSON.stringify(rows.map(({ status }) => status)));
  for (const { history } of waiting) equal(history.at(-1).reason, BORNE);
  const lost = toUnits((await funded.books()).fees, 18);
  ok(lost < 0n && lost > -4n * fee, `${lost} of ${fee}`);
  const noted = await rowsOf<{ one: string; all: string }>(
    realm,
    `select o.lost::text as one, a.lost::text as all from holder_losses o join holder_losses a
      on (a.asset, a.day) = (o.asset, o.day) and a.holder = '00000000-0000-0000-0000-000000000000'
      where o.holder = $1`,
    [customer.user.identity],
  );
  deepEqual(noted.map(({ one, all }) => [Number(one) > 0, one === all]), [[true, true]]);
  await compared(funded);
  const [{ stopped }] = await rowsOf<{ stopped: boolean }>(realm, "select stopped from solvency");
  equal(stopped, false);
  // Others go on, as does the same customer where it costs no more than was charged.
  const other = await funded.withdraw("1");
  equal(other.status, 201, other.text);
  equal(await follow(funded, other.body.id), "DONE");
  const plain = await drawn(funded, customer, OUTSIDE, () => funded.anvil.mine());
  equal(plain.status, "DONE", JSON.stringify((await funded.read(plain.id)).history));
  const { cost, fee: charged } = await costOf(funded, plain.id);
  ok(compare(cost, charged) <= 0, `${cost} of ${charged}`);
  // A withdrawal canceled after its signature leaves a nonce that the house fills: not for this customer.
  const path = `/v1/withdrawals/${await asked(funded, customer, OUTSIDE)}`;
  let refused: Answer | null = null;
  await funded.advance(async (step) => {
    if (step === "stored") refused ??= await customer.user.send("POST", `${path}/cancel`);
  });
  deepEqual([refused!.status, refused!.body.code], [429, "rate.limited"], refused!.text);
  const canceled = await customer.user.send("POST", `/v1/withdrawals/${waiting[0].id}/cancel`);
  deepEqual([canceled.status, canceled.body.status], [200, "CANCELED"]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

test("a customer whose payments cost no more than was charged makes none dearer by a speed-up", async (funded) => {
  const { realm, anvil } = funded;
  const customer = await customerOf(funded);
  await rowsOf(
    realm,
    `insert into holder_losses (holder, asset, testnet, day, lost)
      select holder, asset, testnet, (now() at time zone 'utc')::date, 1 from accounts where id = $1`,
    [customer.account],
  );
  const id = await asked(funded, customer, BURNER);
  await funded.advance();
  const order =
    "select state, fee <= charged as covered from chain_orders where purpose = 'withdrawal'";
  deepEqual([...await rowsOf(realm, order)], [{ state: "sent", covered: true }]);
  await anvil.rpc("anvil_setCode", BURNER, BURNS);
  const path = `/v1/withdrawals/${id}/speed-up`;
  equal((await customer.user.send("POST", path, { speed: "fast" })).status, 200);
  await funded.advance();
  await funded.advance();
  const error = await rowsOf<{ error: string }>(realm, "select error from chain_orders");
  deepEqual([...await rowsOf(realm, order)], [{ state: "sent", covered: true }], error[0].error);
});

test("customers that one made, or all of them together, bring the house no closer to where withdrawals stop than one may", async (funded) => {
  const { realm } = funded;
  const chief = await realm.user({ role: "admin", scope: "own" });
  const made = [
    await realm.user({ role: "user", scope: "own" }),
    await realm.user({ role: "admin", scope: "own" }),
    await realm.user({ role: "user", scope: "own" }),
  ];
  // The chief makes the first two, and the second of them the third.
  await rowsOf(realm, "update users set owner = $1 where id in ($2, $3)", [
    chief.id,
    made[0].id,
    made[1].id,
  ]);
  await rowsOf(realm, "update users set owner = $1 where id = $2", [made[1].id, made[2].id]);
  const others = [await realm.user(), await realm.user(), await realm.user()];
  const customers: Customer[] = [];
  for (const user of [chief, ...made, ...others]) {
    customers.push({ user, account: await accountOf(funded, user) });
  }
  const lost = async (user: TestUser, amount: string) =>
    await rowsOf(
      realm,
      `insert into holder_losses (holder, asset, testnet, day, lost)
        select unnest(array[$1::uuid, '00000000-0000-0000-0000-000000000000'::uuid]), 'ETH', false,
          (now() at time zone 'utc')::date, $2::numeric
        on conflict (holder, asset, testnet, day) do update
          set lost = holder_losses.lost + excluded.lost`,
      [user.identity, amount],
    );
  const ids: string[] = [];
  for (const customer of customers) ids.push(await asked(funded, customer, OUTSIDE));
  const settings = { withdrawals: { ETH: { loss_max: "4", testnet_loss_max: "0" } } };
  const realmOf = { ...funded.context.actor.realm, ...settings };
  const capped = async () => {
    const found: boolean[] = [];
    for (const id of ids) {
      const [order] = await orderOf(funded, id);
      const caps = await reading(realm.pool, (db) => cappedBudgets(db, realmOf, [order]));
      found.push(caps.has(order.id));
    }
    return found;
  };
  const none = ids.map(() => false);
  deepEqual(await capped(), none);
  await lost(made[0], "0.4");
  await lost(made[2], "0.6");
  deepEqual(await capped(), none, "each is within a quarter, and so are all of them");
  await lost(chief, "0.1");
  deepEqual(await capped(), [true, true, true, true, false, false, false]);
  await lost(others[0], "0.5");
  deepEqual(await capped(), [true, true, true, true, false, false, false]);
  await lost(others[1], "0.5");
  deepEqual(await capped(), ids.map(() => true), "together they have lost more than a half");
});

testCoins(
  "a customer whose withdrawal leaves together with another's, which spends many coins, costs the house nothing by that",
  async (funded) => {
    const { realm } = funded;
    await funded.fund(...Array(10).fill(20_000_000n));
    await funded.quote();
    const { address } = await newParty("LITECOIN");
    const users = [await realm.user(), await realm.user()];
    const accounts: string[] = [];
    for (const user of users) {
      accounts.push(await accountOf({ realm, ramp: funded.ramp }, user, "LTC", true));
    }
    const made: Answer[] = [];
    for (const [at, value] of ["0.9", "0.1"].entries()) {
      const body = { source: { account: accounts[at] }, destination: { address }, value };
      made.push(await users[at].send("POST", "/v1/withdrawals", body));
      equal(made[at].status, 201, made[at].text);
    }
    const done = await funded.ended(made.map(({ body }) => body.id));
    equal(new Set(done.map(({ chain }) => chain.hash)).size, 1, "they left together");
    const lost = await rowsOf<{ lost: number; cost: number }>(
      realm,
      `select l.lost::float8 as lost, (w.cost - w.fee)::float8 as cost from withdrawals w
        join accounts a on a.id = w.account join holder_losses l on l.holder = a.holder order by w.id`,
    );
    equal(lost.length, 2);
    ok(lost[1].cost > 0, "the fee is divided evenly");
    ok(lost[0].lost < 0 && lost[1].lost < 0, JSON.stringify(lost));
    const sum = (of: "lost" | "cost") => Math.round((lost[0][of] + lost[1][of]) * 1e8);
    equal(sum("lost"), sum("cost"));
  },
);

testCoins(
  "the house's losses by a customer of a test network are limited by a part of that network's limit",
  async (funded) => {
    const { realm } = funded;
    await funded.fund(500_000_000n);
    const user = await realm.user();
    const account = await accountOf({ realm, ramp: funded.ramp }, user, "LTC", true);
    await funded.quote();
    const { address } = await newParty("LITECOIN");
    const made = await user.send("POST", "/v1/withdrawals", {
      ...{ source: { account }, destination: { address }, value: "0.1" },
    });
    equal(made.status, 201, made.text);
    await rowsOf(
      realm,
      `insert into holder_losses (holder, asset, testnet, day, lost)
        values ($1, 'LTC', true, (now() at time zone 'utc')::date, 1)`,
      [user.identity],
    );
    const [order] = await orderOf(funded, made.body.id);
    const capsWith = async (LTC: Record<string, string>) => {
      const settings = { ...funded.context.actor.realm, withdrawals: { LTC } };
      return (await reading(realm.pool, (db) => cappedBudgets(db, settings, [order]))).size;
    };
    equal(await capsWith({ loss_max: "1000", testnet_loss_max: "3" }), 1);
    equal(await capsWith({ loss_max: "3", testnet_loss_max: "1000" }), 0);
  },
);

async function orderOf({ realm }: Pick<FundedRamp, "realm">, id: string): Promise<OrderRow[]> {
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    "select order_id as order from withdrawals where id = $1",
    [id],
  );
  return [(await reading(realm.pool, (db) => selectOrder(db, order)))!];
}

/** A withdrawal's charge and its cost. */
async function costOf({ realm }: FundedRamp, id: string): Promise<{ cost: string; fee: string }> {
  const text = "select cost::text, fee::text from withdrawals where id = $1";
  return (await rowsOf<{ cost: string; fee: string }>(realm, text, [id]))[0];
}

type Customer = { user: TestUser; account: string };

/** Somebody with an account on the house's ramp. */
async function customerOf(funded: FundedRamp): Promise<Customer> {
  const user = await funded.realm.user();
  return { user, account: await accountOf(funded, user) };
}

async function accountOf(
  { realm, ramp }: Pick<FundedRamp, "realm" | "ramp">,
  user: TestUser,
  asset = "ETH",
  testnet = false,
): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/accounts", {
    ...{ type: "virtual", asset, testnet, ramp },
    ...{ owner: user.id, holder: user.identity },
  });
  equal(made.status, 201, made.text);
  await realm.drain();
  await credit(realm, made.body.id, "1");
  return made.body.id;
}

/** Withdraws a little, and follows it until it has ended or waits. */
async function drawn(
  funded: FundedRamp,
  customer: Customer,
  address: string,
  mine?: () => Promise<unknown>,
) {
  const id = await asked(funded, customer, address);
  return { id, status: await follow(funded, id, mine) };
}

/** Withdraws a little, at the price of this moment. */
async function asked(
  funded: FundedRamp,
  { user, account }: Customer,
  address: string,
): Promise<string> {
  const context = await workerContextOf(funded.realm);
  await refreshFees(context);
  context.chains.close();
  const made = await user.send("POST", "/v1/withdrawals", {
    ...{ source: { account }, destination: { address }, value: "0.01" },
  });
  equal(made.status, 201, made.text);
  return made.body.id;
}

async function follow(
  funded: FundedRamp,
  id: string,
  mine: () => Promise<unknown> = () => steady(funded),
): Promise<string> {
  for (let round = 0; round < 10; round++) {
    await funded.advance();
    const { status, history } = await funded.read(id);
    if (status !== "PROCESSING" || history.at(-1).event === "waiting") return status;
    await mine();
  }
  throw new Error(`withdrawal ${id} does not end`);
}

/** Mines at a price that stays. */
async function steady({ anvil }: FundedRamp): Promise<void> {
  await anvil.rpc("anvil_setNextBlockBaseFeePerGas", "0x3b9aca00");
  await anvil.mine();
}

async function setLossMax(funded: FundedRamp, loss_max: string): Promise<void> {
  const body = { withdrawals: { ETH: { loss_max } } };
  const set = await funded.realm.operator("PATCH", `/v1/realms/${funded.realm.id}`, body);
  equal(set.status, 200, set.text);
  const { actor } = funded.context;
  Object.assign(funded.context, { actor: { ...actor, realm: { ...actor.realm, ...body } } });
}

async function compared(funded: FundedRamp): Promise<void> {
  const head = parseInt(await funded.anvil.rpc<string>("eth_blockNumber"), 16);
  await rowsOf(funded.realm, "update chain_cursors set height = $1, head = $1", [head]);
  await checkSolvency({ ...funded.context, actor: { ...funded.context.actor, at: Date.now() } });
}

test("a customer whose payments cost no more than was charged makes none dearer by having others wait behind it", async (funded) => {
  const { realm, anvil } = funded;
  const customer = await customerOf(funded);
  await rowsOf(
    realm,
    `insert into holder_losses (holder, asset, testnet, day, lost)
      select holder, asset, testnet, (now() at time zone 'utc')::date, 1 from accounts where id = $1`,
    [customer.account],
  );
  const first = await asked(funded, customer, BURNER);
  await funded.advance();
  const second = (await funded.withdraw("1")).body.id;
  const base = BigInt(
    (await anvil.rpc<{ baseFeePerGas: string }>(
      "eth_getBlockByNumber",
      "latest",
      false,
    )).baseFeePerGas,
  );
  const dear = async () => {
    await anvil.rpc("anvil_setNextBlockBaseFeePerGas", `0x${(base * 5n / 2n).toString(16)}`);
    await anvil.mine();
  };
  await dear();
  await funded.advance();
  const paying = `select count(*)::integer as payments from order_attempts c
    join withdrawals w using (order_id) where w.id = $1 and not c.cancels`;
  for (const minutes of [4, 11]) {
    const ago = `now() - interval '${minutes} minutes'`;
    await rowsOf(realm, `update chain_orders set created_at = ${ago}`);
    await rowsOf(realm, `update order_attempts set created_at = ${ago}`);
    for (let round = 0; round < 3; round++) {
      await funded.advance();
      await dear();
    }
    deepEqual([...await rowsOf(realm, paying, [first])], [{ payments: 1 }]);
  }
  // Nobody waits for it longer than for others: what would cost too much is canceled.
  equal(await follow(funded, second, dear), "DONE");
  equal(await follow(funded, first, dear), "FAILED");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});
