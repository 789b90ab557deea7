/**
 * Keys that a restored realm begins with. Revocations since the backup are lost with it: no user key of before the restore
 * works any more, and machine keys work as at the time of the backup, unless all are ended.
 * @module
 */
import { countApiKeys, endAllApiKeys } from "../../db/identity/api_keys.ts";
import { endAllLogins } from "../../db/identity/logins.ts";
import { insertAuditLines } from "../../db/records.ts";
import { insertRealmRevocation } from "../../db/security/sessions.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { idTime, newId } from "../ids.ts";
import { LIFETIME_MAX_S } from "../security/sessions.ts";

/** The machine keys of a restored realm. */
export interface RestoredKeys {
  /** How many work. */
  working: number;
  /** How many the restore has ended. */
  ended: number;
}

/**
 * Ends all user keys that were given before, and all machine keys where that is asked for, with a line of the audit trail
 * each. The transaction is the one that restores the realm: nobody finds it with the keys of the backup's time.
 *
 * @param how.at milliseconds
 */
export async function endRestoredKeys(
  tx: LedgerTx,
  { at, machines }: { at: number; machines: boolean },
): Promise<RestoredKeys> {
  await endAllLogins(tx);
  await insertRealmRevocation(tx, { id: newId(at), keptS: LIFETIME_MAX_S, created_at: at });
  const ended = machines ? await endAllApiKeys(tx, at) : 0;
  const request = newId(at);
  const actions = ["restore.logins", ...(machines ? ["restore.keys"] : [])];
  const lines = actions.map((action) => {
    const id = newId(at);
    const of = { actor: null, entity: null, fields: null, request_id: request, address: null };
    return { ...of, id, action, created_at: idTime(id) };
  });
  await insertAuditLines(tx, lines);
  return { working: await countApiKeys(tx, at), ended };
}
