/**
 * Large bodies: how many of them are in memory, from before they are read, and how many are handled at once. Each takes
 * many times its size of memory.
 * @module
 */
import { busy, enter, type Line, lineOf, newLine } from "./turns.ts";

/** Handled at once, in a realm and in all. */
const TURNS_MAX = 2;
const TURNS_EVERYWHERE_MAX = 4;
/** Those that wait for their turn, as they came. */
const WAITING_MAX = 10;
/** In memory, also those still coming in: in a realm, of one user, and in all realms. */
const REALM_MAX = TURNS_MAX + WAITING_MAX;
const USER_MAX = 8;
/** Of those of a realm, and of all realms, slots that customers leave to those who work for a realm. */
const OF_HOUSE = 4;
/** A realm has at most as many as are free, so the last realms find one too: 12, 10, 5, 3, 1 and 1. */
const EVERYWHERE_MAX = 32;

const lines = new WeakMap<object, Line>();
const everywhere = newLine();
/** Slots in use, by user. */
const slots = new WeakMap<object, Map<string, number>>();
let slotsEverywhere = 0;

/** The slot of a request with a large body, from before the body is read until the request has ended. */
export interface LargeBodySlot {
  /**
   * Waits for its turn to be handled, unless its caller leaves before.
   *
   * @throws {DomainError} service.overloaded
   */
  turn(signal: AbortSignal): Promise<void>;
  /** Ends its turn and gives the slot to others. */
  leave(): void;
}

/**
 * Reserves a slot for a large body of a user, before it is read: bodies that come in slowly, or wait,
 * use as much memory as those that are handled.
 *
 * @param isHouse whether the user works for the realm: customers leave some slots to those who do
 * @throws {DomainError} service.overloaded
 */
export function reserveLargeBody(
  pool: object,
  user: string,
  isHouse: boolean,
): LargeBodySlot {
  const taken = slots.get(pool) ?? new Map<string, number>();
  slots.set(pool, taken);
  const mine = taken.get(user) ?? 0;
  if (mine >= USER_MAX) throw busy("this user has too many large requests at once");
  const all = taken.values().reduce((sum, count) => sum + count, 0);
  const left = isHouse ? 0 : OF_HOUSE;
  if (all >= Math.min(REALM_MAX - left, EVERYWHERE_MAX - left - slotsEverywhere)) {
    throw busy("there are too many large requests at once");
  }
  taken.set(user, mine + 1);
  slotsEverywhere++;
  let endTurn = () => {};
  return {
    async turn(signal) {
      endTurn = await turnOfLarge(pool, signal);
    },
    leave() {
      endTurn();
      slotsEverywhere--;
      const left = taken.get(user)! - 1;
      if (left > 0) taken.set(user, left);
      else taken.delete(user);
    },
  };
}

/**
 * Waits for the turn of a request that came with a large body, unless its caller leaves before;
 * returns a function that ends its turn.
 *
 * @throws {DomainError} service.overloaded
 */
export async function turnOfLarge(pool: object, signal: AbortSignal): Promise<() => void> {
  const line = lineOf(lines, pool);
  if (line.size >= WAITING_MAX) {
    throw busy("too many large requests are waiting in this realm");
  }
  const leave = await enter(line, TURNS_MAX, { signal });
  try {
    const leaveAll = await enter(everywhere, TURNS_EVERYWHERE_MAX, { signal });
    return () => {
      leaveAll();
      leave();
    };
  } catch (error) {
    leave();
    throw error;
  }
}
