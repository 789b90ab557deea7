/**
 * What follows when an order gets further or ends: whoever made it is told, in the transaction that
 * writes it down.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import type { Actor } from "../../domain/actor.ts";
import {
  progressConsolidation,
  settleConsolidation,
} from "../../domain/consolidations/consolidation_settlement.ts";
import { progressDeployment, settleDeployment } from "../../domain/currencies/token_deployments.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { progressPayout, settlePayout } from "../../domain/withdrawals/withdrawal_batches.ts";
import { settleRecovered } from "../../domain/recovery/recoveries.ts";
import { progressSweep, settleSweep } from "../../domain/deposits/sweeps.ts";
import {
  progressWithdrawal,
  settleWithdrawal,
} from "../../domain/withdrawals/withdrawal_settlement.ts";
import { bookGas } from "../../domain/sending/network_fees.ts";

/** Follows an order; the transaction holds the ledger lock when it has ended. */
export interface Follower {
  /** Something about it changed: a hash, a block. */
  progress?(tx: Tx, actor: Actor, order: OrderRow): Promise<void>;
  /** It has ended: done, failed, dead or canceled. */
  settle(tx: Tx, actor: Actor, order: OrderRow): Promise<void>;
}

/** Nothing waits for these; what they cost is booked. */
const NOBODY: Follower = { settle: bookGas };

/** Who follows an order, by its purpose. */
export const FOLLOWERS: Readonly<Record<OrderRow["purpose"], Follower>> = {
  withdrawal: { progress: progressWithdrawal, settle: settleWithdrawal },
  payout: { progress: progressPayout, settle: settlePayout },
  sweep: { progress: progressSweep, settle: settleSweep },
  gas: { settle: settleSweep },
  deploy: { progress: progressDeployment, settle: settleDeployment },
  recovered: { progress: progressPayout, settle: settleRecovered },
  child: NOBODY,
  fill: NOBODY,
  consolidation: { progress: progressConsolidation, settle: settleConsolidation },
};
