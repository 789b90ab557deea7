/**
 * Whether a realm's schema is the one that a worker last left. A token in the schema and its like in
 * the platform's change together, so a realm that was put back alone, or brought from elsewhere, is
 * told apart even where the installation's own record is in order.
 * @module
 */
import type { RealmStep, RealmSteps } from "../db/attestations.ts";

/** Whether the token of a schema is one at which the platform expects it. */
export function isExpected(steps: RealmSteps, token: string | null): boolean {
  return token === steps.now || steps.next.some(({ to }) => to === token);
}

/** The steps after a schema was found at a token and another step is begun. */
export function beginStep(steps: RealmSteps, step: RealmStep): RealmSteps {
  // Steps that others began from the same token may still be taken in place of this one.
  const open = steps.next.filter(({ from }) => from === step.from);
  return { now: step.from, next: [...open.slice(-STEPS_MAX), step] };
}

/** The steps after one was taken. */
export function endStep(steps: RealmSteps, { to }: RealmStep): RealmSteps {
  if (!steps.next.some((one) => one.to === to)) return steps;
  return { now: to, next: steps.next.filter(({ from }) => from === to) };
}

const STEPS_MAX = 16;
