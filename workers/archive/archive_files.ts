/**
 * Files of an archived part: the rows of both tables in PostgreSQL's text form (COPY), compressed (gzip) and, where there
 * are recipients, encrypted as backups are (age); and a manifest that names them with their hashes.
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { countRows } from "../../db/backup/copies.ts";
import { refuse } from "../../domain/backup/manifests.ts";
import { decryptFrom, encryptTo, type Entrance, entranceOf } from "../backup/envelope.ts";
import { beginFile, type Draft } from "../backup/files.ts";

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.number().int().min(0);

/** A file of an archived part. */
const ArchiveFile = z.object({
  name: z.string().regex(/^[0-9a-z_]+\.gz(\.age)?$/),
  table: z.enum(["transactions", "entries"]),
  columns: z.array(z.string()),
  rows: Count,
  /** Of the rows as text, before compression. */
  bytes: Count,
  sha256: Digest,
  /** Of the file as it is stored. */
  stored_bytes: Count,
  stored_sha256: Digest,
});
/** A file of an archived part. */
export type ArchiveFile = z.infer<typeof ArchiveFile>;

/** What an archived part holds. */
export const Manifest = z.object({
  format: z.literal(1),
  realm: z.uuid(),
  /** Ids of all its transactions are below `bound`, and not below `from`; null: the first part. */
  from: z.uuid().nullable(),
  bound: z.uuid(),
  until: z.string(),
  transactions: Count,
  entries: Count,
  /** Its links in the hash chain follow this one, and end with the last. */
  before: z.object({ seq: Count, hash: Digest }),
  last: z.object({ seq: Count, hash: Digest }),
  /** For whom the files are encrypted; empty: for nobody. */
  recipients: z.array(z.string()),
  files: z.array(ArchiveFile).length(2),
});
/** What an archived part holds. */
export type Manifest = z.infer<typeof Manifest>;

/** How files are written and read. */
export interface Store {
  folder: string;
  /** Recipients of encryption; empty: the files are not encrypted. */
  recipients: readonly string[];
  /** The text of a file of keys that open what is encrypted; null where there is none here. */
  identities: string | null;
}

const MANIFEST_MAX = 1_000_000;

/** Name of the manifest of a part. */
function manifestName(realm: string, suffix: string): string {
  return `${realm.replaceAll("-", "")}_${suffix}_manifest.json`;
}

/** Keeps others from writing archives of a realm into a folder until the result is disposed. */
export async function lockFolder(folder: string, realm: string): Promise<Disposable> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const file = await Deno.open(join(folder, `${realm.replaceAll("-", "")}.lock`), {
    ...{ create: true, write: true, mode: 0o600 },
  });
  if (await file.tryLock(true)) return file;
  file.close();
  return refuse("another process archives this realm into the same folder");
}

/** Writes the rows of a table to a file, which has its name once it is whole and on the disk. */
export async function writeRows(
  { folder, recipients }: Store,
  { name, table, columns }: { name: string } & Pick<ArchiveFile, "table" | "columns">,
  chunks: AsyncIterable<Uint8Array>,
): Promise<ArchiveFile> {
  const full = `${name}.gz${recipients.length > 0 ? ".age" : ""}`;
  const draft = await begin(folder, full);
  const [plain, stored] = [createHash("sha256"), createHash("sha256")];
  const sum = { rows: 0, bytes: 0, stored_bytes: 0 };
  const sink = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      stored.update(chunk);
      sum.stored_bytes += chunk.length;
      controller.enqueue(chunk);
    },
  });
  try {
    const written = sink.readable.pipeTo(draft.sink);
    written.catch(() => {}); // awaited below
    const entrance = await open(recipients, sink.writable);
    for await (const chunk of chunks) {
      plain.update(chunk);
      sum.rows += countRows(chunk);
      sum.bytes += chunk.length;
      await entrance.write(chunk);
    }
    await entrance.close();
    await written;
    await draft.keep();
  } catch (error) {
    await draft.discard().catch(() => {});
    throw error;
  }
  const hashes = { sha256: plain.digest("hex"), stored_sha256: stored.digest("hex") };
  return { name: full, table, columns, ...sum, ...hashes };
}

