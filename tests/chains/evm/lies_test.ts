/** Lies about every field of every answer of an account chain's node. */
import { deepEqual, ok } from "node:assert/strict";
import { oneInTurn, tryLies } from "../../support/lie_probes.ts";
import { lyingEvm } from "./lying_chain.ts";

Deno.test("no lie about a field of an account chain's answer ends a scan, invents or hides anything", async () => {
  await using context = await lyingEvm();
  const { answers, faults } = await tryLies(context, oneInTurn());
  deepEqual(faults, []);
  ok(answers > 100);
});
