/**
 * Validation of requests: bodies, parameters, headers. Each fault names its JSON pointer or
 * parameter. @module
 */
import type { z } from "zod";
import { DomainError, type ErrorCode, type Fault } from "../../domain/errors.ts";
import { MANY, parseJson } from "../../domain/json.ts";
import { parseLongJson } from "../../domain/long_json.ts";
import { decodeLong, inSlices, SLICE_SIZE } from "../../domain/slices.ts";
import { openPieces, type Pieces } from "./body_streams.ts";
import { explain, faultsIn, pointer } from "./fault_messages.ts";
import type { Ending } from "./shutdown.ts";
import { arrivedBody, type RequestHeaders, requestHeaders } from "./underlying_request.ts";

/** A body that holds very many items: the schema around the list, and that of each item. */
export interface LongBody {
  /** The schema of the body, whose list holds anything. */
  outline: z.ZodType;
  /** Name of the list. */
  list: string;
  item: z.ZodType;
}

/** Greatest body unless a route allows more. */
export const BODY_MAX = 1024 * 1024;
const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;(?!.*charset=(?!"?utf-?8))|$)/i;
const FAULTS_MAX = 20;
const WORDS = { error: explain };
/** Time that a body is given to arrive. */
const BODY_MS = 15_000;
/** Bodies up to this may come whole with their headers. */
const WHOLE_MAX = 256 * 1024;
/** Chunks of a body that may be small; each costs some 50 µs, so later ones must have some size. */
const CHUNKS_FREE = 256;
const CHUNK_MIN = 512;
/** Room for a body at first; it doubles as the body grows. */
const BUFFER_SIZE = 4096;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Checks a value against a schema.
 *
 * @throws {DomainError} the given code, with every fault and its JSON pointer
 */
export function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
  code: ErrorCode,
  where?: Fault["in"],
): T {
  const result = schema.safeParse(value, WORDS);
  if (result.success) return result.data;
  throw faulty(code, faultsIn(result.error.issues, value, FAULTS_MAX, where), where);
}

/**
 * Reads a body of very many items in slices, and checks it.
 *
 * @throws {DomainError} as {@link parseBody} and {@link check}
 */
export async function readLong(text: string, { outline, list, item }: LongBody): Promise<unknown> {
  const given = text.trim() === "" ? {} : await parseLongJson(text, MANY);
  const around = check(outline, given, "request.invalid") as Record<string, unknown>;
  const faults: Fault[] = [];
  const items = await inSlices(around[list] as unknown[], (one, index) => {
    if (faults.length >= FAULTS_MAX) return null;
    const result = item.safeParse(one, WORDS);
    if (result.success) return result.data;
    for (const { path, message } of faultsIn(result.error.issues, one, FAULTS_MAX)) {
      if (faults.length < FAULTS_MAX) faults.push({ path: `/${list}/${index}${path}`, message });
    }
    return null;
  });
  if (faults.length > 0) throw faulty("request.invalid", faults);
  return { ...around, [list]: items };
}

function faulty(code: ErrorCode, errors: Fault[], where?: Fault["in"]): DomainError {
  const [first] = errors;
  const place = where === undefined ? first.path : first.path.slice(1); // a name, not a place in a body
  const detail = place === "" ? first.message : `${place}: ${first.message}`;
  return new DomainError(code, detail, {
    errors: where === undefined ? errors : errors.map((fault) => ({ ...fault, in: where })),
  });
}

/** How a body is read. */
export interface Reading {
  /** Told that the process ends. */
  ending?: Ending;
  /** Called before so many bytes are held; it may refuse them. */
  onSize?: (size: number) => unknown;
  /** Its headers, where they were found already. */
  headers?: RequestHeaders;
}

/**
 * Reads a body that came whole with its headers, as most do: at once, and without a limit of time, which costs a timer.
 * Null where {@link readBody} must read or refuse it.
 *
 * @throws {DomainError} request.malformed
 */
export function arrivedText(
  request: Request,
  max: number,
  { ending, onSize, headers = requestHeaders(request) }: Reading = {},
): string | null {
  const size = Number(headers.get("content-length") ?? 0);
  if (!(size > 0 && size <= Math.min(max, WHOLE_MAX)) || ending?.hasBegun()) return null;
  if (!JSON_TYPE.test(headers.get("content-type") ?? "")) return null;
  if ((headers.get("content-encoding") ?? "") !== "") return null;
  onSize?.(size);
  const bytes = arrivedBody(request);
  return bytes === null ? null : textOf(bytes);
}

/**
 * Reads a body as text; a body that is too large is refused before it is read.
 *
 * @throws {DomainError} request.too_large, request.media_type
 */
export async function readBody(
  request: Request,
  max: number,
  { ending, onSize = () => {}, headers = requestHeaders(request) }: Reading = {},
): Promise<string> {
  const declared = headers.get("content-length");
  if (declared !== null && Number(declared) > max) throw tooLarge(max);
  if (declared === "0" || (declared === null && request.body === null)) return "";
  const type = headers.get("content-type");
  // A request without body headers may have a body, or an empty stream in its place.
  if (type === null && declared === null) {
    if (await arrived(inTime(openPieces(request.body!), isEmpty, ending))) return "";
  }
  if (type === null || !JSON_TYPE.test(type)) {
    throw new DomainError("request.media_type", "send JSON with content-type: application/json");
  }
  if (!/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) {
    throw new DomainError("request.media_type", "send the body without content-encoding");
  }
  if (declared !== null) onSize(Number(declared));
  if (request.body === null) return ""; // a length that nothing follows
  const read = (pieces: Pieces) => readPieces(pieces, max, declared === null ? onSize : null);
  const bytes = await arrived(inTime(openPieces(request.body), read, ending));
  return bytes.length <= SLICE_SIZE ? textOf(bytes) : await decodeLong(bytes).catch(notUtf8);
}

function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    return notUtf8();
  }
}

