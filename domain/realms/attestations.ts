/**
 * Whether a realm's schema is the one that a worker last left. A token in the schema and its like in
 * the platform's change together, so a realm that was put back alone, or brought from elsewhere, is
 * told apart even where the installation's own record is in order.
 * @module
 */
import {
  noteToken,
  type RealmStep,
  type RealmSteps,
  selectRealmSteps,
} from "../../db/realms/attestations.ts";
import type { Pool, Tx } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";

/** Whether the token of a schema is one at which the platform expects it. */
export function isExpected(steps: RealmSteps, token: string | null): boolean {
  return token === steps.now || steps.next.some(({ to }) => to === token);
}

/** The steps after a schema was found at a token and another step is begun. */
export function beginStep(steps: RealmSteps, step: RealmStep): RealmSteps {
  // Steps that others began from the same token may still be taken in location of this one.
  const open = steps.next.filter(({ from }) => from === step.from);
  return { now: step.from, next: [...open.slice(-STEPS_MAX), step] };
}

/** The steps after one was taken. */
export function endStep(steps: RealmSteps, { to }: RealmStep): RealmSteps {
  if (!steps.next.some((one) => one.to === to)) return steps;
  return { now: to, next: steps.next.filter(({ from }) => from === to) };
}

const STEPS_MAX = 16;

/** So often a schema that takes a step at the same moment is compared. */
const TRIES_MAX = 3;

/** The schema stands where the platform does not expect it. */
class Unconfirmed extends DomainError {
  constructor() {
    const why = "a newer database may have settled this otherwise: it waits until a worker has" +
      " confirmed the realm";
    super("chain.quarantined", why);
  }
}

/**
 * Runs what may give back value, or hand out what is given once, in a realm's schema that stands where the
 * platform expects it at that moment: one that was restored alone stands elsewhere from its first moment on.
 * What is expected is read before each transaction, and compared with the schema within it.
 *
 * @param run asks in its transaction, before anything else, what it is given
 * @throws {DomainError} chain.quarantined
 */
export async function confirmed<T>(
  { platform, realm }: { platform: Pool; realm: string },
  run: (assertKnown: (tx: Tx) => Promise<void>) => Promise<T>,
): Promise<T> {
  for (let tries = 1;; tries++) {
    const steps = await reading(platform, (db) => selectRealmSteps(db, realm));
    try {
      return await run(async (tx) => {
        if (!isExpected(steps, await noteToken(tx))) throw new Unconfirmed();
      });
    } catch (error) {
      // A worker may have taken a step between the two.
      if (tries >= TRIES_MAX || !(error instanceof Unconfirmed)) throw error;
    }
  }
}
