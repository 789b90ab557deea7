/** One attempt at a delivery: signed, sent, and judged by its answer. @module */
import { Webhook } from "standardwebhooks";
import type { AttemptResult, DueRow, QueueRow } from "../../db/webhooks/queue.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import { bodyOf, type EventReader, maySee } from "../../domain/webhooks/messages.ts";
import { retryAt } from "../../domain/webhooks/schedule.ts";
import { secretSubject } from "../../domain/webhooks/webhooks.ts";
import type { WebhookClient } from "../gateways/outbound/webhook_client.ts";
import { WebhookFault } from "../gateways/outbound/webhook_fault.ts";

/** An attempt's result, and what it says of the receiver. */
export interface Attempted extends AttemptResult {
  /** Whether the receiver took it; null: nothing was sent. */
  taken: boolean | null;
  /** The receiver is gone for ever (410). */
  gone: boolean;
}

/** Signs the messages of a webhook: by its secret, and by the one before while that is valid. */
export interface Signers {
  sign(id: string, at: number, body: string): string;
}

const USER_AGENT = "Purser-Webhooks/1";
const GONE = 410;

/** Opens the signers of a queue; null where its secret cannot be decrypted. */
export function openSigners(secrets: Secrets, realm: string, queue: QueueRow): Signers | null {
  const open = (encrypted: Uint8Array) => {
    const secret = secrets.decrypt("webhook", secretSubject(realm, queue.webhook), encrypted);
    return secret === null ? null : new Webhook(secret);
  };
  const present = open(queue.secret);
  if (present === null) return null;
  const before = queue.previous_secret === null ? null : open(queue.previous_secret);
  return {
    sign(id, at, body) {
      const signers = before !== null && at < queue.previous_until! ? [present, before] : [present];
      return signers.map((one) => one.sign(id, new Date(at), body)).join(" ");
    },
  };
}

/** Sends one delivery. It may be sent again: receivers drop repeats by `webhook-id`. */
export async function attempt(
  given: { queue: QueueRow; signers: Signers; client: WebhookClient; now: () => number },
  due: DueRow,
): Promise<Attempted> {
  const { queue, signers, client, now } = given;
  const at = now();
  const base = {
    ...{ event: due.event, entity: due.entity, at, next_at: null, latency_ms: null },
    ...{ response_status: null, response_body: null, gone: false },
  };
  const unsendable = unsendableOf(queue, due);
  if (unsendable !== null) return { ...base, status: "FAILED", failure: unsendable, taken: null };
  const event = { type: due.type, payload: due.payload!, at: due.occurred_at! };
  const body = bodyOf(event, readerOf(queue));
  const start = performance.now();
  const outcome = await client.post(queue.url, {
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": USER_AGENT,
      "webhook-id": due.event,
      "webhook-timestamp": `${Math.floor(at / 1000)}`,
      "webhook-signature": signers.sign(due.event, at, body),
    },
  }).catch((error) => {
    if (error instanceof WebhookFault) return error.message;
    throw error;
  });
  const latency_ms = Math.round(performance.now() - start);
  const answered = typeof outcome === "string"
    ? { failure: outcome }
    : { response_status: outcome.status, response_body: outcome.body, failure: faultOf(outcome) };
  const { failure } = answered;
  if (failure === null) {
    return { ...base, ...answered, latency_ms, status: "DELIVERED", taken: true };
  }
  const gone = typeof outcome !== "string" && outcome.status === GONE;
  const tried = { attempts: due.attempts + 1, firstAt: due.first_at ?? at, at };
  const next_at = retryAt(tried, Math.random());
  const status = next_at === null ? "FAILED" : "PENDING";
  return { ...base, ...answered, latency_ms, status, next_at, taken: false, gone };
}

/** The result of a delivery that could not be sent for a reason of ours: it is tried again. */
export function unsent(due: DueRow, at: number): Attempted {
  const tried = { attempts: due.attempts + 1, firstAt: due.first_at ?? at, at };
  const next_at = retryAt(tried, Math.random());
  return {
    ...{ event: due.event, entity: due.entity, at, next_at, latency_ms: null },
    ...{ response_status: null, response_body: null, failure: "it could not be sent" },
    ...{ status: next_at === null ? "FAILED" : "PENDING", taken: null, gone: false },
  };
}

/** Why a delivery is not sent: its event was deleted, or may not be seen any more. */
function unsendableOf(queue: QueueRow, due: DueRow): string | null {
  if (due.payload === null) return "the event is not kept any more";
  return maySee(readerOf(queue), due)
    ? null
    : "the owner of the webhook may not see the event any more";
}

function readerOf({ owner, sees_all, is_admin }: QueueRow): EventReader {
  return { user: owner, seesAll: sees_all, isAdmin: is_admin };
}

function faultOf({ status }: { status: number }): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `the answer was ${status}: redirects are not followed`;
  return `the answer was ${status}`;
}
