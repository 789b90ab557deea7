/** Statements on deliveries, as users see them. @module */
import type { Db, Tx } from "../database.ts";

/** Where a delivery stands. */
export type DeliveryStatus = "PENDING" | "DELIVERED" | "FAILED";

/** A delivery as stored. */
export interface DeliveryRow {
  webhook: string;
  event: string;
  type: string;
  entity: string;
  status: DeliveryStatus;
  attempts: number;
  next_at: number | null;
  last_at: number | null;
  latency_ms: number | null;
  response_status: number | null;
  response_body: string | null;
  failure: string | null;
  created_at: number;
}

const COLUMNS = [
  "webhook",
  "event",
  "type",
  "entity",
  "status",
  "attempts",
  "next_at",
  "last_at",
  "latency_ms",
  "response_status",
  "response_body",
  "failure",
  "created_at",
] as const;

/** Reads deliveries of a webhook, the newest first, before an event. */
export async function selectDeliveries(
  db: Db,
  of: { webhook: string; before: string | null; status: DeliveryStatus | null; limit: number },
): Promise<DeliveryRow[]> {
  return await db<DeliveryRow[]>`
    select ${db(COLUMNS)} from webhook_deliveries where webhook = ${of.webhook}
      ${of.before === null ? db`` : db`and event < ${of.before}`}
      ${of.status === null ? db`` : db`and status = ${of.status}`}
    order by event desc limit ${of.limit}`;
}

/** Reads one delivery. */
export async function selectDelivery(
  db: Db,
  webhook: string,
  event: string,
): Promise<DeliveryRow | null> {
  const [row] = await db<DeliveryRow[]>`
    select ${db(COLUMNS)} from webhook_deliveries
    where webhook = ${webhook} and event = ${event}`;
  return row ?? null;
}

/** Has a delivery sent again from the first attempt. */
export async function resendDelivery(
  tx: Tx,
  { webhook, event, at }: { webhook: string; event: string; at: number },
): Promise<DeliveryRow> {
  const [row] = await tx<DeliveryRow[]>`
    update webhook_deliveries set status = 'PENDING', attempts = 0, next_at = ${at},
      first_at = null
    where webhook = ${webhook} and event = ${event} returning ${tx(COLUMNS)}`;
  return row;
}

/** Has failed deliveries of events between two ids sent again, the oldest first; gives their number. */
export async function resendFailed(
  tx: Tx,
  of: { webhook: string; from: string; to: string; at: number; limit: number },
): Promise<number> {
  // A join would read all of them for each, where nobody knows yet how many have failed.
  const resent = await tx`
    update webhook_deliveries set status = 'PENDING', attempts = 0, next_at = ${of.at},
      first_at = null
    where webhook = ${of.webhook} and event = any (array(
      select event from webhook_deliveries where webhook = ${of.webhook}
        and status = 'FAILED' and event > ${of.from} and event <= ${of.to}
      order by event limit ${of.limit}))`;
  return resent.count;
}

/**
 * Erases what receivers answered to events about the messages to a person: some repeat what they are sent, and with it
 * the person's address.
 */
export async function eraseResponses(tx: Tx, person: string): Promise<void> {
  await tx`
    update webhook_deliveries set response_body = null
    where ctid = any (array(
      select d.ctid from messages m
        join events e on e.entity = m.id and e.type = 'message.updated' and e.id is not null
        cross join webhooks w
        cross join lateral (select ctid from webhook_deliveries
          where webhook = w.id and event = e.id and response_body is not null offset 0) d
      where m.person = ${person}))`;
}
