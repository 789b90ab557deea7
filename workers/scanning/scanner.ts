/**
 * Scans a network block by block from the realm's cursor on, in ranges of linked blocks. After a
 * reorganisation it rolls back to the common ancestor. Memory is bounded by one range. A crash
 * loses nothing, because the cursor moves in the transaction that records the range.
 * @module
 */
import {
  type CursorRow,
  selectChainBlocks,
  selectCursor,
  updateScanState,
  updateWarning,
} from "../../db/chains/cursors.ts";
import { countSentAgain } from "../../db/recovery/displaced_orders.ts";
import { selectTold } from "../../db/sending/late_attempts.ts";
import { countSpenderless } from "../../db/sending/utxos.ts";
import { countUnconfirmed } from "../../db/deposits/deposit_proofs.ts";
import { selectWatched, selectWatchedInputs } from "../../db/deposits/watched.ts";
import { selectKeptTokens } from "../../db/currencies/tokens.ts";
import { reading, writing } from "../../db/transaction.ts";
import { allAssets } from "../../domain/assets.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { halt, recordRange, rollBack, WINDOW } from "../../domain/deposits/scan_results.ts";
import { reviveSweeps } from "../../domain/deposits/sweeps.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Block, Head, Scanned, WatchList } from "../chains/observations.ts";
import { settleDeposits, UNCONFIRMED } from "./deposit_confirmations.ts";
import { tellDisplacedPayments } from "./displaced_payments.ts";
import { balancesBelow } from "./lowered_balances.ts";
import { refreshOnchainBalances } from "./onchain_balances.ts";
import { recoverPaid } from "./passed_addresses.ts";
import { beginCursor } from "./ramp_opening.ts";
import { logFailure, logRecovery } from "./scan_failures.ts";
import { foundIn, scanAgain } from "./second_scan.ts";
import { warningOf } from "./chain_warnings.ts";
import { askTold, TOLD_MAX } from "./told_attempts.ts";
import { readTimedHead } from "./timed_quarantines.ts";

/** How a pass ended: at the newest block, with more blocks to scan, or without progress. */
export type Pass = "caught up" | "more" | "stuck";

/** Most blocks of one pass; after each pass the poller checks its lease. */
const PASS_BLOCKS = 1024;
/** Most times as many heights without a block that a pass goes through. */
const EMPTY_PASSES_MAX = 64;
/** A range is recorded at this many blocks or transfers. */
const RANGE_BLOCKS = 64;
const RANGE_TRANSFERS = 500;
/** Most blocks that a lone node may gain at once, and in addition for each second. */
const JUMP_BLOCKS = 100_000;
const BLOCKS_PER_S_MAX = 10;
/** Heights on each side of one that may have no block any more, until one has a block. */
const AROUND: readonly number[] = [1, 8, 64];
/** With more addresses, nodes filter logs by token contracts instead of by addresses. */
const ANY_TOKEN_ADDRESSES = 400;

/**
 * Makes one scanning pass over a network. An error of its nodes is recorded, and a later pass tries
 * again.
 *
 * @returns how it ended
 */
export async function scanNetwork(context: WorkerContext, place: ChainNetwork): Promise<Pass> {
  const seen: Seen = { head: null };
  try {
    const pass = await readNewBlocks(context, place, seen);
    logRecovery(context, place);
    return pass;
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    logFailure(context, place, error);
    const state = {
      head: seen.head,
      finalized: null,
      error: error.message.slice(0, 500),
      at: context.actor.at,
    };
    await writing(context.pool, (db) => updateScanState(db, place, state));
    return "stuck";
  }
}

/** The newest block that a pass has read; it is recorded also if the pass fails. */
interface Seen {
  head: number | null;
}

async function readNewBlocks(
  context: WorkerContext,
  place: ChainNetwork,
  seen: Seen,
): Promise<Pass> {
  const at = { chain: place.chain, testnet: place.network !== "main" };
  const chain = await context.chains.open(at);
  await beginCursor(context, place);
  const known = (await reading(context.pool, (db) => selectCursor(db, place)))!;
  if (known.halted !== null) return "stuck";
  const head = await readTimedHead(context, chain, place);
  assertPlausible(chain, head, known, context.actor.at);
  if (head.height < known.height) {
    throw new ChainError("unavailable", "the node is behind the block it showed before");
  }
  seen.head = head.height;
  const start = await findCommonBlock(context, chain, known, head);
  if (start === null) return "stuck";
  // The head was read first: an address handed out before its block was made is in the list.
  const watch = await loadWatch(context, place);
  const to = Math.min(head.height, start.height + PASS_BLOCKS);
  await scanAgain(context, chain, { place, start: start.height, to, watch });
  const reached = await scanTo(context, chain, { place, start, to, top: head.height, watch });
  const { height: top, finalized } = head;
  const state = { head: top, finalized, error: null, at: context.actor.at };
  await writing(context.pool, (db) => updateScanState(db, place, state));
  const caughtUp = reached === head.height;
  const depth = Math.max(1, context.chains.depth(at));
  await settleDeposits(context, chain, { place, head, reached, depth, watch, caughtUp });
  if (caughtUp) {
    const height = chain.traits.finalOnly ? Math.min(reached, head.finalized ?? -1) : reached;
    if (height >= 0) {
      const last = known.balances_height;
      await refreshOnchainBalances(context, chain, { place, height, last, reached, watch });
    }
    await context.step((tx) => reviveSweeps(tx, context.actor, place));
    await askTold({ context, chain, place });
    await tellDisplacedPayments({ context, chain, place }, reached);
  }
  await warn(context, chain, known, reached + 1 - depth);
  if (caughtUp) return "caught up";
  return reached > start.height ? "more" : "stuck";
}

