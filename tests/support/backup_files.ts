/**
 * Backups that were changed: by one who has the files alone, and by one who holds all keys.
 * @module
 */
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import type { Part } from "../../domain/backup/manifests.ts";
import { decryptFrom, encryptTo } from "../../workers/backup/envelope.ts";
import { type FrameReader, readFrames, writeFrames } from "../../workers/backup/frames.ts";
import { PLATFORM_KEY } from "./realm.ts";

/** Opens bytes as a backup. */
export async function openBytes(
  bytes: Uint8Array,
  identity: string,
  platformKey = PLATFORM_KEY,
): Promise<FrameReader> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  return readFrames(await decryptFrom(stream, identity), openSecrets(platformKey));
}

/** Writes a backup anew, each part as it is given; null leaves a table or a part out, a table of fewer columns its last ones. */
export async function rewrite(
  frames: FrameReader,
  to: { recipient: string; path: string; platformKey?: string },
  change: (part: Part) => Part | null,
): Promise<void> {
  using file = await Deno.open(to.path, { write: true, create: true, truncate: true });
  const sink = new WritableStream<Uint8Array>({
    async write(chunk) {
      for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
    },
  });
  const entrance = await encryptTo([to.recipient], sink);
  const secrets = openSecrets(to.platformKey ?? PLATFORM_KEY);
  let out: ReturnType<typeof writeFrames> | null = null;
  for (let ended = false; !ended;) {
    const part = await frames.part();
    if (part.is === "header") out = writeFrames(entrance, secrets, part.backup);
    ended = part.is === "trailer";
    const changed = change(part);
    if (changed !== null) await out!.part(changed);
    if (part.is !== "table") continue;
    if (changed === null) await frames.skip();
    else await out!.rows(withoutLast(frames.rows(), part.columns.length - columnsOf(changed)));
  }
  await entrance.close();
}

function columnsOf(part: Part): number {
  return part.is === "table" ? part.columns.length : 0;
}

/** Leaves out the last columns of rows, which are text as COPY writes it. */
async function* withoutLast(
  rows: AsyncIterable<Uint8Array>,
  count: number,
): AsyncGenerator<Uint8Array> {
  const last = new RegExp(`(?:\\t[^\\t\\n]*){${count}}\\n`, "g");
  for await (const bytes of rows) {
    yield new TextEncoder().encode(new TextDecoder().decode(bytes).replace(last, "\n"));
  }
}
