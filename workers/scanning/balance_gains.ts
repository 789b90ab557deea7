/**
 * Explains balances that rose: by known transfers, else by searching the blocks in which they rose.
 * An unexplained gain is recorded, shown, and searched again ever more rarely; it delays nothing
 * else.
 * @module
 */
import {
  countLinkedGains,
  deleteGain,
  selectGains,
  upsertGain,
} from "../../db/accounts/onchain_balances.ts";
import { reading } from "../../db/transaction.ts";
import { ChainError } from "../chains/chain.ts";
import type { Holding } from "../chains/observations.ts";
import {
  arrivedIn,
  type Gain,
  type GainWork,
  leastRewards,
  type Rest,
  rewardedAt,
  rowOf,
  searchAt,
  searchOn,
  UNTOLD,
} from "./gain_searches.ts";
import { broughtByOrders } from "./own_moves.ts";
import { PERIOD } from "./second_scan.ts";

/** A gain as a node tells it. */
interface ToldGain {
  gain: Gain;
  reader: GainWork["reader"];
}

/** Most recorded gains that one pass searches again, of own addresses and of linked ones. */
const AGAIN_AT_ONCE = 4;
/** Why a gain is recorded that nodes do not tell. */
const LACKED = "the nodes tell an earlier balance as high as it is now, and no transfer";
/**
 * Gains of a linked address that are kept while none is explained; further ones are told in the log alone. Anybody may
 * link an address that gains without transactions in each block, as where a chain pays out its validators.
 */
const LINKED_GAINS_MAX = 100;
/** The same where an index tells balances: whole blocks are searched for each of them. */
const LINKED_LACKED_MAX = 10;
/** Blocks below the last reading of the balance that are searched too. */
const LOOKBACK = 100;
/**
 * Blocks for which a gain that an index may lack is looked for again before it is recorded: until then the second scan
 * finds most of them, and what is recorded is searched in whole blocks, which cost far more.
 */
const LACKED_BLOCKS_MAX = 3 * PERIOD;
/**
 * Blocks of a gain beyond which its rewards are not read at once, half an hour: one that has waited for so long is told, and
 * its rewards are found with the blocks that are searched for it.
 */
const REWARDS_SOUGHT_MAX = 4_096;
/**
 * Blocks whose rewards are read in each {@link PERIOD}; a reading begins while any is left. Anybody may link addresses that
 * are rewarded again and again: to read each block for each of them would use up what nodes grant.
 */
const REWARDED_BLOCKS = 1_024;

/**
 * The requests that one pass may make.
 *
 * @param last the height of the pass before
 */
export function gainBudget({ last, height }: { last: number; height: number }): GainWork["budget"] {
  const rewarded = Math.floor(last / PERIOD) < Math.floor(height / PERIOD) ? REWARDED_BLOCKS : 0;
  return { blocks: 16, halvings: 400, onward: { own: 48, linked: 16 }, rewarded };
}

/**
 * Explains a gain, or records the unexplained part. A gain on which nodes contradict each other is
 * searched and not recorded; so is one that an earlier balance contradicts which was worked out, for a limited time.
 *
 * @returns false if the gain must be looked for again from the same stored balance
 */
export async function explainGain(
  work: GainWork,
  given: Gain,
  { disputed, since }: { disputed: boolean; since: number | null },
): Promise<boolean> {
  const { gain, reader } = await asNodesTell(work, given, since ?? 0);
  const missing = given.gained - await arrivedIn(work, given);
  const before = await arrivedIn(work, gain);
  const rests = await restsOf(work, gain, reader);
  if (disputed) return false;
  const found = await arrivedIn(work, gain) - before;
  if (await isLackedByIndex(work, given, missing - found)) {
    if (isRecent(given)) return false;
    const told = await rewardsIn(work, given);
    if (told === null && since !== null) return false; // at an own address it is told at once
    const rewards = told ?? 0n;
    if (missing - found <= rewards) return true;
    const rest = { ...given, gained: given.gained - rewards, error: LACKED };
    await note(work, given, [{ ...rest, rewarded: rewards === 0n }]);
  } else if (rests.length > 0) await note(work, gain, rests);
  return true;
}

async function note(work: GainWork, gain: Gain, rests: readonly Rest[]): Promise<void> {
  const { context, place } = work;
  context.log("warn", "unexplained gain of a balance", {
    ...place,
    address: gain.address,
    contract: gain.contract,
    height: gain.height,
    error: rests[0].error,
  });
  if (await isToldEnough(work, gain)) return;
  await context.step(async (tx) => {
    for (const rest of rests) await upsertGain(tx, place, rowOf(context, gain, rest));
  });
}

