/** Statements on fungible tokens: those deployed here, and those that others made. @module */
import type { Db, Tx } from "./database.ts";

/** A token as stored; supply in whole units. */
export interface TokenRow {
  id: string;
  /** The ramp account that deployed it, or that holds it. */
  account: string;
  chain: string;
  network: string;
  name: string | null;
  /** With the suffix of its chain. */
  symbol: string;
  supply: string;
  decimals: number;
  /** The virtual currency that it is in the ledger. */
  currency: string | null;
  contract: string | null;
  status: "pending" | "deployed" | "registered" | "failed";
  hash: string | null;
  /** The estimate of what deploying costs, in whole units of the gas coin. */
  fee: string | null;
  order_id: string | null;
  external: boolean;
  data: Record<string, unknown>;
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "account",
  "chain",
  "network",
  "name",
  "symbol",
  "supply",
  "decimals",
  "currency",
  "contract",
  "status",
  "hash",
  "fee",
  "order_id",
  "external",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** What a new token consists of. */
export type NewTokenRow = Omit<TokenRow, "error" | "deleted_at" | "updated_at" | "hash">;

/** Adds a token. */
export async function insertToken(tx: Tx, token: NewTokenRow): Promise<TokenRow> {
  const [row] = await tx<TokenRow[]>`
    insert into fungible_tokens ${tx({ ...token, data: tx.json(token.data as never) })}
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads a token. */
export async function selectToken(db: Db, id: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens where id = ${id}`;
  return row ?? null;
}

/** Reads tokens by their ids, deleted ones too. */
export async function selectTokens(db: Db, ids: string[]): Promise<TokenRow[]> {
  return await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens where id = any (${ids}::uuid[])`;
}

/** Reads the token of a virtual currency. */
export async function selectTokenByCurrency(db: Db, currency: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens
    where currency = ${currency} and status = 'registered'`;
  return row ?? null;
}

/** Reads the token with a symbol, suffix included. */
export async function selectTokenBySymbol(db: Db, symbol: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens where symbol = ${symbol} and status <> 'failed'`;
  return row ?? null;
}

/** Reads the token behind a virtual currency, named by the currency's name. */
export async function selectTokenOfCurrency(db: Db, name: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens
    where status = 'registered' and currency = (select id from currencies where name = ${name})`;
  return row ?? null;
}

/** Reads the token of an order that deploys. */
export async function selectTokenOfOrder(db: Db, order: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${db(COLUMNS)} from fungible_tokens where order_id = ${order}`;
  return row ?? null;
}

/** Changes a token. */
export async function updateToken(
  tx: Tx,
  id: string,
  change: Partial<Pick<TokenRow, "status" | "hash" | "contract" | "currency" | "fee" | "error">> & {
    updated_at: number;
  },
): Promise<TokenRow> {
  const { error, ...rest } = change;
  const noted = error === undefined ? {} : { error: tx.json(error as never) };
  const [row] = await tx<TokenRow[]>`
    update fungible_tokens set ${tx({ ...rest, ...noted } as never)}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}
