/**
 * The checker of the ledger: everything that is stored twice is worked out anew, and what does not
 * agree is named. It sees one moment of the realm, so it may run beside traffic.
 * @module
 */
import { parseArgs } from "node:util";
import {
  allowTime,
  type CheckCode,
  CHECKS,
  selectMismatches,
} from "../../db/audit/ledger_check.ts";
import type { Database, Pool, Tx } from "../../db/database.ts";
import { type RealmRow, selectRealm, selectRealms } from "../../db/realms/realms.ts";
import { selectHash } from "../../db/audit/hash_chain.ts";
import { reading, snapshot } from "../../db/transaction.ts";
import { recomputeTrail } from "./trail_chain.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { GENESIS } from "./chain_links.ts";
import { notFound } from "../permissions.ts";
import { locationOf } from "../realms/realms.ts";
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

/** Which realm is audited, every one where none is named, and the head that was kept of its chain. */
export interface AuditWish {
  realm?: string;
  expect?: KeptHead;
}

/** What the checker found in a ledger. */
export interface LedgerAudit {
  /** Links of the chain that were recomputed. */
  sealed: number;
  /** The last of them, as `<seq>:<hash>`: to be kept elsewhere. */
  head: string;
  mismatches: Mismatch[];
}

/** What the checker found in a realm. */
export interface RealmAudit extends LedgerAudit {
  realm: string;
  name: string;
}

const USAGE = "usage: audit [--realm <id>] [--expect <seq>:<hash>]";
const ONE = { expected: null, found: null, count: 1 };
/** Of one kind, so many are listed. */
const LISTED_MAX = 100;
const REALMS_PAGE = 200;

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
  const { checked: sealed, tip } = await checkChain(tx, mismatches);
  await checkTrail(tx, mismatches);
  if (expect !== undefined) await checkHead(tx, expect, mismatches);
  return { sealed, head: `${sealed}:${tip}`, mismatches };
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

/** Checks every realm, or one, one after another, and tells of each as soon as it is known. */
export async function checkRealms(
  database: Database,
  tell: (audit: RealmAudit) => void,
  only: AuditWish = {},
): Promise<void> {
  const check = async (row: RealmRow) => {
    const found = await checkLedger(database.realm(locationOf(row)), only.expect);
    tell({ realm: row.id, name: row.name, ...found });
  };
  if (only.realm !== undefined) {
    const id = only.realm;
    const row = isId(id) ? await reading(database.platform, (db) => selectRealm(db, id)) : null;
    if (row === null) throw notFound("realm.not_found");
    return await check(row);
  }
  if (only.expect !== undefined) {
    const some = await reading(database.platform, (db) => selectRealms(db, null, 2));
    if (some.length === 1) return await check(some[0]);
    throw new DomainError("request.invalid", "a head belongs to one realm: name it with --realm");
  }
  for (let after: string | null = null;;) {
    const page = await reading(database.platform, (db) => selectRealms(db, after, REALMS_PAGE));
    if (page.length === 0) return;
    for (const row of page) await check(row);
    after = page[page.length - 1].id;
  }
}

/** Reads what a command line asks for. @throws {DomainError} request.invalid */
export function readWish(args: readonly string[]): AuditWish {
  const options = { realm: { type: "string" }, expect: { type: "string" } } as const;
  try {
    const { values: { realm, expect } } = parseArgs({ args: [...args], options });
    if (expect === undefined) return { realm };
    const kept = /^(\d{1,16}):([0-9a-f]{64})$/.exec(expect);
    if (kept !== null) return { realm, expect: { seq: BigInt(kept[1]), hash: kept[2] } };
  } catch (cause) {
    throw new DomainError("request.invalid", `${(cause as Error).message}\n${USAGE}`);
  }
  throw new DomainError("request.invalid", USAGE);
}

/** Says what was found: a line of JSON for each disagreement, and a verdict. */
export function sayAudit({ realm, name, sealed, head, mismatches }: RealmAudit): string[] {
  const kinds = new Set(mismatches.map((mismatch) => mismatch.code));
  const sound = mismatches.length === 0;
  const verdict = sound ? `sound, head ${head}` : `FAILED: ${[...kinds].join(", ")}`;
  return [
    ...mismatches.map((mismatch) => JSON.stringify({ realm, ...mismatch })),
    `realm ${name} (${realm}): ${sealed} sealed, ${verdict}`,
  ];
}
