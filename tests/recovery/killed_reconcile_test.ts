/** A reconciliation that is killed at any of its steps, and run again, ends as one that was not. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { reconcileRealm } from "../../workers/recovery/reconcile.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import type { Tx } from "../../db/database.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { attest, haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { hasLitecoind } from "../support/nodes/litecoind.ts";
import { isKilledAfter, KILLED } from "../support/killed_reconcile.ts";
import { orderAnew } from "../support/ordered_anew.ts";
import { withTwoCoins } from "../support/paying_ramp.ts";
import { pay } from "../support/pending_withdrawals.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { COIN, hurry, LITECOIN, type UtxoRamp } from "../support/utxo_fixture.ts";
import { sharingUtxoRamp } from "../support/sharing_utxo_ramp.ts";
import { newParty } from "../chains/bitcoin/fixture.ts";

const test = sharingUtxoRamp("reconciliations that are killed", LITECOIN, !hasLitecoind());

/** What callers see of it in the end. */
async function outcome(funded: UtxoRamp, ids: readonly string[]) {
  const { realm } = funded;
  await funded.until(async () =>
    (await rowsOf(realm, "select from sweeps where state = 'done'")).length > 0
  );
  const rows = await funded.ended(ids);
  await hurry(realm);
  await funded.follow();
  await funded.agree();
  const deposits = "select trim_scale(amount)::text as amount, status from deposits" +
    " where status <> 'ORPHANED' order by amount, status";
  const totals = "select type, system, trim_scale(total)::text as total from accounts" +
    " where total <> 0 order by 1, 2, 3";
  return {
    withdrawals: rows.map(({ status, chain, fee }) => [status, chain.hash, fee.cost]),
    deposits: [...await rowsOf(realm, deposits)],
    accounts: [...await rowsOf(realm, totals)],
  };
}

test("LTC: a reconciliation that is killed before any of its steps and run again ends as any other", async (ramp) => {
  const funded = await withTwoCoins(ramp);
  const { realm, node } = funded;
  const { address } = await newParty("LITECOIN");
  const ids = [await pay(funded, address, "1"), await pay(funded, address, "1")];
  await keepRealm(realm);
  await funded.ended(ids);
  const made = await realm.admin.send("POST", `/v1/account/${funded.virtual}/address`, {});
  equal(made.status, 201, made.text);
  await realm.drain();
  const script = (await scriptOf("LITECOIN", "regtest", made.body.address.address)).toHex();
  await node.pay([{ script, amount: 2n * COIN }]);
  await funded.until(async () =>
    (await rowsOf(realm, "select from sweeps where state = 'done'")).length > 0
  );
  let first: Awaited<ReturnType<typeof outcome>> | null = null;
  let changes = 0;
  for (let killed = true; killed; changes++) {
    await restoreRealm(realm);
    await haltRealm(realm);
    killed = await isKilledAfter(realm, changes);
    const reports = killed ? await reconcile(realm, () => Promise.resolve(false)) : [];
    for (const { lifted, obstacles, open } of reports) {
      deepEqual([lifted, obstacles, open], [true, [], []], `killed after ${changes} changes`);
    }
    await attest(realm); // finds an older realm, which ends its logins
    const ended = await outcome(funded, ids);
    first ??= ended;
    deepEqual(ended, first, `killed after ${changes} changes`);
  }
  ok(changes > 5, `${changes}`);
  deepEqual((await funded.held(address)).length, ids.length);
});

/** The same transaction, whose process ends instead of sending a statement after so many. */
function endingAfter<T extends Tx>(tx: T, statements: number): T {
  let sent = 0;
  return new Proxy(tx, {
    apply(target, self, given) {
      const [first] = given as unknown[];
      const isStatement = Array.isArray(first) && "raw" in first;
      if (isStatement && sent++ >= statements) throw new Error(KILLED);
      return Reflect.apply(target as never, self, given);
    },
  });
}

/** Calls a withdrawal paid, and ends the process within the step that settles it; false where that ended before. */
async function isKilledWithin(realm: TestRealm, statements: number): Promise<boolean> {
  const context = await workerContextOf(realm);
  let said = false;
  const step: WorkerContext["step"] = (work, ...how) => {
    if (!said) return context.step(work, ...how);
    said = false;
    return context.step((tx) => work(endingAfter(tx, statements)), ...how);
  };
  const answer = () => {
    said = true;
    return Promise.resolve(true);
  };
  const actor = { ...context.actor, at: Date.now() };
  try {
    await reconcileRealm({ ...context, actor, step }, { gap: 50, back: 100, answer });
    return false;
  } catch (error) {
    if ((error as Error).message !== KILLED) throw error;
    return true;
  } finally {
    context.chains.close();
  }
}

test("LTC: a reconciliation that is killed before any statement with which it settles a withdrawal called paid changes nothing, and ends as any other", async (ramp) => {
  const funded = await orderAnew(ramp);
  const { realm, node, id, to, payment } = funded;
  await node.mine(3);
  const [{ open }] = await reconcile(realm);
  deepEqual(open.map(({ withdrawal, like }) => [withdrawal, like]), [[id, payment.hash]]);
  const read = async () => ({
    accounts: [...await rowsOf(realm, "select id, total, blocked from accounts order by id")],
    orders: [...await rowsOf(realm, "select id, state, hash from chain_orders order by id")],
    coins: [...await rowsOf(realm, "select hash, index, spent_by from coins order by 1, 2")],
    withdrawals: [...await rowsOf(realm, "select id, status, hash, history from withdrawals")],
  });
  const before = await read();
  let statements = 0;
  while (await isKilledWithin(realm, statements)) {
    deepEqual(await read(), before, `killed after ${statements} statements`);
    statements++;
  }
  ok(statements > 10, `${statements}`);
  const [row] = await funded.ended([id]);
  deepEqual([row.status, row.chain.hash], ["DONE", payment.hash]);
  await hurry(realm);
  await funded.follow();
  deepEqual(await funded.held(to), [COIN]);
  const fees = "select trim_scale(total)::text as total from accounts where system = 'fees'";
  const [{ total }] = await rowsOf<{ total: string }>(realm, fees);
  ok(Math.abs(Number(total)) < 0.001, `the payment is booked once: ${total}`);
  await funded.agree();
});
