import { deepEqual, equal } from "node:assert/strict";
import { becomesReady, waitersAt } from "../../routes/http/waiting.ts";
import {} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/eventually.ts";

const test = sharing("requests that wait in one realm");

const NEVER = new AbortController().signal;

test("a hundred requests that wait for entities are served by one poll at a time, and none is kept for a caller who has gone", async (realm) => {
  const { pool } = realm;
  const ready = new Set<string>();
  let passes = 0, running = 0, most = 0;
  const among = async (_db: unknown, ids: string[]) => {
    passes++;
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return ids.filter((id) => ready.has(id));
  };
  const gone = new AbortController();
  const wait = (id: string, signal = NEVER, forMs = 60_000) =>
    becomesReady(pool, { among, id, forMs, signal });
  const leaving = Array.from({ length: 50 }, (_, i) => wait(`${i}`, gone.signal));
  const all = Array.from({ length: 100 }, (_, i) => wait(`${i}`));
  equal(waitersAt(pool), 150);
  await until(() => passes >= 3);
  gone.abort();
  deepEqual(await Promise.all(leaving), Array(50).fill(false));
  equal(waitersAt(pool), 100);
  const before = passes;
  for (let i = 0; i < 100; i++) ready.add(`${i}`);
  deepEqual(await Promise.all(all), Array(100).fill(true));
  equal(passes - before <= 2, true, `${passes - before} passes told all`);
  equal(most, 1);
  equal(waitersAt(pool), 0);
  equal(await wait("late", NEVER, 20), false);
  ready.add("late");
  equal(await wait("late"), true, "the next one is looked for again");
  let failures = 0;
  const failing = () => failures++ < 2 ? Promise.reject(new Error("away")) : Promise.resolve(["x"]);
  equal(await becomesReady(pool, { among: failing, id: "x", forMs: 60_000, signal: NEVER }), true);
});

test("two hundred wait at once, and the next is answered at once", async (realm) => {
  const gone = new AbortController();
  const among = () => Promise.resolve([]);
  const wait = () =>
    becomesReady(realm.pool, { among, id: "a", forMs: 60_000, signal: gone.signal });
  const all = Array.from({ length: 200 }, wait);
  equal(await wait(), null);
  gone.abort();
  deepEqual(new Set(await Promise.all(all)), new Set([false]));
  equal(await wait(), false, "who has gone before is not waited for either");
  equal(waitersAt(realm.pool), 0);
});

test("Prefer: wait answers with the entity that became ready, and many cost as few statements as one", async (realm) => {
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const { name } = await realm.currency("1");
  const send = other.send(realm.admin.key);
  const asked = Array.from(
    { length: 20 },
    () => send("POST", "/v1/accounts", { type: "virtual", asset: name }, { prefer: "wait=30" }),
  );
  await realm.drain();
  await until(async () => {
    await realm.drain();
    return (await realm.admin.send("GET", "/v1/accounts/count")).body === 21;
  });
  await realm.drain();
  for (const answer of await Promise.all(asked)) {
    equal(answer.status, 201, answer.text);
    equal(answer.body.enabled, true);
    equal(answer.headers.get("preference-applied"), "wait=30");
  }
  const passes = statements.filter((text) =>
    /from accounts where id = any .* and enabled/.test(text)
  );
  const single = statements.filter((text) => /from accounts where id = \$1/.test(text));
  equal(
    single.length <= 60,
    true,
    `${single.length} statements on one account, ${passes.length} on all`,
  );
});

test("a waiting request is answered by its caller's rights at the end, and a repeat gets the first answer at once", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const { name } = await realm.currency("1");
  const account = { type: "virtual", asset: name };
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const waiting = manager.send("POST", "/v1/accounts", account, { prefer: "wait=30" });
  await until(() => waitersAt(pool) === 1);
  const shut = await realm.admin.send("PATCH", `/v1/users/${manager.id}`, { active: false });
  equal(shut.status, 200, shut.text);
  await realm.drain();
  const { status, body, headers } = await waiting;
  deepEqual([status, body.enabled], [201, false], "as it was when the key held");
  equal(headers.get("preference-applied"), "wait=30");
  const keyed = { "idempotency-key": "once" };
  const first = await realm.admin.send("POST", "/v1/accounts", account, keyed);
  await realm.drain();
  const again = { ...keyed, prefer: "wait=30" };
  const repeat = await realm.admin.send("POST", "/v1/accounts", account, again);
  deepEqual([repeat.status, repeat.text], [201, first.text]);
  equal(repeat.headers.get("idempotency-replayed"), "true");
  equal(repeat.headers.get("preference-applied"), null);
});
