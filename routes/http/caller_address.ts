/**
 * The network address of a caller. A header is believed only if the connection comes from a proxy
 * of the operator's (`TRUSTED_PROXIES`). It is read from the right, because the client itself may
 * have sent the elements further left.
 * @module
 */
import { DomainError } from "../../domain/errors.ts";
import { formatIp, holds, type Network, parseIp, parseNetwork } from "../../domain/ip_addresses.ts";
import type { RequestHeaders } from "./underlying_request.ts";

const PLAIN_V4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/**
 * Reads a list of networks.
 *
 * @throws {TypeError} where one is none
 */
export function readNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (network === null) throw new TypeError(`${JSON.stringify(text)} is not a network`);
    return network;
  });
}

/**
 * Finds the address that a request comes from.
 *
 * @param connection the address at the other end of the connection
 * @throws {DomainError} request.malformed where two headers name different callers, or one cannot be read
 */
export function callerAddress(
  headers: RequestHeaders,
  connection: string,
  proxies: readonly Network[],
): string {
  if (proxies.length === 0 && PLAIN_V4.test(connection)) return connection;
  const peer = parseIp(connection.replace(/%.*$/, "")); // without the zone of a link
  if (peer === null) return connection;
  const trusted = (address: bigint) => proxies.some((proxy) => holds(proxy, address));
  if (!trusted(peer)) return formatIp(peer);
  const given = [forwarded(headers.get("forwarded")), hops(headers.get("x-forwarded-for"))]
    .filter((chain) => chain !== null)
    .map((chain) => outermost(peer, chain, trusted));
  // A proxy that sets one header hands the other on as the caller sent it.
  if (given.length === 2 && given[0] !== given[1]) {
    throw new DomainError(
      "request.malformed",
      "Forwarded and X-Forwarded-For name different callers: the proxy must remove one of them",
    );
  }
  return formatIp(given[0] ?? peer);
}

/** Whether a connection comes from one of the proxies. */
export function isTrusted(connection: string, proxies: readonly Network[]): boolean {
  const peer = parseIp(connection.replace(/%.*$/, ""));
  return peer !== null && proxies.some((proxy) => holds(proxy, peer));
}

/** The leftmost address that a trusted proxy has named. */
function outermost(
  peer: bigint,
  chain: readonly string[],
  trusted: (address: bigint) => boolean,
): bigint {
  let known = peer;
  for (let i = chain.length - 1; i >= 0 && trusted(known); i--) {
    const next = parseIp(withoutPort(chain[i]));
    if (next === null) break; // `unknown`, or a name that hides it
    known = next;
  }
  return known;
}

/** Longest header of a chain of proxies. */
const CHAIN_MAX = 4000;

function assertShort(header: string): void {
  if (header.length <= CHAIN_MAX) return;
  throw new DomainError("request.malformed", "the header that names the caller is too long");
}

function hops(header: string | null): string[] | null {
  if (header !== null) assertShort(header);
  return header === null ? null : header.split(",").map((hop) => hop.trim());
}

/** The `for` of each element of a Forwarded header (RFC 7239). */
function forwarded(header: string | null): string[] | null {
  if (header === null) return null;
  assertShort(header);
  // A quotation that the caller begins and does not end would take in the element that the proxy has added.
  if (header.split('"').length % 2 === 0) {
    throw new DomainError("request.malformed", "Forwarded has a quotation without an end");
  }
  return splitOutsideQuotes(header, ",").map((element) => {
    const pairs = splitOutsideQuotes(element, ";").map((pair) => pair.trim());
    const [hop] = pairs.filter((pair) => /^for=/i.test(pair));
    return hop === undefined ? "" : hop.slice(4).replace(/^"(.*)"$/, "$1");
  });
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts = [""];
  let quoted = false;
  for (const char of text) {
    if (char === '"') quoted = !quoted;
    if (char === separator && !quoted) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** Removes the port and brackets that some proxies add: `192.0.2.7:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop);
  if (bracketed !== null) return bracketed[1];
  return /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop;
}