async function open(
  recipients: readonly string[],
  sink: WritableStream<Uint8Array>,
): Promise<Entrance> {
  if (recipients.length > 0) return await encryptTo(recipients, sink);
  const { readable, writable } = gzip(new CompressionStream("gzip"));
  return entranceOf(writable, readable.pipeTo(sink));
}

/** A file that a process left unfinished gives way: the folder is locked. */
async function begin(folder: string, name: string): Promise<Draft> {
  await Deno.remove(join(folder, `${name}.partial`)).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  return await beginFile(folder, name);
}

/** Writes a manifest; gives its SHA-256. */
export async function writeManifest(
  folder: string,
  suffix: string,
  manifest: Manifest,
): Promise<string> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  const draft = await begin(folder, manifestName(manifest.realm, suffix));
  const writer = draft.sink.getWriter();
  await writer.write(bytes);
  await draft.keep();
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads a manifest with its SHA-256; null where there is none. @throws {DomainError} request.invalid */
export async function readManifest(
  folder: string,
  { realm, suffix }: { realm: string; suffix: string },
): Promise<{ manifest: Manifest; digest: string } | null> {
  const path = join(folder, manifestName(realm, suffix));
  const found = await Deno.stat(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  });
  if (found === null) return null;
  const foreign = () => refuse(`${path} is no manifest of an archived part`);
  // A device or a pipe in its place would be read without end.
  if (!found.isFile || found.size > MANIFEST_MAX) return foreign();
  const bytes = await Deno.readFile(path);
  const digest = createHash("sha256").update(bytes).digest("hex");
  try {
    return { manifest: Manifest.parse(JSON.parse(new TextDecoder().decode(bytes))), digest };
  } catch {
    return foreign();
  }
}

/**
 * Reads files back, and compares them with their manifest: as they are stored, and what they hold where they can be opened.
 *
 * @param onBytes told how many stored bytes were read
 * @throws {DomainError} request.invalid where one is gone or another
 */
export async function checkFiles(
  store: Store,
  { files }: Pick<Manifest, "files">,
  onBytes: (count: number) => void = () => {},
): Promise<void> {
  for (const file of files) {
    const stored = createHash("sha256");
    for await (const chunk of await openStored(store.folder, file)) {
      stored.update(chunk);
      onBytes(chunk.length);
    }
    if (stored.digest("hex") !== file.stored_sha256) refuse(`${file.name} is not what was written`);
    if (isOpenable(store, file)) { for await (const _ of readRows(store, file)); }
  }
}

/** Whether what a file holds can be read here. */
function isOpenable({ identities }: Store, { name }: ArchiveFile): boolean {
  return identities !== null || !name.endsWith(".age");
}

async function openStored(
  folder: string,
  { name, stored_bytes }: ArchiveFile,
): Promise<ReadableStream<Uint8Array>> {
  const path = join(folder, name);
  const gone = () => refuse(`${name} is not in ${folder}`);
  const { isFile, size } = await Deno.stat(path).catch(gone);
  // A device or a pipe in its place would be read without end.
  if (!isFile || size !== stored_bytes) refuse(`${name} is not what was written`);
  return (await Deno.open(path).catch(gone)).readable;
}

/** Reads the rows of a file as text. @throws {DomainError} request.invalid, after the last, where they are others */
export async function* readRows(
  store: Store,
  file: ArchiveFile,
): AsyncGenerator<Uint8Array> {
  const stored = await openStored(store.folder, file);
  const plain = createHash("sha256");
  const opened = !file.name.endsWith(".age")
    ? stored.pipeThrough(gzip(new DecompressionStream("gzip")))
    : await decryptFrom(stored, store.identities ?? "");
  try {
    for await (const chunk of opened) {
      plain.update(chunk);
      yield chunk;
    }
  } catch (error) {
    refuse(`${file.name} cannot be read: ${(error as Error).message}`);
  }
  if (plain.digest("hex") !== file.sha256) {
    refuse(`${file.name} holds other rows than its manifest says`);
  }
}

function gzip(pair: unknown): ReadableWritablePair<Uint8Array, Uint8Array> {
  return pair as ReadableWritablePair<Uint8Array, Uint8Array>;
}
