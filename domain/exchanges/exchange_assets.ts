/**
 * Assets at exchanges: which currency on which network of an exchange is which asset of ours. What
 * an exchange says counts only where name, network and, if it tells it, contract fit.
 * @module
 */
import type { OfferedAsset } from "../../db/exchanges/external_ramps.ts";
import { allAssets, type Asset, type ChainId } from "../assets.ts";
import { decimalOf, scaleOf, trim } from "../money.ts";

/** A network on which an exchange moves a currency, as a gateway reads it. */
export interface ExchangeNetwork {
  network: string;
  contract: string | null;
  /** Whether the exchange takes and pays it. */
  takes: boolean;
  pays: boolean;
  minimum: string | null;
  fee: string | null;
  /** The least that it credits of what is paid to it. */
  leastTaken: string | null;
  /** The smallest step of an amount: `0.00000001` or `1e-8`. */
  step: string | null;
}

/** A currency of an exchange. */
export interface ExchangeCurrency {
  code: string;
  networks: readonly ExchangeNetwork[];
}

/** The names that exchanges have for the networks of our chains. */
const NETWORK_NAMES: Readonly<Record<ChainId, readonly string[]>> = {
  BITCOIN: ["BTC", "BITCOIN"],
  LITECOIN: ["LTC", "LITECOIN"],
  BITCOIN_CASH: ["BCH", "BITCOINCASH"],
  DOGECOIN: ["DOGE", "DOGECOIN"],
  ETHEREUM: ["ETH", "ERC20", "ETHEREUM"],
  POLYGON: ["MATIC", "POLYGON", "POL"],
  CELO: ["CELO"],
  BSC: ["BSC", "BEP20"],
  SOLANA: ["SOL", "SOLANA", "SPL"],
  TRON: ["TRX", "TRC20", "TRON"],
};
/** Other names of a coin than its symbol. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  MATIC: ["POL"],
};
const NAME = /^[A-Z0-9._-]{1,40}$/i;

/** Whether a name that an exchange gives a network is that of a chain. */
export function isNetworkOf(chain: ChainId, name: string): boolean {
  return NETWORK_NAMES[chain].includes(name.toUpperCase());
}

/**
 * Lists which assets of ours an exchange offers. One that fits several networks of a currency is
 * left out: which is meant cannot be told.
 */
export function offersOf(currencies: readonly ExchangeCurrency[]): OfferedAsset[] {
  const offers: OfferedAsset[] = [];
  for (const asset of allAssets()) {
    const names = [...asset.symbols, ...OTHER_NAMES[asset.code] ?? []];
    const fitting = currencies.filter(({ code }) => names.includes(code))
      .flatMap(({ code, networks }) =>
        networks.filter((one) => fits(asset, one)).map((one) => ({ code, one }))
      );
    if (fitting.length !== 1) continue;
    const [{ code, one }] = fitting;
    offers.push({
      asset: asset.code,
      currency: code,
      network: one.network,
      deposit: one.pays,
      withdraw: one.takes,
      minimum: amountOf(one.minimum),
      fee: amountOf(one.fee),
      withdraw_minimum: amountOf(one.leastTaken),
      decimals: Math.min(asset.decimals, stepDecimals(one.step) ?? asset.decimals),
    });
  }
  return offers;
}

function fits(asset: Asset, { network, contract }: ExchangeNetwork): boolean {
  if (!NAME.test(network) || !isNetworkOf(asset.chain, network)) return false;
  if (contract === null) return true;
  if (asset.contract === null) return false;
  return asset.contract.startsWith("0x")
    ? asset.contract.toLowerCase() === contract.toLowerCase()
    : asset.contract === contract;
}

const WITH_EXPONENT = /^(\d{1,40})(?:\.(\d{1,40}))?e([+-]?)(\d{1,2})$/i;

/**
 * The decimal that an exchange gives as an amount, digit for digit; null where it is none. Some write
 * small ones with an exponent.
 */
export function amountOf(text: string | null): string | null {
  return text === null ? null : decimalOf(withoutExponent(text));
}

function withoutExponent(text: string): string {
  const [, whole, fraction = "", sign, power] = WITH_EXPONENT.exec(text) ?? [];
  if (whole === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + (sign === "-" ? -Number(power) : Number(power));
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), "0")
    .padEnd(Math.max(point, 0), "0");
  const at = Math.max(point, 1);
  const plain = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  return padded.length > at ? `${plain}.${padded.slice(at)}` : plain;
}

function stepDecimals(step: string | null): number | null {
  const power = step === null ? null : /^1e-(\d{1,2})$/i.exec(step);
  if (power !== null) return Number(power[1]);
  return step !== null && /^(1|0\.0*1)0*$/.test(step) ? scaleOf(trim(step)) : null;
}
