/**
 * The timetable: what repeats, and how often. Sealing and expiring look for work in every realm
 * several times a second; the rest is done once per interval by whichever process takes its lease.
 * @module
 */
import type { Database, Pool, Tx } from "../../db/database.ts";
import { endLease, takeLease } from "../../db/leases.ts";
import { replaceRealmFaults } from "../../db/realms/installation.ts";
import { selectQuarantinedPlaces } from "../../db/sending/quarantine.ts";
import { selectSeedNeeded } from "../../db/security/secrets.ts";
import { compactTallies } from "../../db/collections/collection.ts";
import type { Ladders } from "../../db/migrate.ts";
import { deleteOldAnswers, deleteOldLogins } from "../../db/records.ts";
import { deleteExpiredSigningKeys, type RealmRow, selectRealms } from "../../db/realms/realms.ts";
import { deleteOldPlatformAnswers, deleteStale, selectWaiting } from "../../db/housekeeping.ts";
import { locking, reading, serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import { copyRates, keepRates, spreadRates } from "../../domain/currencies/rates.ts";
import { noteSettings } from "../../domain/realms/realm_events.ts";
import { placeOf } from "../../domain/realms/realms.ts";
import type { Log } from "../../log.ts";
import { attestRealm } from "../installation/attestation.ts";
import { workerActor, type WorkerContext } from "../worker_context.ts";
import type { Chains } from "../chains/registry.ts";
import { SEARCH_MS, searchCoins } from "../scanning/utxo_search.ts";
import { expireRealm } from "./expiry.ts";
import { refreshFees } from "../sending/fee_quotes.ts";
import type { RatesGateway } from "../gateways/rates.ts";
import { patiently, pause } from "../timers.ts";
import { sealRealm } from "../audit/hash_chain.ts";
import { reviveForgotten } from "../sending/sender.ts";
import type { Signer } from "../keys/signer.ts";
import { checkSolvency } from "../audit/solvency.ts";

/** The running timetable of a process. */
export interface Timetable {
  /** Does what is due until nothing is left or the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes what runs and returns. */
  stop(): Promise<void>;
}

/** What the timetable works with. */
export interface TimetableOptions {
  database: Database;
  log: Log;
  now: () => number;
  chains: Chains;
  signer: Signer;
  /** Null: rates are set by hand. */
  rates: RatesGateway | null;
  /** What this version needs; realms that could not be migrated at the start are tried again. */
  ladders?: Ladders;
}

/** Work that repeats. */
interface Repeat<P> {
  name: string;
  everyMs: number;
  /** Longest that one process may take, doing it for all; null: it keeps rivals apart itself. */
  leaseMs: number | null;
  run(at: P, desk: Desk): Promise<void>;
}

/** A realm, its pool, and connections that it shares with all others. */
interface Site {
  realm: RealmRow;
  pool: Pool;
  watch: Pool;
}

/** Pause between two looks for what waits in the realms: what is posted is sealed by the second. */
export const LOOK_MS = 400;
const REALM_LIST_MS = 1000;
const REALMS_PAGE = 500;
const REALMS_AT_ONCE = 4;
/** Longest that one realm's backlog keeps the others waiting. */
const SLICE_MS = 2000;
/** Longest that visits to some realms keep the next ones waiting. */
const PATIENCE_MS = 3000;
/** After a failure a realm, or a piece of work, is left alone for so long. */
const REST_MS = 5000;
/** Rows that one statement deletes. */
const TIDY_SLICE = 20_000;

const REALM_REPEATS: readonly Repeat<WorkerContext>[] = [
  { name: "copy rates", everyMs: 60_000, leaseMs: 60_000, run: refreshRates },
  { name: "refresh fees", everyMs: 20_000, leaseMs: 60_000, run: (at) => refreshFees(at) },
  { name: "check solvency", everyMs: 60_000, leaseMs: 120_000, run: checkSolvency },
  { name: "revive orders", everyMs: 300_000, leaseMs: 60_000, run: reviveForgotten },
  { name: "sum tallies", everyMs: 60_000, leaseMs: 60_000, run: sumTallies },
  {
    name: "note settings",
    everyMs: 60_000,
    leaseMs: 60_000,
    run: ({ realm, pool }, { database }) => noteSettings(database.platform, { id: realm.id, pool }),
  },
  { name: "tidy", everyMs: 3_600_000, leaseMs: 600_000, run: tidyRealm },
  {
    name: "attest",
    everyMs: 15_000,
    leaseMs: 60_000,
    run: (context, { database }) => attestRealm(context, database.platform),
  },
  { name: "tell faults", everyMs: 15_000, leaseMs: 60_000, run: tellFaults },
  { name: "plant seed", everyMs: 3_600_000, leaseMs: 60_000, run: plantSeed },
];
/** What may take a node many minutes, in a loop of its own. */
const SLOW_REPEATS: readonly Repeat<WorkerContext>[] = [
  { name: "search coins", everyMs: SEARCH_MS, leaseMs: 2 * 3_600_000, run: searchCoins },
];

/** Tells the platform which places of the realm are in quarantine, and whether its seed is gone. */
async function tellFaults({ realm, pool }: WorkerContext, desk: Desk): Promise<void> {
  const places = await reading(pool, selectQuarantinedPlaces);
  const seedless = await reading(pool, selectSeedNeeded);
  const missing = { chain: "", network: "", detail: "the realm has addresses and no seed" };
  await locking(desk.database.platform, async (tx) => {
    await replaceRealmFaults(tx, { realm: realm.id, code: "chain.quarantined" }, places);
    await replaceRealmFaults(
      tx,
      { realm: realm.id, code: "seed.missing" },
      seedless ? [missing] : [],
    );
  });
}

const PLATFORM_REPEATS: readonly Repeat<Pool>[] = [
  { name: "fetch rates", everyMs: 300_000, leaseMs: 60_000, run: fetchRates },
  { name: "tidy", everyMs: 3_600_000, leaseMs: 600_000, run: tidyPlatform },
  { name: "migrate realms", everyMs: 60_000, leaseMs: 600_000, run: migrateLeft },
];

/** What the timetable keeps in mind between two passes. */
interface Desk extends TimetableOptions {
  only: string | null;
  signal: AbortSignal;
  /** This process, in leases. */
  holder: string;
  sites: Map<string, Site>;
  /** When each piece of work is due again here. */
  dueAt: Map<string, number>;
  listedAt: number;
  /** Visits that run. */
  flying: Map<string, Promise<unknown>>;
  /** The latest reading of the list, which both loops wait for. */
  listing: Promise<unknown>;
  /** Time of the newest platform rate that was copied into a realm from here. */
  ratesUpTo: Map<string, number>;
}

/** Starts the timetable. With `loop: false` it works only when drained, `only` for one realm. */
export function startTimetable(
  options: TimetableOptions,
  how: { loop?: boolean; only?: string } = {},
): Timetable {
  const leaving = new AbortController();
  const desk: Desk = {
    ...options,
    only: how.only ?? null,
    signal: leaving.signal,
    holder: crypto.randomUUID(),
    sites: new Map(),
    dueAt: new Map(),
    listedAt: -Infinity,
    flying: new Map(),
    listing: Promise.resolve(),
    ratesUpTo: new Map(),
  };
  // Sealing must not wait for a slow node, nor anything for one that reads all its coins.
  const looping = how.loop ?? true
    ? Promise.all([glance, repeatAll, repeatSlow].map((visit) => loop(desk, visit)))
    : null;
  return {
    async drain(budgetMs) {
      const until = desk.now() + budgetMs;
      const over = () => desk.signal.aborted || desk.now() >= until;
      const all = () =>
        Promise.all([glance, repeatAll, repeatSlow].map((visit) => pass(desk, visit, over)));
      while (!over() && (await all()).includes(true));
    },
    async stop() {
      leaving.abort();
      await looping;
      await Promise.allSettled(desk.flying.values());
    },
  };
}

/** Does something in one realm; tells whether there was anything to do. */
type Visit = (desk: Desk, site: Site) => Promise<boolean>;

async function loop(desk: Desk, visit: Visit): Promise<void> {
  while (!desk.signal.aborted) {
    await pass(desk, visit, () => desk.signal.aborted);
    await pause(LOOK_MS, desk.signal);
  }
}

/** Visits every realm once; tells whether there was anything to do. */
async function pass(desk: Desk, visit: Visit, over: () => boolean): Promise<boolean> {
  const { platform } = desk.database;
  let busy = visit === repeatAll &&
    await repeat(desk, { name: "", at: platform, pool: platform }, PLATFORM_REPEATS);
  if (desk.now() - desk.listedAt >= REALM_LIST_MS) {
    desk.listedAt = desk.now();
    desk.listing = attempt(desk, "list realms", () => listRealms(desk));
  }
  await desk.listing;
  const all = [...desk.sites.values()];
  for (let i = 0; i < all.length && !over();) {
    const some = all.slice(i, i += REALMS_AT_ONCE);
    const found = await patiently(
      Promise.all(some.map((site) => alone(desk, visit, site))),
      PATIENCE_MS,
    );
    busy = found?.includes(true) || busy;
  }
  return busy;
}

/** Visits a realm unless the last such visit still runs: its database may be slow, or away. */
async function alone(desk: Desk, visit: Visit, site: Site): Promise<boolean> {
  const name = `${visit.name} ${site.realm.id}`;
  if (desk.flying.has(name)) return false;
  const flight = visit(desk, site).finally(() => desk.flying.delete(name));
  desk.flying.set(name, flight);
  return await flight;
}

async function listRealms(desk: Desk): Promise<void> {
  const { database, sites } = desk;
  const gone = new Set(sites.keys());
  for (let after: string | null = null;;) {
    const rows: RealmRow[] = await reading(
      database.platform,
      (db) => selectRealms(db, after, REALMS_PAGE),
    );
    for (const realm of rows) {
      gone.delete(realm.id);
      if (desk.only !== null && realm.id !== desk.only) continue;
      const place = placeOf(realm);
      sites.set(realm.id, { realm, pool: database.working(place), watch: database.watch(place) });
    }
    if (rows.length < REALMS_PAGE) break;
    after = rows[rows.length - 1].id;
  }
  for (const id of gone) sites.delete(id);
}

async function glance(desk: Desk, site: Site): Promise<boolean> {
  return await attempt(desk, `look ${site.realm.id}`, () => look(site, desk)) === true;
}

async function repeatAll(desk: Desk, site: Site): Promise<boolean> {
  return await repeat(desk, whereOf(desk, site), REALM_REPEATS);
}

async function repeatSlow(desk: Desk, site: Site): Promise<boolean> {
  return await repeat(desk, whereOf(desk, site), SLOW_REPEATS);
}

function whereOf(desk: Desk, site: Site) {
  return { name: site.realm.id, at: workerContextOf(desk, site), pool: site.watch };
}

/** What is repeated in every realm is small, and done over connections that all of them share. */
function workerContextOf(desk: Desk, { realm, watch: pool }: Site): WorkerContext {
  const { chains, signer, log, signal } = desk;
  const at = desk.now();
  const actor = workerActor(realm, newId(at), at);
  return {
    realm,
    pool,
    actor,
    log,
    chains,
    signer,
    signal,
    step: (work, how) => serializable(pool, work, how),
  };
}

/** Does what is due of repeated work and what no other process does; tells if there was any. */
async function repeat<P>(
  desk: Desk,
  where: { name: string; at: P; pool: Pool },
  work: readonly Repeat<P>[],
): Promise<boolean> {
  let busy = false;
  for (const one of work) {
    const name = `${one.name} ${where.name}`;
    if (desk.signal.aborted || desk.now() < (desk.dueAt.get(name) ?? 0)) continue;
    desk.dueAt.set(name, desk.now() + one.everyMs);
    const done = await attempt(desk, name, () => underLease(desk, where, one));
    busy = done === true || busy;
  }
  return busy;
}

async function underLease<P>(
  desk: Desk,
  where: { at: P; pool: Pool },
  work: Repeat<P>,
): Promise<boolean> {
  const { name, leaseMs, everyMs } = work;
  const { holder } = desk;
  if (leaseMs === null) {
    await work.run(where.at, desk);
    return false;
  }
  if (!await locking(where.pool, (tx) => takeLease(tx, { name, holder, leaseMs }))) return false;
  try {
    await work.run(where.at, desk);
  } finally {
    // A little early, so that the next look of this same process finds it due.
    const againMs = everyMs - everyMs / 20;
    await locking(where.pool, (tx) => endLease(tx, { name, holder, againMs }));
  }
  return true;
}

/** Keeps a failure from stopping the rest, and what failed from being tried without a rest. */
async function attempt<T>(desk: Desk, name: string, work: () => Promise<T>): Promise<T | null> {
  const rest = `rest ${name}`;
  if (desk.now() < (desk.dueAt.get(rest) ?? 0)) return null;
  try {
    return await work();
  } catch (error) {
    desk.dueAt.set(rest, desk.now() + REST_MS);
    if (!desk.signal.aborted) desk.log("warn", "repeated work failed", { work: name, error });
    return null;
  }
}

/** Seals and expires what waits in a realm; tells whether there was anything. */
async function look(site: Site, { now, signal }: Desk): Promise<boolean> {
  const { pool } = site;
  const waiting = await selectWaiting(site.watch);
  const over = overAfter(SLICE_MS, signal);
  if (waiting.unsealed) await sealRealm(pool, now, over);
  if (waiting.expired) await expireRealm(pool, overAfter(SLICE_MS, signal));
  return waiting.unsealed || waiting.expired;
}

function overAfter(ms: number, signal: AbortSignal): () => boolean {
  const until = performance.now() + ms;
  return () => signal.aborted || performance.now() > until;
}

async function refreshRates({ realm, pool }: WorkerContext, desk: Desk): Promise<void> {
  const after = desk.ratesUpTo.get(realm.id) ?? 0;
  desk.ratesUpTo.set(realm.id, await copyRates(desk.database.platform, pool, after));
}

async function sumTallies({ pool }: WorkerContext): Promise<void> {
  await locking(pool, compactTallies);
}

/** A realm's seed is made moments after the realm, long before anybody needs an address. */
async function plantSeed({ realm, pool, signer }: WorkerContext): Promise<void> {
  await signer.plant({ realm: realm.id, pool });
}

async function tidyRealm({ pool }: WorkerContext, { signal }: Desk): Promise<void> {
  for (const remove of [deleteOldAnswers, deleteOldLogins]) await inSlices(pool, remove, signal);
  await locking(pool, deleteStale);
}

async function tidyPlatform(platform: Pool, { signal }: Desk): Promise<void> {
  await inSlices(platform, deleteOldPlatformAnswers, signal);
  await locking(platform, deleteExpiredSigningKeys);
}

/** Deletes slice by slice, each in a transaction of its own, so that no backlog is too large. */
async function inSlices(
  pool: Pool,
  remove: (tx: Tx, limit: number) => Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  let removed: number;
  do removed = await locking(pool, (tx) => remove(tx, TIDY_SLICE)); while (
    removed > 0 && !signal.aborted
  );
}

async function migrateLeft(_: Pool, { database, ladders, log }: Desk): Promise<void> {
  if (ladders !== undefined) await migrateRealms(database, ladders, log);
}

async function fetchRates(platform: Pool, desk: Desk): Promise<void> {
  if (desk.rates === null) return;
  const prices = await desk.rates.fetchPrices(desk.signal);
  const updated_at = desk.now();
  const rows = prices.map((price) => ({ ...price, source: "market", owner: null, updated_at }));
  await keepRates(platform, rows);
  await spreadRates(desk.database, rows, desk.only);
}
