/**
 * One exchange over HTTP, JSON-RPC or plain JSON, with one node that is not trusted: bounded in time and size, no
 * redirects, and an answer counts only if it has the right shape and id. It knows no chain.
 * @module
 */
import { within } from "../../tracing.ts";
import { ChainError } from "./chain.ts";

/** One question. */
export interface Call {
  /** Name of the call. */
  readonly method: string;
  /** Its arguments in order. */
  readonly params: readonly unknown[];
}

/** One question to a node that speaks plain HTTP: a POST if it has a body, else a GET. */
export interface Resource {
  /** Below the node's address, such as `wallet/getnowblock`: fixed words, no data. */
  readonly path: string;
  /** Added to the query of the node's address. */
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** Limits of an exchange. */
export interface RpcLimits {
  /** Milliseconds for the whole exchange, body included. */
  readonly timeoutMs: number;
  /** Bytes of an answer, after decompression. */
  readonly bytesMax: number;
  /**
   * Hand over numbers that a double cannot hold exactly (`0.1`, 1e30) as their own text. Where no fraction is read,
   * `integers` does so for answers with a long whole number only, because it costs four times as much.
   */
  readonly exactNumbers: boolean | "integers";
}

/** Address of a node. Credentials travel in a header and appear in no message. */
export interface Endpoint {
  /** Without credentials. */
  readonly url: string;
  /** The header's value, or null. */
  readonly authorization: string | null;
  /** A provider's key, in a header of its own. */
  readonly key?: { readonly header: string; readonly value: string };
  /** Host and port, for messages; a path may hold an API key. */
  readonly name: string;
}

/** An error that the node itself answered: it understood the question and refused it. */
export class RpcError extends Error {
  /** Tells it apart from other errors. */
  override readonly name = "RpcError";

  /** Makes an error from a JSON-RPC error object. */
  constructor(readonly code: number, message: string, readonly data: unknown = null) {
    super(message);
  }
}

/**
 * An answer of more bytes than are read. Strangers decide how much there is to tell of a block, so whoever reads
 * blocks asks for its parts then.
 */
export class TooLarge extends ChainError {}

/**
 * Splits the credentials off a node's address.
 *
 * @param keyHeader header of a provider's key; the key stands in the address as a user without password
 */
export function endpointOf(address: string, keyHeader?: string): Endpoint {
  const url = new URL(address);
  const { username, password } = url;
  url.username = url.password = "";
  if (keyHeader !== undefined && username !== "" && password === "") {
    const key = { header: keyHeader, value: decodeURIComponent(username) };
    return { url: url.href, authorization: null, key, name: url.host };
  }
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = username || password ? `Basic ${base64(pair)}` : null;
  return { url: url.href, authorization, name: url.host };
}

/**
 * Asks several questions in one exchange; answers and the node's own errors stand in their order.
 *
 * @throws {ChainError} `unavailable` if the node gave no proper answer
 * @throws {RpcError} if the node refused the batch as a whole
 */
export async function exchange(
  endpoint: Endpoint,
  calls: readonly Call[],
  limits: RpcLimits,
  closing: AbortSignal,
): Promise<(unknown | RpcError)[]> {
  const first = firstId();
  const bodies = calls.map((call, i) => ({ jsonrpc: "2.0", id: first + i, ...call }));
  const request = JSON.stringify(bodies.length === 1 ? bodies[0] : bodies);
  const reply = await send(endpoint, { url: endpoint.url, body: request }, limits, closing);
  // Also where an error of JSON-RPC comes with it: the node itself has to rest.
  if (reply.status === 429) {
    throw unavailable(endpoint, `answers no more (${statusOf(reply)})`, reply);
  }
  const answer = parse(reply.text, limits.exactNumbers);
  const answers = Array.isArray(answer) ? answer : [answer];
  const whole = answers[0]; // an error without an id is about all questions
  if (answers.length === 1 && isObject(whole) && isAbsent(whole.id) && isObject(whole.error)) {
    throw rpcError(whole.error, endpoint);
  }
  const found = byId(answers);
  return calls.map((_, i) => {
    const item = found.get(first + i);
    if (isObject(item?.error)) return rpcError(item.error, endpoint);
    if (isAbsent(item?.error) && item?.result !== undefined) return item.result;
    throw unavailable(endpoint, `answered no JSON-RPC (${statusOf(reply)})`, reply);
  });
}

/** Ids below 2^31, which every node takes. */
const IDS = 2 ** 31 - 1000;

/**
 * The first id of an exchange. They differ from exchange to exchange: where a node or a proxy before it gives an answer to
 * another question, of this process or of another, it has another id and counts as none.
 */
function firstId(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] % IDS;
}

