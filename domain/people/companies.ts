/** Companies: profiles that any number of identities name. @module */
import type { Db } from "../../db/database.ts";
import { clearCompany } from "../../db/identity/identities.ts";
import type { Actor } from "../actor.ts";
import { rowFor } from "../collections/collection.ts";
import { DomainError } from "../errors.ts";
import { IDENTITIES } from "../identity/identity_collection.ts";
import { covers, notFound, rightsOf } from "../permissions.ts";
import { assertPlatform, type ProfileCommand } from "./commands.ts";
import type { Company, CompanyChange, NewCompany } from "./company_fields.ts";
import type { PeopleProvider } from "./provider.ts";

/** Creates a company. */
export function createCompany(
  people: PeopleProvider,
  actor: Actor,
  input: NewCompany,
): ProfileCommand<null, Company> {
  return {
    check() {
      assertPlatform(actor, people, "write");
      return Promise.resolve(null);
    },
    prepare: () => people.companies.create(actor, input),
    finish: (_tx, _found, company) => Promise.resolve({ ...company }),
    person: () => null,
  };
}

/** Changes a company. */
export function changeCompany(
  people: PeopleProvider,
  actor: Actor,
  { id, change }: { id: number; change: CompanyChange },
): ProfileCommand<null, Company> {
  return {
    check: (db) => assertMayChangeCompany(db, actor, people, id),
    prepare: () => people.companies.change(actor, id, change),
    finish: (_tx, _found, company) => Promise.resolve({ ...company }),
    person: () => null,
  };
}

/** Deletes a company; identities that had it have none. */
export function removeCompany(
  people: PeopleProvider,
  actor: Actor,
  id: number,
): ProfileCommand<null, boolean> {
  return {
    check: (db) => assertMayChangeCompany(db, actor, people, id),
    prepare: () => people.companies.remove(actor, id),
    async finish(tx, _found, existed) {
      // Gone at the platform and named here: a request before stopped in between.
      if (await clearCompany(tx, id, actor.at) === 0 && !existed) {
        throw notFound("company.not_found");
      }
      return [];
    },
    person: () => null,
  };
}

/**
 * Finds the id of the company of an identity that the actor may see.
 *
 * @throws {DomainError} identity.not_found, company.not_found
 */
export async function companyOf(db: Db, actor: Actor, identity: string): Promise<number> {
  const { company } = await rowFor(db, actor, IDENTITIES, identity, "read");
  if (company === null) throw notFound("company.not_found");
  return Number(company);
}

/**
 * Refuses a company that the actor may not see, before an identity names it: who names a company
 * sees it.
 *
 * @throws {DomainError} company.not_found, permission.*
 */
export async function assertMaySeeCompany(
  db: Db,
  actor: Actor,
  people: PeopleProvider,
  id: number,
): Promise<void> {
  assertPlatform(actor, people, "read");
  if (people.remote) return;
  const owner = await people.companies.ownerOf(id)(db);
  if (owner === null || !covers(rightsOf(actor).read, actor, owner)) {
    throw notFound("company.not_found", "/company");
  }
}

/**
 * Refuses a company that a remote platform does not have, before an identity names it. It is asked outside of any
 * transaction, after the checks that need no platform.
 *
 * @throws {DomainError} company.not_found, upstream.*
 */
export async function assertCompanyThere({ companies }: PeopleProvider, id: number): Promise<void> {
  if (companies.exists === null || await companies.exists(id)) return;
  throw notFound("company.not_found", "/company");
}

async function assertMayChangeCompany(
  db: Db,
  actor: Actor,
  people: PeopleProvider,
  id: number,
): Promise<null> {
  assertPlatform(actor, people, "write");
  if (people.remote) return null;
  const owner = await people.companies.ownerOf(id)(db);
  if (owner === null || !covers(rightsOf(actor).read, actor, owner)) {
    throw notFound("company.not_found");
  }
  if (!covers(rightsOf(actor).write, actor, owner)) {
    throw new DomainError("permission.owner", "this company is another user's");
  }
  return null;
}
