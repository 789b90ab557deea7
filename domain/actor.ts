/**
 * Actors: the user, realm, time and network address of a request. The domain makes every decision
 * for an actor.
 * @module
 */

import type { InstallationSettings } from "./installation_settings.ts";
import type { WithdrawalSettings } from "./withdrawal_settings.ts";

/** Roles, weakest first; a user holds its role and all weaker ones. */
export const ROLES = ["user", "manage", "admin"] as const;
/** A role. */
export type Role = typeof ROLES[number];
/** Reaches: own entities, or the whole realm's. */
export const SCOPES = ["own", "realm"] as const;
/** A reach. */
export type Scope = typeof SCOPES[number];

/** The defaults of a realm that its entities take over. */
export interface RealmDefaults {
  id: string;
  country: string;
  accountingCurrency: string;
  /** Settings of withdrawals, by the asset's code. */
  withdrawals?: WithdrawalSettings;
  /** Deposits at the linked addresses of one account that 24 hours record. */
  linkedPerDay?: number;
  /** Addresses without a credited deposit that one customer has at most. */
  unusedAddresses?: number;
  /** Addresses that one customer has linked at most. */
  linkedAddresses?: number;
  /** Messages that one customer sends in 24 hours. */
  customerMessagesPerDay?: number;
  /** Days that events are kept. */
  eventDays?: number;
}

/** The user of a request, with its time, address and key. */
export interface Actor {
  /** User id. For the operator of the installation and for workers, the realm's own id. */
  user: string;
  kind: "user" | "operator" | "worker";
  realm: RealmDefaults;
  roles: readonly Role[];
  scopes: readonly Scope[];
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
  requestId: string;
  /** The machine key that acts as the user. */
  apiKey?: { id: string; name: string };
  /** Network address of the client; null for work of the service itself. */
  address: string | null;
}

/** The actor of a request, with the settings of the installation that serves it. */
export interface RequestActor extends Actor {
  readonly settings: InstallationSettings;
}

/** The settings of the installation that serves a request; null for work of the service itself. */
export function settingsOf(actor: Actor): InstallationSettings | null {
  return "settings" in actor ? (actor as RequestActor).settings : null;
}

/** The strongest of the actor's roles. */
export function roleOf(actor: Pick<Actor, "roles">): Role {
  return actor.roles.includes("admin")
    ? "admin"
    : actor.roles.includes("manage")
    ? "manage"
    : "user";
}

/** Whether the actor reaches beyond its own entities. */
export function reachesRealm(actor: Pick<Actor, "scopes">): boolean {
  return actor.scopes.includes("realm");
}

/** A role with all weaker ones, strongest first, as users carry them. */
export function cumulativeRoles(role: Role): Role[] {
  return [...ROLES].slice(0, ROLES.indexOf(role) + 1).reverse();
}

/** A scope with the narrower one, widest first, as users carry them. */
export function cumulativeScopes(scope: Scope): Scope[] {
  return scope === "realm" ? ["realm", "own"] : ["own"];
}
