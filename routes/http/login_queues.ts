/**
 * Queues of logins: of each realm a few are checked at a time. Networks take turns, and where a queue is full the last of
 * the network with most in it gives way, so a few networks keep nobody out. Networks whose logins were right lately have
 * places of their own and every second turn, so very many others neither keep them out nor delay them for long.
 * @module
 */
import { parseIp, subscriberOf } from "../../domain/ip_addresses.ts";
import { inTime } from "./concurrency_limit.ts";
import { busy, hasRoom, type Line, makeRoom, newLine, takeNext, turn as waitFor } from "./turns.ts";

/** The turn of a login. */
export interface Turn {
  realm: string;
  network: string;
  /** Aborted when the caller has gone. */
  signal?: AbortSignal;
}

/** The queues of a process. */
export interface LoginQueues {
  /**
   * Runs the work of a login in its turn; networks take turns.
   *
   * @throws {DomainError} service.overloaded
   */
  inTurn<T>(turn: Turn, work: () => Promise<T>): Promise<T>;
  /** Remembers that a login from a network was right. */
  welcome(turn: Pick<Turn, "realm" | "network">): void;
}

interface Queue {
  running: number;
  /** Logins from networks whose logins were right lately, and from others. */
  known: Line;
  others: Line;
  knownNext: boolean;
}

/** Of a realm in this process; fewer than the connections that a realm has. */
const RUNNING_MAX = 3;
const WAITING_MAX = 500;
const WAITING_KNOWN_MAX = 100;
const WAITING_PER_NETWORK = 50;
const KNOWN_MAX = 10_000;
const FULL = "too many logins at once: try again shortly";

/** Opens the queues. */
export function openLoginQueues(): LoginQueues {
  const queues = new Map<string, Queue>();
  const known = openKnown();
  return {
    async inTurn({ realm, network, signal }, work) {
      const queue = queues.get(realm) ?? newQueue();
      queues.set(realm, queue);
      const subscriber = subscriberOfNetwork(network);
      if (queue.running < RUNNING_MAX) queue.running++;
      else await wait(queue, { user: subscriber, signal }, known.has(realm, subscriber));
      try {
        signal?.throwIfAborted(); // a caller that left hands its turn on at once
        return await inTime(work);
      } finally {
        if (!serveNext(queue)) queue.running--;
        if (queue.running === 0 && queues.get(realm) === queue) queues.delete(realm);
      }
    },
    welcome: ({ realm, network }) => known.add(realm, subscriberOfNetwork(network)),
  };
}

/** An owner of a /48 has 65 536 networks: for turns they count as one. */
function subscriberOfNetwork(network: string): string {
  const ip = parseIp(network.replace(/\/64$/, ""));
  return ip === null ? network : subscriberOf(ip);
}

async function wait(
  { known, others }: Queue,
  caller: { user: string; signal?: AbortSignal },
  isKnown: boolean,
): Promise<void> {
  const mine = [known, others].map(({ waiting }) => waiting.get(caller.user)?.length ?? 0);
  if (mine[0] + mine[1] >= WAITING_PER_NETWORK) throw busy(FULL);
  // Where the known ones have no room, it is one of the others.
  const isAmongKnown = isKnown && hasRoom(known, caller, WAITING_KNOWN_MAX);
  const line = isAmongKnown ? known : others;
  makeRoom(line, caller, isAmongKnown ? WAITING_KNOWN_MAX : WAITING_MAX, FULL);
  await waitFor(line, caller); // the turn is handed on
}

/** Hands a turn to the network that has waited longest for one, of the known and the others in turns. */
function serveNext(queue: Queue): boolean {
  const { known, others, knownNext } = queue;
  const [first, second] = knownNext ? [known, others] : [others, known];
  const next = takeNext(first) ?? takeNext(second);
  if (next === null) return false;
  queue.knownNext = !knownNext;
  next.resolve();
  return true;
}

function newQueue(): Queue {
  return { running: 0, known: newLine(), others: newLine(), knownNext: true };
}

/** The networks of each realm whose logins were right lately. */
function openKnown(): {
  has(realm: string, subscriber: string): boolean;
  add(realm: string, subscriber: string): void;
} {
  const known = new Map<string, Set<string>>();
  let count = 0;
  return {
    has: (realm, subscriber) => known.get(realm)?.has(subscriber) ?? false,
    add(realm, subscriber) {
      const subscribers = known.get(realm) ?? new Set();
      known.set(realm, subscribers);
      if (subscribers.delete(subscriber)) count--;
      // The oldest of the realm that has most: nobody drives out the networks of other realms.
      if (count >= KNOWN_MAX) {
        const [most, theirs] = [...known].reduce((a, b) => b[1].size > a[1].size ? b : a);
        theirs.delete(theirs.values().next().value!);
        if (theirs.size === 0 && most !== realm) known.delete(most);
        count--;
      }
      subscribers.add(subscriber);
      count++;
    },
  };
}
