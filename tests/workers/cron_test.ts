import { deepEqual, equal } from "node:assert/strict";
import { scheduleTicks } from "../../workers/cron.ts";

Deno.test("scheduleTicks() has the platform's cron drain, every minute, within its budget", async () => {
  const cron = Object.getOwnPropertyDescriptor(Deno, "cron");
  const asked: unknown[] = [];
  const budgets: number[] = [];
  try {
    Object.defineProperty(Deno, "cron", {
      configurable: true,
      value: async (name: string, schedule: string, options: unknown, run: () => Promise<void>) => {
        asked.push([name, schedule, options]);
        await run();
      },
    });
    equal(scheduleTicks((budgetMs) => Promise.resolve(budgets.push(budgetMs))), true);
    await Promise.resolve();
    deepEqual(asked, [["purser", "* * * * *", { backoffSchedule: [] }]]);
    deepEqual(budgets.map((budgetMs) => budgetMs < 60_000), [true]);
    Object.defineProperty(Deno, "cron", { configurable: true, value: undefined });
    equal(scheduleTicks(() => Promise.resolve()), false);
  } finally {
    if (cron === undefined) Reflect.deleteProperty(Deno, "cron");
    else Object.defineProperty(Deno, "cron", cron);
  }
});
