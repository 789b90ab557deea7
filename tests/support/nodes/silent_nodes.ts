/** Nodes that say nothing: given up, or passed over, by no clock of a busy machine. @module */
import { equal } from "node:assert/strict";
import { until } from "../eventually.ts";
import type { HeldTimeouts } from "../held_timers.ts";

/** A node that notes what it is asked. */
interface Asked {
  readonly asked: readonly unknown[];
}

/** Has the time of a node be over once it was asked, and waits for what comes of it. */
export async function givenUp<T>(
  { asked }: Asked,
  timeouts: HeldTimeouts,
  answer: Promise<T>,
): Promise<T> {
  const before = asked.length;
  await until(() => asked.length > before);
  timeouts.expire();
  return await answer;
}

/** Waits for an answer for which a node is not asked. */
export async function without<T>({ asked }: Asked, answer: Promise<T>): Promise<T> {
  const before = asked.length;
  let isTold = false;
  const told = answer.finally(() => isTold = true);
  await until(() => isTold || asked.length > before);
  equal(asked.length, before, "it is asked");
  return await told;
}
