import { deepEqual, equal, rejects } from "node:assert/strict";
import { Contention } from "../../db/errors.ts";
import { serializable, snapshot } from "../../db/transaction.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("serializable() runs whoever lost a race again, so that none is lost", async () => {
  await using realm = await testRealm();
  const { pool } = realm;
  await serializable(pool, (tx) =>
    tx`insert into rates (base, currency, rate, source, updated_at)
      values ('X', 'USD', 1, 'test', now())`);
  let retries = 0;
  await Promise.all(Array.from({ length: 8 }, () =>
    serializable(pool, async (tx) => {
      const [{ rate }] = await tx`select rate from rates where base = 'X'`;
      await tx`update rates set rate = ${rate}::numeric + 1 where base = 'X'`;
    }, { onRetry: () => retries++ })));
  const [{ rate }] = await pool.sql`select rate from rates where base = 'X'`;
  equal(rate, "9");
  equal(retries > 0, true);
});

Deno.test("serializable() behind the gate never fails against another behind it", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("1");
  let retries = 0;
  await Promise.all(Array.from({ length: 12 }, (_, i) =>
    serializable(realm.pool, async (tx) => {
      const [row] = await tx`select data from accounts where id = ${account}`;
      await tx`update accounts set data = ${tx.json({ ...row.data, [`k${i}`]: i })}
        where id = ${account}`;
    }, { gate: true, onRetry: () => retries++ })));
  const [{ data }] = await realm.pool.sql`select data from accounts where id = ${account}`;
  deepEqual(Object.keys(data).length, 12);
  equal(retries, 0);
});

Deno.test("serializable() gives up after a dozen lost races and says so", async () => {
  await using realm = await testRealm();
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

Deno.test("serializable() leaves nothing behind when the work throws", async () => {
  await using realm = await testRealm();
  const failing = serializable(realm.pool, async (tx) => {
    await tx`insert into rates (base, currency, rate, source, updated_at)
      values ('Y', 'USD', 1, 'test', now())`;
    throw new TypeError("no");
  });
  await rejects(failing, TypeError);
  const rows = await realm.pool.sql`select base from rates where base = 'Y'`;
  equal(rows.length, 0);
});

Deno.test("snapshot() sees one moment and cannot write", async () => {
  await using realm = await testRealm();
  await rejects(
    snapshot(realm.pool, (tx) => tx`delete from rates`),
    { code: "25006" },
  );
});
