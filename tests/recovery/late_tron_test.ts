/** Payments and sweeps on Tron that were given up as expired, and are mined all the same: the books agree with the chain. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { findAsset } from "../../domain/assets.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import { renewOrder, scheduleOrder } from "../../domain/sending/chain_orders.ts";
import {
  dateQuarantines,
  haltRealm,
  keepRealm,
  reconcile,
  restoreRealm,
} from "../support/installation.ts";
import { parseTransaction } from "../support/nodes/tron/messages.ts";
import { newTronParty } from "../support/nodes/tron/wallet.ts";
import { rowsOf } from "../support/realm.ts";
import { sharingTronRamp } from "../support/kept_tron_ramps.ts";
import { payToken, type TronRamp } from "../support/tron_fixture.ts";

const test = sharingTronRamp("payments and sweeps on Tron that were given up", {
  total: 500_000_000n,
});
const testTokens = sharingTronRamp("sweeps of tokens on Tron that were given up", {
  ...{ asset: "USDT_TRON", gas: 500_000_000n },
});

const nobody = () => fail("nobody is asked");

/** Keeps bytes back that are to be sent for a purpose, and says that they were taken. */
function keepBack({ node, realm }: TronRamp, purpose: string): string[] {
  const kept: string[] = [];
  node.trick = async ({ path, body }) => {
    if (!path.endsWith("broadcasthex")) return undefined;
    const raw = String(body.transaction);
    const [order] = await rowsOf<{ purpose: string }>(
      realm,
      "select purpose from chain_orders where hash = $1",
      [parseTransaction(raw).id],
    );
    if (order.purpose !== purpose) return undefined;
    if (!kept.includes(raw)) kept.push(raw);
    return { result: true, txid: parseTransaction(raw).id };
  };
  return kept;
}

/** Gives up what was sent for the newest order, as it is where all nodes call it expired. */
async function giveUp({ realm, context, node }: TronRamp): Promise<[order: string, hash: string]> {
  const [sent] = await rowsOf<{ order: string; hash: string; time: string }>(
    realm,
    `select order_id as order, hash, expires ->> 'time' as time from order_attempts
      where not dropped order by created_at desc limit 1`,
  );
  const actor = { ...context.actor, at: Date.now() };
  const proof = { proof: "expired", by: null, height: 1, reached: Number(sent.time) + 1 } as const;
  await realm.command(async (tx) => {
    await renewOrder(tx, actor, (await lockOrder(tx, sent.order))!, proof);
    await scheduleOrder(tx, actor, sent.order);
  });
  node.trick = () => undefined;
  return [sent.order, sent.hash];
}

async function send({ node }: TronRamp, raw: string): Promise<void> {
  const { trick } = node;
  node.trick = () => undefined;
  const body = JSON.stringify({ transaction: raw });
  const answer = await fetch(`${node.url}/wallet/broadcasthex`, { method: "POST", body });
  const told = await answer.json();
  ok(told.result, JSON.stringify(told));
  node.trick = trick;
}

async function mineLate(ramped: TronRamp, raw: string): Promise<void> {
  await send(ramped, raw);
  await ramped.node.mine(4);
  await ramped.follow();
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    ramped.realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  match(detail ?? "no quarantine", /was given up, and was mined/);
  await dateQuarantines(ramped.realm, 1);
}

test("a payment on Tron that is mined after it was made again is booked as a loss by reconcile, and the books agree with the chain", async (ramped) => {
  const kept = keepBack(ramped, "withdrawal");
  const to = newTronParty().address;
  const made = await ramped.withdraw(to, "5");
  await ramped.advance();
  equal(kept.length, 1);
  const [, hash] = await giveUp(ramped);
  equal((await ramped.ended(made.body.id)).status, "DONE");
  await mineLate(ramped, kept[0]);
  const [report] = await reconcile(ramped.realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const [taken] = report.taken;
  deepEqual([taken.hash, taken.paid, taken.unmatched], [hash, [], [
    { to, contract: null, amount: "5000000" },
  ]]);
  await ramped.agree();
  const [again] = await rowsOf<{ quarantined: unknown }>(
    ramped.realm,
    "select quarantined from ramps",
  );
  equal(again.quarantined, null);
});

test("a database of Tron from between both payments, one of which was mined late, finds both and pays nothing", async (ramped) => {
  const { realm } = ramped;
  const kept = keepBack(ramped, "withdrawal");
  const to = newTronParty().address;
  const made = await ramped.withdraw(to, "5");
  await ramped.advance();
  const [, hash] = await giveUp(ramped);
  await keepRealm(realm);
  const { chain } = await ramped.ended(made.body.id);
  await mineLate(ramped, kept[0]);
  await restoreRealm(realm);
  await haltRealm(realm);
  await ramped.follow();
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    `select order_id as order from withdrawals where id = '${made.body.id}'`,
  );
  deepEqual(report.taken.map((one) => [one.hash, one.paid, one.late]), [
    [hash, [order], order],
    [chain.hash, [], undefined],
  ]);
  const done = await ramped.ended(made.body.id);
  deepEqual([done.status, done.chain.hash], ["DONE", hash]);
  await ramped.agree();
});

