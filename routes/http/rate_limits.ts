/**
 * Rate limits: a request of a realm is counted before anything else is done for it, and its answer
 * says what is left. Realms without limits are not counted at all.
 * @module
 */
import type { Allowance } from "../../domain/allowance.ts";
import { type Cost, openUsageCounter, type Tier } from "../../domain/realms/usage.ts";
import type { Pool } from "../../domain/command.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Log } from "../../log.ts";

/** Headers that say what is left. */
export type LimitHeaders = Readonly<Record<string, string>>;

/** Counts requests. */
export interface Limits {
  /**
   * Counts a request and gives the headers of its answer.
   *
   * @throws {DomainError} rate.limited, credits.exhausted
   */
  admit(realm: RealmContext, cost: Cost): LimitHeaders | Promise<LimitHeaders>;
  /** What is left of the month's credits. */
  credits(realm: RealmContext): Promise<number>;
  /** Adds up at once what has been counted, as it happens every second while there is something. */
  flush(): Promise<void>;
  /** Adds up what has been counted, and counts no more. */
  close(): Promise<void>;
}

/** Stands for what has no end: the greatest integer that a structured header can carry. */
export const ENDLESS = 999_999_999_999_999;
const FLUSH_MS = 800;
const UNLIMITED: LimitHeaders = headersOf({ limit: null, remaining: 0, resetS: 0, credits: null });

/** Opens the limits of this process. */
export function openLimits(
  options: { platform: Pool; log: Log; now: () => number },
): Limits {
  const usage = openUsageCounter(options.platform, options.now);
  let timer: ReturnType<typeof setTimeout> | null = null;
  let running: Promise<void> = Promise.resolve();
  let closed = false;

  function flush(): Promise<void> {
    running = running.then(() => usage.flush()).catch((error) => {
      options.log("warn", "could not add up usage", { error });
    });
    return running;
  }

  function schedule(): void {
    if (timer !== null || closed) return;
    timer = setTimeout(() => {
      timer = null;
      flush().then(() => {
        if (usage.dirty()) schedule(); // what arrived meanwhile, or could not be added up
      }).catch((error) => options.log("warn", "could not add up usage", { error }));
    }, FLUSH_MS);
  }

  return {
    admit(realm, cost) {
      const tier = tierOf(realm);
      if (tier.requestsPerSecond === null && tier.creditsPerMonth === null) return UNLIMITED;
      schedule();
      const allowance = usage.charge(realm.id, tier, cost);
      return allowance instanceof Promise ? allowance.then(headersOf) : headersOf(allowance);
    },
    async credits(realm) {
      return await usage.credits(realm.id, tierOf(realm)) ?? ENDLESS;
    },
    flush,
    async close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await flush();
    },
  };
}

/** What is left, as headers. */
export function headersOf(allowance: Allowance): LimitHeaders {
  return {
    "ratelimit-limit": `${allowance.limit ?? ENDLESS}`,
    "ratelimit-remaining": `${allowance.limit === null ? ENDLESS : allowance.remaining}`,
    "ratelimit-reset": `${allowance.resetS}`,
    "x-credits-remaining": `${allowance.credits ?? ENDLESS}`,
  };
}

function tierOf(realm: RealmContext): Tier {
  const { requests_per_second, credits_per_month } = realm.row();
  return {
    requestsPerSecond: requests_per_second,
    creditsPerMonth: credits_per_month === null ? null : Number(credits_per_month),
  };
}