function notUtf8(): never {
  throw new DomainError("request.malformed", "the body is not UTF-8");
}

/**
 * Limits the time of a slow body, which holds a connection and memory. What does not come in time is left unread, which
 * ends its connection (body_streams.ts).
 */
async function inTime<T>(
  pieces: Pieces,
  read: (pieces: Pieces) => Promise<T>,
  ending?: Ending,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new DomainError("request.malformed", "the body did not arrive in time")),
    BODY_MS,
  );
  const forget = ending?.add(reject);
  const reading = read(pieces);
  reading.catch(() => {}); // a late body's end is not awaited
  return await Promise.race([reading, late]).finally(() => {
    clearTimeout(timer);
    forget?.();
    pieces.leave();
  });
}

/** A caller that leaves before its body has arrived is no error of the service. */
async function arrived<T>(reading: Promise<T>): Promise<T> {
  return await reading.catch((error) => {
    if (error instanceof DomainError) throw error;
    throw new DomainError("request.malformed", "the body did not arrive whole");
  });
}

async function isEmpty(pieces: Pieces): Promise<boolean> {
  for (let piece = await pieces.next(); piece !== null; piece = await pieces.next()) {
    if (piece.byteLength > 0) return false;
  }
  return true;
}

/** @param onSize null where the length is known, and has been asked about */
async function readPieces(
  pieces: Pieces,
  max: number,
  onSize: Reading["onSize"] | null,
): Promise<Uint8Array<ArrayBuffer>> {
  // Each chunk is a view of a larger buffer: none of them is kept.
  let bytes = new Uint8Array(BUFFER_SIZE);
  let size = 0;
  for (let chunks = 0;; chunks++) {
    const chunk = await pieces.next();
    if (chunk === null) return bytes.subarray(0, size);
    const before = size;
    size += chunk.byteLength;
    if (size > max) throw tooLarge(max);
    onSize?.(size);
    if ((chunks - CHUNKS_FREE) * CHUNK_MIN > size) {
      const mend = onSize === null ? "larger ones" : "it with content-length";
      throw new DomainError(
        "request.malformed",
        `the body comes in too many small chunks: send ${mend}`,
      );
    }
    if (size > bytes.length) {
      const larger = new Uint8Array(Math.max(size, Math.min(max, 2 * bytes.length)));
      larger.set(bytes.subarray(0, before));
      bytes = larger;
    }
    bytes.set(chunk, before);
  }
}

