/**
 * Answers to requests that no route takes: no such path, a method that the path does not have, a target that cannot be
 * read, and `OPTIONS`.
 *
 * @module
 */
import { DomainError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { PROBLEMS } from "./problems.ts";
import { requestMetricsOf } from "./request_metrics.ts";
import { problem, send } from "./responses.ts";
import type { Services } from "./services.ts";
import { type RequestHeaders, requestHeaders } from "./underlying_request.ts";
import { openUnmatchedRequests } from "./unmatched_requests.ts";
import { safeRequestId } from "./validation.ts";

/** Refuses a request without a route. */
export type Unrouted = (request: Request, address: string, error: DomainError) => Response;

/** The refusal of a path that no route has. */
export function noRoute(): DomainError {
  return new DomainError("route.not_found", "no route has this path");
}

/** Opens the refusals of a process. They are logged without their paths, which can hold anything. */
export function openUnrouted(services: Services): Unrouted {
  const unmatched = openUnmatchedRequests(services.now);
  // Methods and paths are the caller's words: as labels they would be without end.
  const counts = requestMetricsOf(services).of("_OTHER", "none");
  return (request, address, error) => {
    const requestId = requestIdOf(requestHeaders(request), services);
    const over = unmatched.count(address);
    const refused = over?.error ?? error;
    counts.note(PROBLEMS[refused.code].status, 0);
    if (over === null || over.isFirst) {
      services.log("info", "request", {
        request_id: requestId,
        actor: "",
        route: "none",
        status: PROBLEMS[refused.code].status,
        code: refused.code,
      });
    }
    return problem(services, requestId, refused);
  };
}

/** The methods of a path as a client may send them: a GET can be asked for by HEAD. */
export function methodsOf(declared: readonly string[]): string {
  const more = declared.includes("GET") ? ["HEAD", "OPTIONS"] : ["OPTIONS"];
  return [...declared, ...more].join(", ");
}

/** Answers which methods a path has (RFC 9110, 9.3.7); it needs no key and reads nothing. */
export function tellMethods(services: Services, request: Request, methods: string): Response {
  const requestId = requestIdOf(requestHeaders(request), services);
  return send({ status: 200, body: "{}", headers: { allow: methods } }, requestId);
}

/** The caller's id of a request, if it is a safe one; else a new one. */
export function requestIdOf(headers: RequestHeaders, services: Services): string {
  return safeRequestId(headers.get("x-request-id")) ?? newId(services.now());
}
