/** Rules of chain orders by their purpose. @module */
import type { OrderRow } from "../../db/sending/chain_orders.ts";

/** The purpose of a chain order. */
export type OrderPurpose = OrderRow["purpose"];

/** Rules for the orders of a purpose. */
export interface PurposeRules {
  /** Whether it pays several withdrawals, each with an order of its own. */
  readonly isBatch: boolean;
  /** Whether it moves nothing, and uses up a nonce that others wait behind. */
  readonly fillsNonce: boolean;
  /** Whether its plan can be released while it may not be signed: it is planned again afterwards. */
  readonly isReplanned: boolean;
  /** Whether its cost counts towards the daily limit of its ramp. */
  readonly countsToRamp: boolean;
}

const NONE: PurposeRules = {
  isBatch: false,
  fillsNonce: false,
  isReplanned: false,
  countsToRamp: false,
};

/** A purpose without rules does not compile. */
export const PURPOSE_RULES: Readonly<Record<OrderPurpose, PurposeRules>> = {
  withdrawal: { ...NONE, isReplanned: true, countsToRamp: true },
  batch: { ...NONE, isBatch: true, countsToRamp: true },
  sweep: { ...NONE, isReplanned: true },
  gas: { ...NONE, isReplanned: true },
  deploy: { ...NONE, isReplanned: true },
  fill: { ...NONE, fillsNonce: true, countsToRamp: true },
  cpfp: { ...NONE, countsToRamp: true },
  consolidation: NONE,
  recovered: { ...NONE, isBatch: true },
};
