/**
 * Verifies the stored coins against the nodes. The scanner keeps the two equal; where they differ all
 * the same (a database restored to yesterday's state, a range that an operator rescanned), no payment
 * may select coins that are gone.
 * @module
 */
import { selectCursor } from "../../db/chains/cursors.ts";
import {
  type BelievedCoin,
  deferSpenders,
  selectBelieved,
  selectLostPayments,
  selectOldest,
  selectRound,
  selectSpenderless,
  upsertRound,
} from "../../db/sending/utxos.ts";
import { reading } from "../../db/transaction.ts";
import {
  correctCoins,
  restoreCoins,
  type SpentCoin,
  UNKNOWN_SPENDER,
} from "../../domain/sending/missing_coins.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import { logResent } from "./resent_payments.ts";
import { signedOf } from "./signing.ts";
import type { CoinSpender, CoinState, CoinWitness } from "../chains/coins.ts";

/** Coins that one pass verifies: forty batches of questions to each node. */
const ROUND_COINS = 2_000;
/** Most coins with unknown spenders that one pass searches again. */
const SPENDERLESS_MAX = 100;
/** Most payments that one pass sends again. */
const RESENT_MAX = 20;
/** Most calls of one search for spenders; each reads some hundred blocks. */
const SEARCHES_MAX = 10;
/** The order that a round sent again last, of networks that have more of them than one round sends. */
const leftOff = new Map<string, string>();

/** Verifies the next coins of a place; after the last coin it begins again with the first. */
export async function verifyRound(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
): Promise<void> {
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  if (cursor === null || cursor.halted !== null || chain.coins === null) return;
  await resendLost(context, chain, place);
  try {
    await searchAgain(context, chain.coins, place);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    context.log("warn", "spenders of coins could not be searched again", { ...place, error });
  }
  const of = { ...place, height: cursor.height, limit: ROUND_COINS };
  const coins = await reading(context.pool, (db) => selectRound(db, of));
  if (!await verify(context, chain.coins, place, coins)) return;
  const last = coins.length < ROUND_COINS ? null : coins[coins.length - 1].input;
  await context.step((tx) => upsertRound(tx, place, last));
}

/**
 * Sends payments again that were booked and whose block the chain has lost: the same bytes. Where there are more than one
 * round sends, the next goes on behind them: the first may be refused for ever.
 */
async function resendLost(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
): Promise<void> {
  const key = `${context.actor.realm.id} ${place.chain} ${place.network}`;
  const of = { limit: RESENT_MAX, after: leftOff.get(key) ?? null };
  const lost = await reading(context.pool, (db) => selectLostPayments(db, place, of));
  if (lost.length < RESENT_MAX) leftOff.delete(key);
  else leftOff.set(key, lost[lost.length - 1].order_id);
  for (const one of lost) {
    const signed = signedOf(one);
    const sent = { order: one.order_id, hash: signed.hash };
    logResent(context, place, sent, await chain.broadcast(signed));
  }
}

/**
 * Searches again for the spenders of coins that are gone and whose spend no block has shown: such a
 * spender had our keys. A coin that the nodes still have was never gone.
 */
async function searchAgain(
  context: WorkerContext,
  witness: CoinWitness,
  place: ChainNetwork,
): Promise<void> {
  const lost = await reading(context.pool, (db) => selectSpenderless(db, place, SPENDERLESS_MAX));
  if (lost.length === 0) return;
  const inputs = lost.map(({ input }) => input);
  // A search that ends half-way is not repeated at once.
  await context.step((tx) => deferSpenders(tx, place, inputs));
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  const asked = lost.map((coin) => ({ ...coin, amount: BigInt(coin.amount) }));
  const states = cursor === null ? null : await witness.confirm(asked, cursor);
  const there = inputs.filter((_, at) => states?.[at] === "unspent");
  await context.step((tx) => restoreCoins(tx, context.actor, place, there));
  const gone = lost.filter(({ input }) => !there.includes(input));
  if (gone.length === 0) return;
  const since = Math.min(...gone.map(({ height }) => height));
  const [{ tries }] = gone;
  const found = await spendersOf(witness, gone.map(({ input }) => input), since, tries + 1);
  await correct(
    context,
    place,
    [...found].map(([input, { hash, height }]) => ({ input, by: hash, height })),
  );
  const left = gone.length - found.size;
  if (left > 0) {
    context.log("error", "coins are gone, and no block shows their spenders", { ...place, left });
  }
}

