/**
 * Fees of Solana, in lamports: 5000 for each signature, a priority fee by the bids of the last blocks, and
 * the rent of token accounts that receivers do not have yet.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import type { Peer } from "../node_pool.ts";
import { type Speed, SPEEDS } from "../../../domain/speeds.ts";
import type { Fee } from "../outgoing.ts";
import type { Contract } from "../observations.ts";
import { reachedBy } from "../quorum.ts";
import { readMint, tokenAccountRent } from "./accounts.ts";
import type { Solana } from "./context.ts";
import { WALLET_RENT } from "./networks.ts";
import { readUnits } from "./node_answers.ts";

/** Micro-lamports for each compute unit. */
export type Prices = Readonly<Record<Speed, bigint>>;

/** Lamports for each signature. */
const SIGNATURE_FEE = 5_000n;
/** The share of recent bids that a bid exceeds, in per cent. */
const PERCENTILES: Readonly<Record<Speed, number>> = { slow: 25, medium: 50, fast: 75 };
/** The least bid: blocks have room for most of the time, and nobody else bids then. */
const LEAST: Prices = { slow: 1_000n, medium: 10_000n, fast: 50_000n };
/**
 * The highest bid: with the units of a token payment it is 0.0004 SOL. A node that tells of higher bids, or
 * a rush, costs no more than that.
 */
const PRICE_MAX = 5_000_000n;
/** Beyond the bid, by chance: together with a limit by chance at most some hundred lamports. */
export const PRICE_SALT = 5_000;
/**
 * Compute units that a payment asks for at most. An estimate below its cost would let a request leave an address with
 * less than it must keep, and the payment would wait for coins for ever.
 */
const COMPUTE_COIN = 7_000;
const COMPUTE_TOKEN = 60_000;
const MICRO = 1_000_000n;

/**
 * Asks for bids at three speeds: those that as many nodes as the quorum reach, so that a node that
 * reports too much raises no price.
 *
 * @param accounts that the payment writes to: only bids for these compete with it
 */
export async function agreedPrices(
  { nodes }: Solana,
  accounts: readonly string[],
): Promise<Prices> {
  const { heard } = await nodes.hear((peer) => bidsOf(peer, accounts));
  let least = 0n;
  const price = (speed: Speed) => {
    const told = heard.map(({ answer }) => percentile(answer, PERCENTILES[speed]));
    const bid = largest(largest(reachedBy(told, nodes.quorum), LEAST[speed]), least);
    least = bid < PRICE_MAX ? bid : PRICE_MAX;
    return least;
  };
  const [slow, medium, fast] = SPEEDS.map(price);
  return { slow, medium, fast };
}

async function bidsOf(peer: Peer, accounts: readonly string[]): Promise<bigint[]> {
  const listed = readList(await peer.call("getRecentPrioritizationFees", [accounts]));
  return listed.map((one) => readUnits(readRecord(one, "a bid").prioritizationFee));
}

function percentile(bids: readonly bigint[], percent: number): bigint {
  if (bids.length === 0) return 0n;
  const sorted = bids.toSorted((one, other) => one < other ? -1 : one > other ? 1 : 0);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * percent / 100))];
}

/** The fee that the chain takes of a transaction that it includes, whether or not it succeeds. */
export function chainFee(of: { signatures: number; computeLimit: number; price: bigint }): bigint {
  const { signatures, computeLimit, price } = of;
  return SIGNATURE_FEE * BigInt(signatures) + (BigInt(computeLimit) * price + MICRO - 1n) / MICRO;
}

/** Makes a fee that does not depend on the number of coins. */
export function feeFor(contract: Contract, base: bigint, perPayment = 0n): Fee {
  const least = contract === null ? WALLET_RENT : 1n;
  return { contract: null, base, perInput: 0n, perPayment, least };
}

/**
 * Prices a typical payment at each speed. A token's includes the rent of the receiver's token account,
 * because nobody knows at the request whether the receiver has one.
 */
export async function quote(solana: Solana, contract: Contract): Promise<Record<Speed, Fee>> {
  const prices = await agreedPrices(solana, contract === null ? [] : [contract]);
  const rent = contract === null
    ? 0n
    : tokenAccountRent(await solana.nodes.ask((peer) => readMint(solana, peer, contract)));
  const computeLimit = contract === null ? COMPUTE_COIN : COMPUTE_TOKEN;
  const fee = (speed: Speed) => {
    const price = prices[speed] + BigInt(PRICE_SALT);
    return feeFor(contract, chainFee({ signatures: 1, computeLimit, price }), rent);
  };
  return { slow: fee("slow"), medium: fee("medium"), fast: fee("fast") };
}

function largest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
