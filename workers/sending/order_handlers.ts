/** The handler of each purpose that a chain order can have. @module */
import {
  progressConsolidation,
  settleConsolidation,
} from "../../domain/consolidations/consolidation_settlement.ts";
import { progressDeployment, settleDeployment } from "../../domain/currencies/token_deployments.ts";
import { progressSweep, settleSweep } from "../../domain/deposits/sweeps.ts";
import {
  giveUpRecovered,
  settleFill,
  settleRecovered,
} from "../../domain/recovery/recovered_payments.ts";
import { bookGas } from "../../domain/sending/network_fees.ts";
import { progressBatch, settleBatch } from "../../domain/withdrawals/withdrawal_batches.ts";
import {
  progressWithdrawal,
  settleWithdrawal,
} from "../../domain/withdrawals/withdrawal_settlement.ts";
import { admitConsolidation, lockConsolidationInputs } from "./consolidations.ts";
import type { OrderHandlers } from "./order_work.ts";
import { planBatch } from "./withdrawal_batches.ts";

/** A purpose without a handler does not compile. */
export const ORDER_HANDLERS: OrderHandlers = {
  withdrawal: {
    planBatch: planBatch,
    spedUpByUser: true,
    progress: progressWithdrawal,
    settle: settleWithdrawal,
  },
  batch: { spedUpByUser: true, progress: progressBatch, settle: settleBatch },
  sweep: { failsEmptied: true, paysRamp: true, progress: progressSweep, settle: settleSweep },
  gas: { settle: settleSweep },
  deploy: { progress: progressDeployment, settle: settleDeployment },
  recovered: { giveUp: giveUpRecovered, progress: progressBatch, settle: settleRecovered },
  cpfp: { endsDropped: true, settle: bookGas },
  fill: { settle: settleFill },
  consolidation: {
    selectInputs: lockConsolidationInputs,
    admitPlan: admitConsolidation,
    failsUnplanned: true,
    spedUpByUser: true,
    progress: progressConsolidation,
    settle: settleConsolidation,
  },
};
