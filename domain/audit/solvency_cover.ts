/**
 * Covers a loss of the house: moves value from an account of the house to the account `fees`. It is
 * a transfer between two accounts, so no value is created; the liabilities fall by as much as the
 * loss.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { isHouseAccount, selectLoss } from "../../db/audit/solvency.ts";
import { assertAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { Id, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { Amount, assertScale, compare, DecimalText, subtract, trim } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

/** The body of a request to cover a loss. */
export const Cover = z.strictObject({
  account: Id.meta({
    description: "A ramp or virtual account whose owner and holder run the realm.",
  }),
  amount: Amount.optional().meta({ description: "All that the house has lost, unless given." }),
  reason: text(500),
  realm: Id.optional().meta({ description: "With the platform key: the realm of the account." }),
}).meta({ id: "Cover" });
/** The body of a request to cover a loss. */
export type Cover = z.infer<typeof Cover>;

/** A loss that was covered, as shown. */
export const CoverView = z.object({
  transaction: z.string(),
  account: z.string(),
  asset: z.string(),
  testnet: z.boolean(),
  amount: DecimalText,
  loss: DecimalText.meta({ description: "The rest of the house's loss in the asset." }),
  reason: z.string(),
  created_at: z.number().int(),
}).meta({ id: "CoveredLoss" });

/**
 * Moves value of an account of the house to the account `fees`, at most the amount by which that is
 * below zero. Runs under the ledger lock.
 *
 * @throws {DomainError} permission.role, permission.scope, account.*, permission.owner where a
 *   customer owns or holds the account, condition.failed where less is lost, balance.insufficient,
 *   stop.active, request.invalid
 */
export async function coverLoss(
  tx: LedgerTx,
  actor: Actor,
  input: Cover,
): Promise<Record<string, unknown>> {
  assertRealmAdmin(actor);
  const account = isId(input.account) ? await selectAccount(tx, input.account) : null;
  assertAccount(actor, "write", account, "/account");
  await assertOfHouse(tx, account);
  const { asset, testnet, decimals } = account;
  const lost = await selectLoss(tx, { asset, testnet });
  const amount = input.amount ?? lost;
  assertScale(amount, decimals, "/amount");
  if (compare(lost, "0") <= 0 || compare(amount, lost) > 0) {
    const figure = compare(lost, "0") <= 0 ? "nothing" : trim(lost);
    throw new DomainError("condition.failed", `the house has lost ${figure} of ${asset}`);
  }
  const { id, at } = await postMove(tx, actor, {
    type: "transfer",
    source: account.id,
    destination: await counterparty(tx, actor, "fees", { code: asset, decimals, testnet }),
    amount,
    seal: { covers: "loss", reason: input.reason },
  });
  return {
    transaction: id,
    account: account.id,
    asset,
    testnet,
    amount: trim(amount),
    loss: subtract(lost, amount),
    reason: input.reason,
    created_at: at,
  };
}

/** Refuses accounts of customers: their value covers no loss of the house. */
async function assertOfHouse(tx: Tx, account: AccountRow): Promise<void> {
  if (await isHouseAccount(tx, account.id)) return;
  const why = "losses are covered from accounts whose owner and holder run the realm";
  throw new DomainError("permission.owner", why);
}
