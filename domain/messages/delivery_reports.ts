/**
 * Delivery reports of the provider. A report says how far a message is; one that comes late, twice
 * or out of order changes nothing, so a replayed report is harmless.
 * @module
 */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import { lockMessages, type MessageRow, updateReported } from "../../db/messages/messages.ts";
import type { Actor } from "../actor.ts";
import { errorField } from "../errors.ts";
import { isId } from "../ids.ts";
import { columnsOf, statusOf, tellMessages } from "./messages.ts";
import {
  advances,
  isEnded,
  isOfSettings,
  type MessageStatus,
  plain,
  readStatus,
} from "./statuses.ts";

/** One report, as the provider sends it. */
const Report = z.looseObject({
  messageId: z.string().max(200).optional(),
  callbackData: z.string().max(4000).optional(),
  status: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** Reports; fields that are not named here are ignored. */
export const DeliveryReports = z.looseObject({ results: z.array(Report).max(1000) })
  .meta({ id: "DeliveryReports" });

/** A report that names a message of a realm. */
export interface DeliveryReport {
  realm: string;
  message: string;
  /** Its id at the provider. */
  providerId: string;
  status: MessageStatus;
  /** The provider's reason of a failure; null without. */
  reason: string | null;
}

/** What is sent along with a message, and comes back in its reports: it names the realm. */
export function callbackOf(realm: string, message: string): string {
  return `purser:${realm}:${message}`;
}

/**
 * The id of a message at its provider: its own, until the provider refused our sender or account
 * under it. Then the provider may know it, and would take the next handover for a repetition.
 */
export function providerIdOf(message: string, refusals: number): string {
  return refusals === 0 ? message : `${message}-${refusals}`;
}

/** Reads reports; those that do not name a message of ours, or no state, are left out. */
export function readReports({ results }: z.infer<typeof DeliveryReports>): DeliveryReport[] {
  return results.flatMap(({ callbackData, messageId, status, error }) => {
    const [ours, realm, message] = (callbackData ?? "").split(":");
    const state = readStatus(status);
    if (ours !== "purser" || !isId(realm ?? "") || !isId(message ?? "") || state === null) {
      return [];
    }
    const providerId = messageId ?? message;
    if (providerId !== message && !providerId.startsWith(`${message}-`)) return [];
    return [{ realm, message, providerId, status: state, reason: reasonOf(error) }];
  });
}

/**
 * Applies reports in their order, in the caller's transaction, with as many statements for a thousand as for one.
 * Gives how many of them changed something.
 */
export async function applyReports(
  tx: Tx,
  actor: Actor,
  reports: readonly DeliveryReport[],
): Promise<number> {
  const named = [...new Set(reports.map(({ message }) => message))];
  const rows = new Map((await lockMessages(tx, named)).map((row) => [row.id, row]));
  const told: MessageRow[] = [];
  for (const report of reports) {
    const row = rows.get(report.message);
    if (row === undefined || !saysMore(row, report)) continue;
    const changed = { ...changedBy(row, report), updated_at: actor.at };
    rows.set(row.id, changed);
    told.push(changed);
  }
  if (told.length === 0) return 0;
  const last = new Map(told.map((row) => [row.id, row]));
  await updateReported(tx, [...last.values()], actor.at);
  await tellMessages(tx, actor, told);
  return told.length;
}

function saysMore(row: MessageRow, { providerId, status }: DeliveryReport): boolean {
  if (!advances(statusOf(row), status)) return false;
  // Of a handover that was refused: the message waits, or went on under its next id.
  if (providerId !== providerIdOf(row.id, row.refusals)) return false;
  return row.content === null || !isOfSettings(status); // else its worker knows, or will
}

function changedBy(row: MessageRow, { status, reason }: DeliveryReport): MessageRow {
  const failed = status.groupId !== 3 && isEnded(status);
  return {
    ...row,
    ...columnsOf(status),
    ...(isEnded(status) ? { content: null, waiting: false } : {}),
    error: failed
      // The provider's words may repeat a recipient who was erased.
      ? errorField(
        "upstream.failed",
        (row.destination && reason) ?? `${status.name}: ${status.description}`,
      )
      : null,
  };
}

/** The provider's error, without signs that would change what a reader sees. */
function reasonOf(error: unknown): string | null {
  const read = z.object({ id: z.number(), name: z.string(), description: z.string().default("") })
    .safeParse(error);
  if (!read.success || read.data.id === 0) return null;
  const { name, description } = read.data;
  return plain(`${name}: ${description}`, 500);
}
