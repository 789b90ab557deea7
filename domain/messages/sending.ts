/**
 * Attempts at sending. Attempt n of a message is one job; a job of another attempt does nothing, so
 * two workers never send one message side by side. A job that is lost in the middle runs again under
 * the same number, with the same id at the provider.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import {
  eraseOldWaiting,
  lockMessage,
  lockWaiting,
  markRefused,
  markTakenUp,
  markWaiting,
  type MessageRow,
  updateMessage,
  updateReported,
} from "../../db/messages/messages.ts";
import type { Actor } from "../actor.ts";
import { errorField } from "../errors.ts";
import { enqueue, enqueueAll } from "../jobs.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import type { Channel, Content } from "./contents.ts";
import { columnsOf, statusOf, tellMessage, tellMessages } from "./messages.ts";
import {
  advances,
  GIVEN_UP,
  isEnded,
  type MessageStatus,
  NOT_VALID,
  plain,
  TOO_OLD,
} from "./statuses.ts";

/** A message that is to be sent now. */
export type DueMessage = Content & {
  id: string;
  realm: string;
  destination: string;
  attempt: number;
  /** How often the provider took note of its id and refused our sender or account. */
  refusals: number;
  /** Whether it goes to the person of an identity. */
  toPerson: boolean;
  /** Milliseconds since the epoch. */
  created_at: number;
};

/** How a message ends, and what its readers are told. */
interface End {
  status: MessageStatus;
  error: string;
}

const GONE_OLD: End = { status: TOO_OLD, error: "no provider took it in time" };
/** The pauses after failed attempts, in milliseconds; after the last attempt a message is given up. */
const PAUSES_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 600_000];

/**
 * Reads a message for an attempt, decrypted; null where the attempt is over, the message has ended,
 * or its content cannot be read any more, which ends it.
 */
export async function readDue(
  tx: Tx,
  actor: Actor,
  { message, attempt, secrets }: { message: string; attempt: number; secrets: Secrets },
): Promise<DueMessage | null> {
  const row = await lockMessage(tx, message);
  if (row === null || !isOpen(row, attempt)) return null;
  const text = secrets.decrypt("message", `${actor.realm.id}|${row.id}`, row.content!);
  if (text === null) {
    await endMessage(tx, actor, row, {
      status: NOT_VALID,
      error: "its content was encrypted under a platform key that this process does not have",
    });
    return null;
  }
  return {
    channel: row.channel,
    content: JSON.parse(text),
    id: row.id,
    realm: actor.realm.id,
    destination: row.destination!,
    attempt,
    refusals: row.refusals,
    toPerson: row.identity !== null,
    created_at: row.created_at,
  } as DueMessage;
}

/** Records that a provider took a message, and erases its content. */
export async function recordSent(
  tx: Tx,
  actor: Actor,
  sent: { message: string; provider: "infobip" | "smtp"; status: MessageStatus },
): Promise<void> {
  const row = await lockMessage(tx, sent.message);
  if (row === null || row.sent_at !== null) return;
  // A report of the provider may have overtaken its answer.
  const later = advances(statusOf(row), sent.status) ? sent.status : statusOf(row);
  const changed = await updateMessage(tx, row.id, {
    ...columnsOf(later),
    content: null,
    provider: sent.provider,
    sent_at: actor.at,
    waiting: false,
    ...(isRefusal(later) ? { error: refusal(`${later.name}: ${later.description}`) } : {}),
  }, actor.at);
  await tellMessage(tx, actor, changed);
}

