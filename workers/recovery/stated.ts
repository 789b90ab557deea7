/**
 * Transactions of our own keys that cannot be read: an operator looks at each, and says how it is to be booked. What it
 * moved is the chain's word.
 * @module
 */
import { type OwnPlace, selectOwnPlaces } from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import { ChainError } from "../chains/chain.ts";
import {
  type Due,
  dueOf,
  outflowOf,
  type OutflowSearch,
  paidBy,
  paymentsOf,
} from "../sending/found_outflows.ts";
import { readFound } from "../sending/found_transactions.ts";

/** How a transaction is to be booked, by its hash: as the payment of withdrawals, or (of none) as a loss. */
export type Statements = Map<string, readonly string[]>;

/** A transaction of a block, and whether it lies as deep as a payment must. */
export type Mined = Pick<FoundTransaction, "hash" | "height" | "deep">;

/**
 * Reads what an unreadable transaction moved; null where no address of ours signed it.
 *
 * @throws {ChainError} `unavailable` where nodes disagree or its block is not final, `refused` where nothing tells it
 */
export async function readStated(
  search: OutflowSearch,
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
  if (chain.nonces !== null) {
    throw new ChainError("refused", `${hash}: nothing tells what it moved`);
  }
  const raw = await chain.raw(mined);
  const due = (await reading(context.pool, (db) => dueOf(db, search, [])))
    .toSorted((one, other) => Number(isSaid(stated, other)) - Number(isSaid(stated, one)));
  const { outflow, arrived } = await outflowOf(search, mined, due);
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
