import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { sumInFlight } from "../../db/orders.ts";
import { reading } from "../../db/transaction.ts";
import { toUnits } from "../../domain/money.ts";
import { divideFee } from "../../domain/payouts.ts";
import { type Step, STEPS } from "../../workers/order_work.ts";
import { checkSolvency } from "../../workers/solvency.ts";
import {
  COIN,
  type CoinDesk,
  LITECOIN,
  openCoinDesk,
  type Play,
  PLAYS,
} from "../support/coin_desk.ts";
import { startBcash } from "../support/bcash.ts";
import { hasLitecoind } from "../support/litecoind.ts";
import { rowsOf } from "../support/realm.ts";
import { newParty } from "./chains/bitcoin/stage.ts";

const ignore = !hasLitecoind();
const MANY = 25;
const DISAGREES = /does not agree with what it carries/;

/** Withdrawals that wait side by side, and to whom they are paid. */
interface Queue {
  readonly ids: readonly string[];
  readonly to: readonly string[];
}

for (const play of PLAYS.filter(({ id }) => id === "LITECOIN" || id === "BITCOIN_CASH")) {
  Deno.test({
    name: `${play.asset}: withdrawals made at once leave together, each a record of its own`,
    ignore: ignore && play.start !== startBcash,
    fn: async () => {
      await using desk = await openCoinDesk(play);
      await desk.fund(3n * COIN, 3n * COIN, 3n * COIN);
      const { ids, to } = await queue(desk, play, MANY);
      await desk.realm.drain(); // the runner itself, many at once
      const rows = await desk.ended(ids);
      deepEqual(rows.map(({ status }) => status), Array(MANY).fill("DONE"));
      const hashes = new Set(rows.map(({ chain }) => chain.hash));
      ok(hashes.size <= 3, `${hashes.size} transactions`);
      for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
      await feesDivided(desk);
      await desk.agree();
    },
  });
}

Deno.test({
  name: "LTC: payouts that end at any step and begin anew pay each withdrawal exactly once",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(10n * COIN, 10n * COIN);
    for (const step of STEPS) {
      await t.step(`a worker that ends at "${step}"`, async () => {
        const queued = await queue(desk, LITECOIN, 4);
        const reached = { done: false };
        for (let round = 0; !reached.done && round < 5; round++) {
          await crashAt(desk, step, reached);
          await desk.node.mine();
        }
        ok(reached.done, `nobody passed ${step}`);
        await desk.ended(queued.ids);
        await paidOnce(desk, queued);
        equal(await payoutsOf(desk, queued), 1);
      });
    }
    for (const step of ["drafted", "planned", "signed", "stored", "sending"] as const) {
      await t.step(`a speed-up that ends at "${step}"`, async () => {
        const queued = await queue(desk, LITECOIN, 4, { fee: { speed: "slow" } });
        await desk.look();
        await desk.look();
        const before = (await desk.withdrawal(queued.ids[0])).chain.hash;
        equal((await speedUp(desk, queued.ids[2])).status, 200);
        ok((await crashAt(desk, step)).done);
        await desk.look(); // before a block takes the first
        const rows = await desk.ended(queued.ids);
        await paidOnce(desk, queued);
        for (const { chain } of rows) notEqual(chain.hash, before);
      });
    }
    await feesDivided(desk);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: two workers at once pay what they find waiting exactly once",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN, 5n * COIN, 5n * COIN);
    const queued = await queue(desk, LITECOIN, 6);
    for (let round = 0; round < 4; round++) {
      await Promise.all([desk.look(), desk.look(), desk.look()]);
      await desk.node.mine();
    }
    const more = await queue(desk, LITECOIN, 6);
    await Promise.all([desk.realm.drain(), desk.realm.drain()]);
    await desk.ended([...queued.ids, ...more.ids]);
    await paidOnce(desk, queued);
    await paidOnce(desk, more);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: who is canceled while nothing has left is not paid, and the others are",
  ignore,
  fn: async (t) => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(10n * COIN);
    for (const step of ["planned", "signed", "stored"] as const) {
      await t.step(`canceled at "${step}"`, async () => {
        const { ids, to } = await queue(desk, LITECOIN, 4);
        await crashAt(desk, "planned");
        if (step !== "planned") await crashAt(desk, step);
        equal((await statesOf(desk, ids)).join(), "joined,joined,joined,joined");
        await rowsOf(desk.realm, "delete from jobs"); // whoever goes on is told by what follows
        const answer = await cancel(desk, ids[1]);
        deepEqual([answer.status, answer.body.status], [200, "CANCELED"], answer.text);
        equal((await statesOf(desk, ids)).join(), "new,canceled,new,new");
        const rest = { ids: ids.filter((_, at) => at !== 1), to: to.filter((_, at) => at !== 1) };
        await desk.ended(rest.ids);
        const sizes = [sizeOf(0), sizeOf(2), sizeOf(3)];
        for (const [at, address] of rest.to.entries()) {
          deepEqual(await desk.held(address), [sizes[at]]);
        }
        deepEqual(await desk.held(to[1]), []);
      });
    }
    await t.step("too late once bytes may have left", async () => {
      const queued = await queue(desk, LITECOIN, 3);
      await desk.look();
      await desk.look();
      const late = await cancel(desk, queued.ids[1]);
      deepEqual([late.status, late.body.code], [409, "withdrawal.not_cancelable"]);
      await desk.ended(queued.ids);
      await paidOnce(desk, queued);
    });
    await desk.agree();
    deepEqual(await rowsOf(desk.realm, "select claim from claims"), []);
  },
});

