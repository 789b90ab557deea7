/**
 * The API answers as its OpenAPI document says, whatever is asked. FUZZ_REQUESTS and FUZZ_SEED make a
 * longer run, or another one: `deno task bench --only=fuzz --requests=100000`.
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";
import { operationsOf } from "./document.ts";
import { type Findings, fuzz } from "./fuzzer.ts";
import { openFuzzFixture } from "./fixture.ts";

const REQUESTS = Number(Deno.env.get("FUZZ_REQUESTS") ?? 3200);
const SEED = Number(Deno.env.get("FUZZ_SEED") ?? 1);

Deno.test("every operation answers as the OpenAPI document says, whatever is asked", async () => {
  await using fixture = await openFuzzFixture();
  const findings = await fuzz({ ...fixture.run, seed: SEED, requests: REQUESTS });
  // The run has no exchange, no provider of messages and no user who can be written to: what needs them is refused.
  const isReached = ({ path }: { path: string }) => !/^\/v1\/ramps|\/message(\/|$)/.test(path);
  const all = operationsOf(fixture.run.document);
  const operations = all.filter(isReached).length;
  if (Deno.env.has("FUZZ_REQUESTS")) tell(findings, operations);
  const told = Object.entries(findings.faults).map(([kind, { times, example }]) =>
    `${kind} (${times} times)\n    ${example}`
  );
  deepEqual(told, []);
  deepEqual(findings.unreached, []);
  const beyond = new Set(all.filter((one) => !isReached(one)).map(({ id }) => id));
  const failing = findings.failing.filter((id) => !beyond.has(id));
  ok(failing.length < operations / 4, failing.join());
});

/** Prints the findings of a long run. */
function tell(findings: Findings, operations: number): void {
  const { sent, statuses, failing, narrower, faults } = findings;
  console.log(JSON.stringify({ sent, statuses, failing, narrower, faults }, null, 1));
  console.log(`${sent} requests of seed ${SEED} to ${operations} operations`);
}
