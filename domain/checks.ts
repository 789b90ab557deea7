/**
 * The checker of the ledger: everything that is stored twice is worked out anew, and what does not
 * agree is named. It sees one moment of the realm, so it may run beside traffic.
 * @module
 */
import { allowTime, type CheckCode, CHECKS, selectMismatches } from "../db/checks.ts";
import type { Database, Pool, Tx } from "../db/database.ts";
import { selectRealms } from "../db/realms.ts";
import { reading, snapshot } from "../db/transaction.ts";
import { placeOf } from "./realms.ts";
import { recomputeAll } from "./seals.ts";

/** What kind of disagreement was found: those of the checks, and those of the chain of hashes. */
export type MismatchCode =
  | CheckCode
  | "seal.hash_mismatch"
  | "seal.seq_missing"
  | "seal.transaction_missing"
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

/** What the checker found in a ledger. */
export interface LedgerAudit {
  /** Links of the chain that were recomputed. */
  sealed: number;
  mismatches: Mismatch[];
}

/** What the checker found in a realm. */
export interface RealmAudit extends LedgerAudit {
  realm: string;
  name: string;
}

/** Of one kind, so many are listed. */
const LISTED_MAX = 100;
const REALMS_PAGE = 200;

/** The checks by name, in the order in which they run. */
export const CHECK_CODES: readonly CheckCode[] = Object.keys(CHECKS) as CheckCode[];

/** Checks one realm's ledger as of one moment. */
export async function checkLedger(pool: Pool): Promise<LedgerAudit> {
  return await snapshot(pool, checkWithin);
}

/** Checks the ledger that a transaction sees. */
export async function checkWithin(tx: Tx): Promise<LedgerAudit> {
  await allowTime(tx);
  const mismatches: Mismatch[] = [];
  for (const code of CHECK_CODES) {
    for (const row of await selectMismatches(tx, code, LISTED_MAX)) {
      mismatches.push({ ...row, code, count: parseInt(row.count, 10) });
    }
  }
  const sealed = await checkChain(tx, mismatches);
  return { sealed, mismatches };
}

async function checkChain(tx: Tx, mismatches: Mismatch[]): Promise<number> {
  const chain = await recomputeAll(tx);
  if (chain.break !== null) {
    mismatches.push({
      code: `seal.${chain.break.reason}`,
      subject: `${chain.break.seq}`,
      expected: null,
      found: null,
      count: 1,
    });
  }
  return chain.checked;
}

/** Checks every realm, one after another, and tells of each as soon as it is known. */
export async function checkRealms(
  database: Database,
  tell: (audit: RealmAudit) => void,
): Promise<void> {
  for (let after: string | null = null;;) {
    const page = await reading(database.platform, (db) => selectRealms(db, after, REALMS_PAGE));
    if (page.length === 0) return;
    for (const row of page) {
      const found = await checkLedger(database.realm(placeOf(row)));
      tell({ realm: row.id, name: row.name, ...found });
    }
    after = page[page.length - 1].id;
  }
}
