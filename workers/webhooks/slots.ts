/**
 * Slots of requests to receivers. A process has so many, a realm some of them. Realms that wait take
 * turns, and so do the queues of a realm: a slow receiver delays no other.
 * @module
 */

/** Slots that requests take. */
export interface Slots {
  /** Waits for a slot of a realm for one of its queues; the function returned gives it back. */
  take(realm: string, queue: string): Promise<() => void>;
}

/** Opens slots, none of which is taken. */
export function openSlots({ all, perRealm }: { all: number; perRealm: number }): Slots {
  let free = all;
  const taken = new Map<string, number>();
  const waiting = new Map<string, Map<string, (() => void)[]>>();

  function start(realm: string): void {
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

  /** Gives free slots to the realms that wait, in turns. */
  function serve(): void {
    for (const [realm, queues] of [...waiting]) {
      if (free <= 0) return;
      if ((taken.get(realm) ?? 0) >= perRealm) continue;
      const [[queue, line]] = queues;
      const next = line.shift()!;
      queues.delete(queue);
      if (line.length > 0) queues.set(queue, line); // behind the others
      waiting.delete(realm);
      if (queues.size > 0) waiting.set(realm, queues);
      start(realm);
      next();
    }
  }

  return {
    async take(realm, queue) {
      if (free > 0 && (taken.get(realm) ?? 0) < perRealm && !waiting.has(realm)) start(realm);
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        const queues = waiting.get(realm) ?? new Map<string, (() => void)[]>();
        waiting.set(realm, queues);
        queues.set(queue, [...queues.get(queue) ?? [], resolve]);
        await promise;
      }
      return () => leave(realm);
    },
  };
}
