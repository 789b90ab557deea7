/** What is sent to a receiver: the body of an event, as its viewer may see it. @module */
import { parseStoredJson } from "../json.ts";

/** An event, and who it is shown to. */
export interface ShownEvent {
  type: string;
  /** JSON. */
  payload: string;
}

/** The sides of a transaction, as its event has them. */
interface Transaction {
  source: { owner: string | null };
  destination: { owner: string | null };
  balances: { source: unknown; destination: unknown };
}

/**
 * The payload of an event as a user may see it, as JSON: of a transaction no balance of another's
 * account.
 *
 * @param viewer null for users who see the whole realm
 */
export function payloadFor({ type, payload }: ShownEvent, viewer: string | null): string {
  if (type !== "transaction.created" || viewer === null) return payload;
  const view = parseStoredJson(payload) as Partial<Transaction>;
  if (view.balances === undefined) return payload; // the id alone
  for (const side of ["source", "destination"] as const) {
    if (view[side]?.owner !== viewer) view.balances[side] = null;
  }
  return JSON.stringify(view);
}

/** The body of a delivery, by the Standard Webhooks specification. */
export function bodyOf(event: ShownEvent & { at: number }, viewer: string | null): string {
  const head = { type: event.type, timestamp: new Date(event.at).toISOString() };
  return `${JSON.stringify(head).slice(0, -1)},"data":${payloadFor(event, viewer)}}`;
}
