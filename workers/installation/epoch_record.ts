/**
 * The record of the installation that a host keeps outside of the database: a file in DATA_DIR that
 * its owner alone can read, written under a lock that all processes of the host share.
 * @module
 */
import type { Outside } from "../../domain/realms/installation.ts";

/** Where a record is kept. */
export interface RecordStore {
  /** Reads the record; null if there is none. */
  read(): Promise<Outside | null>;
  /** Replaces the record. */
  write(record: Outside): Promise<void>;
  /** Excludes the other processes of the host while `work` runs. */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

/** The record could not be read or written: its disk is full, or its folder has gone. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}

async function onFiles<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RecordError(`the record of this host, ${path}, is out of reach: ${why}`, { cause });
  }
}

/** Keeps the record in memory: it shows whether the database goes back while the process runs. */
export function memoryRecord(): RecordStore {
  let kept: Outside | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    read: () => Promise.resolve(kept),
    write: (record) => {
      kept = record;
      return Promise.resolve();
    },
    locked: (work) => {
      const mine = turn.then(work);
      turn = mine.catch(() => {});
      return mine;
    },
  };
}

/** Keeps the record in a file of its own for each installation. */
export function fileRecord(dataDir: string, installation: string): RecordStore {
  const path = `${dataDir}/epoch-${installation}`;
  return {
    async read() {
      const text = await onFiles(path, () => Deno.readTextFile(path).catch(ifMissing));
      if (text === null) return null;
      return readRecord(text, path, await onFiles(path, () => bornAt(`${path}.lock`)));
    },
    write: (record) =>
      onFiles(path, async () => {
        const text = JSON.stringify({ ...record, born: await bornAt(`${path}.lock`) });
        const bytes = new TextEncoder().encode(text);
        const file = await Deno.open(`${path}.new`, {
          write: true,
          create: true,
          truncate: true,
          mode: 0o600,
        });
        try {
          // A disk that becomes full takes a part: half a record would be a damaged one.
          for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
          await file.sync();
        } finally {
          file.close();
        }
        await Deno.rename(`${path}.new`, path);
      }),
    async locked(work) {
      const lock = await onFiles(path, async () => {
        await Deno.mkdir(dataDir, { recursive: true });
        return await Deno.open(`${path}.lock`, { write: true, create: true, mode: 0o600 });
      });
      try {
        await onFiles(path, () => lock.lock(true));
        return await work();
      } finally {
        lock.close();
      }
    },
  };
}

function ifMissing(error: unknown): null {
  if (error instanceof Deno.errors.NotFound) return null;
  throw error;
}

/**
 * Creation time of the lock file, where the file system reports it: a folder restored from a backup
 * has another, whatever its files say.
 */
async function bornAt(path: string): Promise<number | null> {
  const found = await Deno.stat(path).catch(ifMissing);
  return found?.birthtime?.getTime() ?? null;
}

/** Reads a record; one from a folder restored from a backup counts as none. */
function readRecord(text: string, path: string, born: number | null): Outside | null {
  const { born: then, ...record } = parse(text, path);
  return then !== null && born !== null && then !== born ? null : record;
}

function parse(text: string, path: string): Outside & { born: number | null } {
  try {
    const record = JSON.parse(text);
    if (Number.isInteger(record.now.count) && typeof record.now.token === "string") return record;
  } catch {
    // the error below reports it
  }
  throw new Error(`${path} is damaged: remove it and run \`deno task reconcile\``);
}
