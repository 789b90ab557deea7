/** Reconciliations whose process ends between two steps. @module */
import { reconcileRealm } from "../../workers/recovery/reconcile.ts";
import type { Statements } from "../../workers/recovery/stated.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { workerContextOf } from "./evm_fixture.ts";
import type { TestRealm } from "./realm.ts";

/** What is thrown where the process would end. */
export const KILLED = "the process was killed";

/** The same context, whose process ends instead of taking a step after so many. */
function killedAfter(context: WorkerContext, steps: number): WorkerContext {
  let taken = 0;
  const step: WorkerContext["step"] = (work, ...how) => {
    if (taken++ >= steps) return Promise.reject(new Error(KILLED));
    return context.step(work, ...how);
  };
  return { ...context, actor: { ...context.actor, at: Date.now() }, step };
}

/** Reconciles until so many steps were taken; false where it came to its end before. Nothing else was paid. */
export async function isKilled(
  realm: TestRealm,
  steps: number,
  stated: Statements = new Map(),
): Promise<boolean> {
  const context = await workerContextOf(realm);
  const options = { gap: 50, back: 100, stated, answer: () => Promise.resolve(false) };
  try {
    await reconcileRealm(killedAfter(context, steps), options);
    return false;
  } catch (error) {
    if ((error as Error).message !== KILLED) throw error;
    return true;
  } finally {
    context.chains.close();
  }
}