/** Refuses an implausible newest block: with a single node, one further ahead than any chain gets in that time. */
function assertPlausible(chain: Chain, head: Head, known: CursorRow, now: number): void {
  const sinceMs = Math.max(0, now - known.scanned_at);
  const most = known.head + JUMP_BLOCKS + BLOCKS_PER_S_MAX * (sinceMs / 1000);
  if (chain.quorum > 1 || head.height <= most) return;
  const ahead = `${head.height - known.head} blocks ahead of the last`;
  throw new ChainError("unavailable", `the newest block is ${ahead}`);
}

/** Records problems for operators: nodes that contradict each other, payments that the chain has lost, deposits that wait. */
async function warn(
  context: WorkerContext,
  chain: Chain,
  known: CursorRow,
  settled: number,
): Promise<void> {
  const of = { ramps: null, limit: TOLD_MAX };
  const warning = warningOf({
    told: await reading(context.pool, (db) => selectTold(db, known, of)),
    again: await reading(context.pool, (db) => countSentAgain(db, known, settled)),
    gone: chain.traits.coins ? await reading(context.pool, (db) => countSpenderless(db, known)) : 0,
    unconfirmed: await reading(context.pool, (db) => countUnconfirmed(db, known, UNCONFIRMED)),
    reports: chain.reports(),
  });
  if (warning === known.warning) return;
  await writing(context.pool, (db) => updateWarning(db, known, warning));
  if (warning === null) return;
  context.log("error", "nodes of a chain need an operator", { ...networkFields(known), warning });
}

/**
 * Reads the watch list: addresses, those that a reconciliation passed over too, and every token at them, so that deposits sent by mistake are
 * found. With very many addresses only known tokens are watched in every block; a rescan finds the
 * others.
 */
export async function loadWatch(context: WorkerContext, place: ChainNetwork): Promise<WatchList> {
  const watched = await reading(context.pool, (db) => selectWatched(db, place));
  const inputs = await reading(context.pool, (db) => selectWatchedInputs(db, place));
  const addresses = new Set(watched.map((one) => one.address));
  return {
    addresses,
    inputs: new Set(inputs),
    contracts: addresses.size > ANY_TOKEN_ADDRESSES ? await knownTokens(context, place) : null,
  };
}

/** The contracts of a network: those of the registry and of the realm's own tokens. */
async function knownTokens(
  context: WorkerContext,
  place: ChainNetwork,
): Promise<ReadonlySet<string>> {
  const kept = await reading(context.pool, (db) => selectKeptTokens(db, place));
  const registered = place.network !== "main" ? [] : allAssets()
    .filter((asset) => asset.chain === place.chain).flatMap((asset) => asset.contract ?? []);
  return new Set([...kept.map((token) => token.contract), ...registered]);
}

/** Scans above a block that the chain has; gives the height that it reached. */
async function scanTo(
  context: WorkerContext,
  chain: Chain,
  of: { place: ChainNetwork; start: CursorRow; to: number; top: number; watch: WatchList },
): Promise<number> {
  let cursor = { height: of.start.height, hash: of.start.hash };
  let range: Scanned[] = [];
  let transfers = 0;
  async function record(): Promise<boolean> {
    if (range.length === 0) return true;
    const part = blockRange(cursor, range, chain.traits.coins);
    await recoverPaid(context, of.place, part.transfers);
    const moved = await context.step((tx) => recordRange(tx, context.actor, of.place, part));
    if (moved) cursor = part.blocks[part.blocks.length - 1];
    range = [];
    transfers = 0;
    return moved;
  }
  try {
    for await (const scanned of blocksAbove(chain, cursor.height, of)) {
      const below = range.length > 0 ? range[range.length - 1].block.hash : cursor.hash;
      // A reorganisation during the scan: the next pass finds the common ancestor.
      if (scanned.block.parentHash !== below) break;
      range.push(scanned);
      transfers += scanned.transfers.length;
      if (range.length < RANGE_BLOCKS && transfers < RANGE_TRANSFERS) continue;
      if (!await record() || context.signal.aborted) return cursor.height;
    }
  } finally {
    await record();
  }
  return cursor.height;
}

