import { deepEqual, equal } from "node:assert/strict";
import { openChains } from "../../workers/chains/registry.ts";
import { scheduleTicks } from "../../workers/schedule/edge_tick.ts";
import { startChainPoller } from "../../workers/scanning/chain_poller.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { until } from "../support/eventually.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const raise = (error: unknown) => {
  throw error;
};
const CRON = new URL("../../workers/schedule/edge_tick.ts", import.meta.url);

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
    equal(scheduleTicks((budgetMs) => Promise.resolve(budgets.push(budgetMs)), raise), true);
    await Promise.resolve();
    deepEqual(asked, [["purser", "* * * * *", { backoffSchedule: [] }]]);
    deepEqual(budgets.map((budgetMs) => budgetMs < 60_000), [true]);
    Object.defineProperty(Deno, "cron", { configurable: true, value: undefined });
    equal(scheduleTicks(() => Promise.resolve(), raise), false);
  } finally {
    if (cron === undefined) Reflect.deleteProperty(Deno, "cron");
    else Object.defineProperty(Deno, "cron", cron);
  }
});

Deno.test("the runtime's own cron takes the tick as it is asked for", async () => {
  const code = `import { scheduleTicks } from ${JSON.stringify(CRON.href)};
    console.log(scheduleTicks(() => Promise.resolve(), console.error));
    setTimeout(() => Deno.exit(0), 200);`;
  for (const [flags, answer] of [[["--unstable-cron"], "true"], [[], "false"]] as const) {
    const { code: exit, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", ...flags, "--ext=ts", code],
      env: { NO_COLOR: "1" },
    }).output();
    const said = new TextDecoder();
    deepEqual([exit, said.decode(stderr), said.decode(stdout).trim()], [0, "", answer]);
  }
});

Deno.test("ticks that overlap do each thing once, and all come back", async () => {
  await using realm = await testRealm();
  const { config, log } = realm.services;
  const { name } = await realm.currency("10");
  for (let i = 0; i < 40; i++) {
    await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: name });
  }
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const options = { database: realm.database, log, chains, signer, now: Date.now, pollMs: 1000 };
  const how = { loop: false, only: realm.id };
  const workers = [
    startTimetable({ ...options, rates: null }, how),
    startChainPoller({ ...options, wake: () => {} }, how),
    startRunner(options, how),
  ];
  const tick = () => Promise.all(workers.map((worker) => worker.drain(300_000)));
  await Promise.all([tick(), tick(), tick()]);
  const jobs = await rowsOf<{ state: string; attempts: number; n: number }>(
    realm,
    "select state, attempts, count(*)::integer as n from jobs group by state, attempts",
  );
  deepEqual(jobs.map((row) => ({ ...row })), [{ state: "done", attempts: 1, n: 40 }]);
  // The last job may commit after the ticks have extended the chain: the next tick adds its links.
  await until(async () => {
    await workers[0].drain(300_000);
    return (await realm.admin.send("GET", "/v1/transactions/head")).body.unsealed === 0;
  });
  await Promise.all(workers.map((worker) => worker.stop()));
});
