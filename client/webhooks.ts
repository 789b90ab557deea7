/** Verification of webhooks, as the Standard Webhooks specification has it. @module */
import { Webhook } from "standardwebhooks";
import { parseExactly } from "./exact_json.ts";
import type { WebhookEvent } from "./operations.ts";
import { EVENT_AMOUNTS } from "./wire.ts";

export type { WebhookEvent };

/** The headers of a delivery, in any of the forms that servers have. */
export type DeliveryHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A delivery that is not to be trusted: somebody else's, changed, or older than five minutes. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"];
const DATA_AMOUNTS = EVENT_AMOUNTS.map((path) => `data.${path}`);

/**
 * Checks the signature over id, time and body of a delivery, and that its time is of these minutes; gives its event.
 * Drop an event whose `id` you have had: a delivery may come again.
 *
 * @param secrets The webhook's secret; after a rotation the new one and, for as long as it holds, the old one.
 * @param body The body as it came, not parsed.
 * @throws {WebhookError} where it is not to be trusted
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  body: string,
  headers: DeliveryHeaders,
): WebhookEvent {
  const given = Object.fromEntries(NAMES.map((name) => [name, headerOf(headers, name)]));
  if (![secrets].flat().some((secret) => isSigned(secret, body, given))) {
    throw new WebhookError("the signature, the time or a header of the delivery is wrong");
  }
  const event = parseExactly(body, DATA_AMOUNTS) as WebhookEvent;
  return { ...event, id: given["webhook-id"] };
}

function isSigned(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

function headerOf(headers: DeliveryHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : found?.[0] ?? "";
}