/**
 * Reads the blocks above a height up to another. Where all of these heights are empty, as slots of Solana
 * are while its network stands still, it goes on to the next block above them: otherwise no pass would ever
 * get beyond.
 */
async function* blocksAbove(
  chain: Chain,
  height: number,
  { to, top, watch }: { to: number; top: number; watch: WatchList },
): AsyncGenerator<Scanned> {
  let [from, end] = [height + 1, to];
  for (let pass = 0; pass < EMPTY_PASSES_MAX && from <= top; pass++) {
    let found = false;
    for await (const scanned of chain.scan(from, end, watch)) {
      found = true;
      yield scanned;
    }
    if (found) return;
    [from, end] = [end + 1, Math.min(top, end + PASS_BLOCKS)];
  }
}

function blockRange(
  from: { height: number; hash: string },
  scanned: readonly Scanned[],
  coins: boolean,
) {
  return {
    from,
    coins,
    blocks: scanned.map(({ block }) => ({
      height: block.height,
      hash: block.hash,
      parent_hash: block.parentHash,
    })),
    ...foundIn(scanned),
  };
}

/**
 * Gives the cursor if the chain still has its block, else rolls it back to the common ancestor.
 * Null if the window of remembered blocks has none: the network then waits for an operator.
 */
async function findCommonBlock(
  context: WorkerContext,
  chain: Chain,
  cursor: CursorRow,
  head: Head,
): Promise<CursorRow | null> {
  const here = await chain.block(cursor.height);
  if (here === null && !await isSkipped(chain, cursor, head)) {
    throw new ChainError("unavailable", "the node lost a block it has shown");
  }
  if (here?.hash === cursor.hash) return cursor;
  const window = await reading(
    context.pool,
    (db) => selectChainBlocks(db, cursor, cursor.height - 1, WINDOW),
  );
  const ancestor = await findAncestor(chain, window) ?? await belowWindow(chain, cursor, window);
  if (ancestor === null) {
    const detail = `no common ancestor within ${WINDOW} blocks: the node is of another chain`;
    context.log("error", "scanning halted: rescan from a block of this chain to resume", {
      ...networkFields(cursor),
      detail,
    });
    await context.step((tx) => halt(tx, context.actor, cursor, detail));
    return null;
  }
  const place = networkFields(cursor) as ChainNetwork;
  const balances = await balancesBelow(context, chain, place, ancestor.height);
  const lost = await context.step(
    (tx) => rollBack(tx, context.actor, cursor, { from: cursor, ancestor, balances }),
    { lockLedger: true },
  );
  const depth = cursor.height - ancestor.height;
  const level = lost.length > 0 ? "error" : "info";
  context.log(level, "reorganisation", {
    ...networkFields(cursor),
    depth,
    deposits_lost: lost.length,
  });
  return { ...cursor, height: ancestor.height, hash: ancestor.hash };
}

/**
 * Whether no block is at the cursor's height, where some heights have none: the links of those around it prove that. The one
 * above is read first, as it names the cursor's block where nodes only lack that one, at each pass.
 */
async function isSkipped(
  chain: Chain,
  { height, hash }: Pick<CursorRow, "height" | "hash">,
  head: Head,
): Promise<boolean> {
  if (head.count === undefined) return false;
  const nothing = { addresses: new Set<string>(), inputs: new Set<string>(), contracts: null };
  async function read(from: number, to: number): Promise<Block[]> {
    const scanned = await Array.fromAsync(chain.scan(Math.max(0, from), to, nothing));
    return scanned.map(({ block }) => block);
  }
  let above: Block | undefined;
  for (const far of AROUND) {
    above ??= (await read(height + 1, Math.min(head.height, height + far)))[0];
  }
  if (above === undefined || above.parentHash === hash) return false;
  for (const far of AROUND) {
    const heights = (await read(height - far, above.height)).map((one) => one.height);
    if (heights.some((one) => one < height)) return !heights.includes(height);
  }
  return false;
}

function networkFields({ chain, network }: CursorRow): { chain: string; network: string } {
  return { chain, network };
}

async function findAncestor(
  chain: Chain,
  window: readonly { height: number; hash: string }[],
): Promise<{ height: number; hash: string } | null> {
  for (const block of window) {
    if ((await chain.block(block.height))?.hash === block.hash) return block;
  }
  return null;
}

/** A reorganisation from below the first scanned block: nothing was recorded there. */
async function belowWindow(
  chain: Chain,
  cursor: { height: number },
  window: readonly { height: number; hash: string }[],
): Promise<Head | { height: number; hash: string } | null> {
  if (window.length >= WINDOW) return null;
  const lowest = window[window.length - 1]?.height ?? cursor.height;
  return await chain.block(Math.max(0, lowest - 1));
}
