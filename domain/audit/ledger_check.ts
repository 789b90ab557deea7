/**
 * The audit of a ledger: recomputes every fact that is stored twice and reports the differences. It
 * reads one snapshot of the realm, so it can run beside traffic.
 * @module
 */
import {
  allowTime,
  type CheckCode,
  CHECKS,
  selectMismatches,
} from "../../db/audit/ledger_check.ts";
import type { Pool, Tx } from "../../db/database.ts";
import { selectHash } from "../../db/audit/hash_chain.ts";
import { snapshot } from "../../db/transaction.ts";
import { type ChainEnd, recomputeTrail } from "./trail_chain.ts";
import { DomainError } from "../errors.ts";
import { comparing, type WrongRows } from "./archived_rows.ts";
import { GENESIS } from "./chain_links.ts";
import {
  type ArchivedRows,
  type BreakReason,
  recomputeAfter,
  recomputeAll,
  type Recomputed,
} from "./hash_chain.ts";

/** The kind of a mismatch: a check, or a break of the hash chain. */
export type MismatchCode =
  | CheckCode
  | "seal.hash_mismatch"
  | "seal.seq_missing"
  | "seal.transaction_missing"
  | "seal.event_missing"
  | "seal.expected"
  | "audit.hash_mismatch"
  | "audit.seq_missing"
  | "archive.files"
  | "archive.rows"
  | "seal.head_mismatch";

/** How far the chain of hashes and that of the audit trail were recomputed. */
export interface ChainEnds {
  links: ChainEnd;
  lines: ChainEnd;
}

/** A mismatch. */
export interface Mismatch {
  code: MismatchCode;
  /** Id or name of the wrong row. */
  subject: string;
  expected: string | null;
  found: string | null;
  /** Number of mismatches of this kind in the realm. */
  count: number;
}

/** A head of the chain that was stored where the service cannot reach it. */
export interface KeptHead {
  seq: bigint;
  /** Hexadecimal. */
  hash: string;
}

/** Result of an audit. */
export interface LedgerAudit {
  /** Links of the chain that were recomputed. */
  links: number;
  /** How many of them are of archived transactions, whose hashes were taken as they stand. */
  archived: number;
  /** The last link, as `<seq>:<hash>`, to be stored elsewhere. */
  head: string;
  /** How far both chains were recomputed. */
  ends: ChainEnds;
  mismatches: Mismatch[];
}

const ONE = { expected: null, found: null, count: 1 };
/** Mismatches of one kind that are listed at most. */
const LISTED_MAX = 100;

/** The checks by name, in the order in which they run. */
export const CHECK_CODES: readonly CheckCode[] = Object.keys(CHECKS) as CheckCode[];

/** Steps of one audit: its checks, and the two chains. */
export const STEPS: number = CHECK_CODES.length + 2;

/**
 * Audits one realm's ledger in one snapshot.
 *
 * @param onSteps told how many of the {@link STEPS} were done, in parts of one for the chain of hashes
 * @param archive the transactions that are archived, from the first on
 */
export async function checkLedger(
  pool: Pool,
  expect?: KeptHead,
  onSteps?: (count: number) => void,
  archive?: ArchivedRows,
): Promise<LedgerAudit> {
  return await snapshot(pool, (tx) => checkWithin(tx, expect, onSteps, archive));
}

/** Audits the ledger in the snapshot of a database transaction. */
export async function checkWithin(
  tx: Tx,
  expect?: KeptHead,
  onSteps: (count: number) => void = () => {},
  archive?: ArchivedRows,
): Promise<LedgerAudit> {
  await allowTime(tx);
  const mismatches: Mismatch[] = [];
  for (const code of CHECK_CODES) {
    for (const row of await selectMismatches(tx, code, LISTED_MAX)) {
      mismatches.push({ ...row, code, count: parseInt(row.count, 10) });
    }
    onSteps(1);
  }
  const { checked: links, archived, tip } = await checkChain(tx, mismatches, onSteps, archive);
  const lines = await checkTrail(tx, mismatches);
  onSteps(1);
  if (expect !== undefined) await checkHead(tx, expect, mismatches);
  const ends = { links: { seq: BigInt(links), hash: tip }, lines };
  return { links, archived, head: `${links}:${tip}`, ends, mismatches };
}

async function checkChain(
  tx: Tx,
  mismatches: Mismatch[],
  onSteps: (count: number) => void,
  files?: ArchivedRows,
): Promise<Recomputed> {
  let done = 0;
  const wrong: WrongRows = { listed: [], count: 0 };
  const archive = files && comparing(tx, files, wrong, LISTED_MAX);
  const chain = await recomputeAll(tx, (share) => {
    onSteps(share);
    done += share;
  }, archive).catch((error) => {
    // Files that are gone, or hold something else, are found; the chain goes on from the hashes that stand.
    if (archive === undefined || !(error instanceof DomainError)) throw error;
    mismatches.push({ code: "archive.files", subject: error.message, ...ONE });
    return recomputeAll(tx);
  });
  if (archive !== undefined && chain.break === null) await checkEnd(archive, mismatches);
  for (const row of wrong.listed) {
    mismatches.push({ ...row, code: "archive.rows", count: wrong.count });
  }
  onSteps(1 - done);
  if (chain.break !== null) mismatches.push(breakOf(chain.break));
  return chain;
}

/** Checks that the files hold no transaction besides those that are archived. */
async function checkEnd(archive: ArchivedRows, mismatches: Mismatch[]): Promise<void> {
  try {
    const { done, value } = await archive.next();
    if (!done) mismatches.push({ code: "archive.files", subject: value.id, ...ONE });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    mismatches.push({ code: "archive.files", subject: error.message, ...ONE });
  }
}

function breakOf({ seq, reason }: { seq: number; reason: BreakReason }): Mismatch {
  return { code: `seal.${reason}`, subject: `${seq}`, ...ONE };
}

async function checkTrail(
  tx: Tx,
  mismatches: Mismatch[],
  from?: ChainEnd,
): Promise<ChainEnd> {
  const { break: found, ...end } = await recomputeTrail(tx, from);
  if (found !== null) {
    mismatches.push({ code: `audit.${found.reason}`, subject: `${found.seq}`, ...ONE });
  }
  return end;
}

/** Recomputes both chains from where they were recomputed before: its cost is that of what was added since. */
export async function checkAdded(
  tx: Tx,
  from: ChainEnds,
): Promise<{ ends: ChainEnds; mismatches: Mismatch[] }> {
  const mismatches: Mismatch[] = [];
  const { break: found, ...links } = await recomputeAfter(tx, from.links);
  if (found !== null) mismatches.push(breakOf(found));
  const lines = await checkTrail(tx, mismatches, from.lines);
  return { ends: { links, lines }, mismatches };
}

/** Checks that a head that was stored elsewhere is still part of the chain. */
async function checkHead(tx: Tx, kept: KeptHead, mismatches: Mismatch[]): Promise<void> {
  const found = kept.seq === 0n ? GENESIS : await selectHash(tx, kept.seq);
  if (found === kept.hash) return;
  mismatches.push({
    code: "seal.expected",
    subject: `${kept.seq}`,
    expected: kept.hash,
    found,
    count: 1,
  });
}
