/**
 * Rate limits: a request of a realm is counted before any other work for it, and its answer states
 * the rest of the limits. Realms without limits are not counted at all.
 * @module
 */
import type { Allowance } from "../../domain/errors.ts";
import {
  type ChargedRequest,
  type Cost,
  openUsageCounter,
  type Tier,
} from "../../domain/realms/usage.ts";
import type { Pool } from "../../domain/command.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Log } from "../../log.ts";

/** Headers with the rest of the limits. */
export type LimitHeaders = Readonly<Record<string, string>>;

/** Counts requests. */
export interface Limits {
  /**
   * Counts a request and gives the headers of its answer.
   *
   * @throws {DomainError} rate.limited, credits.exhausted
   */
  admit(realm: RealmContext, request: ChargedRequest): LimitHeaders | Promise<LimitHeaders>;
  /**
   * Prepares to count a request when it is known to succeed, and whose it is. The function returned counts it, once however often it is
   * called, and gives the headers; it throws as `admit` does.
   */
  admitLater(realm: RealmContext, cost: Cost): Promise<(isHouse: boolean) => Promise<LimitHeaders>>;
  /**
   * Charges the work of the database for a request that was counted as a read, where it was long.
   *
   * @returns the headers of its answer, which take the place of others; none in realms without limits
   */
  chargeWork(
    realm: RealmContext,
    work: { credits: number; isHouse: boolean },
  ): Promise<LimitHeaders>;
  /** The header with the rest of the month's credits. */
  credits(realm: RealmContext): Promise<number>;
  /**
   * Writes the counts to the database at once; otherwise this happens every second while there are
   * some.
   */
  flush(): Promise<void>;
  /** Writes the counts to the database, and stops counting. */
  close(): Promise<void>;
}

/** Stands for no limit: the greatest integer that a structured header can carry. */
export const ENDLESS = 999_999_999_999_999;
const FLUSH_MS = 800;
/** The headers of all answers in realms without limits. */
export const UNLIMITED: LimitHeaders = headersOf({
  limit: null,
  remaining: 0,
  resetS: 0,
  credits: null,
});

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
      options.log("warn", "usage was not written; the next second tries again", { error });
    });
    return running;
  }

  function schedule(): void {
    if (timer !== null || closed) return;
    timer = setTimeout(() => {
      timer = null;
      flush().then(() => {
        if (usage.dirty()) schedule(); // counts that arrived meanwhile, or could not be written
      }).catch((error) =>
        options.log("warn", "usage was not written; the next second tries again", { error })
      );
    }, FLUSH_MS);
  }

  function admit(
    realm: RealmContext,
    request: ChargedRequest,
  ): LimitHeaders | Promise<LimitHeaders> {
    const tier = tierOf(realm);
    if (isUnlimited(tier)) return UNLIMITED;
    schedule();
    const allowance = usage.charge(realm.id, tier, request);
    return allowance instanceof Promise ? allowance.then(headersOf) : headersOf(allowance);
  }

  return {
    admit,
    async admitLater(realm, cost) {
      if (!isUnlimited(tierOf(realm))) await usage.prepare(realm.id);
      let counted: LimitHeaders | undefined;
      return async (isHouse) => counted ??= await admit(realm, { cost, isHouse });
    },
    async chargeWork(realm, work) {
      const tier = tierOf(realm);
      if (isUnlimited(tier)) return {};
      const left = await usage.surcharge(realm.id, tier, work);
      schedule();
      return headersOf(left);
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

/** The rest of the limits, as headers. */
export function headersOf(allowance: Allowance): LimitHeaders {
  const { limit, remaining, resetS } = allowance;
  // draft-ietf-httpapi-ratelimit-headers-10; it has no word for a realm without a limit.
  const drafted: LimitHeaders = limit === null ? {} : {
    "ratelimit-policy": `"second";q=${limit};w=1`,
    "ratelimit": `"second";r=${remaining};t=${resetS}`,
  };
  return {
    ...drafted,
    "ratelimit-limit": `${allowance.limit ?? ENDLESS}`,
    "ratelimit-remaining": `${allowance.limit === null ? ENDLESS : allowance.remaining}`,
    "ratelimit-reset": `${allowance.resetS}`,
    "x-credits-remaining": `${allowance.credits ?? ENDLESS}`,
  };
}

function isUnlimited({ requestsPerSecond, creditsPerMonth }: Tier): boolean {
  return requestsPerSecond === null && creditsPerMonth === null;
}

function tierOf(realm: RealmContext): Tier {
  const { requests_per_second, credits_per_month } = realm.row();
  return {
    requestsPerSecond: requests_per_second,
    creditsPerMonth: credits_per_month === null ? null : Number(credits_per_month),
  };
}
