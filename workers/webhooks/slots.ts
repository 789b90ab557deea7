/**
 * Slots of requests to receivers. A process has so many, a realm some of them, and realms that wait
 * take turns: a realm with slow receivers delays no other.
 * @module
 */

/** Slots that requests take. */
export interface Slots {
  /** Waits for a slot of a realm; the function returned gives it back. */
  take(realm: string): Promise<() => void>;
}

/** Opens slots, none of which is taken. */
export function openSlots({ all, perRealm }: { all: number; perRealm: number }): Slots {
  let free = all;
  const taken = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();

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
    for (const [realm, line] of [...waiting]) {
      if (free <= 0) return;
      if ((taken.get(realm) ?? 0) >= perRealm) continue;
      waiting.delete(realm);
      const next = line.shift()!;
      if (line.length > 0) waiting.set(realm, line); // behind the others
      start(realm);
      next();
    }
  }

  return {
    async take(realm) {
      if (free > 0 && (taken.get(realm) ?? 0) < perRealm && !waiting.has(realm)) start(realm);
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        const line = waiting.get(realm) ?? [];
        line.push(resolve);
        waiting.set(realm, line);
        await promise;
      }
      return () => leave(realm);
    },
  };
}
