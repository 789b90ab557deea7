import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { Contention } from "../../db/errors.ts";
import { serializable, snapshot, writing } from "../../db/transaction.ts";
import { asSuperuser, superuserUrl, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("transaction in one realm");

test("serializable() repeats a transaction that lost a race, so that none is lost", async (realm) => {
  const { pool } = realm;
  await serializable(pool, (tx) =>
    tx`insert into rates (base, currency, rate, source, updated_at)
      values ('X', 'USD', 1, 'test', now())`);
  let [retries, reads] = [0, 0];
  const bothRead = Promise.withResolvers<void>();
  await Promise.all(Array.from({ length: 2 }, () =>
    serializable(pool, async (tx) => {
      const [{ rate }] = await tx`select rate from rates where base = 'X'`;
      if (++reads === 2) bothRead.resolve();
      await bothRead.promise;
      await tx`update rates set rate = ${rate}::numeric + 1 where base = 'X'`;
    }, { onRetry: () => retries++ })));
  const [{ rate }] = await pool.sql`select rate from rates where base = 'X'`;
  equal(rate, "3");
  equal(retries, 1);
});

Deno.test("two sessions that grant rights to one table both succeed: the one that lost repeats it", async () => {
  await using own = await testDatabase();
  const opened = () => openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  const [one, two] = [opened(), opened()];
  try {
    await one.platform.sql.unsafe(
      "create schema platform; create table platform.shown (id integer)",
    );
    let retries = 0;
    const granted = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const first = serializable(one.platform, async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx.unsafe("grant select on platform.shown to public");
      granted.resolve();
      await mayEnd.promise;
    });
    await granted.promise;
    const second = serializable(
      two.platform,
      (tx) => tx.unsafe("grant insert on platform.shown to public"),
      { onRetry: () => retries++ },
    );
    await until(async () => {
      const waiting = await one.builder.sql`
        select from pg_locks where not granted and locktype = 'transactionid'
          and pid in (select pid from pg_stat_activity where datname = current_database())`;
      return waiting.length === 1;
    });
    mayEnd.resolve();
    await Promise.all([first, second]);
    const [{ rights }] = await one.platform.sql`
      select relacl::text as rights from pg_class where relname = 'shown'`;
    equal(retries, 1);
    ok(/[{,]=ar\//.test(rights), rights);
  } finally {
    await one.close();
    await two.close();
  }
});

test("serializable() under the ledger lock never fails against another one under it", async (realm) => {
  const { account } = await realm.currency("1");
  let retries = 0;
  await Promise.all(Array.from({ length: 12 }, (_, i) =>
    serializable(realm.pool, async (tx) => {
      const [row] = await tx`select data from accounts where id = ${account}`;
      await tx`update accounts set data = ${tx.json({ ...row.data, [`k${i}`]: i })}
        where id = ${account}`;
    }, { lockLedger: true, onRetry: () => retries++ })));
  const [{ data }] = await realm.pool.sql`select data from accounts where id = ${account}`;
  deepEqual(Object.keys(data).length, 12);
  equal(retries, 0);
});

test("serializable() gives up after a dozen lost races and says so", async (realm) => {
  let runs = 0;
  await rejects(
    serializable(realm.pool, () => {
      runs++;
      return Promise.reject(Object.assign(new Error("lost"), { code: "40001" }));
    }),
    Contention,
  );
  equal(runs, 12);
});

test("serializable() leaves nothing behind when the work throws", async (realm) => {
  const failing = serializable(realm.pool, async (tx) => {
    await tx`insert into rates (base, currency, rate, source, updated_at)
      values ('Y', 'USD', 1, 'test', now())`;
    throw new TypeError("no");
  });
  await rejects(failing, TypeError);
  const rows = await realm.pool.sql`select base from rates where base = 'Y'`;
  equal(rows.length, 0);
});

test("snapshot() sees one moment and cannot write", async (realm) => {
  await rejects(
    snapshot(realm.pool, (tx) => tx`delete from rates`),
    { code: "25006" },
  );
});

test("a transaction that holds the ledger lock and falls silent is ended; the next one goes on", async (realm) => {
  const { account, name } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const held = Promise.withResolvers<void>();
  const awake = Promise.withResolvers<void>();
  const stopped = serializable(realm.pool, async (tx) => {
    await tx`update accounts set data = '{"lost": true}' where id = ${account}`;
    held.resolve();
    await awake.promise; // as a process that is stopped, or cut off
  }, { lockLedger: true });
  const ended = rejects(stopped);
  await held.promise;
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const answer = await realm.admin.send("POST", "/v1/transactions", move);
  equal(answer.status, 201); // after the 30 s that a statement may take it would be 503
  awake.resolve();
  await ended;
  const shown = await realm.admin.send("GET", `/v1/accounts/${account}`);
  deepEqual([shown.body.data, shown.body.balance.total], [{}, "9"]);
});

Deno.test("a pool whose server takes no writes any more is connected anew, and finds the next primary", async () => {
  await using own = await testDatabase();
  const name = new URL(own.url).pathname.slice(1);
  const options = { url: own.url, prepare: true, parseJson: JSON.parse, platformMax: 1 };
  await asSuperuser(`alter database ${name} set default_transaction_read_only = on`);
  const database = openDatabase(options);
  try {
    const make = () => writing(database.platform, (db) => db`create table public.there ()`);
    await rejects(make(), { code: "25006" });
    await asSuperuser(`alter database ${name} reset default_transaction_read_only`);
    // A connection of before would keep its setting for ever.
    await until(() => make().then(() => true, () => false));
  } finally {
    await database.close();
  }
});

Deno.test("serializable() repeats a transaction whose prepared statement the server has lost or outgrown", async () => {
  const database = openDatabase({ url: superuserUrl(), prepare: true, parseJson: JSON.parse });
  try {
    let [retries, changes] = [0, 0];
    const found = await serializable(database.platform, async (tx) => {
      const select = () => tx`select * from pg_temp.outgrown`;
      await tx`create temporary table outgrown on commit drop as select 1 as n`;
      await select();
      changes++;
      if (changes === 1) await tx.unsafe("deallocate all").simple();
      if (changes === 2) await tx`alter table outgrown add m integer`;
      return await select();
    }, { onRetry: () => retries++ });
    deepEqual(found.map((row) => ({ ...row })), [{ n: 1 }]);
    ok(retries >= 2);
  } finally {
    await database.close();
  }
});
