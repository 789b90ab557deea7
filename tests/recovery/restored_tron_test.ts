/** Databases on Tron that are older than the chain: what was paid or swept since is found, and nothing is paid twice. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { Question } from "../../workers/recovery/reconcile.ts";
import {
  dateQuarantines,
  haltRealm,
  keepRealm,
  reconcile,
  restoreRealm,
} from "../support/installation.ts";
import { parseTransaction } from "../support/nodes/tron/messages.ts";
import { newTronParty, toHex } from "../support/nodes/tron/wallet.ts";
import { rowsOf } from "../support/realm.ts";
import { openTronRamp, type TronRamp } from "../support/tron_fixture.ts";

/** Blocks after which the longest validity is over; they are three seconds apart. */
const BEYOND = 42;

async function sunOf({ node }: TronRamp, address: string): Promise<bigint> {
  const body = JSON.stringify({ address: toHex(address) });
  const answer = await fetch(`${node.url}/wallet/getaccount`, { method: "POST", body });
  return BigInt((await answer.json()).balance ?? 0);
}

async function withdrawTo(ramped: TronRamp, to: string): Promise<string> {
  const made = await ramped.withdraw(to, "5");
  equal(made.status, 201, made.text);
  return made.body.id;
}

/** Follows some blocks. */
async function pass({ node, ...ramped }: TronRamp): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await ramped.follow();
    await ramped.advance();
    await node.mine();
  }
}

/** Reconciles: refused while a transaction of the lost database may still be mined, then done. */
async function reconciled({ realm }: TronRamp): Promise<void> {
  const [{ quarantined }] = await rowsOf<{ quarantined: { detail: string } | null }>(
    realm,
    "select quarantined from ramps",
  );
  match(quarantined?.detail ?? "", /(signed|sent) .*nothing here knows of it/);
  await dateQuarantines(realm, Date.now() / 1000 + 3_600);
  const [early] = await reconcile(realm);
  match(early.obstacles.join(), /may be mined until/);
  equal(early.lifted, false);
  await dateQuarantines(realm, 1);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.obstacles], [true, []]);
}

/** Pays a withdrawal, puts back what was kept, and reconciles. */
async function restored(ramped: TronRamp, id: string, to: string): Promise<void> {
  const paid = await ramped.ended(id);
  equal(paid.status, "DONE", JSON.stringify(paid));
  await restoreRealm(ramped.realm);
  equal((await ramped.withdrawal(id)).status, "PROCESSING");
  await pass(ramped);
  equal(await sunOf(ramped, to), 5_000_000n, "nothing is paid in quarantine");
  await reconciled(ramped);
  const done = await ramped.ended(id);
  deepEqual([done.status, done.chain.hash], ["DONE", paid.chain.hash]);
  equal(await sunOf(ramped, to), 5_000_000n);
}

async function beforeThePlan(ramped: TronRamp): Promise<void> {
  const to = newTronParty().address;
  const id = await withdrawTo(ramped, to);
  await keepRealm(ramped.realm);
  await restored(ramped, id, to);
}

async function firstLost(ramped: TronRamp): Promise<void> {
  const { node } = ramped;
  const to = newTronParty().address;
  const id = await withdrawTo(ramped, to);
  node.trick = ({ path, body }) =>
    path.endsWith("broadcasthex")
      ? { result: true, txid: parseTransaction(String(body.transaction)).id }
      : undefined;
  await ramped.advance();
  await keepRealm(ramped.realm);
  await node.mine(BEYOND);
  await ramped.advance();
  node.trick = () => undefined;
  await restored(ramped, id, to);
}

async function sweptSince(ramped: TronRamp): Promise<void> {
  const { node, realm, ramp } = ramped;
  const made = await realm.admin.send("POST", `/v1/account/${ramp}/address`, {});
  equal(made.status, 201, made.text);
  await realm.drain();
  const { address } = made.body.address;
  await ramped.follow();
  await keepRealm(realm);
  const before = (await ramped.account(ramp)).balance.total;
  await node.pay(address, 20_000_000n);
  await ramped.until(async () => (await ramped.account(ramp)).balance.total !== before);
  const after = (await ramped.account(ramp)).balance.total;
  await restoreRealm(realm);
  equal((await ramped.account(ramp)).balance.total, before);
  await pass(ramped);
  await reconciled(ramped);
  await ramped.until(async () => (await ramped.account(ramp)).balance.total === after);
  const deposits = await rowsOf<{ amount: string; status: string }>(
    realm,
    `select trim_scale(amount)::text as amount, status from deposits where address = '${address}'`,
  );
  deepEqual(deposits, [{ amount: "20", status: "CONFIRMED" }]);
}

Deno.test("a database of Tron that was restored from a backup pays nothing twice, finds what was paid, and books a sweep once", async (t) => {
  await using ramped = await openTronRamp({ total: 500_000_000n });
  const scenes = {
    "from before the plan": beforeThePlan,
    "in which the first transaction was sent, and lost": firstLost,
    "from before a deposit and its sweep": sweptSince,
  };
  for (const [name, scene] of Object.entries(scenes)) await t.step(name, () => scene(ramped));
  await ramped.agree();
});

Deno.test("on Tron, a payment that is found in a block that is not final is waited for, and made once more where it is lost with that", async () => {
  await using ramped = await openTronRamp({ total: 500_000_000n, lag: 3 });
  const { node, realm } = ramped;
  const to = newTronParty().address;
  const id = await withdrawTo(ramped, to);
  await keepRealm(realm);
  await ramped.advance();
  await node.mine();
  equal(await sunOf(ramped, to), 5_000_000n);
  await restoreRealm(realm);
  await haltRealm(realm);
  await dateQuarantines(realm, 1);
  const asked: string[] = [];
  const answer = ({ withdrawal }: Question) => {
    asked.push(withdrawal);
    return Promise.resolve(false);
  };
  const [early] = await reconcile(realm, answer);
  deepEqual([early.lifted, early.taken, asked], [false, [], []]);
  match(early.obstacles.join(), /is not final/);
  await node.reorganise(1);
  await node.mine(BEYOND);
  const [report] = await reconcile(realm, answer);
  deepEqual([report.lifted, report.obstacles, asked], [true, [], [id]]);
  equal((await ramped.ended(id)).status, "DONE");
  equal(await sunOf(ramped, to), 5_000_000n);
  await ramped.agree();
});
