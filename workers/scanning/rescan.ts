/** Rescans: searches a transaction or blocks again, deeper than the scanner. @module */
import { selectCursor } from "../../db/chains/cursors.ts";
import { reading } from "../../db/transaction.ts";
import type { JobPayloads } from "../../domain/jobs.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { hashFormOf } from "../../domain/chains/text_forms.ts";
import { idTime } from "../../domain/ids.ts";
import {
  finishRescan,
  FOUND_MAX,
  type FoundTransfers,
  noteLocation,
  noteRescanError,
} from "../../domain/deposits/rescans.ts";
import { recordTransfers, resume } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError, type ChainFault } from "../chains/chain.ts";
import { verifyCoins } from "../sending/utxos.ts";
import { balancesBelow } from "./lowered_balances.ts";
import { recoverPaid } from "./passed_addresses.ts";
import { loadWatch } from "./scanner.ts";

/** What is told of a failure: the messages themselves may name nodes. */
const TOLD: Readonly<Partial<Record<ChainFault, string>>> = {
  unavailable: "no node gave an answer that counts",
  wrong_chain: "a node is of another chain or network",
  refused: "the nodes refused to answer, or contradict each other",
  unsupported: "the nodes of this chain cannot search that",
};

/** The chain does not have the block that a halted network would be followed from. */
class NoBlock extends TypeError {}

/**
 * Searches one transaction, or a range of blocks, as deep as the node permits. Known transfers
 * change nothing. New ones are pending and are credited at their depth like all others.
 */
export async function rescanJob(
  context: WorkerContext,
  payload: JobPayloads["deposit.rescan"],
): Promise<void> {
  const { rescan } = payload;
  if (rescan === undefined) return void await search(context, payload);
  try {
    const { place, read } = await search(context, payload);
    await context.step((tx) => finishRescan(tx, context.actor, rescan, { place, read }));
  } catch (error) {
    await noteFailure(context, rescan, error);
    throw error;
  }
}

async function search(
  context: WorkerContext,
  payload: JobPayloads["deposit.rescan"],
): Promise<{ place: ChainNetwork; read: FoundTransfers }> {
  const { rescan, chain: id, testnet, hash, from, to } = payload;
  const chain = await context.chains.open({ chain: id, testnet });
  const place = { chain: id, network: context.chains.network({ chain: id, testnet }) };
  // The search of coins queues rescans by itself: only one that somebody asked for ends a halt.
  if (from !== undefined && rescan !== undefined) {
    await resumeAt(context, chain, { ...place, from, askedAt: idTime(rescan) });
  }
  const watch = { ...await loadWatch(context, place), contracts: null };
  const wanted = hash !== undefined
    ? [{ hash }]
    : Array.from({ length: to! - from! + 1 }, (_, step) => ({ height: from! + step }));
  const read: FoundTransfers = { first: [], count: 0 };
  for (const where of wanted) {
    if (context.signal.aborted) throw new TypeError("the process is leaving");
    const transfers = await chain.search(where, watch);
    const seen = { transfers, coins: chain.traits.coins };
    await recoverPaid(context, place, transfers);
    await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
    read.count += transfers.length;
    read.first.push(...transfers.slice(0, FOUND_MAX - read.first.length));
    // A coin of the range may be spent by a transaction outside of it.
    const made = transfers.map((one) => `${one.hash}:${one.index}`);
    if (chain.traits.coins) await verifyCoins(context, chain, place, made);
  }
  if (hash !== undefined) await tryToLocate(context, chain, payload);
  return { place, read };
}

/** What a node knows is for people: the search stands without it. */
async function tryToLocate(
  context: WorkerContext,
  chain: Chain,
  payload: JobPayloads["deposit.rescan"],
): Promise<void> {
  try {
    await locate(context, chain, payload);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    context.log("warn", "a transaction that was searched again was not located", { error });
  }
}

/** Notes what a node knows of the transaction, also where it brought nothing to the realm. */
async function locate(
  context: WorkerContext,
  chain: Chain,
  { rescan, chain: id, hash }: JobPayloads["deposit.rescan"],
): Promise<void> {
  if (rescan === undefined || hash === undefined || hashFormOf(id, hash) !== hash) return;
  const known = await chain.locate(hash);
  await context.step((tx) => noteLocation(tx, context.actor, rescan, known));
}

/** Notes why an attempt failed; an attempt that lost its lease, or ends with the process, notes nothing. */
async function noteFailure(context: WorkerContext, rescan: string, error: unknown): Promise<void> {
  if (context.signal.aborted) return;
  const told = error instanceof ChainError
    ? TOLD[error.fault]
    : error instanceof NoBlock
    ? error.message
    : undefined;
  const detail = told ?? "the search could not be completed";
  try {
    await context.step((tx) => noteRescanError(tx, context.actor, rescan, detail));
  } catch (failure) {
    context.log("warn", "the failure of a rescan was not noted", { rescan, error: failure });
  }
}

/** Resumes a halted network at the range that the operator names. */
async function resumeAt(
  context: WorkerContext,
  chain: Chain,
  at: ChainNetwork & { from: number; askedAt: number },
): Promise<void> {
  const cursor = await reading(context.pool, (db) => selectCursor(db, at));
  if (cursor === null || cursor.halted === null) return;
  // What was asked for before the halt, a late or repeated attempt, decides nothing about it.
  if (at.askedAt < Number(cursor.halted.at)) return;
  const ancestor = await chain.block(Math.min(cursor.height, Math.max(0, at.from - 1)));
  if (ancestor === null) throw new NoBlock("the chain does not have the block to begin at");
  const balances = await balancesBelow(context, chain, at, ancestor.height);
  const to = { from: cursor, ancestor, balances };
  await context.step((tx) => resume(tx, context.actor, cursor, to), { lockLedger: true });
}
