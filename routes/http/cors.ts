/**
 * Pages of other origins (CORS, in the Fetch standard): those of `CORS_ORIGINS` may call the API from a browser and read its answers. A key goes
 * in a header that the page sets itself, never in a cookie, so no answer allows credentials.
 *
 * @module
 */
import { withOtherHeaders } from "./responses.ts";
import type { RequestHeaders } from "./underlying_request.ts";

/** Adds to an answer what the page's browser must be told. */
export type Cors = (
  asked: { method: string; headers: RequestHeaders },
  answer: Response,
) => Response;

/** Headers that a page may send. */
const SENT = [
  ...["authorization", "content-type", "idempotency-key", "if-match", "if-none-match"],
  ...["last-event-id", "prefer", "x-api-key", "x-request-id"],
].join(", ");
/** Headers of answers that a page may read. */
const READ = [
  ...["deprecation", "etag", "idempotency-replayed", "link", "location", "preference-applied"],
  ...["ratelimit", "ratelimit-limit", "ratelimit-policy", "ratelimit-remaining"],
  ...[
    "ratelimit-reset",
    "replica-lag",
    "retry-after",
    "sunset",
    "x-credits-remaining",
    "x-request-id",
  ],
].join(", ");
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
/** How long a browser may keep what it was told, in seconds. */
const KEPT_S = "600";

/** Opens the answers to pages of these origins; null where none may call. */
export function openCors(origins: readonly string[]): Cors | null {
  if (origins.length === 0) return null;
  const known = new Set(origins);
  return ({ method, headers }, answer) => {
    const origin = headers.get("origin");
    const added = new Headers(answer.headers);
    added.append("vary", "origin"); // an answer to one origin is none to another
    if (origin !== null && known.has(origin)) {
      added.set("access-control-allow-origin", origin);
      if (method === "OPTIONS" && headers.get("access-control-request-method") !== null) {
        added.set("access-control-allow-methods", METHODS);
        added.set("access-control-allow-headers", SENT);
        added.set("access-control-max-age", KEPT_S);
      } else added.set("access-control-expose-headers", READ);
    }
    return withOtherHeaders(answer, added);
  };
}
