/** Stops that a restored realm begins with: value and signatures wait until it is reconciled and settled. @module */
import { insertAuditLines } from "../../db/records.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { cumulativeScopes } from "../actor.ts";
import { idTime, newId } from "../ids.ts";
import { addStop } from "./stops.ts";

/** Ids of the stops that a restored realm begins with. */
export interface RestoredStops {
  moves: string;
  signing: string;
}

/**
 * Sets a stop of moves and one of signing for the whole realm, which the operator of the installation alone lifts, with
 * a line of the audit trail for each. The transaction is the one that restores the realm: nobody finds it without them.
 *
 * @param by.at milliseconds
 */
export async function stopRestored(
  tx: LedgerTx,
  by: { reason: string; at: number },
): Promise<RestoredStops> {
  const stops = { moves: newId(by.at), signing: newId(by.at) };
  const request = newId(by.at);
  for (const what of ["moves", "signing"] as const) {
    await addStop(tx, { scopes: cumulativeScopes("realm"), at: by.at }, {
      ...{ id: stops[what], what, reason: by.reason, created_at: idTime(stops[what]) },
      ...{ asset: null, chain: null, chain_assets: null, account: null, user_id: null },
      ...{ destination: null, destinations: null, owner: null, restored: true },
    });
  }
  const lines = Object.values(stops).map((entity) => {
    const id = newId(by.at);
    return {
      ...{ id, actor: null, action: "restore.stop", entity, fields: ["what", "reason"] },
      ...{ request_id: request, address: null, created_at: idTime(id) },
    };
  });
  await insertAuditLines(tx, lines);
  return stops;
}
