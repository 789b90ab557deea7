/**
 * Realms in databases of their own, made in two phases. First the realm is built there, under a
 * draft that says where; nobody knows of it. Then one transaction of the platform's trades the draft
 * for the directory's entry. What never gets that far is taken down again.
 * @module
 */
import type { Database, Place } from "../../db/database.ts";
import { codeOf, isOutOfReach } from "../../db/errors.ts";
import { assertReachable, dropPlace, findEncodingFault } from "../../db/migrate.ts";
import { deleteDraft, insertDraft, lockOldDrafts } from "../../db/realms/realms.ts";
import { locking, reading, serializable } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import { DomainError, invalidField } from "../errors.ts";
import { idTime, newId } from "../ids.ts";
import {
  furnish,
  type Ladders,
  type NewRealm,
  type RealmDraft,
  type RealmWorkshop,
} from "./realms.ts";
import { assertPlatformKey } from "../security/platform_key.ts";
import { newPlace } from "./realm_locations.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/** What building a realm takes. */
export interface RealmSite {
  database: Database;
  ladders: Ladders;
  /** Whether each realm gets a role of its own. */
  roles: boolean;
  secrets: Secrets;
}

/** A draft this old (milliseconds) is nobody's any more. */
const ABANDONED_MS = 3_600_000;
/** One whose database has been away this long is given up. */
const HOPELESS_MS = 7 * 24 * ABANDONED_MS;

/**
 * Gathers what making a realm needs; one that is to live in a database of its own is built there.
 *
 * @throws {DomainError} request.invalid when that database cannot be used; service.overloaded where the process has
 *   another platform key than the installation
 */
export async function prepareRealm(
  site: RealmSite,
  actor: Actor,
  input: NewRealm,
  verifier: string,
): Promise<RealmWorkshop> {
  const { ladders, roles, database: { logins } } = site;
  await reading(site.database.platform, (db) => assertPlatformKey(db, site.secrets));
  const workshop = { ladders, roles, logins, verifier };
  if (input.database_url === undefined) return workshop;
  await clearDrafts(site, actor.at).catch(() => {}); // what is in the way now is tried next time
  const id = newId(actor.at);
  const placement = site.secrets.seal("database_url", id, input.database_url);
  const place = newPlace(id, workshop, placement);
  const { platform } = site.database;
  await serializable(platform, (tx) => insertDraft(tx, { id, placement, created_at: actor.at }));
  return { ...workshop, draft: await build(site, actor, input, { ...workshop, place }) };
}

/** Takes down what was built for a realm that is not going to be. */
export async function abandonRealm(site: RealmSite, workshop: RealmWorkshop): Promise<void> {
  if (workshop.draft !== undefined) await takeDown(site, workshop.draft.place, 0);
}

/** Takes down all drafts that their makers left behind. */
export async function clearDrafts(site: RealmSite, now: number): Promise<void> {
  const { platform } = site.database;
  const old = await locking(platform, (tx) => lockOldDrafts(tx, now - ABANDONED_MS));
  for (const { id, placement } of old) {
    await takeDown(site, newPlace(id, { roles: site.roles }, placement), now);
  }
}

async function build(
  site: RealmSite,
  actor: Actor,
  input: NewRealm,
  workshop: RealmWorkshop & { place: Place },
): Promise<RealmDraft> {
  const { place } = workshop;
  const owner = site.database.owner(place);
  try {
    await assertReachable(owner);
    const fault = await findEncodingFault(owner.sql);
    if (fault !== null) throw unusable(`the database cannot be used: ${fault}`);
    const admin = await owner.sql.begin((tx) => furnish(tx, actor, input, workshop));
    return { place, admin };
  } catch (error) {
    await takeDown(site, place, 0).catch(() => {}); // else it is cleared later
    if (error instanceof DomainError) throw error;
    const code = codeOf(error);
    const outside = isOutOfReach(error);
    if (code === null && !outside) throw error;
    throw unusable(
      outside
        ? "the database's server is not among those that the operator lets the service reach"
        : `the database cannot be used (${code})`,
    );
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

function unusable(message: string): DomainError {
  return invalidField("/database_url", message);
}

/** The draft is locked meanwhile, so that no transaction can turn it into a realm. */
async function takeDown(site: RealmSite, place: Place, now: number): Promise<void> {
  await locking(site.database.platform, async (tx) => {
    if (!await deleteDraft(tx, place.id)) return;
    const owner = site.database.owner(place);
    try {
      await assertReachable(owner);
      await owner.sql.begin((there) => dropPlace(there, place));
    } catch (error) {
      const hopeless = now - idTime(place.id) > HOPELESS_MS;
      // Said anew: this transaction's own connection is not the one that was lost.
      if (!hopeless) throw new Error("a draft could not be taken down", { cause: error });
    } finally {
      await owner.sql.end({ timeout: 5 });
    }
  });
}
