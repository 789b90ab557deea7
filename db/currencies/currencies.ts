/** Statements on virtual currencies, and on their issues and destructions. @module */
import type { Db, Tx } from "../database.ts";

/** A virtual currency as stored, with its supply. */
export interface CurrencyRow {
  id: string;
  name: string;
  supply: string;
  decimals: number;
  base: string | null;
  rate: string | null;
  currency: string;
  country: string;
  symbol: string | null;
  symbol_url: string | null;
  sub_unit: string[] | null;
  account: string;
  active: boolean;
  data: Record<string, unknown>;
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

/** One issue or destruction. */
export interface IssueRow {
  transaction: string;
  operation: "issue" | "destroy";
  amount: string;
  account: string;
}

/** The columns of a currency. */
export const COLUMNS = [
  "id",
  "name",
  "supply",
  "decimals",
  "base",
  "rate",
  "currency",
  "country",
  "symbol",
  "symbol_url",
  "sub_unit",
  "account",
  "active",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** A new currency. */
export type NewCurrencyRow = Omit<
  CurrencyRow,
  "supply" | "active" | "error" | "deleted_at" | "updated_at"
>;

/** Adds a currency without supply. */
export async function insertCurrency(tx: Tx, currency: NewCurrencyRow): Promise<CurrencyRow> {
  const [row] = await tx<CurrencyRow[]>`
    insert into currencies (id, name, decimals, base, rate, currency, country, symbol,
      symbol_url, sub_unit, account, data, owner, created_at)
    values (${currency.id}, ${currency.name}, ${currency.decimals},
      ${currency.base}, ${currency.rate}, ${currency.currency}, ${currency.country},
      ${currency.symbol}, ${currency.symbol_url}, ${currency.sub_unit}, ${currency.account},
      ${tx.json(currency.data as never)}, ${currency.owner}, ${currency.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads one currency, deleted ones too. */
export async function selectCurrency(db: Db, id: string): Promise<CurrencyRow | null> {
  const [row] = await db<CurrencyRow[]>`select ${db(COLUMNS)} from currencies where id = ${id}`;
  return row ?? null;
}

/** Finds the currency of this name. */
export async function selectCurrencyByName(db: Db, name: string): Promise<CurrencyRow | null> {
  const [row] = await db<CurrencyRow[]>`
    select ${db(COLUMNS)} from currencies where name = ${name} and deleted_at is null`;
  return row ?? null;
}

/** Reads the latest issues and destructions, oldest first. */
export async function selectIssues(db: Db, currency: string, limit: number): Promise<IssueRow[]> {
  const rows = await db<IssueRow[]>`
    select transaction, operation, amount, account from currency_issues
    where currency = ${currency} order by transaction desc limit ${limit}`;
  return rows.reverse();
}

/** Reads currencies by their ids, deleted ones too. */
export async function selectCurrencies(db: Db, ids: string[]): Promise<CurrencyRow[]> {
  return await db<CurrencyRow[]>`
    select ${db(COLUMNS)} from currencies where id = any (${ids}::uuid[])`;
}

/** Reads the latest issues and destructions of several currencies, oldest first. */
export async function selectIssuesOf(
  db: Db,
  currencies: string[],
  limit: number,
): Promise<(IssueRow & { currency: string })[]> {
  return await db<(IssueRow & { currency: string })[]>`
    select currency, transaction, operation, amount, account from (
      select i.currency, i.transaction, i.operation, i.amount, i.account
      from unnest(${currencies}::uuid[]) c(id)
      cross join lateral (
        select currency, transaction, operation, amount, account from currency_issues
        where currency = c.id order by transaction desc limit ${limit}) i
    ) latest order by transaction`;
}
