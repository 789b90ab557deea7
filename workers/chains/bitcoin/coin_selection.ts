/**
 * Coin selection. Pure: the same coins in any order give the same choice. It searches first for a set
 * that needs no change (branch and bound, within a number of steps), then for the smallest single coin
 * that suffices, then for several coins; the least wasteful choice wins. Base units throughout.
 * @module
 */

/** A coin on offer. */
export interface Choice {
  /** Unique and stable: breaks ties. */
  readonly input: string;
  /** Its amount. */
  readonly amount: bigint;
  /** Its effective value: its amount, less the price of spending it at the intended rate. */
  readonly worth: bigint;
}

/** Target of a selection. */
export interface Wanted {
  /**
   * Effective value that the coins must reach: payments, and the price of the rest of the
   * transaction.
   */
  readonly target: bigint;
  /** Price of an output for the change at the intended rate. */
  readonly changeCost: bigint;
  /** Least change that is worth an output; smaller change goes to the miner. */
  readonly changeMin: bigint;
  /** Price of an input at the intended rate. */
  readonly inputCost: bigint;
  /** Price of an input at low rates: the future price of a coin that is not spent now. */
  readonly inputCostLow: bigint;
  /** Most inputs that fit. */
  readonly inputsMax: number;
}

/** Steps of branch and bound. */
const STEPS_MAX = 100_000;
/** Most small coins that one payment consolidates. */
const CONSOLIDATED_MAX = 20;

/** Chooses coins; null if they do not suffice, or more are needed than fit. */
export function selectCoins<T extends Choice>(
  coins: readonly T[],
  wanted: Wanted,
): readonly T[] | null {
  // A coin that costs more to spend than it holds only adds to the cost.
  const useful = coins.filter((coin) => coin.worth > 0n).toSorted(largestFirst);
  const rich = wanted.target + wanted.changeCost + wanted.changeMin;
  const choices = [
    exact(useful, wanted),
    single(useful, rich),
    consolidated(useful, rich, wanted),
    fewest(useful, rich, wanted) ?? fewest(useful, wanted.target, wanted),
  ].filter((choice) => choice !== null);
  let best: { choice: readonly T[]; waste: bigint } | null = null;
  for (const choice of choices) {
    const waste = wasteOf(choice.length, worthOf(choice), wanted);
    if (best === null || waste < best.waste) best = { choice, waste };
  }
  return best?.choice ?? null;
}

/** Chooses all coins that are worth spending, the largest if not all fit. */
export function selectAll<T extends Choice>(coins: readonly T[], inputsMax: number): readonly T[] {
  return coins.filter((coin) => coin.worth > 0n).toSorted(largestFirst).slice(0, inputsMax);
}

/** Chooses all coins that are worth spending, the smallest if not all fit. */
export function selectSmallest<T extends Choice>(
  coins: readonly T[],
  inputsMax: number,
): readonly T[] {
  return coins.filter((coin) => coin.worth > 0n).toSorted((one, other) => largestFirst(other, one))
    .slice(0, inputsMax);
}

/**
 * Computes the waste of a choice: the extra price of spending now instead of at low rates, and the
 * price of change.
 */
function wasteOf(inputs: number, worth: bigint, wanted: Wanted): bigint {
  const { target, changeCost, changeMin, inputCost, inputCostLow } = wanted;
  const early = BigInt(inputs) * (inputCost - inputCostLow);
  const excess = worth - target;
  const changed = excess >= changeCost + changeMin;
  return early + (changed ? changeCost + inputCostLow : excess);
}

/** Searches for a set so near the target that no change is due. */
function exact<T extends Choice>(coins: readonly T[], wanted: Wanted): readonly T[] | null {
  const { target, inputsMax } = wanted;
  const most = target + wanted.changeCost + wanted.changeMin - 1n;
  const rest = restsOf(coins);
  if (rest[0] < target) return null;
  const taken: number[] = [];
  let best: { taken: number[]; waste: bigint } | null = null;
  let sum = 0n;
  let at = 0;
  for (let step = 0; step < STEPS_MAX; step++) {
    const hopeless = sum + rest[at] < target || sum > most || taken.length > inputsMax;
    if (!hopeless && sum >= target) {
      const waste = wasteOf(taken.length, sum, wanted);
      if (best === null || waste < best.waste) best = { taken: [...taken], waste };
      if (sum === target && wanted.inputCost >= wanted.inputCostLow) break;
    }
    if (hopeless || sum >= target || at === coins.length) {
      const last = taken.pop();
      if (last === undefined) break;
      sum -= coins[last].worth;
      // Skips this coin, and equal coins, which would only repeat the search.
      at = last + 1;
      while (at < coins.length && coins[at].worth === coins[last].worth) at++;
      continue;
    }
    taken.push(at);
    sum += coins[at].worth;
    at++;
  }
  return best && best.taken.map((one) => coins[one]);
}

/** Takes the smallest coin that suffices alone. */
function single<T extends Choice>(coins: readonly T[], target: bigint): readonly T[] | null {
  const enough = coins.findLast((coin) => coin.worth >= target);
  return enough ? [enough] : null;
}

/** Takes as few coins as possible: the largest. */
function fewest<T extends Choice>(
  coins: readonly T[],
  target: bigint,
  { inputsMax }: Wanted,
): readonly T[] | null {
  let sum = 0n;
  for (let length = 0; length < Math.min(coins.length, inputsMax); length++) {
    sum += coins[length].worth;
    if (sum >= target) return coins.slice(0, length + 1);
  }
  return null;
}

/** While rates are low, takes small coins, and one large one if they do not suffice. */
function consolidated<T extends Choice>(
  coins: readonly T[],
  target: bigint,
  wanted: Wanted,
): readonly T[] | null {
  if (wanted.inputCost > wanted.inputCostLow) return null;
  const most = Math.min(CONSOLIDATED_MAX, wanted.inputsMax);
  const small = coins.toReversed().slice(0, most);
  const enough = fewest(small, target, wanted);
  if (enough) return enough;
  const few = small.slice(0, most - 1);
  const missing = target - worthOf(few);
  const large = coins.slice(0, coins.length - few.length).findLast((one) => one.worth >= missing);
  return large ? [...few, large] : null;
}

/** Computes the effective value of all coins from each position on. */
function restsOf(coins: readonly Choice[]): bigint[] {
  const rest = [0n];
  for (const coin of coins.toReversed()) rest.push(rest[rest.length - 1] + coin.worth);
  return rest.reverse();
}

function worthOf(coins: readonly Choice[]): bigint {
  return coins.reduce((sum, coin) => sum + coin.worth, 0n);
}

function largestFirst(one: Choice, other: Choice): number {
  if (one.worth !== other.worth) return one.worth > other.worth ? -1 : 1;
  return one.input < other.input ? -1 : one.input > other.input ? 1 : 0;
}
