/**
 * The hash chain. Each transaction, and each event that changes whose money it is, gets a link in
 * the order of commits: a number without gaps and a hash over the hash before it and its own
 * canonical form. A row that is changed, removed or inserted later makes every later hash differ.
 * @module
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  type Announced,
  type HeadRow,
  insertLinks,
  type Linkable,
  type LinkableTransaction,
  type LinkHash,
  type LinkRow,
  lockHead,
  selectHash,
  selectHead,
  selectLinks,
  selectUnlinked,
} from "../../db/audit/hash_chain.ts";
import { addFlows } from "../../db/audit/hourly_flows.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { openAnswer } from "../answers.ts";
import { type ChainEnd, chainTrail } from "./trail_chain.ts";
import { DomainError } from "../errors.ts";
import { publishNow } from "../event_publishing.ts";
import { payloadOf } from "../events.ts";
import { viewTransaction } from "../ledger/posting.ts";
import { type ChainLink, createLinker, GENESIS, linkText, viewLink } from "./chain_links.ts";
import { breatheIfDue, inSlices } from "../slices.ts";

/** View of the chain's head, which an anchor elsewhere should hold. */
export const HeadView = z.object({
  seq: z.number().int(),
  hash: z.string().nullable(),
  unsealed: z.number().int(),
}).meta({ id: "ChainHead" });

/** The part of the chain to recompute. */
export const VerifyRange = z.strictObject({
  from: z.string().regex(/^[1-9]\d{0,15}$/, "a whole number above 0 is expected").optional(),
  to: z.string().regex(/^[1-9]\d{0,15}$/, "a whole number above 0 is expected").optional(),
});
/** The part of the chain to recompute. */
export type VerifyRange = z.infer<typeof VerifyRange>;

/** Result of recomputing the chain. */
export const VerifyView = z.object({
  valid: z.boolean(),
  checked: z.number().int(),
  archived: z.number().int().meta({
    description:
      "How many of them are of archived transactions: their hashes are taken as they stand.",
  }),
  head: z.object({ seq: z.number().int(), hash: z.string().nullable() }),
  break: z.object({ seq: z.number().int(), reason: z.string() }).nullable(),
  next: z.number().int().nullable(),
}).meta({ id: "ChainCheck" });

/** The part of the chain to read. */
export const ChainPage = z.strictObject({
  after: z.string().regex(/^\d{1,16}$/, "a whole number is expected").optional().meta({
    type: "integer",
    minimum: 0,
  }),
  limit: z.string().regex(/^\d{1,4}$/, "a whole number is expected").optional().meta({
    type: "integer",
    minimum: 0,
    maximum: 1000,
  }),
});
/** The part of the chain to read. */
export type ChainPage = z.infer<typeof ChainPage>;

/** Why the chain breaks at a link. */
export type BreakReason =
  | "hash_mismatch"
  | "seq_missing"
  | "transaction_missing"
  | "event_missing"
  | "head_mismatch";

const SALT_BYTES = 16;
/** Links that one request recomputes at most; a longer range is asked for in parts. */
const CHECKED_MAX = 100_000;
const CHAIN_PAGE_MAX = 1000;
/** Links that are read at once: each may hold a free-form seal. */
const READ_AT_ONCE = 500;
/** Links that are recomputed between two looks at the clock. */
const SLICE = 50;

/** The links that one turn appended. */
export interface Turn {
  links: number;
  /** How many of the links are transactions. */
  transactions: number;
  /** Whether rows without a link were left. */
  more: boolean;
}

/**
 * Appends links of which the service writes the forms, about `limit` at most, in the caller's database transaction, and
 * lines to the audit trail's chain; null while another process appends.
 */
