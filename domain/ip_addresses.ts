/**
 * Addresses of the Internet Protocol and the networks they belong to (RFC 4291, 4632, 5952). Both
 * versions are numbers of 128 bits; an IPv4 address is the one that is mapped into IPv6.
 * @module
 */

/** A network in CIDR form: the addresses that begin with the same bits. */
export interface Network {
  readonly first: bigint;
  /** Length of the prefix, 0 to 128. */
  readonly bits: number;
}

const MAPPED = 0xffff_0000_0000n;
const V4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

/** Reads an address; null where it is none. */
export function parseIp(text: string): bigint | null {
  if (text.length > 45) return null;
  const four = parseFour(text);
  if (four !== null) return MAPPED | four;
  return text.includes(":") ? parseSix(text) : null;
}

/** Reads a network such as `10.0.0.0/8` or `2001:db8::/32`; a lone address is a network of one. */
export function parseNetwork(text: string): Network | null {
  const [, address, length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const first = address === undefined ? null : parseIp(address);
  if (first === null) return null;
  const before = parseFour(address) === null ? 0 : 96;
  const bits = length === undefined ? 128 : before + parseInt(length, 10);
  if (bits > 128 || prefixOf(first, bits) !== first) return null;
  return { first, bits };
}

/** Whether a network holds an address. */
export function holds(network: Network, address: bigint): boolean {
  return prefixOf(address, network.bits) === network.first;
}

/** Writes an address in its one canonical form. */
export function formatIp(address: bigint): string {
  if (address >> 32n === MAPPED >> 32n) {
    return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join(".");
  }
  const groups = Array.from(
    { length: 8 },
    (_, i) => ((address >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  const zeros = /(?:^|:)0(?::0)+(?=:|$)/g; // runs of at least two
  const text = groups.join(":");
  const longest = [...text.matchAll(zeros)].map(([run]) => run)
    .sort((a, b) => colonless(b) - colonless(a))[0];
  if (longest === undefined) return text;
  const at = text.indexOf(longest);
  return `${text.slice(0, at)}::${text.slice(at + longest.length).replace(/^:/, "")}`;
}

/** The network that one customer of a provider has: an IPv4 address, or the /64 of an IPv6 address. */
export function customerOf(address: bigint): string {
  if (address >> 32n === MAPPED >> 32n) return formatIp(address);
  return `${formatIp(prefixOf(address, 64))}/64`;
}

/** The network that one subscriber has at most: an IPv4 address, or the /48 of an IPv6 address. */
export function subscriberOf(address: bigint): string {
  if (address >> 32n === MAPPED >> 32n) return formatIp(address);
  return `${formatIp(prefixOf(address, 48))}/48`;
}

function colonless(run: string): number {
  return run.replaceAll(":", "").length;
}

function prefixOf(address: bigint, bits: number): bigint {
  const rest = BigInt(128 - bits);
  return address >> rest << rest;
}

function parseFour(text: string): bigint | null {
  const parts = V4.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum << 8n | BigInt(part), 0n);
}

function parseSix(text: string): bigint | null {
  const tail = text.slice(text.lastIndexOf(":") + 1);
  if (tail.includes(".")) {
    const four = parseFour(tail);
    if (four === null) return null;
    const hex = `${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
    return parseSix(text.slice(0, -tail.length) + hex);
  }
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [left, right = []] = halves.map((half) => half === "" ? [] : half.split(":"));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...left, ...Array<string>(missing).fill("0"), ...right];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return BigInt(`0x${groups.map((group) => group.padStart(4, "0")).join("")}`);
}
