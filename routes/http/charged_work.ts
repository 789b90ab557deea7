/**
 * Work of the database for reads of very many rows: measured while it runs, and charged beyond the price of the request,
 * whether its answer is whole, broken off or given up.
 * @module
 */
import { reachesRealm } from "../../domain/actor.ts";
import { creditsOfWork } from "../../domain/realms/usage.ts";
import type { LimitHeaders } from "./rate_limits.ts";
import { withHeaders } from "./replica_reads.ts";
import type { Call, Reply } from "./route.ts";

/** Measures and charges the work of the database for one request. */
export interface ChargedWork {
  /**
   * Runs work of the database; its time counts from its beginning, also where nobody waits for its end any more. It has its
   * connection then: a wait for those of others is not its own.
   */
  timed<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Charges what was not charged yet, of work that still runs too.
   *
   * @returns the headers of its answer, which take the place of others; none where nothing was charged
   */
  charge(): Promise<LimitHeaders>;
}

/** Opens the charged work of a request. What was found is answered, whether it could be charged or not. */
export function openChargedWork<P, Q, B>(call: Call<P, Q, B>): ChargedWork {
  const { realm, services } = call;
  const isHouse = reachesRealm(call.actor);
  const running = new Set<{ start: number }>();
  let [doneMs, charged, answered] = [0, 0, false];
  const spentMs = () => {
    const now = performance.now();
    return [...running].reduce((ms, { start }) => ms + now - start, doneMs);
  };

  async function settle(): Promise<LimitHeaders> {
    const credits = creditsOfWork(spentMs()) - charged;
    if (realm === null || credits <= 0) return {};
    charged += credits;
    try {
      return await services.limits.chargeWork(realm, { credits, isHouse });
    } catch {
      charged -= credits; // the next charge has them
      return {};
    }
  }

  return {
    async timed(work) {
      const mine = { start: performance.now() };
      running.add(mine);
      try {
        return await work();
      } finally {
        running.delete(mine);
        doneMs += performance.now() - mine.start;
        // A caller that was told that the database did not answer has left work behind.
        if (answered) await settle();
      }
    },
    charge() {
      answered = true;
      return settle();
    },
  };
}

/** Answers by work that is measured, and charges it however it ends. */
export async function chargingWork<P, Q, B>(
  call: Call<P, Q, B>,
  answer: (timed: ChargedWork["timed"]) => Promise<Reply>,
): Promise<Reply> {
  const usage = openChargedWork(call);
  const reply = await answer(usage.timed).catch(async (error) => {
    await usage.charge(); // what was given up has cost as much
    throw error;
  });
  return withHeaders(reply, await usage.charge());
}
