/** Finds the withdrawal of a request. @module */
import type { Db } from "../../db/database.ts";
import { selectWithdrawal, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { isId } from "../ids.ts";
import { assertMay, notFound } from "../permissions.ts";

/**
 * Reads a withdrawal that the actor may change.
 *
 * @throws {DomainError} withdrawal.not_found, permission.owner, permission.role
 */
export async function reachWithdrawal(
  db: Db,
  actor: Actor,
  id: string,
): Promise<WithdrawalRow> {
  const row = isId(id) ? await selectWithdrawal(db, id) : null;
  if (row === null) throw notFound("withdrawal.not_found");
  assertMay(actor, "write", { owner: row.owner, what: "withdrawal.not_found" });
  return row;
}
