/** What is sent to a receiver: the body of an event, as its viewer may see it. @module */
import { ADMIN_EVENTS } from "../events.ts";
import { parseStoredJson } from "../json.ts";

/** An event, and who it is shown to. */
export interface ShownEvent {
  type: string;
  /** JSON. */
  payload: string;
}

/** A side of a transaction that is an account of the ledger, as it is printed. */
const NO_OWNER = '"owner":null';

/** Who is shown events. */
export interface EventReader {
  user: string;
  /** Whether the user reads the whole realm, and whether as its administrator. */
  seesAll: boolean;
  isAdmin: boolean;
}

/** The sides of a transaction, as its event has them. */
interface Transaction {
  source: { owner: string | null };
  destination: { owner: string | null };
  balances: { source: unknown; destination: unknown };
}

/** Whether a user may see an event. */
export function maySee(
  { user, seesAll, isAdmin }: EventReader,
  event: { type: string; owner: string | null; others: readonly string[] | null },
): boolean {
  if (!isAdmin && ADMIN_EVENTS.includes(event.type)) return false;
  return seesAll || event.owner === user || event.others?.includes(user) === true;
}

/**
 * The payload of an event as a user may see it, as JSON: of a transaction no balance of another's
 * account, nor of one of the ledger's own, as its route shows it.
 */
export function payloadFor(
  { type, payload }: ShownEvent,
  { user, seesAll, isAdmin }: EventReader,
): string {
  if (type !== "transaction.created" || isAdmin) return payload;
  if (seesAll && !payload.includes(NO_OWNER)) return payload; // most are between accounts of users
  const view = parseStoredJson(payload) as Partial<Transaction>;
  if (view.balances === undefined) return payload; // the id alone
  for (const side of ["source", "destination"] as const) {
    const owner = view[side]?.owner ?? null;
    if (owner === null || (!seesAll && owner !== user)) view.balances[side] = null;
  }
  return JSON.stringify(view);
}

/** The body of a delivery, by the Standard Webhooks specification. */
export function bodyOf(event: ShownEvent & { at: number }, reader: EventReader): string {
  const head = { type: event.type, timestamp: new Date(event.at).toISOString() };
  return `${JSON.stringify(head).slice(0, -1)},"data":${payloadFor(event, reader)}}`;
}