/** A failed attempt. */
export interface FailedAttempt {
  message: string;
  attempt: number;
  /** Shown to the caller: holds no secret and nothing of the message. */
  reason: string;
  /** The state that it ends in, where no further attempt can succeed. */
  final: MessageStatus | null;
  /** The least pause that the provider asked for, in milliseconds. */
  pauseMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Records a failed attempt: the next one is queued, or the message is given up. */
export async function recordFailure(tx: Tx, actor: Actor, failed: FailedAttempt): Promise<void> {
  const row = await lockMessage(tx, failed.message);
  if (row === null || !isOpen(row, failed.attempt)) return;
  const pause = PAUSES_MS[failed.attempt - 1];
  if (failed.final !== null || pause === undefined) {
    const status = failed.final ?? GIVEN_UP;
    return await endMessage(tx, actor, row, { status, error: failed.reason });
  }
  const attempt = failed.attempt + 1;
  await updateMessage(tx, row.id, { attempt }, actor.at);
  await enqueue(tx, actor, "message.send", { message: row.id, attempt }, {
    runAt: failed.now + Math.max(pause, failed.pauseMs),
  });
}

/** Ends a message whose job an administrator gave up. */
export async function recordDiscarded(
  tx: Tx,
  actor: Actor,
  { message, attempt }: { message: string; attempt: number },
): Promise<void> {
  const row = await lockMessage(tx, message);
  if (row === null || !isOpen(row, attempt)) return;
  await endMessage(tx, actor, row, { status: GIVEN_UP, error: "an administrator gave it up" });
}

/** Notes that no provider is configured for a message: it waits until there is one. */
export async function recordWaiting(
  tx: Tx,
  { id, attempt }: Pick<DueMessage, "id" | "attempt">,
): Promise<void> {
  const row = await lockMessage(tx, id);
  if (row === null || !isOpen(row, attempt)) return;
  await markWaiting(tx, id, true);
}

/** Notes that the provider refuses our settings: the message waits until they are mended. */
export async function recordRefused(
  tx: Tx,
  actor: Actor,
  { id, attempt }: Pick<DueMessage, "id" | "attempt">,
  isKnown: boolean,
): Promise<void> {
  const row = await lockMessage(tx, id);
  if (row === null || !isOpen(row, attempt)) return;
  await markRefused(tx, id, { at: actor.at, isKnown });
}

/** Which messages that wait can be sent. */
export interface Waiting {
  /** Channels that have a provider. */
  channels: readonly Channel[];
  /** Those of them whose provider refused our settings: one message is sent to see whether it still does. */
  held: readonly Channel[];
  /** Messages from before (milliseconds since the epoch) are not sent any more. */
  since: number;
}

/** Messages that one step takes up. */
const WAITING_AT_ONCE = 100;

/**
 * Takes up messages that waited for a provider: each gets its job, or ends as expired if it is too
 * old; gives how many there were. The content of one that is too old is erased even if its channel
 * has no provider: it will never be sent, and keeps its state PENDING.
 */
export async function takeUpWaiting(
  tx: Tx,
  actor: Actor,
  { channels, held, since }: Waiting,
): Promise<number> {
  await eraseOldWaiting(tx, since);
  const filter = { refusedBefore: actor.at, limit: WAITING_AT_ONCE };
  const old = await lockWaiting(tx, { ...filter, channels, createdBefore: since });
  await endMessages(tx, actor, old, GONE_OLD);
  const open = channels.filter((channel) => !held.includes(channel));
  const young = await lockWaiting(tx, { ...filter, channels: open });
  await takeUp(tx, actor, young);
  return old.length + young.length;
}

/** Takes up one message of a channel whose provider refused our settings, in the order of refusals. */
export async function takeUpProbe(tx: Tx, actor: Actor, channel: Channel): Promise<void> {
  const filter = { channels: [channel], refusedBefore: actor.at, limit: 1 };
  await takeUp(tx, actor, await lockWaiting(tx, filter));
}

async function takeUp(tx: Tx, actor: Actor, rows: readonly MessageRow[]): Promise<void> {
  if (rows.length === 0) return;
  await markTakenUp(tx, rows.map(({ id }) => id));
  const jobs = rows.map(({ id, attempt }) => ({ payload: { message: id, attempt } }));
  await enqueueAll(tx, actor, "message.send", jobs);
}

/** Ends a message that became too old while it waited for an attempt. */
export async function recordTooOld(
  tx: Tx,
  actor: Actor,
  { id, attempt }: Pick<DueMessage, "id" | "attempt">,
): Promise<void> {
  const row = await lockMessage(tx, id);
  if (row !== null && isOpen(row, attempt)) await endMessage(tx, actor, row, GONE_OLD);
}

function isOpen(row: MessageRow, attempt: number): boolean {
  return row.content !== null && row.destination !== null && row.sent_at === null &&
    row.attempt === attempt && !isEnded(statusOf(row));
}

async function endMessage(tx: Tx, actor: Actor, row: MessageRow, why: End): Promise<void> {
  await endMessages(tx, actor, [row], why);
}

async function endMessages(
  tx: Tx,
  actor: Actor,
  rows: readonly MessageRow[],
  { status, error }: End,
): Promise<void> {
  if (rows.length === 0) return;
  const change = { ...columnsOf(status), content: null, waiting: false, error: refusal(error) };
  const ended = rows.map((row) => ({ ...row, ...change, updated_at: actor.at }));
  await updateReported(tx, ended, actor.at);
  await tellMessages(tx, actor, ended);
}

function isRefusal(status: MessageStatus): boolean {
  return status.groupId !== 3 && isEnded(status);
}

function refusal(detail: string): Record<string, unknown> {
  return errorField("upstream.failed", plain(detail, 500));
}
