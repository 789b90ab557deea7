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

/** The runtime's own name of the request that lies under the web's. */
const UNDER = "request";

/** Makes the body of a GET readable, where the client sent one; gives the same request. */
export function uncoverBody(request: Request): Request {
  if (request.method !== "GET") return request;
  const { headers } = request;
  const announced = headers.get("content-length") ?? "0";
  if (announced === "0" && !headers.has("transfer-encoding")) return request;
  const symbol = Object.getOwnPropertySymbols(request).find((one) => one.description === UNDER);
  const under: unknown = symbol === undefined ? null : Reflect.get(request, symbol);
  if (typeof under === "object" && under !== null && "method" in under) {
    Object.defineProperty(under, "method", { value: "POST", configurable: true });
  }
  return request;
}
