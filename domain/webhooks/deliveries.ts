/** Deliveries of webhooks as users see them: the list, and what is sent again. @module */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  type DeliveryRow,
  resendDelivery,
  resendFailed,
  selectDeliveries,
  selectDelivery,
} from "../../db/webhooks/deliveries.ts";
import type { Actor } from "../actor.ts";
import { rowFor } from "../collections/collection.ts";
import { Id, Timestamp } from "../entity.ts";
import { idBound, isId } from "../ids.ts";
import { notFound } from "../permissions.ts";
import { assertActive, WEBHOOKS } from "./webhooks.ts";

const Status = z.enum(["PENDING", "DELIVERED", "FAILED"]);

/** Which deliveries are listed. */
export const DeliveryList = z.strictObject({
  status: Status.optional(),
  limit: z.string().regex(/^([1-9]\d{0,2}|1000)$/, "from 1 to 1000 is allowed").optional().meta({
    type: "integer",
    minimum: 1,
    maximum: 1000,
  }),
  after: Id.optional().meta({ description: "Older ones than this delivery." }),
});
/** Which deliveries are listed. */
export type DeliveryList = z.infer<typeof DeliveryList>;

/** The span of events whose failed deliveries are sent again. */
export const ResendSpan = z.strictObject({
  from: Timestamp,
  to: Timestamp.optional().meta({ description: "Included; until now unless given." }),
}).meta({ id: "ResendSpan" });
/** The span of events whose failed deliveries are sent again. */
export type ResendSpan = z.infer<typeof ResendSpan>;

/** How many deliveries are sent again. */
export const ResentView = z.object({ resent: z.number().int() }).meta({ id: "Resent" });

/** A delivery as shown. */
export const DeliveryView = z.object({
  id: z.string(),
  webhook: z.string(),
  webhook_id: z.string().meta({ description: "The header `webhook-id` of each attempt." }),
  type: z.string(),
  entity: z.string(),
  status: Status,
  attempts: z.number().int(),
  next_attempt_at: z.number().int().nullable(),
  last_attempt_at: z.number().int().nullable(),
  latency_ms: z.number().int().nullable().meta({ description: "Of the last attempt." }),
  response: z.object({
    status: z.number().int(),
    body: z.string().meta({ description: "Its first 1024 bytes." }),
  }).nullable(),
  failure: z.string().nullable().meta({ description: "Why the last attempt failed." }),
  created_at: z.number().int(),
}).meta({ id: "Delivery" });

/** Deliveries of a list that is asked for without `limit`. */
export const DELIVERIES_USUAL = 100;
/** Deliveries that one request has sent again. */
const RESENT_MAX = 1000;

/**
 * Lists the deliveries of a webhook, the newest first.
 *
 * @throws {DomainError} webhook.not_found
 */
export async function listDeliveries(
  db: Db,
  actor: Actor,
  { webhook, status, limit = `${DELIVERIES_USUAL}`, after }: DeliveryList & { webhook: string },
): Promise<Record<string, unknown>[]> {
  await rowFor(db, actor, WEBHOOKS, webhook, "read");
  if (after !== undefined && !isId(after)) {
    throw notFound("delivery.not_found", "/after", "query");
  }
  const rows = await selectDeliveries(db, {
    webhook,
    before: after ?? null,
    status: status ?? null,
    limit: parseInt(limit, 10),
  });
  return rows.map(viewDelivery);
}

/**
 * Has one delivery sent again, with the same `webhook-id`.
 *
 * @throws {DomainError} webhook.not_found, delivery.not_found, permission.*, version.conflict
 */
export async function resendOne(
  tx: Tx,
  actor: Actor,
  { webhook, delivery }: { webhook: string; delivery: string },
): Promise<Record<string, unknown>> {
  assertActive(await rowFor(tx, actor, WEBHOOKS, webhook, "write"));
  const row = isId(delivery) ? await selectDelivery(tx, webhook, delivery) : null;
  if (row === null) throw notFound("delivery.not_found");
  if (row.status === "PENDING" && row.attempts === 0) return viewDelivery(row);
  return viewDelivery(await resendDelivery(tx, { webhook, event: delivery, at: actor.at }));
}

/**
 * Has the failed deliveries of a span sent again, a thousand at most; the answer tells how many.
 *
 * @throws {DomainError} webhook.not_found, permission.*, version.conflict
 */
export async function resendSpan(
  tx: Tx,
  actor: Actor,
  { webhook, from, to = actor.at }: ResendSpan & { webhook: string },
): Promise<z.infer<typeof ResentView>> {
  assertActive(await rowFor(tx, actor, WEBHOOKS, webhook, "write"));
  const span = { from: idBound(from - 1), to: idBound(to), at: actor.at, limit: RESENT_MAX };
  return { resent: await resendFailed(tx, { webhook, ...span }) };
}

function viewDelivery(row: DeliveryRow): Record<string, unknown> {
  return {
    id: row.event,
    webhook: row.webhook,
    webhook_id: row.event,
    type: row.type,
    entity: row.entity,
    status: row.status,
    attempts: row.attempts,
    next_attempt_at: row.next_at,
    last_attempt_at: row.last_at,
    latency_ms: row.latency_ms,
    response: row.response_status === null
      ? null
      : { status: row.response_status, body: row.response_body ?? "" },
    failure: row.failure,
    created_at: row.created_at,
  };
}
