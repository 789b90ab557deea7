/** The providers of messages behind one interface, as far as they are configured. @module */
import type { Config } from "../../config.ts";
import type { Channel } from "../../domain/messages/contents.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { MessageGateway, Messaging } from "../worker_context.ts";
import { type HeldGateway, holding } from "./held_gateway.ts";
import { openInfobip } from "./infobip.ts";
import { openSmtp } from "./smtp.ts";

/** Prepares the providers; connections are made when a message is sent. */
export function openMessaging(
  { infobip, smtp, messageTtlS }: Pick<Config, "infobip" | "smtp" | "messageTtlS">,
  secrets: Secrets,
  now: () => number = Date.now,
): Messaging {
  const overHttp = infobip === null ? null : openInfobip(infobip);
  const overSmtp = smtp === null ? null : openSmtp(smtp);
  const held = (gateway: MessageGateway) => holding(gateway, now);
  const sms = overHttp !== null && infobip?.smsFrom ? held(overHttp) : null;
  const whatsapp = overHttp !== null && infobip?.whatsappFrom ? held(overHttp) : null;
  const accountMail = overHttp !== null && infobip?.emailFrom ? held(overHttp) : null;
  const serverMail = overSmtp === null ? null : held(overSmtp);
  const gatewayOf: (message: { channel: Channel; toPerson: boolean }) => HeldGateway | null = (
    { channel, toPerson },
  ) => {
    if (channel !== "email") return channel === "sms" ? sms : whatsapp;
    // Messages to persons come from the account of the customer-data platform.
    return toPerson ? accountMail ?? serverMail : serverMail ?? accountMail;
  };
  return {
    secrets,
    ttlMs: messageTtlS * 1000,
    gatewayOf,
    isHeld: (channel, realm) =>
      [true, false].some((toPerson) => gatewayOf({ channel, toPerson })?.isHeld(realm) ?? false),
    close: () => overSmtp?.close(),
  };
}
