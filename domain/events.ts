/** Outgoing events: rows written in the transaction that causes them, delivered later. @module */
import type { Tx } from "../db/database.ts";
import { insertEvent } from "../db/records.ts";
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
