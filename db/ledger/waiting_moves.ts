/**
 * Moves that wait to be posted. Where more wait than one batch takes, users take turns, and what a batch costs to form is
 * proportional to what it takes, however many wait.
 * @module
 */
import type { Weighed } from "./posting_shares.ts";

/** What waits, in the order of its arrival. */
export interface WaitingMoves<T> {
  add(item: T): void;
  size(): number;
  /**
   * Takes the next, in the order of their arrival: all of them where they make one batch, or else one of each user in turn.
   * Where customers and those who work for the realm wait, each leave half of a batch to the other, and of batches of one
   * every second.
   *
   * @param weightMax of all that are taken; the first is taken whatever its weight
   */
  take(weightMax: number): T[];
  /** Takes those that have waited since before a time. */
  takeBefore(since: number): T[];
}

/** What waits, and since when. */
export interface Timed extends Weighed {
  at: number;
}

/** One of those that take turns; null once it is taken. */
interface Entry<T> {
  item: T | null;
  number: number;
}

/** What a user has waiting, from a place of the list on. */
interface OfUser<T> {
  entries: Entry<T>[];
  next: number;
}

type Users<T> = Map<string | null, OfUser<T>>;

/** Users whose next moves did not fit before a batch is left as it is: they are the first of the next one. */
const MISSES_MAX = 20;
/** Places of a list that may be empty before it is written anew. */
const EMPTY_MAX = 1000;

/** Opens a queue of what waits. */
export function openWaitingMoves<T extends Timed>(): WaitingMoves<T> {
  let arrived: T[] = []; // no turns yet: they may all fit
  const turns = openTurns<T>();

  function enterTurns(): void {
    for (const item of arrived) turns.add(item);
    arrived = [];
  }

  function takeAll(): T[] {
    const all = arrived;
    arrived = [];
    return all;
  }

  return {
    add: (item) => void arrived.push(item),
    size: () => arrived.length + turns.size(),
    take(weightMax) {
      if (turns.size() === 0 && makeOneBatch(arrived, weightMax)) return takeAll();
      enterTurns();
      return turns.take(weightMax);
    },
    takeBefore(since) {
      const late = turns.takeBefore(since);
      if (turns.size() > 0) return late; // all that arrived since are later
      const kept = arrived.findIndex(({ at }) => at >= since);
      return [...late, ...(kept === 0 ? [] : kept < 0 ? takeAll() : arrived.splice(0, kept))];
    },
  };
}

/** Whether all of them make one batch: its parameters are written in one go, in which nobody else is served. */
function makeOneBatch(items: readonly Weighed[], weightMax: number): boolean {
  let weight = 0;
  return items.length <= 1 || items.every((item) => (weight += item.weight) <= weightMax);
}

function openTurns<T extends Timed>(): WaitingMoves<T> {
  const [house, customers]: [Users<T>, Users<T>] = [new Map(), new Map()]; // whose turn is next first
  let order: Entry<T>[] = [];
  let [size, number] = [0, 0];
  let houseWasFirst = false;

  const usersOf = (item: T) => item.of.mayMoveAny ? house : customers;

  /** Takes the first of a user, who is behind the others then. */
  function takeFirst(users: Users<T>, user: string | null, theirs: OfUser<T>): Entry<T> {
    const entry = theirs.entries[theirs.next++];
    size--;
    users.delete(user);
    if (theirs.next === theirs.entries.length) return entry;
    if (theirs.next > EMPTY_MAX && theirs.next * 2 > theirs.entries.length) {
      theirs.entries = theirs.entries.slice(theirs.next);
      theirs.next = 0;
    }
    users.set(user, theirs);
    return entry;
  }

  return {
    size: () => size,
    add(item) {
      const entry = { item, number: number++ };
      const users = usersOf(item);
      const theirs = users.get(item.of.actor);
      if (theirs === undefined) users.set(item.of.actor, { entries: [entry], next: 0 });
      else theirs.entries.push(entry);
      order.push(entry);
      size++;
      if (order.length > 2 * size + EMPTY_MAX) order = order.filter(({ item }) => item !== null);
    },
    take(weightMax) {
      const batch = openBatch<T>(weightMax, takeFirst);
      // The first one is taken whatever its weight, and may be the only one.
      houseWasFirst = house.size > 0 && (customers.size === 0 || !houseWasFirst);
      const [first, second] = houseWasFirst ? [house, customers] : [customers, house];
      while (batch.mayTakeMore()) {
        const before = batch.taken.length;
        batch.round(first, second.size > 0 ? weightMax / 2 : weightMax);
        batch.round(second, weightMax);
        if (batch.taken.length === before) break;
      }
      return batch.taken.sort((a, b) => a.number - b.number).map(emptied);
    },
    takeBefore(since) {
      const late: T[] = [];
      let gone = 0;
      for (; gone < order.length; gone++) {
        const { item } = order[gone];
        if (item === null) continue;
        if (item.at >= since) break;
        const users = usersOf(item); // of what its user has waiting, none is older
        late.push(emptied(takeFirst(users, item.of.actor, users.get(item.of.actor)!)));
      }
      if (gone > EMPTY_MAX || late.length > 0) order = order.slice(gone);
      return late;
    },
  };
}

function emptied<T>(entry: Entry<T>): T {
  const { item } = entry;
  entry.item = null;
  return item!;
}

/** A batch that is formed of those who take turns. */
function openBatch<T extends Timed>(
  weightMax: number,
  takeFirst: (users: Users<T>, user: string | null, theirs: OfUser<T>) => Entry<T>,
) {
  const taken: Entry<T>[] = [];
  let [weight, misses] = [0, 0];
  const mayTakeMore = () => (taken.length === 0 || weight < weightMax) && misses < MISSES_MAX;
  return {
    taken,
    mayTakeMore,
    /** Takes one of each user, until those taken weigh so much. */
    round(users: Users<T>, most: number): void {
      let left = users.size;
      for (const [user, theirs] of users) {
        if (left-- === 0 || !mayTakeMore()) return;
        if (taken.length > 0 && weight >= most) return;
        const more = theirs.entries[theirs.next].item!.weight;
        if (taken.length > 0 && weight + more > weightMax) {
          misses++;
          continue;
        }
        weight += more;
        taken.push(takeFirst(users, user, theirs));
      }
    },
  };
}
