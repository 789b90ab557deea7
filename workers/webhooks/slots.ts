/**
 * Slots of requests to receivers. A process has so many, a realm some of them. Realms that wait take
 * turns, and so do the queues of a realm: a slow receiver delays no other.
 *
 * While transfers crowd the process requests start at a bounded rate, so that transfers go before them.
 * @module
 */

/** Slots that requests take. */
export interface Slots {
  /** Waits for a slot of a realm for one of its queues; the function returned gives it back. */
  take(realm: string, queue: string): Promise<() => void>;
}

/** How many slots there are. */
export interface SlotsOptions {
  all: number;
  perRealm: number;
  /** Whether transfers crowd the process. Unset: they never do. */
  isCrowded?: () => boolean;
}

/** Time between two starts while transfers crowd the process: five hundred a second. */
const CROWDED_GAP_MS = 2;
/** Starts that were not used are made up for, as many as fit into this time: timers are late. */
const CREDIT_MS = 20;
/** How often it is asked whether transfers crowd the process, at most. */
const ASK_MS = 5;
/** A crowd lasts so long when it was seen: between two batches nothing may wait for a moment. */
const LASTS_MS = 250;

/** Opens slots, none of which is taken. */
export function openSlots({ all, perRealm, isCrowded }: SlotsOptions): Slots {
  const pace = openPace(isCrowded ?? (() => false));
  let free = all;
  const taken = new Map<string, number>();
  const waiting = new Map<string, Map<string, (() => void)[]>>();

  function start(realm: string): void {
    pace.note();
    free--;
    taken.set(realm, (taken.get(realm) ?? 0) + 1);
  }

  function leave(realm: string): void {
    free++;
    const left = taken.get(realm)! - 1;
    if (left > 0) taken.set(realm, left);
    else taken.delete(realm);
    serve();
  }

  function join(realm: string, queue: string, resume: () => void): void {
    const queues = waiting.get(realm) ?? new Map<string, (() => void)[]>();
    waiting.set(realm, queues);
    queues.set(queue, [...queues.get(queue) ?? [], resume]);
  }

  /** Gives free slots to the realms that wait, in turns, as far as the pace lets them start. */
  function serve(): void {
    for (let isServed = true; isServed;) {
      isServed = false;
      for (const [realm, queues] of [...waiting]) {
        if (free <= 0 || !pace.isDue(serve)) return;
        if ((taken.get(realm) ?? 0) >= perRealm) continue;
        startNext(realm, queues);
        isServed = true;
      }
    }
  }

  function startNext(realm: string, queues: Map<string, (() => void)[]>): void {
    const [[queue, line]] = queues;
    const next = line.shift()!;
    queues.delete(queue);
    if (line.length > 0) queues.set(queue, line); // behind the others
    waiting.delete(realm);
    if (queues.size > 0) waiting.set(realm, queues);
    start(realm);
    next();
  }

  return {
    async take(realm, queue) {
      const { promise, resolve } = Promise.withResolvers<void>();
      join(realm, queue, resolve);
      serve();
      await promise;
      return () => leave(realm);
    },
  };
}

/** The pace at which requests may start. */
interface Pace {
  /** Tells whether the next may start; if not, what is given is called when it is worth asking again. */
  isDue(again: () => void): boolean;
  /** Notes that one starts. */
  note(): void;
}

function openPace(isCrowded: () => boolean): Pace {
  let nextAt = 0;
  let [askedAt, crowdedUntil] = [-Infinity, -Infinity];
  let isArmed = false;

  function gapMs(now: number): number {
    if (now - askedAt >= ASK_MS) {
      askedAt = now;
      if (isCrowded()) crowdedUntil = now + LASTS_MS;
    }
    return now < crowdedUntil ? CROWDED_GAP_MS : 0;
  }

  return {
    isDue(again) {
      const now = performance.now();
      if (gapMs(now) === 0 || nextAt <= now) return true;
      if (!isArmed) {
        isArmed = true;
        setTimeout(() => {
          isArmed = false;
          again();
        }, Math.ceil(nextAt - now));
      }
      return false;
    },
    note() {
      const now = performance.now();
      nextAt = Math.max(nextAt, now - CREDIT_MS) + gapMs(now);
    },
  };
}
