/**
 * Follows the chains: block by block from where the realm's cursor stands, in stretches that link to
 * each other, back to the common ancestor where the chain took another course. Memory is bounded by
 * a stretch; a crash anywhere loses nothing, because the cursor moves in the transaction that
 * records what was found.
 * @module
 */
import {
  type CursorRow,
  selectBlocks,
  selectCursor,
  updateSight,
  updateWarning,
} from "../../db/chains/cursors.ts";
import { countSpenderless } from "../../db/sending/utxos.ts";
import { countUnconfirmed } from "../../db/deposits/deposit_proofs.ts";
import { selectWatched, selectWatchedClaims } from "../../db/deposits/deposits.ts";
import { selectKeptTokens } from "../../db/currencies/tokens.ts";
import { reading, writing } from "../../db/transaction.ts";
import { allAssets } from "../../domain/assets.ts";
import type { ChainPlace } from "../../domain/chains/networks.ts";
import { halt, recordStretch, rollBack, WINDOW } from "../../domain/deposits/scan_results.ts";
import { reviveSweeps } from "../../domain/deposits/sweeps.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Head, Scanned, Watch } from "../chains/observations.ts";
import { settleDeposits, UNCONFIRMED } from "./deposit_confirmations.ts";
import { refreshHoldings } from "./onchain_balances.ts";
import { beginCursor } from "./ramp_opening.ts";
import type { SeenTransfer } from "../../domain/chains/observed_transfers.ts";

/** How a pass ended: with the newest block, with more to do, or without a step forward. */
export type Pass = "caught up" | "more" | "stuck";

/** Blocks of one pass, after which leases are looked at again. */
const PASS_BLOCKS = 1024;
/** A stretch is recorded when it has so many blocks or transfers. */
const STRETCH_BLOCKS = 64;
const STRETCH_TRANSFERS = 500;
/** Blocks' times and clocks differ by so many milliseconds at most. */
const FUTURE_MS = 7_200_000;
/** A node may gain so many blocks at once, and so many more in each second. */
const JUMP_BLOCKS = 100_000;
const BLOCKS_PER_S_MAX = 10;
/** Beyond, nodes filter logs by the token and no longer by the address. */
const ANY_TOKEN_ADDRESSES = 400;

/**
 * Makes one pass over a place; what goes wrong with its node is noted and tried again later.
 *
 * @returns how it ended
 */
export async function scanPlace(context: WorkerContext, place: ChainPlace): Promise<Pass> {
  const seen: Seen = { head: null };
  try {
    return await followPlace(context, place, seen);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    context.log("warn", "a chain cannot be followed", { ...place, error });
    const sight = {
      head: seen.head,
      finalized: null,
      error: error.message.slice(0, 500),
      at: context.actor.at,
    };
    await writing(context.pool, (db) => updateSight(db, place, sight));
    return "stuck";
  }
}

/** The newest block that a pass has come to know of: what is told of it, whatever becomes of the pass. */
interface Seen {
  head: number | null;
}

async function followPlace(context: WorkerContext, place: ChainPlace, seen: Seen): Promise<Pass> {
  const at = { chain: place.chain, testnet: place.network !== "main" };
  const chain = await context.chains.open(at);
  await beginCursor(context, place);
  const known = (await reading(context.pool, (db) => selectCursor(db, place)))!;
  if (known.halted !== null) return "stuck";
  const head = await chain.head();
  assertPlausible(chain, head, known, context.actor.at);
  if (head.height < known.height) {
    throw new ChainError("unavailable", "the node is behind what it showed before");
  }
  seen.head = head.height;
  const start = await findFooting(context, chain, known);
  if (start === null) return "stuck";
  // Whoever was given an address before a block was made is watched for in it: the head is older.
  const watch = await loadWatch(context, place);
  const to = Math.min(head.height, start.height + PASS_BLOCKS);
  const reached = await scanTo(context, chain, { place, start, to, watch });
  const { height: top, finalized } = head;
  const sight = { head: top, finalized, error: null, at: context.actor.at };
  await writing(context.pool, (db) => updateSight(db, place, sight));
  const caughtUp = reached === head.height;
  const depth = Math.max(1, context.chains.depth(at));
  await settleDeposits(context, chain, { place, head, reached, depth, watch, caughtUp });
  if (caughtUp) {
    await refreshHoldings(context, chain, { place, height: reached, watch });
    await context.step((tx) => reviveSweeps(tx, context.actor, place));
  }
  await warn(context, chain, known);
  if (caughtUp) return "caught up";
  return reached > start.height ? "more" : "stuck";
}

/**
 * Refuses a newest block that cannot be: of the future, or, where one node alone says so, more blocks
 * ahead than any chain makes in that time.
 */
function assertPlausible(chain: Chain, head: Head, known: CursorRow, now: number): void {
  const fault = (why: string) => new ChainError("unavailable", `the newest block is ${why}`);
  if (head.time * 1000 > now + FUTURE_MS) throw fault("of the future");
  const sinceMs = Math.max(0, now - known.scanned_at);
  const most = known.head + JUMP_BLOCKS + BLOCKS_PER_S_MAX * (sinceMs / 1000);
  if (chain.quorum > 1 || head.height <= most) return;
  throw fault(`${head.height - known.head} blocks ahead of the last`);
}