/** Sorts answers by their ids. Two of one id are none: nothing says which of them is meant. */
function byId(answers: readonly unknown[]): Map<unknown, Record<string, unknown> | undefined> {
  const found = new Map<unknown, Record<string, unknown> | undefined>();
  for (const item of answers) {
    if (isObject(item)) found.set(item.id, found.has(item.id) ? undefined : item);
  }
  return found;
}

/** Whether a member of an answer is left out, or null. */
function isAbsent(member: unknown): boolean {
  return member === undefined || member === null;
}

/** Length from which a part of an address may be a key. */
const KEY_MIN = 12;
const PATH = /^[\w-]+(\/[\w-]+)*$/;
/** Client errors that are about the node and not about the question: keys, rates and time. */
const ABOUT_NODE: readonly number[] = [401, 402, 403, 407, 408, 425, 429];

/**
 * Asks for one resource in one exchange.
 *
 * @returns the JSON of a successful answer
 * @throws {ChainError} `unavailable` if the node gave no proper answer
 * @throws {RpcError} if the node refused the question; its code is the HTTP status
 */
export async function request(
  endpoint: Endpoint,
  { path, query = {}, body }: Resource,
  limits: RpcLimits,
  closing: AbortSignal,
): Promise<unknown> {
  if (!PATH.test(path)) throw new TypeError(`${path} is no path of a resource`);
  const url = new URL(endpoint.url);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const text = body === undefined ? null : JSON.stringify(body);
  const reply = await send(endpoint, { url: url.href, body: text }, limits, closing);
  const answer = parse(reply.text, limits.exactNumbers);
  const { status } = reply;
  if (answer !== undefined && status >= 200 && status < 300) return answer;
  if (isObject(answer) && status >= 400 && status < 500 && !ABOUT_NODE.includes(status)) {
    throw new RpcError(status, plain(withoutKeys(reply.text, endpoint)), answer);
  }
  throw unavailable(endpoint, `answered no JSON to ${path} (${statusOf(reply)})`, reply);
}

/** Removes parts of a node's address that may be a key: some servers repeat the address in an error. */
function withoutKeys(text: string, { url, key }: Endpoint): string {
  const { pathname, searchParams } = new URL(url);
  const parts = [...pathname.split("/"), ...searchParams.values(), key?.value ?? ""]
    .filter(({ length }) => length >= KEY_MIN);
  return parts.reduce((left, part) => left.replaceAll(part, "…"), text.slice(0, 2000));
}

function statusOf({ status, retryAfter }: Reply): string {
  return `HTTP ${status}${retryAfter === null ? "" : `, retry after ${retryAfter} s`}`;
}

interface Reply {
  text: string;
  status: number;
  retryAfter: string | null;
}

