/**
 * The body of a GET. HTTP permits one and the specification shows one, but the web's Request, and
 * so the server of this platform, hides it: whether there is a body is decided by the method alone.
 * The bytes are there all the same. After routing, this module changes the method of the underlying
 * request, and from then on `request.body` is the body that the client sent.
 *
 * Other requests are untouched and pay nothing. It reaches below the platform's interface: should
 * that change, the body is not seen, the same values still work as query parameters and by POST,
 * and a test fails.
 * @module
 */

import { requestHeaders, underlyingRequest } from "./underlying_request.ts";

/** Makes the body of a GET or HEAD readable, where the client sent one; gives the same request. */
export function uncoverBody(request: Request): Request {
  if (request.method !== "GET" && request.method !== "HEAD") return request;
  const headers = requestHeaders(request);
  const announced = headers.get("content-length") ?? "0";
  if (announced === "0" && headers.get("transfer-encoding") === null) return request;
  const under = underlyingRequest(request);
  if (under !== null && "method" in under) {
    Object.defineProperty(under, "method", { value: "POST", configurable: true });
  }
  return request;
}
