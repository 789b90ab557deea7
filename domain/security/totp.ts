/** One-time passwords by time (RFC 6238 over RFC 4226): SHA-1, 6 digits, 30 seconds. @module */
import { createHmac, timingSafeEqual } from "node:crypto";

const STEP_MS = 30_000;
const DIGITS = 6;
/** Accepted steps before and after the present one, because clocks differ. */
const SLACK = 1;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Draws a secret of 160 bits, as base32. */
export function newTotpSecret(): string {
  return base32(crypto.getRandomValues(new Uint8Array(20)));
}

/** The URI that an authenticator reads (Key Uri Format). */
export function totpUri(
  secret: string,
  { issuer, name }: { issuer: string; name: string },
): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}` +
    `&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
}

/** The code of a step. */
export function totpCode(secret: string, step: number): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const mac = createHmac("sha1", unbase32(secret)).update(new Uint8Array(counter.buffer)).digest();
  const truncated = mac.readUInt32BE(mac[mac.length - 1] & 15) & 0x7fff_ffff;
  return `${truncated % 10 ** DIGITS}`.padStart(DIGITS, "0");
}

/** Finds the step of a code, near a time (milliseconds) and after the last one used; or null. */
export function totpStep(
  secret: string,
  code: string,
  { at, after }: { at: number; after: number },
): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = Math.floor(at / STEP_MS);
  const given = new TextEncoder().encode(code);
  let found: number | null = null;
  for (let step = now - SLACK; step <= now + SLACK; step++) {
    const right = timingSafeEqual(given, new TextEncoder().encode(totpCode(secret, step)));
    if (right && step > after) found ??= step;
  }
  return found;
}

/** Bytes as base32 (RFC 4648) without padding. */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}

function unbase32(text: string): Uint8Array {
  const bits = [...text].map((char) => ALPHABET.indexOf(char).toString(2).padStart(5, "0")).join(
    "",
  );
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => parseInt(byte, 2));
}
