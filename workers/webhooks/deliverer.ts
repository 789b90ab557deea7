/**
 * The deliverer of a process: takes queues of webhooks under leases, and runs each beside the others.
 * @module
 */
import { takeQueues } from "../../db/webhooks/queue.ts";
import { writing } from "../../db/transaction.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Log } from "../../log.ts";
import type { WebhookClient } from "../gateways/outbound/webhook_client.ts";
import { openRunningTasks } from "../task_queue.ts";
import { withTimeout } from "../timers.ts";
import type { RealmTarget } from "../worker_context.ts";
import { LEASE_MS, runQueue } from "./queue_run.ts";
import type { RunDependencies } from "./runs.ts";
import { openSlots } from "./slots.ts";

/** The deliverer of a process. */
export interface Deliverer {
  /** Starts to deliver what is due in a realm, unless that is under way. */
  deliver(target: RealmTarget): void;
  /** Waits until nothing is under way, or the time is up. */
  settle(budgetMs: number): Promise<void>;
  /** Sends nothing more, waits a little for answers, and returns. */
  stop(): Promise<void>;
}

/** Options of a deliverer. */
export interface DelivererOptions {
  log: Log;
  secrets: Secrets;
  client: WebhookClient;
  now: () => number;
  /** Compares the clock of `now` with the one that all processes share. */
  compare?: () => Promise<void>;
  /** Whether a realm waits for its reconciliation: nothing is sent meanwhile. Unset: none does. */
  isApart?: (target: RealmTarget) => Promise<boolean>;
  /** Whether transfers crowd this process: deliveries then start at a bounded rate. Unset: they never do. */
  isCrowded?: () => boolean;
}

/** Requests at once: of the process, and of a realm. */
const REQUESTS_MAX = 512;
const REALM_REQUESTS_MAX = 160;
/** Queues of a realm that a process runs at once: all that it has, so that slow ones keep out no other. */
const REALM_QUEUES_MAX = 128;
/** Answers that are not here at the end of the process are not waited for. */
const LEAVE_MS = 3000;

/** Opens a deliverer, which works when it is told to. */
export function openDeliverer(options: DelivererOptions): Deliverer {
  const leaving = new AbortController();
  const { log, client } = options;
  const tasks = openRunningTasks({ log, signal: leaving.signal, failure: "delivery failed" });
  const given: RunDependencies = {
    ...options,
    slots: openSlots({
      ...{ all: REQUESTS_MAX, perRealm: REALM_REQUESTS_MAX },
      isCrowded: () => !leaving.signal.aborted && (options.isCrowded?.() ?? false),
    }),
    process: "",
    widths: new Map(),
  };

  let runs = 0;
  async function take(target: RealmTarget): Promise<void> {
    const running = [...tasks.names()].filter((one) => one.startsWith(`queue ${target.realm.id} `));
    const limit = REALM_QUEUES_MAX - running.length;
    if (limit <= 0 || leaving.signal.aborted) return;
    // A restored or copied database would tell the world again, with ids that it knows or never saw.
    if (await options.isApart?.(target)) return;
    await options.compare?.();
    const at = given.now();
    const process = crypto.randomUUID();
    const by = { process, at, leaseMs: LEASE_MS, limit };
    const takenAt = performance.now();
    const signal = AbortSignal.any([leaving.signal, target.signal]);
    for (const queue of await writing(target.pool, (db) => takeQueues(db, by))) {
      const name = `queue ${target.realm.id} ${queue.webhook} ${++runs}`;
      tasks.start(
        name,
        () => runQueue({ ...given, process }, { ...target, signal }, queue, takenAt),
      );
    }
  }

  return {
    deliver: (target) => tasks.start(`take ${target.realm.id}`, () => take(target)),
    async settle(budgetMs) {
      await withTimeout(tasks.settled(), budgetMs);
    },
    async stop() {
      leaving.abort();
      await withTimeout(tasks.settled(), LEAVE_MS);
      client.close();
      await tasks.settled();
    },
  };
}
