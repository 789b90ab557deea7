/**
 * Turns a draft and the offered coins into an unsigned transaction, exact to the last base unit:
 * its inputs equal its payments, its change and its fee. Pure; no node is asked.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Coin, Draft, Inputs, Payment, Plan, SendRequest } from "../outgoing.ts";
import type { Priced } from "./draft.ts";
import type { CoinTable } from "./networks.ts";
import { dustOf } from "./scripts.ts";
import {
  type Choice,
  selectAll,
  selectCoins,
  selectSmallest,
  type Wanted,
} from "./coin_selection.ts";
import { frameWeight, inputWeight, outputWeight, priceOf, vsizeOf } from "./size.ts";

/** Data of a plan for its signature; amounts are decimal text, because it is stored as JSON. */
export interface Body {
  /** Spent in this order. */
  readonly inputs: readonly {
    readonly input: string;
    readonly amount: string;
    /** Fee and virtual size of the unconfirmed transaction that made it, or null. */
    readonly parent: { readonly fee: string; readonly vsize: number } | null;
  }[];
  /** Locking script of all inputs. */
  readonly source: string;
  /** Paid in this order; the change is the last. */
  readonly outputs: readonly { readonly script: string; readonly amount: string }[];
  /** None where it was made elsewhere. */
  readonly locktime?: number;
}

/** A coin on offer, priced. */
interface Offer extends Choice {
  readonly coin: Coin;
}

/** Amounts of the outputs, except the change. */
type Amounts =
  | { readonly kind: "fixed"; readonly each: readonly bigint[]; readonly total: bigint }
  /** The only output gets all that the coins hold, less the fee. */
  | { readonly kind: "all" };

/** A transaction before its coins are chosen. */
interface Spend {
  readonly table: CoinTable;
  readonly priced: Priced;
  /** Base units per 1000 virtual bytes. */
  readonly rate: bigint;
  readonly amounts: Amounts;
  /** Scripts of the outputs, the change aside. */
  readonly scripts: readonly string[];
  /** The plan that it replaces. */
  readonly replaces: Plan | null;
  /** Coins of that plan; all of them are spent again. */
  readonly inherited: readonly Offer[];
  /** Further coins of the sender. */
  readonly offers: readonly Offer[];
}

/** A choice of coins, and the division of their value. */
interface Funding {
  readonly coins: readonly Offer[];
  /** To each output. */
  readonly amounts: readonly bigint[];
  /** Null where there is none. */
  readonly change: bigint | null;
  readonly fee: bigint;
}

/** Nodes relay transactions of up to 100 000 virtual bytes. */
const VSIZE_MAX = 95_000;

/** Makes a plan; with `replaces`, one that spends the same coins for a higher fee. */
export function planDraft(table: CoinTable, draft: Draft, inputs: Inputs, replaces?: Plan): Plan {
  if (replaces && !table.replaceable) {
    throw new ChainError("unsupported", `${table.id} replaces nothing; a child can pay more`);
  }
  const spend = spendOf(table, draft, inputs, replaces ?? null);
  const funding = spend.inherited.length > 0 ? fundReplacement(spend) : fundNew(spend);
  const { coins, change, fee, amounts } = funding;
  const { source, locktime } = spend.priced;
  const scripts = change === null ? spend.scripts : [...spend.scripts, source];
  const paid = change === null ? amounts : [...amounts, change];
  const vsize = vsizeOf(table, coins.length, scripts);
  const { order } = draft;
  assertSound(spend, funding, { order, paid, vsize });
  const body: Body = {
    ...{ source, locktime },
    inputs: coins.map(({ coin, input }) => ({
      input,
      amount: `${coin.amount}`,
      parent: coin.parent && { fee: `${coin.parent.fee}`, vsize: coin.parent.vsize },
    })),
    outputs: scripts.map((script, at) => ({ script, amount: `${paid[at]}` })),
  };
  return {
    order,
    inputs: coins.map(({ input }) => input),
    signers: [order.from],
    amounts: order.kind === "pay" ? amounts : [],
    outputs: order.kind === "pay" ? amounts.map((_, at) => at) : null,
    change: changeOf(order, funding),
    fee,
    ...{ feeContract: null, vsize, creates: null },
    body: JSON.stringify(body),
  };
}

