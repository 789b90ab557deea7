/**
 * The checker of the ledger: everything that is stored twice is worked out anew, and what does not
 * agree is named. It sees one moment of the realm, so it may run beside traffic.
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
import { recomputeTrail } from "./trail_chain.ts";
import { GENESIS } from "./chain_links.ts";
import { recomputeAll, type Recomputed } from "./hash_chain.ts";

/** What kind of disagreement was found: those of the checks, and those of the chain of hashes. */
export type MismatchCode =
  | CheckCode
  | "seal.hash_mismatch"
  | "seal.seq_missing"
  | "seal.transaction_missing"
  | "seal.event_missing"
  | "seal.expected"
  | "audit.hash_mismatch"
  | "audit.seq_missing"
  | "seal.head_mismatch";

/** One disagreement. */
export interface Mismatch {
  code: MismatchCode;
  /** Id, or name, of what is wrong. */
  subject: string;
  expected: string | null;
  found: string | null;
  /** How many there are of this kind in the realm. */
  count: number;
}

/** A head of the chain that was kept where the service cannot reach it. */
export interface KeptHead {
  seq: bigint;
  /** Hexadecimal. */
  hash: string;
}

/** What the checker found in a ledger. */
export interface LedgerAudit {
  /** Links of the chain that were recomputed. */
  links: number;
  /** The last of them, as `<seq>:<hash>`: to be kept elsewhere. */
  head: string;
  mismatches: Mismatch[];
}

const ONE = { expected: null, found: null, count: 1 };
/** Of one kind, so many are listed. */
const LISTED_MAX = 100;

/** The checks by name, in the order in which they run. */
export const CHECK_CODES: readonly CheckCode[] = Object.keys(CHECKS) as CheckCode[];

/** Checks one realm's ledger as of one moment. */
export async function checkLedger(pool: Pool, expect?: KeptHead): Promise<LedgerAudit> {
  return await snapshot(pool, (tx) => checkWithin(tx, expect));
}

/** Checks the ledger that a transaction sees. */
export async function checkWithin(tx: Tx, expect?: KeptHead): Promise<LedgerAudit> {
  await allowTime(tx);
  const mismatches: Mismatch[] = [];
  for (const code of CHECK_CODES) {
    for (const row of await selectMismatches(tx, code, LISTED_MAX)) {
      mismatches.push({ ...row, code, count: parseInt(row.count, 10) });
    }
  }
  const { checked: links, tip } = await checkChain(tx, mismatches);
  await checkTrail(tx, mismatches);
  if (expect !== undefined) await checkHead(tx, expect, mismatches);
  return { links, head: `${links}:${tip}`, mismatches };
}

async function checkChain(tx: Tx, mismatches: Mismatch[]): Promise<Recomputed> {
  const chain = await recomputeAll(tx);
  if (chain.break !== null) {
    const { seq, reason } = chain.break;
    mismatches.push({ code: `seal.${reason}`, subject: `${seq}`, ...ONE });
  }
  return chain;
}

async function checkTrail(tx: Tx, mismatches: Mismatch[]): Promise<void> {
  const found = await recomputeTrail(tx);
  if (found === null) return;
  mismatches.push({ code: `audit.${found.reason}`, subject: `${found.seq}`, ...ONE });
}

/** A head that was kept elsewhere is still part of the chain. */
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
