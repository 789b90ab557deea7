/**
 * Events of those settings of a realm that affect money. The settings stand in the directory of
 * realms, which may be another database: so a worker compares them regularly with the last event,
 * and notes a new one if they differ.
 * @module
 */
import { noteWhereChanged } from "../../db/audit/trail_chain.ts";
import type { Pool } from "../../db/database.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { locking, reading } from "../../db/transaction.ts";

/**
 * Notes the settings of a realm as an event of its hash chain, unless the last event has the same.
 */
export async function noteSettings(
  platform: Pool,
  realm: { id: string; pool: Pool },
): Promise<void> {
  const row = await reading(platform, (db) => selectRealm(db, realm.id));
  if (row === null) return;
  const event = { kind: "realm", subject: row.id, facts: factsOf(row) };
  await locking(realm.pool, (tx) => noteWhereChanged(tx, event));
}

function factsOf({ id, country, accounting_currency, settings }: RealmRow) {
  const { chains = {}, withdrawals = {} } = settings;
  return { id, country, accounting_currency, chains, withdrawals };
}
