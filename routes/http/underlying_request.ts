/**
 * The runtime's own request, which lies under the web's `Request`. Reading its headers one by one costs
 * less than `request.headers`: once those were touched, the runtime copies all headers when the answer is
 * sent, for readers that come later. A body that came whole with its headers is read without a promise.
 *
 * It reaches below the platform's interface: where the runtime's request has another form, the web's
 * headers and body are read, and a test fails.
 * @module
 */

/** The runtime's own name of it. */
const UNDER = "request";

/** Headers of a request, by their names in lower case. */
export interface RequestHeaders {
  /** The value; those of a repeated header are joined by commas. Null where it was not sent. */
  get(name: string): string | null;
}

let symbol: symbol | undefined;

/** Returns the request that lies under the web's; null where there is none. */
export function underlyingRequest(request: Request): object | null {
  symbol ??= Object.getOwnPropertySymbols(request).find((one) => one.description === UNDER);
  const under: unknown = symbol === undefined ? null : Reflect.get(request, symbol);
  return typeof under === "object" ? under : null;
}

/** Returns the headers of a request, which may be read until its answer is sent. */
export function requestHeaders(request: Request): RequestHeaders {
  const under = underlyingRequest(request);
  return hasHeaders(under) ? { get: (name) => under.header(name) } : request.headers;
}

function hasHeaders(under: object | null): under is { header(name: string): string | null } {
  return under !== null && "header" in under && typeof under.header === "function";
}

/** A body as the runtime holds it once it has come whole. */
interface WholeBody {
  body: Uint8Array<ArrayBuffer>;
  consumed: boolean;
}

const NOTHING = new Uint8Array();

/** Takes the body of a request that came whole with its headers, which is then used; null otherwise. */
export function arrivedBody(request: Request): Uint8Array<ArrayBuffer> | null {
  const held = wholeBody(request);
  if (held === null || held.consumed) return null;
  const { body } = held;
  held.body = NOTHING; // the runtime would keep it until the answer
  held.consumed = true;
  return body;
}

/** Whether the body of a request has come whole, read or not. */
export function holdsWholeBody(request: Request): boolean {
  return wholeBody(request) !== null;
}

function wholeBody(request: Request): WholeBody | null {
  const under = underlyingRequest(request);
  // Only the runtime's server keeps bodies so: others of its requests have another form.
  if (!hasHeaders(under) || !("body" in under)) return null;
  const held = (under.body as { streamOrStatic?: unknown } | null)?.streamOrStatic;
  return isWhole(held) ? held : null;
}

function isWhole(held: unknown): held is WholeBody {
  return typeof held === "object" && held !== null && "consumed" in held && "body" in held &&
    held.body instanceof Uint8Array;
}
