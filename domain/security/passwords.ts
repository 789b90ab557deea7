/**
 * Passwords: argon2id with OWASP's parameters (m = 19 MiB, t = 2, p = 1), kept as a PHC string. The
 * platform's own implementation runs off the event loop; older runtimes fall back to WebAssembly.
 * @module
 */
import { z } from "zod";
import { DomainError } from "../errors.ts";

/** A password as a caller sets it. */
export const Password = z.string().min(10).max(200).meta({
  id: "Password",
  description: "At least 10 characters.",
  example: "correct horse battery",
});

const MEMORY_KIB = 19456;
const PASSES = 2;
const LANES = 1;
const BYTES = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
/** The verifier of no password: unknown users are checked against it, so that they cost the same time. */
const NOBODY =
  "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/**
 * Makes the verifier to store for a password.
 *
 * @param realm whose turn it is: realms take turns
 * @throws {DomainError} service.overloaded
 */
export async function hashPassword(password: string, realm: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const work = {
    secret: secretOf(password),
    salt,
    memory: MEMORY_KIB,
    passes: PASSES,
    lanes: LANES,
  };
  const hash = await argon2id(work, { realm, kind: "set" });
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(salt)}$${base64(hash)}`;
}

/**
 * Checks a password against a verifier in constant time. With no verifier (an unknown user) it does
 * the same work and answers false.
 *
 * @param realm whose turn it is: realms take turns
 * @throws {DomainError} service.overloaded
 */
export async function checkPassword(
  password: string,
  verifier: string | null,
  realm: string,
): Promise<boolean> {
  const match = PHC.exec(verifier ?? NOBODY);
  if (match === null) throw new TypeError("a stored verifier is not a PHC string of argon2id");
  const [, memory, passes, lanes, salt, expected] = match;
  const work = {
    secret: secretOf(password),
    salt: unbase64(salt),
    memory: parseInt(memory),
    passes: parseInt(passes),
    lanes: parseInt(lanes),
  };
  const hash = await argon2id(work, { realm, kind: "check" });
  return equalBytes(hash, unbase64(expected)) && verifier !== null;
}

/** Compares in constant time, so that the duration does not reveal the first difference. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
  return difference === 0;
}

/** The work of one argon2id. */
export interface Derivation {
  /** The password's bytes. */
  secret: Uint8Array;
  salt: Uint8Array;
  /** KiB. */
  memory: number;
  passes: number;
  lanes: number;
}

function secretOf(password: string): Uint8Array {
  return new TextEncoder().encode(password.normalize("NFKC"));
}

async function argon2id(work: Derivation, turn: Turn): Promise<Uint8Array> {
  await takeTurn(turn);
  try {
    return await deriveByPlatform(work) ?? await deriveByWasm(work);
  } finally {
    handOn();
  }
}

/** Whose turn a derivation waits for, and whether for a login or for a password that is set. */
interface Turn {
  realm: string;
  kind: "check" | "set";
}

/** Derivations at once: each takes 19 MiB and a core. */
const RUNNING_MAX = 4;
/** Of one realm and kind: a flood of its own passwords delays the logins of others by a turn each, and refuses none of them. */
const WAITING_MAX = 200;
/**
 * By realm, the next one to be served first. Of a realm logins come first, of which few are checked at a time: who sets
 * passwords without number keeps nobody of the same realm from logging in.
 */
const waiting = new Map<string, Record<Turn["kind"], (() => void)[]>>();
let running = 0;

/** @throws {DomainError} service.overloaded */
async function takeTurn({ realm, kind }: Turn): Promise<void> {
  if (running < RUNNING_MAX) {
    running++;
    return;
  }
  const own = waiting.get(realm) ?? { check: [], set: [] };
  const mine = own[kind];
  if (mine.length >= WAITING_MAX) {
    throw new DomainError("service.overloaded", "too many passwords are being checked", {
      retryAfterS: 2,
    });
  }
  waiting.set(realm, own);
  await new Promise<void>((resolve) => mine.push(resolve)); // a turn is handed on
}

/** Hands a turn on to the realm that has waited longest for one. */
function handOn(): void {
  const [next] = waiting;
  if (next === undefined) {
    running--;
    return;
  }
  const [realm, own] = next;
  waiting.delete(realm);
  const resolve = (own.check.shift() ?? own.set.shift())!;
  if (own.check.length + own.set.length > 0) waiting.set(realm, own); // behind the others
  resolve();
}

/** Derives by the platform's WebCrypto; null where it has no argon2id. */
export async function deriveByPlatform(work: Derivation): Promise<Uint8Array | null> {
  const { secret, salt, memory, passes, lanes } = work;
  try {
    // Argon2 is not in TypeScript's types of WebCrypto yet.
    const subtle = crypto.subtle as unknown as {
      importKey(...args: unknown[]): Promise<CryptoKey>;
      deriveBits(algorithm: unknown, key: CryptoKey, bits: number): Promise<ArrayBuffer>;
    };
    const key = await subtle.importKey("raw-secret", secret, "Argon2id", false, ["deriveBits"]);
    const algorithm = { name: "Argon2id", memory, passes, parallelism: lanes, nonce: salt };
    return new Uint8Array(await subtle.deriveBits(algorithm, key, BYTES * 8));
  } catch (error) {
    const absent = error instanceof DOMException && error.name === "NotSupportedError";
    if (absent || error instanceof TypeError) return null;
    throw error;
  }
}

/** Derives in WebAssembly, on the event loop. */
export async function deriveByWasm(work: Derivation): Promise<Uint8Array> {
  const { argon2id } = await import("hash-wasm");
  return await argon2id({
    password: work.secret,
    salt: work.salt,
    memorySize: work.memory,
    iterations: work.passes,
    parallelism: work.lanes,
    hashLength: BYTES,
    outputType: "binary",
  });
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/=+$/, "");
}

function unbase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
