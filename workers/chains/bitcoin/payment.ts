/**
 * From a draft and the coins offered to a whole unsigned transaction, exact to the last base unit:
 * what the coins hold is what is paid, plus change, plus the fee. Pure; no node is asked.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Coin, Draft, Plan, Stock } from "../outgoing.ts";
import type { Priced } from "./draft.ts";
import type { CoinTable } from "./networks.ts";
import { dustOf } from "./scripts.ts";
import { type Choice, selectAll, selectCoins, selectSmallest } from "./coin_selection.ts";
import { frameWeight, inputWeight, outputWeight, priceOf, vsizeOf } from "./size.ts";

/** What a plan notes for its signature; amounts are decimal text, for it is kept as JSON. */
export interface Body {
  /** Spent in this order. */
  readonly inputs: readonly {
    readonly claim: string;
    readonly amount: string;
    /** Fee and virtual size of the unconfirmed transaction that made it, or null. */
    readonly parent: { readonly fee: string; readonly vsize: number } | null;
  }[];
  /** What all inputs are locked by. */
  readonly source: string;
  /** Paid in this order; the change is the last. */
  readonly outputs: readonly { readonly script: string; readonly amount: string }[];
}

/** A coin on offer, priced. */
interface Offer extends Choice {
  readonly coin: Coin;
}

/** The outputs of a transaction to be, but for its change. */
interface Payments {
  /** With "all" still open, null. */
  readonly amounts: readonly (bigint | null)[];
  readonly scripts: readonly string[];
}

/** Nodes pass on transactions of up to 100 000 virtual bytes. */
const VSIZE_MAX = 95_000;

/** Makes a plan; with `replaces`, one that spends the same coins for a higher fee. */
export function planDraft(table: CoinTable, draft: Draft, stock: Stock, replaces?: Plan): Plan {
  if (replaces && !table.replaceable) {
    throw new ChainError("unsupported", `${table.id} replaces nothing; a child can pay more`);
  }
  const priced: Priced = JSON.parse(draft.body);
  const payments = paymentsOf(draft, priced, replaces);
  const own = replaces ? inheritedFrom(replaces, draft, priced) : [];
  const offers = offersOf(table, draft, priced, stock, own);
  const floor = replaces ? (vsize: number) => outbid(replaces, priced, vsize) : () => 0n;
  const { coins, change, fee, amounts } = own.length > 0
    ? refill(table, priced, payments, own, offers, floor)
    : choose(table, priced, payments, offers);
  const scripts = change === null ? payments.scripts : [...payments.scripts, priced.source];
  const paid = change === null ? amounts : [...amounts, change];
  const vsize = vsizeOf(table, coins.length, scripts);
  assertSound(table, draft, priced, { coins, paid, amounts, fee, vsize });
  const body: Body = {
    source: priced.source,
    inputs: coins.map(({ coin, claim }) => ({
      claim,
      amount: `${coin.amount}`,
      parent: coin.parent && { fee: `${coin.parent.fee}`, vsize: coin.parent.vsize },
    })),
    outputs: scripts.map((script, at) => ({ script, amount: `${paid[at]}` })),
  };
  const { order } = draft;
  return {
    order,
    claims: coins.map(({ claim }) => claim),
    signers: [order.from],
    amounts: order.kind === "pay" ? amounts : [],
    outputs: order.kind === "pay" ? amounts.map((_, at) => at) : null,
    change: changeOf(order.kind, order.from, amounts, change),
    fee,
    feeContract: null,
    vsize,
    creates: null,
    body: JSON.stringify(body),
  };
}

/** What a choice of coins comes to. */
interface Sum {
  readonly coins: readonly Offer[];
  /** Null where there is none. */
  readonly change: bigint | null;
  readonly fee: bigint;
  readonly amounts: readonly bigint[];
}

function paymentsOf(draft: Draft, priced: Priced, replaces?: Plan): Payments {
  const { order } = draft;
  if (order.kind === "pay") {
    const amounts = order.payments.map(({ amount }) => amount === "all" ? null : amount);
    return { amounts, scripts: priced.scripts };
  }
  if (!replaces) throw refused("there is nothing to cancel");
  // What cancels sends everything back to the sender.
  return { amounts: [null], scripts: [priced.source] };
}

function changeOf(kind: string, to: string, amounts: readonly bigint[], change: bigint | null) {
  if (kind !== "pay") return { to, amount: amounts[0], index: 0 };
  return change === null ? null : { to, amount: change, index: amounts.length };
}

/** The coins that the replaced plan spends; all of them are spent again. */
function inheritedFrom(replaces: Plan, draft: Draft, priced: Priced): Offer[] {
  const prior: Body = JSON.parse(replaces.body);
  if (prior.source !== priced.source) throw refused("another sender's coins");
  return prior.inputs.map(({ claim, amount, parent }) => {
    const [hash, index] = claim.split(":");
    const coin: Coin = {
      hash,
      index: Number(index),
      address: draft.order.from,
      amount: BigInt(amount),
      height: parent === null ? 0 : null,
      parent: parent && { fee: BigInt(parent.fee), vsize: parent.vsize },
    };
    return { claim, coin, amount: coin.amount, worth: coin.amount };
  });
}

