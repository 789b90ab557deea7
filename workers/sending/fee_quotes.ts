/** Refreshes the fee quotes of all assets that a realm's ramps send. @module */
import {
  type QuotedRow,
  type QuoteRow,
  selectQuoted,
  upsertQuotes,
} from "../../db/sending/fee_quotes.ts";
import { reading } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import { SPEEDS } from "../../domain/speeds.ts";
import { type Chains, type ConfiguredNetwork, hasNode } from "../chains/registry.ts";

/** How long one answer of the nodes serves all realms. */
const SHARED_MS = 10_000;
const shared = new WeakMap<Chains, SharedAnswers<Asked>>();

type Fees = Awaited<ReturnType<Chain["quote"]>>;
/** Prices that were asked for at a time, in milliseconds of the process, which no clock that is set changes. */
interface Asked {
  at: number;
  fees: Promise<Fees>;
}

/** Answers that serve all who ask the same for a while. */
export interface SharedAnswers<T> {
  /** Gives the answer to a question, asked now unless it was asked a moment ago. */
  ask(key: string, make: () => T): T;
  forget(key: string, answer: T): void;
  readonly size: number;
}

/**
 * Opens an empty set of answers. What realms ask for comes and goes with their tokens: an answer that serves nobody any
 * more is not kept.
 *
 * @param now milliseconds that always go up: a clock that is set back would make an old price a young one
 */
export function openSharedAnswers<T>(
  now: () => number = () => performance.now(),
): SharedAnswers<T> {
  const answers = new Map<string, { since: number; answer: T }>(); // the oldest first
  return {
    ask(key, make) {
      for (const [known, { since }] of answers) {
        if (now() - since < SHARED_MS) break;
        answers.delete(known);
      }
      const recent = answers.get(key);
      if (recent !== undefined) return recent.answer;
      const answer = make();
      answers.set(key, { since: now(), answer });
      return answer;
    },
    forget(key, answer) {
      if (answers.get(key)?.answer === answer) answers.delete(key);
    },
    get size() {
      return answers.size;
    },
  };
}

/**
 * Refreshes the quotes; a chain that cannot be reached, or has no node any more, keeps its last ones, until they are stale.
 *
 * @param only the place whose quotes are needed now; all places unless given
 */
export async function refreshFees(
  context: WorkerContext,
  only?: { chain: string; network: string },
): Promise<void> {
  const all = await reading(context.pool, selectQuoted);
  const here = (one: QuotedRow) => one.chain === only?.chain && one.network === only.network;
  for (const wanted of only === undefined ? all : all.filter(here)) {
    if (!hasNode(context.chains, wanted)) continue; // it would be told every twenty seconds
    try {
      const quotes = await quotesOf(context, wanted);
      await context.step((tx) => upsertQuotes(tx, quotes));
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      context.log("warn", "no prices", { chain: wanted.chain, asset: wanted.asset, error });
    }
  }
}

async function quotesOf(context: WorkerContext, wanted: QuotedRow): Promise<QuoteRow[]> {
  const { network, asset } = wanted;
  const id = wanted.chain as ChainId;
  const contract = wanted.contract ?? findAsset(asset)?.contract ?? null;
  const { at, fees } = askFor(context, { chain: id, testnet: network !== "main" }, contract);
  const found = await fees;
  return SPEEDS.map((speed): QuoteRow => ({
    chain: id,
    network,
    contract: contract ?? "",
    speed,
    fee_contract: found[speed].contract,
    base: `${found[speed].base}`,
    per_input: `${found[speed].perInput}`,
    per_payment: `${found[speed].perPayment}`,
    least: `${found[speed].least}`,
    age: performance.now() - at,
  }));
}

/** Asks for prices, or gives the ones that another realm asked for within ten seconds. */
function askFor(
  { chains }: WorkerContext,
  place: ConfiguredNetwork,
  contract: string | null,
): Asked {
  const answers = shared.get(chains) ?? openSharedAnswers<Asked>();
  shared.set(chains, answers);
  const key = `${place.chain} ${place.testnet} ${contract}`;
  const asked = answers.ask(key, () => ({
    at: performance.now(),
    fees: chains.open(place).then((chain) => chain.quote(contract)),
  }));
  asked.fees.catch(() => answers.forget(key, asked));
  return asked;
}
