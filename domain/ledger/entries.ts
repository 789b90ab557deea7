/**
 * The history of one account: its entries, its balance at any time, its statements. Entries are
 * found by their numbers, so a query costs no more than its answer.
 * @module
 */
import { z } from "zod";
import type { AccountRow } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import {
  closePast,
  type EntryRow,
  type PastBalanceRow,
  selectEntries,
  selectOpening,
  selectPastBalance,
} from "../../db/ledger/entries.ts";
import { availableOf, findAccount, viewLinked } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { PageFields } from "../collections/collection_parameters.ts";
import { csvLine, csvText, csvTime } from "../csv.ts";
import { Timestamp } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { invalidQuery } from "../collections/filter.ts";
import { idBound } from "../ids.ts";
import { type Page, pageOf, parsePage } from "../collections/list_parameters.ts";
import { add, compare, DecimalText, subtract, trim } from "../money.ts";

/** An entry as shown. */
export const EntryView = z.object({
  seq: z.number().int(),
  transaction: z.string(),
  type: z.string(),
  amount: DecimalText,
  balance: DecimalText,
  available: DecimalText,
  counterparty: z.string(),
  reference: z.string().nullable(),
  created_at: z.number().int(),
}).meta({ id: "Entry" });

/** Which entries are listed. */
export const EntryList = z.strictObject({
  from: Timestamp.optional(),
  to: Timestamp.optional(),
  after: z.string().regex(/^\d{1,18}$/, "a whole number is expected").optional().meta({
    description:
      "The number of an entry: those that follow it in the order asked for, instead of a page.",
  }),
  sort: z.enum(["created_at", "-created_at", "seq", "-seq"]).default("created_at"),
  ...PageFields,
});
/** Which entries are listed. */
export type EntryList = z.infer<typeof EntryList>;

/** The moment of a balance. */
export const BalanceAt = z.strictObject({ at: Timestamp.optional() });

/** A balance as shown. */
export const BalanceAtView = z.object({
  account: z.string(),
  asset: z.string(),
  at: z.number().int(),
  total: DecimalText,
  available: DecimalText,
  linked: DecimalText.optional(),
}).meta({ id: "BalanceAt" });

/** The part of an account's history in a statement, and its format. */
export const StatementOf = z.strictObject({
  from: Timestamp.default(0),
  to: Timestamp.optional(),
  format: z.enum(["json", "csv"]).optional().meta({
    description: "As `accept` says unless given.",
  }),
});
/** The part of an account's history in a statement, and its format. */
export type StatementOf = z.infer<typeof StatementOf>;

const Balance = z.object({
  total: DecimalText,
  available: DecimalText,
  linked: DecimalText.optional(),
});
/** A statement as JSON. */
export const StatementView = z.object({
  account: z.string(),
  asset: z.string(),
  holder: z.string().nullable(),
  from: z.number().int(),
  to: z.number().int(),
  opening: Balance,
  entries: z.array(EntryView),
  closing: Balance,
}).meta({ id: "Statement" });

/** A statement whose extent is fixed; its entries are read while it is printed. */
export interface Statement {
  account: AccountRow;
  /** Milliseconds since the epoch, both included. */
  from: number;
  to: number;
  opening: PastBalanceRow;
  closing: PastBalanceRow;
}

/** Runs one read of a statement; no transaction is held between two. */
export type Read = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

const STATEMENT_PAGE = 500;
/** Later than any entry: the year 9999. */
const END_OF_TIME = 253_402_300_799_999;

/**
 * Lists the entries of an account by pages, or those that follow one. They begin behind those that are archived.
 *
 * @throws {DomainError} account.not_found, query.invalid, time.archived
 */
