/** The job that sends a message. @module */
import type { JobPayloads } from "../../domain/jobs.ts";
import {
  type DueMessage,
  readDue,
  recordFailure,
  recordSent,
} from "../../domain/messages/sending.ts";
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
  const { secrets, gatewayOf } = messagingOf(context);
  const due = await context.step((tx) => readDue(tx, actor, { message, attempt, secrets }));
  if (due === null) return;
  const gateway = gatewayOf(due);
  if (gateway === null) return;
  let handover: Handover;
  try {
    handover = await gateway.send(due, context.signal);
  } catch (error) {
    context.signal.throwIfAborted(); // the process ends: the same attempt runs again
    return await recordFailed(context, due, error);
  }
  await context.step((tx) => recordSent(tx, actor, { message, ...handover }));
}

async function recordFailed(
  context: WorkerContext,
  { id, attempt }: DueMessage,
  error: unknown,
): Promise<void> {
  const known = error instanceof GatewayError
    ? error
    : new GatewayError("the provider failed in an unexpected way", "failed");
  const { actor, log, realm } = context;
  // Neither the recipient nor the content: both are personal.
  log("warn", "message not sent", { realm: realm.id, message: id, attempt, reason: known.message });
  await context.step((tx) =>
    recordFailure(tx, actor, {
      ...{ message: id, attempt, reason: known.message },
      final: known.kind === "refused" ? NOT_VALID : null,
      pauseMs: known.pauseMs,
      now: actor.at,
    })
  );
}
