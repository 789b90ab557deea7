/** Sessions that build realms: each ends soon, because it caches all that it made. @module */
import { equal, ok } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { building } from "../../db/transaction.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";

Deno.test("sessions that build realms are replaced, also while one is always in use, and none that is in use", async () => {
  const database = openDatabase({ url: testDatabaseUrl(), prepare: true, parseJson: JSON.parse });
  const sessions = new Set<number>();
  let working = true;
  const work = async () => {
    while (working) {
      await building(database.builder, (sql) =>
        sql.begin(async (tx) => {
          const [{ pid }] = await tx<{ pid: number }[]>`
            select pg_backend_pid() as pid, pg_sleep(0.01) is null`;
          sessions.add(pid);
        }));
    }
  };
  try {
    await building(database.builder, (sql) =>
      sql.begin(async (tx) => {
        const [{ mine }] = await tx`select pg_backend_pid() as mine`;
        const workers = [work(), work(), work()];
        await until(() => sessions.size > 3);
        working = false;
        await Promise.all(workers);
        equal((await tx`select pg_backend_pid() as mine`)[0].mine, mine);
        ok(!sessions.has(mine));
      }));
  } finally {
    await database.close();
  }
});
