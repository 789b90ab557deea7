/**
 * Status of transactions that expire. Mined means in a final block. A transaction is dropped only by
 * proof: as many nodes as the quorum say that the newest final block is above the last that takes it, that
 * its block hash is valid no more as of that block, and that no final block has it, although they keep
 * all blocks since it was drafted.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Signed, StatusQuery, TransactionStatus } from "../outgoing.ts";
import { type Dropped, type Mined, type NodeReport, voteOnStatus } from "../status_votes.ts";
import { bare, type BlockPlace, finalSlot, placeUpTo, readBlockAt } from "./block.ts";
import type { Solana } from "./context.ts";
import { FINALIZED, hasFailed, readNumber, readUnits } from "./node_answers.ts";
import { accountsClosedBy, accountsMadeBy, type Body, feeOfRaw } from "./payment.ts";
import { finalTransaction } from "./raw_transaction.ts";

/**
 * The newest final block of a node, read before anything else: the rest is asked as of that block. What expires is in
 * no block above it, where its height is beyond the expiry.
 */
type Standing = BlockPlace;

/** The state of a transaction as a node tells it. */
interface Told {
  readonly signed: Signed;
  readonly state: "final" | "open" | "none";
}

/** Reads the status of an order by all its attempts. */
export async function statusOf(solana: Solana, query: StatusQuery): Promise<TransactionStatus> {
  const { status } = await voteOnStatus(
    solana.nodes,
    query,
    (peer) => reportOf(solana, peer, query),
  );
  return status;
}

async function reportOf(
  solana: Solana,
  peer: Peer,
  { attempts }: StatusQuery,
): Promise<NodeReport> {
  const standing: Standing = await placeUpTo(peer, await finalSlot(peer));
  const { slot } = standing;
  const none = { height: slot, settled: slot, mined: null, pending: null, dropped: null };
  const told = await statesOf(peer, attempts, standing);
  const final = told.find(({ state }) => state === "final");
  if (final) return { ...none, mined: await minedStatus(solana, peer, final.signed, standing) };
  const open = told.findLast(({ state }) => state === "open");
  if (open) return { ...none, pending: open.signed.hash };
  return { ...none, dropped: await expiryOf(peer, attempts, standing) };
}

/** Searches the transactions in the node's whole history, as of a block not older than its standing. */
async function statesOf(
  peer: Peer,
  attempts: readonly Signed[],
  { slot }: Standing,
): Promise<Told[]> {
  const hashes = attempts.map(({ hash }) => hash);
  const how = { searchTransactionHistory: true };
  const answer = readRecord(await peer.call("getSignatureStatuses", [hashes, how]), "statuses");
  const context = readRecord(answer.context, "a context");
  // Several servers behind one address may be at different blocks.
  if (readNumber(context.slot, "a slot") < slot) {
    throw new ChainError("unavailable", `${peer.name} answers as of a block before its final one`);
  }
  const listed = readList(answer.value);
  if (listed.length !== hashes.length) {
    throw new ChainError("unavailable", `${peer.name} gave ${listed.length} statuses`);
  }
  return attempts.map((signed, at) => {
    if (listed[at] === null) return { signed, state: "none" };
    const { confirmationStatus } = readRecord(listed[at], "a status");
    return { signed, state: confirmationStatus === "finalized" ? "final" : "open" };
  });
}

async function minedStatus(
  solana: Solana,
  peer: Peer,
  signed: Signed,
  standing: Standing,
): Promise<Mined> {
  const found = await finalTransaction(peer, signed.hash);
  const block = found === null ? null : await readBlockAt(peer, found.slot);
  if (found === null || block === null || found.raw !== signed.raw) {
    throw new ChainError("unavailable", `${peer.name} does not show the block of ${signed.hash}`);
  }
  const success = !hasFailed(found.meta);
  // A transaction that failed made and closed nothing.
  const rentOf = (accounts: readonly string[]) =>
    success ? gainOf(solana, signed, found.meta, accounts) : 0n;
  return {
    state: "mined",
    hash: signed.hash,
    block: bare(block),
    confirmations: Math.max(1, standing.slot - found.slot + 1),
    final: true,
    success,
    // The chain takes it in full of all that it includes, so the bytes tell it.
    fee: feeOfRaw(solana, signed.raw) + rentOf(accountsMadeBy(solana, signed.raw)),
    feeContract: null,
    refund: -rentOf(accountsClosedBy(solana, signed.raw)),
  };
}

/** The lamports that accounts of a transaction gained together. */
function gainOf(
  solana: Solana,
  { raw }: Signed,
  meta: Record<string, unknown>,
  accounts: readonly string[],
): bigint {
  if (accounts.length === 0) return 0n;
  const keys = solana.web3.VersionedTransaction.deserialize(
    Uint8Array.from(atob(raw), (letter) => letter.charCodeAt(0)),
  ).message.staticAccountKeys.map((key) => key.toBase58());
  const [before, after] = [readList(meta.preBalances), readList(meta.postBalances)];
  return accounts.reduce((sum, account) => {
    const at = keys.indexOf(account);
    return sum + readUnits(after[at]) - readUnits(before[at]);
  }, 0n);
}

/** Proves that none of the transactions can be in a block any more; null while nothing is proven. */
async function expiryOf(
  peer: Peer,
  attempts: readonly Signed[],
  { slot, height }: Standing,
): Promise<Dropped | null> {
  const ends = attempts.map(({ expires }) =>
    expires !== null && "height" in expires ? expires.height : Infinity
  );
  const last = Math.max(...ends);
  if (height <= last) return null;
  const bodies = attempts.map(({ body }): Body => JSON.parse(body ?? "{}"));
  const since = Math.min(...bodies.map((body) => body.slot));
  const first = readNumber(await peer.call("getFirstAvailableBlock", []), "a slot");
  if (!(first <= since)) return null; // it may have forgotten the block
  for (const { blockhash } of bodies) {
    if (await isValid(peer, blockhash, slot)) return null;
  }
  return {
    state: "dropped",
    proof: "expired",
    by: null,
    expiry: { height: last },
    height: slot,
    reached: height,
  };
}

/** Asks whether transactions may still name a block, as of a final block not older than the standing. */
async function isValid(peer: Peer, blockhash: string, slot: number): Promise<boolean> {
  const answer = readRecord(
    await peer.call("isBlockhashValid", [blockhash, FINALIZED]),
    "a validity",
  );
  const context = readRecord(answer.context, "a context");
  return answer.value !== false || readNumber(context.slot, "a slot") < slot;
}
