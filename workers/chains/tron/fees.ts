/**
 * Prices on Tron. A transaction takes bandwidth for its bytes, and energy if it runs a contract; what the sender
 * has not staked for, and not free, is paid by burning TRX at prices that a committee sets. There is no bid: speed
 * cannot be bought.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Contract } from "../observations.ts";
import type { Fee } from "../outgoing.ts";
import { reachedBy } from "../quorum.ts";
import type { Speed } from "../../../domain/speeds.ts";
import { toHexAddress } from "./address_forms.ts";
import type { Tron } from "./context.ts";
import { BANDWIDTH_PRICE_MAX, ENERGY_PRICE_MAX, FIXED_PRICE_MAX } from "./networks.ts";
import { askRecord, units } from "./node_answers.ts";

/** Prices in sun. */
export interface Prices {
  /** Of a byte. */
  readonly bandwidth: bigint;
  /** Of a unit of energy. */
  readonly energy: bigint;
  /** Of the bandwidth of a payment that makes an account. */
  readonly accountBandwidth: bigint;
  /** Of the new account itself, whatever is staked. */
  readonly account: bigint;
}

/** What an account may use without paying. */
export interface Resources {
  /** Bytes: of its stake or of the free allowance, whichever is more. One of them pays alone. */
  readonly bandwidth: bigint;
  /** Bytes of its stake alone: the free ones do not pay for a new account. */
  readonly staked: bigint;
}

/** Bytes of a typical payment of TRX, and of a token. */
const BYTES_NATIVE = 280n;
const BYTES_TOKEN = 360n;
/** Energy of a token's transfer to somebody who never had it, as of USDT, with a margin. */
const ENERGY_TOKEN = 135_000n;
/** Ten-thousandths: a busy contract takes so much more energy. */
const WHOLE = 10_000n;
/** No factor above is believed; the committee's own limit is 34,000. */
const FACTOR_MAX = 100_000n;

/** Prices a payment at each speed: to a new account, and of a token to somebody who never had it. */
export async function quote(tron: Tron, contract: Contract): Promise<Record<Speed, Fee>> {
  const prices = await agreedPrices(tron);
  const fee = contract === null
    ? feeFor(larger(BYTES_NATIVE * prices.bandwidth, prices.accountBandwidth + prices.account))
    : feeFor(BYTES_TOKEN * prices.bandwidth + await tokenEnergy(tron, contract) * prices.energy);
  return { slow: fee, medium: fee, fast: fee };
}

/** Makes a fee in TRX. */
export function feeFor(amount: bigint): Fee {
  return { contract: null, base: amount, perInput: 0n, perPayment: 0n, least: 1n };
}

/**
 * Reads the prices that the quorum agrees on. They are the committee's, so honest nodes tell the same.
 *
 * @throws {ChainError} `unavailable` if too few agree, or if a price is beyond belief
 */
export async function agreedPrices({ nodes }: Tron): Promise<Prices> {
  return await nodes.agree(readPrices, keyOfPrices, "the prices of resources");
}

function keyOfPrices({ bandwidth, energy, accountBandwidth, account }: Prices): string {
  return [bandwidth, energy, accountBandwidth, account].join(" ");
}

async function readPrices(peer: Peer): Promise<Prices> {
  const answer = await askRecord(peer, "wallet/getchainparameters");
  const told = new Map(
    readList(answer.chainParameter).map((one) => {
      const { key, value } = readRecord(one, "a parameter");
      return [key, value];
    }),
  );
  const price = (key: string, most: bigint) => {
    if (!told.has(key)) throw new ChainError("unavailable", `${peer.name} does not tell ${key}`);
    const value = units(told.get(key), "a price");
    if (value <= most) return value;
    throw new ChainError("unavailable", `${peer.name} tells ${value} for ${key}, ${most} at most`);
  };
  return {
    bandwidth: price("getTransactionFee", BANDWIDTH_PRICE_MAX),
    energy: price("getEnergyFee", ENERGY_PRICE_MAX),
    accountBandwidth: price("getCreateAccountFee", FIXED_PRICE_MAX),
    account: price("getCreateNewAccountFeeInSystemContract", FIXED_PRICE_MAX),
  };
}

/** Reads what as many nodes as the quorum grant an account at least. */
export async function agreedResources({ nodes }: Tron, address: string): Promise<Resources> {
  const { heard } = await nodes.hear((peer) => readResources(peer, address));
  const reached = (kind: keyof Resources) =>
    heard.length < nodes.quorum
      ? 0n
      : reachedBy(heard.map(({ answer }) => answer[kind]), nodes.quorum);
  return { bandwidth: reached("bandwidth"), staked: reached("staked") };
}

async function readResources(peer: Peer, address: string): Promise<Resources> {
  const told = await askRecord(peer, "wallet/getaccountresource", { address });
  const left = (limit: string, used: string) => {
    const rest = units(told[limit], "a resource") - units(told[used], "a resource");
    return rest > 0n ? rest : 0n;
  };
  const staked = left("NetLimit", "NetUsed");
  return { bandwidth: larger(staked, left("freeNetLimit", "freeNetUsed")), staked };
}

/** Energy of a transfer of a token that nobody tried: a busy contract takes more. */
async function tokenEnergy(tron: Tron, contract: string): Promise<bigint> {
  const value = toHexAddress(tron.ethers, contract);
  const { heard } = await tron.nodes.hear(async (peer) => {
    const told = await askRecord(peer, "wallet/getcontractinfo", { value });
    const state = readRecord(told.contract_state ?? {}, "a contract's state");
    return units(state.energy_factor, "a factor");
  });
  const factor = reachedBy(heard.map(({ answer }) => answer), tron.nodes.quorum);
  return ENERGY_TOKEN * (WHOLE + (factor < FACTOR_MAX ? factor : FACTOR_MAX)) / WHOLE;
}

/** Picks the larger of two amounts. */
export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