/** Verifies some coins of a place. */
export async function verifyCoins(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
  inputs: readonly string[],
): Promise<void> {
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  if (cursor === null || chain.coins === null) return;
  for (let from = 0; from < inputs.length; from += ROUND_COINS) {
    const some = inputs.slice(from, from + ROUND_COINS);
    const of = { ...place, height: cursor.height };
    const coins = await reading(context.pool, (db) => selectBelieved(db, of, some));
    await verify(context, chain.coins, place, coins);
  }
}

/**
 * Marks coins as spent that a transaction of another party spent, by the blocks that show it. Coins
 * that our own orders spent stay as they are.
 *
 * @returns the lowest and the highest block that took one of them; null if none was found
 */
export async function markTaken(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
  of: { inputs: readonly string[]; own: ReadonlySet<string> },
): Promise<{ first: number; last: number } | null> {
  if (chain.coins === null) return null;
  const since = await reading(context.pool, (db) => selectOldest(db, place, of.inputs));
  if (since === null) return null;
  const found = await spendersOf(chain.coins, of.inputs, since);
  const taken = [...found].filter(([, { hash }]) => !of.own.has(hash));
  if (taken.length === 0) return null;
  await correct(
    context,
    place,
    taken.map(([input, { hash, height }]) => ({
      input,
      by: hash,
      height,
    })),
  );
  const heights = taken.map(([, { height }]) => height);
  return { first: Math.min(...heights), last: Math.max(...heights) };
}

/**
 * Verifies coins at the block of the cursor; false where no node is at that block, which proves
 * nothing.
 */
async function verify(
  context: WorkerContext,
  witness: CoinWitness,
  place: ChainNetwork,
  coins: readonly BelievedCoin[],
): Promise<boolean> {
  if (coins.length === 0) return true;
  const cursor = await reading(context.pool, (db) => selectCursor(db, place));
  if (cursor === null) return false;
  const asked = coins.map((coin) => ({ ...coin, amount: BigInt(coin.amount) }));
  const states = await witness.confirm(asked, cursor);
  if (states === null) return false;
  const inState = (state: CoinState) => coins.filter((_, at) => states[at] === state);
  for (const { input } of inState("unclear")) {
    context.log("warn", "nodes contradict each other about a coin", { ...place, input });
  }
  const gone = inState("gone");
  if (gone.length === 0) return true;
  const since = Math.min(...gone.map(({ height }) => height));
  const spenders = await spendersOf(witness, gone.map(({ input }) => input), since);
  const spent = gone.map(({ input }) => ({
    input,
    by: spenders.get(input)?.hash ?? UNKNOWN_SPENDER,
    height: spenders.get(input)?.height ?? cursor.height,
  }));
  await correct(context, place, spent, cursor);
  return true;
}

async function spendersOf(
  witness: CoinWitness,
  inputs: readonly string[],
  since: number,
  turn = 0,
): Promise<ReadonlyMap<string, CoinSpender>> {
  for (let search = 0; search < SEARCHES_MAX; search++) {
    const found = await witness.spenders(inputs, since, turn);
    if (found !== null) return found;
  }
  return new Map();
}

/** Stores a correction, unless the chain was reorganised meanwhile. */
async function correct(
  context: WorkerContext,
  place: ChainNetwork,
  spent: readonly SpentCoin[],
  at: { hash: string } | null = null,
): Promise<void> {
  const corrected = await context.step(async (tx) => {
    const cursor = await selectCursor(tx, place);
    if (at !== null && cursor?.hash !== at.hash) return [];
    return await correctCoins(tx, context.actor, place, spent);
  });
  for (const input of corrected) {
    const by = spent.find((one) => one.input === input)?.by;
    context.log("warn", "a coin was taken for unspent", { ...place, input, by });
  }
}
