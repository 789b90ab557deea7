/**
 * Annotates and reverts posted transactions. A revert is a counter-posting; the transaction
 * itself never changes.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import { type CurrencyRow, selectCurrencyByName } from "../../db/currencies/currencies.ts";
import type { TransactionRow } from "../../db/ledger/posting.ts";
import { markIssued } from "../../db/currencies/issuance.ts";
import { existsRevert, upsertTransactionData } from "../../db/ledger/transaction_data.ts";
import type { Actor } from "../actor.ts";
import { FreeForm } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { type MoveType, postMove } from "./posting.ts";
import { compare } from "../money.ts";
import { covers, notFound, rightsOf } from "../permissions.ts";
import { assertSupplyLaw } from "./supply.ts";
import { findVisible, showTransaction } from "./transaction_view.ts";

/** The body of a request to revert a transaction. */
export const Revert = z.strictObject({
  seal: FreeForm.optional(),
  data: FreeForm.optional(),
}).meta({ id: "Revert" });
/** The body of a request to revert a transaction. */
export type Revert = z.infer<typeof Revert>;

/** The body of a change of a transaction: the data beside it. */
export const TransactionChange = z.strictObject({ data: FreeForm }).meta({
  id: "TransactionChange",
});
/** The body of a change of a transaction: the data beside it. */
export type TransactionChange = z.infer<typeof TransactionChange>;

/** Types that a revert can undo; the others happened on a chain. */
const REVERSIBLE: readonly string[] = [
  "transfer",
  "capture",
  "issue",
  "destroy",
] satisfies MoveType[];

/**
 * Replaces the data beside a transaction. Permitted to its owner and to users with write permission
 * for the whole realm.
 *
 * @throws {DomainError} transaction.not_found, permission.owner
 */
export async function changeTransaction(
  tx: Tx,
  actor: Actor,
  input: TransactionChange & { id: string },
): Promise<Record<string, unknown>> {
  const row = await findVisible(tx, actor, input.id);
  if (!covers(rightsOf(actor).write, actor, row.owner)) {
    throw new DomainError("permission.owner", "the transaction was made by another user");
  }
  await upsertTransactionData(tx, { transaction: row.id, data: input.data, at: actor.at });
  return await showTransaction(tx, actor, row.id);
}

/**
 * Reverts a transaction, once. The counter-posting obeys the rules of every posting: it needs the
 * right to move value out of the account that received.
 *
 * @throws {DomainError} transaction.not_found, transaction.reverted, permission.owner,
 *   permission.role, request.invalid, balance.insufficient, account.*, currency.not_found,
 *   ramp.assets_insufficient
 */
export async function revertTransaction(
  tx: LedgerTx,
  actor: Actor,
  input: Revert & { id: string },
): Promise<Record<string, unknown>> {
  const row = await findVisible(tx, actor, input.id);
  if (row.type === "revert") {
    throw new DomainError("transaction.reverted", "a revert is not reverted");
  }
  if (!REVERSIBLE.includes(row.type)) {
    throw invalidField("/id", `a ${row.type} happened on a chain and is not reverted`);
  }
  await assertMayRevert(tx, actor, row);
  const issued = row.type === "issue" || row.type === "destroy";
  const currency = issued ? await currencyOf(tx, row) : null;
  if (await existsRevert(tx, row.id)) {
    throw new DomainError("transaction.reverted", "the transaction was reverted before");
  }
  if (currency !== null) await assertSupply(tx, currency, row);
  const posted = await postMove(tx, actor, {
    type: "revert",
    source: row.destination,
    destination: row.source,
    amount: row.amount,
    reverts: row.id,
    seal: input.seal,
    data: input.data,
  });
  if (currency !== null) await markIssued(tx, currency.id, posted.at);
  return await showTransaction(tx, actor, posted.id);
}

/**
 * Checks rights: value leaves the receiver; value out of `world` takes the right of the currency's
 * owner.
 */
async function assertMayRevert(tx: Tx, actor: Actor, row: TransactionRow): Promise<void> {
  // Who is here sees the transaction: a right is missing, and nothing is hidden.
  const { write } = rightsOf(actor);
  if (row.type !== "destroy" && !covers(write, actor, row.destination_owner)) {
    throw new DomainError("permission.owner", "the value is in the account of another user");
  }
  if (row.type !== "issue" && row.type !== "destroy") return;
  if (covers(write, actor, (await currencyOf(tx, row)).owner)) return;
  throw new DomainError("permission.owner", "the currency belongs to another user");
}

/** Refuses to issue or destroy value of a deleted currency. */
async function currencyOf(tx: Tx, row: TransactionRow): Promise<CurrencyRow> {
  const currency = await selectCurrencyByName(tx, row.asset);
  if (currency === null) throw notFound("currency.not_found");
  return currency;
}

/** The revert of a destruction is an issue, and obeys the limit of supply like any other. */
async function assertSupply(tx: Tx, currency: CurrencyRow, row: TransactionRow): Promise<void> {
  if (row.type === "destroy") return await assertSupplyLaw(tx, currency, row.amount);
  if (compare(currency.supply, row.amount) >= 0) return;
  throw new DomainError("balance.insufficient", "less than that is issued");
}
