/**
 * Authentication of the provider of messages, whose webhooks name no user: by the secret that it was
 * given, or by the signature of each request under that secret, as the installation is configured.
 * @module
 */
import { createHmac } from "node:crypto";
import { DomainError } from "../../domain/errors.ts";
import { equalBytes } from "../../domain/security/passwords.ts";
import { digestKey } from "../../domain/realms/realms.ts";
import { guardOf, networkOf } from "./login_guard.ts";
import type { Services } from "./services.ts";
import type { RequestHeaders } from "./underlying_request.ts";

/** Where a request comes from, and when. */
export interface ProviderRequest {
  at: number;
  address: string;
}

/** How long a signature counts: the provider may send a request again for a while. */
const SIGNED_MS = 3_600_000;
/** How far the provider's clock may be ahead. */
const AHEAD_MS = 300_000;

/**
 * Checks what the headers of a webhook show. A signature can be checked only with the body
 * ({@link assertSigned}). Wrong secrets are counted as wrong logins are.
 *
 * @throws {DomainError} auth.missing, auth.invalid, rate.limited
 */
export async function assertProvider(
  services: Services,
  headers: RequestHeaders,
  request: ProviderRequest,
): Promise<void> {
  const { infobipWebhookAuth, infobipWebhookSecret: expected } = services.config;
  const subject = subjectOf(request);
  if (infobipWebhookAuth === "hmac") {
    const { timestamp } = signatureOf(headers);
    guardOf(services).check(subject);
    assertFresh(timestamp, request.at);
    if (expected === null) throw wrong(services, subject);
    return;
  }
  const given = secretOf(headers.get("authorization"));
  if (given === null) throw new DomainError("auth.missing", "send the secret in authorization");
  guardOf(services).check(subject);
  const isRight = expected !== null &&
    equalBytes(await digestKey(given), await digestKey(expected));
  if (!isRight) throw wrong(services, subject);
}

/**
 * Checks the signature of a webhook where webhooks are signed: HMAC-SHA-256, in hexadecimal, of the
 * timestamp followed by the body.
 *
 * @throws {DomainError} auth.invalid
 */
export function assertSigned(
  services: Services,
  headers: RequestHeaders,
  body: string,
  request: ProviderRequest,
): void {
  const { infobipWebhookAuth, infobipWebhookSecret: secret } = services.config;
  if (infobipWebhookAuth !== "hmac") return;
  const { timestamp, signature } = signatureOf(headers);
  const expected = createHmac("sha256", secret!).update(timestamp).update(body).digest();
  const given = /^[0-9a-f]{64}$/i.test(signature) ? Uint8Array.fromHex(signature) : null;
  if (given === null || !equalBytes(given, expected)) throw wrong(services, subjectOf(request));
  remember(services, request.address);
}

/** Networks that signed webhooks came from lately, the latest last. */
const knownNetworks = new WeakMap<Services, Set<string>>();
/** The provider sends from a few. */
const KNOWN_MAX = 100;

function remember(services: Services, address: string): void {
  const known = knownNetworks.get(services) ?? new Set<string>();
  knownNetworks.set(services, known);
  const network = networkOf(address);
  known.delete(network);
  known.add(network);
  const [oldest] = known;
  if (known.size > KNOWN_MAX) known.delete(oldest);
}

/**
 * Whether a webhook whose headers were right is the provider's, before its body is read: with a secret it is; with a
 * signature, which covers the body, where the last that came from its network were.
 */
export function isKnownProvider(services: Services, address: string): boolean {
  const { infobipWebhookAuth } = services.config;
  return infobipWebhookAuth !== "hmac" ||
    (knownNetworks.get(services)?.has(networkOf(address)) ?? false);
}

/** The signature of a request, and the time (milliseconds) that it covers. */
function signatureOf(headers: RequestHeaders): { timestamp: string; signature: string } {
  const timestamp = headers.get("x-ib-exchange-req-timestamp")?.trim();
  const signature = headers.get("x-ib-exchange-req-signature")?.trim();
  if (timestamp && signature) return { timestamp, signature };
  throw new DomainError(
    "auth.missing",
    "send x-ib-exchange-req-timestamp and x-ib-exchange-req-signature",
  );
}

/** A signed request that somebody kept cannot be sent again for ever. */
function assertFresh(timestamp: string, at: number): void {
  const age = /^\d{13}$/.test(timestamp) ? at - Number(timestamp) : NaN;
  if (age <= SIGNED_MS && age >= -AHEAD_MS) return;
  throw new DomainError(
    "auth.invalid",
    "the timestamp is no time of the last hour, in milliseconds",
  );
}

function subjectOf({ address }: ProviderRequest): string {
  return `provider ${networkOf(address)}`;
}

function wrong(services: Services, subject: string): DomainError {
  guardOf(services).countWrong(subject);
  return new DomainError("auth.invalid", "this is not the secret of the provider's webhooks");
}

/** The secret after Bearer, or the password of Basic: read in time that grows with the header alone, which a stranger wrote. */
function secretOf(authorization: string | null): string | null {
  const given = authorization?.trim() ?? "";
  const [scheme] = given.split(" ", 1);
  const value = given.slice(scheme.length).trim();
  if (value === "" || !/^(bearer|basic)$/i.test(scheme)) return null;
  if (scheme.toLowerCase() === "bearer") return value;
  try {
    const pair = new TextDecoder().decode(Uint8Array.fromBase64(value));
    return pair.includes(":") ? pair.slice(pair.indexOf(":") + 1) : null;
  } catch {
    return null;
  }
}
