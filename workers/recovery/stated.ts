/**
 * Transactions of our own keys that cannot be read: an operator looks at each, and says how it is to be booked. What it
 * moved is the chain's word.
 * @module
 */
import {
  selectOwnAddresses,
  selectOwnPlaces,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { selectPaidUnfound } from "../../db/recovery/found_payments.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { FoundPayment, FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import { toUnits } from "../../domain/money.ts";
import type { PaymentRequest } from "../../domain/sending/chain_orders.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Outflow } from "../chains/outgoing.ts";
import { readFound } from "../sending/found_transactions.ts";
import type { WorkerContext } from "../worker_context.ts";

/** How a transaction is to be booked, by its hash: as the payment of a withdrawal, or (null) as a loss. */
export type Statements = Map<string, string | null>;

/** Where unreadable transactions are searched. */
export interface StatedSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
  /** Ids of the ramps in quarantine. */
  readonly ramps: readonly string[];
}

/** A transaction of a block, and whether it lies as deep as a payment must. */
export type Mined = Pick<FoundTransaction, "hash" | "height" | "deep">;

/** Who got what no address tells. */
const UNKNOWN = "unknown";

/**
 * Reads what an unreadable transaction moved; null where no address of ours signed it.
 *
 * @throws {ChainError} `unavailable` where nodes disagree or its block is not final, `refused` where nothing tells it
 */
export async function readStated(
  { context, chain, place, ramps }: StatedSearch,
  mined: Mined,
  stated: NonNullable<FoundTransaction["stated"]>,
): Promise<FoundTransaction | null> {
  const { hash, deep } = mined;
  if (!deep) {
    throw new ChainError(
      "unavailable",
      `${hash} may still lose its block: say it when more lie above it`,
    );
  }
  if (chain.traits.coins) return await readFound(context, chain, place, mined, stated);
  if (chain.outflow === null) {
    throw new ChainError("refused", `${hash}: nothing tells what it moved`);
  }
  const raw = await chain.raw(mined);
  const addresses = await reading(context.pool, (db) => selectOwnAddresses(db, place));
  const own = new Set(addresses);
  const due = await duePayments(context, place, ramps);
  const to = new Set(due.map((one) => one.to));
  const outflow = await chain.outflow(hash, { own, to });
  const senders = await reading(context.pool, (db) => selectOwnPlaces(db, place, outflow.from));
  const from = outflow.from.find((one) => senders.some(({ address }) => address === one));
  if (from === undefined) return null;
  return {
    ...{ ...mined, raw, inputs: [], from, fee: outflow.fee, brought: null, unreadable: true },
    payments: paymentsOf(outflow, due.filter(({ sender }) => sender === null || sender === from)),
    ...{ calls: null, deployed: null, stated, settled: true },
  };
}

/** What a withdrawal is to be paid, or is called paid without its transaction; and by whom, where that is known. */
interface Due extends FoundPayment {
  readonly sender: string | null;
}

async function duePayments(
  { pool }: WorkerContext,
  place: ChainNetwork,
  ramps: readonly string[],
): Promise<Due[]> {
  const waiting = await reading(pool, (db) => selectUnsigned(db, place, ramps));
  const called = await reading(pool, (db) => selectPaidUnfound(db, place, ramps));
  return [
    ...waiting.filter(({ purpose }) => purpose === "withdrawal").map((order) => {
      const { to, amount } =
        (order.request as unknown as PaymentRequest & { kind: "pay" }).payments[0];
      const { contract, sender } = order;
      return { to, contract: contract || null, amount: BigInt(amount), sender };
    }),
    ...called.map(({ destination, contract, amount, decimals }) => ({
      ...{ to: destination, contract, amount: toUnits(amount, decimals), sender: null },
    })),
  ];
}

/**
 * The payments that an outflow shows: those of just what a withdrawal is to be paid, and the rest of what we lost to
 * nobody that is known. What others paid beside us is not ours to bear.
 */
function paymentsOf({ assets }: Outflow, due: readonly Due[]): FoundPayment[] {
  return assets.flatMap(({ contract, lost, got }) => {
    let left = lost;
    const payments: FoundPayment[] = [];
    for (const { to, amount } of due.filter((one) => one.contract === contract)) {
      const isPaid = got.some((one) => one.to === to && one.amount === amount) &&
        amount <= left && !payments.some((one) => one.to === to);
      if (!isPaid) continue;
      payments.push({ to, contract, amount });
      left -= amount;
    }
    return left > 0n ? [...payments, { to: UNKNOWN, contract, amount: left }] : payments;
  });
}
