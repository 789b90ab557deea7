/** Chance that repeats: the same seed gives the same choices. @module */

/** A source of choices. */
export interface Random {
  chance(share: number): boolean;
  /** A whole number from 0 to below a bound. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Begins a source (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    chance: (share) => next() < share,
    below: (bound) => Math.floor(next() * bound),
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}
