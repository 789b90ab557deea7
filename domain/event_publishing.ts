/**
 * Publishing of events. Transactions commit in another order than they began, so an event gets its
 * id only when it is committed: one process at a time gives ids, each greater than all before, and
 * adds the deliveries to webhooks in the same transaction. A reader that has seen an id therefore
 * never meets a smaller one later (docs/adr/0026-event-log.md).
 * @module
 */
import type { Tx } from "../db/database.ts";
import {
  awaitEventHead,
  type EventHead,
  insertDeliveries,
  insertPublished,
  lockEventHead,
  markPublished,
  type NewEventRow,
  selectUnpublished,
} from "../db/events.ts";
import { ADMIN_EVENTS, type EventType } from "./events.ts";
import { idTime, randomId } from "./ids.ts";

/** What one turn published. */
export interface Published {
  events: number;
  deliveries: number;
}

/** Publishes the oldest committed events; null while another process publishes. */
export async function publishWaiting(
  tx: Tx,
  by: { at: number },
  limit: number,
): Promise<Published | null> {
  const head = await lockEventHead(tx);
  if (head === null) return null;
  const positions = await selectUnpublished(tx, limit);
  if (positions.length === 0) return { events: 0, deliveries: 0 };
  const ids = idsAfter(head, positions.length);
  await markPublished(tx, positions, ids);
  const how = { at: dueAt(head, by), forAdmins: ADMIN_EVENTS };
  return { events: ids.length, deliveries: await insertDeliveries(tx, ids, how) };
}

/** Publishes events of one type, not for administrators alone, that are committed together with their ids, in their order. */
export async function publishNow(
  tx: Tx,
  by: { at: number },
  type: EventType,
  events: readonly Omit<NewEventRow, "type">[],
): Promise<void> {
  const head = await awaitEventHead(tx);
  const ids = idsAfter(head, events.length);
  const rows = events.map((event, i) => ({ id: ids[i], ...event }));
  await insertPublished(tx, rows, { type, due: dueAt(head, by) });
}

/**
 * Ids that are greater than the last one, of the database's time: one process whose clock is a year
 * ahead would otherwise leave all later events a year ahead, and nothing would be deleted meanwhile.
 */
function idsAfter({ last, now }: EventHead, count: number): string[] {
  const at = Math.max(now, idTime(last) + 1);
  return Array.from({ length: count }, () => randomId(at)).sort();
}

/** When deliveries are due: at once, also for processes whose clocks are behind this one's. */
function dueAt({ now }: EventHead, { at }: { at: number }): number {
  return Math.min(at, now);
}
