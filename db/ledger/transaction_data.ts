/** Statements on data beside transactions. @module */
import type { Db, Tx } from "../database.ts";

/** Replaces the variable data of a transaction. */
export async function upsertTransactionData(
  tx: Tx,
  given: { transaction: string; data: Record<string, unknown>; at: number },
): Promise<void> {
  await tx`
    insert into transaction_data (transaction, data, updated_at)
    values (${given.transaction}, ${tx.json(given.data as never)}, ${given.at})
    on conflict (transaction) do update set data = excluded.data, updated_at = excluded.updated_at`;
}

/** Whether a transaction has been reverted. */
export async function existsRevert(db: Db, transaction: string): Promise<boolean> {
  const rows = await db`select 1 from transaction_reverts where reverts = ${transaction}`;
  return rows.length > 0;
}