/** Has a customer pay, and the sweep of that kept back. */
async function sweepKept(
  ramped: TronRamp,
  payIn: (address: string) => Promise<unknown>,
  purpose = "sweep",
) {
  const address = await depositAddress(ramped);
  const kept = keepBack(ramped, purpose);
  await payIn(address);
  await ramped.until(() => Promise.resolve(kept.length > 0));
  return { address, kept };
}

async function depositAddress({ realm, virtual }: TronRamp): Promise<string> {
  const [{ address }] = await rowsOf<{ address: string }>(
    realm,
    `select address from addresses where derivation_key > 0 and target_account = '${virtual}'`,
  );
  return address;
}

/** Whether nothing that customers paid in lies at their addresses, in the books, and nothing more is to be sent. */
async function isSwept({ realm }: TronRamp): Promise<boolean> {
  const open = await rowsOf(
    realm,
    `select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')
      union all select from sweeps where state not in ('done', 'failed')
      union all select from deposits where status = 'PENDING'
      union all select from accounts where type = 'deposit' and total <> 0`,
  );
  return open.length === 0;
}

async function totalOf({ account, virtual }: TronRamp): Promise<number> {
  return Number((await account(virtual)).balance.total);
}

/**
 * Has a transaction mined after its order was given up, and reconciles; gives what its customer has more in the end.
 *
 * @param taken as what the reconciliation takes it
 */
async function gainedLate(
  ramped: TronRamp,
  raw: string,
  taken: "sweep" | "recovered",
): Promise<number> {
  const [order, hash] = await giveUp(ramped);
  const before = await totalOf(ramped);
  await mineLate(ramped, raw);
  const [report] = await reconcile(ramped.realm, nobody);
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken, [{ hash, purpose: taken, paid: [], unmatched: [], late: order }]);
  await ramped.until(() => isSwept(ramped));
  const gained = await totalOf(ramped) - before;
  await ramped.agree();
  return gained;
}

/** Pays 20 USDT to an address. */
function payDollars({ node }: TronRamp): (address: string) => Promise<unknown> {
  const { contract } = findAsset("USDT_TRON")!;
  return (address) => payToken(node, contract!, address, 20_000_000n);
}

test("a sweep on Tron that is mined after it was given up is booked as the sweep that it was, and the books agree with the chain", async (ramped) => {
  const { kept } = await sweepKept(ramped, (address) => ramped.node.pay(address, 20_000_000n));
  ok(await gainedLate(ramped, kept[0], "sweep") > 18);
});

testTokens(
  "a sweep of a token on Tron that is mined after it was given up is booked as the sweep that it was, and the books agree with the chain",
  async (ramped) => {
    const { kept } = await sweepKept(ramped, payDollars(ramped));
    equal(await gainedLate(ramped, kept[0], "sweep"), 20);
  },
);

testTokens(
  "gas on Tron that was sent ahead, was given up, and is mined after it was sent again costs its fee, and its sweep goes on",
  async (ramped) => {
    const { kept } = await sweepKept(ramped, payDollars(ramped), "gas");
    equal(await gainedLate(ramped, kept[0], "recovered"), 20);
  },
);

test("a sweep on Tron that is mined late beside another of the same account, which was sent since, is booked beside it", async (ramped) => {
  const { realm, node } = ramped;
  const { kept, address } = await sweepKept(ramped, (to) => node.pay(to, 20_000_000n));
  const [order, hash] = await giveUp(ramped);
  const later = keepBack(ramped, "sweep");
  await ramped.until(() => Promise.resolve(later.length > 0));
  const before = await totalOf(ramped);
  await node.pay(address, 30_000_000n);
  await mineLate(ramped, kept[0]);
  const [report] = await reconcile(realm, nobody);
  deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
  await send(ramped, later[0]);
  node.trick = () => undefined;
  await ramped.until(() => isSwept(ramped));
  deepEqual(await rowsOf(realm, "select state from sweeps where beside"), [{ state: "done" }]);
  ok(await totalOf(ramped) - before > 45);
  await ramped.agree();
});

test("a sweep on Tron that is mined late, and leaves nothing for another which was sent since, ends both, and less that comes later is swept", async (ramped) => {
  const { realm, node } = ramped;
  const { kept, address } = await sweepKept(ramped, (to) => node.pay(to, 20_000_000n));
  const [order, hash] = await giveUp(ramped);
  const later = keepBack(ramped, "sweep");
  await ramped.until(() => Promise.resolve(later.length > 0));
  const before = await totalOf(ramped);
  await mineLate(ramped, kept[0]);
  const [report] = await reconcile(realm, nobody);
  deepEqual(report.taken, [{ hash, purpose: "sweep", paid: [], unmatched: [], late: order }]);
  node.trick = () => undefined;
  const settled = "select from sweeps where beside and state = 'done'";
  await ramped.until(async () => (await rowsOf(realm, settled)).length > 0);
  await node.mine(42); // beyond the other's expiry
  await ramped.until(() => isSwept(ramped));
  ok(await totalOf(ramped) - before > 18);
  await node.pay(address, 5_000_000n);
  await ramped.until(async () => await totalOf(ramped) - before > 22);
  await ramped.until(() => isSwept(ramped));
  await ramped.agree();
});
