import { deepEqual, equal } from "node:assert/strict";
import type { TargetRow } from "../../db/deposits/deposits.ts";
import { targetsOf } from "../../domain/deposits/incoming_transfers.ts";

const ROW: TargetRow = {
  address: "0x1",
  account: "ours",
  asset: "ETH",
  owner: null,
  data: {},
  ramp: false,
  since: null,
};
const LINKED: TargetRow = { ...ROW, account: "theirs", since: 7 };

Deno.test("an address of ours is ours, in whatever order the rows come that link it too", () => {
  for (const rows of [[ROW, LINKED], [LINKED, ROW], [LINKED, ROW, { ...LINKED, since: 9 }]]) {
    equal(targetsOf(rows).get("0x1")?.account, "ours");
  }
  const other = { ...LINKED, address: "0x2" };
  deepEqual([...targetsOf([LINKED, other]).values()], [LINKED, other]);
});
