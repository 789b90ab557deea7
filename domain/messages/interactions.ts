/**
 * Interactions: a WhatsApp message goes only to someone who has written to the sending number
 * (contract, section 12.2). The provider reports that once for all realms, so the platform keeps it.
 * @module
 */
import { z } from "zod";
import {
  existsInteraction,
  type InteractionRow,
  upsertInteractions,
} from "../../db/messages/interactions.ts";
import type { Db } from "../../db/database.ts";
import { DomainError } from "../errors.ts";
import { formsOf } from "./number_forms.ts";

/** A message that somebody wrote to one of our numbers, as the provider reports it. */
const Inbound = z.looseObject({
  from: z.string().max(100).optional(),
  to: z.string().max(100).optional(),
  receivedAt: z.string().max(40).optional(),
});

/** Messages that arrived. Everything but the two numbers and the time is ignored. */
export const InboundMessages = z.looseObject({ results: z.array(Inbound).max(1000) })
  .meta({ id: "InboundMessages" });

/** Digits of a number that may begin with a plus; null where it is none. */
function digitsOf(number: string | undefined): string | null {
  const digits = (number ?? "").replace(/^\+|[ ().-]/g, "");
  return /^[1-9][0-9]{4,14}$/.test(digits) ? digits : null;
}

/**
 * Records who wrote to which of our numbers; a message that is reported again changes nothing.
 *
 * @returns how many interactions were news
 */
export async function recordInteractions(
  db: Db,
  at: number,
  { results }: z.infer<typeof InboundMessages>,
): Promise<number> {
  const rows = new Map<string, InteractionRow>();
  for (const { from, to, receivedAt } of results) {
    const [recipient, sender] = [digitsOf(from), digitsOf(to)];
    if (recipient === null || sender === null) continue; // a person known by a name alone
    const last = Math.min(at, timeOf(receivedAt) ?? at);
    const key = `${sender} ${recipient}`;
    const known = rows.get(key)?.last_at ?? 0;
    rows.set(key, { sender, recipient: `+${recipient}`, last_at: Math.max(known, last) });
  }
  return rows.size === 0 ? 0 : await upsertInteractions(db, [...rows.values()]);
}

/**
 * Whether somebody has written to the sending number, from any form of theirs.
 *
 * @param sender our number; null where none is configured: then any number of ours counts
 */
export async function hasInteraction(
  platform: Db,
  sender: string | null,
  recipient: string,
): Promise<boolean> {
  const recipients = formsOf(recipient);
  return await existsInteraction(platform, { sender: digitsOf(sender ?? undefined), recipients });
}

/** The refusal of a WhatsApp message to somebody who has not written to the sending number. */
export function noInteraction(): DomainError {
  return new DomainError(
    "recipient.no_interaction",
    "the recipient has not written to the sending WhatsApp number yet",
  );
}

/** Milliseconds of a time such as 2026-11-22T23:00:00.000+0000, which is not quite ISO 8601. */
function timeOf(text: string | undefined): number | null {
  const time = Date.parse((text ?? "").replace(/([+-]\d{2})(\d{2})$/, "$1:$2"));
  return Number.isNaN(time) || time < 0 ? null : time;
}
