/** Makes the realms of tests. @module */
import type { Database, Pool } from "../../db/database.ts";
import { enterSchema, restateRights } from "../../db/migrate.ts";
import { serializable } from "../../db/transaction.ts";
import type { Actor } from "../../domain/actor.ts";
import { newId } from "../../domain/ids.ts";
import { newLocation } from "../../domain/realms/realm_locations.ts";
import {
  addToDirectory,
  type CreatedRealm,
  createFirstAdmin,
  createRealm,
} from "../../domain/realms/realms.ts";
import type { Services } from "../../routes/http/services.ts";
import { takeFromStock } from "./schema_stock.ts";

/** A tier that every installation has. */
export type TierName = "free" | "basic" | "pro" | "unlimited";

/** The password of every user that a test makes. */
export const PASSWORD = "correct horse battery";
/** A real argon2id verifier of {@link PASSWORD}, made with small parameters so that tests are quick. */
export const VERIFIER = "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$" +
  "COasZSyMm5hc6dqbItVb+IZaGwOa3IHiB0qT62pEreo";

/**
 * Makes a realm of a test file, from the stock of its database where that has one.
 *
 * @param pool connections of the owner of all schemas
 */
export async function makeRealm(
  file: string,
  { config, migrations }: Services,
  database: Database,
  { tier = "unlimited", pool = database.platform }: { tier?: TierName; pool?: Pool } = {},
): Promise<CreatedRealm> {
  const at = Date.now();
  const operator: Actor = {
    user: "",
    kind: "operator",
    realm: { id: "", country: "US", accountingCurrency: "USD", withdrawals: {} },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId: newId(at),
    address: null,
  };
  const input = {
    name: file.split("/").slice(-2).join("/"), // who it is where what was left behind is audited
    country: "US",
    accounting_currency: "USD",
    zone: "US" as const,
    tier,
    admin: { email: "admin@test.example", password: PASSWORD },
  };
  const { logins } = database;
  const prepared = { migrations, roles: config.realmRoles, logins, verifier: VERIFIER };
  const location = newLocation(newId(at), prepared);
  const stocked = await takeFromStock(pool, location.schema);
  return await serializable(pool, async (tx) => {
    if (!stocked) return await createRealm(tx, operator, input, prepared);
    await restateRights(tx, migrations, location, logins);
    const admin = await createFirstAdmin(tx, operator, input, { location, verifier: VERIFIER });
    await enterSchema(tx, "platform");
    return await addToDirectory(tx, operator, input, { location, admin, migrations });
  });
}
