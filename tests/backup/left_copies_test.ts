/** Copies of tables that are left before their end. @module */
import { deepEqual, rejects } from "node:assert/strict";
import { copyOut } from "../../db/backup/copies.ts";
import { openDatabase, type Tx } from "../../db/database.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { testDatabase } from "../support/database.ts";

Deno.test("a copy of a table that is left at any row lets its transaction end, and the connection go on", async () => {
  await using own = await testDatabase();
  const database = openDatabase({
    ...{ url: own.url, prepare: true, parseJson: parseStoredJson, platformMax: 1 },
  });
  const { sql } = database.platform;
  try {
    await sql.unsafe(`create table public.wide as
      select i, repeat(md5(i::text), 20) as text from generate_series(1, 5000) i`);
    const wide = { name: "wide", columns: ["i", "text"] };
    for (const [chunks, turns] of [[1, 0], [1, 5], [3, 0], [3, 1], [20, 1], [50, 0], [50, 5]]) {
      const left = sql.begin(async (tx) => {
        let taken = 0;
        for await (const _ of copyOut(tx as Tx, "public", wide)) {
          for (let turn = 0; turn < turns; turn++) await new Promise((next) => setTimeout(next, 0));
          if (++taken === chunks) throw new Error("left");
        }
        throw new Error(`${taken} chunks`);
      });
      await rejects(left, { message: "left" }, `${chunks} ${turns}`);
      deepEqual((await sql`select 1 as one`)[0], { one: 1 });
    }
  } finally {
    await database.close();
  }
});
