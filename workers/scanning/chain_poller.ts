/**
 * Keeps looking at the chains: each realm's places in turn, each place by one process at a time,
 * which holds its lease. What a look finds becomes rows and jobs; nothing else is done here.
 * @module
 */
import type { Database, Pool } from "../../db/database.ts";
import { endLease, prolongLease, takeLease } from "../../db/leases.ts";
import { selectPlaces } from "../../db/accounts/ramps.ts";
import { type RealmRow, selectRealms, selectRealmsById } from "../../db/realms/realms.ts";
import { locking, reading, serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import type { ChainPlace } from "../../domain/chains/networks.ts";
import { placeOf } from "../../domain/realms/realms.ts";
import type { Log } from "../../log.ts";
import { workerActor, type WorkerContext } from "../worker_context.ts";
import type { Chains } from "../chains/registry.ts";
import { inTurns, type Line, openLine } from "../task_queue.ts";
import { patiently, pause } from "../timers.ts";
import { scanPlace } from "./scanner.ts";
import type { Signer } from "../keys/signer.ts";

/** The running follower of a process. */
export interface Follower {
  /** Looks at everything that is due, and follows what is behind until the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes the block in hand and returns. */
  stop(): Promise<void>;
}

/** What the follower works with. */
export interface FollowerOptions {
  database: Database;
  log: Log;
  chains: Chains;
  signer: Signer;
  now: () => number;
  /** How often each place is looked at. */
  pollMs: number;
  /** Told of a realm that may have jobs now. */
  wake: (realm: string) => void;
}

const LEASE_MS = 60_000;
const REALMS_PAGE = 500;
const REALMS_AT_ONCE = 4;
/** Longest that one place keeps those in the same line waiting. */
const SLICE_MS = 5000;
/** Longest that looks for the places of some realms keep the next ones waiting. */
const PATIENCE_MS = 3000;

/** What the follower keeps in mind. */
interface Work extends FollowerOptions {
  holder: string;
  signal: AbortSignal;
  only: string | null;
  /** One line for each network: a node that is slow, or away, keeps only its own places waiting. */
  lines: Map<string, Line>;
  /** Looks that run or stand in line. */
  flying: Map<string, Promise<void>>;
}

/** Starts the follower. With `loop: false` it works only when drained, `only` for one realm. */
export function startFollower(
  options: FollowerOptions,
  how: { loop?: boolean; only?: string } = {},
): Follower {
  const leaving = new AbortController();
  const { signal } = leaving;
  const work: Work = {
    ...options,
    holder: crypto.randomUUID(),
    signal,
    only: how.only ?? null,
    lines: new Map(),
    flying: new Map(),
  };
  async function loop(): Promise<void> {
    while (!signal.aborted) {
      const startedAt = options.now();
      await pass(work, Infinity).catch((error) => {
        if (!signal.aborted) options.log("error", "the chains could not be followed", { error });
      });
      await pause(Math.max(100, startedAt + options.pollMs - options.now()), signal);
    }
  }
  const looping = how.loop ?? true ? loop() : Promise.resolve();
  return {
    async drain(budgetMs) {
      await pass(work, options.now() + budgetMs);
      await Promise.all(work.flying.values());
    },
    async stop() {
      leaving.abort();
      await looping;
      await Promise.all(work.flying.values());
    },
  };
}

/** Begins to look at every place at which no look of ours runs. */
async function pass(work: Work, until: number): Promise<void> {
  if (work.chains.configured.length === 0) return;
  for await (const realms of realmPages(work.database, work.only)) {
    for (let i = 0; i < realms.length && !work.signal.aborted;) {
      const some = realms.slice(i, i += REALMS_AT_ONCE);
      const visits = some.map(({ id }) => id);
      for (const realm of some) {
        fly(work, realm.id, () => visit(work, realm, until), { realm: realm.id });
      }
      await patiently(Promise.all(visits.map((id) => work.flying.get(id))), PATIENCE_MS);
    }
  }
}

/** Begins to look at a realm's places; one that fails does not keep the others. */
async function visit(work: Work, realm: RealmRow, until: number): Promise<void> {
  const watch = work.database.watch(placeOf(realm));
  const places = await reading(watch, selectPlaces) as unknown as ChainPlace[];
  const pool = work.database.working(placeOf(realm));
  for (const place of places.filter((one) => isOpen(work.chains, one))) {
    const { chain, network } = place;
    const name = `${realm.id} ${chain} ${network}`;
    const line = lineOf(work, `${chain} ${network}`);
    fly(work, name, () => inTurns(line, () => look(work, realm, { pool, place, until })), {
      realm: realm.id,
      chain,
      network,
    });
  }
}

/** Begins something unless it is under way; `work.flying` tells when it has ended, and never rejects. */
function fly(
  work: Work,
  name: string,
  run: () => Promise<void>,
  what: Record<string, string>,
): void {
  if (work.flying.has(name)) return;
  const flight = run().catch((error) => {
    if (!work.signal.aborted) {
      work.log("error", "a chain could not be followed", { ...what, error });
    }
  }).finally(() => work.flying.delete(name));
  work.flying.set(name, flight);
}

function lineOf(work: Work, name: string): Line {
  const line = work.lines.get(name) ?? openLine();
  work.lines.set(name, line);
  return line;
}

function isOpen(chains: Chains, place: ChainPlace): boolean {
  return chains.configured.some((one) =>
    one.chain === place.chain && chains.network(one) === place.network
  );
}

/** Follows one place for a while under its lease; tells whether it should be followed on at once. */
async function look(
  work: Work,
  realm: RealmRow,
  at: { pool: Pool; place: ChainPlace; until: number },
): Promise<boolean> {
  const { pool, place } = at;
  if (work.signal.aborted || work.now() >= at.until) return false;
  const name = `scan ${place.chain} ${place.network}`;
  const lease = { name, holder: work.holder, leaseMs: LEASE_MS };
  if (!await locking(pool, (tx) => takeLease(tx, lease))) return false;
  const lost = new AbortController();
  const signal = AbortSignal.any([work.signal, lost.signal]);
  const heartbeat = setInterval(() => {
    locking(pool, (tx) => prolongLease(tx, lease)).then(
      (held) => held || lost.abort(),
      () => lost.abort(),
    );
  }, LEASE_MS / 3);
  const since = work.now();
  let more = true;
  try {
    while (more && !signal.aborted && work.now() < since + SLICE_MS) {
      const pass = await scanPlace(workerContextOf(work, realm, pool, signal), place);
      work.wake(realm.id);
      more = pass === "more" && work.now() < at.until;
    }
  } finally {
    clearInterval(heartbeat);
    const againMs = more ? 0 : work.pollMs * 0.9;
    await locking(pool, (tx) => endLease(tx, { name, holder: work.holder, againMs }));
  }
  return more && !signal.aborted;
}

function workerContextOf(
  work: Work,
  realm: RealmRow,
  pool: Pool,
  signal: AbortSignal,
): WorkerContext {
  const at = work.now();
  return {
    realm,
    pool,
    log: work.log,
    chains: work.chains,
    signer: work.signer,
    signal,
    actor: workerActor(realm, newId(at), at),
    step: (run, how) => serializable(pool, run, how),
  };
}

async function* realmPages(database: Database, only: string | null): AsyncGenerator<RealmRow[]> {
  if (only !== null) {
    yield await reading(database.platform, (db) => selectRealmsById(db, [only]));
    return;
  }
  for (let after: string | null = null;;) {
    const page: RealmRow[] = await reading(
      database.platform,
      (db) => selectRealms(db, after, REALMS_PAGE),
    );
    yield page;
    if (page.length < REALMS_PAGE) return;
    after = page[page.length - 1].id;
  }
}