function spendOf(table: CoinTable, draft: Draft, inputs: Inputs, replaces: Plan | null): Spend {
  const priced: Priced = JSON.parse(draft.body);
  const rate = BigInt(priced.rate);
  const { order } = draft;
  if (order.kind !== "pay" && replaces === null) throw refused("there is nothing to cancel");
  const inherited = replaces === null ? [] : inheritedFrom(replaces, order.from, priced.source);
  return {
    table,
    priced,
    rate,
    // A cancellation returns everything to the sender.
    amounts: order.kind === "pay" ? amountsOf(order.payments) : { kind: "all" },
    scripts: order.kind === "pay" ? priced.scripts : [priced.source],
    replaces,
    inherited,
    offers: offersOf({ table, rate, from: order.from, coins: inputs.coins ?? [] }, inherited),
  };
}

function amountsOf(payments: readonly Payment[]): Amounts {
  const each = payments.flatMap(({ amount }) => amount === "all" ? [] : [amount]);
  if (each.length < payments.length) {
    if (payments.length > 1) throw refused("everything can go to one receiver only");
    return { kind: "all" };
  }
  return { kind: "fixed", each, total: each.reduce((sum, amount) => sum + amount, 0n) };
}

function changeOf(order: SendRequest, { amounts, change }: Funding): Plan["change"] {
  const to = order.from;
  if (order.kind !== "pay") return { to, amount: amounts[0], index: 0 };
  return change === null ? null : { to, amount: change, index: amounts.length };
}

/** Gives the coins that the replaced plan spends; the replacement spends all of them again. */
function inheritedFrom(replaces: Plan, from: string, source: string): Offer[] {
  const prior: Body = JSON.parse(replaces.body);
  if (prior.source !== source) throw refused("another sender's coins");
  return prior.inputs.map(({ input, amount, parent }) => {
    const [hash, index] = input.split(":");
    const coin: Coin = {
      hash,
      index: Number(index),
      address: from,
      amount: BigInt(amount),
      height: parent === null ? 0 : null,
      parent: parent && { fee: BigInt(parent.fee), vsize: parent.vsize },
    };
    return { input, coin, amount: coin.amount, worth: coin.amount };
  });
}

function offersOf(
  { table, rate, from, coins }: Pick<Spend, "table" | "rate"> & {
    readonly from: string;
    readonly coins: readonly Coin[];
  },
  inherited: readonly Offer[],
): Offer[] {
  const cost = priceOf(rate, inputWeight(table));
  const taken = new Set(inherited.map(({ input }) => input));
  const offers = new Map<string, Offer>();
  for (const coin of coins) {
    if (coin.address !== from) throw refused("a coin on offer is not the sender's");
    const input = `${coin.hash}:${coin.index}`;
    if (taken.has(input)) continue;
    const worth = coin.amount - cost - shortOf(rate, coin);
    offers.set(input, { input, coin, amount: coin.amount, worth });
  }
  return [...offers.values()];
}

/** Computes the shortfall of the unconfirmed transaction that made a coin, at the intended rate. */
function shortOf(rate: bigint, { parent }: Coin): bigint {
  if (parent === null) return 0n;
  const short = priceOf(rate, 4 * parent.vsize) - parent.fee;
  return short > 0n ? short : 0n;
}

/** Sums the shortfall of several coins; a parent that made several of them counts once. */
function shortOfAll(rate: bigint, coins: readonly Offer[]): bigint {
  const parents = new Map(coins.map(({ coin }) => [coin.hash, coin]));
  return [...parents.values()].reduce((sum, coin) => sum + shortOf(rate, coin), 0n);
}

