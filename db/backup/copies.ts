/**
 * Copies of whole tables as a stream, in PostgreSQL's own text form (COPY). The driver's streams are
 * handled here alone, because they have five traps: a stream that ended may leave its connection
 * paused; one that was left before its end refuses every further statement, the end of the transaction too; an error that
 * follows the last byte is told to nobody; a connection that is not read may not hear of its end; and a row is a chunk.
 * @module
 */
import type { Tx } from "../database.ts";
import { watchingSession } from "../lost_sessions.ts";
import { identifier, type TableShape } from "./catalog.ts";

/** Bytes that are passed on at once. */
const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/** The parts of the driver's readable stream that are used. */
interface Source extends AsyncIterable<Uint8Array> {
  iterator(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array>;
  _read(size: number): void;
}

/** The parts of the driver's writable stream that are used. */
interface Sink {
  write(chunk: Uint8Array): boolean;
  end(): void;
  destroy(error: Error): void;
  once(event: "drain" | "error", listener: (error?: Error) => void): void;
  _final(done: () => void): void;
}

/**
 * Reads a table from beginning to end.
 *
 * @param rows condition that selects some of them, as SQL; all without it
 */
export async function* copyOut(
  tx: Tx,
  schema: string,
  table: TableShape,
  rows = "true",
): AsyncGenerator<Uint8Array> {
  const columns = table.columns.map(identifier).join(", ");
  const from = `${identifier(schema)}.${identifier(table.name)}`;
  const text = `copy (select ${columns} from ${from} where ${rows}) to stdout`;
  using watched = await watchingSession(tx);
  const source = await tx.unsafe(text).readable() as unknown as Source;
  // Not destroyed where its reader leaves: its rest must be read before the connection can go on.
  const chunks = source.iterator({ destroyOnReturn: false });
  let isLeft = true;
  let parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      watched.hear();
      parts.push(chunk);
      size += chunk.length;
      if (size < CHUNK_BYTES) continue;
      yield concatenate(parts, size);
      [parts, size] = [[], 0];
    }
    if (size > 0) yield concatenate(parts, size);
    isLeft = false;
  } catch (error) {
    isLeft = false; // the server has ended it
    throw error;
  } finally {
    if (isLeft) await readOut(source);
    goOn(source);
    await tx`select 1`.catch(() => {}); // while it is watched: the connection may hear nothing more
  }
}

/** Reads the rest of a stream; its loss is the failure of the transaction. */
async function readOut(source: Source): Promise<void> {
  try {
    for await (const _ of source);
  } catch { /* the connection is lost, or the server sends no more */ }
}

/** Has the connection of a stream go on, though nobody reads it any more. */
function goOn(source: Source): void {
  try {
    source._read(0);
  } catch { /* there is no connection any more */ }
}

/**
 * Writes rows to a table.
 *
 * @throws {Error} where the server refuses them; the transaction is lost then
 */
export async function copyIn(
  tx: Tx,
  into: string,
  table: TableShape,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const columns = table.columns.map(identifier).join(", ");
  const text = `copy ${into}${identifier(table.name)} (${columns}) from stdin`;
  const sink = await tx.unsafe(text).writable() as unknown as Sink;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  sink.once(
    "error",
    (error) => failed.reject(error ?? new Error("the connection was lost")),
  );
  try {
    for await (const chunk of chunks) {
      if (!sink.write(chunk)) {
        await Promise.race([failed.promise, drained(sink)]);
      }
    }
  } catch (error) {
    sink.destroy(error as Error);
    throw error;
  }
  await Promise.race([failed.promise, ended(sink)]);
  // The driver says nothing where the server refuses the last rows: the next statement finds that.
  await Promise.race([failed.promise, tx`select 1`]).catch((cause) => {
    throw new Error(`the rows of ${table.name} were refused by the database`, {
      cause,
    });
  });
}

/** Ends a stream; resolved when its end was sent, whatever the server says to it. */
function ended(sink: Sink): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = sink._final;
  sink._final = (done) => {
    send.call(sink, done);
    resolve();
  };
  sink.end();
  return promise;
}

function drained(sink: Sink): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  sink.once("drain", () => resolve());
  return promise;
}

/** Counts the rows in a part of a copy: each ends with a line feed, and there is none within one. */
export function countRows(chunk: Uint8Array): number {
  let count = 0;
  for (
    let at = chunk.indexOf(LINE_FEED);
    at >= 0;
    at = chunk.indexOf(LINE_FEED, at + 1)
  ) count++;
  return count;
}

function concatenate(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
