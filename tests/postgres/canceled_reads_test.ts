/** Reads that are aborted: the statement ends on the server where it runs, and nothing on another one of the same address. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { startEmbedded } from "../../db/embedded/embedded.ts";
import type { Pool, Sql } from "../../db/pool_types.ts";
import { openDatabase } from "../../db/database.ts";
import { reading, readingBriefly } from "../../db/transaction.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";

/** An address whose first connection leads to one server, and the following ones to another. */
function poolOf(first: Sql, others: Sql): Pool {
  let asked = 0;
  return {
    get sql() {
      return asked++ === 0 ? first : others;
    },
    settings: "",
    enter: () => Promise.resolve(() => {}),
    renew() {},
  };
}

/** Says which numbers of processes were to be canceled there. */
const RECORDING = `
  create schema before;
  create table before.canceled (pid integer);
  create function before.pg_cancel_backend(pid integer) returns boolean language sql as
    'insert into before.canceled values (pid) returning true';`;

/** Aborts a read, which its time-out would end else; without either it would be answered after a minute. */
async function abort(pool: () => Pool, limitMs: number, runs: () => Promise<boolean>) {
  for (let isSeen = false; !isSeen;) { // on a busy machine its time may be over before it is seen
    const controller = new AbortController();
    const { signal } = controller;
    const work = readingBriefly(pool(), limitMs, (db) => db`select pg_sleep(60)`, { signal });
    let isOver = false;
    const ended = rejects(work, { code: "57014" }).finally(() => isOver = true);
    await until(async () => (isSeen = await runs()) || isOver);
    controller.abort();
    await ended;
  }
}

Deno.test("a read that is aborted is ended on its own server, and nothing on another server of the same address", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-canceled-" });
  await Deno.chmod(dataDir, 0o755);
  const other = await startEmbedded({ dataDir, port: 0, settings: { fsync: "off" } });
  const here = postgres(testDatabaseUrl(), { max: 2, onnotice: () => {} });
  const there = postgres(other.url, {
    max: 1,
    onnotice: () => {},
    connection: { search_path: "before, pg_catalog" },
  });
  try {
    await there.unsafe(RECORDING);
    const [{ count }] = await there`select count(*)::integer as count from pg_locks
      where before.pg_cancel_backend(1)`;
    equal(count > 0, true);
    await there`truncate before.canceled`;
    const runs = async () => {
      const rows = await here`select 1 from pg_stat_activity
        where query = 'select pg_sleep(60)' and state = 'active'
          and datname = current_database() and pid <> pg_backend_pid()`;
      return rows.length > 0;
    };
    await abort(() => poolOf(here, there), 3_000, runs); // by its time-out
    deepEqual([...await there`select pid from before.canceled`], []);
    await abort(() => poolOf(here, here), 600_000, runs); // by its abortion
  } finally {
    await here.end();
    await there.end();
    await other.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("reads that are aborted while they hold every connection of their pool end at once, and others are served", async () => {
  const max = 2;
  const database = openDatabase({
    ...{ url: testDatabaseUrl(), prepare: true, parseJson: JSON.parse, platformMax: max },
  });
  const observer = postgres(testDatabaseUrl(), { max: 1, onnotice: () => {} });
  const marked = `select pg_sleep(600) /* ${crypto.randomUUID()} */`;
  try {
    const { platform } = database;
    const controller = new AbortController();
    const { signal } = controller;
    const reads = Array.from(
      { length: max },
      () => readingBriefly(platform, 600_000, (db) => db.unsafe(marked), { signal }),
    );
    const ended = Promise.all(reads.map((read) => rejects(read, { code: "57014" })));
    await until(async () => {
      const rows = await observer`select 1 from pg_stat_activity
        where query = ${marked} and state = 'active'`;
      return rows.length === max;
    });
    const next = reading(platform, (db) => db`select 1 as one`);
    const began = performance.now();
    controller.abort();
    await ended;
    equal((await next)[0].one, 1);
    ok(performance.now() - began < 300_000);
  } finally {
    await observer.end();
    await database.close();
  }
});
