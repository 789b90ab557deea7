/**
 * Searches coins at own addresses that the database does not know: a node that withheld a payment
 * from a block leaves no trace in the scan. Every few hours a node's set of unspent coins is
 * compared with the stored coins at the same block, and blocks of missing coins are rescanned.
 * Where no node keeps such a set, the latest blocks are rescanned.
 * @module
 */
import { selectCursor, selectScannedBlock } from "../../db/chains/cursors.ts";
import {
  selectLastSearch,
  selectNextAddresses,
  selectUnknownCoins,
  upsertSearched,
} from "../../db/chains/coin_searches.ts";
import type { Db } from "../../db/database.ts";
import { selectPlaces } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainId } from "../../domain/assets.ts";
import { enqueue, enqueueAll } from "../../domain/jobs.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";

/** How often the coins of a realm are searched. */
export const SEARCH_MS = 6 * 3_600_000;
/** Most addresses of one search; the next search continues after them. */
const ADDRESSES_AT_ONCE = 5_000;
/** Most blocks that one search has rescanned. */
const BLOCKS_MAX = 100;
/** From this many fruitless searches in a row on, one block is rescanned. */
const FRUITLESS_MAX = 7;
/**
 * Blocks that are rescanned where no node lists its coins: more than chains make between searches.
 */
const LATEST = 400;

/** Searches the coins of every UTXO network of a realm. */
export async function searchCoins(context: WorkerContext): Promise<void> {
  for (const { chain: id, network } of await reading(context.pool, selectPlaces)) {
    const place = { chain: id as ChainId, network } as ChainNetwork;
    try {
      const chain = await context.chains.open({ chain: place.chain, testnet: network !== "main" });
      await searchNetwork(context, chain, place);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      context.log("warn", "search of coins failed", { ...place, error });
    }
  }
}

/**
 * Searches the coins at the next addresses of a network.
 *
 * @returns the coins that were missing; null where nothing could be compared
 */
export async function searchNetwork(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
): Promise<readonly string[] | null> {
  if (chain.coins === null) return null;
  // What a halted network's blocks hold is for an operator to say.
  const found = await reading(context.pool, (db) => selectCursor(db, place));
  if (found !== null && found.halted !== null) return null;
  const addresses = await reading(
    context.pool,
    (db) => selectNextAddresses(db, place, ADDRESSES_AT_ONCE),
  );
  if (addresses.length === 0) return [];
  const turn = Math.floor(context.actor.at / SEARCH_MS);
  const listed = await chain.coins.list(addresses.map(({ address }) => address), turn);
  if (listed === null) return await readAgain(context, place);
  const { height, hash } = listed;
  const compared = await reading(context.pool, async (db) => {
    const cursor = await selectCursor(db, place);
    const scanned = cursor?.height === height
      ? cursor.hash
      : await selectScannedBlock(db, place, height);
    if (cursor === null || cursor.height < height || scanned !== hash) return null;
    const known = new Set(
      await selectUnknownCoins(db, place, listed.coins.map((one) => one.input)),
    );
    const missing = listed.coins.filter((one) => known.has(one.input) && one.height <= height);
    return { missing, fruitless: await fruitlessOnes(db, place) };
  });
  if (compared === null) {
    context.log("info", "coins were listed at a block that is not scanned", { ...place, height });
    return null;
  }
  const { missing, fruitless } = compared;
  const last = addresses.length < ADDRESSES_AT_ONCE ? null : addresses[addresses.length - 1].id;
  const most = Math.max(1, Math.floor(BLOCKS_MAX / 2 ** fruitless));
  const inBlocks = new Map(missing.map((one) => [one.height, one.input]));
  const asked = [...inBlocks].slice(0, most);
  const blocks = asked.map(([at]) => at);
  await context.step(async (tx) => {
    await upsertSearched(tx, place, last, { asked: asked.map(([, input]) => input), fruitless });
    const again = blocks.map((at) => ({
      payload: { chain: place.chain, testnet: place.network !== "main", from: at, to: at },
      dedupe: `${place.chain} ${place.network} ${at}`,
    }));
    await enqueueAll(tx, context.actor, "deposit.rescan", again);
  });
  if (missing.length > 0) {
    const what = { ...place, height, coins: missing.length, blocks };
    context.log("error", "the scan missed coins: their blocks are rescanned", what);
  }
  return missing.map(({ input }) => input);
}

/**
 * Counts the searches in a row whose rescans found little of a node's list. Such a node lists coins
 * that no block holds, and each further search rescans half as many blocks.
 */
async function fruitlessOnes(db: Db, place: ChainNetwork): Promise<number> {
  const last = await selectLastSearch(db, place);
  if (last === null || last.asked.length === 0) return 0;
  const unknown = await selectUnknownCoins(db, place, last.asked);
  return 2 * unknown.length > last.asked.length ? Math.min(last.fruitless + 1, FRUITLESS_MAX) : 0;
}

/** Queues a rescan of the blocks scanned since the last search. */
async function readAgain(context: WorkerContext, place: ChainNetwork): Promise<null> {
  await context.step(async (tx) => {
    const cursor = await selectCursor(tx, place);
    if (cursor === null || cursor.halted !== null) return;
    const again = {
      chain: place.chain,
      testnet: place.network !== "main",
      from: Math.max(0, cursor.height - LATEST + 1),
      to: cursor.height,
    };
    await upsertSearched(tx, place, null, { asked: [], fruitless: 0 });
    const dedupe = `${place.chain} ${place.network} latest`;
    await enqueue(tx, context.actor, "deposit.rescan", again, { dedupe });
  });
  context.log("info", "no node lists its coins: the latest blocks are rescanned", { ...place });
  return null;
}