/** Notes what an operator should look at: nodes that contradict each other, deposits that wait. */
async function warn(context: WorkerContext, chain: Chain, known: CursorRow): Promise<void> {
  const count = await reading(context.pool, (db) => countUnconfirmed(db, known, UNCONFIRMED));
  const waiting = count === 0 ? [] : [`${count} deposits wait until enough nodes confirm them`];
  const gone = chain.traits.coins
    ? await reading(context.pool, (db) => countSpenderless(db, known))
    : 0;
  const lost = gone === 0 ? [] : [`${gone} coins are gone, and no block shows who spent them`];
  const warnings = [...lost, ...waiting, ...chain.reports()];
  const warning = warnings.length === 0 ? null : warnings.join("; ").slice(0, 500);
  if (warning === known.warning) return;
  await writing(context.pool, (db) => updateWarning(db, known, warning));
  if (warning === null) return;
  context.log("error", "nodes of a chain need an operator", { ...placeOf(known), warning });
}

/**
 * Reads what to look for: addresses, and every token at them, so that what is sent by mistake is
 * seen. Of very many addresses only the tokens that are known can be watched at every block; a
 * rescan still finds the others.
 */
export async function loadWatch(context: WorkerContext, place: ChainPlace): Promise<Watch> {
  const watched = await reading(context.pool, (db) => selectWatched(db, place));
  const claims = await reading(context.pool, (db) => selectWatchedClaims(db, place));
  const addresses = new Set(watched.map((one) => one.address));
  return {
    addresses,
    claims: new Set(claims),
    contracts: addresses.size > ANY_TOKEN_ADDRESSES ? await knownTokens(context, place) : null,
  };
}

/** The contracts of a place that are of the registry or of the realm's own tokens. */
async function knownTokens(
  context: WorkerContext,
  place: ChainPlace,
): Promise<ReadonlySet<string>> {
  const kept = await reading(context.pool, (db) => selectKeptTokens(db, place));
  const registered = place.network !== "main" ? [] : allAssets()
    .filter((asset) => asset.chain === place.chain).flatMap((asset) => asset.contract ?? []);
  return new Set([...kept.map((token) => token.contract), ...registered]);
}

/** Scans from a block on that the chain has; gives the height that was reached. */
async function scanTo(
  context: WorkerContext,
  chain: Chain,
  of: { place: ChainPlace; start: CursorRow; to: number; watch: Watch },
): Promise<number> {
  let cursor = { height: of.start.height, hash: of.start.hash };
  let stretch: Scanned[] = [];
  let transfers = 0;
  async function record(): Promise<boolean> {
    if (stretch.length === 0) return true;
    const part = stretchOf(cursor, stretch, chain.traits.coins);
    const moved = await context.step((tx) => recordStretch(tx, context.actor, of.place, part));
    if (moved) cursor = part.blocks[part.blocks.length - 1];
    stretch = [];
    transfers = 0;
    return moved;
  }
  try {
    for await (const scanned of chain.scan(cursor.height + 1, of.to, of.watch)) {
      const below = stretch.length > 0 ? stretch[stretch.length - 1].block.hash : cursor.hash;
      // The chain changed under our feet: the next pass finds out since when.
      if (scanned.block.parentHash !== below) break;
      stretch.push(scanned);
      transfers += scanned.transfers.length;
      if (stretch.length < STRETCH_BLOCKS && transfers < STRETCH_TRANSFERS) continue;
      if (!await record() || context.signal.aborted) return cursor.height;
    }
  } finally {
    await record();
  }
  return cursor.height;
}

function stretchOf(
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
    transfers: scanned.flatMap((one): readonly SeenTransfer[] => one.transfers),
    consumed: scanned.flatMap(({ block, consumed }) =>
      consumed.map((one) => ({ ...one, height: block.height }))
    ),
  };
}

/**
 * Gives the cursor if the chain still has its block, or takes it back to the newest block that it
 * has; null if there is none in the window, and the place waits for a person.
 */
async function findFooting(
  context: WorkerContext,
  chain: Chain,
  cursor: CursorRow,
): Promise<CursorRow | null> {
  const here = await chain.block(cursor.height);
  if (here === null) throw new ChainError("unavailable", "the node lost a block it has shown");
  if (here.hash === cursor.hash) return cursor;
  const window = await reading(
    context.pool,
    (db) => selectBlocks(db, cursor, cursor.height - 1, WINDOW),
  );
  const ancestor = await findAncestor(chain, window) ?? await belowAll(chain, cursor, window);
  if (ancestor === null) {
    const detail = `no common ancestor within ${WINDOW} blocks: the node is of another chain`;
    context.log("error", "a chain took another course", { ...placeOf(cursor), detail });
    await context.step((tx) => halt(tx, cursor, detail, context.actor.at));
    return null;
  }
  const lost = await context.step(
    (tx) => rollBack(tx, context.actor, cursor, { from: cursor, ancestor }),
    { lockLedger: true },
  );
  const depth = cursor.height - ancestor.height;
  const level = lost.length > 0 ? "error" : "info";
  context.log(level, "a chain took another course", {
    ...placeOf(cursor),
    depth,
    deposits_lost: lost.length,
  });
  return { ...cursor, height: ancestor.height, hash: ancestor.hash };
}

function placeOf({ chain, network }: CursorRow): { chain: string; network: string } {
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

/** Below the first block that was ever scanned nothing was recorded that could be lost. */
async function belowAll(
  chain: Chain,
  cursor: { height: number },
  window: readonly { height: number; hash: string }[],
): Promise<Head | { height: number; hash: string } | null> {
  if (window.length >= WINDOW) return null;
  const lowest = window[window.length - 1]?.height ?? cursor.height;
  return await chain.block(Math.max(0, lowest - 1));
}
