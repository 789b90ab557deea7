/**
 * The timetable: what repeats, and how often. Sealing and expiring look for work in every realm
 * several times a second; the rest is done once per interval by whichever process takes its lease.
 * @module
 */
import type { Database, Pool } from "../db/database.ts";
import { endLease, takeLease } from "../db/leases.ts";
import { deleteOldAnswers } from "../db/records.ts";
import { deleteExpiredSigningKeys, type RealmRow, selectRealms } from "../db/realms.ts";
import { deleteStale, selectWaiting } from "../db/timetable.ts";
import { locking, reading, serializable } from "../db/transaction.ts";
import { expireDueBlocks } from "../domain/blocks.ts";
import { copyRates, keepRates, spreadRates } from "../domain/rates.ts";
import { placeOf } from "../domain/realms.ts";
import type { Log } from "../log.ts";
import type { RatesGateway } from "./gateways/rates.ts";
import { sealRealm } from "./seals.ts";

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
  /** Null: rates are set by hand. */
  rates: RatesGateway | null;
}

/** Work that one process does for all, once per interval. */
interface Repeat<P> {
  name: string;
  everyMs: number;
  leaseMs: number;
  run(at: P, desk: Desk): Promise<void>;
}

/** Where a realm's work is done. */
interface Site {
  realm: RealmRow;
  pool: Pool;
  /** Time of the newest platform rate that was copied here by this process. */
  ratesUpTo: number;
}

const LOOK_MS = 400;
const REALM_LIST_MS = 1000;
const REALMS_PAGE = 500;
const REALMS_AT_ONCE = 4;
/** Longest that one realm's backlog keeps the others waiting. */
const SLICE_MS = 2000;
/** After a failure a realm, or a piece of work, is left alone for so long. */
const REST_MS = 5000;

const REALM_REPEATS: readonly Repeat<Site>[] = [
  { name: "copy rates", everyMs: 60_000, leaseMs: 60_000, run: refreshRates },
  { name: "tidy", everyMs: 3_600_000, leaseMs: 600_000, run: tidyRealm },
];
const PLATFORM_REPEATS: readonly Repeat<Pool>[] = [
  { name: "fetch rates", everyMs: 300_000, leaseMs: 60_000, run: fetchRates },
  { name: "tidy", everyMs: 3_600_000, leaseMs: 600_000, run: tidyPlatform },
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
  };
  const looping = how.loop ?? true ? loop(desk) : Promise.resolve();
  return {
    async drain(budgetMs) {
      const until = desk.now() + budgetMs;
      while (!desk.signal.aborted && desk.now() < until && await pass(desk, until));
    },
    async stop() {
      leaving.abort();
      await looping;
    },
  };
}

async function loop(desk: Desk): Promise<void> {
  while (!desk.signal.aborted) {
    await pass(desk, Infinity);
    await pause(LOOK_MS, desk.signal);
  }
}

/** Looks once at everything; tells whether there was anything to do. */
async function pass(desk: Desk, until: number): Promise<boolean> {
  const { platform } = desk.database;
  let busy = await repeat(desk, { name: "", at: platform, pool: platform }, PLATFORM_REPEATS);
  if (desk.now() - desk.listedAt >= REALM_LIST_MS) {
    await attempt(desk, "list realms", () => listRealms(desk));
  }
  const all = [...desk.sites.values()];
  for (let i = 0; i < all.length && !desk.signal.aborted && desk.now() < until;) {
    const some = all.slice(i, i += REALMS_AT_ONCE);
    const found = await Promise.all(some.map((site) => visit(desk, site)));
    busy = found.includes(true) || busy;
  }
  return busy;
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
      const pool = database.realm(placeOf(realm));
      sites.set(realm.id, { ratesUpTo: 0, ...sites.get(realm.id), realm, pool });
    }
    if (rows.length < REALMS_PAGE) break;
    after = rows[rows.length - 1].id;
  }
  for (const id of gone) sites.delete(id);
  desk.listedAt = desk.now();
}

async function visit(desk: Desk, site: Site): Promise<boolean> {
  const { id } = site.realm;
  const worked = await attempt(desk, `look ${id}`, () => look(site, desk));
  return await repeat(desk, { name: id, at: site, pool: site.pool }, REALM_REPEATS) ||
    worked === true;
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
  const at = now();
  const waiting = await reading(pool, (db) => selectWaiting(db, at));
  if (waiting.unsealed) {
    await sealRealm(pool, now, () => signal.aborted || now() > at + SLICE_MS);
  }
  if (waiting.expired) {
    await serializable(pool, (tx) => expireDueBlocks(tx, { at }), { gate: true });
  }
  return waiting.unsealed || waiting.expired;
}

async function refreshRates(site: Site, { database }: Desk): Promise<void> {
  site.ratesUpTo = await copyRates(database.platform, site.pool, site.ratesUpTo);
}

async function tidyRealm({ pool }: Site): Promise<void> {
  await locking(pool, async (tx) => {
    await deleteOldAnswers(tx);
    await deleteStale(tx);
  });
}

async function tidyPlatform(platform: Pool): Promise<void> {
  await locking(platform, async (tx) => {
    await deleteOldAnswers(tx);
    await deleteExpiredSigningKeys(tx);
  });
}

async function fetchRates(platform: Pool, desk: Desk): Promise<void> {
  if (desk.rates === null) return;
  const prices = await desk.rates.fetchPrices(desk.signal);
  const updated_at = desk.now();
  const rows = prices.map((price) => ({ ...price, source: "market", owner: null, updated_at }));
  await keepRates(platform, rows);
  const reach = (realm: RealmRow) => Promise.resolve(desk.database.realm(placeOf(realm)));
  await spreadRates(platform, reach, rows, desk.only);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end);
  });
}