/**
 * Tells whether an index may lack the transaction that a gain is of. Nodes then tell that the earlier balance was as high
 * as the newest one, while the stored one was read when it was the newest. They are asked for the blocks of the gain
 * alone: what is known of the blocks below would hide it.
 *
 * @param missing what no known transfer explains
 */
async function isLackedByIndex(work: GainWork, stored: Gain, missing: bigint): Promise<boolean> {
  if (!work.derivedBalances || missing <= 0n) return false;
  const told = await gainedNow(work, stored);
  return told !== null && told.gain.gained < stored.gained;
}

/**
 * Adds up what came without a transaction in the blocks of a gain: the least that as many nodes as the quorum tell, because
 * more would hide a payment; 0 where one does not tell. Null where no more
 * are read in this period.
 */
async function rewardsIn(work: GainWork, gain: Gain): Promise<bigint | null> {
  const { contract, above, height } = gain;
  if (contract !== null || height - above > REWARDS_SOUGHT_MAX) return 0n;
  if (work.budget.rewarded <= 0) return null;
  work.budget.rewarded -= height - above;
  return await leastRewards(work, gain);
}

/** Tells whether a gain that an index may lack is waited for, from the stored balance on. */
function isRecent({ above, height }: Gain): boolean {
  return height - above <= LACKED_BLOCKS_MAX;
}

/** Whether as many gains of a linked address are kept as may be. */
async function isToldEnough(
  { context, place, derivedBalances }: GainWork,
  { address, contract }: Gain,
): Promise<boolean> {
  const of = { address, contract: contract ?? "" };
  const told = await reading(context.pool, (db) => countLinkedGains(db, place, of));
  return told >= (derivedBalances ? LINKED_LACKED_MAX : LINKED_GAINS_MAX);
}

/**
 * Looks at a balance that rose by less than what came by known transfers, where no node contradicts it: the index lacks
 * what left, and what is missing of that hides as much that came.
 *
 * @returns false if it must be looked at again from the same stored balance
 */
export async function isWithoutSpending(
  work: GainWork,
  gain: Gain,
  arrived: bigint,
): Promise<boolean> {
  if (!work.derivedBalances) return true;
  if (isRecent(gain)) return false;
  await recordGain(
    work,
    { ...gain, gained: arrived + UNTOLD },
    "the nodes do not tell all that left",
  );
  return true;
}

/**
 * Reads a gain again. The earlier balance may come from a node that withheld a transfer; the
 * balance then rose earlier than it seems. Not before a height: what came to an address before it was linked is none.
 */
async function asNodesTell(work: GainWork, gain: Gain, since: number): Promise<ToldGain> {
  const wider = { ...gain, above: Math.min(gain.above, Math.max(since, gain.above - LOOKBACK)) };
  return await gainedNow(work, wider) ?? { gain, reader: work.reader };
}

/** Records a gain that could not be searched. */
export async function recordGain(work: GainWork, gain: Gain, error: string): Promise<void> {
  const { context, place } = work;
  if (await isToldEnough(work, gain)) return;
  const row = rowOf(context, gain, { ...gain, error: error.slice(0, 500) });
  await context.step((tx) => upsertGain(tx, place, row));
}

/** Searches recorded gains that are due again. */
export async function explainAgain(work: GainWork): Promise<void> {
  const { context, place } = work;
  const rows = await reading(context.pool, (db) => selectGains(db, place, AGAIN_AT_ONCE));
  for (const row of rows) {
    if (context.signal.aborted) return;
    const contract = row.contract === "" ? null : row.contract;
    const decimals = work.decimals(contract);
    const { address, above, height } = row;
    if (decimals === null) {
      const unknown = { ...row, error: "the token is not known any more", at: context.actor.at };
      await context.step((tx) => upsertGain(tx, place, unknown));
      continue;
    }
    const known = { address, contract, decimals, above, height, gained: BigInt(row.gained) };
    const told = await gainedNow(work, known);
    if (work.derivedBalances && told !== null && told.gain.gained < known.gained) {
      const isKnown = known.gained <= await arrivedIn(work, known);
      if (isKnown) await context.step((tx) => deleteGain(tx, place, row));
      else await searchOn(work, known, row, told.gain.gained);
      continue;
    }
    if (told === null && row.rewarded) {
      await searchOn(work, known, row, null); // an index, which leaves rewards out, would misplace them
      continue;
    }
    const { gain, reader } = told ?? { gain: known, reader: work.reader };
    const rests = await restsOf(work, gain, reader);
    const stuck = rests.length === 1 && height - above > 1 && rests[0].above === above &&
      rests[0].height === height;
    if (stuck) {
      await searchOn(work, gain, row, null);
      continue;
    }
    await context.step(async (tx) => {
      const same = rests.some((rest) => rest.height === height);
      if (!same) await deleteGain(tx, place, { ...row });
      for (const rest of rests) await upsertGain(tx, place, rowOf(context, gain, rest));
    });
  }
}

