/**
 * Targets of webhooks: which addresses the service may send to. Receivers are strangers' choice, so
 * nothing of the service's own network may be reached through them (server-side request forgery).
 * @module
 */
import { holds, type Network, parseIp, parseNetwork } from "../ip_addresses.ts";

/**
 * Networks that are not of the public internet, or that lead into others (IANA registries of special-purpose
 * addresses): this host, private, shared, loopback, link-local with the metadata services of clouds,
 * documentation, benchmarks, multicast and reserved; of IPv6 also IPv4-compatible addresses, NAT64,
 * Teredo, 6to4 and unique local ones.
 */
const REFUSED: readonly Network[] = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"],
  ...["192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
].map((text) => parseNetwork(text)!);
/** Where public addresses of IPv6 lie, and what in it is none. */
const GLOBAL = parseNetwork("2000::/3")!;
const REFUSED_GLOBAL: readonly Network[] = [
  ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48"],
].map((text) => parseNetwork(text)!);
const MAPPED = parseNetwork("::ffff:0:0/96")!;

/** Whether an address is one of the public internet. Text that is no address is none. */
export function isPublicAddress(text: string): boolean {
  const [plain] = text.replace(/^\[|\]$/g, "").split("%");
  const address = parseIp(plain);
  if (address === null) return false;
  if (holds(MAPPED, address)) return !REFUSED.some((network) => holds(network, address));
  return holds(GLOBAL, address) && !REFUSED_GLOBAL.some((network) => holds(network, address));
}

/** Longest address, as it is stored and sent. */
const LENGTH_MAX = 2000;

/** What the installation permits. */
export interface TargetRules {
  /** Private addresses, and plain HTTP: for tests, and receivers in a network of one's own. */
  allowPrivate: boolean;
}

/**
 * Checks the address of a receiver as it is written; its name is resolved, and checked again, when
 * it is connected to.
 *
 * @returns what is wrong with it; null: nothing
 */
export function targetFault(text: string, { allowPrivate }: TargetRules): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return "an absolute URL is expected";
  // What is no ASCII becomes three times as long, or more.
  if (url.href.length > LENGTH_MAX) return `at most ${LENGTH_MAX} characters are expected`;
  const isPlain = url.protocol === "http:";
  if (url.protocol !== "https:" && !(isPlain && allowPrivate)) return "https is expected";
  if (url.username !== "" || url.password !== "") return "no user or password is taken";
  if (url.hash !== "") return "no fragment is taken";
  if (url.hostname === "") return "a host is expected";
  if (allowPrivate) return null;
  const host = url.hostname.replace(/\.$/, "");
  if (/(^|\.)(localhost|local|internal|localdomain|home\.arpa)$/i.test(host)) {
    return "a host of the public internet is expected";
  }
  const isLiteral = host.startsWith("[") || parseIp(host) !== null;
  if (isLiteral && !isPublicAddress(host)) return "a public address is expected";
  if (!isLiteral && !host.includes(".")) return "a host of the public internet is expected";
  return null;
}
