/**
 * Attestations: checks that a realm's schema is the one that a worker last left. A token in the
 * schema and its copy in the platform's schema change together, so a realm that was restored alone,
 * or copied from elsewhere, is detected even if the installation's own record is in order.
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
  // Steps that other workers began from the same token may still be taken instead of this one.
  const open = steps.next.filter(({ from }) => from === step.from);
  return { now: step.from, next: [...open.slice(-STEPS_MAX), step] };
}

/** The steps after one was taken. */
export function endStep(steps: RealmSteps, { to }: Pick<RealmStep, "to">): RealmSteps {
  if (!steps.next.some((one) => one.to === to)) return steps;
  return { now: to, next: steps.next.filter(({ from }) => from === to) };
}

const STEPS_MAX = 16;

/** Attempts to compare a schema that takes a step at the same moment. */
const TRIES_MAX = 3;

/** The refusal of a schema whose token the platform does not expect. */
class Unconfirmed extends DomainError {
  constructor() {
    const why = "a newer database may have settled this otherwise: it waits until a worker has" +
      " confirmed the realm";
    super("chain.quarantined", why);
  }
}

/**
 * Runs work that may return value, or hand out an address, in a realm's schema whose token the
 * platform expects at that moment. A schema that was restored alone has another token from the
 * first moment on. The expected token is read before each transaction, and compared with the
 * schema's within it.
 *
 * @param where the realm, and how the platform's database is asked about it
 * @param run calls the given check in its transaction, before anything else
 * @throws {DomainError} chain.quarantined
 */
export async function confirmed<T>(
  where: {
    platform: Pool;
    realm: string;
    inTurn?: <R>(read: () => Promise<R>) => Promise<R>;
  },
  run: (assertKnown: (tx: Tx) => Promise<void>) => Promise<T>,
): Promise<T> {
  const { platform, realm, inTurn = (read) => read() } = where;
  for (let tries = 1;; tries++) {
    const steps = await inTurn(() => reading(platform, (db) => selectRealmSteps(db, realm)));
    try {
      return await run(async (tx) => {
        if (!isExpected(steps, await noteToken(tx))) throw new Unconfirmed();
      });
    } catch (error) {
      // A worker may have taken a step between the two reads.
      if (tries >= TRIES_MAX || !(error instanceof Unconfirmed)) throw error;
    }
  }
}