/** Funds a new transaction: from confirmed coins, and from others only if those do not suffice. */
function fundNew(spend: Spend): Funding {
  const { amounts, offers } = spend;
  const confirmed = offers.filter(({ coin }) => coin.height !== null);
  const fitting = inputsWithin(spend);
  const affordable = inputsFor(spend);
  const inputsMax = Math.min(fitting, affordable);
  const sets = amounts.kind === "all" || confirmed.length === offers.length
    ? [offers]
    : [confirmed, offers];
  for (const set of sets) {
    const chosen = chooseFrom(spend, set, inputsMax);
    if (chosen === null || chosen.length === 0) continue;
    const funding = fundWith(spend, chosen);
    if (funding !== null) return funding;
  }
  const held = heldBy(offers);
  const total = amounts.kind === "all" ? 0n : amounts.total;
  const why = `${offers.length} coins hold ${held} base units, ${total} and a fee are needed`;
  if (held <= total || offers.length === 1) throw new ChainError("insufficient", why);
  if (offers.length > affordable) throw exceeded(`${why}; ${affordable} may be spent`);
  const many = offers.length > fitting
    ? `no more than ${fitting} fit one transaction: consolidate them`
    : "the smallest cost too much to spend";
  throw new ChainError("insufficient", `${why}; ${many}`);
}

function chooseFrom(
  spend: Spend,
  offers: readonly Offer[],
  inputsMax: number,
): readonly Offer[] | null {
  const { amounts, scripts, priced } = spend;
  if (amounts.kind === "fixed") {
    const inputs = Math.min(offers.length, inputsMax);
    return selectCoins(offers, wantedFor(spend, amounts.total, { inputs, inputsMax }));
  }
  // A payment of everything to its own address is a consolidation: the smallest coins first.
  const select = scripts[0] === priced.source ? selectSmallest : selectAll;
  return select(offers, inputsMax);
}

/** Funds a replacement: the same coins, and further confirmed ones if the higher fee needs them. */
function fundReplacement(spend: Spend): Funding {
  const { inherited, offers, amounts } = spend;
  // A replacement may not bring in coins that are themselves unconfirmed (BIP-125, rule 2).
  const more = offers.filter(({ coin, worth }) => coin.height !== null && worth > 0n)
    .toSorted((one, other) => one.worth < other.worth ? 1 : one.worth > other.worth ? -1 : 0);
  const fitting = inputsWithin(spend) - inherited.length;
  // A payment of everything would pay out further coins too, so none are added.
  const most = Math.min(fitting, amounts.kind === "all" ? 0 : more.length);
  for (let added = 0; added <= most; added++) {
    const funding = fundWith(spend, [...inherited, ...more.slice(0, added)]);
    if (funding !== null) return funding;
  }
  throw new ChainError("insufficient", "the coins do not suffice for the higher fee");
}

/**
 * Funds a spend with these coins, with change if that is worth an output; null if they do not
 * suffice.
 */
function fundWith(spend: Spend, coins: readonly Offer[]): Funding | null {
  const { table, priced, amounts, scripts } = spend;
  const held = heldBy(coins);
  const fee = feeFor(spend, coins, scripts);
  if (amounts.kind === "all") {
    const left = held - fee;
    if (left < dustOf(table, scripts[0])) return null;
    return { coins, change: null, fee, amounts: [left] };
  }
  const { each, total } = amounts;
  if (held < total + fee) return null;
  const feeWithChange = feeFor(spend, coins, [...scripts, priced.source]);
  const change = held - total - feeWithChange;
  if (change >= changeMin(spend)) return { coins, change, fee: feeWithChange, amounts: each };
  return { coins, change: null, fee: held - total, amounts: each };
}

function heldBy(coins: readonly Offer[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n);
}

function feeFor(spend: Spend, coins: readonly Offer[], scripts: readonly string[]): bigint {
  const { table, rate, replaces, priced } = spend;
  const vsize = vsizeOf(table, coins.length, scripts);
  const meant = priceOf(rate, 4 * vsize) + shortOfAll(rate, coins);
  const least = replaces === null ? 0n : replacementFee(replaces, priced, vsize);
  return meant > least ? meant : least;
}

/** Least change: above dust, and worth more than its own spending will cost. */
function changeMin({ table, priced }: Spend): bigint {
  const dust = dustOf(table, priced.source);
  const cost = 2n * priceOf(table.rateLow, inputWeight(table));
  return dust > cost ? dust : cost;
}

