/** Why a request to a receiver led to no answer. @module */

/** A request did not lead to an answer; the message says why, and holds no address: that may be a secret. */
export class WebhookFault extends Error {
  override readonly name = "WebhookFault";
}

/** Faults that several modules tell of. */
export const CLOSED = "the connection was closed";
/** The bytes of an answer break the rules of HTTP/1.1. */
export const NOT_HTTP = "the answer was not HTTP";

/** The fault that an error of a connection stands for; its own text may hold an address. */
export function faultOf(error: unknown): WebhookFault {
  if (error instanceof WebhookFault) return error;
  const { code = "", message = "" } = error as { code?: string; message?: string };
  if (code === "ECONNREFUSED") return new WebhookFault("the connection was refused");
  if (/^(ECONNRESET|ECONNABORTED|EPIPE)$/.test(code)) return new WebhookFault(CLOSED);
  if (/cert|altname|issuer|self.signed/i.test(`${code} ${message}`)) {
    return new WebhookFault("the certificate was not accepted");
  }
  if (
    /TLS|SSL|EPROTO|handshake|received (corrupt|fatal)|invalid content/i.test(`${code} ${message}`)
  ) {
    return new WebhookFault("the connection could not be encrypted");
  }
  const named = /^[A-Z_]{3,40}$/.test(code) ? ` (${code})` : "";
  return new WebhookFault(`the connection failed${named}`);
}
