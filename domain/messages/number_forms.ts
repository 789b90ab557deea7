/**
 * Numbers that WhatsApp writes otherwise than their owners do. In three countries a mobile number has
 * two forms that reach one telephone; a provider may report the one when the other was sent to.
 * @module
 */

/** What one form of a number is turned into the other by. */
interface Forms {
  /** Matches the longer form; its groups around the digits that the shorter one lacks. */
  long: RegExp;
  /** Matches the shorter form; its groups around the place of these digits. */
  short: RegExp;
  digits: string;
}

const FORMS: readonly Forms[] = [
  // Mexico: a 1 before mobile numbers, which telephone networks dropped in 2019.
  { long: /^(\+52)1(\d{10})$/, short: /^(\+52)(\d{10})$/, digits: "1" },
  // Argentina: a 9 before mobile numbers, in calls from abroad alone.
  { long: /^(\+54)9(\d{10})$/, short: /^(\+54)(\d{10})$/, digits: "9" },
  // Brazil: the ninth digit. Numbers of 8 digits that begin with 2 to 5 are no mobile ones.
  { long: /^(\+55\d{2})9([6-9]\d{7})$/, short: /^(\+55\d{2})([6-9]\d{7})$/, digits: "9" },
];

/** All forms of a number (E.164) that reach the same telephone, the given one first. */
export function formsOf(number: string): string[] {
  for (const { long, short, digits } of FORMS) {
    const other = long.test(number)
      ? number.replace(long, "$1$2")
      : short.test(number)
      ? number.replace(short, (_whole, before, after) => `${before}${digits}${after}`)
      : null;
    if (other !== null) return [number, other];
  }
  return [number];
}
