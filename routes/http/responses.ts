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

/** Answers with a reply. */
export function send(reply: Reply, requestId: string, limits?: LimitHeaders): Response {
  const isEmpty = reply.status === 304;
  if (reply.headers === undefined && reply.stream === undefined && !isEmpty) {
    const base = reply.status >= 400 ? PROBLEM_LIST : JSON_LIST;
    const own = listOf(ownOf(reply, requestId));
    return answerOf(reply.bytes ?? reply.body, reply.status, base, own, limitList(limits));
  }
  const base = isEmpty ? HEADERS : reply.status >= 400 ? PROBLEM_HEADERS : JSON_HEADERS;
  return new Response(isEmpty ? null : reply.stream ?? reply.bytes ?? reply.body, {
    status: reply.status,
    headers: { ...base, ...ownOf(reply, requestId), ...limits, ...reply.headers },
  });
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
