/**
 * Credits and rates of realms (contract, section 13.1), counted in memory: a bucket of requests and
 * the credits used this month. What is counted here is added up in the platform's table about once
 * a second, and what other processes counted comes back by the same statement.
 * @module
 */
import type { Allowance } from "../allowance.ts";
import { addUsage, selectUsage, type UsageRow } from "../../db/realms/usage.ts";
import type { Pool } from "../../db/database.ts";
import { locking, reading } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";

/** What a request is, as far as credits go. */
export type Cost = "none" | "read" | "write" | "message" | "chain";

/** The price of each kind of request, in credits. */
export const CREDITS: Readonly<Record<Cost, number>> = {
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

/** Counts what realms use. */
export interface UsageCounter {
  /**
   * Counts one request; waits only when a realm is first seen in a month.
   *
   * @throws {DomainError} rate.limited, credits.exhausted
   */
  charge(realm: string, tier: Tier, cost: Cost): Allowance | Promise<Allowance>;
  /** What is left of the month's credits. */
  credits(realm: string, tier: Tier): Promise<number | null>;
  /** Whether something is counted that has not been added up. */
  dirty(): boolean;
  /** Adds up what was counted, and learns what others have. */
  flush(): Promise<void>;
}

interface Count {
  month: string;
  /** Credits of the month: added up by all, and counted here since. */
  usedByAll: number;
  usedHere: number;
  requestsHere: number;
  /** Requests that all processes had added up when last seen, and when that was. */
  requestsOfAll: number | null;
  seenAt: number;
  tokens: number;
  filledAt: number;
}

const COUNTS_MAX = 5000;
/** What others counted while this process did not look says nothing about this moment. */
const GAP_MS = 2500;

/** Opens a meter over the platform's table; `now` gives milliseconds since the epoch. */
export function openUsageCounter(platform: Pool, now: () => number): UsageCounter {
  const counts = new Map<string, Count>();

  async function load(realm: string, month: string): Promise<Count> {
    const row = await reading(platform, (db) => selectUsage(db, realm, month));
    const existing = counts.get(realm);
    if (existing?.month === month) return existing;
    const count: Count = {
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
    if (counts.size >= COUNTS_MAX) forgetQuiet(counts);
    counts.set(realm, count);
    return count;
  }

  return {
    charge(realm, tier, cost) {
      const month = monthOf(now());
      const count = counts.get(realm);
      if (count?.month === month) return take(count, tier, cost, now());
      return load(realm, month).then((loaded) => take(loaded, tier, cost, now()));
    },
    async credits(realm, tier) {
      if (tier.creditsPerMonth === null) return null;
      const month = monthOf(now());
      const held = counts.get(realm);
      const count = held?.month === month ? held : await load(realm, month);
      return Math.max(0, tier.creditsPerMonth - count.usedByAll - count.usedHere);
    },
    dirty: () => [...counts.values()].some((count) => count.requestsHere > 0),
    async flush() {
      const months = new Map<string, [string, Count][]>();
      for (const entry of counts) {
        if (entry[1].requestsHere === 0) continue;
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

function take(count: Count, tier: Tier, cost: Cost, at: number): Allowance {
  const rate = tier.requestsPerSecond;
  if (rate !== null) {
    count.tokens = Math.min(rate, count.tokens + rate * Math.max(0, at - count.filledAt) / 1000);
    count.filledAt = at;
    if (count.tokens < 1) {
      throw new DomainError("rate.limited", `the realm's tier has ${rate} requests a second`, {
        retryAfterS: Math.max(1, Math.ceil((1 - count.tokens) / rate)),
        allowance: allowanceOf(count, tier),
      });
    }
  }
  const price = CREDITS[cost];
  const most = tier.creditsPerMonth;
  if (most !== null && price > 0 && count.usedByAll + count.usedHere + price > most) {
    throw new DomainError("credits.exhausted", `the month's ${most} credits are used`, {
      allowance: allowanceOf(count, tier),
    });
  }
  count.usedHere += price;
  count.requestsHere++;
  if (rate !== null) count.tokens--;
  return allowanceOf(count, tier);
}

function allowanceOf(count: Count, tier: Tier): Allowance {
  const { requestsPerSecond: rate, creditsPerMonth: most } = tier;
  return {
    limit: rate,
    remaining: rate === null ? 0 : Math.max(0, Math.floor(count.tokens)),
    resetS: rate === null ? 0 : Math.max(0, Math.ceil((rate - count.tokens) / rate)),
    credits: most === null ? null : Math.max(0, most - count.usedByAll - count.usedHere),
  };
}

async function flushOne(platform: Pool, realm: string, count: Count): Promise<void> {
  if (count.requestsHere > 0) await addUp(platform, count.month, [[realm, count]], count.seenAt);
}

/** Adds up the counts of one month; what others used meanwhile is taken out of the buckets. */
async function addUp(
  platform: Pool,
  month: string,
  entries: readonly [string, Count][],
  at: number,
): Promise<void> {
  const sent = new Map(entries.map(([realm, count]) => {
    const part = { count, credits: count.usedHere, requests: count.requestsHere };
    count.usedByAll += part.credits;
    count.usedHere = 0;
    count.requestsHere = 0;
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
    for (const { count, credits, requests } of sent.values()) {
      count.usedByAll -= credits;
      count.usedHere += credits;
      count.requestsHere += requests;
    }
    throw error;
  }
  for (const row of rows) learn(sent.get(row.realm)!, row, at);
}

function learn(
  { count, requests }: { count: Count; requests: number },
  row: UsageRow,
  at: number,
): void {
  const ofAll = Number(row.requests);
  if (count.requestsOfAll !== null && at - count.seenAt <= GAP_MS) {
    const others = Math.max(0, ofAll - count.requestsOfAll - requests);
    count.tokens -= others;
  }
  count.usedByAll = Number(row.credits);
  count.requestsOfAll = ofAll;
  count.seenAt = at;
}

function forgetQuiet(counts: Map<string, Count>): void {
  for (const [realm, count] of counts) {
    if (count.requestsHere > 0) continue;
    counts.delete(realm);
    return;
  }
}