export async function appendLinks(
  tx: Tx,
  by: { at: number },
  limit: number,
): Promise<Turn | null> {
  const head = await lockHead(tx);
  if (head === null) return null;
  await chainTrail(tx, limit);
  const { commits, heard, rows } = await selectUnlinked(tx, limit);
  if (rows.length === 0) return { links: 0, transactions: 0, more: false };
  const from = BigInt(head.seq);
  const link = createLinker(head.hash);
  const salts = randomBytes(SALT_BYTES * rows.length).toString("hex");
  let seq = from;
  // A thousand links in one go would keep requests waiting for 7 ms.
  const hashes = await inSlices(
    rows,
    (row, i) => link(linkText(row, { seq: ++seq, salt: saltAt(salts, i) })),
  );
  await insertLinks(tx, { from, rows, hashes, salts, commits, owners: ownersOf(rows) });
  const moved = rows.flatMap((row) => row.event === null ? [row.id] : []);
  await addFlows(tx, moved);
  if (heard) await announce(tx, by, { from, rows, hashes });
  return { links: rows.length, transactions: moved.length, more: rows.length >= limit };
}

function saltAt(salts: string, i: number): string {
  return salts.slice(i * SALT_BYTES * 2, (i + 1) * SALT_BYTES * 2);
}

/** How many of the transactions each owner made. */
function ownersOf(rows: readonly Linkable[]): Map<string, number> {
  const owners = new Map<string, number>();
  for (const row of rows) {
    if (row.event !== null || row.owner === null) continue;
    owners.set(row.owner, (owners.get(row.owner) ?? 0) + 1);
  }
  return owners;
}

/** Publishes events for the transactions among linked rows, in their order. */
async function announce(
  tx: Tx,
  by: { at: number },
  { from, rows, hashes }: { from: bigint; rows: readonly Announced[]; hashes: readonly string[] },
): Promise<void> {
  let seq = from;
  const events = await inSlices(rows, (row, i) => {
    seq++;
    if (row.event !== null) return null;
    const fields = { ...row, seq: `${seq}`, hash: hashes[i] };
    const parties = new Set([row.source_owner, row.destination_owner]);
    return {
      entity: row.id,
      owner: row.owner,
      others: [...parties].filter((party) => party !== null && party !== row.owner) as string[],
      payload: payloadOf(row.id, viewTransaction(fields, () => true)),
      created_at: row.created_at, // the chain may have come to it late
    };
  });
  const told = events.filter((event) => event !== null);
  if (told.length > 0) await publishNow(tx, by, "transaction.created", told);
}

/** Shows the head of the chain, to be stored where this service cannot reach it. */
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
  read: Read,
  actor: Actor,
  range: VerifyRange,
): Promise<z.infer<typeof VerifyView>> {
  assertAuditor(actor);
  const head = await read(selectHead);
  const end = BigInt(head.seq);
  const from = BigInt(range.from ?? 1);
  const most = from + BigInt(CHECKED_MAX) - 1n;
  const wanted = range.to === undefined ? end : BigInt(range.to);
  const last = [wanted, end, most].reduce((a, b) => a < b ? a : b);
  const found = await recompute(read, { from, last, head });
  const more = found.break === null && last < end && last < wanted;
  return {
    valid: found.break === null,
    checked: found.checked,
    archived: found.archived,
    head: viewHead(head),
    break: found.break,
    next: more ? asNumber(last + 1n) : null,
  };
}

/**
 * Recomputes the whole chain and names its first break.
 *
 * @param onShare told after each page which share of the whole it is
 * @param archive the transactions that are archived; without them their hashes are taken as they stand
 */
export async function recomputeAll(
  db: Db,
  onShare?: (share: number) => void,
  archive?: ArchivedRows,
): Promise<Recomputed> {
  const head = await selectHead(db);
  return await recompute(through(db), { from: 1n, last: BigInt(head.seq), head, onShare, archive });
}

/** Archived transactions in the order of the chain, from its first on. */
export type ArchivedRows = AsyncIterator<LinkableTransaction>;

/** Recomputes the chain after an end up to which it was recomputed before, and gives its end or its first break. */
export async function recomputeAfter(
  db: Db,
  from: ChainEnd,
): Promise<ChainEnd & Pick<Recomputed, "break">> {
  const head = await selectHead(db);
  const last = BigInt(head.seq);
  const known = from.seq === 0n ? GENESIS : await selectHash(db, from.seq);
  if (known !== from.hash) {
    return { ...from, break: { seq: asNumber(from.seq), reason: "hash_mismatch" } };
  }
  if (last < from.seq || last === from.seq && from.seq > 0n && head.hash !== from.hash) {
    return { ...from, break: { seq: asNumber(last), reason: "head_mismatch" } };
  }
  const { checked, tip, break: found } = await recompute(through(db), {
    from: from.seq + 1n,
    last,
    head,
  });
  if (checked === 0) return { ...from, break: found };
  return { seq: from.seq + BigInt(checked), hash: tip, break: found };
}

