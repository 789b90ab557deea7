/**
 * JSON whose numbers keep every digit. A number that a double holds exactly as written stays a
 * number; any other literal becomes a {@link Digits}, which prints itself back unchanged.
 * @module
 */
import { DomainError } from "./errors.ts";

/** Objects and arrays may lie inside each other this deep. */
const DEPTH_MAX = 64;
/** A literal such as 1e999999999 would be expanded to its digits by the database. */
const EXPONENT_MAX = 1000;
/** Longest number literal. */
const DIGITS_MAX = 1000;

/** A number literal kept as it was written. */
export interface Digits {
  readonly digits: string;
  toJSON(): unknown;
}

// TypeScript 6 does not know these two parts of the language yet.
const exact = JSON as unknown as {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
};

/** Wraps the text of a number so that it is printed as a JSON number with exactly these digits. */
export function digits(text: string): Digits {
  return {
    digits: text,
    toJSON() {
      return exact.rawJSON(text);
    },
  };
}

/** Whether a parsed value is a number literal that was kept as text. */
export function isDigits(value: unknown): value is Digits {
  return typeof value === "object" && value !== null && "digits" in value && "toJSON" in value &&
    typeof value.toJSON === "function";
}

/**
 * Parses JSON without losing a digit.
 *
 * @throws {DomainError} request.malformed for what is not JSON; request.invalid for nesting deeper
 *   than 64, for text that no database row can hold (NUL, lone surrogates) and for absurd numbers
 */
export function parseJson(text: string): unknown {
  const seen = scan(text);
  if (seen.depth > DEPTH_MAX) {
    throw invalid(`the body is nested deeper than ${DEPTH_MAX} levels`);
  }
  if (seen.escapes && unstorable(text)) {
    throw invalid("the body holds \\u0000 or half of a surrogate pair, which cannot be stored");
  }
  try {
    return seen.numbers ? exact.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError("request.malformed", "the body is not valid JSON");
  }
}

/** Parses JSON that the database returned: trusted, so only the digits matter. */
export function parseStoredJson(text: string): unknown {
  return scan(text).numbers ? exact.parse(text, keepDigits) : JSON.parse(text);
}

function keepDigits(_key: string, value: unknown, context: { source?: string }): unknown {
  const source = context.source;
  if (typeof value !== "number" || source === undefined) return value;
  if (Number.isSafeInteger(value) && String(value) === source) return value;
  const exponent = /[eE]([+-]?\d+)$/.exec(source)?.[1];
  if (
    source.length > DIGITS_MAX || (exponent !== undefined && Math.abs(+exponent) > EXPONENT_MAX)
  ) {
    throw invalid("a number has too many digits");
  }
  return digits(source);
}

/** One pass over the text: how deep it nests, whether numbers or escapes occur in it at all. */
function scan(text: string): { depth: number; numbers: boolean; escapes: boolean } {
  let depth = 0, deepest = 0, numbers = false, escapes = false;
  for (let i = 0; i < text.length; i++) {
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
      if (++depth > deepest) deepest = depth;
    } else if (c === 0x7d || c === 0x5d) depth--;
    else if (c >= 0x30 && c <= 0x39) numbers = true;
  }
  return { depth: deepest, numbers, escapes };
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

function invalid(message: string): DomainError {
  return new DomainError("request.invalid", message, { errors: [{ path: "", message }] });
}
