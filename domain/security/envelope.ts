/**
 * Envelope encryption of secrets at rest: AES-256-GCM encrypts each under a data key of its own, and the
 * data key under the master key. Both ciphertexts are bound to realm, kind and id, so a row copied
 * elsewhere cannot be decrypted. Callers decide who may decrypt; errors never repeat their input.
 * @module
 */

/** The master key, ready for use. Its raw form is not kept. */
export interface MasterKey {
  /** A fingerprint, stored beside each data key that it wraps. */
  readonly id: string;
  /** The key itself, which cannot be exported. */
  readonly key: CryptoKey;
}

/** The binding of a secret. */
export interface SecretName {
  /** Realm id. */
  readonly realm: string;
  /** Its kind, such as `seed`. */
  readonly kind: string;
  /** Id of its row. */
  readonly id: string;
}

/** A secret as stored; both ciphertexts begin with their nonce. */
export interface EncryptedSecret {
  /** The master key's id. */
  readonly master: string;
  /** The data key, encrypted under the master key. */
  readonly wrapped: Uint8Array;
  /** The secret, encrypted under the data key. */
  readonly ciphertext: Uint8Array;
}

const NONCE_BYTES = 12;

/**
 * Reads a master key.
 *
 * @param text base64 of 32 bytes
 * @throws {TypeError} if it is anything else
 */
export async function readMasterKey(text: string): Promise<MasterKey> {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) throw new TypeError("the master key is not 32 bytes");
  const raw = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  try {
    const label = new TextEncoder().encode("purser master key");
    const digest = await crypto.subtle.digest("SHA-256", new Uint8Array([...label, ...raw]));
    const id = [...new Uint8Array(digest, 0, 8)]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return { id, key: await importKey(raw) };
  } finally {
    raw.fill(0);
  }
}

/** Encrypts a secret. */
export async function encryptSecret(
  master: MasterKey,
  name: SecretName,
  secret: Uint8Array<ArrayBuffer>,
): Promise<EncryptedSecret> {
  const data = crypto.getRandomValues(new Uint8Array(32));
  try {
    return {
      master: master.id,
      wrapped: await encrypt(master.key, name, data),
      ciphertext: await encrypt(await importKey(data), name, secret),
    };
  } finally {
    data.fill(0);
  }
}

/**
 * Decrypts a secret. Wipe it after use.
 *
 * @throws {TypeError} if it was encrypted under another master key, for another name, or was altered
 */
export async function decryptSecret(
  master: MasterKey,
  name: SecretName,
  stored: EncryptedSecret,
): Promise<Uint8Array<ArrayBuffer>> {
  const data = await unwrap(master, name, stored);
  try {
    return await decrypt(await importKey(data), name, stored.ciphertext);
  } finally {
    data.fill(0);
  }
}

/**
 * Wraps a secret's data key under another master key; the secret's ciphertext stays as it is.
 *
 * @throws {TypeError} as {@link decryptSecret}
 */
export async function rewrapSecret(
  from: MasterKey,
  to: MasterKey,
  name: SecretName,
  stored: EncryptedSecret,
): Promise<EncryptedSecret> {
  const data = await unwrap(from, name, stored);
  try {
    return { ...stored, master: to.id, wrapped: await encrypt(to.key, name, data) };
  } finally {
    data.fill(0);
  }
}

async function unwrap(
  master: MasterKey,
  name: SecretName,
  stored: EncryptedSecret,
): Promise<Uint8Array<ArrayBuffer>> {
  if (stored.master !== master.id) throw new TypeError("encrypted under another master key");
  return await decrypt(master.key, name, stored.wrapped);
}

async function encrypt(
  key: CryptoKey,
  name: SecretName,
  plain: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const how = { name: "AES-GCM", iv, additionalData: boundTo(name) };
  const text = new Uint8Array(await crypto.subtle.encrypt(how, key, plain));
  const whole = new Uint8Array(NONCE_BYTES + text.length);
  whole.set(iv);
  whole.set(text, NONCE_BYTES);
  return whole;
}

async function decrypt(
  key: CryptoKey,
  name: SecretName,
  whole: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const iv = new Uint8Array(whole.subarray(0, NONCE_BYTES));
  const how = { name: "AES-GCM", iv, additionalData: boundTo(name) };
  try {
    const text = new Uint8Array(whole.subarray(NONCE_BYTES));
    return new Uint8Array(await crypto.subtle.decrypt(how, key, text));
  } catch {
    throw new TypeError("the secret cannot be decrypted: it is another's, or it was altered");
  }
}

function boundTo({ realm, kind, id }: SecretName): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${realm}|${kind}|${id}`);
}

async function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
}
