/**
 * The pace of messages to a recipient: 20 a minute, whoever sends them (contract, section 12.3). A sender that is alone may
 * use them all. Where others have sent to the same recipient lately, nobody uses up theirs.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { selectPace } from "../../db/messages/messages.ts";
import { selectSenders } from "../../db/messages/pace.ts";
import { type Actor, reachesRealm } from "../actor.ts";
import { DomainError } from "../errors.ts";

/** Most messages to one recipient in a minute. */
export const PACE_MAX = 20;
/** The time in which they are counted. */
export const PACE_MS = 60_000;
/** Of these, most of one customer where others send too, and of all customers: those who work for the realm have the rest. */
const CUSTOMER_MAX = 10;
const CUSTOMERS_MAX = 15;
/** How long a sender is one of several. */
const SEVERAL_MS = 3_600_000;

/**
 * Refuses a message for which its recipient has had too many.
 *
 * @param notice whether the service writes by itself: such messages are counted apart
 * @throws {DomainError} rate.limited
 */
export async function assertPace(
  tx: Tx,
  actor: Actor,
  { destination, notice }: { destination: string; notice: boolean },
): Promise<void> {
  const recentSince = actor.at - PACE_MS;
  const counted = { since: recentSince, count: PACE_MAX, notice };
  const oldest = await selectPace(tx, { destination, ...counted });
  if (oldest !== null) throw tooMany(oldest + PACE_MS - actor.at);
  if (notice || reachesRealm(actor)) return;
  const asked = { destination, since: actor.at - SEVERAL_MS, recentSince };
  const senders = await selectSenders(tx, asked);
  if (senders.every(({ owner }) => owner === actor.user)) return;
  const customers = senders.filter(({ isHouse }) => !isHouse);
  const all = customers.reduce((sum, { recent }) => sum + recent, 0);
  const own = customers.find(({ owner }) => owner === actor.user)?.recent ?? 0;
  if (own >= CUSTOMER_MAX || all >= CUSTOMERS_MAX) throw tooMany(PACE_MS, "others write to it too");
}

/** The refusal of a message, with the time to wait. */
export function tooMany(waitMs: number, why?: string): DomainError {
  const rule = `a recipient gets at most ${PACE_MAX} messages a minute`;
  return new DomainError("rate.limited", why === undefined ? rule : `${rule}: ${why}`, {
    retryAfterS: Math.min(60, Math.max(1, Math.ceil(waitMs / 1000))),
  });
}
