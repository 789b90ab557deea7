import { equal, ok } from "node:assert/strict";
import { canonical, canonicalNumber } from "../../domain/canonical_json.ts";
import { parseJson, parseStoredJson } from "../../domain/json.ts";
import { createLinker, GENESIS, linkText } from "../../domain/audit/chain_links.ts";

Deno.test("canonical() writes the examples of RFC 8785", () => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  equal(
    canonical(JSON.parse(sample)),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
  const order = {
    "\u20ac": 1,
    "\r": 2,
    "\ufb33": 3,
    "1": 4,
    "\u{1f600}": 5,
    "\u0080": 6,
    "\u00f6": 7,
  };
  equal(
    Object.keys(JSON.parse(canonical(order), (_, value) => value)).length,
    7,
  );
  equal(canonical(order), '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}');
  equal(canonical({ b: [], a: {}, c: undefined }), '{"a":{},"b":[]}');
});

Deno.test("canonicalNumber() prints doubles as ECMAScript does and keeps digits that they cannot hold", () => {
  for (
    const [literal, printed] of [
      ["0", "0"],
      ["-0", "0"],
      ["-0.0", "0"],
      ["1.10", "1.1"],
      ["100", "100"],
      ["1e21", "1e+21"],
      ["1000000000000000000000", "1e+21"],
      ["123e-2", "1.23"],
      ["0.0000001", "1e-7"],
      ["-5e-324", "-5e-324"],
      ["1.000000000000000001", "1.000000000000000001"],
      ["9007199254740993", "9007199254740993"],
      ["-0.10000000000000000000", "-0.1"],
      ["00.5".slice(1), "0.5"],
    ]
  ) equal(canonicalNumber(literal), printed, literal);
  const huge = "1" + "0".repeat(400);
  equal(canonicalNumber(huge), huge);
  const tiny = `0.${"0".repeat(3_000_000)}1`; // by a pattern hours of the whole process
  ok(canonicalNumber(tiny) === tiny);
});

Deno.test("canonical() does not depend on how a value was written", () => {
  const a = parseJson('{"z":1.10,"a":{"y":[1,2],"x":1.000000000000000001},"\\u00e9":"\\u00e9"}');
  const b = parseStoredJson(
    '{ "é": "é", "a": {"x": 1.0000000000000000010, "y": [1, 2]}, "z": 1.1}',
  );
  equal(canonical(a), canonical(b));
});

Deno.test("linkText() is canonical JSON of the fields that never change", () => {
  const row = {
    id: "01a1fb9d-f797-7000-8000-f205583ab8e1",
    type: "transfer",
    source: "01a1fb9d-f797-7000-8000-000000000001",
    destination: "01a1fb9d-f797-7000-8000-000000000002",
    asset: "BTC",
    amount: "1.500",
    fiat_currency: "USD",
    fiat_rate: "60000.10",
    fiat_value: "90000.15",
    reference: 'order "7" é\n',
    reverts: null,
    seal: { b: 1, a: [true, null] },
    address_data: null,
    api_key: null,
    owner: null,
    created_at: 1_700_000_000_000,
    testnet: false,
    event: null,
  };
  const salt = "0123456789abcdef0123456789abcdef";
  const whole = {
    amount: "1.5",
    asset: "BTC",
    created_at: 1_700_000_000_000,
    destination: row.destination,
    fiat: { currency: "USD", rate: "60000.1", value: "90000.15" },
    id: row.id,
    owner: null,
    reference: row.reference,
    seal: row.seal,
    seq: 7,
    salt,
    source: row.source,
    testnet: false,
    type: "transfer",
  };
  equal(linkText(row, { seq: 7n, salt }), canonical(whole));
  const reverts = "01a1fb9d-f797-7000-8000-000000000003";
  const api_key = "01a1fb9d-f797-7000-8000-000000000004";
  const more = {
    ...row,
    api_key,
    reverts,
    address_data: { z: 1, y: 2 },
    seal: null,
    fiat_currency: null,
  };
  equal(
    linkText({ ...more, owner: row.id }, { seq: 8n, salt }),
    canonical({
      ...whole,
      api_key,
      reverts,
      address_data: { y: 2, z: 1 },
      seal: null,
      fiat: null,
      owner: row.id,
      seq: 8,
    }),
  );
});

Deno.test("linkText() of an event is canonical JSON of all that is noted", () => {
  const salt = "0123456789abcdef0123456789abcdef";
  const facts = { owner: 'a "b"', id: "x", deep: { b: 1, a: [null] } };
  const event = { event: "9", kind: "accounts", subject: "x", facts, noted_at: 5 };
  const whole = { at: 5, facts, kind: "accounts", salt, seq: 3, subject: "x" };
  equal(linkText(event, { seq: 3n, salt }), canonical(whole));
  equal(
    linkText({ ...event, facts: null }, { seq: 3n, salt }),
    canonical({ ...whole, facts: null }),
  );
});

Deno.test("createLinker() hashes the hash before and the text, of any length", async () => {
  let last = GENESIS;
  const link = createLinker(last);
  for (const text of ["a", "é".repeat(5000), "", "z".repeat(20_000), "short"]) {
    const bytes = new Uint8Array([...Uint8Array.fromHex(last), ...new TextEncoder().encode(text)]);
    last = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    equal(link(text), last);
  }
});