Deno.test({
  name: "LTC: what a payout takes is counted once on its way, and the books agree at every step",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const { ids } = await queue(desk, LITECOIN, 4);
    const place = { chain: "LITECOIN", network: "regtest", sender: desk.address, contract: "" };
    const flying = () =>
      reading(desk.realm.pool, (db) => sumInFlight(db, place, { height: null, waiting: true }));
    const due = sizeOf(0) + sizeOf(1) + sizeOf(2) + sizeOf(3);
    equal(BigInt(await flying()), due);
    await crashAt(desk, "planned");
    const [{ fee }] = await rowsOf<{ fee: string }>(
      desk.realm,
      "select fee::text from orders where purpose = 'payout'",
    );
    equal(BigInt(await flying()), due + BigInt(fee));
    await desk.look();
    equal(BigInt(await flying()), due + BigInt(fee));
    await desk.node.mine();
    await desk.follow();
    await checkSolvency(desk.bench);
    const [{ drift, sending }] = await rowsOf<{ drift: string; sending: string }>(
      desk.realm,
      "select trim_scale(drift)::text as drift, sending::text from solvency",
    );
    deepEqual([drift, toUnits(sending, 8)], ["0", due + BigInt(fee)]);
    await desk.ended(ids);
    equal(await flying(), "0");
    await checkSolvency(desk.bench);
    const after = "select trim_scale(drift)::text as drift, trim_scale(sending)::text as sending";
    deepEqual(await rowsOf(desk.realm, `${after} from solvency`), [{ drift: "0", sending: "0" }]);
  },
});

Deno.test({
  name: "LTC: a reorganisation takes a payout's block, and each is paid once all the same",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const queued = await queue(desk, LITECOIN, 3);
    await desk.look();
    await desk.look();
    await desk.node.mine();
    await desk.look();
    const mined = (await desk.withdrawal(queued.ids[0])).chain;
    equal(mined.confirmations, 1);
    await desk.node.reorganise(1);
    await desk.look();
    const lost = (await desk.withdrawal(queued.ids[0])).chain;
    deepEqual([lost.block, lost.confirmations, lost.hash], [null, 0, mined.hash]);
    const rows = await desk.ended(queued.ids);
    for (const { chain } of rows) ok(chain.block > mined.block);
    await paidOnce(desk, queued);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: a payout whose coin another transaction takes pays nobody and gives all back",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const { ids, to } = await queue(desk, LITECOIN, 3);
    await desk.look();
    await desk.look();
    await desk.node.mine();
    await desk.look(); // seen in a block that is about to go
    const height = await desk.node.rpc<number>("getblockcount");
    await desk.node.rpc("invalidateblock", await desk.node.rpc("getblockhash", height));
    const [{ claim }] = await rowsOf<{ claim: string }>(desk.realm, "select claim from claims");
    await desk.rob((await newParty("LITECOIN")).address, claim);
    const rows = await desk.ended(ids);
    deepEqual(rows.map(({ status }) => status), ["FAILED", "FAILED", "FAILED"]);
    for (const address of to) deepEqual(await desk.held(address), []);
    const costs = "select cost from withdrawals where cost is not null";
    deepEqual(await rowsOf(desk.realm, costs), []);
    equal((await desk.realm.balance(desk.ramp)).available, "5");
  },
});

Deno.test({
  name: "LTC: what the coins do not suffice for waits, and holds nobody up",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(2n * COIN, 30n * COIN);
    const large = await newParty("LITECOIN");
    const first = await pay(desk, large.address, "20");
    const queued = await queue(desk, LITECOIN, 5);
    // Somebody else's for a while.
    await rowsOf(
      desk.realm,
      `insert into claims (chain, network, claim, order_id, created_at)
        select chain, network, hash || ':' || index, gen_random_uuid(), now() from coins
        where amount = 3000000000`,
    );
    for (let round = 0; round < 3; round++) await desk.look();
    equal((await statesOf(desk, [first])).join(), "new");
    equal((await statesOf(desk, queued.ids)).join(), "joined,joined,joined,joined,joined");
    const waits = "select id from withdrawals where status = 'PROCESSING' and hash is null";
    deepEqual(await rowsOf(desk.realm, waits), [{ id: first }]);
    await rowsOf(
      desk.realm,
      `delete from claims c using coins o
        where o.hash || ':' || o.index = c.claim and o.amount = 3000000000`,
    );
    await desk.ended([first, ...queued.ids]);
    await paidOnce(desk, queued);
    deepEqual(await desk.held(large.address), [20n * COIN]);
    await desk.agree();
  },
});

