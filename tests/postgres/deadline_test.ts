import { equal, rejects } from "node:assert/strict";
import postgres from "postgres";
import type { Pool, Sql } from "../../db/database.ts";
import { Contention } from "../../db/errors.ts";
import { using } from "../../db/transaction.ts";

Deno.test("a statement whose answer is lost holds nobody up for ever: other connections are opened", async () => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 }); // takes connections, says nothing
  const { port } = silent.addr as Deno.NetAddr;
  const connecting = silent.accept();
  const sql = postgres({ host: "127.0.0.1", port, max: 1, connect_timeout: 3600 });
  let [inUse, renewed] = [0, 0];
  const pool: Pool = {
    sql: sql as unknown as Sql,
    settings: "",
    enter() {
      inUse++;
      return Promise.resolve(() => void inUse--);
    },
    renew: (old) => void (renewed += Number(old === pool.sql)),
  };
  try {
    await rejects(using(pool, async (db) => await db`select 1`, 1_000), Contention);
    equal(renewed, 1);
    equal(inUse, 0);
  } finally {
    const connection = await connecting; // while it connects, the driver keeps its timers when it ends
    await sql.end({ timeout: 0 });
    connection.close();
    silent.close();
  }
});
