/**
 * Changes of profiles, in three parts: checks, the work of the platform, and what follows in the
 * realm. Checks run again in the transaction that completes the change.
 * @module
 */
import type { Db, Tx } from "../../db/database.ts";
import { type IdentityRow, selectIdentityOfPerson } from "../../db/identity/identities.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { rowFor } from "../collections/collection.ts";
import { DomainError } from "../errors.ts";
import { IDENTITIES } from "../identity/identity_collection.ts";
import { covers, notFound, rightsOf } from "../permissions.ts";
import type { PeopleProvider, Prepared } from "./provider.ts";

/** A change of a profile. `C` is what its checks found, `R` the answer of the platform. */
export interface ProfileCommand<C, R> {
  /** @throws {DomainError} the refusals that need no work of the platform */
  check(db: Db): Promise<C>;
  /** Runs outside of any transaction where the platform is remote. */
  prepare(found: C): Promise<Prepared<R>>;
  /** Completes the change in the realm and shows it. */
  finish(tx: Tx, found: C, result: R): Promise<Record<string, unknown> | unknown[]>;
  /** The person that the answer shows; null: it shows none. */
  person(found: C, result: R): string | null;
}

/** An identity with its person. */
export interface Holder {
  identity: IdentityRow;
  person: string;
}

/**
 * Finds an identity on which the actor may do this, and its person.
 *
 * @throws {DomainError} identity.not_found, permission.role, permission.owner, person.not_found
 */
export async function holderFor(
  db: Db,
  actor: Actor,
  id: string,
  act: "read" | "write",
): Promise<Holder> {
  const identity = await rowFor(db, actor, IDENTITIES, id, act);
  if (identity.person === null) throw notFound("person.not_found");
  return { identity, person: identity.person };
}

/**
 * Refuses to take a person that the actor may not change: one that another's identity has, or that
 * another user made. A person that the actor may not see does not exist for it.
 *
 * @returns the identity that has the person now
 * @throws {DomainError} person.not_found, permission.owner, permission.role
 */
export async function assertMayTake(
  db: Db,
  actor: Actor,
  people: PeopleProvider,
  person: string,
): Promise<IdentityRow | null> {
  const holder = await selectIdentityOfPerson(db, person);
  if (holder !== null) {
    const rights = rightsOf(actor);
    const isOwn = await IDENTITIES.ownId!(db, actor) === holder.id;
    const seenAs = isOwn ? actor.user : holder.owner;
    if (!covers(rights.read, actor, seenAs)) throw notFound("person.not_found");
    if (covers(rights.write, actor, holder.owner)) return holder;
    throw new DomainError("permission.owner", "this person is another's");
  }
  const owner = await people.persons.ownerOf(person)(db);
  const rights = rightsOf(actor);
  if (covers(rights.write, actor, owner)) return null;
  if (owner === null || !covers(rights.read, actor, owner)) throw notFound("person.not_found");
  throw new DomainError("permission.owner", "this person is another's");
}

/**
 * Refuses users of their own entities where the platform knows no owners of its profiles.
 *
 * @throws {DomainError} permission.scope, permission.role
 */
export function assertPlatform(
  actor: Actor,
  people: PeopleProvider,
  act: "read" | "write",
): void {
  if (!people.remote || rightsOf(actor)[act] === "all") return;
  if (!reachesRealm(actor)) {
    throw new DomainError("permission.scope", "this takes a user of scope realm");
  }
  throw new DomainError("permission.role", "this takes the role manage or admin");
}
