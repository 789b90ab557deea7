import { equal, throws } from "node:assert/strict";
import { digits } from "../../domain/json.ts";
import {
  add,
  compare,
  decimalOf,
  fromUnits,
  isNegative,
  jsonNumber,
  negate,
  subtract,
  toUnits,
  trim,
} from "../../domain/money.ts";
import { fc } from "../support/properties.ts";

const units = fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n });
const places = fc.integer({ min: 0, max: 36 });

Deno.test("base and whole units convert into each other without loss", () => {
  fc.assert(fc.property(units, places, (amount, decimals) => {
    equal(toUnits(fromUnits(amount, decimals), decimals), amount);
  }));
});

Deno.test("add(), subtract() and compare() agree with integers", () => {
  fc.assert(fc.property(units, units, places, (a, b, decimals) => {
    const [x, y] = [fromUnits(a, decimals), fromUnits(b, decimals)];
    equal(add(x, y), fromUnits(a + b, decimals));
    equal(subtract(x, y), fromUnits(a - b, decimals));
    equal(Math.sign(compare(x, y)), a < b ? -1 : a > b ? 1 : 0);
  }));
});

Deno.test("isNegative() and negate() agree with integers, and 0 has no sign", () => {
  fc.assert(fc.property(units, places, (amount, decimals) => {
    const text = fromUnits(amount, decimals);
    equal(isNegative(text), amount < 0n);
    equal(negate(text), fromUnits(-amount, decimals));
  }));
  equal(negate("0"), "0");
  equal(negate("0.00"), "0.00");
});

Deno.test("toUnits() refuses to lose a digit", () => {
  equal(toUnits("1.10", 1), 11n);
  throws(() => toUnits("1.11", 1), RangeError);
});

Deno.test("decimalOf() takes plain decimals only", () => {
  const good: [unknown, string][] = [
    ["1", "1"],
    ["0.10", "0.1"],
    ["0", "0"],
    [5, "5"],
    [digits("1.000000000000000001"), "1.000000000000000001"],
    ["9".repeat(36), "9".repeat(36)],
  ];
  for (const [given, expected] of good) equal(decimalOf(given), expected);
  const bad = [
    "",
    " 1",
    "+1",
    "-1",
    "01",
    "1.",
    ".5",
    "1e5",
    "1_0",
    "NaN",
    "Infinity",
    "0x10",
    "١",
    "9".repeat(37),
    -1,
    NaN,
    1.5e300,
    null,
    true,
    {},
    [],
    digits("1e5"),
    digits("-0"),
  ];
  for (const given of bad) equal(decimalOf(given), null, String(given));
});

Deno.test("trim() takes away the zeros that say nothing", () => {
  for (
    const [given, expected] of [
      ["1.50", "1.5"],
      ["100", "100"],
      ["2.000", "2"],
      ["-0.0", "0"],
      ["0.000", "0"],
      ["10.010", "10.01"],
    ]
  ) equal(trim(given), expected);
});

Deno.test("jsonNumber() prints exact digits as a JSON number", () => {
  equal(
    JSON.stringify({ rate: jsonNumber("0.1000000000000000055") }),
    '{"rate":0.1000000000000000055}',
  );
});
