/**
 * Transactions of our own keys that cannot be read: an operator looks at each, and says how it is to be booked. What it
 * moved is the chain's word.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { selectPaidUnfound } from "../../db/recovery/found_payments.ts";
import {
  type OwnPlace,
  selectHeldDeposits,
  selectOwnAddresses,
  selectOwnPlaces,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { toUnits } from "../../domain/money.ts";
import type { FoundPayment, FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import type { OrderRow, PaymentRequest } from "../../domain/sending/chain_orders.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Outflow } from "../chains/outgoing.ts";
import { readFound } from "../sending/found_transactions.ts";
import type { WorkerContext } from "../worker_context.ts";

/** How a transaction is to be booked, by its hash: as the payment of withdrawals, or (of none) as a loss. */
export type Statements = Map<string, readonly string[]>;

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
/** Most withdrawals to one address whose sums are compared with what it got. */
const SUMMED_MAX = 12;

/** What a withdrawal is to be paid, or was by an operator's word before its payment was found. */
interface Due {
  readonly withdrawal: string;
  readonly ramp: string;
  /** Null where any address of the ramp may have paid it. */
  readonly sender: string | null;
  readonly to: string;
  readonly contract: string | null;
  readonly amount: bigint;
}

/**
 * Reads what an unreadable transaction moved; null where no address of ours signed it.
 *
 * @throws {ChainError} `unavailable` where nodes disagree or its block is not final, `refused` where nothing tells it
 */
export async function readStated(
  search: StatedSearch,
  mined: Mined,
  stated: NonNullable<FoundTransaction["stated"]>,
): Promise<FoundTransaction | null> {
  const { context, chain, place } = search;
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
  const due = (await reading(context.pool, (db) => dueOf(db, search)))
    .toSorted((one, other) => Number(isSaid(stated, other)) - Number(isSaid(stated, one)));
  const { outflow, arrived } = await outflowOf(search, hash, due);
  const senders = await reading(context.pool, (db) => selectOwnPlaces(db, place, outflow.from));
  const ours = outflow.from.flatMap((one) => senders.find(({ address }) => address === one) ?? []);
  if (ours.length === 0) return null;
  // Several of ours may have signed it: the first only pays the fee, where it is another that paid a withdrawal.
  const dueBy = ({ address, ramp }: OwnPlace) =>
    due.filter((one) => one.ramp === ramp && (one.sender ?? address) === address);
  const sender = ours.find((one) => paidBy(outflow, dueBy(one)).length > 0) ?? ours[0];
  return {
    ...{ ...mined, raw, inputs: [], from: sender.address, fee: outflow.fee },
    signers: ours.map(({ address }) => address),
    ...{ brought: null, unreadable: true },
    payments: paymentsOf(outflow, dueBy(sender), arrived),
    ...{ calls: null, deployed: null, stated, settled: true },
  };
}

function isSaid({ withdrawals }: NonNullable<FoundTransaction["stated"]>, one: Due): boolean {
  return withdrawals.includes(one.withdrawal);
}

/** The withdrawals that it may have paid: those that wait, and those that an operator called paid. */
async function dueOf(db: Db, { place, ramps }: StatedSearch): Promise<Due[]> {
  const waiting = (await selectUnsigned(db, place, ramps))
    .filter(({ purpose }) => purpose === "withdrawal");
  const called = await selectPaidUnfound(db, place, ramps);
  return [
    ...waiting.map((order) => {
      const { to, amount } = paymentOf(order);
      const contract = order.contract === "" ? null : order.contract;
      const { ramp, sender } = order;
      return {
        withdrawal: order.reference_id!,
        ramp,
        sender,
        to,
        contract,
        amount: BigInt(amount),
      };
    }),
    ...called.map(({ id, ramp, destination, contract, amount, decimals }) => ({
      ...{ withdrawal: id, ramp, sender: null, to: destination, contract },
      amount: toUnits(amount, decimals),
    })),
  ];
}

/**
 * Asks what a transaction moved. What arrived at an address of ours as a deposit, which is held, has left: its customer
 * gets it. Not where that address signed it: then it is what came back.
 */
async function outflowOf(
  { context, chain, place }: StatedSearch,
  hash: string,
  due: readonly Due[],
): Promise<{ outflow: Outflow; arrived: ReadonlySet<string> }> {
  const { all, held } = await reading(context.pool, async (db) => ({
    all: await selectOwnAddresses(db, place),
    held: await selectHeldDeposits(db, place, { hashes: [hash] }),
  }));
  const arrived = new Set(held.map(({ address }) => address));
  const ask = async () =>
    await chain.outflow!(hash, {
      own: new Set(all.filter((one) => !arrived.has(one))),
      to: new Set([...due.map(({ to }) => to), ...arrived]),
    });
  const outflow = await ask();
  const back = outflow.from.filter((one) => arrived.delete(one));
  return { outflow: back.length === 0 ? outflow : await ask(), arrived };
}

/** The withdrawals that an outflow shows as paid: what an address got is just what some to it are due in all. */
function paidBy({ assets }: Outflow, due: readonly Due[]): Due[] {
  return assets.flatMap(({ contract, lost, got }) => {
    let left = lost;
    return got.flatMap(({ to, amount }) => {
      const those = due.filter((one) => one.to === to && one.contract === contract);
      const paid = amount <= left ? summing(those.slice(0, SUMMED_MAX), amount) : null;
      if (paid !== null) left -= amount;
      return paid ?? [];
    });
  });
}

/** The first of some withdrawals that are due an amount in all; null where none are. */
function summing([first, ...rest]: readonly Due[], amount: bigint): Due[] | null {
  if (amount === 0n) return [];
  if (first === undefined || amount < 0n) return null;
  const more = summing(rest, amount - first.amount);
  return more === null ? summing(rest, amount) : [first, ...more];
}

/**
 * The payments that an outflow shows: those of withdrawals, what arrived at addresses of ours, and the rest of what we
 * lost to nobody that is known. What others paid beside us is not ours to bear.
 */
function paymentsOf(
  outflow: Outflow,
  due: readonly Due[],
  arrived: ReadonlySet<string>,
): FoundPayment[] {
  const paid = paidBy(outflow, due);
  return outflow.assets.flatMap(({ contract, lost, got }) => {
    const payments: FoundPayment[] = paid.filter((one) => one.contract === contract)
      .map(({ to, amount }) => ({ to, contract, amount }));
    let left = lost - payments.reduce((sum, { amount }) => sum + amount, 0n);
    for (const { to, amount } of got) {
      if (left <= 0n || !arrived.has(to) || payments.some((one) => one.to === to)) continue;
      payments.push({ to, contract, amount: amount < left ? amount : left });
      left -= amount;
    }
    return left > 0n ? [...payments, { to: UNKNOWN, contract, amount: left }] : payments;
  });
}

function paymentOf(order: OrderRow): { to: string; amount: string } {
  return (order.request as unknown as PaymentRequest & { kind: "pay" }).payments[0];
}
