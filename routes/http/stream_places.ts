/** Places of answers that are sent while they are read: how many of a kind are open at once. @module */
import { DomainError } from "../../domain/errors.ts";

/** How many answers of a kind are open at once, in this process. */
export interface StreamBounds {
  /** What they are called: exports. */
  kind: string;
  ofUser: number;
  ofRealm: number;
  /** Of those of a realm, places that customers leave to those who work for it. */
  ofHouse: number;
}

/** An answer that has a place. */
export interface HeldAnswer {
  /** Whether its reader is slow. */
  isSlow(): boolean;
  /** Ends it, and gives its place back. */
  end(): void;
}

/** The place of an answer. */
export interface StreamPlace {
  /** Gives it back, once. */
  leave(): void;
  /** Says whose place it is: one whose reader is slow gives way where there is none for another. */
  holdFor(answer: HeldAnswer): void;
}

/** Takes a place at a realm's pool. */
export type TakePlace = (pool: object, of: { user: string; isHouse: boolean }) => StreamPlace;

/** The places of a realm. */
interface Taken {
  users: Map<string, number>;
  all: Set<{ user: string; answer: HeldAnswer | null }>;
}

/** Opens the places of a kind; taking one throws rate.limited or service.overloaded where there is none. */
export function openPlaces({ kind, ofUser, ofRealm, ofHouse }: StreamBounds): TakePlace {
  const open = new WeakMap<object, Taken>();
  return (pool, { user, isHouse }) => {
    const taken = open.get(pool) ?? { users: new Map<string, number>(), all: new Set() };
    open.set(pool, taken);
    const { users, all } = taken;
    const mine = () => users.get(user) ?? 0;
    if (mine() >= ofUser) endSlow(taken, user);
    if (mine() >= ofUser) {
      const message = `${ofUser} ${kind} of this user are open: wait until one has ended`;
      throw new DomainError("rate.limited", message, { retryAfterS: 10 });
    }
    const most = ofRealm - (isHouse ? 0 : ofHouse);
    if (all.size >= most) endSlow(taken);
    if (all.size >= most) {
      const message = `too many ${kind} are open in this realm`;
      throw new DomainError("service.overloaded", message, { retryAfterS: 10 });
    }
    users.set(user, mine() + 1);
    const place: { user: string; answer: HeldAnswer | null } = { user, answer: null };
    all.add(place);
    return {
      leave() {
        if (!all.delete(place)) return;
        const left = mine() - 1;
        if (left > 0) users.set(user, left);
        else users.delete(user);
      },
      holdFor: (answer) => void (place.answer = answer),
    };
  };
}

/** Ends the oldest answer whose reader is slow, of all or of one user. */
function endSlow({ all }: Taken, user?: string): void {
  for (const place of all) {
    if (user !== undefined && place.user !== user) continue;
    if (place.answer?.isSlow()) return place.answer.end();
  }
}
