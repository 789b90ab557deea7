import { equal, throws } from "node:assert/strict";
import fc from "fast-check";
import { isDigits, parseJson, parseStoredJson } from "../../domain/json.ts";

Deno.test("parseJson() keeps every digit of a number as it was written", () => {
  const text =
    '{"a":1.000000000000000001,"b":12345678901234567890,"c":1e3,"d":1.10,"e":5,"f":-0.0,"g":[0.1]}';
  equal(JSON.stringify(parseJson(text)), text);
  const parsed = parseJson(text) as Record<string, unknown>;
  equal(parsed.e, 5);
  equal(isDigits(parsed.d) && parsed.d.digits, "1.10");
});

Deno.test("parseJson() gives what JSON.parse gives, where doubles suffice", () => {
  const value = fc.jsonValue({ noUnicodeString: true } as never);
  fc.assert(fc.property(value, (given) => {
    const text = JSON.stringify(given);
    equal(JSON.stringify(parseStoredJson(text)), JSON.stringify(JSON.parse(text)));
  }));
});

Deno.test("parseJson() refuses what the database cannot hold", () => {
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
