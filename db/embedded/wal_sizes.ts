/** How large the write-ahead log of the embedded server may grow, by the room on its disk. @module */
import { statfs } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 ** 2;
/** Where the room is 32 GB or more. */
const MOST_MIB = 4096;
/** Of eight segments; with less one checkpoint would follow the other. PostgreSQL demands two, and two to be kept. */
const LEAST_MIB = 128;
/** The part of the room that the log may take. It is no firm limit: the log of a heavy load outgrows it for a while. */
const PART = 8;
/**
 * A quarter of the log is kept, of whole segments so: a commit that needs a new one waits until its 16 MB of zeros are
 * on the disk.
 */
const STEP_MIB = 64;

/** The settings of the log's size. */
export type WalSizes = Record<"max_wal_size" | "min_wal_size", string>;

/**
 * Gives the size that the log may grow to, and that of the segments that are kept for use again.
 *
 * @param room bytes that are free on the disk, and those of the log itself
 */
export function walSizes(room: number): WalSizes {
  const part = Math.floor(room / PART / MIB / STEP_MIB) * STEP_MIB;
  const most = Math.min(MOST_MIB, Math.max(LEAST_MIB, part));
  return { max_wal_size: `${most}MB`, min_wal_size: `${most / 4}MB` };
}

/** Gives the sizes for a cluster by the room that its log has; none, where that cannot be measured: the server starts without. */
export async function measuredSizes(pgdata: string): Promise<WalSizes | Record<string, never>> {
  try {
    return walSizes(await walRoom(pgdata));
  } catch (error) {
    const text = `the room of the write-ahead log was not measured: ${error}\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(text));
    return {};
  }
}

/** Measures the room that a cluster's log has: what is free, and what the log takes already. */
async function walRoom(pgdata: string): Promise<number> {
  const folder = join(pgdata, "pg_wal");
  const { bavail, bsize } = await statfs(folder);
  let room = bavail * bsize;
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile) room += (await Deno.stat(join(folder, name))).size;
  }
  return room;
}
