/** What one withdrawal's own route shows beyond lists: its order, and what may be done with it now. @module */
import type { Db } from "../../db/database.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import type { WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { DomainError, type ErrorCode } from "../errors.ts";
import { assertMay, isRealmAdmin } from "../permissions.ts";
import { viewPayingOrder } from "../sending/order_views.ts";
import { assertSpeedable } from "./speed_ups.ts";
import { assertCancelable } from "./withdrawals.ts";

/** Shows the order of a withdrawal to administrators, and to everybody what it may do. */
export async function detailOf(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
): Promise<Record<string, unknown>> {
  const order = isRealmAdmin(actor) ? await viewPayingOrder(db, row.order_id) : null;
  return { ...(order === null ? {} : { order }), acts: await actsOf(db, actor, row) };
}

async function actsOf(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
): Promise<Record<"cancel" | "speed_up", true | ErrorCode>> {
  const open = row.status === "PROCESSING";
  const own = open ? await selectOrder(db, row.order_id) : null;
  const batch = own?.batch_order_id ?? null;
  const paying = batch === null ? own : await selectOrder(db, batch);
  const judge = async (check: () => Promise<void>) => {
    try {
      assertMay(actor, "write", { owner: row.owner, what: "withdrawal.not_found" });
      await check();
      return true;
    } catch (error) {
      if (error instanceof DomainError) return error.code;
      throw error;
    }
  };
  return {
    cancel: await judge(() => assertCancelable(db, actor, row, own)),
    speed_up: await judge(() => assertSpeedable(db, actor, row, paying)),
  };
}
