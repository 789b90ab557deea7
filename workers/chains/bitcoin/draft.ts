/**
 * Turns an order into scripts and a fee rate: all that a plan needs from nodes, so the plan itself
 * asks none.
 * @module
 */
import { parseAddress } from "../../../domain/chains/addresses.ts";
import { chainInfo } from "../../../domain/assets.ts";
import { ChainError } from "../chain.ts";
import type { Speed } from "../../../domain/speeds.ts";
import type { Budget, Draft, Payment, SendRequest } from "../outgoing.ts";
import type { CoinChain } from "./context.ts";
import { agreedRates, ceilingOf, feeAt } from "./fees.ts";
import { dustOf, isOurKind } from "./scripts.ts";

/** Most payments in one transaction. */
export const PAYMENTS_MAX = 100;

/** Seconds of Unix time, long past in every block, among which the lock time of a transaction is chosen by chance. */
const LOCKTIMES = { from: 500_000_000, count: 700_000_000 };

/** Data of a draft for its plan; amounts are decimal text, because it is stored as JSON. */
export interface Priced {
  /** Base units per 1000 virtual bytes. */
  readonly rate: string;
  /** Rate that a replacement must add for its own size, in the same unit. */
  readonly step: string;
  /** The highest rate that any replacement may bid, by the market at the time of the draft. */
  readonly ceiling: string;
  /** The most that it may cost in all; null for no limit. */
  readonly budget: string | null;
  /** Script of the sender's coins and of the change. */
  readonly source: string;
  /** Scripts of the payments in order. */
  readonly scripts: readonly string[];
  /**
   * The lock time, which delays nothing: the bytes of a payment that is like one which was given up are others. The same
   * ones could not be told apart.
   */
  readonly locktime: number;
}

/** Prices an order. Its coins are not chosen yet, so it cannot lack any here. */
export async function draftOrder(
  chain: CoinChain,
  given: SendRequest,
  speed: Speed,
  budget: Budget | null = null,
): Promise<Draft> {
  const { table } = chain;
  const order = await canonical(chain, given);
  const source = await chain.scripts.script(order.from);
  if (!isOurKind(table, source)) throw refused(`coins of ${order.from} cannot be spent here`);
  const payments = order.kind === "pay" ? order.payments : [];
  const scripts = await Promise.all(payments.map((one) => chain.scripts.script(one.to)));
  for (const [at, { to, amount }] of payments.entries()) {
    const dust = dustOf(table, scripts[at]);
    if (amount !== "all" && amount < dust) throw refused(`${to} takes no less than ${dust}`);
  }
  if (budget !== null && budget.contract !== null) throw refused("fees are paid in coins");
  const rates = await agreedRates(chain);
  const rate = rates.bySpeed[speed];
  const body: Priced = {
    rate: `${rate}`,
    step: `${rates.step}`,
    ceiling: `${ceilingOf(table, rates)}`,
    budget: budget === null ? null : `${budget.units}`,
    source,
    scripts,
    locktime: LOCKTIMES.from +
      crypto.getRandomValues(new Uint32Array(1))[0] % LOCKTIMES.count,
  };
  return {
    order,
    fee: feeAt(table, rate, scripts.length > 0 ? scripts : [source]),
    feePayer: order.from,
    lacking: 0n,
    body: JSON.stringify(body),
  };
}

async function canonical(chain: CoinChain, order: SendRequest): Promise<SendRequest> {
  const from = await address(chain, order.from);
  if (order.kind === "noop") return { kind: "noop", from };
  if (order.kind === "deploy" || order.contract !== null) {
    throw new ChainError("unsupported", `${chainInfo(chain.table.id).name} has no tokens`);
  }
  if (order.feePayer !== undefined && order.feePayer !== from) {
    throw new ChainError("unsupported", "only the sender pays the fee");
  }
  const { payments } = order;
  if (payments.length === 0) throw refused("nothing is to be paid");
  if (payments.length > PAYMENTS_MAX) throw refused(`at most ${PAYMENTS_MAX} payments fit`);
  if (payments.length > 1 && payments.some(({ amount }) => amount === "all")) {
    throw refused("everything can go to one receiver only");
  }
  const read = async (one: Payment) => ({ ...one, to: await address(chain, one.to) });
  return { kind: "pay", from, contract: null, payments: await Promise.all(payments.map(read)) };
}

async function address(chain: CoinChain, text: string): Promise<string> {
  const parsed = await parseAddress(chain.table.id, chain.network, text);
  if (!parsed.ok) throw refused(`${text.slice(0, 128)} is no address to pay: ${parsed.reason}`);
  return parsed.address;
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
