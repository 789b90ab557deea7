/**
 * Statements of posting inside a database transaction, and reads of posted transactions. @module
 */
import type { LedgerTx } from "../transaction.ts";
import type { Db } from "../database.ts";
import { MOVE_TYPES, parametersOf } from "./posting_columns.ts";
import {
  type ApplyRow,
  type Move,
  moveParameters,
  type Outcome,
  outcomesOf,
  positionsOf,
  POSTED_COLUMNS,
  type WrittenMoves,
} from "./posting_protocol.ts";

/** Type, atomic, and head and tail of an id that was drawn before. */
const PARAMETERS = parametersOf(["text", "boolean", "text", "text", ...MOVE_TYPES]);
/** Postings that users ask for. */
const POSTING = `select ${POSTED_COLUMNS} from ledger_post(${PARAMETERS})`;
/** Postings of chain events, which only workers may book. */
const BOOKING = `select ${POSTED_COLUMNS} from ledger_book(${PARAMETERS})`;

/**
 * Posts moves of one type in the caller's transaction, which holds the ledger lock.
 *
 * @param options.force books a chain event whatever the accounts' state, system accounts included;
 *   only workers may
 * @param options.reserved the id of the only move, drawn from the ledger in this transaction just before
 */
export async function applyMoves(
  tx: LedgerTx,
  moves: readonly Move[],
  options: { type: string; force?: boolean; atomic?: boolean; reserved?: string },
): Promise<Outcome[]> {
  const positions = positionsOf(moves);
  const written = { moves, positions, columns: moveParameters(moves, positions) };
  return outcomesOf(moves, positions, await applyWritten(tx, written, options));
}

/** Posts moves that are already encoded, as {@link applyMoves} does. */
export async function applyWritten(
  tx: LedgerTx,
  { columns }: WrittenMoves,
  options: { type: string; force?: boolean; atomic?: boolean; reserved?: string },
): Promise<ApplyRow> {
  const reserved = options.reserved?.replaceAll("-", "");
  const of = [
    options.type,
    options.atomic ?? false,
    reserved?.slice(0, 16) ?? null,
    reserved?.slice(20) ?? null,
    ...columns,
  ];
  const statement = options.force ?? false ? BOOKING : POSTING;
  const [row] = await tx.unsafe<ApplyRow[]>(statement, of, { prepare: true });
  return row;
}

/** A transaction with all that its view shows. */
export interface TransactionRow {
  id: string;
  seq: string | null;
  hash: string | null;
  type: string;
  source: string;
  source_owner: string | null;
  source_holder: string | null;
  destination: string;
  destination_owner: string | null;
  destination_holder: string | null;
  asset: string;
  testnet: boolean;
  amount: string;
  fiat_currency: string | null;
  fiat_rate: string | null;
  fiat_value: string | null;
  seal: Record<string, unknown> | null;
  data: Record<string, unknown> | null;
  reference: string | null;
  address_data: Record<string, unknown> | null;
  reverts: string | null;
  source_total: string;
  /** Held back: open blocks and linked value; null while the account was frozen. */
  source_blocked: string | null;
  destination_total: string;
  destination_blocked: string | null;
  owner: string | null;
  /** When the data beside it were changed last. */
  updated_at?: number | null;
  created_at: number;
}

/** What the view of a transaction `t` shows of other rows, and the joins that it takes. */
export const SHOWN_BESIDE: string = "d.data, d.updated_at, s.owner as source_owner, " +
  "s.holder as source_holder, e.owner as destination_owner, e.holder as destination_holder, " +
  "se.balance as source_total, se.held as source_blocked, " +
  "de.balance as destination_total, de.held as destination_blocked";
/**
 * See {@link SHOWN_BESIDE}. Entries are read one by one, because in a join the planner may use the account
 * alone and read all entries of a busy account.
 */
export const SHOWN_JOINS = `join accounts s on s.id = t.source
  join accounts e on e.id = t.destination
  cross join lateral (select x.balance, x.blocked + coalesce(x.linked, 0) as held from entries x
    where x.account = t.source and x.seq = t.source_seq and x.transaction = t.id offset 0) se
  cross join lateral (select x.balance, x.blocked + coalesce(x.linked, 0) as held from entries x
    where x.account = t.destination and x.seq = t.destination_seq and x.transaction = t.id offset 0) de
  left join transaction_data d on d.transaction = t.id`;

/** Reads transactions with their accounts and the balances after them. */
export async function selectTransactions(db: Db, ids: string[]): Promise<TransactionRow[]> {
  return await db.unsafe<TransactionRow[]>(
    `select t.id, q.seq, encode(q.hash, 'hex') as hash, t.type, t.source, t.destination, t.asset,
      t.testnet, t.amount, t.fiat_currency, t.fiat_rate, t.fiat_value, t.seal, t.reference,
      t.address_data, t.reverts, t.owner, t.created_at, ${SHOWN_BESIDE}
    from transactions t ${SHOWN_JOINS}
    left join chain_links q on q.transaction = t.id
    where t.id = any ($1::text::uuid[])`,
    [`{${ids.join(",")}}`],
    { prepare: true },
  );
}
