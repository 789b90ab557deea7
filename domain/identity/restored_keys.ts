/**
 * Keys that a restored realm begins with. Revocations since the backup are lost with it: no user key of before the restore
 * works any more, because the directory names another login epoch, and machine keys work as at the time of the backup, unless
 * all are ended.
 * @module
 */
import { countApiKeys, endAllApiKeys } from "../../db/identity/api_keys.ts";
import { endAllLogins } from "../../db/identity/logins.ts";
import { insertAuditLines } from "../../db/records.ts";
import type { Tx } from "../../db/database.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { idTime, newId } from "../ids.ts";

/** The machine keys of a restored realm. */
export interface RestoredKeys {
  /** How many work. */
  working: number;
  /** How many the restore has ended. */
  ended: number;
}

/**
 * Notes that all logins have ended, for lists and in the audit trail: what refuses their keys is the next login epoch.
 *
 * @param since logins after that time go on (milliseconds); without it there are none yet
 */
export async function noteEndedLogins(tx: Tx, at: number, since = Infinity): Promise<void> {
  await endAllLogins(tx, since);
  await insertLines(tx, at, ["restore.logins"]);
}

/**
 * Notes that all logins have ended, and ends all machine keys where that is asked for, with a line of the audit trail
 * each. The transaction is the one that restores the realm: nobody finds it with the keys of the backup's time.
 *
 * @param how.at milliseconds
 */
export async function endRestoredKeys(
  tx: LedgerTx,
  { at, machines }: { at: number; machines: boolean },
): Promise<RestoredKeys> {
  await noteEndedLogins(tx, at);
  const ended = machines ? await endAllApiKeys(tx, at) : 0;
  if (machines) await insertLines(tx, at, ["restore.keys"]);
  return { working: await countApiKeys(tx, at), ended };
}

async function insertLines(tx: Tx, at: number, actions: readonly string[]): Promise<void> {
  const request = newId(at);
  const lines = actions.map((action) => {
    const id = newId(at);
    const of = { actor: null, entity: null, fields: null, request_id: request, address: null };
    return { ...of, id, action, created_at: idTime(id) };
  });
  await insertAuditLines(tx, lines);
}
