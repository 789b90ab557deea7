/**
 * Issues and destroys virtual currencies, and changes their other fields. The supply of a currency
 * is the sum of its issues less the sum of its destructions, at every commit.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { type CurrencyRow, selectCurrency, selectIssues } from "../../db/currencies/currencies.ts";
import type { Tx } from "../../db/database.ts";
import { markIssued, updateCurrency } from "../../db/currencies/issuance.ts";
import { assertAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { type CurrencyWithIssues, ISSUES_SHOWN } from "./currencies.ts";
import { FreeForm, Id, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { Amount, assertScale, compare } from "../money.ts";
import { assertMay, notFound } from "../permissions.ts";
import { assertSupplyLaw, postSupply } from "../ledger/supply.ts";
import { assertBase } from "./rates.ts";

/** A request to issue or destroy a currency. */
export const Issue = z.strictObject({
  account: Id.optional().meta({ description: "The currency's own account unless given." }),
  amount: Amount,
  seal: FreeForm.optional(),
  data: FreeForm.optional(),
}).meta({ id: "Issue" });
/** A request to issue or destroy a currency. */
export type Issue = z.infer<typeof Issue>;

/** A change of a currency. */
export const CurrencyChange = z.strictObject({
  rate: Amount.nullable().optional(),
  base: text(40).nullable().optional(),
  symbol: text(20).nullable().optional(),
  symbol_url: z.url({ protocol: /^https?$/ }).max(2000).nullable().optional(),
  sub_unit: z.tuple([text(40), text(40)]).nullable().optional(),
  data: FreeForm.optional(),
}).meta({ id: "CurrencyChange" });
/** A change of a currency. */
export type CurrencyChange = z.infer<typeof CurrencyChange>;

/**
 * Issues value of a currency into an account, from the account `world`.
 *
 * @param input.amount a decimal in whole units of the currency
 * @throws {DomainError} currency.not_found, permission.owner, permission.role, account.not_found,
 *   account.asset_mismatch, account.not_enabled, account.inactive, request.invalid
 */
export async function issueCurrency(
  tx: LedgerTx,
  actor: Actor,
  input: Issue & { id: string },
): Promise<CurrencyWithIssues> {
  const currency = await writableCurrency(tx, actor, input.id);
  const account = await accountFor(tx, currency, input.account);
  if (account === null) throw notFound("account.not_found", pathOf(input));
  await assertSupplyLaw(tx, currency, input.amount);
  return await change(tx, actor, { ...input, currency, account, operation: "issue" });
}

/**
 * Destroys value of a currency in an account. It must be available there.
 *
 * @param input.amount a decimal in whole units of the currency
 * @throws {DomainError} currency.not_found, permission.owner, permission.role, account.not_found,
 *   account.asset_mismatch, account.not_enabled, account.inactive, account.frozen,
 *   balance.insufficient, request.invalid
 */
export async function destroyCurrency(
  tx: LedgerTx,
  actor: Actor,
  input: Issue & { id: string },
): Promise<CurrencyWithIssues> {
  const currency = await writableCurrency(tx, actor, input.id);
  const account = await accountFor(tx, currency, input.account);
  assertAccount(actor, "write", account, pathOf(input));
  if (compare(currency.supply, input.amount) < 0) {
    // Value beyond the supply came from the chain; only a withdrawal takes it out of the ledger.
    throw new DomainError("balance.insufficient", "less than that is issued");
  }
  return await change(tx, actor, { ...input, currency, account, operation: "destroy" });
}

/**
 * Changes the fields of a currency that its owner may change.
 *
 * @throws {DomainError} currency.not_found, permission.owner, permission.role, asset.unknown, request.invalid
 */
export async function changeCurrency(
  tx: Tx,
  actor: Actor,
  input: CurrencyChange & { id: string },
): Promise<CurrencyWithIssues> {
  const { id, name } = await writableCurrency(tx, actor, input.id);
  await assertBase(tx, { name, base: input.base });
  const row = await updateCurrency(tx, { ...input, id }, actor.at);
  return { ...row, issues: await selectIssues(tx, id, ISSUES_SHOWN) };
}

async function change(
  tx: LedgerTx,
  actor: Actor,
  order: Omit<Issue, "account"> & {
    currency: CurrencyRow;
    account: AccountRow;
    operation: "issue" | "destroy";
  },
): Promise<CurrencyWithIssues> {
  const { currency, account, amount } = order;
  assertScale(amount, currency.decimals, "/amount");
  if (account.asset !== currency.name) {
    throw new DomainError("account.asset_mismatch", "the account is of another asset");
  }
  const posted = await postSupply(tx, actor, { ...order, account: account.id });
  const row = await markIssued(tx, currency.id, posted.at);
  return { ...row, issues: await selectIssues(tx, row.id, ISSUES_SHOWN) };
}

async function writableCurrency(tx: Tx, actor: Actor, id: string): Promise<CurrencyRow> {
  const row = isId(id) ? await selectCurrency(tx, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("currency.not_found");
  assertMay(actor, "write", { owner: row.owner, what: "currency.not_found" });
  return row;
}

function pathOf({ account }: Issue): string | undefined {
  return account === undefined ? undefined : "/account";
}

async function accountFor(tx: Tx, currency: CurrencyRow, id?: string): Promise<AccountRow | null> {
  const wanted = id ?? currency.account;
  const row = isId(wanted) ? await selectAccount(tx, wanted) : null;
  return row?.type === "system" || row?.deleted_at !== null ? null : row;
}
