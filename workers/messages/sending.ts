/** The job that sends a message, and the search for those that wait for a provider. @module */
import type { JobPayloads } from "../../domain/jobs.ts";
import {
  type DueMessage,
  readDue,
  recordFailure,
  recordRefused,
  recordSent,
  recordTooOld,
  recordWaiting,
  takeUpProbe,
  takeUpWaiting,
} from "../../domain/messages/sending.ts";
import { CHANNELS } from "../../domain/messages/contents.ts";
import { NOT_VALID } from "../../domain/messages/statuses.ts";
import { GatewayError } from "../gateways/outbound.ts";
import { type Handover, messagingOf, type WorkerContext } from "../worker_context.ts";

/**
 * Hands one message to its provider, under the message's own id; without a provider it stays as it
 * is. No transaction is open meanwhile.
 */
export async function sendMessage(
  context: WorkerContext,
  { message, attempt }: JobPayloads["message.send"],
): Promise<void> {
  const { actor } = context;
  const { secrets, gatewayOf, isApart } = messagingOf(context);
  const due = await context.step((tx) => readDue(tx, actor, { message, attempt, secrets }));
  if (due === null) return;
  const gateway = gatewayOf(due);
  // A restored or copied database would send what was sent already.
  const isHeld = gateway === null || await isApart?.(context);
  if (isHeld) return await context.step((tx) => recordWaiting(tx, due));
  if (isTooOld(context, due)) return await context.step((tx) => recordTooOld(tx, actor, due));
  let handover: Handover;
  try {
    handover = await gateway.send(due, context.signal);
  } catch (error) {
    context.signal.throwIfAborted(); // the process ends: the same attempt runs again
    return await recordFailed(context, due, error);
  }
  await context.step((tx) => recordSent(tx, actor, { message, ...handover }));
}

/**
 * Takes up messages that waited because nothing was configured, or because the provider refused our
 * settings, as soon as that is mended: what is too old by then is not sent.
 */
export async function sendWaiting(context: WorkerContext): Promise<void> {
  const { actor, messaging, realm } = context;
  if (messaging === null) return; // another process sends messages
  if (await messaging.isApart?.(context)) return;
  const channels = CHANNELS.filter((channel) =>
    messaging.gatewayOf({ channel, toPerson: false }) !== null
  );
  const held = channels.filter((channel) => messaging.isHeld(channel, realm.id));
  const waiting = { channels, held, since: actor.at - messaging.ttlMs };
  let taken: number;
  do taken = await context.step((tx) => takeUpWaiting(tx, actor, waiting)); while (
    taken > 0 && !context.signal.aborted
  );
  for (const channel of held) await context.step((tx) => takeUpProbe(tx, actor, channel));
}

/** A one-time code of yesterday helps nobody; nor does one that a restored backup sends again. */
function isTooOld(context: WorkerContext, { created_at }: DueMessage): boolean {
  return created_at < context.actor.at - messagingOf(context).ttlMs;
}

async function recordFailed(
  context: WorkerContext,
  { id, attempt, channel }: DueMessage,
  error: unknown,
): Promise<void> {
  const known = error instanceof GatewayError
    ? error
    : new GatewayError("the provider failed in an unexpected way", "failed");
  const { actor, log, realm } = context;
  if (known.kind === "settings") {
    const { message: reason } = known;
    log("error", "the provider of messages refuses the settings", {
      ...{ realm: realm.id, id, channel, reason },
    });
    return await context.step((tx) => recordRefused(tx, actor, { id, attempt }, known.isKnown));
  }
  // Neither the recipient nor the content: both are personal.
  log("warn", "message not sent", { realm: realm.id, id, attempt, reason: known.message });
  await context.step((tx) =>
    recordFailure(tx, actor, {
      ...{ message: id, attempt, reason: known.message },
      final: known.kind === "refused" ? NOT_VALID : null,
      pauseMs: known.pauseMs,
      now: actor.at,
    })
  );
}
