/**
 * Random histories over the whole API: every answer must fit some order of the calls, and the laws
 * of the ledger must hold in its rows. A failure prints a seed and a path; PROPERTY_SEED and
 * PROPERTY_PATH play it again, PROPERTY_RUNS plays more, with PROPERTY_SEED=random others.
 *
 * @module
 */
import { ok } from "node:assert/strict";
import { outliveRejections } from "../../db/lost_connections.ts";
import { linearize, report } from "./linearizability.ts";
import { assertChain, assertInvariants, assertSame } from "./invariants.ts";
import { type Deed, type Plan, plans, type Step } from "./random_plan.ts";
import { runPlan } from "./run_plan.ts";
import { everyRule } from "./boundary_plan.ts";
import { type Fixture, openFixture, openScene } from "./fixture.ts";
import { fc } from "../support/properties.ts";

/** How long a plan that fails is made smaller. */
const LIMIT_MS = 40_000;

/** How often plans are made, and which of them again. */
function parameters(runs: number): fc.Parameters<[Plan]> {
  const path = Deno.env.get("PROPERTY_PATH");
  const factor = Number(Deno.env.get("PROPERTY_RUNS") ?? 1);
  return {
    numRuns: Math.ceil(runs * factor),
    ...(path === undefined ? {} : { path }),
  };
}

// As every command of the service does: connections are cut here all the time.
outliveRejections(() => {});

async function check(fixture: Fixture, plan: Plan): Promise<void> {
  const scene = await openScene(fixture);
  const events = await runPlan(fixture, scene, plan);
  const verdict = linearize(scene.start, events);
  if (verdict.order === null) throw new Error(report(verdict));
  await assertSame(fixture.realm, scene, events, verdict.ledger);
  await assertInvariants(fixture.realm);
}

/**
 * Checks plans; where one has failed, smaller ones for a while. The limit of fast-check would leave a plan that is being
 * played to itself, on a busy machine one that does not fail, and it would go on beside what comes after it.
 */
function checkFor(fixture: Fixture): (plan: Plan) => Promise<void> {
  let failedAt = Infinity;
  return async (plan) => {
    if (performance.now() > failedAt + LIMIT_MS) return;
    try {
      await check(fixture, plan);
    } catch (error) {
      failedAt = Math.min(failedAt, performance.now());
      throw error;
    }
  };
}

async function prove(
  of: { clients: number; steps: number; instances: number; cuts?: "all" | "queues" },
  runs: number,
): Promise<void> {
  await using fixture = await openFixture(of.instances);
  await fc.assert(
    fc.asyncProperty(plans(of), checkFor(fixture)),
    parameters(runs),
  );
  await assertChain(fixture);
  // Where nothing is cut, eight clients of one process wait behind each other all the time.
  const isCrowd = of.clients > 1 && of.instances === 1 && of.cuts === undefined;
  if (!isCrowd || Deno.env.has("PROPERTY_PATH")) return;
  ok(fixture.instances[0].pipelined() > 0, "batches went behind others");
}

Deno.test("every rule of the ledger, at its boundary and beside it", async () => {
  await using fixture = await openFixture(2);
  await check(fixture, [everyRule(2)]);
  await assertChain(fixture);
});

Deno.test("one client after the other: every answer is the model's", async () => {
  await prove({ clients: 1, steps: 40, instances: 1 }, 7);
});

Deno.test("eight clients at once: some order explains every answer", async () => {
  await prove({ clients: 8, steps: 10, instances: 1 }, 7);
});

Deno.test("eight clients on two serving processes: some order explains every answer", async () => {
  await prove({ clients: 8, steps: 10, instances: 2 }, 6);
});

Deno.test("queues cut in mid-flight: every answer comes, as if nothing had been", async () => {
  await prove({ clients: 8, steps: 10, instances: 2, cuts: "queues" }, 5);
});

Deno.test("all connections cut in mid-flight: a request repeated under its key happens once", async () => {
  await prove({ clients: 8, steps: 10, instances: 2, cuts: "all" }, 4);
});

Deno.test("a batch that was committed and whose answer was lost is answered, and not repeated", async () => {
  await using fixture = await openFixture(1);
  const move = { source: 0, destination: 1, value: "1" };
  const step = (what: Deed, how: Step["how"]): Step => ({ what, how, person: 0, instance: 0 });
  const cut = step({ deed: "cut", instance: 0, which: "answers" }, "plain");
  const moves = (["plain", "keyed", "plain"] as const).map((how) =>
    step({ deed: "transfer", move }, how)
  );
  const batch = step({ deed: "batch", atomic: true, moves: [move, move] }, "keyed");
  await check(fixture, [[cut, ...moves], [cut, ...moves], [batch, cut, batch, cut, ...moves]]);
});

Deno.test("moves of two serving processes on one account wait for each other, and lose no races", async () => {
  await using fixture = await openFixture(2);
  const line = (instance: number): Step[] =>
    Array.from({ length: 12 }, (_, n): Step => ({
      what: n % 4 === 3
        ? { deed: "block", account: 0, amount: "1" }
        : { deed: "transfer", move: { source: 0, destination: 1 + n % 3, value: "1" } },
      how: "plain",
      person: 0,
      instance,
    }));
  await check(fixture, [0, 1, 0, 1, 0, 1, 0, 1].map(line));
  // PostgreSQL frees the ledger's lock a moment before it forgets what the transaction has read. Where a session is stopped
  // between the two, the next two may be taken for concurrent with it, and one of them is repeated. Without the lock a dozen are.
  const retries = fixture.instances.reduce((sum, one) => sum + one.retries(), 0);
  ok(retries <= 2, `${retries} lost races`);
});
