/**
 * JSON whose numbers keep every digit. A number that a double holds exactly as written stays a
 * number; any other literal becomes a {@link Digits}, which prints itself back unchanged.
 * @module
 */
import { DomainError, invalidField } from "./errors.ts";

/** Objects and arrays may lie inside each other this deep. */
const DEPTH_MAX = 64;
/** Members of one object or array: more than 64 KiB of text can hold. */
export const MEMBERS_MAX = 40_000;
/** Limit of a whole body: as much as two free-form objects of 64 KiB can hold. */
const USUAL: JsonBounds = { members: 70_000, names: 24_000, numbers: 44_000 };
/** A literal such as 1e999999999 would be expanded to its digits by the database. */
const EXPONENT_MAX = 1000;
/** Longest number literal. */
const DIGITS_MAX = 1000;
/** A number as JSON writes it. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Integers of so few digits are held exactly by a double. */
const EXACT_MAX = 15;
const TOO_DEEP = `the body is nested deeper than ${DEPTH_MAX} levels`;
const TOO_BROAD = `an object or array has more than ${MEMBERS_MAX} members`;
/** Begins the text that stands for a number while it is parsed; no text of a body can hold it. */
const MARK = "\\u0000";

/** Limits of the costly parts of one text. */
export interface JsonBounds {
  /** Members of all objects and arrays together, but for the first of each. */
  members: number;
  /** Named members of all objects together. */
  names: number;
  /** Numbers that are kept as they were written. */
  numbers: number;
}

/** Bounds of a body of many requests: ten such numbers, forty names and sixty members for each of 10 000. */
export const MANY: JsonBounds = { members: 600_000, names: 400_000, numbers: 100_000 };

/** The counts of the parts already read, if a text is read in parts. */
export interface JsonCounts {
  /** Objects and arrays that the part lies in. */
  depth: number;
  members: number;
  names: number;
  numbers: number;
}

/** A number literal kept as it was written. */
export interface Digits {
  readonly digits: string;
  toJSON(): unknown;
}

// TypeScript 6 does not know this part of the language yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Wraps the text of a number so that it is printed as a JSON number with exactly these digits. */
export function digits(text: string): Digits {
  return { digits: text, toJSON: printDigits };
}

function printDigits(this: Digits): unknown {
  return rawJSON(this.digits);
}

/** Whether a parsed value is a number literal that was kept as text. */
export function isDigits(value: unknown): value is Digits {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<Digits>).toJSON === "function" && "digits" in value;
}

/** A number's sign, its digits before and behind its point, and its exponent. */
const PARTS = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/;

/** The most characters of a number as the database prints it: an exponent as the zeros that it stands for. */
export function writtenOutLength({ digits }: Digits): number {
  const parts = PARTS.exec(digits);
  if (parts === null) return digits.length;
  const [, sign, whole, fraction = "", exponent] = parts;
  const scale = Math.max(0, fraction.length - Number(exponent));
  const before = Math.max(1, whole.length + Number(exponent));
  return sign.length + before + (scale > 0 ? 1 + scale : 0);
}

/**
 * Parses JSON without losing a digit, in time that grows with the text alone.
 *
 * @throws {DomainError} request.malformed for text that is not JSON; request.invalid for nesting deeper
 *   than 64, for more than 40 000 members of one object or array or for more of anything than the
 *   bounds, for text that no database row can store (NUL, lone surrogates), for a member
 *   `__proto__`, for two members of one name and for absurd numbers
 */
export function parseJson(text: string, bounds = USUAL, counts?: JsonCounts): unknown {
  const seen = scan(text, bounds, counts);
  if (seen.excess !== null) throw invalidField("", seen.excess);
  if (seen.escapes && unstorable(text)) {
    throw invalidField(
      "",
      "the body holds \\u0000 or half of a surrogate pair, which cannot be stored",
    );
  }
  const value = parsed(seen);
  if ((seen.escapes || text.includes("__proto__")) && hasProto(value)) {
    throw invalidField("", "a member may not be called __proto__");
  }
  return value;
}

function parsed(seen: Scan): unknown {
  let value: unknown;
  try {
    value = JSON.parse(seen.text);
  } catch {
    throw new DomainError("request.malformed", "the body is not valid JSON");
  }
  // Readers differ in which of two counts: a gateway would have seen another request than is served.
  if (seen.names > 1 && namesIn(value) < seen.names) {
    throw invalidField("", "an object has two members of one name");
  }
  return seen.literals.length === 0 ? value : restore(value, seen.literals);
}

/** Counts the named members of all objects in a value. */
function namesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const items = Object.values(value);
  const own = Array.isArray(value) ? 0 : items.length;
  return items.reduce((sum: number, item) => sum + namesIn(item), own);
}

/** Found in every text with a number that is kept as written, and in few others. */
const PERHAPS_KEPT = /\d{16}|\d[.eE]|-0/;

/** Parses JSON that the database returned: trusted, so only the digits matter. */
export function parseStoredJson(text: string): unknown {
  if (!PERHAPS_KEPT.test(text)) return JSON.parse(text); // a list of 100 rows has 200 such texts
  const { text: marked, literals } = scan(text, null);
  return literals.length === 0 ? JSON.parse(text) : restore(JSON.parse(marked), literals);
}

function isAbsurd(literal: string): boolean {
  if (literal.length > DIGITS_MAX) return true;
  const at = literal.search(/e/i);
  return at >= 0 && Math.abs(+literal.slice(at + 1)) > EXPONENT_MAX;
}

