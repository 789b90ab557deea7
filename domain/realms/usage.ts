/**
 * Usage of realms (contract, section 13.1), counted in memory: a token bucket of requests and the credits
 * of the month. About once a second a process adds its counts to the platform's table; the same statement
 * tells it the counts of other processes.
 * @module
 */
import { addUsage, selectUsage, type UsageRow } from "../../db/realms/usage.ts";
import type { Pool } from "../../db/database.ts";
import { locking, reading } from "../../db/transaction.ts";
import { type Allowance, DomainError } from "../errors.ts";

/** The kind of a request that decides its credits. */
export type Cost = "none" | "read" | "write" | "message" | "chain";

/** The price of each kind of request, in credits. */
const CREDITS: Readonly<Record<Cost, number>> = {
  none: 0,
  read: 1,
  write: 2,
  message: 5,
  chain: 10,
};

/** The limits of a realm's tier. Null: without limit. */
export interface Tier {
  requestsPerSecond: number | null;
  creditsPerMonth: number | null;
}

/** Work of the database that a read's price covers, in milliseconds: each further piece of that length costs as much again. */
const COVERED_MS = 250;

/** What a search costs beyond the price of a read, in credits, by how long the database worked for it. */
export function creditsOfWork(ms: number): number {
  return CREDITS.read * Math.floor(Math.max(0, ms) / COVERED_MS);
}

/** A request as it is counted. */
export interface ChargedRequest {
  cost: Cost;
  /** Whether its user works for the realm. Customers leave some of all limits to those who do. */
  isHouse: boolean;
}

/** Counts the requests and credits of realms. */
export interface UsageCounter {
  /**
   * Counts one request; waits only when a realm is first seen in a month.
   *
   * @throws {DomainError} rate.limited, credits.exhausted
   */
  charge(realm: string, tier: Tier, request: ChargedRequest): Allowance | Promise<Allowance>;
  /**
   * Adds credits to what a request has cost already, as many as its user has left: what customers leave to others is not
   * used up by the many searches that they had waiting when theirs ended.
   */
  surcharge(
    realm: string,
    tier: Tier,
    more: { credits: number; isHouse: boolean },
  ): Promise<Allowance>;
  /** Reads what was counted of a realm, so that the next charge waits for nothing. */
  prepare(realm: string): Promise<void>;
  /** The credits left in the month; null without limit. */
  credits(realm: string, tier: Tier): Promise<number | null>;
  /** Whether something was counted that is not in the table. */
  dirty(): boolean;
  /** Adds the counts to the table, and reads those of other processes. */
  flush(): Promise<void>;
}

interface RealmUsage {
  month: string;
  /** Credits of the month: in the table, and counted here since. */
  usedByAll: number;
  usedHere: number;
  requestsHere: number;
  /** Requests of all processes when the table was last read, and when that was. */
  requestsOfAll: number | null;
  seenAt: number;
  tokens: number;
  filledAt: number;
}

const USAGES_MAX = 5000;
/** Requests of others count against the bucket only where the last reading is at most so old. */
const GAP_MS = 2500;

/** Opens the counter over the platform's table; `now` gives milliseconds since the epoch. */
export function openUsageCounter(platform: Pool, now: () => number): UsageCounter {
  const usages = new Map<string, RealmUsage>();

  async function load(realm: string, month: string): Promise<RealmUsage> {
    const row = await reading(platform, (db) => selectUsage(db, realm, month));
    const existing = usages.get(realm);
    if (existing?.month === month) return existing;
    const usage: RealmUsage = {
      month,
      usedByAll: Number(row?.credits ?? 0),
      usedHere: 0,
      requestsHere: 0,
      requestsOfAll: Number(row?.requests ?? 0),
      seenAt: now(),
      tokens: existing?.tokens ?? Infinity,
      filledAt: existing?.filledAt ?? now(),
    };
    if (existing !== undefined) await flushOne(platform, realm, existing);
    if (usages.size >= USAGES_MAX) forgetQuiet(usages);
    usages.set(realm, usage);
    return usage;
  }

  async function usageOf(realm: string): Promise<RealmUsage> {
    const month = monthOf(now());
    const held = usages.get(realm);
    return held?.month === month ? held : await load(realm, month);
  }

  return {
    charge(realm, tier, request) {
      const month = monthOf(now());
      const usage = usages.get(realm);
      if (usage?.month === month) return take(usage, tier, request, now());
      return load(realm, month).then((loaded) => take(loaded, tier, request, now()));
    },
    async surcharge(realm, tier, { credits, isHouse }) {
      const usage = await usageOf(realm);
      const part = partOf(tier, isHouse);
      usage.usedHere += Math.min(credits, allowanceOf(usage, tier, part).credits ?? credits);
      return allowanceOf(usage, tier, part);
    },
    async prepare(realm) {
      await usageOf(realm);
    },
    async credits(realm, tier) {
      if (tier.creditsPerMonth === null) return null;
      const usage = await usageOf(realm);
      return Math.max(0, tier.creditsPerMonth - usage.usedByAll - usage.usedHere);
    },
    dirty: () => [...usages.values()].some(isDirty),
    async flush() {
      const months = new Map<string, [string, RealmUsage][]>();
      for (const entry of usages) {
        if (!isDirty(entry[1])) continue;
        const { month } = entry[1];
        months.set(month, [...months.get(month) ?? [], entry]);
      }
      for (const [month, entries] of months) await addUp(platform, month, entries, now());
    },
  };
}

