import { deepEqual, equal } from "node:assert/strict";
import {
  extendLease,
  insertJob,
  type JobRow,
  markDone,
  markFailed,
  reapJobs,
  releaseJob,
} from "../../db/jobs.ts";
import { claimJobs } from "../../db/jobs/claims.ts";
import { newId } from "../../domain/ids.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** Claims of every kind. */
const limits = (limit: number) => ({ limit, except: [], exchanges: limit });

async function add(
  realm: TestRealm,
  of: { serialKey?: string; dedupe?: string; runAt?: number } = {},
) {
  const id = newId(Date.now());
  await realm.command((tx) =>
    insertJob(tx, {
      id,
      name: "test.job",
      payload: { id },
      serialKey: of.serialKey,
      dedupe: of.dedupe,
      run_at: of.runAt,
    })
  );
  return id;
}

async function claimed(realm: TestRealm, limit = 10): Promise<JobRow[]> {
  const mine = (await claimJobs(realm.pool.sql, 60, limits(limit))).filter((job) =>
    job.name === "test.job"
  );
  return mine;
}

async function stateOf(realm: TestRealm, id: string): Promise<string> {
  const [row] = await rowsOf<{ state: string }>(realm, "select state from jobs where id = $1", [
    id,
  ]);
  return row.state;
}

const test = sharing("jobs in one realm");

test("claimJobs() gives each job to one worker", async (realm) => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => add(realm)));
  const hauls = await Promise.all([1, 2, 3, 4].map(() => claimed(realm, 10)));
  const taken = hauls.flat().map((job) => job.id).sort();
  deepEqual(taken, ids.sort());
  deepEqual(await claimed(realm), []);
});

test("jobs with one serial key run one at a time, oldest first", async (realm) => {
  const first = await add(realm, { serialKey: "ramp-1" });
  const second = await add(realm, { serialKey: "ramp-1" });
  const other = await add(realm, { serialKey: "ramp-2" });
  const haul = await claimed(realm);
  deepEqual(haul.map((job) => job.id).sort(), [first, other].sort());
  deepEqual(await claimed(realm), []);
  await markDone(realm.pool.sql, haul.find((job) => job.id === first)!);
  deepEqual((await claimed(realm)).map((job) => job.id), [second]);
});

test("a job with a mark is not added twice while it waits or runs", async (realm) => {
  const first = await add(realm, { dedupe: "a" });
  await add(realm, { dedupe: "a" });
  const haul = await claimed(realm);
  deepEqual(haul.map((job) => job.id), [first]);
  await add(realm, { dedupe: "a" });
  deepEqual(await claimed(realm), []);
  await markDone(realm.pool.sql, haul[0]);
  const again = await add(realm, { dedupe: "a" });
  deepEqual((await claimed(realm)).map((job) => job.id), [again]);
});

test("a worker whose lease ran out cannot end another's run", async (realm) => {
  const id = await add(realm);
  const [lost] = await claimJobs(realm.pool.sql, 0, limits(1));
  await reapJobs(realm.pool.sql);
  const [found] = await claimed(realm);
  equal(found.attempts, lost.attempts + 1);
  await markDone(realm.pool.sql, lost);
  equal(await stateOf(realm, id), "running");
  equal(await extendLease(realm.pool.sql, lost, 60), false);
  equal(await extendLease(realm.pool.sql, found, 60), true);
  await markDone(realm.pool.sql, found);
  equal(await stateOf(realm, id), "done");
});

test("a job that fails comes back later, and is laid aside after its last attempt", async (realm) => {
  const id = await add(realm);
  let [job] = await claimed(realm);
  await markFailed(realm.pool.sql, job, "no", 3_600_000);
  equal(await stateOf(realm, id), "ready");
  deepEqual(await claimed(realm), []);
  for (let attempt = 2; attempt <= job.attempts_max; attempt++) {
    await rowsOf(realm, "update jobs set run_at = now() where id = $1", [id]);
    [job] = await claimed(realm);
    equal(job.attempts, attempt);
    await markFailed(realm.pool.sql, job, "no", 0);
  }
  equal(await stateOf(realm, id), "dead");
});

test("a job that waits for a node has another token in each attempt, however long it waits", async (realm) => {
  const id = await add(realm);
  const [lost] = await claimJobs(realm.pool.sql, 0, limits(1));
  await reapJobs(realm.pool.sql);
  const tokens = new Set([lost.attempts]);
  for (let attempt = 2; attempt <= 20; attempt++) {
    const [job] = await claimed(realm);
    equal(tokens.has(job.attempts), false);
    tokens.add(job.attempts);
    await markFailed(realm.pool.sql, job, "no", 0, true);
    equal(await stateOf(realm, id), "ready");
  }
  await markDone(realm.pool.sql, (await claimed(realm))[0]);
});

test("a released job is as if it had never been taken", async (realm) => {
  const id = await add(realm);
  const [job] = await claimed(realm);
  await releaseJob(realm.pool.sql, job);
  const [again] = await claimed(realm);
  deepEqual([again.id, again.attempts], [id, 1]);
});

test("a job waits for its time, and vanishes with the transaction that caused it", async (realm) => {
  await add(realm, { runAt: Date.now() + 3_600_000 });
  deepEqual(await claimed(realm), []);
  await realm.command(async (tx) => {
    await insertJob(tx, { id: newId(Date.now()), name: "test.job", payload: {} });
    throw new Error("rolled back");
  }).catch(() => {});
  deepEqual(await claimed(realm), []);
});
