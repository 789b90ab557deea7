/**
 * Keeps looking at the chains: each realm's places in turn, each place by one process at a time,
 * which holds its lease. What a look finds becomes rows and jobs; nothing else is done here.
 * @module
 */
import type { Database, Pool } from "../db/database.ts";
import { endLease, prolongLease, takeLease } from "../db/leases.ts";
import { selectPlaces } from "../db/ramps.ts";
import { type RealmRow, selectRealms, selectRealmsById } from "../db/realms.ts";
import { locking, reading, serializable } from "../db/transaction.ts";
import { newId } from "../domain/ids.ts";
import type { ChainPlace } from "../domain/places.ts";
import { placeOf } from "../domain/realms.ts";
import type { Log } from "../log.ts";
import { type Bench, workerActor } from "./bench.ts";
import type { Chains } from "./chains/registry.ts";
import { scanPlace } from "./scanner.ts";
import type { Signer } from "./signer.ts";

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

/** Starts the follower. With `loop: false` it works only when drained, `only` for one realm. */
export function startFollower(
  options: FollowerOptions,
  how: { loop?: boolean; only?: string } = {},
): Follower {
  const leaving = new AbortController();
  const { signal } = leaving;
  const work = { ...options, holder: crypto.randomUUID(), signal };
  let nudge = Promise.withResolvers<void>();

  async function loop(): Promise<void> {
    while (!signal.aborted) {
      const startedAt = options.now();
      await pass(how.only, Infinity).catch((error) => {
        if (!signal.aborted) options.log("error", "the chains could not be followed", { error });
      });
      nudge = Promise.withResolvers();
      if (signal.aborted) return;
      const restMs = Math.max(100, startedAt + options.pollMs - options.now());
      const timer = setTimeout(() => nudge.resolve(), restMs);
      await nudge.promise;
      clearTimeout(timer);
    }
  }

  async function pass(only: string | undefined, until: number): Promise<void> {
    if (options.chains.configured.length === 0) return;
    for await (const realms of realmPages(options.database, only)) {
      for (let i = 0; i < realms.length && !signal.aborted;) {
        await Promise.all(
          realms.slice(i, i += REALMS_AT_ONCE).map((one) => visit(work, one, until)),
        );
      }
    }
  }

  const looping = how.loop ?? true ? loop() : Promise.resolve();
  return {
    drain: (budgetMs) => pass(how.only, options.now() + budgetMs),
    async stop() {
      leaving.abort();
      nudge.resolve();
      await looping;
    },
  };
}

type Work = FollowerOptions & { holder: string; signal: AbortSignal };

/** Looks at a realm's places side by side; one that fails does not keep the others. */
async function visit(work: Work, realm: RealmRow, until: number): Promise<void> {
  const watch = work.database.watch(placeOf(realm));
  const places = await reading(watch, selectPlaces) as unknown as ChainPlace[];
  const pool = work.database.realm(placeOf(realm));
  const open = places.filter((place) => isOpen(work.chains, place));
  await Promise.all(open.map((place) =>
    look(work, realm, { pool, place, until }).catch((error) => {
      if (!work.signal.aborted) {
        work.log("error", "a chain could not be followed", { realm: realm.id, ...place, error });
      }
    })
  ));
}

function isOpen(chains: Chains, place: ChainPlace): boolean {
  return chains.configured.some((one) =>
    one.chain === place.chain && chains.network(one) === place.network
  );
}

/** Follows one place until it has caught up, under its lease. */
async function look(
  work: Work,
  realm: RealmRow,
  at: { pool: Pool; place: ChainPlace; until: number },
): Promise<void> {
  const { pool, place } = at;
  const name = `scan ${place.chain} ${place.network}`;
  const lease = { name, holder: work.holder, leaseMs: LEASE_MS };
  if (!await locking(pool, (tx) => takeLease(tx, lease))) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([work.signal, lost.signal]);
  const heartbeat = setInterval(() => {
    locking(pool, (tx) => prolongLease(tx, lease)).then(
      (held) => held || lost.abort(),
      () => lost.abort(),
    );
  }, LEASE_MS / 3);
  try {
    while (!signal.aborted) {
      const pass = await scanPlace(benchOf(work, realm, pool, signal), place);
      work.wake(realm.id);
      if (pass !== "more" || work.now() >= at.until) break;
    }
  } finally {
    clearInterval(heartbeat);
    const againMs = work.pollMs * 0.9;
    await locking(pool, (tx) => endLease(tx, { name, holder: work.holder, againMs }));
  }
}

function benchOf(work: Work, realm: RealmRow, pool: Pool, signal: AbortSignal): Bench {
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

async function* realmPages(database: Database, only?: string): AsyncGenerator<RealmRow[]> {
  if (only !== undefined) {
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
