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
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { FoundPayment, FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import type { OrderRow, PaymentRequest } from "../../domain/sending/chain_orders.ts";
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
  const waiting = (await reading(context.pool, (db) => selectUnsigned(db, place, ramps)))
    .filter(({ purpose }) => purpose === "withdrawal");
  const to = new Set(waiting.map((order) => paymentOf(order).to));
  const outflow = await chain.outflow(hash, { own, to });
  const senders = await reading(context.pool, (db) => selectOwnPlaces(db, place, outflow.from));
  const from = outflow.from.find((one) => senders.some(({ address }) => address === one));
  if (from === undefined) return null;
  return {
    ...{ ...mined, raw, inputs: [], from, fee: outflow.fee, brought: null, unreadable: true },
    payments: paymentsOf(outflow, waiting.filter(({ sender }) => sender === from)),
    ...{ calls: null, deployed: null, stated, settled: true },
  };
}

/**
 * The payments that an outflow shows: those of just what a withdrawal is to be paid, and the rest of what we lost to
 * nobody that is known. What others paid beside us is not ours to bear.
 */
function paymentsOf({ assets }: Outflow, waiting: readonly OrderRow[]): FoundPayment[] {
  return assets.flatMap(({ contract, lost, got }) => {
    let left = lost;
    const payments: FoundPayment[] = [];
    for (const order of waiting) {
      const { to, amount } = paymentOf(order);
      const paid = got.find((one) => one.to === to && one.amount === BigInt(amount));
      const isThis = paid !== undefined && order.contract === (contract ?? "") &&
        paid.amount <= left && !payments.some((one) => one.to === to);
      if (!isThis) continue;
      payments.push({ to, contract, amount: paid.amount });
      left -= paid.amount;
    }
    return left > 0n ? [...payments, { to: UNKNOWN, contract, amount: left }] : payments;
  });
}

function paymentOf(order: OrderRow): { to: string; amount: string } {
  return (order.request as unknown as PaymentRequest & { kind: "pay" }).payments[0];
}
