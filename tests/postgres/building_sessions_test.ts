/** Sessions that build realms: each ends soon, because it caches all that it made. @module */
import { ok } from "node:assert/strict";
import { building } from "../../db/transaction.ts";
import { until } from "../support/eventually.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("sessions that build realms are replaced, also while one is always in use", async () => {
  await using realm = await testRealm();
  const { builder } = realm.database;
  const sessions = new Set<number>();
  let working = true;
  const worker = async () => {
    while (working) {
      await building(builder, (sql) =>
        sql.begin(async (tx) => {
          const [{ pid }] = await tx<{ pid: number }[]>`
            select pg_backend_pid() as pid, pg_sleep(0.01) is null`;
          sessions.add(pid);
        }));
    }
  };
  const workers = [worker(), worker(), worker()];
  await until(() => sessions.size > 4);
  working = false;
  await Promise.all(workers);
  ok(sessions.size > 4);
});
