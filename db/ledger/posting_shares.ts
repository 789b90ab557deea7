/**
 * Shares of a posting queue: of one user there are never so many moves that those of others find no room, and of
 * customers never so many that those who work for the realm find none.
 * @module
 */
import { Contention } from "../errors.ts";

/** Whose moves they are. */
export interface Sender {
  actor: string | null;
  /** Only those who work for the realm may. */
  mayMoveAny: boolean;
}

/** A number of moves of a sender, and as how many they count: as one at least. */
export interface Weighed {
  of: Sender;
  size: number;
  weight: number;
}

/** The room of a queue. */
export interface PostingShares {
  /** Takes room. @throws {Contention} when there is none */
  enter(moves: Weighed): void;
  /** Gives it back. */
  leave(moves: Weighed): void;
  /** Moves that have room. */
  depth(): number;
}

/** One user has at most so many times as much as is free, which leaves room for the largest request of another. */
const USER_SHARE = 3;
/** The part that customers leave to those who work for the realm. */
const OF_HOUSE = 0.1;

/** Opens the room of a queue, in moves. Where it is empty, moves of any weight find room. */
export function openPostingShares(max: number): PostingShares {
  const users = new Map<string | null, number>();
  const maxOfCustomers = max - Math.floor(max * OF_HOUSE);
  let [depth, weight] = [0, 0];
  return {
    enter({ of: { actor, mayMoveAny }, size, weight: more }) {
      const mine = users.get(actor) ?? 0;
      if (depth > 0) {
        const free = (mayMoveAny ? max : maxOfCustomers) - weight;
        if (more > free) throw new Contention("too many moves are waiting in this realm");
        if (mine >= USER_SHARE * free) {
          throw new Contention("too many moves of this user are waiting");
        }
      }
      depth += size;
      weight += more;
      users.set(actor, mine + more);
    },
    leave({ of: { actor }, size, weight: less }) {
      depth -= size;
      weight -= less;
      const left = users.get(actor)! - less;
      if (left > 0) users.set(actor, left);
      else users.delete(actor);
    },
    depth: () => depth,
  };
}
