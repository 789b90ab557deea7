/**
 * Random histories over the whole API: every answer must fit some order of the calls, and the laws
 * of the ledger must hold in its rows. A failure prints a seed and a path; PROPERTY_SEED and
 * PROPERTY_PATH play it again, PROPERTY_RUNS plays more.
 *
 * @module
 */
import fc from "fast-check";
import { linearize, report } from "../support/history.ts";
import { assertChain, assertLaws, assertSame } from "./laws.ts";
import { type Plan, plans } from "./plan.ts";
import { play } from "./play.ts";
import { everyRule } from "./rules.ts";
import { openScene, openStage, type Stage } from "./stage.ts";

/** When making a plan that fails smaller comes to an end. */
const LIMIT_MS = 40_000;

/** How often, and from which seed, plans are made; `share` of the runs that are asked for. */
function parameters(runs: number): fc.Parameters<[Plan]> {
  const seed = Deno.env.get("PROPERTY_SEED");
  const path = Deno.env.get("PROPERTY_PATH");
  const factor = Number(Deno.env.get("PROPERTY_RUNS") ?? 1);
  return {
    numRuns: Math.ceil(runs * factor),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
    interruptAfterTimeLimit: LIMIT_MS * Math.max(1, factor),
  };
}

async function check(stage: Stage, plan: Plan): Promise<void> {
  const scene = await openScene(stage);
  const events = await play(stage, scene, plan);
  const verdict = linearize(scene.start, events);
  if (verdict.order === null) throw new Error(report(verdict));
  await assertSame(stage.realm, scene, events, verdict.ledger);
  await assertLaws(stage.realm);
}

async function prove(
  of: { clients: number; steps: number; instances: number; cuts?: "all" | "lanes" },
  runs: number,
): Promise<void> {
  await using stage = await openStage(of.instances);
  await fc.assert(
    fc.asyncProperty(plans(of), (plan) => check(stage, plan)),
    parameters(runs),
  );
  await assertChain(stage);
}

Deno.test("every rule of the ledger, at its boundary and beside it", async () => {
  await using stage = await openStage(2);
  await check(stage, [everyRule(2)]);
  await assertChain(stage);
});

Deno.test("one client after the other: every answer is the model's", async () => {
  await prove({ clients: 1, steps: 40, instances: 1 }, 6);
});

Deno.test("eight clients at once: some order explains every answer", async () => {
  await prove({ clients: 8, steps: 10, instances: 1 }, 6);
});

Deno.test("eight clients on two serving processes: some order explains every answer", async () => {
  await prove({ clients: 8, steps: 10, instances: 2 }, 6);
});

Deno.test("lanes cut in mid-flight: every answer comes, as if nothing had been", async () => {
  await prove({ clients: 8, steps: 10, instances: 2, cuts: "lanes" }, 5);
});

Deno.test("all connections cut in mid-flight: what is repeated under its key happens once", async () => {
  await prove({ clients: 8, steps: 10, instances: 2, cuts: "all" }, 5);
});
