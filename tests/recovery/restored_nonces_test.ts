/** Reconciliations that end half-way, or do not find a transaction: the next one recovers it all the same. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { type ReconcileOptions, reconcileRealm } from "../../workers/recovery/reconcile.ts";
import { scanNetwork } from "../../workers/scanning/scanner.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { type FundedRamp, openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { haltRealm, keepRealm, restoreRealm } from "../support/installation.ts";

const ETHER = 10n ** 18n;
const OPTIONS: ReconcileOptions = { gap: 50, back: 100, answer: () => Promise.resolve(null) };

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

Deno.test("a transaction that too few blocks were read for is recovered once more of them are", async () => {
  await using funded = await openFundedRamp();
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

Deno.test("a reconciliation that is killed before it recovers a transaction recovers it the next time", async () => {
  await using funded = await openFundedRamp();
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