export async function listEntries(
  db: Db,
  actor: Actor,
  input: EntryList & { account: string },
): Promise<Record<string, unknown>> {
  if (input.after !== undefined && input.page !== undefined) {
    throw invalidQuery("/after", "either after or page is expected");
  }
  const page = parsePage(input);
  const { low, high } = await rangeOf(db, actor, input);
  const descending = input.sort.startsWith("-");
  const part = input.after === undefined
    ? partOf(page, low, high, descending)
    : partAfter(BigInt(input.after), page.limit, { low, high, descending });
  const rows = part === null ? [] : await selectEntries(db, input.account, part);
  if (part !== null) assertWhole(rows, part);
  return pageOf(page, rows.map(viewEntry), high > low ? parseInt(`${high - low}`, 10) : 0);
}

/**
 * The numbers of the entries before the first and of the last one that is asked for.
 *
 * @throws {DomainError} account.not_found, time.archived
 */
export async function rangeOf(
  db: Db,
  actor: Actor,
  { account: id, from, to, after, sort }: EntryList & { account: string },
): Promise<{ low: bigint; high: bigint }> {
  const account = await findAccount(db, actor, id);
  if (to !== undefined) await closePast(db, to);
  const last = to ?? END_OF_TIME;
  const { opening: before } = await beginOf(db, account.id, { from: from ?? 0, to: last });
  const until = await pastOf(db, account.id, last);
  const [low, read] = [BigInt(before.seq), BigInt(after ?? 0)];
  // Who has read up to an entry would take the first that is there for the next one.
  if (!from && !sort.startsWith("-") && read > 0n && read < low) throw archived();
  return { low, high: BigInt(until.seq) };
}

function partAfter(
  after: bigint,
  limit: number,
  { low, high, descending }: { low: bigint; high: bigint; descending: boolean },
) {
  const first = descending || after < low ? low + 1n : after + 1n;
  const last = descending && after <= high ? after - 1n : high;
  return { first, last, descending, limit };
}

function partOf(page: Page, low: bigint, high: bigint, descending: boolean) {
  const offset = BigInt(page.offset);
  if (low + offset >= high) return null;
  const size = BigInt(page.limit);
  const [first, last] = descending
    ? [high - offset - size + 1n, high - offset]
    : [low + 1n + offset, low + offset + size];
  return {
    first: first > low ? first : low + 1n,
    last: last < high ? last : high,
    descending,
    limit: page.limit,
  };
}

/**
 * Shows the balance of an account at a time; by default now. For a time in the future it is the
 * present balance, with the present time in `at`.
 *
 * @throws {DomainError} account.not_found, time.archived
 */
export async function balanceAt(
  db: Db,
  actor: Actor,
  input: { account: string; at?: number },
): Promise<Record<string, unknown>> {
  const account = await findAccount(db, actor, input.account);
  const { id, asset } = account;
  if (input.at === undefined) {
    const total = trim(account.total);
    const balance = { total, available: availableOf(account), ...viewLinked(account) };
    return { account: id, asset, at: actor.at, ...balance };
  }
  const at = await closePast(db, input.at);
  return { account: id, asset, at, ...viewPast(account, await pastOf(db, id, input.at)) };
}

/**
 * Fixes the extent of a statement. One of all entries begins behind those that are archived.
 *
 * @throws {DomainError} account.not_found, query.invalid, time.archived
 */
export async function openStatement(
  db: Db,
  actor: Actor,
  input: { account: string; from: number; to?: number },
): Promise<Statement> {
  if (input.to !== undefined && input.to < input.from) {
    throw invalidQuery("/to", "a time not before from is expected");
  }
  const account = await findAccount(db, actor, input.account);
  const past = input.to === undefined ? null : await closePast(db, input.to);
  const to = past !== null && past === input.to ? past : await closePast(db, null);
  return {
    account,
    to,
    ...await beginOf(db, account.id, { from: input.from, to }),
    closing: await pastOf(db, account.id, to),
  };
}