/** Sends a POST with a body, or a GET without. */
async function send(
  endpoint: Endpoint,
  { url, body }: { readonly url: string; readonly body: string | null },
  limits: RpcLimits,
  closing: AbortSignal,
): Promise<Reply> {
  const clock = new AbortController();
  const timer = setTimeout(() => clock.abort(), limits.timeoutMs);
  const stop = () => clock.abort();
  closing.addEventListener("abort", stop);
  try {
    if (closing.aborted) throw unavailable(endpoint, "is not asked any more");
    const headers = new Headers(body === null ? {} : { "content-type": "application/json" });
    if (endpoint.authorization !== null) headers.set("authorization", endpoint.authorization);
    if (endpoint.key !== undefined) headers.set(endpoint.key.header, endpoint.key.value);
    const init = {
      method: body === null ? "GET" : "POST",
      headers,
      body,
      redirect: "error",
      signal: clock.signal,
    } as const;
    const response = await within("node request", () => fetch(url, init));
    const text = await readAtMost(response, limits.bytesMax, endpoint);
    const retryAfter = response.headers.get("retry-after");
    return {
      text,
      status: response.status,
      retryAfter: retryAfter && plain(retryAfter).slice(0, 40),
    };
  } catch (error) {
    if (error instanceof ChainError) throw error;
    const what = clock.signal.aborted
      ? `gave no answer in ${limits.timeoutMs} ms`
      : "is not reached";
    throw unavailable(endpoint, closing.aborted ? "is not asked any more" : what);
  } finally {
    clearTimeout(timer);
    closing.removeEventListener("abort", stop);
  }
}

async function readAtMost(response: Response, bytesMax: number, from: Endpoint): Promise<string> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream, so no more bytes are read.
    if (bytes > bytesMax) {
      throw new TooLarge("unavailable", `${from.name} answered more than ${bytesMax} bytes`);
    }
    parts.push(decoder.decode(chunk, { stream: true }));
  }
  return parts.join("") + decoder.decode();
}

/** A whole number that a double may not hold. */
const LONG_INTEGER = /[[:,]\s*\d{16}/;

function parse(text: string, exact: RpcLimits["exactNumbers"]): unknown {
  try {
    const keeps = exact === "integers" ? LONG_INTEGER.test(text) : exact;
    return keeps ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    return undefined; // an answer that is not JSON is not JSON-RPC: exchange() reports it
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source && Number.isSafeInteger(value) ? value : context.source;
}

function rpcError(error: Record<string, unknown>, from: Endpoint): RpcError {
  const code = typeof error.code === "number" ? error.code : 0;
  const message = typeof error.message === "string" ? error.message : "no message";
  return new RpcError(code, plain(withoutKeys(message, from)), error.data ?? null);
}

/** Cleans untrusted text for display: one line, at most 200 characters. */
export function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.slice(0, 1000).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]+/g, " ")
    .slice(0, 200);
}

/**
 * Tells whether text is whole bytes in hexadecimal, at any length: a regular expression of pairs
 * would exhaust the stack.
 */
export function isHex(text: string): boolean {
  return text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text);
}

/** Describes a malformed answer in a few words; the cost does not depend on its size or depth. */
export function shownBriefly(answer: unknown): string {
  if (answer === undefined) return "nothing";
  if (Array.isArray(answer)) return `a list of ${answer.length}`;
  if (isObject(answer)) return "an object";
  return plain(String(answer)).slice(0, 60);
}

function unavailable(
  endpoint: Endpoint,
  what: string,
  { retryAfter }: Pick<Reply, "retryAfter"> = { retryAfter: null },
): ChainError {
  const retryAfterMs = retryAfter === null ? null : pauseOf(retryAfter);
  return new ChainError("unavailable", `${endpoint.name} ${what}`, { retryAfterMs });
}

/** Milliseconds that a `Retry-After` asks for, in its form of seconds or of a date; null for neither. */
function pauseOf(retryAfter: string): number | null {
  if (/^\d{1,9}$/.test(retryAfter)) return parseInt(retryAfter, 10) * 1_000;
  const until = Date.parse(retryAfter);
  return Number.isNaN(until) ? null : Math.max(0, until - Date.now());
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
