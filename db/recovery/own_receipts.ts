/** Statements on what transactions of our own keys brought to addresses of ours. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Tx } from "../database.ts";

/** A deposit of a transaction that is our own. */
export interface ReceiptRow {
  id: string;
  address: string;
  status: "PENDING" | "CONFIRMED";
}

/** Locks the deposits of a transaction at own addresses, whether they are held or not. */
export async function lockReceipts(tx: Tx, place: NetworkKey, hash: string): Promise<ReceiptRow[]> {
  return await tx<ReceiptRow[]>`
    select d.id, d.address, d.status from deposits d
      join addresses a on (a.chain, a.network, a.address) = (d.chain, d.network, d.address)
    where d.chain = ${place.chain} and d.network = ${place.network} and d.hash = ${hash}
      and d.status <> 'ORPHANED'
    order by d.id for update of d`;
}
