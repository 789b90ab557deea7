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
  insertDeliveries,
  insertPublished,
  lockEventHead,
  markPublished,
  type NewEventRow,
  selectUnpublished,
} from "../db/events.ts";
import { idTime, newIds } from "./ids.ts";

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
  const last = await lockEventHead(tx);
  if (last === null) return null;
  const positions = await selectUnpublished(tx, limit);
  if (positions.length === 0) return { events: 0, deliveries: 0 };
  const ids = idsAfter(last, by.at, positions.length);
  await markPublished(tx, positions, ids);
  return { events: ids.length, deliveries: await insertDeliveries(tx, ids, by.at) };
}

/** Publishes events that are committed together with their ids, in their order. */
export async function publishNow(
  tx: Tx,
  by: { at: number },
  events: readonly NewEventRow[],
): Promise<void> {
  const ids = idsAfter(await awaitEventHead(tx), by.at, events.length);
  await insertPublished(tx, events.map((event, i) => ({ id: ids[i], ...event })));
  await insertDeliveries(tx, ids, by.at);
}

/** Ids that are greater than the last one, also where another process's clock is ahead. */
function idsAfter(last: string, at: number, count: number): string[] {
  return newIds(Math.max(at, idTime(last) + 1), count).ids;
}
