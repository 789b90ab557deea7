/**
 * The chain of hashes. In the order of commit each transaction gets a number without gaps and a hash
 * over the hash before it and its own canonical form, so that no line of the ledger can be changed,
 * removed or slipped in without every later hash telling.
 * @module
 */
import { hash } from "node:crypto";
import { z } from "zod";
import type { Db, Tx } from "../db/database.ts";
import { selectTransactions } from "../db/ledger.ts";
import { insertEvents } from "../db/records.ts";
import {
  type HeadRow,
  insertSeals,
  lockHead,
  type SealableRow,
  selectHash,
  selectHead,
  selectSealed,
  selectUnsealed,
} from "../db/seals.ts";
import { type Actor, reachesRealm } from "./actor.ts";
import { canonical } from "./canonical.ts";
import { DomainError } from "./errors.ts";
import { newIds } from "./ids.ts";
import { viewTransaction } from "./ledger.ts";
import { DecimalText, trim } from "./money.ts";

/** The head of the chain as shown: what an anchor elsewhere should hold. */
export const HeadView = z.object({
  seq: z.number().int(),
  hash: z.string().nullable(),
  unsealed: z.number().int(),
}).meta({ id: "ChainHead" });

/** Which part of the chain is recomputed. */
export const VerifyRange = z.strictObject({
  from: z.string().regex(/^[1-9]\d{0,15}$/).optional(),
  to: z.string().regex(/^[1-9]\d{0,15}$/).optional(),
});
/** Which part of the chain is recomputed. */
export type VerifyRange = z.infer<typeof VerifyRange>;

/** What recomputing the chain found. */
export const VerifyView = z.object({
  valid: z.boolean(),
  checked: z.number().int(),
  head: z.object({ seq: z.number().int(), hash: z.string().nullable() }),
  break: z.object({ seq: z.number().int(), reason: z.string() }).nullable(),
  next: z.number().int().nullable(),
}).meta({ id: "ChainCheck" });

