/** What goes over the wire to an exchange: bounded answers, and reasons without secrets. @module */
import type { ExchangeRequest } from "./protocol.ts";

/** Bytes of an answer. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of all answers that are being read: an exchange may give each of many calls its most. */
const HELD_MAX = 64 * 1024 * 1024;
/** Objects and arrays of an answer: the library makes large objects of small ones. */
const NODES_MAX = 100_000;
const REASON_MAX = 200;
/** Shorter parts of credentials stand in ordinary words. */
const SECRET_MIN = 4;

/** Bytes that are being read now. */
let held = 0;

/** Fetches an answer of limited size; a redirect is an error. */
export async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const { method, headers, body, signal } = init;
  const response = await fetch(url, { method, headers, body, signal, redirect: "error" });
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const part of response.body ?? []) { // leaving the loop cancels the rest
      size += part.byteLength;
      held += part.byteLength;
      if (size > BYTES_MAX || held > HELD_MAX) {
        throw new TypeError("the exchange answered too much");
      }
      parts.push(part);
    }
    const { status, statusText } = response;
    const empty = status === 204 || status === 304;
    const text = empty ? null : withDigits(assertFew(await new Blob(parts).text()));
    return new Response(text, { status, statusText, headers: response.headers });
  } finally {
    held -= size;
  }
}

/** Refuses an answer of so many parts that the library would use up the memory of the process. */
function assertFew(text: string): string {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code === 0x7b || code === 0x5b) && ++count > NODES_MAX) {
      throw new TypeError("the exchange answered too much");
    }
  }
  return text;
}

/** Writes numbers of a JSON text that a double cannot hold exactly as text with their digits. */
function withDigits(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text, keepDigits));
  } catch {
    return text; // not JSON: the library judges it
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source && Number.isSafeInteger(value) ? value : context.source;
}

/**
 * Gives the exchange's reason for an error in one line, without credentials, signatures and
 * addresses of the network.
 */
export function reasonOf(
  error: unknown,
  { exchange, credentials }: Pick<ExchangeRequest, "exchange" | "credentials">,
): string {
  const whole = error instanceof Error ? error.message : `${error}`;
  const text = withoutCredentials(whole.slice(0, 20_000), credentials);
  // JSON may write a letter in several ways, so that only what is read shows a credential.
  const told = withoutCredentials(toldIn(text) ?? text, credentials);
  const plain = told
    .replace(/https?:\/\/[^\s"']*/g, "…")
    .replace(/[\w-]{0,30}(signature|sign|key|secret|token)=[^&\s"']*/gi, "…")
    // deno-lint-ignore no-control-regex -- text from outside
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]+/g, " ")
    .trim();
  const reason = plain.startsWith(`${exchange} `) ? plain.slice(exchange.length + 1) : plain;
  return reason.slice(0, REASON_MAX) || "no reason is given";
}

function withoutCredentials(
  text: string,
  credentials: ExchangeRequest["credentials"],
): string {
  for (const secret of Object.values(credentials)) {
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
    for (const form of [...forms, secret.replaceAll("/", "\\/"), btoa(secret)]) {
      if (form.length >= SECRET_MIN) text = text.replaceAll(form, "…");
    }
  }
  return text;
}

/** The message in a JSON answer, which the library repeats as a whole. */
function toldIn(text: string): string | null {
  const from = text.indexOf("{");
  if (from < 0) return null;
  try {
    const answer = JSON.parse(text.slice(from)) as Record<string, unknown>;
    const told = [answer.msg, answer.message, answer.error, answer.retMsg, answer.err_msg]
      .flat().find((one) => typeof one === "string" && one !== "");
    return told === undefined ? null : told as string;
  } catch {
    return null;
  }
}
