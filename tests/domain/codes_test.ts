import { deepEqual, equal, throws } from "node:assert/strict";
import { COUNTRIES, CURRENCIES, minorUnits } from "../../domain/codes.ts";

Deno.test("the closed lists have the sizes of the specification and well-formed codes", () => {
  equal(COUNTRIES.size, 249);
  equal(CURRENCIES.size, 198);
  deepEqual([...COUNTRIES].filter((code) => !/^[A-Z]{2}$/.test(code)), []);
  deepEqual([...CURRENCIES].filter((code) => !/^[A-Z]{3,4}(_[A-Z]{3,5})?$/.test(code)), []);
});

Deno.test("minorUnits() follows ISO 4217 for money and the asset's decimals otherwise", () => {
  const expected = {
    JPY: 0,
    KRW: 0,
    XOF: 0,
    USD: 2,
    EUR: 2,
    JEP: 2,
    XDR: 2,
    KWD: 3,
    BHD: 3,
    CLF: 4,
    XAU: 6,
    USDT: 6,
    XLM: 7,
    BTC: 8,
    ETH: 18,
    INRT_TRON: 2,
  };
  const actual = Object.fromEntries(Object.keys(expected).map((code) => [code, minorUnits(code)]));
  deepEqual(actual, expected);
});

Deno.test("minorUnits() refuses a code outside the list, whatever its letter case", () => {
  for (const code of ["", "usd", "USD ", "SAND", "toString"]) {
    throws(() => minorUnits(code), RangeError);
  }
});
