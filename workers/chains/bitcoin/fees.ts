/**
 * Fee rates: the node's estimates for 12, 6 and 2 blocks, at least its mempool's minimum and at most our
 * cap. Rates are base units per 1000 virtual bytes.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type Speed, SPEEDS } from "../../../domain/speeds.ts";
import type { Fee } from "../outgoing.ts";
import { areApart, reachedBy } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type { Contract } from "../observations.ts";
import { provenRate } from "./block_rates.ts";
import type { CoinChain } from "./context.ts";
import type { CoinTable } from "./networks.ts";
import { isMissingMethod, satoshi } from "./node_answers.ts";
import { dustOf } from "./scripts.ts";
import { frameWeight, inputWeight, outputWeight, priceOf } from "./size.ts";

/** Fee rates that a node takes now. */
export interface Rates {
  /** By speed, in ascending order. */
  readonly bySpeed: Readonly<Record<Speed, bigint>>;
  /** Rate that a replacement must add for its own size. */
  readonly step: bigint;
}

/** Blocks within which a payment should be mined. */
const TARGETS: Readonly<Record<Speed, number>> = { slow: 12, medium: 6, fast: 2 };
/** Script of a payment whose receiver is not known yet. */
const TYPICAL = `76a914${"00".repeat(20)}88ac`;

/** Prices a typical payment at each speed. */
export async function quote(
  chain: CoinChain,
  contract: Contract,
): Promise<Record<Speed, Fee>> {
  if (contract !== null) throw new ChainError("unsupported", "coin chains have no tokens");
  const { bySpeed } = await agreedRates(chain);
  const { rateMax } = chain.table;
  // A quote is never above the highest possible bid, whatever a node's mempool demands.
  const quoted = (rate: bigint) => rate < rateMax ? rate : rateMax;
  const fee = (speed: Speed) => feeAt(chain.table, quoted(bySpeed[speed]), [TYPICAL]);
  return { slow: fee("slow"), medium: fee("medium"), fast: fee("fast") };
}

/** Turns a rate into a fee, for payments to scripts of which the longest stands for all. */
export function feeAt(table: CoinTable, rate: bigint, scripts: readonly string[]): Fee {
  const change = table.witness ? `0014${"00".repeat(20)}` : TYPICAL;
  const longest = scripts.reduce((most, one) => Math.max(most, outputWeight(one)), 0);
  const dusts = scripts.map((script) => dustOf(table, script));
  return {
    contract: null,
    // Room for counts of three bytes each.
    base: priceOf(rate, frameWeight(table, 253, 253) + outputWeight(change)),
    perInput: priceOf(rate, inputWeight(table)),
    perPayment: priceOf(rate, longest),
    least: dusts.reduce((most, one) => one > most ? one : most, 1n),
  };
}

/** A bid is at most this many times the rate of the next blocks, or of a node without estimates. */
const MARKET_FACTOR = 4n;

/** The highest rate that any replacement may bid in the present market. */
export function ceilingOf(table: CoinTable, { bySpeed }: Rates): bigint {
  const ceiling = MARKET_FACTOR * largest([bySpeed.fast, table.fallback.fast]);
  return ceiling < table.rateMax ? ceiling : table.rateMax;
}

/** Rates of nodes that follow the same chain are seldom this many times apart. */
const APART = 2n;

/**
 * Asks for the rates that as many nodes as the quorum reach: a node that reports too much raises no
 * price. Where more than need not agree tell far more than that, the newest blocks decide, as far as the highest goes: of
 * two nodes one that reports too little would else have payments wait for ever.
 */
export async function agreedRates(chain: CoinChain): Promise<Rates> {
  const { nodes, table } = chain;
  const { heard } = await nodes.hear((peer) => readRates(table, peer));
  const told = (figure: (rates: Rates) => bigint) => heard.map(({ answer }) => figure(answer));
  const reached = (figure: (rates: Rates) => bigint) => reachedBy(told(figure), nodes.quorum);
  const isApart = SPEEDS.some((speed) =>
    areApart(told(({ bySpeed }) => bySpeed[speed]), nodes.quorum, APART)
  );
  const proven = isApart ? await provenRate(chain) : null;
  if (isApart) {
    const names = heard.map(({ peer }) => peer.name).join(", ");
    nodes.report(`nodes tell rates of fees far apart (asked: ${names})`);
  }
  const rate = (speed: Speed) => {
    const figure = (rates: Rates) => rates.bySpeed[speed];
    return largest([reached(figure), least(proven ?? 0n, largest(told(figure)))]);
  };
  return {
    bySpeed: { slow: rate("slow"), medium: rate("medium"), fast: rate("fast") },
    // Of two nodes one that tells too small a step would have replacements refused by the other.
    step: largest([reached(stepOf), least(largest(told(stepOf)), table.rateMin)]),
  };
}

/** Asks a node for its rates. */
async function readRates(table: CoinTable, peer: Peer): Promise<Rates> {
  const [pool, network, ...estimates] = await peer.batch([
    { method: "getmempoolinfo", params: [] },
    { method: "getnetworkinfo", params: [] },
    ...SPEEDS.map((speed) => ({ method: "estimatesmartfee", params: [TARGETS[speed]] })),
  ]);
  const taken = [
    ratesIn(pool, ["mempoolminfee", "minrelaytxfee"]),
    ratesIn(network, ["relayfee"]),
  ].flat();
  if (taken.length === 0) {
    throw new ChainError("unavailable", `${peer.name} reports no minimum fee`);
  }
  const floor = largest([table.rateMin, ...taken]);
  const step = largest([1n, ...ratesIn(network, ["incrementalfee"])]);
  const bySpeed = { slow: floor, medium: floor, fast: floor };
  let last = floor;
  for (const [at, speed] of SPEEDS.entries()) {
    const told = await estimated(peer, estimates[at], TARGETS[speed]) ?? table.fallback[speed];
    // The cap limits estimates; where the mempool demands more, the plan refuses.
    const capped = told > table.rateMax ? table.rateMax : told;
    bySpeed[speed] = last = largest([last, capped]);
  }
  return { bySpeed, step };
}

function ratesIn(answer: unknown, names: readonly string[]): bigint[] {
  if (answer instanceof RpcError) {
    if (isMissingMethod(answer)) return [];
    throw answer;
  }
  const fields = readRecord(answer, "a state of the node");
  return names.flatMap((name) => fields[name] === undefined ? [] : [satoshi(fields[name])]);
}

/** Null where the node has no estimate. */
async function estimated(peer: Peer, answer: unknown, target: number): Promise<bigint | null> {
  if (answer instanceof RpcError) {
    return isMissingMethod(answer) ? await estimatedSimply(peer, target) : null;
  }
  const fields = readRecord(answer, "an estimate");
  return rateOf(fields.feerate ?? fields.fee);
}

/** Asks by the older method, the only one of some nodes; the newest Bitcoin Cash nodes take no target. */
async function estimatedSimply(peer: Peer, target: number): Promise<bigint | null> {
  for (const params of [[target], []]) {
    const [answer] = await peer.batch([{ method: "estimatefee", params }]);
    if (!(answer instanceof RpcError)) return rateOf(answer);
  }
  return null;
}

/** Reads a rate; a node without an estimate answers -1 or nothing. */
function rateOf(answer: unknown): bigint | null {
  if (answer === undefined || `${typeof answer === "object" ? "" : answer}`.startsWith("-")) {
    return null;
  }
  const rate = satoshi(answer);
  return rate > 0n ? rate : null;
}

function stepOf({ step }: Rates): bigint {
  return step;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function largest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, one) => one > most ? one : most);
}
