/**
 * Requests that match no route: each network may send a limited number a minute. Further ones are
 * refused and not logged. Requests that match a route are never counted here.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";
import { networkOf } from "./login_guard.ts";

/** Counts requests that match no route. */
export interface UnmatchedRequests {
  /** Counts a request from an address; gives its refusal if there were too many, else null. */
  count(address: string): UnmatchedRefusal | null;
}

/** Refusal of a further request. */
export interface UnmatchedRefusal {
  error: DomainError;
  /** Whether it is the first of its minute; only that one is logged. */
  isFirst: boolean;
}

const MINUTE_MS = 60_000;
const REQUESTS_PER_MINUTE_MAX = 120;
const NETWORKS_MAX = 10_000;

/** Opens the counter of a process; `now` gives milliseconds since the epoch. */
export function openUnmatchedRequests(now: () => number): UnmatchedRequests {
  const counts = new Map<string, { count: number; since: number }>();
  return {
    count(address) {
      const network = networkOf(address);
      const at = now();
      const known = counts.get(network);
      if (known === undefined || at - known.since >= MINUTE_MS || at < known.since) {
        counts.delete(network);
        if (counts.size >= NETWORKS_MAX) counts.delete(counts.keys().next().value!);
        counts.set(network, { count: 1, since: at });
        return null;
      }
      if (++known.count <= REQUESTS_PER_MINUTE_MAX) return null;
      const retryAfterS = Math.ceil((known.since + MINUTE_MS - at) / 1000);
      const message = "too many requests to unknown paths";
      return {
        error: new DomainError("rate.limited", message, { retryAfterS }),
        isFirst: known.count === REQUESTS_PER_MINUTE_MAX + 1,
      };
    },
  };
}
