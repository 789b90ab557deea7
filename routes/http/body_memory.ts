/**
 * Memory of bodies: how many bytes of them are held at once, from before they are read until their requests have ended,
 * wherever these wait meanwhile. Small ones are not counted: of them the queues bound the number. Those over 1 MiB have
 * slots of their own (large_bodies.ts).
 * @module
 */
import { type Actor, reachesRealm } from "../../domain/actor.ts";
import { parseIp, subscriberOf } from "../../domain/ip_addresses.ts";
import { type LargeBodySlot, reserveLargeBody } from "./large_bodies.ts";
import { busy } from "./turns.ts";
import { BODY_MAX } from "./validation.ts";

const MIB = 1024 * 1024;
/** Bodies up to this are not counted, in bytes. */
export const SMALL = 4096;
/** Held in a realm, and in all. A realm has at most as much as is free in all, so the last realms find some too. */
const REALM_MAX = 32 * MIB;
const EVERYWHERE_MAX = 128 * MIB;
/** Of those, what customers leave to those who work for a realm. */
const OF_HOUSE = 8 * MIB;

/**
 * Held of the webhooks of the provider of messages, beside all others: a stranger's bodies, however slowly they come, keep
 * none of its own out. Networks whose webhooks were not shown to be the provider's leave half of it.
 */
const PROVIDER_MAX = 4 * MIB;
const OF_KNOWN = 2 * MIB;

/** What is held of a realm's bodies, in bytes. */
interface Held {
  all: number;
  users: Map<string, number>;
}

const realms = new WeakMap<object, Held>();
let everywhere = 0;
const providers = new WeakMap<object, Held>();

/** What one body takes: memory, and where it is large a slot. */
export interface BodyHold {
  /** Takes what a body of this size needs, before it is held. @throws {DomainError} service.overloaded */
  grow(size: number): void;
  /** Waits for the turn of a large body; nothing to wait for where it is not. @throws {DomainError} service.overloaded */
  turn(signal: () => AbortSignal): Promise<void> | undefined;
  /** Gives all of it back. */
  leave(): void;
}

/** Whose body it is: a user's, or where there is none, that of whoever has a network address. */
export type BodySender = Pick<Actor, "user" | "scopes" | "address">;

/**
 * Opens the hold of a body, of which nothing is taken yet. Of one user there is never so much that nothing is left for
 * others: at most as much as is free. Customers leave some to those who work for the realm.
 */
export function openBodyHold(pool: object, { user, scopes, address }: BodySender): BodyHold {
  const isHouse = reachesRealm({ scopes });
  const whose = user || subscriberAt(address);
  let mine = 0;
  let slot: LargeBodySlot | undefined;
  return {
    grow(size) {
      if (size > BODY_MAX) slot ??= reserveLargeBody(pool, user, isHouse);
      else if (size > SMALL && size > mine) {
        take(pool, { whose, isHouse, bytes: size - mine });
        mine = size;
      }
    },
    turn: (signal) => slot?.turn(signal()),
    leave() {
      slot?.leave();
      if (mine > 0) giveBack(pool, whose, mine);
      mine = 0;
    },
  };
}

/**
 * Opens the hold of a webhook's body. Of one network there is never so much that nothing is left for others.
 *
 * @param isKnown whether it is the provider's, or from a network whose webhooks were
 */
export function openWebhookHold(
  platform: object,
  { address, isKnown }: { address: string; isKnown: boolean },
): BodyHold {
  const held = heldOf(providers, platform);
  const whose = subscriberAt(address);
  let mine = 0;
  return {
    grow(size) {
      if (size <= SMALL || size <= mine) return;
      const bytes = size - mine;
      const free = PROVIDER_MAX - (isKnown ? 0 : OF_KNOWN) - held.all;
      if (bytes + (isKnown ? 0 : held.users.get(whose) ?? 0) > free) {
        throw busy("too many bytes of webhooks are waiting");
      }
      add(held, whose, bytes);
      mine = size;
    },
    turn: () => undefined,
    leave() {
      if (mine > 0) subtract(held, whose, mine);
      mine = 0;
    },
  };
}

/** An owner of a /48 has very many addresses: they count as one. */
function subscriberAt(address: string | null): string {
  const ip = address === null ? null : parseIp(address);
  return ip === null ? address ?? "" : subscriberOf(ip);
}

function take(
  pool: object,
  { whose, isHouse, bytes }: { whose: string; isHouse: boolean; bytes: number },
): void {
  const held = heldOf(realms, pool);
  const left = isHouse ? 0 : OF_HOUSE;
  const free = Math.min(REALM_MAX - left, EVERYWHERE_MAX - left - everywhere) - held.all;
  if ((held.users.get(whose) ?? 0) + bytes > free) {
    throw busy("too many bytes of requests are waiting in this realm");
  }
  everywhere += bytes;
  add(held, whose, bytes);
}

function giveBack(pool: object, whose: string, bytes: number): void {
  everywhere -= bytes;
  subtract(heldOf(realms, pool), whose, bytes);
}

function heldOf(of: WeakMap<object, Held>, pool: object): Held {
  const held = of.get(pool) ?? { all: 0, users: new Map<string, number>() };
  of.set(pool, held);
  return held;
}

function add(held: Held, whose: string, bytes: number): void {
  held.all += bytes;
  held.users.set(whose, (held.users.get(whose) ?? 0) + bytes);
}

function subtract(held: Held, whose: string, bytes: number): void {
  held.all -= bytes;
  const left = held.users.get(whose)! - bytes;
  if (left > 0) held.users.set(whose, left);
  else held.users.delete(whose);
}