/** Puts the numbers back where their marks stand. */
function restore(node: unknown, literals: readonly string[]): unknown {
  if (typeof node === "string") {
    return node.charCodeAt(0) === 0 ? digits(literals[parseInt(node.slice(1), 10)]) : node;
  }
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) {
      const item = node[i];
      if (typeof item === "string" || typeof item === "object") node[i] = restore(item, literals);
    }
  } else if (typeof node === "object" && node !== null) {
    const members = node as Record<string, unknown>;
    for (const name of Object.keys(members)) {
      if (name.charCodeAt(0) === 0) { // a number in the place of a name
        throw new DomainError("request.malformed", "the body is not valid JSON");
      }
      const item = members[name];
      if (typeof item !== "string" && typeof item !== "object") continue;
      const restored = restore(item, literals);
      if (restored !== item) members[name] = restored; // its own member, whatever its name is
    }
  }
  return node;
}

/** Whether a member is called `__proto__`, which copies of an object would lose in silence. */
function hasProto(value: unknown): boolean {
  if (typeof value !== "object" || value === null || isDigits(value)) return false;
  if (Array.isArray(value)) return value.some(hasProto);
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasProto);
}

interface Scan {
  /** The text, with marks for those numbers that a double might change. */
  text: string;
  literals: string[];
  /** Why the text is not taken; null where it is. */
  excess: string | null;
  /** Whether a string holds an escape. */
  escapes: boolean;
  /** Named members of all objects in this text. */
  names: number;
}

/**
 * One pass over the text: finds the numbers to keep as written, and checks depth and size. It ends
 * where the text exceeds a limit.
 *
 * @param bounds null: all is taken
 * @param counts of the parts before; this one's are added
 */
function scan(text: string, bounds: JsonBounds | null, counts: JsonCounts = newCounts()): Scan {
  const commas: number[] = Array(counts.depth + 1).fill(0); // by depth
  const literals: string[] = [];
  const pieces: string[] = [];
  let { depth, members, names } = counts, copied = 0, escapes = false;
  let excess: string | null = null;
  for (let i = 0; i < text.length && excess === null; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) { // a string: skip to its end
      for (i++; i < text.length; i++) {
        const s = text.charCodeAt(i);
        if (s === 0x22) break;
        if (s === 0x5c) {
          escapes = true;
          i++;
        }
      }
    } else if (c === 0x7b || c === 0x5b) {
      commas[++depth] = 0;
      if (bounds !== null && depth > DEPTH_MAX) excess = TOO_DEEP;
    } else if (c === 0x7d || c === 0x5d) {
      if (depth > 0) depth--;
    } else if (c === 0x2c) {
      members++;
      if (bounds === null) continue;
      if (++commas[depth] >= MEMBERS_MAX) excess = TOO_BROAD;
      else if (members > bounds.members) excess = tooMany("members", bounds.members);
    } else if (c === 0x3a) {
      if (++names > (bounds?.names ?? Infinity)) excess = tooMany("names", bounds!.names);
    } else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      const start = i;
      while (isNumeric(text.charCodeAt(i + 1))) i++;
      if (isPlain(text, start, i)) continue;
      const literal = text.slice(start, i + 1);
      if (!NUMBER.test(literal) || isExact(literal)) continue;
      if (bounds !== null) {
        if (isAbsurd(literal)) excess = "a number has too many digits";
        if (counts.numbers + literals.length >= bounds.numbers) {
          excess = tooMany("such numbers", bounds.numbers);
        }
      }
      pieces.push(text.slice(copied, start), `"${MARK}${literals.length}"`);
      literals.push(literal);
      copied = i + 1;
    }
  }
  const own = names - counts.names;
  counts.members = members;
  counts.names = names;
  counts.numbers += literals.length;
  const marked = literals.length === 0 ? text : pieces.join("") + text.slice(copied);
  return { text: marked, literals, excess, escapes, names: own };
}

/** Nothing was read yet. */
export function newCounts(depth = 0): JsonCounts {
  return { depth, members: 0, names: 0, numbers: 0 };
}

function tooMany(what: string, most: number): string {
  return `the body holds more than ${most} ${what}`;
}

/** Whether a double holds a whole number exactly, and prints it alike. */
function isExact(literal: string): boolean {
  const value = Number(literal);
  return Number.isSafeInteger(value) && String(value) === literal;
}

/** Whether a character may stand in a number: digits, sign, point, exponent. */
function isNumeric(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x2e || c === 0x65 || c === 0x45 || c === 0x2b ||
    c === 0x2d;
}

/** Whether the literal from `start` to `end` is a whole number that a double holds and prints alike. */
function isPlain(text: string, start: number, end: number): boolean {
  if (end - start >= EXACT_MAX) return false;
  for (let i = start; i <= end; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x30 || c > 0x39) {
      const minus = c === 0x2d && i === start && text.charCodeAt(i + 1) !== 0x30;
      if (!minus) return false;
    }
  }
  return true;
}

/** Whether JSON text spells a NUL or a surrogate without its partner. */
function unstorable(text: string): boolean {
  const escapes =
    /\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([0-9a-fA-F]{4})|.)/gs;
  for (const [, high, low, other] of text.matchAll(escapes)) {
    if (high !== undefined && low === undefined) return true;
    if (other !== undefined && /^(0000|[dD][c-fC-F])/.test(other)) return true;
  }
  return false;
}

/** Why a list of too many members is refused. */
export function tooBroad(): DomainError {
  return invalidField("", TOO_BROAD);
}
