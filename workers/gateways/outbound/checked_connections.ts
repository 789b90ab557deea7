/**
 * Connections to receivers. A name is resolved once, every address that it gives is checked, and the
 * connection goes to one of those: no second resolution can lead elsewhere.
 * @module
 */
import { lookup } from "node:dns/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, rootCertificates } from "node:tls";
import { parseIp } from "../../../domain/ip_addresses.ts";
import { isPublicAddress } from "../../../domain/webhooks/targets.ts";
import { CLOSED, WebhookFault } from "./webhook_fault.ts";

/** Resolves a name to its addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** How connections are made. */
export interface ConnectionOptions {
  /** Private addresses are connected to, too. */
  allowPrivate: boolean;
  /** The system's resolver, unless given. */
  resolve?: Resolve;
  /** Authorities (PEM) whose certificates are accepted beside those that the system knows. */
  caCerts?: readonly string[];
}

/** Where a connection goes. */
export interface Endpoint {
  /** A name, or an address; without brackets. */
  host: string;
  port: number;
  isTls: boolean;
}

/** Addresses of a name that are tried, and how long each but the last may take. */
const TRIED_MAX = 4;
const TRY_MS = 2500;

/**
 * Connects to a receiver; with TLS its certificate is checked for the name.
 *
 * @param signal ends the attempt, and closes what it has opened
 * @throws {WebhookFault} the address is refused
 * @throws an error of the connection; its text may hold the address
 */
export async function connectChecked(
  at: Endpoint,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const addresses = await checkedAddresses(at.host, options);
  return await connectToAny(addresses.slice(0, TRIED_MAX), at, options, signal);
}

/**
 * Resolves a name, and refuses it where any of its addresses is not public, in the words of one that there is not: an
 * owner of webhooks would else learn the names of the network that the service is in.
 */
async function checkedAddresses(
  host: string,
  { allowPrivate, resolve = resolveBySystem }: ConnectionOptions,
): Promise<readonly string[]> {
  const isLiteral = parseIp(host) !== null;
  const found = isLiteral ? [host] : await resolve(host).catch(() => []);
  // Text that is no address would be resolved again where it is connected to.
  const addresses = found.filter((one) => parseIp(one) !== null);
  const isReachable = allowPrivate || addresses.every(isPublicAddress);
  if (isReachable && addresses.length > 0) return addresses;
  throw new WebhookFault(
    allowPrivate
      ? "its name has no address"
      : "its name leads to no address of the public internet",
  );
}

async function resolveBySystem(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

async function connectToAny(
  addresses: readonly string[],
  at: Endpoint,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  for (const [n, address] of addresses.entries()) {
    const isLast = n === addresses.length - 1;
    const limit = isLast ? signal : AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]);
    try {
      return await open(address, at, options, limit);
    } catch (error) {
      if (isLast || signal.aborted || !isUnreachable(error)) throw error;
    }
  }
  throw new WebhookFault("its name has no address");
}

/** Whether nothing was reached at an address: a certificate that was refused there is no better at the next. */
function isUnreachable(error: unknown): boolean {
  return (error as Error).name === "TimeoutError" ||
    /^E(CONN|HOST|NET|TIMEDOUT|ADDR)/.test((error as { code?: string }).code ?? "");
}

/** Opens a connection to an address; nothing is resolved. */
async function open(
  address: string,
  { host, port, isTls }: Endpoint,
  { caCerts }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // With `Deno.startTls` a handshake that is given up leaves its socket open for as long as the
  // receiver likes.
  const socket = isTls
    ? connectTls({
      ...{ host: address, port, ALPNProtocols: ["http/1.1"], rejectUnauthorized: true },
      ...(parseIp(host) === null ? { servername: host.replace(/\.$/, "") } : {}),
      ...(caCerts === undefined ? {} : { ca: [...rootCertificates, ...caCerts] }),
    }, resolve)
    : connectTcp({ host: address, port }, resolve);
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  socket.once("error", reject);
  socket.once("close", () => reject(new WebhookFault(CLOSED)));
  try {
    await promise;
    socket.setNoDelay(true);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
