/**
 * Infobip over HTTP: texts, WhatsApp templates and e-mails. Our id of a message is its id there too,
 * so a message that is handed over twice is refused the second time, and counts as taken.
 * @module
 */
import type { InfobipConfig } from "../../config/messages.ts";
import type { DueMessage } from "../../domain/messages/sending.ts";
import { callbackOf, providerIdOf } from "../../domain/messages/delivery_reports.ts";
import {
  DUPLICATE_ID,
  EN_ROUTE,
  isOfSettings,
  readStatus,
} from "../../domain/messages/statuses.ts";
import type { Handover, MessageGateway } from "../worker_context.ts";
import { GatewayError, type OutboundAnswer, post } from "./outbound.ts";

const SERVICE = "Infobip";

/** Opens the account. */
export function openInfobip(config: InfobipConfig): MessageGateway {
  return {
    async send(message, signal) {
      const { path, body } = requestOf(config, message);
      const answer = await post({
        service: SERVICE,
        url: `${config.baseUrl}${path}`,
        headers: {
          accept: "application/json",
          authorization: `App ${config.apiKey}`,
          ...(typeof body === "string" ? { "content-type": "application/json" } : {}),
        },
        ...{ body, signal },
      });
      return handoverOf(answer);
    },
  };
}

function requestOf(
  config: InfobipConfig,
  message: DueMessage,
): { path: string; body: string | FormData } {
  const { destination, realm } = message;
  const messageId = providerIdOf(message.id, message.refusals);
  const callbackData = callbackOf(realm, message.id);
  const to = destination.replace(/^\+/, "");
  switch (message.channel) {
    case "sms": {
      const { content: { text } } = message;
      const destinations = [{ to, messageId }];
      const one = { sender: config.smsFrom, destinations, content: { text } };
      const messages = [{ ...one, webhooks: { callbackData } }];
      return { path: "/sms/3/messages", body: JSON.stringify({ messages }) };
    }
    case "whatsapp": {
      const from = config.whatsappFrom;
      const messages = [{ from, to, messageId, content: message.content, callbackData }];
      return { path: "/whatsapp/1/message/template", body: JSON.stringify({ messages }) };
    }
    case "email": {
      const { subject, html, text } = message.content;
      const body = new FormData();
      const fields = { from: config.emailFrom!, to: destination, subject, messageId, callbackData };
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      if (html !== undefined) body.set("html", html);
      else body.set("text", text!);
      return { path: "/email/3/send", body };
    }
  }
}

function handoverOf({ status, json, pauseMs }: OutboundAnswer): Handover {
  if (status >= 200 && status < 300) {
    const state = readStatus(member(firstOf(member(json, "messages")), "status"));
    if (state === null) throw new GatewayError(`${SERVICE} answered without a state`, "failed");
    if (isOfSettings(state)) {
      throw new GatewayError(`${SERVICE}: ${state.name}`, "settings", 0, true);
    }
    // It has the message of an attempt whose answer was lost.
    return { provider: "infobip", status: state.id === DUPLICATE_ID ? EN_ROUTE : state };
  }
  throw new GatewayError(
    `${SERVICE} answered ${status}${codeIn(json)}`,
    kindOf(status, json),
    pauseMs,
  );
}

function kindOf(status: number, json: unknown): GatewayError["kind"] {
  // The key, what it may do, and an address that is not the service's.
  const isForeign = status === 404 && member(json, "requestError") === undefined;
  if (status === 401 || status === 403 || isForeign) return "settings";
  return [400, 404, 413, 415, 422].includes(status) ? "refused" : "failed";
}

/** The code of an error: a word of the provider's own. Its text may repeat what was sent. */
function codeIn(json: unknown): string {
  const exception = member(member(json, "requestError"), "serviceException");
  const code = member(exception, "messageId") ?? member(json, "errorCode");
  return typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? ` ${code}` : "";
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
