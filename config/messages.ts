/**
 * Settings of the providers of messages.
 *
 * @module
 */
import type { Reader } from "./reader.ts";

/** The account at Infobip. */
export interface InfobipConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Senders of each channel; null: the channel is not configured. */
  readonly smsFrom: string | null;
  readonly whatsappFrom: string | null;
  readonly emailFrom: string | null;
}

/** The server that takes e-mails. */
export interface SmtpConfig {
  /** With user and password, where the server asks for them. */
  readonly url: string;
  /** A mailbox, with a name or without. */
  readonly from: string;
  /** Whether the connection must be encrypted. */
  readonly encrypted: boolean;
  /** Certificates (PEM) of the authority that the server's is trusted by; null: of those that all trust. */
  readonly ca: string | null;
  readonly dkim:
    | { readonly domain: string; readonly selector: string; readonly key: string }
    | null;
}

/** Settings of all providers. */
export interface MessagesConfig {
  /** The account at Infobip; null without. */
  infobip: InfobipConfig | null;
  /** What webhooks of the provider must show; null: they are refused. */
  infobipWebhookSecret: string | null;
  /** `secret`: webhooks show the secret itself; `hmac`: they are signed with it. */
  infobipWebhookAuth: "secret" | "hmac";
  /** The server that takes e-mails; null without. */
  smtp: SmtpConfig | null;
  /** Age in seconds from which a message is not sent any more. */
  messageTtlS: number;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const MAILBOX =
  /^([^\p{Cc}<>@,;:"]+ )?<?[^\p{Cc}\s@<>,;:"]+@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*>?$/u;

/** Reads the settings of all providers. */
export function readMessages(read: Reader): MessagesConfig {
  return {
    infobip: readInfobip(read),
    ...readWebhooks(read),
    smtp: readSmtp(read),
    messageTtlS: read.whole("MESSAGE_TTL_SECONDS", 60, 2_592_000, 3600),
  };
}

/** Reads how webhooks of Infobip are authenticated. */
function readWebhooks(
  read: Reader,
): Pick<MessagesConfig, "infobipWebhookSecret" | "infobipWebhookAuth"> {
  const infobipWebhookSecret = read.text("INFOBIP_WEBHOOK_SECRET");
  const infobipWebhookAuth = read.choice("INFOBIP_WEBHOOK_AUTH", ["secret", "hmac"], "secret");
  if (infobipWebhookSecret !== null && infobipWebhookSecret.length < 16) {
    read.faults.push("INFOBIP_WEBHOOK_SECRET is too short: at least 16 characters are expected");
  }
  return { infobipWebhookSecret, infobipWebhookAuth };
}

/** Reads the account at Infobip; null where none is configured. */
function readInfobip(read: Reader): InfobipConfig | null {
  const baseUrl = read.url("INFOBIP_BASE_URL", ["http:", "https:"])?.replace(/\/+$/, "") ?? null;
  const apiKey = read.text("INFOBIP_API_KEY");
  const smsFrom = sender(
    read,
    "INFOBIP_SMS_FROM",
    /^[^\p{Cc}]{1,20}$/u,
    "a sender of 1 to 20 characters",
  );
  const whatsappFrom = sender(
    read,
    "INFOBIP_WHATSAPP_FROM",
    /^\+?[1-9]\d{3,14}$/,
    "a telephone number",
  );
  const emailFrom = sender(read, "INFOBIP_EMAIL_FROM", MAILBOX, "an e-mail address");
  if (apiKey !== null && /[^\x21-\x7e]/.test(apiKey)) {
    read.faults.push("INFOBIP_API_KEY has characters that no key has");
  }
  if ((baseUrl === null) !== (apiKey === null)) {
    const names = ["INFOBIP_BASE_URL", "INFOBIP_API_KEY"];
    const [missing, given] = baseUrl === null ? names : names.toReversed();
    if (read.text(missing) === null) read.faults.push(`${missing} is missing: ${given} needs it`);
  }
  if (baseUrl === null || apiKey === null) return null;
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "https:" && !LOOPBACK.test(hostname)) {
    read.faults.push("INFOBIP_BASE_URL starts with http://: the key would travel in plain text");
  }
  return {
    ...{ baseUrl, apiKey, smsFrom, emailFrom },
    whatsappFrom: whatsappFrom?.replace(/^\+/, "") ?? null,
  };
}

/** Reads the server that takes e-mails; null where none is configured. */
function readSmtp(read: Reader): SmtpConfig | null {
  const url = read.url("SMTP_URL", ["smtp:", "smtps:"]);
  const from = sender(read, "SMTP_FROM", MAILBOX, "an e-mail address");
  const tls = read.choice("SMTP_TLS", ["required", "optional"], "required");
  const dkim = readDkim(read);
  const ca = readCa(read);
  if (url === null) return null;
  if (from === null) {
    if (read.text("SMTP_FROM") === null) {
      read.faults.push("SMTP_FROM is missing: SMTP_URL needs the address that e-mails come from");
    }
    return null;
  }
  const encrypted = tls === "required" && !LOOPBACK.test(new URL(url).hostname);
  return { url, from, encrypted, ca, dkim };
}

function readCa(read: Reader): string | null {
  const ca = read.text("SMTP_CA")?.replaceAll("\\n", "\n") ?? null;
  if (ca !== null && !/^-----BEGIN CERTIFICATE-----[^]+-----END CERTIFICATE-----$/.test(ca)) {
    read.faults.push("SMTP_CA is not a certificate in PEM form");
  }
  return ca;
}

function readDkim(read: Reader): SmtpConfig["dkim"] {
  const domain = read.text("SMTP_DKIM_DOMAIN");
  const selector = read.text("SMTP_DKIM_SELECTOR");
  const key = read.text("SMTP_DKIM_KEY")?.replaceAll("\\n", "\n") ?? null;
  if (domain === null && selector === null && key === null) return null;
  if (domain === null || selector === null || key === null) {
    read.faults.push("SMTP_DKIM_DOMAIN, SMTP_DKIM_SELECTOR and SMTP_DKIM_KEY are set together");
    return null;
  }
  if (!key.includes("PRIVATE KEY-----")) {
    read.faults.push("SMTP_DKIM_KEY is not a private key in PEM form");
  }
  return { domain, selector, key };
}

function sender(read: Reader, name: string, form: RegExp, wanted: string): string | null {
  const given = read.text(name);
  if (given === null || form.test(given)) return given;
  read.faults.push(`${name} is not ${wanted}`);
  return null;
}
