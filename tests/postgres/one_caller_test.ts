/** Callers who share a pool: nobody's statement, answer or transaction is another's, whatever becomes of the connection. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { type Db, openDatabase, type Pool } from "../../db/database.ts";
import { codeOf, mayBeDone } from "../../db/errors.ts";
import { oneCallerEach } from "../../db/one_caller.ts";
import { reading, serializable, writing } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { superuserUrl, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";

/** Gives work a pool of so many connections. */
async function withPool(
  max: number,
  work: (pool: Pool) => Promise<void>,
  url = superuserUrl(),
): Promise<void> {
  const database = openDatabase({
    ...{ url, prepare: true, parseJson: parseStoredJson, platformMax: max },
  });
  try {
    await work(database.platform);
  } finally {
    await database.close();
  }
}

/** One connection of another caller, which looks on. */
function observe(url: string): { sql: Db } & AsyncDisposable {
  const observer = openDatabase({ url, prepare: true, parseJson: JSON.parse, platformMax: 1 });
  return { sql: observer.platform.sql, [Symbol.asyncDispose]: () => observer.close() };
}

const one = (pool: Pool, value: string) =>
  reading(pool, async (db) => (await db<{ v: string }[]>`select ${value} as v`)[0]?.v);

Deno.test("a transaction that comes behind hundreds of statements is nobody else's, and none stays open", async () => {
  await using own = await testDatabase();
  await withPool(2, async (pool) => {
    await writing(pool, (db) => db`create table public.written (n integer)`);
    const sleeping = () => reading(pool, (db) => db.unsafe("select pg_sleep(0.3)"));
    await Promise.all([sleeping(), sleeping()]); // both connections are there
    await using observer = observe(own.superuserUrl);
    await observer.sql`select pg_advisory_lock(1)`;
    const held = () => reading(pool, (db) => db.unsafe("select pg_advisory_xact_lock_shared(1)"));
    const slow = [held(), held()];
    await until(async () => {
      const rows = await observer.sql`select from pg_stat_activity
        where query like '%xact_lock_shared%' and wait_event = 'advisory'
          and datname = current_database() and pid <> pg_backend_pid()`;
      return rows.length === 2;
    });
    const reads = Array.from({ length: 198 }, () => reading(pool, (db) => db.unsafe("select 1")));
    await new Promise((resolve) => setTimeout(resolve)); // they are in line
    const begun = Array.from(
      { length: 4 },
      (_, n) => serializable(pool, (tx) => tx`insert into public.written values (${n})`),
    );
    await observer.sql`select pg_advisory_unlock(1)`;
    await Promise.all([...slow, ...reads, ...begun]);
  }, own.url);
});

Deno.test("a statement that is prepared anew writes the values that it was given", async () => {
  await using own = await testDatabase();
  await withPool(1, async (pool) => {
    await writing(
      pool,
      (db) => db`create table public.kept (flag boolean, json jsonb, bytes bytea, at timestamptz)`,
    );
    const write = () =>
      writing(pool, (db) =>
        db`insert into public.kept values (${true}, ${db.json({ a: 1 })},
          ${new Uint8Array([1, 2])}, ${0})`);
    await write();
    await reading(pool, (db) => db.unsafe("deallocate all")); // as a change of a table has plans made anew
    await write();
    const rows = await reading(
      pool,
      (db) =>
        db<Record<string, string>[]>`select distinct flag::text, json::text, bytes::text, at::text
        from public.kept`,
    );
    deepEqual(rows.map((row) => ({ ...row })), [
      { flag: "true", json: '{"a": 1}', bytes: "\\x0102", at: "1970-01-01 00:00:00+00" },
    ]);
  }, own.url);
});

Deno.test("a statement that is prepared anew takes nobody's answer while others wait for its connection", async () => {
  await withPool(1, async (pool) => {
    const other = (value: string) =>
      reading(pool, async (db) => (await db<{ v: string }[]>`select ${value} || '' as v`)[0]?.v);
    await one(pool, "a");
    await other("a");
    await reading(pool, (db) => db.unsafe("deallocate all"));
    const asked = [];
    for (let i = 0; i < 100; i++) {
      asked.push(i % 2 === 0 ? one(pool, `${i}`) : other(`${i}`));
      if (i % 2 === 1) await new Promise((resolve) => setTimeout(resolve));
    }
    deepEqual(await Promise.all(asked), asked.map((_, i) => `${i}`));
  });
});

/** Statements that cannot be sent. */
const UNSENDABLE: Record<string, (db: Db) => Promise<unknown>> = {
  "a missing value": async (db) => await db`select ${undefined as never}::integer as v`,
  "missing JSON": async (db) => await db`select ${db.json(undefined as never)}::jsonb as v`,
  "no rows": async (db) => await db`insert into pg_temp.t ${db([] as never[])}`,
  "what is no text": async (db) => await db`select ${Object.create(null) as never}::uuid as v`,
  "what is no bytes": async (db) => await db`select ${5 as never}::bytea as v`,
  "too many values": async (db) => await db.unsafe("select 1", Array(65_534).fill(1)),
};

