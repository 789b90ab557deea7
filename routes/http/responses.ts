/** Responses: the status, headers and body of an answer. @module */
import type { DomainError } from "../../domain/errors.ts";
import { problemOf } from "./problems.ts";
import { headersOf, type LimitHeaders, UNLIMITED } from "./rate_limits.ts";
import type { Reply } from "./route.ts";
import type { Services } from "./services.ts";
import { answerOf, type HeaderList, listOf, sharedListOf } from "./underlying_response.ts";

/** Headers of every answer: no caching, sniffing, framing or referrer. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};
const JSON_HEADERS = { ...HEADERS, "content-type": "application/json" };
const PROBLEM_HEADERS = { ...HEADERS, "content-type": "application/problem+json" };
const JSON_LIST = sharedListOf(JSON_HEADERS);
const PROBLEM_LIST = sharedListOf(PROBLEM_HEADERS);

/** Answers whose bodies are streams. */
const streamed = new WeakSet<Response>();
/** Bytes of those that are ready as a whole, which is held until the last piece was taken. */
const sizes = new WeakMap<Response, number>();
/**
 * The least size of an answer that is sent in pieces: the runtime takes such a piece only when there is room on the
 * connection for it, and would take any whole body at once, however slowly it is read.
 */
const LARGE = 256 * 1024;
const PIECE = 64 * 1024;

/** Answers with a reply. */
export function send(reply: Reply, requestId: string, limits?: LimitHeaders): Response {
  const { status } = reply;
  const isEmpty = status === 304;
  const body = reply.bytes ?? reply.body;
  const isLarge = reply.stream === undefined && !isEmpty && body.length >= LARGE;
  if (reply.headers === undefined && reply.stream === undefined && !isEmpty && !isLarge) {
    const base = status >= 400 ? PROBLEM_LIST : JSON_LIST;
    return answerOf(body, status, base, listOf(ownOf(reply, requestId)), limitList(limits));
  }
  const base = isEmpty ? HEADERS : status >= 400 ? PROBLEM_HEADERS : JSON_HEADERS;
  const headers = { ...base, ...ownOf(reply, requestId), ...limits, ...reply.headers };
  if (isLarge) return inPieces(body, { status, headers });
  const answer = new Response(isEmpty ? null : reply.stream ?? body, { status, headers });
  if (reply.stream !== undefined) streamed.add(answer);
  return answer;
}

function inPieces(
  body: string | Uint8Array<ArrayBuffer>,
  { status, headers }: { status: number; headers: Record<string, string> },
): Response {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  let at = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at += PIECE));
      if (at >= bytes.length) controller.close();
    },
  }, { highWaterMark: 0 });
  const length = { "content-length": `${bytes.length}` };
  const answer = new Response(stream, { status, headers: { ...headers, ...length } });
  streamed.add(answer);
  sizes.set(answer, bytes.length);
  return answer;
}

/** The size of an answer that is sent in pieces, and is held as a whole until the last one; 0 of others. */
export function largeSize(answer: Response): number {
  return sizes.get(answer) ?? 0;
}

/** The same answer with other headers. */
export function withOtherHeaders(answer: Response, headers: Headers): Response {
  const other = new Response(answer.body, { status: answer.status, headers });
  if (streamed.has(answer)) streamed.add(other);
  const size = largeSize(answer);
  if (size > 0) sizes.set(other, size);
  return other;
}

/**
 * The answer to a HEAD, of the answer to the GET: its headers with its length. The runtime leaves the body out over
 * HTTP/1.1 alone; over HTTP/2 it would be sent, and the client would end the stream as a fault of the protocol.
 */
export async function withoutBody(whole: Response | Promise<Response>): Promise<Response> {
  const answer = await whole;
  const { status, body } = answer;
  if (body === null) return answer;
  const headers = new Headers(answer.headers);
  if (streamed.has(answer)) await body.cancel();
  else headers.set("content-length", `${(await answer.arrayBuffer()).byteLength}`);
  return new Response(null, { status, headers });
}

function ownOf({ location }: Reply, requestId: string): Record<string, string> {
  return location === undefined
    ? { "x-request-id": requestId }
    : { "x-request-id": requestId, location };
}

const NO_LIST = sharedListOf({});
const UNLIMITED_LIST = sharedListOf(UNLIMITED);

/** The list of limits. Where there are some, each answer states what is left of them, so it has a list of its own. */
function limitList(limits: LimitHeaders | undefined): HeaderList {
  if (limits === undefined) return NO_LIST;
  return limits === UNLIMITED ? UNLIMITED_LIST : listOf(limits);
}

/** Answers with a problem. */
export function problem(
  services: Services,
  requestId: string,
  error: DomainError,
  limits?: LimitHeaders,
): Response {
  const body = problemOf(error, services.config.baseUrl, requestId);
  const { allowance } = error.extra;
  const headers: Record<string, string> = {
    ...PROBLEM_HEADERS,
    "x-request-id": requestId,
    ...allowance === undefined ? limits : headersOf(allowance),
  };
  if (error.extra.retryAfterS !== undefined) headers["retry-after"] = `${error.extra.retryAfterS}`;
  if (body.status === 401) headers["www-authenticate"] = 'ApiKey realm="purser"';
  return new Response(JSON.stringify(body), { status: body.status, headers });
}
