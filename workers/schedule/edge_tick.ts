/** The tick of an edge platform: once a minute, due work is done within a budget of time. @module */

/** Less than the minute until the next tick, which does not wait for this one. */
const BUDGET_MS = 50_000;

/**
 * Calls `drain` every minute where the platform has a cron; tells whether it has one. Calls `fail` where the
 * platform refuses the schedule.
 */
export function scheduleTicks(
  drain: (budgetMs: number) => Promise<unknown>,
  fail: (error: unknown) => void,
): boolean {
  if (typeof Deno.cron !== "function") return false;
  // A missed tick is not repeated: the next one drains its jobs.
  Deno.cron("purser", "* * * * *", { backoffSchedule: [] }, async () => {
    await drain(BUDGET_MS);
  }).catch(fail);
  return true;
}
