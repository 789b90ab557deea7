/**
 * The file of a backup: its frames, compressed (gzip), encrypted for the holders of some keys (age: X25519, and
 * ChaCha20-Poly1305 in chunks of which the last one says so, so a file that was cut off does not decrypt).
 * @module
 */
import { refuse } from "../../domain/backup/manifests.ts";

/** A way into a sink, through streams between. */
export interface Entrance {
  /** Resolved when more may be written. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolved when the sink has it all. */
  close(): Promise<void>;
  /** Resolved when the sink takes no more. */
  abort(reason: unknown): Promise<void>;
}

/**
 * Gives the way into a sink. Not every stream between hands a fault of the sink back, as where the disk is full: what
 * would wait for ever fails with it.
 *
 * @param done resolved when the sink has it all
 */
export function entranceOf(writable: WritableStream<Uint8Array>, done: Promise<void>): Entrance {
  const writer = writable.getWriter();
  let fault: { error: unknown } | null = null;
  let fail = (_: unknown) => {};
  done.catch((error) => {
    fault = { error };
    fail(error);
  });
  async function unlessFailed(begin: () => Promise<void>): Promise<void> {
    if (fault !== null) throw fault.error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    fail = reject; // of this step alone: a promise that lives as long as the file would keep all of them
    begin().then(resolve, reject);
    await promise;
  }
  return {
    async write(chunk) {
      await unlessFailed(() => writer.ready);
      await unlessFailed(() => writer.write(chunk));
    },
    async close() {
      await unlessFailed(() => writer.close());
      await done;
    },
    async abort(reason) {
      writer.abort(reason).catch(() => {});
      await done.catch(() => {});
    },
  };
}

/** Encrypts what is written for some recipients. */
export async function encryptTo(
  recipients: readonly string[],
  sink: WritableStream<Uint8Array>,
): Promise<Entrance> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const compressed = readable.pipeThrough(bytes(new CompressionStream("gzip")));
  return entranceOf(writable, (await encrypter.encrypt(compressed)).pipeTo(sink));
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
