/**
 * What transactions of our own keys moved that their bytes do not tell: the chain tells what addresses of ours lost, and
 * what those got that withdrawals are due.
 * @module
 */
import { type NetworkKey, selectCursor } from "../../db/chains/cursors.ts";
import type { Db } from "../../db/database.ts";
import { selectPaidUnfound } from "../../db/recovery/found_payments.ts";
import {
  type ArrivedRow,
  selectArrived,
  selectOwnAddresses,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import { toUnits } from "../../domain/money.ts";
import { selectLost } from "../../domain/recovery/found_parts.ts";
import type { FoundPayment, FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import type { OrderRow, PaymentRequest } from "../../domain/sending/chain_orders.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Outflow } from "../chains/outgoing.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Where such transactions are searched. */
export interface OutflowSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: NetworkKey;
  /** Ids of the ramps whose withdrawals they may have paid. */
  readonly ramps: readonly string[];
}

/** Who got what no address tells. */
const UNKNOWN = "unknown";
/** Most withdrawals to one address whose sums are compared with what it got. */
const SUMMED_MAX = 12;

/** What a withdrawal is to be paid, or was by an operator's word before its payment was found. */
export interface Due {
  readonly withdrawal: string;
  readonly ramp: string;
  /** Null where any address of the ramp may have paid it. */
  readonly sender: string | null;
  readonly to: string;
  readonly contract: string | null;
  readonly amount: bigint;
}

/** A withdrawal that an outflow shows as paid, and how much of that addresses of ours lost by it. */
export interface PaidDue extends Due {
  readonly ours: bigint;
}

/**
 * The withdrawals that it may have paid: those that wait, those whose sent transactions its inputs replaced, and those
 * that an operator called paid.
 */
export async function dueOf(
  db: Db,
  { place, ramps }: OutflowSearch,
  inputs: readonly string[],
): Promise<Due[]> {
  const waiting = (await selectUnsigned(db, place, ramps))
    .filter(({ purpose }) => purpose === "withdrawal");
  const lost = [...(await selectLost(db, place, { inputs, deep: true })).keys()];
  const called = await selectPaidUnfound(db, place, ramps);
  return [
    ...[...waiting, ...lost].map((order) => {
      const { to, amount } = paymentOf(order);
      const contract = order.contract === "" ? null : order.contract;
      const { ramp, sender } = order;
      const withdrawal = order.reference_id!;
      return { ...{ withdrawal, ramp, sender, to, contract }, amount: BigInt(amount) };
    }),
    ...called.map(({ id, ramp, destination, contract, amount, decimals }) => ({
      ...{ withdrawal: id, ramp, sender: null, to: destination, contract },
      amount: toUnits(amount, decimals),
    })),
  ];
}

/**
 * Asks what a transaction moved. What arrived at an address of ours as a deposit has left: its customer gets it. Not
 * where that address signed it and the deposit is held: then it is what came back.
 *
 * @throws {ChainError} `held` while its block is not scanned: what it brings as deposits is not known
 */
export async function outflowOf(
  { context, chain, place }: OutflowSearch,
  { hash, height }: Pick<FoundTransaction, "hash" | "height">,
  due: readonly Due[],
): Promise<{ outflow: Outflow; arrived: ReadonlySet<string> }> {
  const { all, deposits, cursor } = await reading(context.pool, async (db) => ({
    all: await selectOwnAddresses(db, place),
    cursor: await selectCursor(db, place),
    deposits: await selectArrived(db, place, hash),
  }));
  if (cursor === null || cursor.height < height) {
    throw new ChainError("held", `the block of ${hash} is not scanned yet: run it again`);
  }
  const arrived = new Set(deposits.map(({ address }) => address));
  const ask = async () =>
    await chain.outflow!(hash, {
      own: new Set(all.filter((one) => !arrived.has(one))),
      to: new Set([...due.map(({ to }) => to), ...arrived]),
    });
  const outflow = await ask();
  const back = outflow.from.filter((one) => arrived.delete(one));
  if (back.length === 0) return { outflow, arrived };
  const credited = deposits.filter(({ address, held }) => !held && back.includes(address));
  return { outflow: withCredited(await ask(), credited), arrived };
}

/** What an outflow took where deposits at addresses that signed it are credited: that did not come back to us. */
function withCredited(
  outflow: Outflow,
  credited: readonly ArrivedRow[],
): Outflow {
  const sumOf = (contract: string | null) =>
    credited.filter((one) => one.contract === contract)
      .reduce((sum, { amount, decimals }) => sum + toUnits(amount, decimals), 0n);
  return {
    ...outflow,
    assets: outflow.assets.map((one) => ({ ...one, lost: one.lost + sumOf(one.contract) })),
  };
}

/**
 * The withdrawals that an outflow shows as paid: what an address got is just what some to it are due in all. What ours
 * did not lose meanwhile, a contract had before.
 */
export function paidBy({ assets }: Outflow, due: readonly Due[]): PaidDue[] {
  return assets.flatMap(({ contract, lost, got }) => {
    let left = lost > 0n ? lost : 0n;
    return got.flatMap(({ to, amount }) => {
      const those = due.filter((one) => one.to === to && one.contract === contract);
      return (summing(those.slice(0, SUMMED_MAX), amount) ?? []).map((one) => {
        const ours = one.amount < left ? one.amount : left;
        left -= ours;
        return { ...one, ours };
      });
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
 * lost. What others paid beside us is not ours to bear.
 *
 * @param rest who got that rest; nobody that is known, unless given
 */
export function paymentsOf(
  outflow: Outflow,
  due: readonly Due[],
  arrived: ReadonlySet<string>,
  rest: string = UNKNOWN,
): FoundPayment[] {
  const paid = paidBy(outflow, due);
  return outflow.assets.flatMap(({ contract, lost, got }) => {
    const those = paid.filter((one) => one.contract === contract);
    const payments: FoundPayment[] = those.map(({ to, amount, ours }) => ({
      ...{ to, contract, amount },
      ...(ours < amount ? { ours } : {}),
    }));
    let left = lost - those.reduce((sum, { ours }) => sum + ours, 0n);
    for (const { to, amount } of got) {
      if (left <= 0n || !arrived.has(to) || payments.some((one) => one.to === to)) continue;
      payments.push({ to, contract, amount: amount < left ? amount : left });
      left -= amount;
    }
    return left > 0n ? [...payments, { to: rest, contract, amount: left }] : payments;
  });
}

/**
 * Reads what a call that nothing here makes moved, beside the coins that its bytes tell. Any other transaction stays as
 * it is read.
 *
 * @throws {ChainError} `unavailable` where its block may be lost, or too few nodes tell what it moved
 */
export async function withCalls(
  search: OutflowSearch,
  found: FoundTransaction,
): Promise<FoundTransaction> {
  const { hash, calls, inputs, from, deep } = found;
  if (calls === null) return found;
  if (!deep) {
    throw new ChainError(
      "unavailable",
      `${hash} calls ${calls}, and may still lose its block: run it again when more lie above it`,
    );
  }
  const due = (await reading(search.context.pool, (db) => dueOf(db, search, inputs)))
    .filter(({ sender }) => (sender ?? from) === from);
  const { outflow, arrived } = await outflowOf(search, found, due);
  return { ...found, payments: paymentsOf(outflow, due, arrived, calls) };
}

function paymentOf(order: OrderRow): { to: string; amount: string } {
  return (order.request as unknown as PaymentRequest & { kind: "pay" }).payments[0];
}