/** A transaction as the chain seals it: all that its hash covers, and the hash. */
export const ChainLinkView = z.object({
  id: z.string(),
  seq: z.number().int(),
  hash: z.string(),
  type: z.string(),
  source: z.object({ account: z.string() }),
  destination: z.object({ account: z.string() }),
  asset: z.string(),
  amount: DecimalText,
  fiat: z.object({ currency: z.string(), rate: DecimalText, value: DecimalText }).nullable(),
  seal: z.record(z.string(), z.unknown()).nullable(),
  reference: z.string().nullable(),
  address_data: z.record(z.string(), z.unknown()).optional(),
  reverts: z.string().optional(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
}).meta({ id: "ChainLink" });
/** A transaction as the chain seals it. */
export type ChainLink = z.infer<typeof ChainLinkView>;

/** Which part of the chain is read. */
export const ChainPage = z.strictObject({
  after: z.string().regex(/^\d{1,16}$/).optional(),
  limit: z.string().regex(/^\d{1,4}$/).optional(),
});
/** Which part of the chain is read. */
export type ChainPage = z.infer<typeof ChainPage>;

/** Why the chain breaks at a transaction. */
export type BreakReason =
  | "hash_mismatch"
  | "seq_missing"
  | "transaction_missing"
  | "head_mismatch";

const HASH_BYTES = 32;
/** What the first transaction's hash is chained to. */
export const GENESIS: string = "00".repeat(HASH_BYTES);
const FORM_START = 4096;
/** Transactions that one request recomputes at most; a longer range is asked for in parts. */
const CHECKED_MAX = 100_000;
const PAGE = 1000;
const CHAIN_PAGE_MAX = 1000;

/**
 * Seals what was posted, at most about `limit` transactions, in the caller's transaction. Tells how
 * many were sealed; null while another process does.
 */
export async function sealNext(
  tx: Tx,
  by: { at: number },
  limit: number,
): Promise<number | null> {
  const head = await lockHead(tx);
  if (head === null) return null;
  const { commits, rows } = await selectUnsealed(tx, limit);
  if (rows.length === 0) return 0;
  const from = BigInt(head.seq);
  const link = createLinker(head.hash);
  let seq = from;
  const hashes = rows.map((row) => link(sealedForm(row, ++seq)));
  const transactions = rows.map((row) => row.id);
  const owners = new Map<string, number>();
  for (const { owner } of rows) {
    if (owner !== null) owners.set(owner, (owners.get(owner) ?? 0) + 1);
  }
  await insertSeals(tx, { from, transactions, hashes, commits, owners });
  if (head.heard) await announce(tx, by, transactions);
  return rows.length;
}

/** Makes events of sealed transactions, in their order. */
async function announce(tx: Tx, by: { at: number }, ids: string[]): Promise<void> {
  const rows = new Map((await selectTransactions(tx, ids)).map((row) => [row.id, row]));
  const stamps = newIds(by.at, ids.length);
  await insertEvents(
    tx,
    ids.map((id, i) => ({
      id: stamps.ids[i],
      type: "transaction.created",
      entity: id,
      owner: rows.get(id)!.owner,
      payload: viewTransaction(rows.get(id)!, () => true),
      created_at: stamps.at,
    })),
  );
}

/**
 * The text whose hash seals a transaction: its unchanging fields as canonical JSON (RFC 8785). Keys
 * stand in their order already.
 */
export function sealedForm(row: SealableRow, seq: bigint): string {
  const fiat = row.fiat_currency === null
    ? "null"
    : `{"currency":"${row.fiat_currency}","rate":"${trim(row.fiat_rate!)}","value":"${
      trim(row.fiat_value!)
    }"}`;
  return (row.address_data === null ? "{" : `{"address_data":${canonical(row.address_data)},`) +
    `"amount":"${trim(row.amount)}","asset":${JSON.stringify(row.asset)},` +
    `"created_at":${row.created_at},"destination":"${row.destination}","fiat":${fiat},` +
    `"id":"${row.id}","owner":${row.owner === null ? "null" : `"${row.owner}"`},` +
    `"reference":${row.reference === null ? "null" : JSON.stringify(row.reference)},` +
    (row.reverts === null ? "" : `"reverts":"${row.reverts}",`) +
    `"seal":${row.seal === null ? "null" : canonical(row.seal)},"seq":${seq},` +
    `"source":"${row.source}","type":"${row.type}"}`;
}

/**
 * Makes the function that gives each next hash of a chain: SHA-256 of the last one and the text.
 *
 * @param start the hash that the chain begins behind; hashes are 32 bytes, in hexadecimal
 */
export function createLinker(start: string): (text: string) => string {
  const encoder = new TextEncoder();
  let buffer = new Uint8Array(HASH_BYTES + FORM_START);
  let last = start;
  return (text) => {
    const most = HASH_BYTES + text.length * 3;
    if (buffer.length < most) buffer = new Uint8Array(most);
    buffer.setFromHex(last);
    const { written } = encoder.encodeInto(text, buffer.subarray(HASH_BYTES));
    last = hash("sha256", buffer.subarray(0, HASH_BYTES + written), "hex");
    return last;
  };
}

/** Shows the head of the chain, to be kept where this service cannot reach it. */
export async function showHead(db: Db): Promise<z.infer<typeof HeadView>> {
  const { unsealed, ...head } = await selectHead(db);
  return { ...viewHead(head), unsealed: parseInt(unsealed, 10) };
}

/**
 * Recomputes the chain from one number to another, both included, and names the first break.
 *
 * @throws {DomainError} permission.scope
 */
export async function verifyChain(
  db: Db,
  actor: Actor,
  range: VerifyRange,
): Promise<z.infer<typeof VerifyView>> {
  assertAuditor(actor);
  const head = await selectHead(db);
  const end = BigInt(head.seq);
  const from = BigInt(range.from ?? 1);
  const most = from + BigInt(CHECKED_MAX) - 1n;
  const wanted = range.to === undefined ? end : BigInt(range.to);
  const last = [wanted, end, most].reduce((a, b) => a < b ? a : b);
  const found = await recompute(db, from, last, head);
  const more = found.break === null && last < end && last < wanted;
  return {
    valid: found.break === null,
    checked: found.checked,
    head: viewHead(head),
    break: found.break,
    next: more ? asNumber(last + 1n) : null,
  };
}

/** Recomputes the whole chain and names its first break. */
export async function recomputeAll(db: Db): Promise<Recomputed> {
  const head = await selectHead(db);
  return await recompute(db, 1n, BigInt(head.seq), head);
}

/** What recomputing a part of the chain found. */
export interface Recomputed {
  checked: number;
  break: { seq: number; reason: BreakReason } | null;
}

async function recompute(
  db: Db,
  from: bigint,
  last: bigint,
  head: HeadRow,
): Promise<Recomputed> {
  let tip = GENESIS;
  let checked = 0;
  const broken = (seq: bigint, reason: BreakReason): Recomputed => ({
    checked,
    break: { seq: asNumber(seq), reason },
  });
  if (from > 1n && from <= last) {
    const before = await selectHash(db, from - 1n);
    if (before === null) return broken(from - 1n, "seq_missing");
    tip = before;
  }
  const link = createLinker(tip);
  for (let seq = from; seq <= last;) {
    const left = last - seq + 1n;
    const limit = left < BigInt(PAGE) ? parseInt(`${left}`, 10) : PAGE;
    const rows = await selectSealed(db, seq, limit);
    if (rows.length === 0) return broken(seq, "seq_missing");
    for (const row of rows) {
      if (BigInt(row.seq) !== seq) return broken(seq, "seq_missing");
      if (row.id === null) return broken(seq, "transaction_missing");
      tip = link(sealedForm(row, seq));
      if (tip !== row.hash) return broken(seq, "hash_mismatch");
      checked++;
      seq++;
    }
  }
  const whole = from <= last && last === BigInt(head.seq);
  if (whole && tip !== head.hash) return broken(last, "head_mismatch");
  return { checked, break: null };
}

/**
 * Shows transactions in the order of the chain, for those who recompute it themselves.
 *
 * @throws {DomainError} permission.scope, query.invalid
 */
export async function readChain(
  db: Db,
  actor: Actor,
  page: ChainPage,
): Promise<ChainLink[]> {
  assertAuditor(actor);
  const limit = Math.min(parseInt(page.limit ?? `${CHAIN_PAGE_MAX}`, 10), CHAIN_PAGE_MAX);
  const rows = await selectSealed(db, BigInt(page.after ?? 0) + 1n, limit);
  // Of a transaction that is gone there is nothing to show; its number is missing then.
  return rows.flatMap((row) => row.id === null ? [] : [viewLink(row)]);
}

function viewLink(row: SealableRow & { seq: string; hash: string }): ChainLink {
  return {
    id: row.id,
    seq: parseInt(row.seq, 10),
    hash: row.hash,
    type: row.type,
    source: { account: row.source },
    destination: { account: row.destination },
    asset: row.asset,
    amount: trim(row.amount),
    fiat: row.fiat_currency === null ? null : {
      currency: row.fiat_currency,
      rate: trim(row.fiat_rate!),
      value: trim(row.fiat_value!),
    },
    seal: row.seal,
    reference: row.reference,
    ...(row.address_data === null ? {} : { address_data: row.address_data }),
    ...(row.reverts === null ? {} : { reverts: row.reverts }),
    owner: row.owner,
    created_at: row.created_at,
  };
}

function assertAuditor(actor: Actor): void {
  if (reachesRealm(actor)) return;
  throw new DomainError("permission.scope", "the whole chain is read with the scope realm");
}

function viewHead(head: HeadRow): { seq: number; hash: string | null } {
  return { seq: parseInt(head.seq, 10), hash: head.seq === "0" ? null : head.hash };
}

function asNumber(seq: bigint): number {
  return parseInt(`${seq}`, 10);
}
