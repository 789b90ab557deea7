/**
 * Decimals with every digit, for sums of amounts: `new Decimal("0.1").plus("0.2").toString()` is `"0.3"`.
 *
 * @module
 */
// @ts-types="@types/big.js"
import Big from "big.js";

/** A decimal of any length. */
export type Decimal = Big.Big;

/** Digits after the point of a quotient or a root. */
const PLACES = 36;
/** Beyond every amount: a text of it never has an exponent, which the API refuses. */
const NO_EXPONENT = 1_000_000;

/**
 * Makes decimals of texts. It takes no JavaScript number, which may have lost digits already, and writes what the API takes:
 * no exponent, no trailing zeros. Quotients are rounded half-even to 36 places.
 */
export const Decimal: Big.BigConstructor = makeDecimal();

function makeDecimal(): Big.BigConstructor {
  const own = Big();
  own.strict = true;
  own.DP = PLACES;
  own.RM = Big.roundHalfEven;
  own.PE = NO_EXPONENT;
  own.NE = -NO_EXPONENT;
  return own;
}

/** Adds amounts up. */
export function sum(amounts: Iterable<string | Decimal>): string {
  let total = new Decimal("0");
  for (const amount of amounts) total = total.plus(amount);
  return total.toString();
}
