/** Virtual currencies as a collection. @module */
import { selectCirculating } from "../../db/accounts/accounts.ts";
import {
  type CurrencyRow,
  selectCurrencies,
  selectIssuesOf,
} from "../../db/currencies/currencies.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { ISSUES_SHOWN, viewCurrency } from "./currencies.ts";
import { DomainError } from "../errors.ts";

/** The collection of virtual currencies. */
export const CURRENCY_COLLECTION: Collection<CurrencyRow> = {
  name: "currencies",
  table: "currencies",
  deletable: true,
  counted: true,
  notFound: "currency.not_found",
  relations: { account: { of: "accounts", id: (row) => row.account } },
  fields: ["issuing", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    name: textColumn("name"),
    base: textColumn("base", true),
    currency: textColumn("currency"),
    country: textColumn("country"),
    symbol: textColumn("symbol", true),
    symbol_url: textColumn("symbol_url", true),
    supply: { column: "supply", type: "decimal" },
    rate: { column: "rate", type: "decimal", nullable: true },
    account: { column: "account", type: "id" },
    active: { column: "active", type: "boolean" },
    sub_unit: { column: "sub_unit", type: "texts", nullable: true },
  },
  read: selectCurrencies,
  async show(db, _actor, rows) {
    const issues = await selectIssuesOf(db, rows.map((row) => row.id), ISSUES_SHOWN);
    const byCurrency = Map.groupBy(issues, ({ currency }) => currency);
    return rows.map((row) => viewCurrency({ ...row, issues: byCurrency.get(row.id) ?? [] }));
  },
};

/**
 * Deletes a currency of which nothing circulates, or restores one.
 *
 * @throws {DomainError} currency.not_found, permission.*, account.not_empty
 */
export async function removeCurrency(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, CURRENCY_COLLECTION, id, act);
  if (act === "delete" && await selectCirculating(tx, row.name)) {
    throw new DomainError("account.not_empty", "value of this currency is in circulation");
  }
  return await setDeleted(tx, actor, CURRENCY_COLLECTION, id, act === "delete");
}
