/**
 * Gas prices at three speeds, from the chain's own nodes: there is no fee oracle to depend on.
 * Prices are wei per gas, or base units of a fee token per gas on Celo.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { type Speed, SPEEDS } from "../../../domain/speeds.ts";
import type { Fee } from "../outgoing.ts";
import { areApart, reachedBy, type Witness } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type { Contract } from "../observations.ts";
import { provenBaseFee } from "./base_fee.ts";
import type { Evm } from "./context.ts";
import { readAddresses } from "./erc20.ts";
import { big, bytes } from "./node_answers.ts";

/** The bid per unit of gas. */
export interface GasPrice {
  /** The likely price, if the next blocks are like the last. */
  readonly likely: bigint;
  /** The most to be paid; the whole of it is paid where the chain burns nothing. */
  readonly max: bigint;
  /** The miner's share. */
  readonly tip: bigint;
  /** Form of the bid. */
  readonly bids: "1559" | "legacy";
}

/** Gas of a plain payment of coins. */
export const GAS_NATIVE = 21_000n;
/** Gas of a token transfer to somebody who never had that token, with a margin. */
const GAS_TOKEN = 75_000n;
/** Extra gas of a fee that is paid in a token (CIP-64). */
export const GAS_FEE_TOKEN = 50_000n;

const BLOCKS = "0x14";
const PERCENTILES: Readonly<Record<Speed, number>> = { slow: 30, medium: 50, fast: 85 };
/** Per cent of the node's own price, on chains with one price only. */
const LEGACY: Readonly<Record<Speed, bigint>> = { slow: 100n, medium: 125n, fast: 150n };
const GET_CURRENCIES = "0x61c661de";

/** A bid is at most this many times the likely price of the next blocks. */
const MARKET_FACTOR = 4n;

/** Prices a typical payment at each speed. */
export async function quote(evm: Evm, contract: Contract): Promise<Record<Speed, Fee>> {
  const feeToken = await agreedFeeToken(evm, contract);
  const prices = await agreedPrices(evm, feeToken);
  const gas = (contract === null ? GAS_NATIVE : GAS_TOKEN) + (feeToken ? GAS_FEE_TOKEN : 0n);
  return bySpeed((speed) => feeFor(feeToken, gas * quoted(evm, prices[speed], feeToken)));
}

/** A quote is never above the highest possible bid. */
function quoted(evm: Evm, { likely }: GasPrice, feeToken: Contract): bigint {
  const { gasPriceMax } = evm.table;
  return feeToken === null && likely > gasPriceMax ? gasPriceMax : likely;
}

/** Prices of nodes that follow the same chain are not this many times apart. */
const APART = 2n;

/**
 * Asks for the prices that as many nodes as the quorum reach: a node that reports too much raises no
 * price. Where more than need not agree tell far more than that, the newest block decides, as far as the highest goes: of
 * two nodes one that reports too little would else have payments wait for ever.
 */
export async function agreedPrices(
  evm: Evm,
  feeToken: Contract,
): Promise<Record<Speed, GasPrice>> {
  const { quorum } = evm.nodes;
  const { heard } = await evm.nodes.hear((peer) => gasPrices(evm, peer, feeToken));
  const told = (speed: Speed, figure: "likely" | "max" | "tip") =>
    heard.map(({ answer }) => answer[speed][figure]);
  const isApart = SPEEDS.some((speed) => areApart(told(speed, "likely"), quorum, APART));
  const base = isApart ? await arbitrate(evm, heard, feeToken) : null;
  return bySpeed((speed) => {
    const figure = (name: "likely" | "max", proven: bigint | null) => {
      const reached = reachedBy(told(speed, name), quorum);
      const highest = told(speed, name).reduce(largest);
      return proven === null ? reached : largest(reached, proven < highest ? proven : highest);
    };
    const least = base === null ? null : pricedBy(base, evm.table.tipMin);
    const [likely, max] = [
      figure("likely", least?.likely ?? null),
      figure("max", least?.max ?? null),
    ];
    const tip = reachedBy(told(speed, "tip"), quorum);
    return { likely, max, tip: tip < max ? tip : max, bids: heard[0].answer[speed].bids };
  });
}

/** Reports nodes whose prices lie far apart, and gives the base fee that a block proves, where one does. */
async function arbitrate(
  evm: Evm,
  heard: readonly { readonly peer: Witness }[],
  feeToken: Contract,
): Promise<bigint | null> {
  const names = heard.map(({ peer }) => peer.name).join(", ");
  evm.nodes.report(`nodes tell prices of gas far apart (asked: ${names})`);
  return feeToken === null && evm.table.bids === "1559" ? await provenBaseFee(evm) : null;
}

function pricedBy(base: bigint, bid: bigint): Pick<GasPrice, "likely" | "max"> {
  return { likely: base + base / 8n + bid, max: 2n * base + bid };
}

