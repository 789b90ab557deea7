/** What operators read of a chain's problems where there are many at once. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { warningOf } from "../../workers/scanning/chain_warnings.ts";
import { logResent } from "../../workers/sending/resent_payments.ts";

const hashOf = (digit: number) => `0x${`${digit % 10}`.repeat(64)}`;

Deno.test("twenty transactions that too few nodes tell of, and as many reports, push no warning of money out of a chain's error", () => {
  const told = Array.from({ length: 20 }, (_, at) => ({ height: 100 + at, hash: hashOf(at) }));
  const reports = told.map(({ height }) => `node ${height} reports payments that do not exist`);
  const again = { count: 3, first: hashOf(7), held: 1, first_held: hashOf(8) };
  const none = { count: 0, first: null, held: 0, first_held: null };
  const warning = warningOf({ told, again, gone: 12, unconfirmed: 345, reports })!;
  ok(warning.length <= 700);
  match(warning, new RegExp(`^too few nodes say that block 100 has ${hashOf(0)}, .* of 19 more; `));
  match(warning, new RegExp(`${hashOf(7)}, which is done and is sent again .*, and so 2 more; `));
  match(warning, new RegExp(`${hashOf(8)}, which is done and is not sent again in quarantine; `));
  match(warning, /12 coins are gone/);
  match(warning, /345 deposits wait/);
  match(warning, /node 100 reports payments/);
  equal(warningOf({ told: [], again: none, gone: 0, unconfirmed: 0, reports: [] }), null);
});

Deno.test("a payment that each pass sends again is logged once for each other answer of nodes", () => {
  const answers: unknown[] = [];
  const log = (_level: string, _message: string, told: { obstacle: unknown }) =>
    void answers.push(told.obstacle);
  const context = { log, actor: { realm: { id: "a" } } } as never;
  const place = { chain: "ETHEREUM", network: "main" };
  const again = (obstacle: "underpriced" | null) =>
    logResent(context, place, { order: "1", hash: hashOf(1) }, { outcome: "unknown", obstacle });
  for (const obstacle of ["underpriced", "underpriced", null, null] as const) again(obstacle);
  deepEqual(answers, ["underpriced", null]);
});
