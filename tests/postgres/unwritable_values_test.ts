import { deepEqual, ok } from "node:assert/strict";
import { type Db, openDatabase } from "../../db/database.ts";
import { reading } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { superuserUrl } from "../support/database.ts";

/** Statements whose parameter can be written, or cannot. */
const KINDS: Record<
  string,
  { good: unknown; bad: unknown; ask: (db: Db, value: never) => unknown }
> = {
  "a time": { good: 0, bad: NaN, ask: (db, at) => db`select ${at}::timestamptz as value` },
  "JSON": { good: {}, bad: { value: 1n }, ask: (db, json) => db`select ${json}::jsonb as value` },
  "texts": { good: ["a"], bad: [null], ask: (db, texts) => db`select ${texts}::text[] as value` },
  "ids": { good: [], bad: [1], ask: (db, ids) => db`select ${ids}::uuid[] as value` },
};

for (const [kind, { good, bad, ask }] of Object.entries(KINDS)) {
  Deno.test(`a value that cannot be written fails its own statement, and nobody gets another's answer: ${kind}`, async () => {
    const database = openDatabase({
      ...{ url: superuserUrl(), prepare: true, parseJson: parseStoredJson, platformMax: 1 },
    });
    try {
      const { platform } = database;
      const { sql } = platform;
      await reading(platform, async (db) => await ask(db, good as never)); // it is prepared now
      const [before, failing, after, last] = await Promise.allSettled([
        sql`select 'before' as value, pg_sleep(0.2)`.values(),
        reading(platform, async (db) => await ask(db, bad as never)),
        reading(platform, async (db) => [...await db`select 'after' as value`.values()]),
        reading(platform, async (db) => [...await db`select 'last' as value`.values()]),
      ]);
      ok(before.status === "fulfilled", `${(before as PromiseRejectedResult).reason}`);
      deepEqual(before.value[0][0], "before");
      deepEqual(failing.status, "rejected");
      deepEqual([after, last].map((one) => one.status === "fulfilled" && one.value), [
        [["after"]],
        [["last"]],
      ]);
    } finally {
      await database.close();
    }
  });
}