/**
 * Reads the gain again from as many nodes as the quorum. The largest counts: a single node must not
 * hide one. Null if none can tell it now.
 */
async function gainedNow({ readers }: GainWork, gain: Gain): Promise<ToldGain | null> {
  const told = await Promise.all(readers.map(async (reader) => {
    const gained = await gainedBy(reader, gain);
    return gained === null ? [] : [{ gain: { ...gain, gained }, reader }];
  }));
  return told.flat().sort((one, other) => one.gain.gained < other.gain.gained ? 1 : -1)[0] ?? null;
}

/** Reads the gain again from one node; null if it cannot tell it now. */
async function gainedBy(reader: GainWork["reader"], gain: Gain): Promise<bigint | null> {
  const holding = { address: gain.address, contract: gain.contract };
  try {
    const before = await amountAt(reader, holding, gain.above);
    const after = await amountAt(reader, holding, gain.height);
    return after - before + await reader.spent(holding, gain.above, gain.height);
  } catch (error) {
    if (error instanceof ChainError) return null;
    throw error;
  }
}

/**
 * Reads a balance at a height.
 *
 * @throws {ChainError} `unavailable` where the node has only a later one
 */
async function amountAt(
  reader: GainWork["reader"],
  holding: Holding,
  at: number,
): Promise<bigint> {
  const { amounts: [amount], height } = await reader.balances([holding], at);
  if (height === at) return amount;
  throw new ChainError("unavailable", `no node has the balance at block ${at} any more`);
}

/**
 * Halves the range down to the blocks in which the balance rose, and searches those. Where another
 * node may know a different block, the whole range is left to be searched again.
 */
async function restsOf(
  work: GainWork,
  gain: Gain,
  reader: GainWork["reader"],
): Promise<Rest[]> {
  const { context, budget } = work;
  const holding = { address: gain.address, contract: gain.contract };
  const balances = new Map<number, bigint>();
  async function balanceAt(height: number): Promise<bigint> {
    const known = balances.get(height) ?? await amountAt(reader, holding, height);
    balances.set(height, known);
    return known;
  }
  const rests: Rest[] = [];
  let doubted = false;
  async function explain(above: number, height: number, gained: bigint): Promise<void> {
    if (gained <= await arrivedIn(work, { ...gain, above, height })) return;
    const rest = (error: string) => void rests.push({ above, height, gained, error });
    if (context.signal.aborted || budget.halvings-- <= 0) return rest("not searched yet");
    try {
      if (height - above === 1) {
        const found = await arrivedIn(work, { ...gain, above, height });
        if (gained <= found + await broughtByOrders(work, { ...gain, above, height })) return;
        if (budget.blocks-- <= 0) return rest("not searched yet");
        const rewards = await rewardedAt(work, { ...gain, above, height });
        if (gained <= found + rewards) return;
        if (await searchAt(work, gain, height, gained - rewards) + rewards >= gained) return;
        doubted ||= await isDoubted(work, { ...gain, above, height, gained });
        return rest("the nodes report no transfer that explains it");
      }
      const middle = Math.floor((above + height) / 2);
      const first = await balanceAt(middle) - await balanceAt(above) +
        await reader.spent(holding, above, middle);
      // A half that lost value hides as much in the other.
      doubted ||= first < 0n || first > gained;
      await explain(above, middle, first);
      await explain(middle, height, gained - first);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      rest(error.message.slice(0, 500));
    }
  }
  await explain(gain.above, gain.height, gain.gained);
  if (!doubted || rests.length === 0) return rests;
  const { above, height, gained } = gain;
  return [{ above, height, gained, error: "the nodes contradict each other within these blocks" }];
}

/** Whether a node tells less of a gain. */
async function isDoubted({ readers }: GainWork, gain: Gain): Promise<boolean> {
  const told = await Promise.all(readers.map((reader) => gainedBy(reader, gain)));
  return told.some((one) => one !== null && one < gain.gained);
}
