/** Searches of blocks for what explains a gain, and what known transfers explain of it. @module */
import { deleteGain, type GainRow, upsertGain } from "../../db/accounts/onchain_balances.ts";
import { sumArrived } from "../../db/deposits/deposit_proofs.ts";
import { reading } from "../../db/transaction.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import { toUnits } from "../../domain/money.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { WatchList } from "../chains/observations.ts";
import type { WorkerContext } from "../worker_context.ts";

/** The network whose gains are explained, and the node that is asked first. */
export interface GainWork {
  context: WorkerContext;
  place: ChainNetwork;
  watch: WatchList;
  /** See `Traits.derivedBalances`. */
  derivedBalances: boolean;
  reader: ReturnType<Chain["through"]>;
  /** As many nodes as the quorum, the one that is asked first among them. */
  readers: readonly ReturnType<Chain["through"]>[];
  recheck: Chain["recheck"];
  /** The scale of a token that is known, or of the coin. */
  decimals(contract: string | null): number | null;
  /** The requests that are left to this pass. */
  budget: {
    blocks: number;
    halvings: number;
    /**
     * Blocks that are searched one by one where nodes do not tell old balances, of all gains together. Anybody may link
     * addresses whose gains nobody can explain: these do not use up what own ones need.
     */
    onward: { own: number; linked: number };
    /** Blocks of which the rewards are read, of all gains together. */
    rewarded: number;
  };
}

/** A balance that rose in the blocks above `above` up to `height`; base units. */
export interface Gain {
  address: string;
  contract: string | null;
  decimals: number;
  above: number;
  height: number;
  gained: bigint;
}

/** An unexplained part of a gain, with the reason. */
export interface Rest {
  above: number;
  height: number;
  gained: bigint;
  error: string;
  /** Whether what came without a transaction may be part of it; balances that an index tells leave it out. */
  rewarded?: boolean;
}

/** By how much a gain is recorded as more than what is known where nodes do not tell how much more it may be. */
export const UNTOLD = 1n;

/** Adds up the known transfers in the blocks of a gain, in base units. */
export async function arrivedIn(
  { context, place }: GainWork,
  { address, contract, decimals, above, height }: Omit<Gain, "gained">,
): Promise<bigint> {
  const of = [{ address, contract, from: above + 1, to: height }];
  const [sum] = await reading(context.pool, (db) => sumArrived(db, place, of));
  return toUnits(sum, decimals);
}

/** Searches one block and records its transfers. Gives their sum for the address. */
export async function searchAt(
  { context, place, watch, reader }: GainWork,
  { address, contract }: Gain,
  height: number,
  enough: bigint,
): Promise<bigint> {
  const contracts = new Set(contract === null ? [] : [contract]);
  const only = { ...watch, addresses: new Set([address]), contracts };
  const transfers = await reader.search({ height }, only, contract === null ? enough : 0n);
  const seen = { transfers, coins: false };
  await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
  return transfers.filter((one) => one.to === address && sameContract(one.contract, contract))
    .reduce((sum, { amount }) => sum + amount, 0n);
}

/**
 * Adds up what came without a transaction in the blocks of a gain: the least that nodes tell, because more would hide a
 * payment; 0 where one does not tell.
 */
export async function leastRewards(
  { readers }: GainWork,
  { address, contract, above, height }: Omit<Gain, "gained">,
): Promise<bigint> {
  if (contract !== null) return 0n;
  const told = await Promise.all(readers.map(async ({ rewards }) => {
    try {
      return await rewards?.(address, above, height) ?? 0n;
    } catch (error) {
      if (error instanceof ChainError) return 0n;
      throw error;
    }
  }));
  const least = told.reduce((one, other) => other < one ? other : one);
  return least < 0n ? 0n : least;
}

/**
 * What a block paid out without a transaction.
 *
 * @param counts whether it is part of the gain: balances that an index tells leave it out
 */
export async function rewardedAt(
  work: GainWork,
  gain: Omit<Gain, "gained">,
  counts = !work.derivedBalances,
): Promise<bigint> {
  if (!counts) return 0n;
  const rewards = await leastRewards(work, gain);
  if (rewards > 0n) {
    const { address, height } = gain;
    work.context.log("info", "coins came without a transaction, and are no deposit", {
      ...{ ...work.place, address, height, units: `${rewards}` },
    });
  }
  return rewards;
}

/**
 * Searches every block of the range, some in each pass, where nodes no longer have old balances, or tell less of a gain
 * than there was. Once all blocks were read and show nothing, a gain is given up of which nothing but {@link UNTOLD} is
 * missing, if nodes tell none either. Any other stays.
 *
 * @param told what nodes tell of the gain now; null where they cannot
 */
export async function searchOn(
  work: GainWork,
  gain: Gain,
  row: GainRow,
  told: bigint | null,
): Promise<void> {
  const { context, place, budget: { onward } } = work;
  const whose = row.own ? "own" : "linked";
  if (onward[whose] <= 0) return; // due again in the next pass
  const to = Math.min(row.height, row.searched + onward[whose]);
  let [searched, found] = [row.searched, BigInt(row.found)];
  let error = "not searched to its end yet";
  let goesOn = true;
  try {
    while (searched < to && found < gain.gained) {
      const height = searched + 1;
      const block = { ...gain, above: searched, height };
      const rewards = await rewardedAt(work, block, row.rewarded || !work.derivedBalances);
      const left = gain.gained - found - rewards;
      found += rewards + (left > 0n ? await searchAt(work, gain, height, left) : 0n);
      searched++;
      onward[whose]--;
    }
  } catch (fault) {
    if (!(fault instanceof ChainError)) throw fault;
    error = fault.message.slice(0, 500);
    goesOn = false;
  }
  if (found >= gain.gained) return await context.step((tx) => deleteGain(tx, place, row));
  const ended = searched === row.height;
  const arrived = await arrivedIn(work, gain);
  if (ended && told === arrived && gain.gained === arrived + UNTOLD) {
    return await context.step((tx) => deleteGain(tx, place, row));
  }
  if (ended) error = "the nodes report no transfer that explains it";
  const { above, height, rewarded } = row;
  const rest = { above, height, gained: gain.gained, error, rewarded };
  const progress = ended ? {} : { searched, found: `${found}` };
  const next = { ...rowOf(context, gain, rest), ...progress };
  await context.step((tx) => upsertGain(tx, place, next, goesOn && !ended));
}

/** A gain as it is recorded. */
export function rowOf(
  context: WorkerContext,
  { address, contract }: Gain,
  rest: Rest,
): Parameters<typeof upsertGain>[2] {
  return {
    address,
    contract: contract ?? "",
    above: rest.above,
    height: rest.height,
    gained: `${rest.gained}`,
    searched: rest.above,
    found: "0",
    rewarded: rest.rewarded ?? false,
    error: rest.error,
    at: context.actor.at,
  };
}

function sameContract(one: string | null, other: string | null): boolean {
  return one?.toLowerCase() === other?.toLowerCase();
}
