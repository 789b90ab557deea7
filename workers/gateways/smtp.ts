/**
 * E-mails over SMTP: a pool of connections, encrypted, signed (DKIM) where that is configured. SMTP
 * cannot recognise a repetition: an e-mail whose confirmation was lost is sent again, with the same
 * Message-ID.
 * @module
 */
import type { Socket } from "node:net";
import type { SmtpConfig } from "../../config/messages.ts";
import type { DueMessage } from "../../domain/messages/sending.ts";
import { AT_OPERATOR, BAD_DESTINATION } from "../../domain/messages/statuses.ts";
import type { MessageGateway } from "../worker_context.ts";
import { GatewayError } from "./outbound.ts";

const CONNECTIONS = 3;
/** Of one step of the conversation. */
const TIMEOUT_MS = 15_000;
/** Of an e-mail as a whole: a server may answer each step just in time, for ever. */
const DEADLINE_MS = 60_000;

type Transport = Awaited<ReturnType<typeof openTransport>>;

/** Takes a connection to the server, or why there is none. */
type GotSocket = (error: Error | null, made?: { connection: Socket }) => void;

/**
 * Prepares the server; the first e-mail connects to it.
 *
 * @param deadlineMs an e-mail that takes longer has failed
 */
export function openSmtp(
  config: SmtpConfig,
  deadlineMs = DEADLINE_MS,
): MessageGateway & { close(): void } {
  let opening: Promise<Transport> | null = null;
  const domain = config.from.slice(config.from.lastIndexOf("@") + 1).replace(/>$/, "");
  return {
    async send(message, signal) {
      signal.throwIfAborted();
      opening ??= openTransport(config, domain);
      const transport = await opening;
      try {
        // The end of the process is no reason to stop in the middle: the e-mail would come twice.
        const deadline = AbortSignal.timeout(deadlineMs);
        await transport.sendMail({ ...mailOf(config, domain, message), signal: deadline });
      } catch (error) {
        const failure = failureOf(error);
        if (failure instanceof GatewayError) throw failure;
        return { provider: "smtp", status: failure };
      }
      return { provider: "smtp", status: AT_OPERATOR };
    },
    close() {
      opening?.then((transport) => transport.close(), () => {});
    },
  };
}

async function openTransport(config: SmtpConfig, domain: string) {
  const { createTransport } = await import("nodemailer");
  const { connect } = await import("node:net");
  const url = new URL(config.url);
  const secure = url.protocol === "smtps:";
  const auth = url.username === ""
    ? {}
    : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } };
  const { dkim } = config;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? secure ? 465 : 587 : Number(url.port);
  return createTransport({
    pool: true,
    maxConnections: CONNECTIONS,
    maxRequeues: 0, // an attempt is one try: the next one is a job
    ...{ host, port, secure },
    name: domain, // the process may not read the name of its machine
    // The process may reach the server by its name alone, which the client would look up itself.
    getSocket: (_options: unknown, done: GotSocket) => {
      const connection = connect({ host, port });
      connection.setTimeout(TIMEOUT_MS, () => connection.destroy(new Error("timed out")));
      connection.once("error", done);
      connection.once("connect", () => {
        connection.setTimeout(0);
        connection.removeListener("error", done);
        done(null, { connection });
      });
    },
    requireTLS: config.encrypted && !secure,
    tls: { minVersion: "TLSv1.2" as const, ...(config.ca === null ? {} : { ca: [config.ca] }) },
    ...auth,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(dkim === null ? {} : {
      dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.key },
    }),
  });
}

function mailOf(config: SmtpConfig, domain: string, message: DueMessage) {
  if (message.channel !== "email") throw new TypeError("SMTP takes e-mails alone");
  const { subject, html, text } = message.content;
  return {
    from: config.from,
    to: { name: "", address: message.destination },
    subject,
    ...(html === undefined ? { text } : { html }),
    messageId: `<${message.id}@${domain}>`,
    headers: { "auto-submitted": "auto-generated" },
  };
}

/** A refusal for good as the state that it ends in, and everything else as an error. */
function failureOf(error: unknown) {
  const { responseCode, code, command } =
    (typeof error === "object" && error !== null ? error : {}) as {
      responseCode?: unknown;
      code?: unknown;
      command?: unknown;
    };
  const answered = typeof responseCode === "number" ? responseCode : null;
  if (isOfSettings({ answered, code, command, error })) {
    const word = answered === null
      ? ` (${/^E[A-Z]{2,20}$/.exec(`${code}`)?.[0] ?? "TLS"})`
      : ` ${answered}`;
    return new GatewayError(
      `the SMTP server refuses the login, the sender or encryption:${word}`,
      "settings",
    );
  }
  if (answered !== null && answered >= 500 && /^RCPT/.test(`${command}`)) return BAD_DESTINATION;
  // 552 and 554 after the content: the server will not take it later either.
  const refused = answered !== null && answered >= 500 && `${command}` === "DATA";
  const word = /^E[A-Z]{2,20}$/.test(`${code}`) ? ` (${code})` : "";
  return new GatewayError(
    answered === null
      ? `the SMTP server could not be reached${word}`
      : `the SMTP server answered ${answered}${word}`,
    refused ? "refused" : "failed",
  );
}

/** Whether the server refuses what every e-mail has in common: login, sender, encryption. */
function isOfSettings(
  { answered, code, command, error }: {
    answered: number | null;
    code: unknown;
    command: unknown;
    error: unknown;
  },
): boolean {
  const isForNow = answered !== null && answered < 500;
  if (isForNow) return false;
  if (code === "EAUTH" || code === "ETLS") return true;
  if (answered === null) return error instanceof Error && /certificate/i.test(error.message);
  if (answered === 530 || answered === 538) return true; // a login, or encryption, is asked for
  return answered !== 552 && `${command}` === "MAIL FROM";
}
