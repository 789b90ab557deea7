/**
 * Compares on-chain balances of own and linked addresses with the known incoming and outgoing
 * transfers. The nodes take turns, so the next one exposes a node that withholds a transfer. At a
 * linked address that is a contract, coins that leave inside calls may hide as many that came; a
 * rescan finds those.
 * @module
 */
import { updateBalancesHeight } from "../../db/chains/cursors.ts";
import { type KeptToken, selectKeptTokens } from "../../db/currencies/tokens.ts";
import {
  type BalanceTarget,
  type OnchainBalanceRow,
  selectBalanceTargets,
  selectOnchainBalances,
  upsertOnchainBalances,
} from "../../db/accounts/onchain_balances.ts";
import { sumMinedCoins } from "../../db/chains/coin_sums.ts";
import { sumArrived } from "../../db/deposits/deposit_proofs.ts";
import { type OwnSpent, sumOwnSpent } from "../../db/sending/own_moves.ts";
import { reading, writing } from "../../db/transaction.ts";
import { findAsset, nativeAsset, tokenByContract } from "../../domain/assets.ts";
import { toUnits } from "../../domain/money.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { WINDOW } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import { wakeWaiting } from "../sending/woken_orders.ts";
import { type Chain, ChainError, SilentTokenError } from "../chains/chain.ts";
import type { Holding, WatchList } from "../chains/observations.ts";
import {
  explainAgain,
  explainGain,
  gainBudget,
  isWithoutSpending,
  recordGain,
} from "./balance_gains.ts";
import type { Gain, GainWork } from "./gain_searches.ts";
import { logSilentTokens, type SilentToken } from "./scan_failures.ts";
import { broughtByOrders } from "./own_moves.ts";

/** The network whose balances are read. */
export interface BalanceScan {
  place: ChainNetwork;
  /** Height of the balances that are asked for. */
  height: number;
  /** Height of those that the last pass asked for; below 0 for none. */
  last: number;
  /** Height of the cursor: everything up to here was scanned. */
  reached: number;
  watch: WatchList;
}

/** State of one pass over the balances of a network. */
interface Pass extends GainWork {
  chain: Chain;
  height: number;
  reached: number;
  kept: readonly KeptToken[];
}

/** Blocks in which own orders are looked for, about an hour where chains have indexes; an address of them is read more often. */
const OWN_BLOCKS = 8_192;
const STALE = 500;
const ASKED_AT_ONCE = 200;
/** With more failures, the rest of the linked addresses waits for a later pass: a node may be down. */
const FAILURES_MAX = 32;

/** Refreshes the balances of a network, and searches transfers that the scan did not show. */
export async function refreshOnchainBalances(
  context: WorkerContext,
  chain: Chain,
  scan: BalanceScan,
): Promise<void> {
  const { place, height, last, reached, watch } = scan;
  if (chain.traits.coins) {
    const sums = await reading(context.pool, (db) => sumMinedCoins(db, place));
    return await keep(context, scan, sums.map((one) => ({ ...one, contract: "", nonce: null })));
  }
  const native = nativeAsset(place.chain);
  const { derivedBalances } = chain.traits;
  const of = {
    ...{ since: height - WINDOW, stale: STALE, native: native.code },
    // An index that lags hides tokens from a scan as it hides coins.
    linkedTokens: derivedBalances,
  };
  const targets = await reading(context.pool, (db) => selectBalanceTargets(db, place, of));
  const kept = await reading(context.pool, (db) => selectKeptTokens(db, place));
  const readers = chain.apart(height);
  const pass: Pass = {
    ...{ context, place, watch, chain, height, reached, kept, readers },
    reader: chain.through(height),
    budget: gainBudget({ last, height }),
    derivedBalances,
    recheck: chain.recheck,
    decimals(contract) {
      if (contract === null) return native.decimals;
      return tokenByContract(place.chain, contract)?.decimals ??
        kept.find((token) => token.contract === contract)?.decimals ?? null;
    },
  };
  const own = targets.filter(({ since }) => since === null);
  for (let i = 0; i < own.length; i += ASKED_AT_ONCE) {
    await refresh(pass, own.slice(i, i + ASKED_AT_ONCE).flatMap(holdingsOf));
  }
  await refreshLinked(pass, targets.filter(({ since }) => since !== null));
  await refreshKept(pass, targets);
  await explainAgain(pass);
  await writing(context.pool, (db) => updateBalancesHeight(db, place, height));
}

/**
 * Reads the balances of linked addresses. Anybody may link a stranger's of which nodes cannot tell the balance, as one that
 * more transactions name than can be read: it hides no other, and holds up nothing.
 */