/** The first day of the month (UTC). */
function monthOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 7)}-01`;
}

/** The part of each limit that customers leave to those who work for the realm: one of ten, of few requests one. */
const OF_HOUSE = 0.1;

/** The requests of a second that customers leave. */
function reserveOf(rate: number): number {
  return Math.min(rate - 1, Math.max(1, Math.floor(rate * OF_HOUSE)));
}

/** What a caller leaves to others: requests of a second; and the credits of the month that it does not leave. */
interface Part {
  left: number;
  usable: number | null;
}

function partOf({ requestsPerSecond: rate, creditsPerMonth: most }: Tier, isHouse: boolean): Part {
  return {
    left: isHouse || rate === null ? 0 : reserveOf(rate),
    usable: most === null || isHouse ? most : most - Math.floor(most * OF_HOUSE),
  };
}

function take(
  usage: RealmUsage,
  tier: Tier,
  { cost, isHouse }: ChargedRequest,
  at: number,
): Allowance {
  const { requestsPerSecond: rate, creditsPerMonth: most } = tier;
  const part = partOf(tier, isHouse);
  const { left, usable } = part;
  const allowance = () => allowanceOf(usage, tier, part);
  if (rate !== null) {
    usage.tokens = Math.min(rate, usage.tokens + rate * Math.max(0, at - usage.filledAt) / 1000);
    usage.filledAt = at;
    if (usage.tokens < 1 + left) {
      throw new DomainError("rate.limited", `the realm's tier has ${rate} requests a second`, {
        retryAfterS: Math.max(1, Math.ceil((1 + left - usage.tokens) / rate)),
        allowance: allowance(),
      });
    }
  }
  const price = CREDITS[cost];
  if (usable !== null && price > 0 && usage.usedByAll + usage.usedHere + price > usable) {
    const why = usable === most
      ? ""
      : ", but for those that customers leave to the realm's own users";
    throw new DomainError("credits.exhausted", `the month's ${most} credits are used${why}`, {
      allowance: allowance(),
    });
  }
  usage.usedHere += price;
  usage.requestsHere++;
  if (rate !== null) usage.tokens--;
  return allowance();
}

/** What a caller has left of the limits. */
function allowanceOf(
  usage: RealmUsage,
  { requestsPerSecond: rate }: Tier,
  { left, usable }: Part,
): Allowance {
  return {
    limit: rate,
    remaining: rate === null ? 0 : Math.max(0, Math.floor(usage.tokens - left)),
    resetS: rate === null ? 0 : Math.max(0, Math.ceil((rate - usage.tokens) / rate)),
    credits: usable === null ? null : Math.max(0, usable - usage.usedByAll - usage.usedHere),
  };
}

/** Whether something was counted that is not in the table: work may be charged after its request. */
function isDirty({ requestsHere, usedHere }: RealmUsage): boolean {
  return requestsHere > 0 || usedHere > 0;
}

async function flushOne(platform: Pool, realm: string, usage: RealmUsage): Promise<void> {
  if (isDirty(usage)) await addUp(platform, usage.month, [[realm, usage]], usage.seenAt);
}

/** Adds the usage of one month to the table; deducts the usage of other processes from the buckets. */
async function addUp(
  platform: Pool,
  month: string,
  entries: readonly [string, RealmUsage][],
  at: number,
): Promise<void> {
  const sent = new Map(entries.map(([realm, usage]) => {
    const part = { usage, credits: usage.usedHere, requests: usage.requestsHere };
    usage.usedByAll += part.credits;
    usage.usedHere = 0;
    usage.requestsHere = 0;
    return [realm, part];
  }));
  const used: UsageRow[] = [...sent].map(([realm, part]) => ({
    realm,
    credits: `${part.credits}`,
    requests: `${part.requests}`,
  }));
  let rows: UsageRow[];
  try {
    rows = await locking(platform, (tx) => addUsage(tx, month, used));
  } catch (error) {
    for (const { usage, credits, requests } of sent.values()) {
      usage.usedByAll -= credits;
      usage.usedHere += credits;
      usage.requestsHere += requests;
    }
    throw error;
  }
  for (const row of rows) learn(sent.get(row.realm)!, row, at);
}

function learn(
  { usage, requests }: { usage: RealmUsage; requests: number },
  row: UsageRow,
  at: number,
): void {
  const ofAll = Number(row.requests);
  if (usage.requestsOfAll !== null && at - usage.seenAt <= GAP_MS) {
    const others = Math.max(0, ofAll - usage.requestsOfAll - requests);
    usage.tokens -= others;
  }
  usage.usedByAll = Number(row.credits);
  usage.requestsOfAll = ofAll;
  usage.seenAt = at;
}

function forgetQuiet(usages: Map<string, RealmUsage>): void {
  for (const [realm, usage] of usages) {
    if (isDirty(usage)) continue;
    usages.delete(realm);
    return;
  }
}
