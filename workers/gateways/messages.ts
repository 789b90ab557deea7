/** The providers of messages behind one interface, as far as they are configured. @module */
import type { Config } from "../../config.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Messaging } from "../worker_context.ts";
import { openInfobip } from "./infobip.ts";
import { openSmtp } from "./smtp.ts";

/** Prepares the providers; connections are made when a message is sent. */
export function openMessaging(
  { infobip, smtp, messageTtlS }: Pick<Config, "infobip" | "smtp" | "messageTtlS">,
  secrets: Secrets,
): Messaging {
  const overHttp = infobip === null ? null : openInfobip(infobip);
  const overSmtp = smtp === null ? null : openSmtp(smtp);
  return {
    secrets,
    ttlMs: messageTtlS * 1000,
    gatewayOf({ channel, toPerson }) {
      if (channel === "sms") return infobip?.smsFrom ? overHttp : null;
      if (channel === "whatsapp") return infobip?.whatsappFrom ? overHttp : null;
      const fromAccount = infobip?.emailFrom ? overHttp : null;
      // Messages to persons come from the account of the customer-data platform.
      return toPerson ? fromAccount ?? overSmtp : overSmtp ?? fromAccount;
    },
    close: () => overSmtp?.close(),
  };
}