async function refreshLinked(pass: Pass, linked: readonly BalanceTarget[]): Promise<void> {
  const { context, place } = pass;
  const parts: (readonly BalanceTarget[])[] = [];
  for (let i = 0; i < linked.length; i += ASKED_AT_ONCE) {
    parts.push(linked.slice(i, i + ASKED_AT_ONCE));
  }
  for (let failures = 0; parts.length > 0 && !context.signal.aborted;) {
    const part = parts.shift()!;
    try {
      await refresh(pass, part.flatMap(holdingsOf));
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      const of = { ...place, addresses: part.length, first: part[0].address };
      context.log("debug", "balances of linked addresses were not read", { ...of, error });
      if (++failures >= FAILURES_MAX) return;
      const middle = Math.ceil(part.length / 2);
      if (part.length > 1) parts.push(part.slice(0, middle), part.slice(middle));
    }
  }
}

/** A balance to read. */
interface Wanted extends Holding {
  /** Whether deposits to it are booked. */
  readonly booked: boolean;
  /** See {@link BalanceTarget}. */
  readonly since: number | null;
}

function holdingsOf({ address, asset, since }: BalanceTarget): Wanted[] {
  const contract = findAsset(asset)?.contract ?? null;
  const coin = { address, contract: null, since, booked: findAsset(asset)?.contract === null };
  return contract === null ? [coin] : [coin, { address, contract, since, booked: true }];
}

/** Reads balances, explains those that rose, and stores them. */
async function refresh(asked: Pass, wanted: readonly Wanted[]): Promise<void> {
  const { context, place, reader } = asked;
  const { amounts, height } = await reader.balances(wanted, asked.height);
  // A chain that knows its final balances only tells those of a later block, which must be scanned too.
  if (height > asked.reached) return;
  const pass = { ...asked, height };
  const addresses = [...new Set(wanted.map(({ address }) => address))];
  const counts = await reader.nonces?.countAt(addresses, height);
  const nonces = new Map(addresses.map((address, at) => [address, counts?.[at] ?? null]));
  const before = await reading(context.pool, (db) => selectOnchainBalances(db, place, addresses));
  const known = new Map(before.map((row) => [`${row.address} ${row.contract}`, row]));
  const seen = wanted.map((holding, at): SeenBalance => {
    const { address, contract } = holding;
    const row = known.get(`${address} ${contract ?? ""}`) ?? null;
    // What came between an earlier link and this one counts for nobody.
    const last = row !== null && row.height < (holding.since ?? 0) ? null : row;
    return { holding, last, amount: amounts[at], nonce: nonces.get(address) ?? null };
  });
  const gains = await gainsOf(pass, seen);
  const rows: Omit<OnchainBalanceRow, "height">[] = [];
  const risen: string[] = [];
  for (const one of seen) {
    const gain = gains.get(one);
    // Later ones are compared with the first, which nothing else would contradict.
    if (one.last === null && pass.derivedBalances && await isDisputed(pass, one)) continue;
    if (gain !== undefined && !await isExplained(pass, one, gain)) continue;
    const { holding: { address, contract, since }, last, amount, nonce } = one;
    rows.push({ address, contract: contract ?? "", amount: `${amount}`, nonce });
    if (since === null && last !== null && amount > BigInt(last.amount)) risen.push(address);
  }
  await keep(context, pass, rows);
  await wakeWaiting(context, place, risen);
}

/** A balance as read now, and as stored. */
interface SeenBalance {
  holding: Wanted;
  last: OnchainBalanceRow | null;
  amount: bigint;
  nonce: number | null;
}

/** By how much a balance rose since it was stored, if it was, and how much known transfers and own orders moved; base units. */
interface SeenGain extends Omit<Gain, "gained">, OwnSpent {
  last: OnchainBalanceRow | null;
  risen: bigint;
  arrived: bigint;
}

/**
 * Finds the balances that may have gained value since they were stored, by one statement for all; on chains without
 * nonces also those that did not rise while something came.
 */
async function gainsOf(
  { context, place, height, decimals, derivedBalances }: Pass,
  seen: readonly SeenBalance[],
): Promise<Map<SeenBalance, SeenGain>> {
  const may = seen.flatMap((one) => {
    const { holding: { address, contract, booked }, last, amount, nonce } = one;
    if (!booked || (last !== null && last.height >= height)) return [];
    const places = decimals(contract);
    const risen = amount - BigInt(last?.amount ?? 0);
    // Outgoing value hides as much incoming value.
    const isSeen = nonce === null || (last !== null && (risen > 0n || last.nonce !== nonce));
    if (places === null || !isSeen) return [];
    const gain = { address, contract, decimals: places, above: last?.height ?? -1, height };
    return [{ one, gain: { ...gain, last, risen } }];
  });
  if (may.length === 0) return new Map();
  const ranges = may.map(({ gain: { address, contract, above } }) => {
    return { address, contract, from: above + 1, to: height };
  });
  const sums = await reading(context.pool, (db) => sumArrived(db, place, ranges));
  const own = derivedBalances
    ? await reading(
      context.pool,
      (db) => sumOwnSpent(db, place, { ranges, above: height - OWN_BLOCKS }),
    )
    : [];
  const found = may.map(({ one, gain }, at): [SeenBalance, SeenGain] => {
    const arrived = toUnits(sums[at], gain.decimals);
    return [one, { ...gain, arrived, ...own[at] ?? { taken: 0n, underway: false } }];
  });
  // Without nonces only a balance that stands still, while nothing came, shows that nothing left.
  const isMoved = ({ risen, arrived, taken, underway }: SeenGain) =>
    risen !== 0n || arrived !== 0n || taken !== 0n || underway;
  return new Map(found.filter(([{ nonce }, gain]) => nonce !== null || isMoved(gain)));
}

