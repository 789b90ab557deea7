/**
 * Streams of bodies: how those are read that did not come with their headers, and what becomes of those that are not
 * read to their end, because they are too large or too late, or their request was refused before.
 *
 * After an answer the runtime reads on for as long as the other end sends, and keeps the connection until that leaves.
 * A reader that is left on the body takes the connection over: the answer is sent whole and says `connection: close`,
 * and the connection ends when the reader is canceled. Before that, what still comes is discarded for a short time:
 * a connection that ends while its other end sends is reset, and a caller that writes before it reads loses the answer.
 *
 * @module
 */
import { uncoverBody } from "./get_request_body.ts";
import { holdsWholeBody, requestHeaders } from "./underlying_request.ts";

/**
 * Room for the next piece, in bytes: little at first, more once it was filled. The runtime keeps as much again for the
 * connection: what comes slowly holds little.
 */
const PIECE_MIN = 4096;
const PIECE_MAX = 64 * 1024;
/** How long, and how many bytes of it, a body is discarded after its answer. */
const DISCARD_MS = 5000;
const DISCARD_MAX = 16 * 1024 * 1024;

/** Bodies that were read to their end. */
const whole = new WeakSet<ReadableStream>();

/** A body that is read piece by piece. */
export interface Pieces {
  /** The next piece, valid until the one after it is asked for; null at the end. */
  next(): Promise<Uint8Array | null>;
  /** Stops reading and leaves the rest; a piece that is waited for fails. */
  leave(): void;
  /** Stops reading for good. */
  cancel(): void;
}

/** Reads a body piece by piece. */
export function openPieces(body: ReadableStream<Uint8Array<ArrayBuffer>>): Pieces {
  const { reader, read } = readerOf(body);
  return {
    async next() {
      const { done, value } = await read();
      if (!done) return value;
      whole.add(body);
      return null;
    },
    leave: () => reader.releaseLock(),
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

type Read = () => Promise<ReadableStreamReadResult<Uint8Array>>;
type AnyReader = ReadableStreamBYOBReader | ReadableStreamDefaultReader<Uint8Array>;

/** Only the bodies of the runtime's server take the room that they are given. */
function readerOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): { reader: AnyReader; read: Read } {
  try {
    const reader = body.getReader({ mode: "byob" });
    let room = new ArrayBuffer(PIECE_MIN);
    const read: Read = async () => {
      const size = room.byteLength;
      const { done, value } = await reader.read(new Uint8Array(room));
      if (done) return { done, value: undefined };
      const isFull = value.byteLength === size && size < PIECE_MAX;
      room = isFull ? new ArrayBuffer(4 * size) : value.buffer;
      return { done, value };
    };
    return { reader, read };
  } catch {
    const reader = body.getReader();
    return { reader, read: () => reader.read() };
  }
}

/** Whether a request announces a body. */
export function announcesBody(request: Request): boolean {
  const headers = requestHeaders(request);
  const length = headers.get("content-length");
  return length === null ? headers.get("transfer-encoding") !== null : length !== "0";
}

/** What the runtime tells of the answer to a request. */
export interface Sending {
  /** Settles once the answer was sent, or could not be. */
  readonly completed: Promise<void>;
}

/**
 * Ends the connection of a request after its answer if its body was not read to its end. Called before the runtime gets
 * the answer, with which it takes an unread body away.
 */
export function endUnread(request: Request, sending: Sending): void {
  if (!announcesBody(request)) return;
  // A GET's must be uncovered before anything looks for it: the runtime keeps what it found.
  if (holdsWholeBody(uncoverBody(request))) return;
  const { body } = request;
  if (body === null || whole.has(body)) return;
  const pieces = openPieces(body);
  sending.completed.then(() => discard(pieces), pieces.cancel);
}

/** Discards what still comes, for a short time. */
async function discard(pieces: Pieces): Promise<void> {
  const timer = setTimeout(pieces.cancel, DISCARD_MS);
  Deno.unrefTimer(timer);
  try {
    for (let size = 0; size < DISCARD_MAX;) {
      const piece = await pieces.next();
      if (piece === null) break;
      size += piece.byteLength;
    }
  } catch {
    // the caller has left
  } finally {
    clearTimeout(timer);
    pieces.cancel();
  }
}
