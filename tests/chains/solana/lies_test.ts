/** Lies about every field of every answer of a Solana node. */
import { deepEqual, ok } from "node:assert/strict";
import { oneInTurn, tryLies } from "../../support/lie_probes.ts";
import { lyingSolana } from "./lying_chain.ts";

Deno.test("no lie about a field of a Solana node's answer ends a scan, invents or hides anything", async () => {
  await using context = await lyingSolana();
  const { answers, faults } = await tryLies(context, oneInTurn());
  deepEqual(faults, []);
  ok(answers > 100);
});