/**
 * Explains the gain of a balance since the last reading. False if the nodes contradict each other
 * on it, or the stored balance; that then stays as it is. So it does on chains without nonces where a node tells less than there
 * must be: what it left out would be a gain of later blocks, and nodes of Tron tell no earlier balance again.
 */
async function isExplained(
  pass: Pass,
  now: SeenBalance,
  { last, risen, arrived, taken, underway, ...gain }: SeenGain,
): Promise<boolean> {
  try {
    // What came would be hidden by as much that an order took, of which no block is known yet.
    if (underway && risen === 0n && arrived === 0n && taken === 0n) return false;
    // Own orders explain it, whatever an index has of them.
    if (last !== null && taken > 0n && risen + taken === arrived) return true;
    const spent = last === null ? null : await spentSince(pass, last, now, { arrived, taken });
    const gained = risen + (spent ?? 0n);
    if (gained < arrived && now.nonce === null) {
      if (await isDisputed(pass, now)) return false;
      return spent === null || await isWithoutSpending(pass, { ...gain, gained }, arrived);
    }
    // What an address held before it was watched is no gain.
    if (gained <= arrived || last === null) return true;
    if (gained <= arrived + await broughtByOrders(pass, gain)) return true;
    const disputed = await isDisputed(pass, now);
    const { since } = now.holding;
    return await explainGain(pass, { ...gain, gained }, { disputed, since });
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    // No node can tell the gain now: its blocks are searched one by one.
    await recordGain(pass, { ...gain, gained: risen > 0n ? risen : 1n }, error.message);
  }
  return true;
}

/**
 * Value that left since the last reading; null where no node can tell it now. A nonce that stands still proves that
 * nothing did. Without nonces a balance that stands still is taken for as much: where an index tells what left, only if
 * nothing came either, because what left otherwise hides as much that came and that the scan missed. An index may lack
 * what own orders took, and that is known.
 */
async function spentSince(
  { reader, height, derivedBalances }: Pass,
  last: OnchainBalanceRow,
  now: { holding: Holding; amount: bigint; nonce: number | null },
  { arrived, taken }: Pick<SeenGain, "arrived" | "taken">,
): Promise<bigint | null> {
  if (now.nonce !== null) {
    if (last.nonce === now.nonce) return 0n;
    return await reader.spent(now.holding, last.height, height);
  }
  const isAsked = derivedBalances && arrived !== 0n;
  if (BigInt(last.amount) === now.amount && !isAsked) return taken;
  try {
    const told = await reader.spent(now.holding, last.height, height);
    return told > taken ? told : taken;
  } catch (error) {
    if (error instanceof ChainError) return null;
    throw error;
  }
}

/** Whether nodes contradict a balance. Too few answers are no contradiction. */
async function isDisputed(
  { chain, height }: Pass,
  { holding, amount }: { holding: Holding; amount: bigint },
): Promise<boolean> {
  try {
    return await chain.balance(holding, height) !== amount;
  } catch (error) {
    if (error instanceof ChainError) return error.fault === "refused";
    throw error;
  }
}

async function keep(
  context: WorkerContext,
  { place, height }: Pick<BalanceScan, "place" | "height">,
  rows: readonly Omit<OnchainBalanceRow, "height">[],
): Promise<void> {
  if (rows.length === 0) return;
  await context.step((tx) =>
    upsertOnchainBalances(tx, place, { height, at: context.actor.at }, rows)
  );
}

/**
 * Reads the balances of the realm's own tokens, one token at a time: third parties wrote some of
 * their contracts, and one that does not answer must not hide the others.
 */
async function refreshKept(pass: Pass, targets: readonly BalanceTarget[]): Promise<void> {
  const { context, place } = pass;
  const silent: SilentToken[] = [];
  for (const { address: ramp, contract, symbol } of pass.kept) {
    const others = targets.filter((one) => one.asset === symbol);
    const wanted = [{ address: ramp, since: null }, ...others]
      .map(({ address, since }) => ({ address, contract, since, booked: true }));
    try {
      await refresh(pass, wanted);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (!(error instanceof SilentTokenError) && error.fault !== "refused") throw error;
      silent.push({ symbol, error });
    }
  }
  logSilentTokens(context, place, silent);
}
