/**
 * The file of a backup: its frames, compressed (gzip), encrypted for the holders of some keys (age: X25519, and
 * ChaCha20-Poly1305 in chunks of which the last one says so, so a file that was cut off does not decrypt).
 * @module
 */
import { refuse } from "../../domain/backup/manifests.ts";

/** Encrypts what is written to `writer` for some recipients; `done` is resolved when the sink has it all. */
export async function encryptTo(
  recipients: readonly string[],
  sink: WritableStream<Uint8Array>,
): Promise<
  { writer: WritableStreamDefaultWriter<Uint8Array>; done: Promise<void> }
> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const compressed = readable.pipeThrough(bytes(new CompressionStream("gzip")));
  const done = (await encrypter.encrypt(compressed)).pipeTo(sink);
  const writer = writable.getWriter();
  // It would wait for ever: not every stream between hands a fault of the sink back.
  done.catch((error) => writer.abort(error)).catch(() => {});
  return { writer, done };
}

/**
 * Decrypts a file with the keys of a text such as `age-keygen` writes.
 *
 * @throws {DomainError} request.invalid where no key opens it
 */
export async function decryptFrom(
  source: ReadableStream<Uint8Array>,
  identities: string,
): Promise<ReadableStream<Uint8Array>> {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  const keys = identities.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (keys.length === 0) {
    refuse("the file of BACKUP_IDENTITY_FILE holds no key");
  }
  try {
    for (const key of keys) decrypter.addIdentity(key);
  } catch {
    refuse(
      "the file of BACKUP_IDENTITY_FILE holds something that is no key of age",
    );
  }
  const opened = await decrypter.decrypt(source).catch((error) =>
    refuse(`the backup does not decrypt: ${(error as Error).message}`)
  );
  return opened.pipeThrough(bytes(new DecompressionStream("gzip")));
}

/** Draws a key; gives it in the form of `age-keygen`, and its recipient. */
export async function newKey(): Promise<{ file: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import(
    "age-encryption"
  );
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  return { file: `# public key: ${recipient}\n${identity}\n`, recipient };
}

function bytes(pair: unknown): ReadableWritablePair<Uint8Array, Uint8Array> {
  return pair as ReadableWritablePair<Uint8Array, Uint8Array>;
}
