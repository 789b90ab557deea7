/** One transaction, as those see it who may. @module */
import type { Db } from "../../db/database.ts";
import { isArchived } from "../../db/ledger/archives.ts";
import { selectTransactions, type TransactionRow } from "../../db/ledger/posting.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { mayRead, mayReadAccount, notFound } from "../permissions.ts";
import { viewTransaction } from "./posting.ts";

/** Shows a transaction that the actor may see. */
export async function showTransaction(
  db: Db,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  return viewTransaction(await findVisible(db, actor, id), (owner) => mayReadAccount(actor, owner));
}

/**
 * Finds a transaction that the actor may see. Whose an archived one was is not known any more: whoever has its id is told.
 *
 * @throws {DomainError} transaction.not_found, transaction.archived
 */
export async function findVisible(db: Db, actor: Actor, id: string): Promise<TransactionRow> {
  const [row] = isId(id) ? await selectTransactions(db, [id]) : [];
  if (row === undefined && isId(id)) await assertNotArchived(db, id);
  const owners = row === undefined ? [] : [row.owner, row.source_owner, row.destination_owner];
  if (!owners.some((owner) => mayRead(actor, owner))) throw notFound("transaction.not_found");
  return row;
}

/** Refuses a transaction that left the database with its part. @throws {DomainError} transaction.archived */
export async function assertNotArchived(db: Db, id: string): Promise<void> {
  if (!await isArchived(db, id)) return;
  throw new DomainError("transaction.archived", "the transaction is archived");
}
