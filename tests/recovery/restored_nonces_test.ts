/** Reconciliations that end half-way, or do not find a transaction: the next one recovers it all the same. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { type ReconcileOptions, reconcileRealm } from "../../workers/recovery/reconcile.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { reading } from "../../db/transaction.ts";
import { tellDisplaced } from "../../domain/recovery/displaced_orders.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { type FundedRamp, OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { sharingFundedRamp } from "../support/kept_ramps.ts";
import { rowsOf } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const OPTIONS: ReconcileOptions = { gap: 50, back: 100, answer: () => Promise.resolve(null) };
const test = sharingFundedRamp("nonces of a restored database");

function present(context: WorkerContext): WorkerContext {
  return { ...context, actor: { ...context.actor, at: Date.now() } };
}

/** Restores a dump of before a withdrawal was paid; gives its id and the hash. */
async function payAndRestore(funded: FundedRamp): Promise<{ id: string; hash: string }> {
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await keepRealm(funded.realm);
  const { chain: { hash } } = await funded.finish(id);
  await funded.anvil.mine(3);
  await restoreRealm(funded.realm);
  return { id, hash };
}

async function assertPaidOnce(funded: FundedRamp, { id, hash }: { id: string; hash: string }) {
  const ended = await funded.finish(id);
  deepEqual([ended.status, ended.chain.hash], ["DONE", hash]);
  const paid = await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest");
  equal(BigInt(paid), ETHER);
  deepEqual((await checkLedger(funded.realm.pool)).mismatches, []);
}

test("a transaction that too few blocks were read for is recovered once more of them are", async (funded) => {
  const made = await payAndRestore(funded);
  // Nobody knows yet that the database is older, so its blocks are passed.
  equal(
    await scanNetwork(present(funded.context), { chain: "ETHEREUM", network: "main" }),
    "caught up",
  );
  await haltRealm(funded.realm);
  for (let run = 0; run < 2; run++) {
    const [few] = await reconcileRealm(present(funded.context), { ...OPTIONS, back: 0 });
    equal(few.lifted, false);
    match(few.obstacles.join(), /read more with --back/);
  }
  const [report] = await reconcileRealm(present(funded.context), OPTIONS);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  await assertPaidOnce(funded, made);
});

test("a reconciliation that is killed before it recovers a transaction recovers it the next time", async (funded) => {
  const made = await payAndRestore(funded);
  await haltRealm(funded.realm);
  const context = present(funded.context);
  const open: typeof context.chains.open = async (place) => ({
    ...await context.chains.open(place),
    raw: () => Promise.reject(new Error("the process ends")),
  });
  const killed = { ...context, chains: { ...context.chains, open } };
  await rejects(reconcileRealm(killed, OPTIONS), /the process ends/);
  const [report] = await reconcileRealm(present(funded.context), OPTIONS);
  deepEqual([report.lifted, report.obstacles, report.taken.length], [true, [], 1]);
  await assertPaidOnce(funded, made);
});

/** Takes a step of each open order of a purpose; the worker ends where one is planned, if it is told to. */
async function step(funded: FundedRamp, purpose: string, endsPlanned = false): Promise<void> {
  const orders = await rowsOf<{ order: string; version: number }>(
    funded.realm,
    `select id as order, schedule_version as version from chain_orders
      where purpose = '${purpose}' and state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
  );
  const context = await workerContextOf(funded.realm);
  const ended = new Error("the worker has ended");
  for (const seen of orders) {
    await advanceOrder(present(context), seen, (passed) => {
      if (endsPlanned && passed === "planned") throw ended;
    }).catch((error) => equal(error, ended));
  }
  context.chains.close();
}

test("a nonce that a dump is about to fill, and that was filled since, is filled no second time, and nothing waits for it", async (funded) => {
  const { realm, anvil } = funded;
  await anvil.mine();
  const [first, second] = [
    (await funded.withdraw("1")).body.id,
    (await funded.withdraw("1")).body.id,
  ];
  await step(funded, "withdrawal", true);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${first}/cancel`)).status, 200);
  await step(funded, "fill", true);
  await keepRealm(realm);
  await step(funded, "fill");
  const { chain: { hash } } = await funded.finish(second);
  await restoreRealm(realm);
  await haltRealm(realm);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.taken.length], [true, 2]);
  const fills = "select state, error from chain_orders where purpose = 'fill'";
  const [{ state }] = await rowsOf<{ state: string }>(realm, fills);
  equal(state, "planned");
  await step(funded, "fill");
  const [filled] = await rowsOf<{ state: string; error: string }>(realm, fills);
  equal(filled.state, "failed");
  match(filled.error, /^0x[0-9a-f]{64} spent its nonce before it was signed$/);
  await assertPaidOnce(funded, { id: second, hash });
});

test("a withdrawal that a dump has planned, and a transaction of the lost database has paid, is told once where the chain loses that one", async (funded) => {
  const { realm } = funded;
  await funded.anvil.mine();
  const { body: { id } } = await funded.withdraw("1");
  await step(funded, "withdrawal", true);
  await keepRealm(realm);
  const { chain: { hash } } = await funded.finish(id);
  await restoreRealm(realm);
  await haltRealm(realm);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.taken.length], [true, 1]);
  await assertPaidOnce(funded, { id, hash });
  const orders = await rowsOf<{ id: string; purpose: string; nonce: number }>(
    realm,
    "select id, purpose, nonce from chain_orders where state = 'done' order by purpose",
  );
  deepEqual(orders.map(({ purpose, nonce }) => [purpose, nonce]), [
    ["recovered", 0],
    ["withdrawal", 0],
  ]);
  const paid = (await reading(realm.pool, (db) => selectOrder(db, orders[0].id)))!;
  const { actor } = present(funded.context);
  const by = `0x${"ab".repeat(32)}`;
  equal(
    await realm.command((tx) => tellDisplaced(tx, actor, { ...paid, hash: by })),
    `${by} took the place of ${hash}, which the chain has lost: no transaction pays ${id}, which is done`,
  );
});