function offersOf(
  table: CoinTable,
  draft: Draft,
  priced: Priced,
  stock: Stock,
  own: readonly Offer[],
): Offer[] {
  const rate = BigInt(priced.rate);
  const cost = priceOf(rate, inputWeight(table));
  const taken = new Set(own.map(({ claim }) => claim));
  const offers = new Map<string, Offer>();
  for (const coin of stock.coins) {
    if (coin.address !== draft.order.from) throw refused("a coin on offer is not the sender's");
    const claim = `${coin.hash}:${coin.index}`;
    if (taken.has(claim)) continue;
    const worth = coin.amount - cost - shortOf(rate, coin);
    offers.set(claim, { claim, coin, amount: coin.amount, worth });
  }
  return [...offers.values()];
}

/** What the unconfirmed transaction that made a coin lacks of the rate meant. */
function shortOf(rate: bigint, { parent }: Coin): bigint {
  if (parent === null) return 0n;
  const short = priceOf(rate, 4 * parent.vsize) - parent.fee;
  return short > 0n ? short : 0n;
}

/** The same for several coins; a parent that made more than one is paid for once. */
function shortOfAll(rate: bigint, coins: readonly Offer[]): bigint {
  const parents = new Map(coins.map(({ coin }) => [coin.hash, coin]));
  return [...parents.values()].reduce((sum, coin) => sum + shortOf(rate, coin), 0n);
}

/** Chooses coins for a new transaction: confirmed ones, and others only if those do not suffice. */
function choose(
  table: CoinTable,
  priced: Priced,
  payments: Payments,
  offers: readonly Offer[],
): Sum {
  const confirmed = offers.filter(({ coin }) => coin.height !== null);
  const sets = confirmed.length === offers.length ? [offers] : [confirmed, offers];
  const fixed = payments.amounts.reduce<bigint>((sum, one) => sum + (one ?? 0n), 0n);
  const everything = payments.amounts.includes(null);
  const affordable = inputsFor(table, priced, payments);
  for (const set of everything ? [offers] : sets) {
    const inputsMax = Math.min(inputsWithin(table, payments.scripts), affordable);
    const chosen = everything
      // What goes back to its own address is gathered.
      ? (payments.scripts[0] === priced.source ? selectSmallest : selectAll)(set, inputsMax)
      : selectCoins(set, wantedFor(table, priced, payments, fixed, set.length, inputsMax));
    if (chosen === null || chosen.length === 0) continue;
    const sum = settle(table, priced, payments, chosen, () => 0n);
    if (sum !== null) return sum;
  }
  const held = offers.reduce((sum, { amount }) => sum + amount, 0n);
  const why = `${offers.length} coins hold ${held} base units, ${fixed} and a fee are needed`;
  if (held <= fixed || offers.length === 1) throw new ChainError("insufficient", why);
  if (offers.length > affordable) throw exceeded(`${why}; ${affordable} may be spent`);
  const most = inputsWithin(table, payments.scripts);
  const many = offers.length > most
    ? `no more than ${most} fit one transaction: consolidate them`
    : "the smallest cost too much to spend";
  throw new ChainError("insufficient", `${why}; ${many}`);
}

/** Replaces: spends the same coins, and further confirmed ones if the higher fee needs them. */
function refill(
  table: CoinTable,
  priced: Priced,
  payments: Payments,
  own: readonly Offer[],
  offers: readonly Offer[],
  floor: (vsize: number) => bigint,
): Sum {
  // A replacement may not bring in coins that are themselves unconfirmed (BIP-125, rule 2).
  const more = offers.filter(({ coin, worth }) => coin.height !== null && worth > 0n)
    .toSorted((one, other) => one.worth < other.worth ? 1 : one.worth > other.worth ? -1 : 0);
  const most = inputsWithin(table, payments.scripts) - own.length;
  for (let added = 0; added <= Math.min(more.length, most); added++) {
    const coins = [...own, ...more.slice(0, added)];
    const sum = settle(table, priced, payments, coins, floor);
    if (sum !== null) return sum;
    if (payments.amounts.includes(null)) break;
  }
  throw new ChainError("insufficient", "the coins do not suffice for the higher fee");
}

/** Adds up a choice of coins, with change if that is worth an output; null if it is too little. */
function settle(
  table: CoinTable,
  priced: Priced,
  { amounts, scripts }: Payments,
  coins: readonly Offer[],
  floor: (vsize: number) => bigint,
): Sum | null {
  const rate = BigInt(priced.rate);
  const held = coins.reduce((sum, { amount }) => sum + amount, 0n);
  const feeFor = (outputs: readonly string[]) => {
    const vsize = vsizeOf(table, coins.length, outputs);
    const meant = priceOf(rate, 4 * vsize) + shortOfAll(rate, coins);
    const least = floor(vsize);
    return meant > least ? meant : least;
  };
  const fee = feeFor(scripts);
  if (amounts.includes(null)) {
    const left = held - fee;
    if (left < dustOf(table, scripts[0])) return null;
    return { coins, change: null, fee, amounts: [left] };
  }
  const due = amounts.map((amount) => amount ?? 0n);
  const paid = due.reduce((sum, amount) => sum + amount, 0n);
  if (held < paid + fee) return null;
  const feeChanged = feeFor([...scripts, priced.source]);
  const change = held - paid - feeChanged;
  if (change >= changeMin(table, priced)) return { coins, change, fee: feeChanged, amounts: due };
  return { coins, change: null, fee: held - paid, amounts: due };
}

