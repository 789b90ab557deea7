/**
 * Permissions: the rights of each role within each scope, as one table with the six rows of the
 * specification, and the checks against it. An entity that an actor may not see does not exist for
 * it (404); a forbidden action on a visible one is refused (403).
 * @module
 */
import { type Actor, reachesRealm, type Role, roleOf, type Scope } from "./actor.ts";
import { DomainError, type ErrorCode } from "./errors.ts";

/** The reach of a right: nothing, own entities, or everything in the realm. */
export type Reach = "none" | "own" | "all";

/** The rights of one role within one scope. */
export interface Rights {
  read: Reach;
  write: Reach;
  delete: Reach;
  /** Deleting users; one's own record counts as owned. */
  deleteUser: Reach;
  undelete: Reach;
  createUser: boolean;
  /** Setting a holder or owner other than oneself. */
  assign: boolean;
}

/** The six rows (service.md, Authentication, 6). */
const RIGHTS: Readonly<Record<`${Role},${Scope}`, Rights>> = {
  "user,own": row("own", "own", "none", "none", false, false),
  "user,realm": row("all", "own", "none", "none", false, false),
  "manage,own": row("own", "own", "own", "own", false, false),
  "manage,realm": row("all", "all", "all", "all", false, true),
  "admin,own": row("own", "own", "own", "own", true, false),
  "admin,realm": row("all", "all", "all", "all", true, true),
};

function row(
  read: Reach,
  write: Reach,
  deleteUser: Reach,
  undelete: Reach,
  createUser: boolean,
  assign: boolean,
): Rights {
  return { read, write, delete: write, deleteUser, undelete, createUser, assign };
}

/** The rights of an actor. */
export function rightsOf(actor: Actor): Rights {
  return RIGHTS[`${roleOf(actor)},${reachesRealm(actor) ? "realm" : "own"}`];
}

/** Whether a reach covers something with this owner. */
export function covers(reach: Reach, actor: Actor, owner: string | null): boolean {
  return reach === "all" || (reach === "own" && owner !== null && owner === actor.user);
}

/** Whether the actor may read entities of this owner. */
export function mayRead(actor: Actor, owner: string | null): boolean {
  return covers(rightsOf(actor).read, actor, owner);
}

/**
 * Whether the actor may read an account of this owner. The ledger's own accounts have none: administrators of the realm
 * alone see them.
 */
export function mayReadAccount(actor: Actor, owner: string | null): boolean {
  return owner === null ? isRealmAdmin(actor) : mayRead(actor, owner);
}

/**
 * Refuses an entity that the actor may not see (404), or an action that it may not do (403).
 *
 * @throws {DomainError} the given not-found code; permission.role, permission.owner
 */
export function assertMay(
  actor: Actor,
  act: "read" | "write" | "delete" | "deleteUser" | "undelete",
  thing: { owner: string | null; what: ErrorCode; path?: string },
): void {
  const rights = rightsOf(actor);
  if (!covers(rights.read, actor, thing.owner)) throw notFound(thing.what, thing.path);
  if (covers(rights[act], actor, thing.owner)) return;
  if (rights[act] === "none") {
    throw new DomainError("permission.role", `the role ${roleOf(actor)} does not permit this`);
  }
  throw new DomainError("permission.owner", "this belongs to another user");
}

/**
 * Makes the refusal of an entity that does not exist, or that the actor may not see.
 *
 * @param path a JSON pointer to the field of the body that names it; none where the path of the URL does
 * @param part where that is no field of the body
 */
export function notFound(code: ErrorCode, path?: string, part?: "query"): DomainError {
  const message = `there is no such ${code.split(".")[0]}`;
  if (path === undefined) return new DomainError(code, message);
  return new DomainError(code, message, { errors: [{ path, ...part && { in: part }, message }] });
}

/**
 * Refuses to set a holder or an owner other than oneself without the right to.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export function assertMayAssign(actor: Actor): void {
  if (rightsOf(actor).assign) return;
  if (roleOf(actor) === "user") {
    throw new DomainError("permission.role", "holder and owner are set by roles manage and admin");
  }
  throw new DomainError("permission.scope", "holder and owner are set with scope realm");
}

/**
 * Refuses actors that may not create users.
 *
 * @throws {DomainError} permission.role
 */
export function assertMayCreateUser(actor: Actor): void {
  if (rightsOf(actor).createUser) return;
  throw new DomainError("permission.role", "only the role admin creates users");
}

/**
 * Refuses to give more than the giver holds.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export function assertMayGrant(
  actor: Actor,
  roles: readonly Role[],
  scopes: readonly Scope[],
): void {
  if (roles.some((role) => !actor.roles.includes(role))) {
    throw new DomainError("permission.role", "a user cannot give a role beyond its own");
  }
  if (scopes.some((scope) => !actor.scopes.includes(scope))) {
    throw new DomainError("permission.scope", "a user cannot give a scope beyond its own");
  }
}

/** Whether the actor is an administrator of the realm. */
export function isRealmAdmin(actor: Actor): boolean {
  return roleOf(actor) === "admin" && reachesRealm(actor);
}

/**
 * Refuses everyone but those who work for the realm: managers and administrators with scope realm.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export function assertManagesRealm(actor: Actor): void {
  if (roleOf(actor) === "user") {
    throw new DomainError("permission.role", "this takes the role manage or admin");
  }
  if (!reachesRealm(actor)) {
    throw new DomainError("permission.scope", "this takes the scope realm");
  }
}

/**
 * Refuses everyone but an administrator of the realm.
 *
 * @throws {DomainError} permission.role, permission.scope
 */
export function assertRealmAdmin(actor: Actor): void {
  if (roleOf(actor) !== "admin") {
    throw new DomainError("permission.role", "this takes the role admin");
  }
  if (!reachesRealm(actor)) {
    throw new DomainError("permission.scope", "this takes the scope realm");
  }
}
