/**
 * The guard of logins, in memory. Networks that have used up their wrong tries are answered without
 * a query, and only a few logins of a realm are checked at a time. A flood of logins therefore
 * neither slows the realm nor delays other networks.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";
import { customerOf, parseIp } from "../../domain/ip_addresses.ts";
import { type LoginQueues, openLoginQueues } from "./login_queues.ts";
import type { Services } from "./services.ts";

/** Guards the logins of a process. */
export interface LoginGuard extends LoginQueues {
  /**
   * Refuses a subject again for as long as its refusal lasts.
   *
   * @throws {DomainError} rate.limited
   */
  check(subject: string): void;
  /** Counts a wrong key of a subject; 30 in a minute are too many. */
  countWrong(subject: string): void;
  /** Refuses a subject for a while. */
  refuse(subject: string, seconds: number): void;
  /**
   * Delays the answer to a refused network, which slows down immediate repeats. If very many wait
   * already, further ones are answered at once.
   */
  hold(network: string): Promise<void>;
  /** Whether a key was right before. Its digest is given. */
  isKnown(digest: string): boolean;
  /** Remembers whether a key is right. */
  remember(digest: string, right: boolean): void;
}

const REST_MS = 25;
/**
 * The delay of the answer to a refused network, and how many of its requests are delayed at once.
 */
const HELD_MS = 250;
const HELD_MAX = 500;
const WRONG_MAX = 30;
const MINUTE_MS = 60_000;
const SUBJECTS_MAX = 10_000;
const KNOWN_MAX = 1000;

const guards = new WeakMap<object, LoginGuard>();

/** The guard of this process. */
export function guardOf(services: Services): LoginGuard {
  const guard = guards.get(services.platform) ?? openLoginGuard(() => services.now());
  guards.set(services.platform, guard);
  return guard;
}

/** How a login waits while others of its user are being checked. */
export function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, REST_MS));
}

/** The network that an address is counted with. */
export function networkOf(address: string): string {
  const ip = parseIp(address);
  return ip === null ? address : customerOf(ip);
}

/** Opens a guard; `now` gives milliseconds since the epoch. */
export function openLoginGuard(now: () => number): LoginGuard {
  const wrong = new Map<string, { count: number; since: number }>();
  const refused = new Map<string, number>();
  const known = new Set<string>();
  const held = new Map<string, number>();
  return {
    ...openLoginQueues(),
    async hold(network) {
      const waiting = held.get(network) ?? 0;
      if (waiting >= HELD_MAX) return;
      held.set(network, waiting + 1);
      await new Promise((resolve) => setTimeout(resolve, HELD_MS));
      const left = held.get(network)! - 1;
      if (left === 0) held.delete(network);
      else held.set(network, left);
    },
    check(subject) {
      const until = refused.get(subject);
      if (until === undefined) return;
      const left = until - now();
      if (left <= 0 || left > MINUTE_MS) { // the clock was set back
        refused.delete(subject);
        return;
      }
      throw new DomainError("rate.limited", "too many wrong logins: wait a minute", {
        retryAfterS: Math.ceil(left / 1000),
      });
    },
    countWrong(subject) {
      const at = now();
      const before = wrong.get(subject);
      const count = before === undefined || Math.abs(at - before.since) >= MINUTE_MS
        ? null
        : before;
      if (count === null) {
        wrong.delete(subject);
        makeRoom(wrong, SUBJECTS_MAX);
        wrong.set(subject, { count: 1, since: at });
      } else if (++count.count >= WRONG_MAX) {
        wrong.delete(subject);
        makeRoom(refused, SUBJECTS_MAX);
        refused.set(subject, count.since + MINUTE_MS);
      }
    },
    refuse(subject, seconds) {
      makeRoom(refused, SUBJECTS_MAX);
      refused.set(subject, now() + seconds * 1000);
    },
    isKnown: (digest) => known.has(digest),
    remember(digest, right) {
      known.delete(digest);
      if (!right) return;
      if (known.size >= KNOWN_MAX) known.delete(known.values().next().value!);
      known.add(digest);
    },
  };
}

/** Deletes the oldest entry. */
function makeRoom(map: Map<string, unknown>, max: number): void {
  if (map.size >= max) map.delete(map.keys().next().value!);
}
