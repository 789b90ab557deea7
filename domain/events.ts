/** Outgoing events: rows written in the transaction that causes them, delivered later. @module */
import type { Tx } from "../db/database.ts";
import { insertEvent, insertEvents } from "../db/records.ts";
import { newId } from "./ids.ts";

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
  "token.deployed",
  "message.updated",
  "persons.sync.finished",
  "solvency.drift",
  "chain.quarantined",
  "ramp.cost_limited",
  "ramp.gas_insufficient",
  "stop.set",
  "stop.lifted",
  "coin.corrected",
] as const;

/** The type of an event. */
export type EventType = typeof EVENT_TYPES[number];

/** Events that one statement adds: each may show free-form data of 64 KiB. */
const EVENTS_AT_ONCE = 100;

/** Adds events of one type, in their order, a hundred with each statement. */
export async function emitAll(
  tx: Tx,
  by: { at: number },
  type: EventType,
  entities: readonly { id: string; owner: string | null; view: unknown }[],
): Promise<void> {
  for (let from = 0; from < entities.length; from += EVENTS_AT_ONCE) {
    const some = entities.slice(from, from + EVENTS_AT_ONCE);
    await insertEvents(
      tx,
      some.map(({ id, owner, view }) => ({
        id: newId(by.at),
        type,
        entity: id,
        owner,
        payload: view,
        created_at: by.at,
      })),
    );
  }
}

/** Adds an event about an entity; it exists exactly if the caller's transaction commits. */
export async function emit(
  tx: Tx,
  by: { at: number },
  type: EventType,
  entity: { id: string; owner: string | null; view: unknown },
): Promise<void> {
  await insertEvent(tx, {
    id: newId(by.at),
    type,
    entity: entity.id,
    owner: entity.owner,
    payload: entity.view,
    created_at: by.at,
  });
}
