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

/** Takes a place at a realm's pool; the function returned gives it back, once. */
export type TakePlace = (pool: object, of: { user: string; isHouse: boolean }) => () => void;

/** Opens the places of a kind; taking one throws rate.limited or service.overloaded where there is none. */
export function openPlaces({ kind, ofUser, ofRealm, ofHouse }: StreamBounds): TakePlace {
  const open = new WeakMap<object, Map<string, number>>(); // by user
  return (pool, { user, isHouse }) => {
    const places = open.get(pool) ?? new Map<string, number>();
    open.set(pool, places);
    const mine = places.get(user) ?? 0;
    if (mine >= ofUser) {
      const message = `${ofUser} ${kind} of this user are open: wait until one has ended`;
      throw new DomainError("rate.limited", message, { retryAfterS: 10 });
    }
    const all = places.values().reduce((sum, count) => sum + count, 0);
    if (all >= ofRealm - (isHouse ? 0 : ofHouse)) {
      const message = `too many ${kind} are open in this realm`;
      throw new DomainError("service.overloaded", message, { retryAfterS: 10 });
    }
    places.set(user, mine + 1);
    return () => {
      const left = places.get(user)! - 1;
      if (left > 0) places.set(user, left);
      else places.delete(user);
    };
  };
}
