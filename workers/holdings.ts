/**
 * Reads what our addresses hold on the chain, and those that are watched for others. Where coins
 * arrived that no transfer explains (a contract paid them inside a call), the blocks are searched
 * for where they came from. At a watched address coins may leave meanwhile and hide as many that
 * came: what is missed so is found by a rescan.
 * @module
 */
import { updateSwept } from "../db/chains.ts";
import { sumArrived } from "../db/deposits.ts";
import { selectKeptTokens } from "../db/fungible_tokens.ts";
import { type HoldingTarget, selectHoldingTargets, upsertHoldings } from "../db/holdings.ts";
import { sumCoins } from "../db/sightings.ts";
import { reading, writing } from "../db/transaction.ts";
import { findAsset, nativeAsset } from "../domain/assets.ts";
import { toUnits } from "../domain/money.ts";
import type { ChainPlace } from "../domain/places.ts";
import { recordTransfers, WINDOW } from "../domain/sightings.ts";
import type { Bench } from "./bench.ts";
import { type Chain, ChainError } from "./chains/chain.ts";
import type { Holding, Watch } from "./chains/sight.ts";

/** Where balances are read. */
export interface Sight {
  place: ChainPlace;
  /** Height of the cursor: everything up to here was scanned. */
  height: number;
  watch: Watch;
}

const STALE = 500;
const ASKED_AT_ONCE = 200;
/** Blocks that are searched for one unexplained balance. */
const SEARCHES_MAX = 16;

/** Keeps the balances of a place current, and finds what came in without a trace. */
export async function refreshHoldings(bench: Bench, chain: Chain, sight: Sight): Promise<void> {
  const { place, height } = sight;
  if (chain.traits.coins) {
    const sums = await reading(bench.pool, (db) => sumCoins(db, place));
    return await keep(bench, sight, sums.map((one) => ({ ...one, contract: "" })));
  }
  const native = nativeAsset(place.chain).code;
  const of = { since: height - WINDOW, stale: STALE, native };
  const targets = await reading(bench.pool, (db) => selectHoldingTargets(db, place, of));
  for (let i = 0; i < targets.length; i += ASKED_AT_ONCE) {
    const some = targets.slice(i, i + ASKED_AT_ONCE);
    const holdings = some.flatMap(holdingsOf);
    const { amounts } = await chain.balances(holdings, height);
    const seen = holdings.map((one, at) => ({ ...one, amount: amounts[at] }));
    for (const target of some) {
      if (findAsset(target.asset)?.contract !== null || target.height === null) continue;
      const now = seen.find((one) => one.address === target.address && one.contract === null)!;
      await explain(bench, chain, sight, target, now.amount);
    }
    const rows = seen.map((one) => ({
      address: one.address,
      contract: one.contract ?? "",
      amount: `${one.amount}`,
    }));
    await keep(bench, sight, rows);
  }
  await refreshKept(bench, chain, { sight, targets });
  await writing(bench.pool, (db) => updateSwept(db, place, height));
}

async function keep(
  bench: Bench,
  { place, height }: Sight,
  rows: readonly { address: string; contract: string; amount: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  await bench.step((tx) => upsertHoldings(tx, place, { height, at: bench.actor.at }, rows));
}

function holdingsOf({ address, asset }: HoldingTarget): Holding[] {
  const contract = findAsset(asset)?.contract ?? null;
  const coin = { address, contract: null };
  return contract === null ? [coin] : [coin, { address, contract }];
}

/**
 * Reads what there is of the realm's own tokens, one by one: strangers wrote some of them, and one
 * that does not answer must not hide the others.
 */
async function refreshKept(
  bench: Bench,
  chain: Chain,
  of: { sight: Sight; targets: readonly HoldingTarget[] },
): Promise<void> {
  const { sight, targets } = of;
  const kept = await reading(bench.pool, (db) => selectKeptTokens(db, sight.place));
  for (const { address: ramp, contract, symbol } of kept) {
    const own = targets.filter((one) => one.asset === symbol).map((one) => one.address);
    const holdings = [ramp, ...own].map((address) => ({ address, contract }));
    try {
      const { amounts } = await chain.balances(holdings, sight.height);
      const rows = holdings.map((one, at) => ({ ...one, amount: `${amounts[at]}` }));
      await keep(bench, sight, rows);
    } catch (error) {
      if (!(error instanceof ChainError) || error.fault !== "refused") throw error;
      bench.log("warn", "a token does not tell a balance", { ...sight.place, symbol, error });
    }
  }
}

/** Searches the blocks in which an address gained more coins than was recorded. */
async function explain(
  bench: Bench,
  chain: Chain,
  sight: Sight,
  target: HoldingTarget,
  amount: bigint,
): Promise<void> {
  const { address } = target;
  const { decimals } = nativeAsset(sight.place.chain);
  const arrived = async (from: number, to: number) =>
    toUnits(
      await reading(bench.pool, (db) => sumArrived(db, sight.place, { address, from, to })),
      decimals,
    );
  const balance = async (at: number) =>
    (await chain.balances([{ address, contract: null }], at)).amounts[0];
  let searches = 0;
  async function search(from: number, before: bigint, to: number, after: bigint): Promise<void> {
    if (after - before <= await arrived(from + 1, to) || searches >= SEARCHES_MAX) return;
    if (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      const half = await balance(middle);
      await search(from, before, middle, half);
      return await search(middle, half, to, after);
    }
    searches++;
    const watch = { ...sight.watch, addresses: new Set([address]), contracts: new Set<string>() };
    const transfers = await chain.search({ height: to }, watch);
    const seen = { transfers, coins: false };
    await bench.step((tx) => recordTransfers(tx, bench.actor, sight.place, seen));
    if (await arrived(to, to) >= after - before) return;
    bench.log("warn", "coins arrived that no transfer explains", { ...sight.place, height: to });
  }
  try {
    await search(target.height!, BigInt(target.amount!), sight.height, amount);
  } catch (error) {
    // Nodes forget old balances; what was missed can still be found by a rescan.
    if (!(error instanceof ChainError)) throw error;
    bench.log("warn", "an unexplained balance could not be searched", { ...sight.place, error });
  }
}
