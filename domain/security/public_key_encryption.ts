/**
 * Encryption for the holder of a private key, by a process that has none: X25519 with a key pair of
 * its own for each text, HKDF-SHA-256, AES-256-GCM. The ciphertext is bound to a subject.
 * @module
 */

const VERSION = 1;
const POINT_BYTES = 32;
const NONCE = new Uint8Array(12); // each key encrypts one text

/** A key pair; the private half as PKCS #8. */
export interface KeyPair {
  publicKey: Uint8Array;
  privateKey: Uint8Array<ArrayBuffer>;
}

/** Makes a key pair. */
export async function newKeyPair(): Promise<KeyPair> {
  const pair = await generate();
  return {
    publicKey: await rawOf(pair.publicKey),
    privateKey: new Uint8Array(
      await crypto.subtle.exportKey("pkcs8", pair.privateKey),
    ),
  };
}

/** Encrypts a text for the holder of a private key. */
export async function encryptFor(
  publicKey: Uint8Array,
  subject: string,
  text: string,
): Promise<Uint8Array> {
  const pair = await generate();
  const point = await rawOf(pair.publicKey);
  const recipient = await importPublic(publicKey);
  const key = await keyOf(pair.privateKey, recipient, [point, publicKey]);
  const body = await crypto.subtle.encrypt(
    cipherOf(subject),
    key,
    new TextEncoder().encode(text),
  );
  return new Uint8Array([VERSION, ...point, ...new Uint8Array(body)]);
}

/**
 * Decrypts a text.
 *
 * @throws {TypeError} where it was encrypted for another key or subject, or was altered
 */
export async function decryptWith(
  pair: KeyPair,
  subject: string,
  ciphertext: Uint8Array,
): Promise<string> {
  try {
    if (ciphertext[0] !== VERSION) throw new TypeError("another version");
    const point = ciphertext.slice(1, 1 + POINT_BYTES);
    const format = "pkcs8";
    const own = await crypto.subtle.importKey(
      format,
      pair.privateKey,
      "X25519",
      false,
      BITS,
    );
    const key = await keyOf(own, await importPublic(point), [
      point,
      pair.publicKey,
    ]);
    const body = ciphertext.slice(1 + POINT_BYTES);
    return new TextDecoder().decode(
      await crypto.subtle.decrypt(cipherOf(subject), key, body),
    );
  } catch {
    throw new TypeError(
      "the text cannot be decrypted: it is another's, or it was altered",
    );
  }
}

const BITS: KeyUsage[] = ["deriveBits"];

async function generate(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey("X25519", true, BITS) as CryptoKeyPair;
}

async function rawOf(key: CryptoKey): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.exportKey("raw", key));
}

async function importPublic(raw: Uint8Array): Promise<CryptoKey> {
  return await crypto.subtle.importKey(
    "raw",
    new Uint8Array(raw),
    "X25519",
    true,
    [],
  );
}

function cipherOf(subject: string) {
  return {
    name: "AES-GCM",
    iv: NONCE,
    additionalData: new TextEncoder().encode(subject),
  };
}

/** Derives the key of one text; it is bound to both public keys. */
async function keyOf(
  own: CryptoKey,
  other: CryptoKey,
  points: readonly Uint8Array[],
): Promise<CryptoKey> {
  const shared = await crypto.subtle.deriveBits(
    { name: "X25519", public: other },
    own,
    256,
  );
  const secret = await crypto.subtle.importKey("raw", shared, "HKDF", false, [
    "deriveKey",
  ]);
  const salt = new Uint8Array(points.flatMap((point) => [...point]));
  const info = new TextEncoder().encode("purser exchange credentials");
  const how = { name: "HKDF", hash: "SHA-256", salt, info };
  const made = { name: "AES-GCM", length: 256 };
  return await crypto.subtle.deriveKey(how, secret, made, false, [
    "encrypt",
    "decrypt",
  ]);
}
