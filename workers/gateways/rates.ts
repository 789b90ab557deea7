/**
 * The price gateway: reads prices of coins in currencies in the format of CoinGecko's `/simple/price`. An
 * answer may take ten seconds and a megabyte; every field but prices is ignored.
 * @module
 */
import { isDigits, parseJson } from "../../domain/json.ts";
import { priceOf } from "../../domain/currencies/rates.ts";

/** A price that was found. */
export interface Price {
  /** Asset code. */
  base: string;
  /** Accounting currency. */
  currency: string;
  /** The price of one unit of the base, as a decimal. */
  rate: string;
}

/** What a source answers. */
export interface Prices {
  prices: Price[];
  /** Those that the others of the answer contradict, which are not taken. */
  contradicted: Price[];
}

/** A source of prices. */
export interface RatesGateway {
  /**
   * Asks for all prices.
   *
   * @param at milliseconds since 1970, by which prices are too old: the database's time, as a process's clock may be wrong
   * @throws {Error} when there is no usable answer
   */
  fetchPrices(signal: AbortSignal, at: number): Promise<Prices>;
}

const TIMEOUT_MS = 10_000;
const SIZE_MAX = 1024 * 1024;
/** A price that the source itself has had for longer is none: its coin is not traded there any more, or it stands still. */
const AGE_MAX_S = 1800;

/** Asset codes by the name of the coin at the source. A bridged or pegged coin has the price of its original. */
const COINS: Readonly<Record<string, readonly string[]>> = {
  "bitcoin": ["BTC", "BBTC"],
  "litecoin": ["LTC", "BLTC"],
  "bitcoin-cash": ["BCH", "BBCH"],
  "dogecoin": ["DOGE"],
  "ethereum": ["ETH", "BETH"],
  "matic-network": ["MATIC", "MATIC_ETH"],
  "celo": ["CELO"],
  "binancecoin": ["BSC", "WBNB"],
  "tron": ["TRON"],
  "usd-coin": ["USDC", "USDC_MATIC", "USDC_BSC"],
  "tether": ["USDT", "USDT_MATIC", "USDT_TRON"],
  "binance-usd": ["BUSD", "BUSD_BSC"],
  "paxos-standard": ["PAX"],
  "pax-gold": ["PAXG"],
  "paypal-usd": ["PYUSD_ETH", "PYUSD_SOL"],
  "celo-dollar": ["CUSD"],
  "celo-euro": ["CEUR"],
  "wrapped-bitcoin": ["WBTC"],
  "the-sandbox": ["SAND"],
  "basic-attention-token": ["BAT"],
  "maker": ["MKR"],
  "chainlink": ["LINK"],
  "uniswap": ["UNI"],
  "leo-token": ["LEO"],
  "revv": ["REVV"],
  "pancakeswap-token": ["CAKE"],
  "polkadot": ["BDOT"],
  "ripple": ["BXRP"],
};

const CURRENCIES = "usd eur gbp aed ars aud bdt bhd bmd brl cad chf clp cny czk dkk gel hkd huf " +
  "idr ils inr jpy krw kwd lkr mmk mxn myr ngn nok nzd php pkr pln rub sar sek sgd thb try twd " +
  "uah vef vnd zar xdr xag xau btc eth ltc bch";

/** Prepares the source at an address such as `https://api.coingecko.com/api/v3`. */
export function openRatesGateway(url: string): RatesGateway {
  const ids = Object.keys(COINS).join(",");
  const currencies = CURRENCIES.replaceAll(" ", ",");
  const query = new URLSearchParams({
    ...{ ids, vs_currencies: currencies, precision: "full", include_last_updated_at: "true" },
  });
  return {
    async fetchPrices(signal, at) {
      const response = await fetch(`${url}/simple/price?${query}`, {
        headers: { accept: "application/json" },
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`the price source answered ${response.status}`);
      }
      return pricesIn(parseJson(await readText(response)), at / 1000);
    },
  };
}

/** A price as the source tells it, by its names. */
interface Told {
  coin: string;
  currency: string;
  /** A decimal. */
  rate: string;
}

/** Reads the prices of an answer; ignores everything else. @param nowS seconds since 1970 */
function pricesIn(answer: unknown, nowS: number): Prices {
  const told: Told[] = [];
  for (const coin of Object.keys(COINS)) {
    const row = member(answer, coin);
    if (isOld(member(row, "last_updated_at"), nowS)) continue;
    for (const currency of CURRENCIES.split(" ")) {
      const rate = priceOf(member(row, currency));
      if (rate !== null) told.push({ coin, currency, rate });
    }
  }
  if (told.length === 0) throw new Error("the price source named no price that is fresh");
  const wrong = contradicted(told);
  const prices = byAsset(told.filter((one) => !wrong.has(one)));
  return { prices, contradicted: byAsset([...wrong]) };
}

/** Prices of coins as prices of the assets that have them. */
function byAsset(told: readonly Told[]): Price[] {
  return told.flatMap(({ coin, currency, rate }) => {
    const code = currency.toUpperCase();
    return COINS[coin].filter((base) => base !== code).map((base) => ({
      ...{ base, currency: code, rate },
    }));
  });
}

/** So many prices at least, and how far one may be from what the others say together. */
const COMPARED_MIN = 3;
const APART = 10;

/**
 * Finds prices that the others of the same answer contradict: the coins agree on what a currency is worth, and the
 * currencies on what a coin is. A first price is compared with no earlier one.
 */
function contradicted(told: readonly Told[]): Set<Told> {
  const dollars = new Map(
    told.filter(({ currency }) => currency === "usd").map((one) => [one.coin, nearly(one)]),
  );
  const compared = told.filter(({ coin }) => dollars.has(coin));
  const units = middles(
    compared,
    "currency",
    (one) => nearly(one) / dollars.get(one.coin)!,
  );
  const inUnits = (one: Told) => nearly(one) / units.get(one.currency)!;
  const known = compared.filter(({ currency }) => units.has(currency));
  const worths = middles(known, "coin", inUnits);
  return new Set(known.filter((one) => {
    const apart = inUnits(one) / (worths.get(one.coin) ?? inUnits(one));
    return !(apart < APART && apart * APART > 1);
  }));
}

/** About how much a price is, to be compared. */
function nearly({ rate }: Told): number {
  // deno-lint-ignore house/money -- only whether two are ten times apart is asked
  return Number(rate);
}

/** The median of a figure of those with the same coin or currency, where there are enough. */
function middles(
  told: readonly Told[],
  by: "coin" | "currency",
  figure: (one: Told) => number,
): Map<string, number> {
  return new Map([...Map.groupBy(told, (one) => one[by])].flatMap(([name, same]) => {
    if (same.length < COMPARED_MIN) return [];
    const figures = same.map(figure).sort((a, b) => a - b);
    return [[name, figures[figures.length >> 1]] as const];
  }));
}

/** Whether the source has had a price for too long; a source that does not say so is believed. */
function isOld(updatedAt: unknown, nowS: number): boolean {
  const since = Number(isDigits(updatedAt) ? updatedAt.digits : updatedAt ?? NaN);
  return nowS - since > AGE_MAX_S;
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) { // leaving the loop cancels the rest
    size += chunk.byteLength;
    if (size > SIZE_MAX) {
      throw new Error("the answer of the price source is larger than a megabyte");
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
