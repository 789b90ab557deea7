/** Orders that cannot go on now: the reason is recorded, told to whom it concerns, and given the pause until the next try. @module */
import type { HistoryEntry } from "../../db/withdrawals/withdrawals.ts";
import { noteError } from "../../domain/sending/order_states.ts";
import { noteWaiting } from "../../domain/withdrawals/withdrawal_settlement.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import { holdInTurn } from "./signing.ts";

/** Pause after which an order that waits is tried again. */
export const WAIT_MS = 15_000;
/** Longest pause of one that waits for funds: each try asks nodes for prices. */
const SHORT_MAX_MS = 600_000;

/** Reasons as they stand in the history of a withdrawal: without figures, so that each is told once. */
const SHORT = "ramp.assets_insufficient: ";
const COINS =
  `${SHORT}the coins that fit one transaction do not hold enough until some are consolidated`;
const FUNDS = `${SHORT}the ramp's address does not hold enough for it, or for its fee, now`;

/**
 * Records why an order waits. Of a withdrawal that lacks funds its history tells it too.
 *
 * @returns milliseconds until it is tried again
 */
export async function waitFor(
  work: Pick<OrderWork, "context" | "turn">,
  given: OrderRow,
  error: ChainError,
): Promise<number> {
  const { context } = work;
  const isShort = error.fault === "insufficient" && given.state === "new";
  let since = given.created_at;
  if (error.fault === "held") await holdInTurn(work, error.message);
  else {
    await stepInTurn(work, async (tx, order) => {
      await noteError(tx, order.id, error.message);
      if (!isShort || order.state !== "new") return;
      const why = needsConsolidation(error) ? COINS : FUNDS;
      since = shortSince(await noteWaiting(tx, context.actor, order, why)) ?? since;
    });
  }
  context.log("warn", "order waits", { order: given.id, fault: error.fault, error });
  if (!isShort) return WAIT_MS;
  // A tenth of the time that it was short, so that it comes soon after what was short for a moment only.
  return Math.min(SHORT_MAX_MS, Math.max(WAIT_MS, (context.actor.at - since) / 10));
}

/** Since when a withdrawal lacks funds, by its history; undefined where that does not tell it. */
function shortSince(history: readonly HistoryEntry[]): number | undefined {
  const before = history.findLastIndex((one) =>
    one.event !== "waiting" || !String(one.reason).startsWith(SHORT)
  );
  return (history[before + 1] ?? history[before])?.at; // of a reason that is not told again, since another one was
}

/** Whether there is enough, in more coins than one transaction spends. */
export function needsConsolidation({ fault, message }: ChainError): boolean {
  return fault === "insufficient" && message.includes("consolidate");
}
