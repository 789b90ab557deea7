/** What operators read of a chain's problems where there are many at once. */
import { equal, match, ok } from "node:assert/strict";
import { warningOf } from "../../workers/scanning/chain_warnings.ts";

const hashOf = (digit: number) => `0x${`${digit % 10}`.repeat(64)}`;

Deno.test("twenty transactions that too few nodes tell of, and as many reports, push no warning of money out of a chain's error", () => {
  const told = Array.from({ length: 20 }, (_, at) => ({ height: 100 + at, hash: hashOf(at) }));
  const reports = told.map(({ height }) => `node ${height} reports payments that do not exist`);
  const warning = warningOf({ told, gone: 12, unconfirmed: 345, reports })!;
  ok(warning.length <= 500);
  match(warning, new RegExp(`^too few nodes say that block 100 has ${hashOf(0)}, .* of 19 more; `));
  match(warning, /12 coins are gone/);
  match(warning, /345 deposits wait/);
  match(warning, /node 100 reports payments/);
  equal(warningOf({ told: [], gone: 0, unconfirmed: 0, reports: [] }), null);
});
