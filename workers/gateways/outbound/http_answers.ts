/**
 * Reads an answer of HTTP/1.1 (RFC 9112) from the bytes of a connection, however they are cut. They
 * are a stranger's: everything is bounded, and what breaks the rules is refused, not guessed at.
 * @module
 */
import { CLOSED, NOT_HTTP, WebhookFault } from "./webhook_fault.ts";

/** An answer, as far as it was read. */
export interface HttpAnswer {
  status: number;
  /** The first bytes of its body. */
  body: Uint8Array;
  /** For how long the connection may be kept and used again, in milliseconds; 0: not at all. */
  idleMs: number;
}

/** Reads one answer. */
export interface AnswerReader {
  /**
   * Takes the bytes that came, and keeps none of them.
   *
   * @returns the answer once it is whole, or the bound is reached; null: more is needed
   * @throws {WebhookFault} they are no answer
   */
  take(bytes: Uint8Array): HttpAnswer | null;
  /**
   * Takes the end of the connection.
   *
   * @throws {WebhookFault} it came in the middle of the answer
   */
  end(): HttpAnswer;
}

/** Bytes of a status line with its headers. */
const HEAD_MAX = 16_384;
/** Bytes of a body that are read, with the lines of its chunks, and what of them is kept. */
const READ_MAX = 65_536;
const KEPT_MAX = 1024;
/** Longest line of a chunk's length. */
const LINE_MAX = 4096;
/** Answers of the statuses 1xx that are read. */
const HINTS_MAX = 10;
/** The longest that a connection is kept, and how long before its receiver closes it that ends. */
const IDLE_MAX_MS = 30_000;
const IDLE_MARGIN_MS = 500;
const [LF, CR] = [10, 13];

interface Head {
  status: number;
  framing: Framing;
  idleMs: number;
}

/** How the end of a body is told: by its length, by chunks, or by the end of the connection. */
type Framing = { length: number } | "chunks" | "close";

/** Reads a body: tells how many of the bytes are its own, and whether it is whole. */
type BodyReader = (bytes: Uint8Array) => { used: number; done: boolean };

/** Opens a reader of one answer. */
export function openAnswerReader(): AnswerReader {
  const kept = new Uint8Array(KEPT_MAX);
  let [length, read, hints] = [0, 0, 0];
  let rest: Uint8Array = new Uint8Array(0);
  let head: Head | null = null;
  let readBody: BodyReader = () => ({ used: 0, done: true });

  const keep = (part: Uint8Array) => {
    if (length >= KEPT_MAX) return;
    const some = part.subarray(0, KEPT_MAX - length);
    kept.set(some, length);
    length += some.length;
  };
  const answer = (idleMs: number): HttpAnswer => {
    return { status: head!.status, body: kept.subarray(0, length), idleMs };
  };

  /** Reads heads until the one of the answer; gives the bytes behind it. */
  function takeHead(bytes: Uint8Array): Uint8Array | null {
    let all = rest.length === 0 ? bytes : concatenated(rest, bytes);
    for (;;) {
      const end = endOfHead(all);
      if (end > HEAD_MAX || (end < 0 && all.length > HEAD_MAX)) throw new WebhookFault(NOT_HTTP);
      if (end < 0) {
        assertBeginning(all);
        rest = all.slice();
        return null;
      }
      const found = parseHead(LATIN.decode(all.subarray(0, end)));
      all = all.subarray(end);
      if (found.status >= 200) {
        head = found;
        readBody = bodyReader(found.framing, keep);
        return all;
      }
      if (++hints > HINTS_MAX) throw new WebhookFault("too many answers came before the answer");
    }
  }

  return {
    take(bytes) {
      const own = head === null ? takeHead(bytes) : bytes;
      if (own === null) return null;
      const { used, done } = readBody(own);
      // Bytes behind the answer belong to no request: such a connection is used no more.
      if (done) return answer(used === own.length ? head!.idleMs : 0);
      read += own.length;
      return read > READ_MAX ? answer(0) : null;
    },
    end() {
      if (head?.framing !== "close") throw new WebhookFault(CLOSED);
      return answer(0);
    },
  };
}

const LATIN = new TextDecoder("latin1");
const BEGINNING = new TextEncoder().encode("HTTP/1.");

/** Refuses at once what can become no answer. */
function assertBeginning(bytes: Uint8Array): void {
  const some = Math.min(bytes.length, BEGINNING.length);
  for (let i = 0; i < some; i++) if (bytes[i] !== BEGINNING[i]) throw new WebhookFault(NOT_HTTP);
}

function concatenated(one: Uint8Array, two: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.length + two.length);
  all.set(one);
  all.set(two, one.length);
  return all;
}