Deno.test({
  name: "LTC: what may happen to a payout's orders is held by the database too",
  ignore,
  fn: async () => {
    await using desk = await openCoinDesk(LITECOIN);
    await desk.fund(5n * COIN);
    const { ids } = await queue(desk, LITECOIN, 3);
    await crashAt(desk, "planned");
    const orphan = "update orders set carrier = null where state = 'joined'";
    await rejects(rowsOf(desk.realm, orphan), /orders_joined/);
    const loose = "update orders set state = 'new' where state = 'joined'";
    await rejects(rowsOf(desk.realm, loose), /orders_carrier/);
    const fewer = `update orders set state = 'new', carrier = null
      where subject = '${ids[0]}'`;
    await rejects(rowsOf(desk.realm, fewer), DISAGREES);
    const strange = `update orders set carrier = id where subject = '${ids[0]}'`;
    await rejects(rowsOf(desk.realm, strange), DISAGREES);
    const ended = "update orders set state = 'failed' where purpose = 'payout'";
    await rejects(rowsOf(desk.realm, ended), DISAGREES);
    const alone = `update orders set state = 'failed' where subject = '${ids[0]}'`;
    await rejects(rowsOf(desk.realm, alone), DISAGREES);
    const unshared = `update orders set state = 'failed'
      where purpose = 'payout' or state = 'joined'`;
    await rejects(rowsOf(desk.realm, unshared), DISAGREES);
    const empty = `insert into orders (id, chain, network, ramp, purpose, sender, wish, created_at)
      select gen_random_uuid(), chain, network, ramp, 'payout', sender, wish, now()
      from orders where purpose = 'payout'`;
    await rejects(rowsOf(desk.realm, empty), DISAGREES);
  },
});

Deno.test("a fee is divided among a payout's members to the last base unit", () => {
  for (const [fee, members] of [[0n, 3], [1n, 3], [1_000n, 7], [999_999_999_999n, 100]] as const) {
    const shares = divideFee(fee, members);
    equal(shares.length, members);
    equal(shares.reduce((sum, share) => sum + share, 0n), fee);
    ok(shares[0] - shares[members - 1] <= 1n);
  }
});

/** What the withdrawal of a queue with this number is about, in base units. */
function sizeOf(at: number): bigint {
  return COIN / 10n + BigInt(at) * 1_000n;
}

/** Makes withdrawals from the ramp, each of another size and to somebody else. */
async function queue(
  desk: CoinDesk,
  { id }: Play,
  count: number,
  more: Record<string, unknown> = {},
): Promise<Queue> {
  const to = [];
  for (let at = 0; at < count; at++) to.push((await newParty(id)).address);
  const ids = [];
  await desk.quote();
  for (const [at, address] of to.entries()) {
    const value = `0.${`${sizeOf(at)}`.padStart(8, "0")}`;
    ids.push(await pay(desk, address, value, more));
  }
  return { ids, to };
}

async function pay(
  desk: CoinDesk,
  to: string,
  value: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  return await desk.withdraw(to, value, { source: { account: desk.ramp }, ...more });
}

/** Each has what it should have, in one piece. */
async function paidOnce(desk: CoinDesk, { ids, to }: Queue): Promise<void> {
  for (const id of ids) equal((await desk.withdrawal(id)).status, "DONE");
  for (const [at, address] of to.entries()) deepEqual(await desk.held(address), [sizeOf(at)]);
}

async function payoutsOf(desk: CoinDesk, { ids }: Queue): Promise<number> {
  const rows = await Promise.all(ids.map((id) => desk.withdrawal(id)));
  return new Set(rows.map(({ chain }) => chain.hash)).size;
}

/** The shares of each payout add up to what the chain took for it. */
async function feesDivided(desk: CoinDesk): Promise<void> {
  const rows = await rowsOf<{ fee: string; shares: string; costs: string }>(
    desk.realm,
    `select p.fee::text as fee, sum(m.fee)::text as shares,
        trim_scale(sum(w.cost) * 100000000)::text as costs
      from orders p join orders m on m.carrier = p.id join withdrawals w on w.order_id = m.id
      where p.state = 'done' group by p.id`,
  );
  ok(rows.length > 0);
  for (const { fee, shares, costs } of rows) deepEqual([shares, costs], [fee, fee]);
}

async function statesOf(desk: CoinDesk, ids: readonly string[]): Promise<string[]> {
  const rows = await rowsOf<{ state: string }>(
    desk.realm,
    `select state from orders where subject in ('${ids.join("','")}') order by id`,
  );
  return rows.map(({ state }) => state);
}

/** Ends a worker at a step, and notes whether it got there. */
async function crashAt(
  desk: CoinDesk,
  step: Step,
  reached: { done: boolean } = { done: false },
): Promise<{ done: boolean }> {
  try {
    await desk.look((passed) => {
      if (passed !== step) return;
      reached.done = true;
      throw new Error("the worker has ended");
    });
  } catch (error) {
    if (!reached.done) throw error;
  }
  return reached;
}

async function speedUp(desk: CoinDesk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, { speed: "fast" });
}

async function cancel(desk: CoinDesk, id: string) {
  return await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`);
}