function wantedFor(
  spend: Spend,
  total: bigint,
  { inputs, inputsMax }: { readonly inputs: number; readonly inputsMax: number },
): Wanted {
  const { table, priced, rate, scripts } = spend;
  const weight = frameWeight(table, inputs, scripts.length + 1) + weightOf(scripts);
  return {
    // Sizes are rounded up to whole bytes, and each part of the price is rounded here by itself.
    target: total + priceOf(rate, weight + 4),
    changeCost: priceOf(rate, outputWeight(priced.source)),
    changeMin: changeMin(spend),
    inputCost: priceOf(rate, inputWeight(table)),
    inputCostLow: priceOf(table.rateLow, inputWeight(table)),
    inputsMax,
  };
}

function weightOf(scripts: readonly string[]): number {
  return scripts.reduce((sum, script) => sum + outputWeight(script), 0);
}

/** Counts the coins that fit one transaction. */
function inputsWithin({ table, scripts }: Spend): number {
  const rest = 4 * VSIZE_MAX - frameWeight(table, 253, 253) - outputWeight("00".repeat(25)) -
    weightOf(scripts);
  return Math.floor(rest / inputWeight(table));
}

/** Counts the coins that a budget permits a transaction to spend. */
function inputsFor({ table, rate, scripts, priced: { budget, source } }: Spend): number {
  if (budget === null) return Infinity;
  const fixed = frameWeight(table, 253, scripts.length + 1) + outputWeight(source) +
    weightOf(scripts);
  const left = BigInt(budget) - priceOf(rate, fixed);
  const inputs = left <= 0n ? 0n : left / priceOf(rate, inputWeight(table));
  if (inputs > 0n) return Number(inputs);
  throw exceeded(`${rate} for 1000 virtual bytes is too much: at most ${budget} may be spent`);
}

/**
 * Computes the least fee that nodes take for a replacement (BIP-125, rules 3, 4 and 6), and a tenth
 * more.
 */
function replacementFee(replaces: Plan, priced: Priced, vsize: number): bigint {
  const prior = replaces.fee;
  const size = BigInt(vsize);
  const priorSize = BigInt(replaces.vsize ?? vsize);
  const bids = [
    prior + priceOf(BigInt(priced.step), 4 * vsize),
    (prior * 11n + 9n) / 10n,
    (prior * size * 11n) / (priorSize * 10n) + 1n,
  ];
  return bids.reduce((most, one) => one > most ? one : most);
}

/** Refuses a result that no sound order can have: a guard against errors of our own. */
function assertSound(
  spend: Spend,
  { coins, amounts, fee }: Funding,
  { order, paid, vsize }: {
    readonly order: SendRequest;
    /** To each output, the change included. */
    readonly paid: readonly bigint[];
    readonly vsize: number;
  },
): void {
  const { table, priced, rate } = spend;
  const held = heldBy(coins);
  const gone = paid.reduce((sum, amount) => sum + amount, 0n);
  if (held !== gone + fee || fee <= 0n || paid.some((amount) => amount <= 0n)) {
    throw new TypeError("coins, payments and fee do not add up");
  }
  if (vsize > VSIZE_MAX) throw refused("it does not fit one transaction");
  // Room for an output of change that was not worth an output.
  const cap = priceOf(BigInt(priced.ceiling), 4 * vsize + outputWeight(priced.source)) +
    changeMin(spend);
  const own = fee - shortOfAll(rate, coins);
  if (priced.budget !== null) assertWithin(BigInt(priced.budget), fee, own);
  if (own > cap) throw refused(`the fee of ${fee} is above the highest rate`);
  if (fee > table.feeMax) throw refused(`the fee of ${fee} is above ${table.feeMax}`);
  const meant = amounts.reduce((sum, amount) => sum + amount, 0n);
  if (order.kind === "pay" && fee > meant && fee > table.feeFree) {
    throw refused(`the fee of ${fee} is more than the payment`);
  }
}

/** Refuses a fee above the budget. The cost of lifting an unconfirmed coin only waits for its block. */
function assertWithin(budget: bigint, fee: bigint, own: bigint): void {
  if (own > budget) throw exceeded(`the fee would be ${fee}, at most ${budget} may be spent`);
  if (fee <= budget) return;
  const why = `its unconfirmed parent would cost ${
    fee - own
  } to lift: it waits until that is mined`;
  throw new ChainError("insufficient", why);
}

function exceeded(why: string): ChainError {
  return new ChainError("exceeded", why);
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
