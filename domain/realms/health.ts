/** Health of the database and of signing. @module */
import type { Pool } from "../../db/database.ts";
import { type DatabaseFacts, probeDatabase } from "../../db/health.ts";
import { selectFaultCounts, selectInstallation } from "../../db/realms/installation.ts";
import { type SchemaVersions, selectSchemaVersions } from "../../db/migrate.ts";
import { reading, writing } from "../../db/transaction.ts";
import { holdsPlatformKey } from "../security/platform_key.ts";
import { findWaiting, type Waiting } from "./promotions.ts";
import type { Migrations } from "./realms.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/** State of the database. */
export interface DatabaseHealth extends DatabaseFacts {
  /** Whether the platform's schema has the version that this code needs. */
  migrated: boolean;
  /** Realms that wait for their migration and answer 503 until then, and realms of a newer version. */
  realms: Pick<SchemaVersions, "behind" | "ahead">;
}

/** Tries a write, and reads the versions of the schemas. */
export async function checkDatabase(pool: Pool, migrations: Migrations): Promise<DatabaseHealth> {
  const { platform, behind, ahead } = await reading(
    pool,
    (db) => selectSchemaVersions(db, migrations.realm.length),
  );
  const facts = await writing(pool, probeDatabase);
  return {
    ...facts,
    migrated: platform === migrations.platform.length,
    realms: { behind, ahead },
  };
}

/** The reasons why workers do not sign, as they last reported. */
export interface SigningHealth {
  /** Of the installation; grows with every reconciliation. */
  epoch: number;
  /** The reason why nothing at all is signed; null if there is none. */
  halted: string | null;
  /** Whom workers wait for after a promotion of the server, signing nothing; null if for nobody. */
  waiting: Waiting | null;
  /** Realms without their seed. */
  seedless: number;
  /** Realms with ramps in quarantine, by chain and network. */
  chains: Record<string, Record<string, { quarantined: number }>>;
}

/** Whether the process has the platform key that the installation's secrets are encrypted with. */
export async function checkPlatformKey(pool: Pool, secrets: Secrets): Promise<boolean> {
  return await reading(pool, (db) => holdsPlatformKey(db, secrets));
}

/** Reads the reasons why workers do not sign. */
export async function checkSigning(pool: Pool): Promise<SigningHealth> {
  const waiting = await findWaiting(pool);
  return await reading(pool, async (db) => {
    const { epoch, halted } = await selectInstallation(db);
    const health: SigningHealth = {
      epoch,
      halted: halted === null ? null : `chain.quarantined: ${halted.detail}`,
      waiting,
      seedless: 0,
      chains: {},
    };
    for (const { code, chain, network, realms } of await selectFaultCounts(db)) {
      if (code === "seed.missing") health.seedless += realms;
      else (health.chains[chain] ??= {})[network] = { quarantined: realms };
    }
    return health;
  });
}
