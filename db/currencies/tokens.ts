/** Statements on fungible tokens: deployed ones, and those of third parties. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** Rights of the issuer of a token; keys, or null for none. */
export interface IssuerRightsRow {
  mint: string | null;
  permanentDelegate: string | null;
  pause: string | null;
  close: string | null;
  transferHook: string | null;
  confidentialTransfers: boolean;
}

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
  /** The virtual currency that stands for it in the ledger. */
  currency: string | null;
  contract: string | null;
  status: "pending" | "deployed" | "registered" | "failed";
  hash: string | null;
  /** The estimated cost of the deployment, in whole units of the gas coin. */
  fee: string | null;
  order_id: string | null;
  external: boolean;
  /** The supply includes transfers to the ramp's address up to this block; null: none. */
  since: number | null;
  /** The address that may freeze the tokens of holders, as a third party's mint told; null for none. */
  freeze_authority: string | null;
  /** What else its issuer may do, as a third party's mint told. */
  issuer_rights: IssuerRightsRow | null;
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
  "freeze_authority",
  "issuer_rights",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Heights are int8, which the driver gives as text; as float8 they are exact numbers. */
function columns(db: Db) {
  return db`${db(COLUMNS)}, since::float8 as since`;
}

/** A new token. */
export type NewTokenRow = Omit<
  TokenRow,
  | "error"
  | "deleted_at"
  | "updated_at"
  | "hash"
  | "since"
  | "freeze_authority"
  | "issuer_rights"
>;

/** Adds a token. */
export async function insertToken(tx: Tx, token: NewTokenRow): Promise<TokenRow> {
  const [row] = await tx<TokenRow[]>`
    insert into fungible_tokens ${tx({ ...token, data: tx.json(token.data as never) })}
    returning ${columns(tx)}`;
  return row;
}

/** Reads a token. */
export async function selectToken(db: Db, id: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${columns(db)} from fungible_tokens where id = ${id}`;
  return row ?? null;
}

/** Reads which of some tokens were sent or cannot be, or are decided. */
export async function selectTokensAmong(
  db: Db,
  ids: string[],
  which: "sent" | "decided",
): Promise<string[]> {
  const those = which === "sent"
    ? db`(hash is not null or status <> 'pending')`
    : db`status in ('registered', 'failed')`;
  const rows = await db<{ id: string }[]>`
    select id from fungible_tokens where id = any (${ids}::text[]::uuid[]) and ${those}`;
  return rows.map(({ id }) => id);
}

/** Reads tokens by their ids, deleted ones too. */
export async function selectTokens(db: Db, ids: string[]): Promise<TokenRow[]> {
  return await db<TokenRow[]>`
    select ${columns(db)} from fungible_tokens where id = any (${ids}::uuid[])`;
}

/** Reads the token of a virtual currency. */
export async function selectTokenByCurrency(db: Db, currency: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${columns(db)} from fungible_tokens
    where currency = ${currency} and status = 'registered'`;
  return row ?? null;
}

/**
 * Whether the name of a user's new currency or token would be taken for that of another user's currency, or of a token
 * whose deployment another has paid for.
 */
export async function readsLikeAnothers(db: Db, name: string, owner: string): Promise<boolean> {
  const [{ taken }] = await db<{ taken: boolean }[]>`
    select reads_like_anothers(${name}, ${owner}) as taken`;
  return taken;
}

/** Reads the token with a symbol, suffix included. */
export async function selectTokenBySymbol(db: Db, symbol: string): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${columns(db)} from fungible_tokens where symbol = ${symbol} and status <> 'failed'`;
  return row ?? null;
}

/** Reads the token of a contract. */
export async function selectTokenByContract(
  db: Db,
  place: NetworkKey,
  contract: string,
): Promise<TokenRow | null> {
  const [row] = await db<TokenRow[]>`
    select ${columns(db)} from fungible_tokens
    where chain = ${place.chain} and network = ${place.network} and contract = ${contract}
      and status <> 'failed'`;
  return row ?? null;
}

/** Reads the tokens behind virtual currencies, named by the currencies' names: each with that name as its code. */
export async function selectTokensOfCurrencies(
  db: Db,
  names: readonly string[],
): Promise<(TokenRow & { code: string })[]> {
  return await db<(TokenRow & { code: string })[]>`
    select w.name as code, t.* from unnest(${names as string[]}::text[]) w(name),
      lateral (select ${columns(db)} from fungible_tokens where status = 'registered'
        and currency = (select c.id from currencies c where c.name = w.name) offset 0) t`;
}

/** Changes a token. */
export async function updateToken(
  tx: Tx,
  id: string,
  change:
    & Partial<
      Pick<
        TokenRow,
        | "status"
        | "hash"
        | "contract"
        | "fee"
        | "since"
        | "freeze_authority"
        | "issuer_rights"
        | "order_id"
        | "error"
      >
    >
    & {
      updated_at: number;
    },
): Promise<TokenRow> {
  const { error, issuer_rights: rights, ...rest } = change;
  const noted = {
    ...error === undefined ? {} : { error: tx.json(error as never) },
    ...rights === undefined || rights === null ? {} : { issuer_rights: tx.json(rights as never) },
  };
  const [row] = await tx<TokenRow[]>`
    update fungible_tokens set ${tx({ ...rest, ...noted } as never)}
    where id = ${id} returning ${columns(tx)}`;
  return row;
}

/** Links a deployed token to the virtual currency that stands for it. */
export async function markRegistered(
  tx: Tx,
  id: string,
  to: { currency: string; at: number },
): Promise<TokenRow> {
  await tx`select register_token(${id}, ${to.currency}, ${to.at}::timestamptz)`;
  return (await selectToken(tx, id))!;
}

/** Lists the contracts of the tokens of a ramp that are deployed or registered. */
export async function selectContracts(db: Db, ramp: string): Promise<string[]> {
  const rows = await db<{ contract: string }[]>`
    select contract from fungible_tokens
    where account = ${ramp} and status in ('deployed', 'registered')
    order by id`;
  return rows.map(({ contract }) => contract);
}

/** A token of the realm's own, with its ramp. */
export interface KeptToken {
  contract: string;
  /** Name of the virtual currency. */
  symbol: string;
  decimals: number;
  /** Address of the ramp that deployed or registered it. */
  address: string;
  /** The account of the currency, which deposits of the token are credited to. */
  account: string;
  owner: string | null;
  since: number | null;
}

/** Lists the registered tokens of a place with the addresses that they are kept at. */
export async function selectKeptTokens(db: Db, place: NetworkKey): Promise<KeptToken[]> {
  return await db<KeptToken[]>`
    select t.contract, t.symbol, t.decimals, d.address, a.id as account, a.owner,
      t.since::float8 as since
    from fungible_tokens t join currencies c on c.id = t.currency
      join accounts a on a.id = c.account join addresses d on d.account = t.account
    where t.chain = ${place.chain} and t.network = ${place.network} and t.status = 'registered'
    order by t.id`;
}