/** Prints a statement as JSON, piece by piece. */
export async function* printJson(statement: Statement, read: Read): AsyncGenerator<string> {
  const { account, from, to } = statement;
  const opening = viewPast(account, statement.opening);
  const head = {
    account: account.id,
    asset: account.asset,
    holder: account.holder,
    from,
    to,
    opening,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"entries":[`;
  let first = true;
  for await (const rows of pagesOf(statement, read)) {
    yield (first ? "" : ",") + rows.map((row) => JSON.stringify(viewEntry(row))).join(",");
    first = false;
  }
  yield `],"closing":${JSON.stringify(viewPast(account, statement.closing))}}`;
}

/** Prints a statement as CSV (RFC 4180), piece by piece. */
export async function* printCsv(statement: Statement, read: Read): AsyncGenerator<string> {
  yield CSV_HEAD;
  for await (const rows of pagesOf(statement, read)) {
    yield rows.map(csvOf).join("");
  }
}

/** The names of the columns of entries as CSV. */
export const CSV_HEAD = "seq,transaction,type,created_at,counterparty,reference,amount,balance\r\n";

/** Writes an entry as CSV. */
export function csvOf(row: EntryRow): string {
  return csvLine([
    row.seq,
    row.transaction,
    row.type,
    csvTime(row.created_at),
    row.counterparty,
    csvText(row.reference ?? ""),
    trim(row.amount),
    trim(row.balance),
  ]);
}

/**
 * Reads entries of a statement page by page. They never change, so each page is a read of its own.
 *
 * @throws {DomainError} time.archived where they are archived meanwhile
 */
async function* pagesOf({ account, opening, closing }: Statement, read: Read) {
  const last = BigInt(closing.seq);
  for (let first = BigInt(opening.seq) + 1n; first <= last; first += BigInt(STATEMENT_PAGE)) {
    const part = { first, last, descending: false, limit: STATEMENT_PAGE };
    const rows = await read((db) => selectEntries(db, account.id, part));
    assertWhole(rows, part);
    yield rows;
  }
}

/** @throws {DomainError} time.archived */
async function pastOf(db: Db, account: string, at: number): Promise<PastBalanceRow> {
  const row = await selectPastBalance(db, account, { ms: Math.max(0, at), bound: idBound(at) });
  if (row === null) throw archived();
  return row;
}

/**
 * The time from which on entries are asked for, and the balance before it. Where all are asked for (0), they begin behind
 * those that are archived.
 *
 * @throws {DomainError} time.archived, also where all until then are archived
 */
async function beginOf(
  db: Db,
  account: string,
  { from, to }: { from: number; to: number },
): Promise<{ from: number; opening: PastBalanceRow }> {
  const start = from > 0 ? from : (await selectOpening(db, account))?.ms ?? from;
  if (from === 0 && start > to) throw archived();
  return { from: start, opening: await pastOf(db, account, start - 1) };
}

/**
 * Refuses entries of which some are gone: their part was archived since the extent of what is read was fixed.
 *
 * @throws {DomainError} time.archived
 */
export function assertWhole(
  rows: readonly EntryRow[],
  { first, last, limit }: { first: bigint; last: bigint; limit: number },
): void {
  const due = last - first + 1n;
  if (BigInt(rows.length) < (due < BigInt(limit) ? due : BigInt(limit))) throw archived();
}

/** The refusal of a time whose entries are archived. */
export function archived(): DomainError {
  return new DomainError(
    "time.archived",
    "the entries of that time are archived: ask for a later time, or ask the operator for the archive",
  );
}

/** Shows a past balance; nothing was available of a frozen account. */
export function viewPast(
  account: AccountRow,
  row: Omit<PastBalanceRow, "seq">,
): { total: string; available: string; linked?: string } {
  const free = subtract(row.total, add(row.blocked, row.linked));
  const none = row.frozen || account.type === "deposit" || compare(free, "0") < 0;
  return { total: trim(row.total), available: none ? "0" : free, ...viewLinked(row) };
}

function viewEntry(row: EntryRow): Record<string, unknown> {
  return {
    seq: parseInt(row.seq, 10),
    transaction: row.transaction,
    type: row.type,
    amount: trim(row.amount),
    balance: trim(row.balance),
    available: row.blocked === null ? "0" : subtract(row.balance, row.blocked),
    counterparty: row.counterparty,
    reference: row.reference,
    created_at: row.created_at,
  };
}