/** Change must not be dust, nor cost more to spend some day than it holds. */
function changeMin(table: CoinTable, priced: Priced): bigint {
  const dust = dustOf(table, priced.source);
  const cost = 2n * priceOf(table.rateLow, inputWeight(table));
  return dust > cost ? dust : cost;
}

function wantedFor(
  table: CoinTable,
  priced: Priced,
  { scripts }: Payments,
  fixed: bigint,
  offered: number,
  inputsMax: number,
) {
  const rate = BigInt(priced.rate);
  const inputs = Math.min(offered, inputsMax);
  const weight = frameWeight(table, inputs, scripts.length + 1) +
    scripts.reduce((sum, script) => sum + outputWeight(script), 0);
  return {
    // Sizes are rounded up to whole bytes, and shares of it here for themselves.
    target: fixed + priceOf(rate, weight + 4),
    changeCost: priceOf(rate, outputWeight(priced.source)),
    changeMin: changeMin(table, priced),
    inputCost: priceOf(rate, inputWeight(table)),
    inputCostLow: priceOf(table.rateLow, inputWeight(table)),
    inputsMax,
  };
}

function inputsWithin(table: CoinTable, scripts: readonly string[]): number {
  const rest = 4 * VSIZE_MAX - frameWeight(table, 253, 253) - outputWeight("00".repeat(25)) -
    scripts.reduce((sum, script) => sum + outputWeight(script), 0);
  return Math.floor(rest / inputWeight(table));
}

/** Coins that a budget lets a transaction spend. */
function inputsFor(table: CoinTable, { rate, budget, source }: Priced, payments: Payments): number {
  if (budget === null) return Infinity;
  const { scripts } = payments;
  const fixed = frameWeight(table, 253, scripts.length + 1) + outputWeight(source) +
    scripts.reduce((sum, script) => sum + outputWeight(script), 0);
  const left = BigInt(budget) - priceOf(BigInt(rate), fixed);
  const inputs = left <= 0n ? 0n : left / priceOf(BigInt(rate), inputWeight(table));
  if (inputs > 0n) return Number(inputs);
  throw exceeded(`${rate} for 1000 virtual bytes is too much: at most ${budget} may be spent`);
}

/** The least fee that nodes take for a replacement (BIP-125, rules 3, 4 and 6), and a tenth more. */
function outbid(replaces: Plan, priced: Priced, vsize: number): bigint {
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

/** Refuses what no sound order can come to; this stands between an error of ours and the chain. */
function assertSound(
  table: CoinTable,
  { order }: Draft,
  priced: Priced,
  { coins, paid, amounts, fee, vsize }: {
    readonly coins: readonly Offer[];
    readonly paid: readonly bigint[];
    readonly amounts: readonly bigint[];
    readonly fee: bigint;
    readonly vsize: number;
  },
): void {
  const held = coins.reduce((sum, { amount }) => sum + amount, 0n);
  const gone = paid.reduce((sum, amount) => sum + amount, 0n);
  if (held !== gone + fee || fee <= 0n || paid.some((amount) => amount <= 0n)) {
    throw new TypeError("coins, payments and fee do not add up");
  }
  if (vsize > VSIZE_MAX) throw refused("it does not fit one transaction");
  // Room for an output of change that was not worth making.
  const cap = priceOf(BigInt(priced.ceiling), 4 * vsize + outputWeight(priced.source)) +
    changeMin(table, priced);
  const own = fee - shortOfAll(BigInt(priced.rate), coins);
  if (priced.budget !== null) assertWithin(BigInt(priced.budget), fee, own);
  if (own > cap) throw refused(`the fee of ${fee} is above the highest rate`);
  if (fee > table.feeMax) throw refused(`the fee of ${fee} is above ${table.feeMax}`);
  const meant = amounts.reduce((sum, amount) => sum + amount, 0n);
  if (order.kind === "pay" && fee > meant && fee > table.feeFree) {
    throw refused(`the fee of ${fee} is more than what is paid`);
  }
}

/** What lifts an unconfirmed coin is no fault of who is paid: that waits for the coin's block. */
function assertWithin(budget: bigint, fee: bigint, own: bigint): void {
  if (own > budget) throw exceeded(`the fee would be ${fee}, at most ${budget} may be spent`);
  if (fee <= budget) return;
  const why = `what it rests on would cost ${fee - own} to lift: it waits until that is mined`;
  throw new ChainError("insufficient", why);
}

function exceeded(why: string): ChainError {
  return new ChainError("exceeded", why);
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
