/**
 * Polls the chains: each network of each realm in turn, one process at a time, which holds its
 * lease. A poll writes rows and jobs; nothing else is done here.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import { endLease, prolongLease, takeLease } from "../../db/leases.ts";
import { selectPlaces } from "../../db/accounts/ramps.ts";
import { realmPages } from "../../db/realms/realm_pages.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { locking, reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { hasNode } from "../chains/registry.ts";
import { startHeartbeat } from "../lease_heartbeat.ts";
import {
  openRunningTasks,
  openTaskQueue,
  type RunningTasks,
  runQueued,
  type TaskQueue,
} from "../task_queue.ts";
import { sleep, withTimeout } from "../timers.ts";
import { workerContext, type WorkerDependencies } from "../worker_context.ts";
import { scanNetwork } from "./scanner.ts";

/** The running chain poller of a process. */
export interface ChainPoller {
  /** Polls everything that is due, and catches up with its chain until the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes the block in hand and returns. */
  stop(): Promise<void>;
}

/** Options of the poller. */
export interface ChainPollerOptions extends WorkerDependencies {
  /** How often each network is polled. */
  pollMs: number;
  /** Called for a realm that may have jobs now. */
  wake: (realm: string) => void;
}

const LEASE_MS = 60_000;
const PAGE_SIZE = 500;
const REALMS_AT_ONCE = 4;
/** Longest that one realm's network keeps those in the same queue waiting. */
const SLICE_MS = 5000;
/** Longest that slow realms keep the next ones waiting. */
const PAGE_WAIT_MAX_MS = 3000;

/** State of a poller. */
interface PollerState extends ChainPollerOptions {
  /** Name of this process in leases. */
  owner: string;
  signal: AbortSignal;
  only: string | null;
  /**
   * One queue for each network: a node that is slow, or away, keeps only its own network waiting.
   */
  queues: Map<string, TaskQueue>;
  /** Polls that run or wait in a queue. */
  tasks: RunningTasks;
}

/** Starts the poller. With `loop: false` it works only when drained, `only` for one realm. */
export function startChainPoller(
  options: ChainPollerOptions,
  how: { loop?: boolean; only?: string } = {},
): ChainPoller {
  const leaving = new AbortController();
  const { signal } = leaving;
  const failure = "chain poll failed";
  const state: PollerState = {
    ...options,
    owner: crypto.randomUUID(),
    signal,
    only: how.only ?? null,
    queues: new Map(),
    tasks: openRunningTasks({ log: options.log, signal, failure }),
  };
  async function loop(): Promise<void> {
    while (!signal.aborted) {
      const startedAt = options.now();
      await pollAll(state, Infinity).catch((error) => {
        if (!signal.aborted) options.log("error", failure, { error });
      });
      await sleep(Math.max(100, startedAt + options.pollMs - options.now()), signal);
    }
  }
  const looping = how.loop ?? true ? loop() : Promise.resolve();
  return {
    async drain(budgetMs) {
      await pollAll(state, options.now() + budgetMs);
      await state.tasks.settled();
    },
    async stop() {
      leaving.abort();
      await looping;
      await state.tasks.settled();
    },
  };
}

/** Starts to poll every network of every realm that is not being polled. */
async function pollAll(state: PollerState, until: number): Promise<void> {
  const { chains, database, only, signal, tasks } = state;
  if (chains.configured.length === 0) return;
  for await (const page of realmPages(database.platform, { only, size: PAGE_SIZE })) {
    for (let i = 0; i < page.length && !signal.aborted;) {
      const polls = page.slice(i, i += REALMS_AT_ONCE).map((realm) =>
        tasks.run(realm.id, () => pollRealm(state, realm, until), { realm: realm.id })
      );
      await withTimeout(Promise.all(polls), PAGE_WAIT_MAX_MS);
    }
  }
}

/** Queues a poll of each network of a realm; a failed poll does not stop the others. */
async function pollRealm(state: PollerState, realm: RealmRow, until: number): Promise<void> {
  const shared = state.database.sharedPool(locationOf(realm));
  const places = await reading(shared, selectPlaces) as unknown as ChainNetwork[];
  const pool = state.database.working(locationOf(realm));
  for (const place of places.filter((one) => hasNode(state.chains, one))) {
    const { chain, network } = place;
    const queue = queueOf(state, `${chain} ${network}`);
    state.tasks.start(
      `${realm.id} ${chain} ${network}`,
      () => runQueued(queue, () => poll(state, realm, { pool, place, until })),
      { realm: realm.id, chain, network },
    );
  }
}

function queueOf(state: PollerState, name: string): TaskQueue {
  const queue = state.queues.get(name) ?? openTaskQueue();
  state.queues.set(name, queue);
  return queue;
}

/**
 * Scans a realm's network for a while under its lease; tells whether it is still behind its chain.
 */
async function poll(
  state: PollerState,
  realm: RealmRow,
  at: { pool: Pool; place: ChainNetwork; until: number },
): Promise<boolean> {
  const { pool, place } = at;
  const { now, owner } = state;
  if (state.signal.aborted || now() >= at.until) return false;
  const name = `scan ${place.chain} ${place.network}`;
  const lease = { name, owner, leaseMs: LEASE_MS };
  if (!await locking(pool, (tx) => takeLease(tx, lease))) return false;
  const prolong = () => locking(pool, (tx) => prolongLease(tx, lease));
  const heartbeat = startHeartbeat(LEASE_MS, prolong, { failureEnds: true });
  const signal = AbortSignal.any([state.signal, heartbeat.lost]);
  const since = now();
  let more = true;
  try {
    while (more && !signal.aborted && now() < since + SLICE_MS) {
      const pass = await scanNetwork(workerContext(state, { realm, pool, signal }), place);
      state.wake(realm.id);
      more = pass === "more" && now() < at.until;
    }
  } finally {
    heartbeat.end();
    const againMs = more ? 0 : state.pollMs * 0.9;
    await locking(pool, (tx) => endLease(tx, { name, owner, againMs }));
  }
  return more && !signal.aborted;
}