/** Where the body begins, behind the first empty line; -1: it is not there yet. */
function endOfHead(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

// deno-lint-ignore no-control-regex -- the pattern refuses control characters
const STATUS = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\x00-\x08\x0a-\x1f\x7f]*|)$/;
// deno-lint-ignore no-control-regex -- the pattern refuses control characters
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/;
// deno-lint-ignore no-control-regex -- the pattern refuses control characters
const CHUNK = /^([0-9a-f]{1,8})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?$/i;
/** The fields that are read. */
const READ = ["content-length", "transfer-encoding", "connection", "keep-alive"] as const;

/**
 * Reads a status line and its headers.
 *
 * @throws {WebhookFault} they are none
 */
function parseHead(text: string): Head {
  const [first, ...lines] = text.split(/\r?\n/);
  const found = STATUS.exec(first);
  if (found === null) throw new WebhookFault(NOT_HTTP);
  const fields = new Map<string, string[]>();
  for (const line of lines.slice(0, -2)) {
    const field = fieldOf(line);
    if (field === null) throw new WebhookFault(NOT_HTTP);
    const [name, value] = field;
    if (!(READ as readonly string[]).includes(name)) continue;
    const values = value.split(",").map((one) => one.trim().toLowerCase());
    fields.set(name, [...fields.get(name) ?? [], ...values]);
  }
  const [isOld, status] = [found[1] === "0", parseInt(found[2], 10)];
  if (status === 101) throw new WebhookFault("the receiver asked for another protocol");
  const framing = framingOf(status, isOld, fields);
  return { status, framing, idleMs: framing === "close" ? 0 : idleOf(isOld, fields) };
}

/**
 * Reads the line of a header, in time that grows with the line alone: its name in small letters, and its value with the
 * blanks around it; null where it is none.
 */
export function fieldOf(line: string): [name: string, value: string] | null {
  const found = FIELD.exec(line);
  return found === null ? null : [found[1].toLowerCase(), found[2]];
}

type Fields = ReadonlyMap<string, readonly string[]>;

function framingOf(status: number, isOld: boolean, fields: Fields): Framing {
  const lengths = fields.get("content-length");
  const codings = fields.get("transfer-encoding");
  // Two lengths that differ, or a length beside chunks, are read differently by different readers.
  if (codings !== undefined && (lengths !== undefined || isOld)) throw new WebhookFault(NOT_HTTP);
  if (lengths?.some((one) => !/^\d{1,15}$/.test(one) || one !== lengths[0])) {
    throw new WebhookFault(NOT_HTTP);
  }
  if (status < 200 || status === 204 || status === 304) return { length: 0 };
  if (codings !== undefined) return codings.at(-1) === "chunked" ? "chunks" : "close";
  return lengths === undefined ? "close" : { length: parseInt(lengths[0], 10) };
}

function idleOf(isOld: boolean, fields: Fields): number {
  const options = fields.get("connection") ?? [];
  if (options.includes("close") || (isOld && !options.includes("keep-alive"))) return 0;
  const said = fields.get("keep-alive")?.map((one) => /^timeout=(\d{1,9})$/.exec(one)?.[1])
    .find((one) => one !== undefined);
  if (said === undefined) return IDLE_MAX_MS;
  return Math.max(0, Math.min(IDLE_MAX_MS, parseInt(said, 10) * 1000 - IDLE_MARGIN_MS));
}

function bodyReader(framing: Framing, keep: (part: Uint8Array) => void): BodyReader {
  if (framing === "chunks") return chunkReader(keep);
  let left = framing === "close" ? Infinity : framing.length;
  return (bytes) => {
    const own = left < bytes.length ? bytes.subarray(0, left) : bytes;
    keep(own);
    left -= own.length;
    return { used: own.length, done: left === 0 };
  };
}

function chunkReader(keep: (part: Uint8Array) => void): BodyReader {
  let state: "length" | "data" | "end of data" | "trailers" = "length";
  let left = 0;
  let line = "";

  /** Takes a line; tells whether the body is whole. */
  function takeLine(text: string): boolean {
    if (state === "trailers") return text === "";
    if (state === "end of data") {
      if (text !== "") throw new WebhookFault(NOT_HTTP);
      state = "length";
      return false;
    }
    const found = CHUNK.exec(text);
    if (found === null) throw new WebhookFault(NOT_HTTP);
    left = parseInt(found[1], 16);
    state = left === 0 ? "trailers" : "data";
    return false;
  }

  return (bytes) => {
    let at = 0;
    while (at < bytes.length) {
      if (state === "data") {
        const part = bytes.subarray(at, at + left);
        keep(part);
        left -= part.length;
        at += part.length;
        if (left === 0) state = "end of data";
        continue;
      }
      const end = bytes.indexOf(LF, at);
      line += LATIN.decode(bytes.subarray(at, end < 0 ? undefined : end));
      if (line.length > LINE_MAX) throw new WebhookFault(NOT_HTTP);
      if (end < 0) return { used: bytes.length, done: false };
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      line = "";
      at = end + 1;
      if (takeLine(text)) return { used: at, done: true };
    }
    return { used: at, done: false };
  };
}
