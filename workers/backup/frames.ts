/**
 * The bytes of a backup before compression and encryption: frames of a kind, a length and a content. Parts that
 * are acted upon (header, begin of a schema, trailer) are followed by a tag, which only a holder of the platform key can
 * make: it covers every byte before it, so no part was changed, left out, or put from one backup into another.
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { countRows } from "../../db/backup/copies.ts";
import { Part, refuse } from "../../domain/backup/manifests.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import type { Entrance } from "./envelope.ts";

const [PART, ROWS, TAG] = [1, 2, 3];
const HEAD_BYTES = 5;
const PART_MAX = 4 * 1024 * 1024;
const ROWS_MAX = 64 * 1024 * 1024;
const TAGGED: readonly Part["is"][] = [
  "header",
  "realm",
  "platform",
  "trailer",
];
const ANOTHER_KEY =
  "the backup was made under another PLATFORM_KEY than this one, or was changed: set the key of its " +
  "installation (PLATFORM_KEY or PLATFORM_KEY_PREVIOUS; embedded: the file DATA_DIR/platform_key)";
const DAMAGED = "the backup is damaged, truncated, or no backup";

/** Writes the frames of a backup. */
export interface FrameWriter {
  part(part: Part): Promise<void>;
  /** Rows of the table that was begun; it is ended with their numbers. */
  rows(
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<{ rows: number; bytes: number }>;
}

/** Reads the frames of a backup. */
export interface FrameReader {
  /** The next part, whose tag was checked where it has one. */
  part(): Promise<Part>;
  /** Rows of the table that was begun, up to its end, which is compared. */
  rows(): AsyncGenerator<Uint8Array>;
  /** Rows of the table that was begun, unread. */
  skip(): Promise<void>;
  /** Checks that nothing follows, and that the encryption ends here as well. */
  end(): Promise<void>;
  /** Whether a tag that was checked is under the platform key before the present one, as the secrets in the rows are. */
  isOfPreviousKey(): boolean;
}

/** Writes frames for a backup. */
export function writeFrames(
  sink: Pick<Entrance, "write">,
  secrets: Secrets,
  backup: string,
): FrameWriter {
  const hash = createHash("sha256");
  async function put(kind: number, content: Uint8Array): Promise<void> {
    const frame = new Uint8Array(HEAD_BYTES + content.length);
    frame[0] = kind;
    new DataView(frame.buffer).setUint32(1, content.length);
    frame.set(content, HEAD_BYTES);
    hash.update(frame);
    await sink.write(frame);
  }
  async function part(one: Part): Promise<void> {
    await put(PART, new TextEncoder().encode(JSON.stringify(one)));
    if (TAGGED.includes(one.is)) {
      await put(TAG, secrets.encrypt("backup", backup, digestOf(hash)));
    }
  }
  return {
    part,
    async rows(chunks) {
      const sum = { rows: 0, bytes: 0 };
      for await (const chunk of chunks) {
        sum.rows += countRows(chunk);
        sum.bytes += chunk.length;
        await put(ROWS, chunk);
      }
      await part({ is: "end", ...sum });
      return sum;
    },
  };
}

/**
 * Reads the frames of a backup.
 *
 * @param present the secrets of the present platform key alone
 */
export function readFrames(
  stream: ReadableStream<Uint8Array>,
  secrets: Secrets,
  present: Pick<Secrets, "decrypt"> = secrets,
): FrameReader {
  const source = byteSource(stream);
  const hash = createHash("sha256");
  let backup: string | null = null;
  let isOfPreviousKey = false;
  async function frame(): Promise<
    { kind: number; content: Uint8Array; before: string }
  > {
    const head = await source.take(HEAD_BYTES);
    const size = new DataView(head.buffer, head.byteOffset).getUint32(1);
    const kind = head[0];
    if (size > (kind === ROWS ? ROWS_MAX : PART_MAX)) refuse(DAMAGED);
    const content = await source.take(size);
    const before = kind === TAG ? digestOf(hash) : "";
    hash.update(head).update(content);
    return { kind, content, before };
  }
  async function checkTag(): Promise<void> {
    const { kind, content, before } = await frame();
    if (kind === TAG && secrets.decrypt("backup", backup!, content) === before) {
      isOfPreviousKey ||= present.decrypt("backup", backup!, content) === null;
      return;
    }
    refuse(ANOTHER_KEY);
  }
  async function read(
    { kind, content }: { kind: number; content: Uint8Array },
  ): Promise<Part> {
    if (kind !== PART) refuse(DAMAGED);
    const part = parsed(content);
    if (part.is === "header") backup ??= part.backup;
    if (backup === null) refuse(DAMAGED);
    if (TAGGED.includes(part.is)) await checkTag();
    return part;
  }
  async function* rows(): AsyncGenerator<Uint8Array> {
    const sum = { rows: 0, bytes: 0 };
    for (;;) {
      const next = await frame();
      if (next.kind === ROWS) {
        sum.rows += countRows(next.content);
        sum.bytes += next.content.length;
        yield next.content;
        continue;
      }
      const end = await read(next);
      if (
        end.is !== "end" || end.rows !== sum.rows || end.bytes !== sum.bytes
      ) refuse(DAMAGED);
      return;
    }
  }
  return {
    part: async () => await read(await frame()),
    rows,
    isOfPreviousKey: () => isOfPreviousKey,
    async skip() {
      for await (const _ of rows());
    },
    async end() {
      if (!await source.ended()) refuse(DAMAGED);
    },
  };
}

function parsed(content: Uint8Array): Part {
  try {
    return Part.parse(
      JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content)),
    );
  } catch {
    return refuse(DAMAGED);
  }
}

function digestOf(hash: Hash): string {
  return hash.copy().digest("hex");
}

/** Takes whole numbers of bytes from a stream. */
function byteSource(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  let rest = new Uint8Array(0);
  async function more(): Promise<boolean> {
    const { done, value } = await reader.read().catch((error) => {
      return refuse(`${DAMAGED} (${(error as Error).message})`);
    });
    if (done) return false;
    if (value.length > 0) rest = value as Uint8Array<ArrayBuffer>;
    return true;
  }
  return {
    async take(size: number): Promise<Uint8Array> {
      const taken = new Uint8Array(size);
      let at = 0;
      while (at < size) {
        if (rest.length === 0 && !await more()) refuse(DAMAGED);
        const part = rest.subarray(0, size - at);
        taken.set(part, at);
        at += part.length;
        rest = rest.subarray(part.length);
      }
      return taken;
    },
    async ended(): Promise<boolean> {
      while (rest.length === 0) if (!await more()) return true;
      return false;
    },
  };
}
