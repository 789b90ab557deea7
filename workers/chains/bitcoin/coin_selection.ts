/**
 * Chooses coins for a payment. Pure: the same coins in any order give the same choice. First a set
 * that needs no change is looked for (branch and bound, within a number of steps), then the smallest
 * coin that suffices, then many; of what is found the least wasteful is taken. Base units throughout.
 * @module
 */

/** A coin as the choice sees it. */
export interface Choice {
  /** Unique and stable: breaks ties. */
  readonly input: string;
  /** What is in it. */
  readonly amount: bigint;
  /** What it brings at the rate meant: its amount, less the price of spending it. */
  readonly worth: bigint;
}

/** What coins are chosen for. */
export interface Wanted {
  /** What the coins must be worth together: payments, and the price of the rest of the transaction. */
  readonly target: bigint;
  /** What an output for the change costs at the rate meant. */
  readonly changeCost: bigint;
  /** Change below this is not worth an output, and is left to the miner. */
  readonly changeMin: bigint;
  /** What an input costs at the rate meant. */
  readonly inputCost: bigint;
  /** What an input costs when rates are low: the price that a coin left behind will have. */
  readonly inputCostLow: bigint;
  /** Most inputs that fit. */
  readonly inputsMax: number;
}

/** Steps of branch and bound. */
const STEPS_MAX = 100_000;
/** Small coins are consolidated in passing, but not more than this. */
const CONSOLIDATED_MAX = 20;

/** Chooses coins; null if they do not suffice, or more are needed than fit. */
export function selectCoins<T extends Choice>(
  coins: readonly T[],
  wanted: Wanted,
): readonly T[] | null {
  // What costs more to spend than it holds only makes things worse.
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

/** Chooses all that is worth spending, the richest if not all fit. */
export function selectAll<T extends Choice>(coins: readonly T[], inputsMax: number): readonly T[] {
  return coins.filter((coin) => coin.worth > 0n).toSorted(largestFirst).slice(0, inputsMax);
}

/** Chooses all that is worth spending, the smallest if not all fit. */
export function selectSmallest<T extends Choice>(
  coins: readonly T[],
  inputsMax: number,
): readonly T[] {
  return coins.filter((coin) => coin.worth > 0n).toSorted((one, other) => largestFirst(other, one))
    .slice(0, inputsMax);
}

/** Weighs a choice: what is spent now rather than when rates are low, and what change costs. */
function wasteOf(inputs: number, worth: bigint, wanted: Wanted): bigint {
  const { target, changeCost, changeMin, inputCost, inputCostLow } = wanted;
  const early = BigInt(inputs) * (inputCost - inputCostLow);
  const excess = worth - target;
  const changed = excess >= changeCost + changeMin;
  return early + (changed ? changeCost + inputCostLow : excess);
}

/** Looks for a set that hits the target so nearly that no change is due. */
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
      // Without this coin; and without its equals, which would only repeat the search.
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

/** Takes as few coins as possible: the richest. */
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

/** What the coins from each place on are worth together. */
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
