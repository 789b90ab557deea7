/**
 * States of messages, with the ids, names and groups that Infobip gives them (contract, section 12.1).
 * @module
 */
import { z } from "zod";

/** The state of a message as shown. */
export const MessageStatus = z.object({
  groupId: z.number().int(),
  groupName: z.string(),
  id: z.number().int(),
  name: z.string(),
  description: z.string(),
}).meta({ id: "MessageStatus", description: "Groups and ids are Infobip's." });
/** The state of a message. */
export type MessageStatus = z.infer<typeof MessageStatus>;

const GROUPS = ["OK", "PENDING", "UNDELIVERABLE", "DELIVERED", "EXPIRED", "REJECTED"] as const;

/** Stored, and not handed over yet. */
export const ACCEPTED: MessageStatus = status(
  1,
  26,
  "PENDING_ACCEPTED",
  "Message accepted, and not sent yet",
);
/** The provider has it. */
export const EN_ROUTE: MessageStatus = status(
  1,
  7,
  "PENDING_ENROUTE",
  "Message sent to next instance",
);
/** The recipient's server or operator has it; its last state where nobody reports on delivery. */
export const AT_OPERATOR: MessageStatus = status(
  3,
  2,
  "DELIVERED_TO_OPERATOR",
  "Message delivered to operator",
);
/** The provider or the recipient's server refused the destination. */
export const BAD_DESTINATION: MessageStatus = status(
  5,
  52,
  "REJECTED_DESTINATION",
  "Invalid destination address",
);
/** The provider refused what was asked of it. */
export const NOT_VALID: MessageStatus = status(
  5,
  90,
  "REJECTED_VALIDATION_FAILED",
  "Validation failed",
);
/** Every attempt at sending failed. */
export const GIVEN_UP: MessageStatus = status(
  5,
  21,
  "REJECTED_SYSTEM_ERROR",
  "Message not sent: attempts failed",
);

/** It became too old before a provider took it. */
export const TOO_OLD: MessageStatus = status(
  4,
  15,
  "EXPIRED_EXPIRED",
  "Message expired: not sent in time",
);

/** Refusals of the account and not of the message: its source, credits, sender, package. */
const OF_SETTINGS: readonly number[] = [11, 12, 13, 17];

/** Whether a state refuses what the operator has set up at the provider, and not the message. */
export function isOfSettings({ groupId, id }: Pick<MessageStatus, "groupId" | "id">): boolean {
  return groupId === 5 && OF_SETTINGS.includes(id);
}

/** The provider's id of a refusal because it has a message of this id already. */
export const DUPLICATE_ID = 23;

function status(groupId: number, id: number, name: string, description: string): MessageStatus {
  return { groupId, groupName: GROUPS[groupId], id, name, description };
}

/**
 * How far a state is. A message never goes back. That a device received it outweighs an earlier
 * failure. The database has the same rule (`message_rank`).
 */
function rankOf({ groupId, id }: Pick<MessageStatus, "groupId" | "id">): number {
  if (groupId <= 1) return 0;
  if (groupId === 3) return id === 2 ? 1 : 3;
  return 2;
}

/** Whether nothing is sent any more in this state. */
export function isEnded(state: Pick<MessageStatus, "groupId" | "id">): boolean {
  return rankOf(state) > 0;
}

/** Whether a report of the state `to` says more than is known. */
export function advances(from: MessageStatus, to: MessageStatus): boolean {
  const [before, after] = [rankOf(from), rankOf(to)];
  return after > before || (after === before && after < 2 && to.id !== from.id);
}

/** Reads the state in a provider's answer or report; null where there is none that we know the group of. */
export function readStatus(given: unknown): MessageStatus | null {
  const read = Reported.safeParse(given);
  if (!read.success) return null;
  const { groupId, id, name, description } = read.data;
  return {
    groupId,
    groupName: GROUPS[groupId],
    id,
    name: plain(name, 100) || GROUPS[groupId],
    description: plain(description, 500),
  };
}

const Reported = z.object({
  groupId: z.number().int().min(0).max(5),
  id: z.number().int().min(0).max(2 ** 31 - 1),
  name: z.string().default(""),
  description: z.string().default(""),
});

/** Text of others, without signs that would change what a reader sees; it never ends in half a sign. */
export function plain(text: string, max: number): string {
  return text.replace(/\p{C}+/gu, " ").trim().slice(0, max).replace(/[\ud800-\udbff]$/, "");
}
