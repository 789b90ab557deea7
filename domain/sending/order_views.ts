/**
 * Chain orders as administrators see them: what an order waits for, and its attempts. Signed bytes are never shown,
 * because anybody who has them can send them, and neither are addresses of nodes.
 * @module
 */
import { z } from "zod";
import { selectAccount } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import { ORDER_STATES } from "../../db/sending/chain_orders.ts";
import {
  selectOpenOrders,
  selectPayingOrder,
  type ShownAttempt,
  type ShownOrderRow,
} from "../../db/sending/shown_orders.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, nativeAsset, tokenByContract } from "../assets.ts";
import { invalidQuery } from "../collections/filter.ts";
import { Id } from "../entity.ts";
import { isId } from "../ids.ts";
import { fromUnits, jsonNumber } from "../money.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";
import { shownText } from "../shown_texts.ts";

const fields = {
  state: z.enum(ORDER_STATES),
  since: z.number().int().meta({ description: "When it came into its state." }),
  error: z.string().nullable().meta({
    description: "Why it waits, or how it ended, without addresses of hosts.",
  }),
  runs: z.number().int().meta({ description: "Runs that were scheduled for it so far." }),
  attempts: z.array(z.object({
    hash: z.string().nullable().meta({ description: "Null while it is not signed." }),
    fee: z.object({ asset: z.string(), value: z.number() }).nullable().meta({
      description: "The most that it can cost.",
    }),
    sent_at: z.number().int().nullable().meta({ description: "When it was first sent." }),
    outcome: z.string().nullable().meta({ description: "What the nodes said to its bytes." }),
    dead: z.boolean().meta({ description: "It is proven that it will never be mined." }),
  })),
};

/** The order of a withdrawal: that of its batch where one pays it. */
export const PayingOrderView = z.object({
  ...fields,
  batch_order: z.string().nullable().meta({
    description: "The order of the batch whose transaction pays it, with others.",
  }),
  ahead: z.number().int().meta({
    description: "Orders of the same sender in no block yet that come first: with a smaller " +
      "nonce, or whose change it spends.",
  }),
}).meta({ id: "PayingOrder" });

/** An open order of a ramp. */
export const OrderView = z.object({
  id: z.string(),
  purpose: z.string().meta({ example: "withdrawal" }),
  reference: z.string().nullable().meta({
    description: "The withdrawal, sweep, token or consolidation that it is for.",
  }),
  chain: z.string(),
  network: z.string(),
  sender: z.string(),
  nonce: z.number().int().nullable(),
  ...fields,
  created_at: z.number().int(),
}).meta({ id: "ChainOrder" });

/** Which orders of a ramp are listed. */
export const OrderList = z.strictObject({
  open: z.enum(["true"]).optional().meta({
    description: "Open orders alone are listed, with it and without.",
  }),
  after: Id.optional().meta({ description: "The last order of the page before." }),
  limit: z.string().regex(/^([1-9]\d{0,2}|1000)$/, "from 1 to 1000 is allowed").optional().meta({
    type: "integer",
    minimum: 1,
    maximum: 1000,
  }),
});
/** Which orders of a ramp are listed. */
export type OrderList = z.infer<typeof OrderList>;

/** Orders of a list unless it is asked for others. */
export const ORDERS_USUAL = 100;

/** The order whose transaction pays for one, as an administrator sees it. */
export async function viewPayingOrder(
  db: Db,
  id: string,
): Promise<Record<string, unknown> | null> {
  const row = await selectPayingOrder(db, id);
  if (row === null) return null;
  return { ...shown(row), batch_order: row.id === id ? null : row.id, ahead: row.ahead };
}

/**
 * Lists the open orders of a ramp by their ids, oldest first.
 *
 * @throws {DomainError} permission.role, permission.scope, ramp.not_found, query.invalid
 */
export async function listOrders(
  db: Db,
  actor: Actor,
  { ramp, after, limit }: OrderList & { ramp: string },
): Promise<Record<string, unknown>[]> {
  assertRealmAdmin(actor);
  if (after !== undefined && !isId(after)) {
    throw invalidQuery("/after", "the id of an order is expected");
  }
  const account = isId(ramp) ? await selectAccount(db, ramp) : null;
  if (account === null || account.type !== "ramp") throw notFound("ramp.not_found");
  const rows = await selectOpenOrders(db, {
    ramp,
    after: after ?? null,
    limit: limit === undefined ? ORDERS_USUAL : parseInt(limit, 10),
  });
  return rows.map((row) => ({
    id: row.id,
    purpose: row.purpose,
    reference: row.reference_id,
    chain: row.chain,
    network: row.network,
    sender: row.sender,
    nonce: row.nonce,
    ...shown(row),
    created_at: row.created_at,
  }));
}

function shown(row: ShownOrderRow): Record<string, unknown> {
  return {
    state: row.state,
    since: row.state_at,
    error: row.error === null ? null : shownText(row.error),
    runs: row.schedule_version,
    attempts: row.attempts.map(({ hash, fee, sent_at, outcome, dropped }) => ({
      hash,
      fee: fee === null ? null : shownFee(row, fee),
      sent_at,
      outcome: outcome === null ? null : shownText(outcome),
      dead: dropped,
    })),
  };
}

/** A fee in whole units of the asset that pays it; null for a token that the registry does not know. */
function shownFee(
  row: Pick<ShownOrderRow, "chain" | "fee_contract">,
  fee: NonNullable<ShownAttempt["fee"]>,
): Record<string, unknown> | null {
  const { chain, fee_contract } = row;
  const asset = fee_contract === null
    ? nativeAsset(chain as ChainId)
    : tokenByContract(chain as ChainId, fee_contract);
  if (asset === null) return null;
  return { asset: asset.code, value: jsonNumber(fromUnits(BigInt(fee), asset.decimals)) };
}
