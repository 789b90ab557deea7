/**
 * JSON in one canonical form (RFC 8785), so that equal values have equal hashes everywhere. Where the
 * RFC would round a number to a double, its digits are kept instead: nothing may change unseen.
 * @module
 */
import { isDigits } from "./json.ts";

/** Writes a parsed JSON value canonically: keys in order of their UTF-16 units, no blanks. */
export function canonical(value: unknown): string {
  if (isDigits(value)) return canonicalNumber(value.digits);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = value as Record<string, unknown>;
    const keys = Object.keys(members).filter((key) => members[key] !== undefined).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Writes a number literal as ECMAScript prints its double, if that is the same number. */
export function canonicalNumber(literal: string): string {
  const printed = JSON.stringify(Number(literal));
  const exact = spellOut(literal);
  return printed !== "null" && spellOut(printed) === exact ? printed : exact;
}

/** Spells a number literal out without exponent, leading or trailing zeros. */
export function spellOut(literal: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal)!;
  const point = whole.length + parseInt(exponent, 10);
  const all = whole + fraction;
  const padded = point <= 0 ? "0".repeat(1 - point) + all : all.padEnd(point, "0");
  const at = Math.max(point, 1);
  const before = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  let end = padded.length; // a pattern would begin anew at each zero: 1e-1000 took three milliseconds
  while (end > at && padded[end - 1] === "0") end--;
  const after = padded.slice(at, end);
  if (before === "0" && after === "") return "0";
  return sign + before + (after === "" ? "" : `.${after}`);
}
