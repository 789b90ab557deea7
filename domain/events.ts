/** Outgoing events: rows written in the transaction that causes them, delivered later. @module */
import type { Tx } from "../db/database.ts";
import { insertEvents } from "../db/events.ts";

/** Every event that can be subscribed to (contract, section 13). */
export const EVENT_TYPES = [
  "account.enabled",
  "transaction.created",
  "deposit.pending",
  "deposit.confirmed",
  "deposit.orphaned",
  "deposit.forwarded",
  "app.deposit.updated",
  "withdrawal.updated",
  "withdrawal.stuck",
  "token.deployed",
  "message.updated",
  "persons.sync.finished",
  "solvency.drift",
  "chain.quarantined",
  "chain.halted",
  "chain.lagging",
  "ramp.cost_limited",
  "ramp.gas_insufficient",
  "address.paused",
  "ramp.transfer.updated",
  "stop.set",
  "stop.lifted",
  "coin.corrected",
  "job.dead",
  "webhook.disabled",
] as const;

/** The type of an event; a test of a webhook is sent to that webhook alone. */
export type EventType = typeof EVENT_TYPES[number] | "webhook.test";

/** Events of what the API shows to administrators of the realm alone. */
export const ADMIN_EVENTS: readonly string[] = [
  "solvency.drift",
  "job.dead",
] satisfies EventType[];

/** Events that one statement adds: each may show 20 kB. */
const EVENTS_AT_ONCE = 100;
/** Longest payload, in bytes of UTF-8. */
const PAYLOAD_MAX = 20_000;

/** The entity that an event is about. */
export interface Told {
  id: string;
  /** Null: only users who see the whole realm see the event. */
  owner: string | null;
  /** Further users who see the entity. */
  others?: readonly string[];
  /** As the API shows it. */
  view: unknown;
}

/** Adds events of one type, in their order; with nobody listening, none. */
export async function emitAll(
  tx: Tx,
  by: { at: number },
  type: EventType,
  entities: readonly Told[],
): Promise<void> {
  for (let from = 0; from < entities.length; from += EVENTS_AT_ONCE) {
    const some = entities.slice(from, from + EVENTS_AT_ONCE);
    await insertEvents(
      tx,
      type,
      some.map(({ id, owner, others = [], view }) => ({
        type,
        entity: id,
        owner,
        others,
        payload: payloadOf(id, view),
        created_at: by.at,
      })),
    );
  }
}

/**
 * Adds an event about an entity, if anybody listens; it exists exactly if the caller's transaction
 * commits.
 */
export async function emit(tx: Tx, by: { at: number }, type: EventType, told: Told): Promise<void> {
  await emitAll(tx, by, type, [told]);
}

/** The payload of an event: the view, or the id alone where the view is large. */
export function payloadOf(id: string, view: unknown): string {
  const text = JSON.stringify(view);
  return isLong(text) ? JSON.stringify({ id }) : text;
}

function isLong(text: string): boolean {
  // A unit of UTF-16 is three bytes of UTF-8 at most.
  if (text.length * 3 <= PAYLOAD_MAX) return false;
  return text.length > PAYLOAD_MAX || new TextEncoder().encode(text).length > PAYLOAD_MAX;
}
