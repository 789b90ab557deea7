import { deepEqual, equal, ok } from "node:assert/strict";
import { JOBS_MAX, kindShare, realmShare } from "../../workers/jobs/shares.ts";

Deno.test("realms whose jobs hang leave slots of the process to forty others and more", () => {
  let [running, realms] = [0, 0];
  for (; running < JOBS_MAX; realms++) running += Math.min(realmShare(running), JOBS_MAX - running);
  ok(realms >= 60, `${realms} realms have jobs`);
  equal(realmShare(0), 20);
});

Deno.test("jobs of one kind that hang leave slots of their realm to other kinds", () => {
  deepEqual([20, 4, 1].map(kindShare), [15, 3, 1]);
});
