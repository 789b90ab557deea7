import { deepEqual, equal, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { superuserUrl } from "../support/database.ts";
import { testRealm } from "../support/realm.ts";

/** Statements that fail behind their first rows: each row fills a packet of its own. */
const FAILING = {
  "by an error in a row": "select g, repeat('x', 9000), 1 / (5 - g) from generate_series(1, 9) g",
  "by a time-out":
    "select g, repeat('x', 9000), pg_sleep(greatest(0, g - 4)) from generate_series(1, 9) g",
};

for (const [how, text] of Object.entries(FAILING)) {
  Deno.test(`a statement that failed behind its first rows takes none from the next one on its connection: ${how}`, async () => {
    const database = openDatabase({
      ...{ url: superuserUrl(), prepare: true, parseJson: parseStoredJson, platformMax: 1 },
    });
    try {
      const { platform } = database;
      await reading(platform, (db) => db.unsafe("set statement_timeout = 2000"));
      const after = async (read: () => Promise<unknown>) => {
        await rejects(reading(platform, (db) => db.unsafe(text)), /division by zero|timeout/);
        return await read();
      };
      const n = (values: string) => `select n from (values ${values}) v (n) order by n`;
      const one = () => reading(platform, async (db) => [...await db.unsafe(n("(1)"))]);
      deepEqual(await after(one), [{ n: 1 }]);
      const values = () =>
        reading(platform, async (db) => [...await db.unsafe(n("(1), (2)")).values()]);
      deepEqual(await after(values), [[1], [2]]);
      const several = () =>
        reading(platform, async (db) =>
          (await db.unsafe(`${n("(1)")}; ${n("(2), (3)")}`).simple())
            .map((rows) => [...rows as unknown as { n: number }[]]));
      deepEqual(await after(several), [[{ n: 1 }], [{ n: 2 }, { n: 3 }]]);
    } finally {
      await database.close();
    }
  });
}

Deno.test("reads of a realm that failed behind their first rows have nobody taken for missing", async () => {
  await using realm = await testRealm();
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const failing = `select q.* from (${FAILING["by an error in a row"]}) q, pg_sleep(0.1)`;
  const reads = Array.from({ length: 4 }, () => reading(pool, (db) => db.unsafe(failing)));
  for (const read of await Promise.allSettled(reads)) equal(read.status, "rejected");
  for (let i = 0; i < reads.length; i++) {
    equal((await realm.admin.send("GET", "/v1/auth/me")).status, 200);
  }
});
