import { equal, throws } from "node:assert/strict";
import { FreeForm } from "../../domain/entity.ts";
import { isDigits, MANY, parseJson, parseStoredJson } from "../../domain/json.ts";
import { fc } from "../support/properties.ts";

Deno.test("parseJson() keeps every digit of a number as it was written", () => {
  const text =
    '{"a":1.000000000000000001,"b":12345678901234567890,"c":1e3,"d":1.10,"e":5,"f":-0.0,"g":[0.1]}';
  equal(JSON.stringify(parseJson(text)), text);
  const parsed = parseJson(text) as Record<string, unknown>;
  equal(parsed.e, 5);
  equal(isDigits(parsed.d) && parsed.d.digits, "1.10");
});

Deno.test("parseJson() equals JSON.parse, where doubles suffice", () => {
  const value = fc.jsonValue({ noUnicodeString: true } as never);
  fc.assert(fc.property(value, (given) => {
    const text = JSON.stringify(given);
    equal(JSON.stringify(parseStoredJson(text)), JSON.stringify(JSON.parse(text)));
  }));
});

Deno.test("parseStoredJson() keeps every digit, whatever numbers stand in the text", () => {
  const digits = fc.stringMatching(/^[0-9]{1,20}$/);
  const whole = fc.stringMatching(/^-?(0|[1-9][0-9]{0,18})$/);
  const number = fc.tuple(
    whole,
    fc.option(digits.map((text) => `.${text}`), { nil: "" }),
    fc.option(fc.stringMatching(/^[eE][+-]?[0-9]{1,2}$/), { nil: "" }),
  ).map((parts) => parts.join(""));
  fc.assert(
    fc.property(number, number, (one, other) => {
      const text = `{"a":${one},"b":["${other}",${other}],"c":{"d":${one}}}`;
      equal(JSON.stringify(parseStoredJson(text)), text);
    }),
    { examples: ["9007199254740993", "-0", "1e5", "1.0", "2E-3"].map((text) => [text, "7"]) },
  );
});

Deno.test("parseJson() refuses text that the database cannot hold", () => {
  for (
    const text of [
      '"\\u0000"',
      '{"\\u0000":1}',
      '"\\ud83d"',
      '"\\ude00"',
      '"\\ud83dx"',
      '"\\ude00\\ud83d"',
      '"A\\u0041\\udc00"',
    ]
  ) {
    throws(() => parseJson(text), { code: "request.invalid" }, text);
  }
  for (const text of ['"\\ud83d\\ude00"', '"\\\\u0000"', '"A\\u0041\\ud83d\\ude00"']) {
    equal(typeof parseJson(text), "string", text);
  }
});

Deno.test("parseJson() refuses depth and absurd numbers, and malformed text", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  parseJson(nested(64));
  throws(() => parseJson(nested(65)), { code: "request.invalid" });
  throws(() => parseJson(nested(5000)), { code: "request.invalid" });
  throws(() => parseJson("[1e9999]"), { code: "request.invalid" });
  throws(() => parseJson(`[${"1".repeat(2000)}]`), { code: "request.invalid" });
  for (const text of ["{", "{'a':1}", "[1,]", "01", "NaN", "\u0000", "[1] 2", '{"a":}']) {
    throws(() => parseJson(text), { code: "request.malformed" }, text);
  }
  equal(JSON.stringify(parseJson('{"a":"[[[[{{{\\"","b":"}"}')), '{"a":"[[[[{{{\\"","b":"}"}');
});

Deno.test("parseJson() takes as much as two free-form objects can hold, and no more of the costly parts", () => {
  const list = (item: string, times: number) => `[${Array(times).fill(item).join()}]`;
  const two = (item: string, times: number) =>
    `{"data":{"a":${list(item, times)}},"seal":{"a":${list(item, times)}}}`;
  parseJson(two("0", 32_700));
  parseJson(two("-0", 21_800));
  parseJson(two('{"":0}', 9_350));
  for (const [item, times] of [["0", 39_000], ["-0", 30_000], ['{"":0}', 20_000]] as const) {
    throws(() => parseJson(two(item, times)), { code: "request.invalid" }, item);
    equal(typeof parseJson(two(item, times), MANY), "object");
  }
  // A body of many requests may hold more, and not as much as eight megabytes can.
  const lists = (item: string) => list(list(item, 9_000), 70);
  for (const item of ["0", "1.5", '{"":0}']) {
    throws(() => parseJson(lists(item), MANY), { code: "request.invalid" }, item);
  }
});

Deno.test("texts in a free-form object are measured without being printed", () => {
  const { stringify } = JSON;
  JSON.stringify = () => {
    throw new Error("printed");
  };
  try {
    equal(FreeForm.safeParse({ name: ["a text", "\u00e9\n"] }).success, true);
  } finally {
    JSON.stringify = stringify;
  }
});

Deno.test("a free-form object is measured as its JSON text is, to the byte", () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" })
    .filter((given) => !/\de/.test(JSON.stringify(given))); // an exponent counts as it is written out
  fc.assert(
    fc.property(value, (given) => {
      const inner = JSON.stringify({
        given,
        digits: [1.5, 'é\u2028"\n\\\b\x01\x7f\ud800\ud83d\ude00'],
      });
      const size = new TextEncoder().encode(inner).length + '{"p":"","v":}'.length;
      for (const more of [0, 1]) {
        const text = `{"p":"${"x".repeat(65_536 - size + more)}","v":${inner}}`;
        equal(FreeForm.safeParse(parseStoredJson(text)).success, more === 0, inner);
      }
    }),
    { numRuns: 50 },
  );
});
