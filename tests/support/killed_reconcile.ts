/** Reconciliations whose process ends between two steps. @module */
import { type PlaceReport, reconcileRealm } from "../../workers/recovery/reconcile.ts";
import type { Statements } from "../../workers/recovery/stated.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { workerContextOf } from "./evm_fixture.ts";
import type { TestRealm } from "./realm.ts";

/** What is thrown where the process would end. */
export const KILLED = "the process was killed";

/** The same context, whose process ends instead of taking a step once something holds. */
function killedOnce(context: WorkerContext, isOver: () => Promise<boolean>): WorkerContext {
  const step: WorkerContext["step"] = async (work, ...how) => {
    if (await isOver()) throw new Error(KILLED);
    return await context.step(work, ...how);
  };
  return { ...context, actor: { ...context.actor, at: Date.now() }, step };
}

/**
 * The same context, whose process ends instead of taking a step once so many have changed or locked rows: behind one that
 * did neither the database is as before it.
 */
function killedAfterChanges(context: WorkerContext, changes: number): WorkerContext {
  let made = 0;
  const step: WorkerContext["step"] = async (work, ...how) => {
    if (made >= changes) throw new Error(KILLED);
    let changed = false;
    const result = await context.step(async (tx) => {
      const result = await work(tx);
      const [row] = await tx<{ changed: boolean }[]>`
        select pg_current_xact_id_if_assigned() is not null as changed`;
      changed = row.changed;
      return result;
    }, ...how);
    if (changed) made++;
    return result;
  };
  return { ...context, actor: { ...context.actor, at: Date.now() }, step };
}

/** Reconciles until so many steps have changed something; false where it came to its end before. Nothing else was paid. */
export async function isKilledAfter(realm: TestRealm, changes: number): Promise<boolean> {
  return await endsEarly(realm, (context) => killedAfterChanges(context, changes));
}

/** Reconciles until so many steps were taken; false where it came to its end before. Nothing else was paid. */
export async function isKilled(
  realm: TestRealm,
  steps: number,
  stated: Statements = new Map(),
): Promise<boolean> {
  let taken = 0;
  return await isKilledOnce(realm, () => Promise.resolve(taken++ >= steps), stated);
}

/** Reconciles until something holds; false where it came to its end before. Nothing else was paid. */
export async function isKilledOnce(
  realm: TestRealm,
  isOver: () => Promise<boolean>,
  stated: Statements = new Map(),
): Promise<boolean> {
  return await endsEarly(realm, (context) => killedOnce(context, isOver), stated);
}

async function endsEarly(
  realm: TestRealm,
  killed: (context: WorkerContext) => WorkerContext,
  stated: Statements = new Map(),
): Promise<boolean> {
  const context = await workerContextOf(realm);
  const options = { gap: 50, back: 100, stated, answer: () => Promise.resolve(false) };
  try {
    await reconcileRealm(killed(context), options);
    return false;
  } catch (error) {
    if ((error as Error).message !== KILLED) throw error;
    return true;
  } finally {
    context.chains.close();
  }
}

/**
 * Reconciles, and does something before the step that would end the quarantine; nothing is paid and nothing asked. Gives
 * the report.
 */
export async function reconcileBefore(
  realm: TestRealm,
  lifted: () => Promise<void>,
): Promise<PlaceReport> {
  const context = await workerContextOf(realm);
  const options = { gap: 50, back: 100, answer: () => Promise.resolve(false) };
  let taken = 0;
  let last = Infinity;
  const step: WorkerContext["step"] = async (work, ...how) => {
    if (taken++ === last) await lifted();
    return await context.step(work, ...how);
  };
  const counted = { ...context, actor: { ...context.actor, at: Date.now() }, step };
  try {
    // Without its end, twice: the first passes indices over.
    for (let run = 0; run < 2; run++) {
      taken = 0;
      await reconcileRealm(counted, { ...options, keep: true });
    }
    [last, taken] = [taken, 0];
    const [report] = await reconcileRealm(counted, options);
    return report;
  } finally {
    context.chains.close();
  }
}