/** Result of recomputing a part of the chain. */
export interface Recomputed {
  checked: number;
  /** How many of them are of archived transactions: their hashes are taken as they stand. */
  archived: number;
  /** The hash of the last of them. */
  tip: string;
  break: { seq: number; reason: BreakReason } | null;
}

/** The links to recompute. */
interface Range {
  from: bigint;
  last: bigint;
  head: HeadRow;
  onShare?: (share: number) => void;
  archive?: ArchivedRows;
}

/** Reads one page: between two nothing is held that others wait for. */
export type Read = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

function through(db: Db): Read {
  return (work) => work(db);
}

async function recompute(
  read: Read,
  { from, last, head, onShare, archive }: Range,
): Promise<Recomputed> {
  let tip = GENESIS;
  let [checked, archived] = [0, 0];
  const broken = (seq: bigint, reason: BreakReason): Recomputed => ({
    checked,
    archived,
    tip,
    break: { seq: asNumber(seq), reason },
  });
  if (head.hash === "") return broken(0n, "head_mismatch");
  if (from > 1n && from <= last) {
    const before = await read((db) => selectHash(db, from - 1n));
    if (before === null) return broken(from - 1n, "seq_missing");
    tip = before;
  }
  let link = createLinker(tip);
  for (let seq = from; seq <= last;) {
    const left = last - seq + 1n;
    const limit = left < BigInt(READ_AT_ONCE) ? parseInt(`${left}`, 10) : READ_AT_ONCE;
    const rows = await read((db) => selectLinks(db, seq, limit));
    if (rows.length === 0) return broken(seq, "seq_missing");
    for (const row of rows) {
      if (BigInt(row.seq) !== seq) return broken(seq, "seq_missing");
      if (isArchivedLink(row) && archive === undefined) {
        archived++;
        tip = row.hash;
        link = createLinker(tip);
      } else {
        const covered = isArchivedLink(row) ? await nextOf(archive!, row.covers) : row;
        if ("missing" in covered) return broken(seq, `${covered.missing}_missing`);
        tip = link(linkText(covered, { seq, salt: row.salt }));
        if (tip !== row.hash) return broken(seq, "hash_mismatch");
      }
      if (++checked % SLICE === 0) await breatheIfDue();
      seq++;
    }
    onShare?.(rows.length / asNumber(last));
  }
  const whole = from <= last && last === BigInt(head.seq);
  if (whole && tip !== head.hash) return broken(last, "head_mismatch");
  return { checked, archived, tip, break: null };
}

function isArchivedLink(
  row: LinkRow,
): row is LinkHash & { event: null; id: null; missing: "archived" } {
  return "missing" in row && row.missing === "archived";
}

/** The next archived transaction, which must be that of a link. */
async function nextOf(
  archive: ArchivedRows,
  id: string,
): Promise<Linkable | { missing: "transaction" }> {
  const { done, value } = await archive.next();
  return done || value.id !== id ? { missing: "transaction" } : { ...value, event: null };
}

/** Recomputes links from one number to another, both included. */
export async function recomputeRange(
  db: Db,
  { from, last }: { from: bigint; last: bigint },
  onShare?: (share: number) => void,
): Promise<Recomputed> {
  return await recompute(through(db), { from, last, head: await selectHead(db), onShare });
}

/**
 * Shows links in the order of the chain, for auditors who recompute it. None is left out: if a
 * link's transaction or event is gone or archived, its hash and id are shown.
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
  const links: ChainLink[] = [];
  const hasRoom = openAnswer();
  for (let next = BigInt(page.after ?? 0) + 1n; links.length < limit;) {
    const most = Math.min(READ_AT_ONCE, limit - links.length);
    const rows = await selectLinks(db, next, most);
    for (const row of rows) {
      const link = viewLink(row);
      if (!hasRoom(link) && links.length > 0) return links; // a short page is no end
      links.push(link);
    }
    if (rows.length < most) break;
    next = BigInt(rows[rows.length - 1].seq) + 1n;
  }
  return links;
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
