/** Payments and sweeps on Tron that were given up as expired, and are mined all the same: the books agree with the chain. */
import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
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
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";

/** Keeps bytes back that are to be sent, and says that they were taken. */
function keepBack({ node }: TronRamp): string[] {
  const kept: string[] = [];
  node.trick = ({ path, body }) => {
    if (!path.endsWith("broadcasthex")) return undefined;
    const raw = String(body.transaction);
    if (!kept.includes(raw)) kept.push(raw);
    return { result: true, txid: parseTransaction(raw).id };
  };
  return kept;
}

/** Gives up what was sent for the newest order, as it is where all nodes call it expired. */
async function giveUp({ realm, context, node }: TronRamp): Promise<string> {
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
  return sent.hash;
}

async function mineLate({ node, ...ramped }: TronRamp, raw: string): Promise<void> {
  const body = JSON.stringify({ transaction: raw });
  const answer = await fetch(`${node.url}/wallet/broadcasthex`, { method: "POST", body });
  const told = await answer.json();
  ok(told.result, JSON.stringify(told));
  await node.mine(4);
  await ramped.follow();
  const [{ detail }] = await rowsOf<{ detail: string | null }>(
    ramped.realm,
    "select quarantined ->> 'detail' as detail from ramps where next_index > 0",
  );
  match(detail ?? "no quarantine", /was given up, and was mined/);
  await dateQuarantines(ramped.realm, 1);
}

Deno.test("a payment on Tron that is mined after it was made again is booked as a loss by reconcile, and the books agree with the chain", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const kept = keepBack(ramped);
  const to = newTronParty().address;
  const made = await ramped.withdraw(to, "5");
  await ramped.advance();
  equal(kept.length, 1);
  const hash = await giveUp(ramped);
  equal((await ramped.ended(made.body.id)).status, "DONE");
  await mineLate(ramped, kept[0]);
  const [report] = await reconcile(ramped.realm, () => fail("nobody is asked"));
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

Deno.test("a database of Tron from between both payments, one of which was mined late, finds both and pays nothing", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { realm } = ramped;
  const kept = keepBack(ramped);
  const to = newTronParty().address;
  const made = await ramped.withdraw(to, "5");
  await ramped.advance();
  const hash = await giveUp(ramped);
  await keepRealm(realm);
  const { chain } = await ramped.ended(made.body.id);
  await mineLate(ramped, kept[0]);
  await restoreRealm(realm);
  await haltRealm(realm);
  await ramped.follow();
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm, () => fail("nobody is asked"));
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

Deno.test("a sweep on Tron that is mined after it was given up costs its fee, its order goes on, and the books agree with the chain", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const { realm, node, virtual } = ramped;
  const [{ address }] = await rowsOf<{ address: string }>(
    realm,
    `select address from addresses where derivation_key > 0 and target_account = '${virtual}'`,
  );
  const kept = keepBack(ramped);
  await node.pay(address, 20_000_000n);
  await ramped.until(() => Promise.resolve(kept.length > 0));
  const hash = await giveUp(ramped);
  await mineLate(ramped, kept[0]);
  const [report] = await reconcile(realm, () => fail("nobody is asked"));
  deepEqual([report.lifted, report.obstacles], [true, []]);
  deepEqual(report.taken.map((one) => [one.hash, one.paid, one.unmatched]), [[hash, [], []]]);
  await node.pay(address, 30_000_000n);
  await ramped.until(async () => {
    const [{ count }] = await rowsOf<{ count: number }>(
      realm,
      "select count(*)::integer as count from deposits where status = 'CONFIRMED' and sweep is not null",
    );
    const open = await rowsOf(
      realm,
      "select from chain_orders where state in ('new', 'planned', 'signed', 'sent', 'mined')",
    );
    return count === 3 && open.length === 0;
  });
  await ramped.agree();
});
