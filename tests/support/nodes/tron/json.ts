/**
 * JSON with integers of any size, as java-tron writes 64-bit integers: a number in JavaScript would
 * round an amount above 2^53 sun.
 * @module
 */

interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, at: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const EXACT = JSON as unknown as ExactJson;
const INTEGER = /^-?\d+$/;

/** Reads JSON; integers become bigint. */
export function parseJson(text: string): unknown {
  return EXACT.parse(
    text,
    (_key, value, { source }) =>
      typeof value === "number" && source !== undefined && INTEGER.test(source)
        ? BigInt(source)
        : value,
  );
}

/** Writes JSON; bigint becomes a number of as many digits as it has. */
export function writeJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, each) => typeof each === "bigint" ? EXACT.rawJSON(String(each)) : each,
  );
}
