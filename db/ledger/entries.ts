/** Statements on the entries of one account. None of them reads more than it gives. @module */
import type { Db } from "../database.ts";

/** An entry with fields of its transaction. Amounts are decimals in whole units. */
export interface EntryRow {
  seq: string;
  transaction: string;
  type: string;
  /** Negative where value left. */
  amount: string;
  /** The account's total after it. */
  balance: string;
  /**
   * The amount held back then, blocked or linked; null if nothing was available: the account was
   * frozen, or a deposit account.
   */
  blocked: string | null;
  counterparty: string;
  reference: string | null;
  created_at: number;
}

/** A balance as it stood at a time. */
export interface PastBalanceRow {
  /** Number of the last entry until then; 0 before the first. */
  seq: string;
  total: string;
  blocked: string;
  linked: string;
  frozen: boolean;
}

/** Reads entries from one number to another, both included, in either direction. */
export async function selectEntries(
  db: Db,
  account: string,
  part: { first: bigint; last: bigint; descending: boolean; limit: number },
): Promise<EntryRow[]> {
  return await db<EntryRow[]>`
    select e.seq, e.transaction, t.type, e.amount, e.balance,
      e.blocked + coalesce(e.linked, 0) as blocked, t.reference, t.created_at,
      case when t.source = e.account then t.destination else t.source end as counterparty
    from entries e join transactions t on t.id = e.transaction
    where e.account = ${account} and e.seq between ${`${part.first}`} and ${`${part.last}`}
    order by ${part.descending ? db`e.seq desc` : db`e.seq`} limit ${part.limit}`;
}

/**
 * Closes the past up to a moment, in milliseconds since the epoch: no later commit can carry such a
 * time. Returns the moment, or the ledger's present if that is earlier or no moment is given.
 */
export async function closePast(db: Db, ms: number | null): Promise<number> {
  const [row] = await db<{ ms: string }[]>`select ledger_closed(${ms}::bigint)::text as ms`;
  return parseInt(row.ms, 10);
}

/**
 * Reads the balance that an account had; null where the entries of that time are archived.
 *
 * @param at the moment in milliseconds, and the greatest id that can have been made until then
 */
export async function selectPastBalance(
  db: Db,
  account: string,
  at: { ms: number; bound: string },
): Promise<PastBalanceRow | null> {
  const [row] = await db<(Omit<PastBalanceRow, "seq"> & { seq: string | null })[]>`
    select b.seq, coalesce(e.balance, c.balance, 0) as total, coalesce(s.blocked, 0) as blocked,
      coalesce(e.linked, c.linked, 0) as linked,
      coalesce(s.frozen, false) as frozen
    from entry_before(${account}, ${at.bound}) b(seq)
    left join entries e on e.account = ${account} and e.seq = b.seq
    left join opening_balances c on c.account = ${account} and c.seq = b.seq
    left join lateral (select h.blocked, h.frozen from account_states h
      where h.account = ${account} and h.at <= ${at.ms} order by h.at desc, h.id desc limit 1) s on true`;
  return known(row);
}

/** Reads where the entries of an account begin, behind those that are archived; null where all are there. */
export async function selectOpening(db: Db, account: string): Promise<{ ms: number } | null> {
  const [row] = await db<{ ms: string }[]>`
    select id_ms(bound)::text as ms from opening_balances where account = ${account}`;
  return row === undefined ? null : { ms: parseInt(row.ms, 10) };
}

function known(
  { seq, ...row }: Omit<PastBalanceRow, "seq"> & { seq: string | null },
): PastBalanceRow | null {
  return seq === null ? null : { seq, ...row };
}

/**
 * Reads the balances that an account had at some moments, in their order: one statement, which halves its way to each.
 * Null where the entries of that time are archived.
 *
 * @param moments each in milliseconds, with the greatest id that can have been made until then
 */
export async function selectPastBalances(
  db: Db,
  account: string,
  moments: readonly { ms: number; bound: string }[],
): Promise<(PastBalanceRow | null)[]> {
  const times = `{${moments.map(({ ms }) => ms).join(",")}}`;
  const bounds = `{${moments.map(({ bound }) => bound).join(",")}}`;
  // `offset 0` keeps each look-up one of its own, whatever the plan expects of their number.
  const rows = await db<(Omit<PastBalanceRow, "seq"> & { seq: string | null })[]>`
    select b.seq, coalesce(e.balance, c.balance, 0) as total, coalesce(s.blocked, 0) as blocked,
      coalesce(e.linked, c.linked, 0) as linked, coalesce(s.frozen, false) as frozen
    from unnest(${times}::text::bigint[], ${bounds}::text::uuid[]) with ordinality m(ms, bound, ord)
    cross join lateral (select seq from entry_before(${account}, m.bound) f(seq) offset 0) b
    left join lateral (select x.balance, x.linked from entries x
      where x.account = ${account} and x.seq = b.seq offset 0) e on true
    left join opening_balances c on c.account = ${account} and c.seq = b.seq
    left join lateral (select h.blocked, h.frozen from account_states h
      where h.account = ${account} and h.at <= ms_time(m.ms) order by h.at desc, h.id desc limit 1) s on true
    order by m.ord`;
  return rows.map(known);
}