function tooLarge(max: number): DomainError {
  return new DomainError("request.too_large", `the body is larger than ${max} bytes`);
}

/**
 * Parses a body; an empty one is an empty object.
 *
 * @throws {DomainError} request.malformed, request.invalid
 */
export function parseBody(text: string): unknown {
  return text.trim() === "" ? {} : parseJson(text);
}

/** Parameters of a query; the longest list of names has fewer. */
const PARAMETERS_MAX = 200;

/**
 * Query parameters as one object; a repeated one becomes an array.
 *
 * @throws {DomainError} query.invalid
 */
export function queryOf(url: string): Record<string, string | string[]> {
  const from = url.indexOf("?");
  const found: Record<string, string | string[]> = {};
  if (from < 0) return found;
  const text = url.slice(from + 1).split("#")[0];
  const parameters = [...new URLSearchParams(text)];
  if (parameters.length > PARAMETERS_MAX) {
    throw new DomainError("query.invalid", `more than ${PARAMETERS_MAX} parameters`);
  }
  for (const [name, value] of parameters) {
    // An object has no member of this name to keep it in, where a schema would find it.
    if (name === "__proto__") throw faultyParameter(name, "unknown parameter");
    if (value.includes("\0")) throw faultyParameter(name, "NUL is not allowed");
    // What is no UTF-8 was replaced by this character, which may also have been sent as it is.
    if (`${name}${value}`.includes("\ufffd") && !isUtf8(text)) {
      throw faultyParameter(name, "bytes that are not UTF-8 are not allowed");
    }
    const before = Object.hasOwn(found, name) ? found[name] : undefined;
    found[name] = before === undefined ? value : [before, value].flat();
  }
  return found;
}

/** Whether escaped bytes are UTF-8; a percent sign that escapes nothing stands for itself. */
function isUtf8(text: string): boolean {
  try {
    decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, "%25"));
    return true;
  } catch {
    return false;
  }
}

/** Refuses a query parameter. */
export function faultyParameter(name: string, message: string): DomainError {
  return new DomainError("query.invalid", `${name.slice(0, 100)}: ${message}`, {
    errors: [{ path: pointer([name]), message }],
  });
}

/**
 * Whether a Host header names a host, and nothing that a URL would read as a path or more. Its port may
 * be empty (RFC 3986, 3.2.3); zones of addresses are their machine's own (RFC 9844).
 */
export function isHost(host: string): boolean {
  return /^([\w.-]{1,254}|\[[0-9a-f:.]{2,45}\])(:\d{0,5})?$/i.test(host);
}

/** Longest header by which an answer's form is chosen; browsers send some hundred characters. */
const CHOICE_MAX = 2000;

/** A header by which an answer's form is chosen. A longer one counts as none: it is not worth its reading. */
export function choiceOf(header: string | null): string | null {
  return header !== null && header.length > CHOICE_MAX ? null : header;
}

/** Whether the caller takes one of these media types. */
export function accepts(given: string | null, types: readonly string[]): boolean {
  const accept = choiceOf(given);
  if (accept === null || accept.trim() === "") return true;
  return accept.split(",").some((text) => {
    const [range, ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter))) return false;
    return range === "*/*" ||
      types.some((type) => range === type || range === `${type.split("/")[0]}/*`);
  });
}

/** Whether the caller takes JSON. */
export function acceptsJson(accept: string | null): boolean {
  if (accept === null || accept === "*/*" || accept === "application/json") return true;
  return accepts(accept, ["application/json", "application/problem+json"]);
}

/** The caller's request id, if it is a safe one. */
export function safeRequestId(given: string | null): string | null {
  return given !== null && /^[\w.:\-]{1,128}$/.test(given) ? given : null;
}

/**
 * The seconds of `Prefer: wait=N` (RFC 7240), from 1 to 30; 0 without.
 */
export function preferWait(header: string | null): number {
  if (header === null) return 0;
  const seconds = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,4})"?/i.exec(header)?.[1];
  return seconds === undefined ? 0 : Math.min(30, Math.max(1, Number(seconds)));
}
