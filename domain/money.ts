/**
 * Exact amounts. On the wire and in the ledger an amount is a decimal in whole units of its asset,
 * carried as text; chains count in base units (satoshi, wei, sun), carried as bigint. Only this file
 * converts between the two, and no amount ever passes through a float.
 * @module
 */
import { z } from "zod";
import { invalidField } from "./errors.ts";
import { digits, isDigits } from "./json.ts";

/** Digits before the point that an amount may have. */
const WHOLE_DIGITS_MAX = 36;
/** Digits after the point of a virtual currency. */
export const CURRENCY_DECIMALS = 18;

const DECIMAL = /^(0|[1-9]\d*)(?:\.(\d+))?$/;
const FRACTION_MAX = 77;
/** The same for those who read the schema, with the bounds. */
const AT_LEAST_0 = `(?:0|[1-9][0-9]{0,${WHOLE_DIGITS_MAX - 1}})(?:[.][0-9]{1,${FRACTION_MAX}})?`;
const ABOVE_0 = `[1-9][0-9]{0,${WHOLE_DIGITS_MAX - 1}}(?:[.][0-9]{1,${FRACTION_MAX}})?|` +
  "0[.][0-9]*[1-9][0-9]*";

/** An amount as a caller may give it: a decimal string or a JSON number, whose digits count. */
export const Amount = amountSchema(false, "Amount", "0.5");
/** Like {@link Amount}, but 0 is allowed. */
export const AmountOrZero = amountSchema(true, "AmountOrZero", "1000");

/** An amount as the service prints it. */
export const DecimalText = z.string().meta({
  id: "Decimal",
  description: "An exact decimal without trailing zeros.",
  pattern: "^-?(?:0|[1-9][0-9]*)(?:[.][0-9]*[1-9])?$",
  example: "99.5",
});

function amountSchema(zero: boolean, id: string, example: string) {
  const fault = zero
    ? "a decimal of at least 0 is expected: digits, without sign or exponent"
    : "a decimal above 0 is expected: digits, without sign or exponent";
  return z.unknown().transform((given, context): string => {
    const text = decimalOf(given);
    if (text === null || (!zero && text === "0")) {
      context.addIssue({ code: "custom", message: fault });
      return z.NEVER;
    }
    return text;
  }).meta({
    id,
    description: `An exact decimal ${zero ? "of at least" : "above"} 0, as a string or a number.`,
    oneOf: [
      { type: "string", pattern: zero ? `^${AT_LEAST_0}$` : `^(?:${ABOVE_0})$` },
      zero ? { type: "number", minimum: 0 } : { type: "number", exclusiveMinimum: 0 },
    ],
    example,
  });
}

/** Reads an amount from parsed JSON; null if it is not a plain, unsigned decimal. */
export function decimalOf(given: unknown): string | null {
  const text = typeof given === "string"
    ? given
    : typeof given === "number"
    ? String(given)
    : isDigits(given)
    ? given.digits
    : null;
  if (text === null || text.length > WHOLE_DIGITS_MAX + FRACTION_MAX + 1) return null;
  const match = DECIMAL.exec(text);
  if (match === null || match[1].length > WHOLE_DIGITS_MAX) return null;
  if (match[2] !== undefined && match[2].length > FRACTION_MAX) return null;
  return trim(text);
}

/** Removes the zeros that say nothing: 1.50 is 1.5, and 2.000 is 2. Signs are kept. */
export function trim(text: string): string {
  if (!text.includes(".")) return text;
  let end = text.length;
  while (text.charCodeAt(end - 1) === 48) end--;
  if (text.charCodeAt(end - 1) === 46) end--;
  const trimmed = text.slice(0, end);
  return trimmed === "-0" ? "0" : trimmed;
}

/** How many digits stand after the point. */
export function scaleOf(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/**
 * Refuses an amount that is finer than its asset can be divided.
 *
 * @throws {DomainError} request.invalid
 */
export function assertScale(amount: string, decimals: number, path: string): void {
  if (scaleOf(amount) <= decimals) return;
  throw invalidField(
    path,
    `the asset has ${decimals} decimal places, the amount ${scaleOf(amount)}`,
  );
}

/**
 * Converts whole units to base units.
 *
 * @throws {RangeError} if digits would be lost; callers check with {@link assertScale} first
 */
export function toUnits(amount: string, decimals: number): bigint {
  const negative = isNegative(amount);
  const [whole, fraction = ""] = (negative ? amount.slice(1) : amount).split(".");
  let end = fraction.length; // an expression would take the square of the zeros that others follow
  while (fraction[end - 1] === "0") end--;
  const kept = fraction.slice(0, end);
  if (kept.length > decimals) throw new RangeError(`${amount} has more than ${decimals} places`);
  const units = BigInt(whole + kept.padEnd(decimals, "0"));
  return negative ? -units : units;
}

/** Converts base units to whole units. */
export function fromUnits(units: bigint, decimals: number): string {
  const negative = units < 0n;
  const text = (negative ? -units : units).toString().padStart(decimals + 1, "0");
  const whole = text.slice(0, text.length - decimals);
  const fraction = text.slice(text.length - decimals);
  return (negative ? "-" : "") + trim(decimals === 0 ? whole : `${whole}.${fraction}`);
}

/** Adds two decimals exactly. */
export function add(a: string, b: string): string {
  const places = Math.max(scaleOf(a), scaleOf(b));
  return fromUnits(toUnits(a, places) + toUnits(b, places), places);
}

/** Whether a decimal is below 0. */
export function isNegative(amount: string): boolean {
  return amount.startsWith("-");
}

/** Gives a decimal the other sign; 0 stays 0. */
export function negate(amount: string): string {
  if (isNegative(amount)) return amount.slice(1);
  return /[1-9]/.test(amount) ? `-${amount}` : amount;
}

/** Subtracts exactly. */
export function subtract(a: string, b: string): string {
  return add(a, negate(b));
}

/** Compares two decimals: below 0, 0, or above 0. */
export function compare(a: string, b: string): number {
  const places = Math.max(scaleOf(a), scaleOf(b));
  const difference = toUnits(a, places) - toUnits(b, places);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Prints a decimal as a JSON number, for the fields that the specification types as number. */
export function jsonNumber(text: string): unknown {
  return digits(text);
}
