/**
 * How many messages are taken. A recipient gets 20 a minute, whoever sends them (contract, section 12.3): a sender that is
 * alone may use them all, and where others have sent to it lately, nobody uses up theirs. A customer sends so many in a
 * day: each message costs the house money and is sent in its name.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { selectCustomerOf } from "../../db/identity/users.ts";
import { type NoticeKind, selectPace } from "../../db/messages/messages.ts";
import { selectPaceOfCustomer, selectSenders } from "../../db/messages/pace.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { CUSTOMER_PER_DAY } from "../message_settings.ts";

/** Most messages to one recipient in a minute. */
export const PACE_MAX = 20;
/** The time in which they are counted, in milliseconds. */
export const PACE_MS = 60_000;
/** Of these, most of one customer where others send too, and of all customers: those who work for the realm have the rest. */
const CUSTOMER_MAX = 10;
const CUSTOMERS_MAX = 15;
/** How long a sender is one of several. */
const SEVERAL_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** A message whose pace is looked at. */
export interface PacedMessage {
  destination: string;
  /** The user whose message it is. */
  owner: string;
  /** What the service writes of by itself: each kind is counted apart, for each customer. Null for other messages. */
  notice: NoticeKind | null;
}

/**
 * Refuses a message too many.
 *
 * @throws {DomainError} rate.limited
 */
export async function assertPace(tx: Tx, actor: Actor, message: PacedMessage): Promise<void> {
  const { destination, notice } = message;
  const customer = await selectCustomerOf(tx, message.owner);
  const isCounted = notice === null && customer !== null;
  if (isCounted) await assertDay(tx, actor, customer);
  const counted = { since: actor.at - PACE_MS, count: PACE_MAX, notice };
  const oldest = await selectPace(tx, { destination, customer, ...counted });
  if (oldest !== null) throw tooMany(oldest + PACE_MS - actor.at);
  if (isCounted) await assertPart(tx, actor.at, { destination, customer });
}

/** The refusal of a message too many to one recipient, with the time to wait. */
export function tooMany(waitMs: number, why?: string): DomainError {
  const rule = `a recipient gets at most ${PACE_MAX} messages a minute`;
  return limited(why === undefined ? rule : `${rule}: ${why}`, Math.min(PACE_MS, waitMs));
}

async function assertDay(tx: Tx, { at, realm }: Actor, customer: string): Promise<void> {
  const most = realm.customerMessagesPerDay ?? CUSTOMER_PER_DAY;
  const why = `a customer sends at most ${most} messages in 24 hours`;
  if (most === 0) throw limited(why, DAY_MS);
  const counted = { customer, since: at - DAY_MS, count: most };
  const oldest = await selectPaceOfCustomer(tx, counted);
  if (oldest !== null) throw limited(why, oldest + DAY_MS - at);
}

async function assertPart(
  tx: Tx,
  at: number,
  { destination, customer }: { destination: string; customer: string },
): Promise<void> {
  const asked = { destination, since: at - SEVERAL_MS, recentSince: at - PACE_MS };
  const senders = await selectSenders(tx, asked);
  if (senders.every((sender) => sender.customer === customer)) return;
  const customers = senders.filter((sender) => sender.customer !== null);
  const all = customers.reduce((sum, { recent }) => sum + recent, 0);
  const own = customers.find((sender) => sender.customer === customer)?.recent ?? 0;
  if (own >= CUSTOMER_MAX || all >= CUSTOMERS_MAX) throw tooMany(PACE_MS, "others write to it too");
}

function limited(why: string, waitMs: number): DomainError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
  return new DomainError("rate.limited", why, { retryAfterS });
}
