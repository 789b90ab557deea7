/** Makes the realms of tests. @module */
import type { Database, Pool, Tx } from "../../db/database.ts";
import { enterSchema, restateRights } from "../../db/migrate.ts";
import { attestBirth } from "../../db/realms/attestations.ts";
import { insertProvisioning } from "../../db/realms/realms.ts";
import { serializable } from "../../db/transaction.ts";
import type { Actor } from "../../domain/actor.ts";
import { createUser } from "../../domain/identity/users.ts";
import { newId } from "../../domain/ids.ts";
import { newLocation } from "../../domain/realms/realm_locations.ts";
import { type CreatedRealm, createRealm } from "../../domain/realms/realms.ts";
import type { Services } from "../../routes/http/services.ts";
import { takeSpare } from "./spare_schemas.ts";

/** A tier that every installation has. */
export type TierName = "free" | "basic" | "pro" | "unlimited";

/** The password of every user that a test makes. */
export const PASSWORD = "correct horse battery";
const EMAIL = "admin@test.example";
/** A real argon2id verifier of {@link PASSWORD}, made with small parameters so that tests are quick. */
export const VERIFIER = "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$" +
  "COasZSyMm5hc6dqbItVb+IZaGwOa3IHiB0qT62pEreo";

/**
 * Makes a realm of a test file, with a spare schema of its database where there is one.
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
    admin: { email: EMAIL, password: PASSWORD },
  };
  const { logins } = database;
  const prepared = { migrations, roles: config.realmRoles, logins, verifier: VERIFIER };
  const location = newLocation(newId(at), prepared);
  if (!await takeSpare(pool, location.schema)) {
    return await serializable(
      pool,
      async (tx) => await attestForLong(tx, await createRealm(tx, operator, input, prepared)),
    );
  }
  return await serializable(pool, async (tx) => {
    await restateRights(tx, migrations, location, logins);
    await attestBirth(tx);
    const admin = await createUser(tx, {
      ...operator,
      realm: { ...operator.realm, id: location.id },
    }, {
      username: EMAIL,
      email: EMAIL,
      verifier: VERIFIER,
      roles: ["admin"],
      scopes: ["realm"],
      channel: { email: EMAIL },
      data: {},
    });
    // As for a realm that was provisioned in a database of its own: what is left is the directory.
    await enterSchema(tx, "platform");
    const mark = { id: location.id, database_url_encrypted: new Uint8Array(), created_at: at };
    await insertProvisioning(tx, mark);
    const provisioned = { location, admin };
    const made = await createRealm(tx, operator, input, { ...prepared, provisioned });
    return await attestForLong(tx, made);
  });
}

/** No worker attests the realm of a test file, which on a busy machine is older than five minutes at its end. */
async function attestForLong(tx: Tx, made: CreatedRealm): Promise<CreatedRealm> {
  await enterSchema(tx, made.realm.schema_name);
  await tx`update attestations set seen_at = now() + interval '1 day'`;
  return made;
}