/** Makes a fee that does not depend on the number of coins. */
export function feeFor(contract: Contract, amount: bigint): Fee {
  return { contract, base: amount, perInput: 0n, perPayment: 0n, least: 1n };
}

/**
 * Gives the token that pays a payment's fee: the token of the payment where the chain and as many of its
 * nodes as the quorum take it, else null, the coin.
 */
export async function agreedFeeToken(evm: Evm, contract: Contract): Promise<Contract> {
  const { feeTokens, feeDirectory } = evm.table;
  if (contract === null || feeDirectory === null) return null;
  if (!feeTokens.includes(contract.toLowerCase())) return null;
  return await evm.nodes.agree(
    (peer) => feeTokenFor(evm, peer, contract),
    String,
    `whether fees are paid in ${contract}`,
  );
}

async function feeTokenFor(evm: Evm, peer: Peer, contract: string): Promise<Contract> {
  try {
    const call = { to: evm.table.feeDirectory, data: GET_CURRENCIES };
    const listed = readAddresses(bytes(await peer.call("eth_call", [call, "latest"])));
    return listed.includes(contract.toLowerCase()) ? contract : null;
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}

/** Asks for the price of gas at each speed. */
async function gasPrices(
  evm: Evm,
  peer: Peer,
  feeToken: Contract,
): Promise<Record<Speed, GasPrice>> {
  if (feeToken !== null) return await tokenPrices(peer, feeToken);
  if (evm.table.bids === "legacy") return await legacyPrices(evm, peer);
  const asked = [BLOCKS, "latest", SPEEDS.map((speed) => PERCENTILES[speed])];
  const history = readRecord(await peer.call("eth_feeHistory", asked), "a fee history");
  const bases = readList(history.baseFeePerGas).map((base) => big(base, "a base fee"));
  const rewards = readList(history.reward ?? []).map((row) =>
    readList(row).map((tip) => big(tip, "a tip"))
  );
  // The last item is the base fee of the next block.
  const base = bases.at(-1);
  if (base === undefined) throw new ChainError("unavailable", "the node reported no base fee");
  let tip = evm.table.tipMin;
  const tips = SPEEDS.map((_, column) => {
    tip = largest(tip, typicalTip(rewards.map((row) => row[column] ?? 0n)));
    return tip;
  });
  return bySpeed((speed) => {
    const bid = tips[SPEEDS.indexOf(speed)];
    return { ...pricedBy(base, bid), tip: bid, bids: "1559" };
  });
}

async function legacyPrices({ table }: Evm, peer: Peer): Promise<Record<Speed, GasPrice>> {
  const price = largest(table.tipMin, big(await peer.call("eth_gasPrice", []), "a gas price"));
  return bySpeed((speed) => {
    const bid = (price * LEGACY[speed]) / 100n;
    return { likely: bid, max: bid, tip: bid, bids: "legacy" };
  });
}

/**
 * The highest bid per gas in the present market; the cap of the chain's table holds besides. Where gas
 * is nearly free (`gasPriceCalm`), the market price says little, and bids may reach that price.
 */
export function ceilingOf(
  evm: Evm,
  prices: Readonly<Record<Speed, GasPrice>>,
  feeToken: Contract,
): bigint {
  const market = MARKET_FACTOR * largest(prices.fast.likely, prices.medium.likely);
  const ceiling = feeToken === null ? largest(market, evm.table.gasPriceCalm) : market;
  return ceiling < evm.table.gasPriceMax ? ceiling : evm.table.gasPriceMax;
}

/** Celo's nodes quote in every fee token that they take. */
async function tokenPrices(peer: Peer, feeToken: string): Promise<Record<Speed, GasPrice>> {
  const [price, tip] = allOf(
    await peer.batch([
      { method: "eth_gasPrice", params: [feeToken] },
      { method: "eth_maxPriorityFeePerGas", params: [feeToken] },
    ]),
  ).map((answer) => big(answer, "a gas price"));
  return bySpeed((speed) => {
    const bid = (price * LEGACY[speed]) / 100n;
    return { likely: bid, max: 2n * bid, tip: largest(tip, 1n), bids: "1559" };
  });
}

function bySpeed<T>(make: (speed: Speed) => T): Record<Speed, T> {
  return { slow: make("slow"), medium: make("medium"), fast: make("fast") };
}

/**
 * Typical tip of recent blocks. Empty blocks say nothing, but where most are empty a place costs
 * nothing: one generous payment must not set the price of all later ones.
 */
function typicalTip(tips: readonly bigint[]): bigint {
  return median(tips) === 0n ? 0n : median(tips.filter((tip) => tip > 0n));
}

function median(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor(sorted.length / 2)] ?? 0n;
}

/** Picks the larger of two amounts. */
export function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
