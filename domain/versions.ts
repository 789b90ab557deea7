/** Versions of entities, which show whether one was changed since it was read. @module */
import type { Db } from "../db/database.ts";
import { selectVersion, type VersionedRow } from "../db/versions.ts";

/** A table whose rows have versions. */
export type Table = Omit<VersionedRow, "id">;

/**
 * Tables by the paths of their collections. Balances, the last use of a machine key, and secrets
 * are no part of a version.
 */
export const TABLES: Readonly<Record<string, Table>> = {
  "/v1/users": { table: "users", key: "id", except: ["verifier"] },
  "/v1/identities": { table: "identities", key: "id", except: [] },
  "/v1/accounts": { table: "accounts", key: "id", except: ["total", "blocked", "linked", "seq"] },
  "/v1/aliases": { table: "aliases", key: "id", except: [] },
  "/v1/currencies": { table: "currencies", key: "id", except: [] },
  "/v1/fungible/token": { table: "fungible_tokens", key: "id", except: [] },
  "/v1/apps/deposit": { table: "deposit_apps", key: "id", except: [] },
  "/v1/withdrawals": { table: "withdrawals", key: "id", except: [] },
  "/v1/transactions": { table: "transaction_data", key: "transaction", except: [] },
  "/v1/messages": { table: "messages", key: "id", except: ["content"] },
  "/v1/keys": { table: "api_keys", key: "id", except: ["last_used_at", "digest"] },
  "/v1/realms": {
    table: "realms",
    key: "id",
    except: [
      "realm_key",
      "previous_realm_key",
      "database_url_encrypted",
      "login",
      "schema_version",
      "migrations_checksum",
    ],
  },
};
/** The version of a row that is not created before its first change. */
const UNMADE = "0";

/**
 * Reads the version of an entity; null where there is none.
 *
 * @param lock keeps others from changing it until the transaction ends
 */
export async function versionOf(
  db: Db,
  table: Table,
  id: string,
  lock = false,
): Promise<string | null> {
  const version = await selectVersion(db, { ...table, id }, lock);
  return version ?? (table.key === "id" ? null : UNMADE);
}