for (const [kind, ask] of Object.entries(UNSENDABLE)) {
  Deno.test(`a statement that cannot be sent fails alone, in a transaction too, which ends: ${kind}`, async () => {
    await withPool(1, async (pool) => {
      await reading(pool, (db) => db`select ${new Uint8Array()}::bytea as v`);
      await rejects(reading(pool, ask));
      const [before, failed, after, last] = await Promise.allSettled([
        reading(pool, (db) => db.unsafe("select 'before' as v, pg_sleep(0.1)")),
        reading(pool, ask),
        ...[one(pool, "after"), one(pool, "last")],
      ]);
      deepEqual([before.status, failed.status], ["fulfilled", "rejected"]);
      deepEqual([after, last].map((got) => got.status === "fulfilled" && got.value), [
        ...["after", "last"],
      ]);
      const inside = serializable(pool, async (tx) => {
        const [first, bad] = await Promise.allSettled([tx`select 'first' as v`.execute(), ask(tx)]);
        deepEqual([first.status, bad.status], ["fulfilled", "rejected"]);
        throw new RangeError("no");
      });
      await rejects(inside, (error) => error instanceof RangeError);
      equal(await one(pool, "free"), "free");
    });
  });
}

Deno.test("a transaction that the server rolls back at its commit has failed", async () => {
  await withPool(1, async (pool) => {
    const work = serializable(pool, async (tx) => {
      await tx`create temporary table gone (n integer)`;
      tx.unsafe("select 1 / 0").catch(() => {}); // nobody waits for it
    });
    await rejects(work, { code: "25P02" });
    const [{ gone }] = await reading(pool, (db) => db`select to_regclass('gone') is null as gone`);
    equal(gone, true);
  });
});

for (const mode of ["disable", "require"]) {
  Deno.test(`an address that closes each connection at once is given up at once, and nothing was done: sslmode=${mode}`, async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    let accepted = 0;
    const serving = (async () => {
      for await (const connection of listener) {
        accepted++;
        connection.close();
      }
    })();
    const { port } = listener.addr as Deno.NetAddr;
    try {
      await withPool(1, async (pool) => {
        const [{ reason }] = await Promise.allSettled([one(pool, "a")]) as PromiseRejectedResult[];
        deepEqual([codeOf(reason), mayBeDone(reason)], ["CONNECT_TIMEOUT", false]);
        ok(accepted < 10, `${accepted}`);
      }, `postgres://nobody@127.0.0.1:${port}/nothing?sslmode=${mode}`);
    } finally {
      listener.close();
      await serving;
    }
  });
}

Deno.test("a connection whose lifetime passes during its last transaction is waited for until it has closed, to no limit", async () => {
  const plain = globalThis.setTimeout;
  const passed: number[] = [];
  const noted = (work: (...args: unknown[]) => void, ms: number, ...args: unknown[]) =>
    plain(() => {
      passed.push(ms);
      work(...args);
    }, ms);
  await using own = await testDatabase();
  const open = (closed: () => void) =>
    postgres(own.url, { max: 1, max_lifetime: 0.01, fetch_types: false, onclose: closed });
  globalThis.setTimeout = noted as typeof setTimeout;
  try {
    const sql = oneCallerEach(open, 1);
    await sql.begin(async (tx) => {
      await tx`select 1`;
      await new Promise((resolve) => setTimeout(resolve, 20)); // behind the end of its lifetime
    });
    await sql.end({ timeout: 5 });
    deepEqual(passed.filter((ms) => ms >= 10), [10, 20]);
  } finally {
    globalThis.setTimeout = plain;
  }
});

Deno.test("a pool whose statement was canceled before it was sent is ended at once", async () => {
  const plain = globalThis.setTimeout;
  const passed: number[] = [];
  const noted = (work: () => void, ms: number) =>
    plain(() => {
      passed.push(ms);
      work();
    }, ms);
  const parseJson = parseStoredJson;
  const database = openDatabase({ url: superuserUrl(), prepare: true, parseJson, platformMax: 1 });
  globalThis.setTimeout = noted as typeof setTimeout;
  try {
    const asked = database.platform.sql`select 1`;
    const canceled = asked.then(() => null, codeOf);
    asked.cancel();
    equal(await canceled, "57014");
    await new Promise((resolve) => plain(resolve)); // its connection was given, and given back
    await database.close();
    deepEqual(passed.filter((ms) => ms >= 1000), []);
  } finally {
    globalThis.setTimeout = plain;
  }
});
