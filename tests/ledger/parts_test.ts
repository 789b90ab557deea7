/** A ledger in parts: how they are cut, and that nothing shows where. @module */
import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { selectPartsState } from "../../db/ledger/parts.ts";
import { reading, snapshot, writing } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { nextBound } from "../../workers/schedule/parts.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { until } from "../support/eventually.ts";
import { carryCutOn, countParts, cutNow } from "../support/parts.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const DAY_MS = 86_400_000;
const PARTS = "('transactions', 'entries')";

async function fixture(realm: TestRealm) {
  const { name, account: from } = await realm.currency("1000000");
  const to = await realm.account({ asset: name });
  const send = async (body: Record<string, unknown> = {}) =>
    await realm.admin.send("POST", "/v1/transactions", {
      ...{ source: { account: from }, destination: { account: to }, value: "1", ...body },
    });
  const made = async (body: Record<string, unknown> = {}) => {
    const answer = await send(body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const get = async (path: string) => {
    const answer = await realm.admin.send("GET", path);
    equal(answer.status, 200, answer.text);
    return answer.body;
  };
  return { name, from, to, send, made, get };
}

Deno.test("a cut under load, killed after each step and carried on, refuses no posting and cuts both tables at once", async () => {
  await using realm = await testRealm();
  const { send } = await fixture(realm);
  let loading = true;
  const statuses = new Map<number, number>();
  const load = Array.from({ length: 4 }, async () => {
    while (loading) {
      const { status } = await send();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const steps = ["bound", "validated transactions", "validated entries", "attached"];
  for (const killed of steps) {
    const before = await countParts(realm);
    for (let tries = 0;; tries++) { // a step waits a moment for its locks, and else is tried again
      ok(tries < 1000);
      const reached: string[] = [];
      const onStep = (step: string) => {
        reached.push(step);
        if (step === killed) throw new Error("killed");
      };
      const ended = await carryCutOn(realm, { onStep }).catch((error) => error.message);
      if (ended === "killed") break;
      equal(ended, undefined);
    }
    equal(await countParts(realm), before + (killed === "attached" ? 1 : 0), killed);
  }
  loading = false;
  await Promise.all(load);
  deepEqual([...statuses.keys()], [201]);
  const [{ bounds, same }] = await rowsOf<{ bounds: number; same: boolean }>(
    realm,
    `select count(distinct bound)::integer as bounds, bool_and(parts = 2) as same from (
      select pg_get_expr(c.relpartbound, c.oid) as bound, count(*) over (partition by pg_get_expr(c.relpartbound, c.oid)) as parts
      from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
      where p.relnamespace = current_schema()::regnamespace and p.relname in ${PARTS} and p.relkind = 'p') q`,
  );
  deepEqual([bounds, same], [2, true]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("postings go on over the time of a cut, each into the part of its id", async () => {
  await using realm = await testRealm();
  const { made } = await fixture(realm);
  const bound = Date.now() + 1500;
  await carryCutOn(realm, { boundAfter: () => bound, givenUpMs: -Infinity });
  await made();
  while (Date.now() <= bound) await made();
  await made();
  const rows = await rowsOf<{ newest: boolean; late: boolean }>(
    realm,
    `select distinct tableoid = 'transactions_newest'::regclass as newest, id_ms(id) >= ${bound} as late
      from transactions order by 1`,
  );
  deepEqual(rows, [{ newest: false, late: false }, { newest: true, late: true }]);
});

Deno.test("balances, lists, statements, references and reverts reach over parts, and the audit passes", async () => {
  await using realm = await testRealm();
  const { to, send, made, get } = await fixture(realm);
  const moments: number[] = [];
  const ids: string[] = [];
  for (let part = 0; part < 4; part++) {
    for (let one = 0; one < 3; one++) {
      ids.push((await made({ reference: `${part}-${one}` })).id);
    }
    const at = Date.now();
    await until(() => Date.now() > at);
    moments.push(at);
    if (part < 3) await cutNow(realm);
  }
  equal(await countParts(realm), 4);
  equal((await send({ reference: "0-1" })).body.code, "reference.taken");
  const reverted = await realm.admin.send("POST", `/v1/transactions/${ids[0]}/revert`, {});
  equal(reverted.status, 201, reverted.text);
  const again = await realm.admin.send("POST", `/v1/transactions/${ids[0]}/revert`, {});
  equal(again.body.code, "transaction.reverted");
  for (const [part, at] of moments.entries()) {
    equal(Number((await get(`/v1/accounts/${to}/balance?at=${at}`)).total), 3 * (part + 1));
  }
  const entries = await get(`/v1/accounts/${to}/entries?pageSize=100`);
  deepEqual(
    entries.rows.map(({ seq }: { seq: number }) => seq),
    [...new Array(13).keys()].map((n) => n + 1),
  );
  deepEqual(entries.rows.slice(0, 12).map((row: { transaction: string }) => row.transaction), ids);
  const statement = await get(
    `/v1/accounts/${to}/statement?from=${moments[0] + 1}&to=${moments[2]}`,
  );
  deepEqual(
    statement.entries.map((row: { transaction: string }) => row.transaction),
    ids.slice(3, 9),
  );
  deepEqual([Number(statement.opening.total), Number(statement.closing.total)], [3, 9]);
  const listed = await get("/v1/transactions?pageSize=100");
  ok(ids.every((id) => listed.rows.some((row: { id: string }) => row.id === id)));
  equal((await get(`/v1/transactions/${ids[0]}`)).id, ids[0]);
  await extendHashChain(realm.pool, Date.now);
  const found = await checkLedger(realm.pool);
  deepEqual(found.mismatches, []);
  const { valid, checked } = await get("/v1/transactions/verify");
  ok(valid && checked > ids.length, `${checked}`);
});

Deno.test("nobody changes rows of a part that is addressed directly, and a role of the realm has only the parent's rights", async () => {
  await using realm = await testRealm();
  const { made } = await fixture(realm);
  await made();
  await cutNow(realm);
  await made();
  const parts = await rowsOf<{ name: string; whole: string }>(
    realm,
    `select c.relname as name, p.relname as whole from pg_inherits i join pg_class c on c.oid = i.inhrelid
      join pg_class p on p.oid = i.inhparent
      where p.relnamespace = current_schema()::regnamespace and p.relkind = 'p'`,
  );
  equal(parts.length, 4);
  for (const { name, whole } of parts) {
    const column = whole === "transactions" ? "asset" : "balance";
    const changes = [
      `update ${name} set ${column} = ${column}`,
      `delete from ${name}`,
      `truncate ${name}`,
    ];
    for (const change of changes) {
      await rejects(rowsOf(realm, change), { code: "23001" }, change);
    }
    for (const change of [...changes, `insert into ${name} select * from ${name}`]) {
      await rejects(writing(realm.pool, (db) => db.unsafe(change)), { code: "42501" }, change);
    }
    const [{ rights }] = await rowsOf<{ rights: boolean }>(
      realm,
      `select c.relacl::text = p.relacl::text as rights from pg_class c, pg_class p
        where c.oid = '${name}'::regclass and p.oid = '${whole}'::regclass`,
    );
    equal(rights, true, name);
  }
});

Deno.test("no account's entries are numbered twice, in whatever parts they are", async () => {
  await using realm = await testRealm();
  const { made, to } = await fixture(realm);
  await made();
  await cutNow(realm);
  await rejects(rowsOf(realm, `update accounts set seq = seq - 1 where id = '${to}'`), {
    constraint_name: "accounts_seq",
  });
  await made();
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await rowsOf(
    realm,
    `insert into entries select account, 1, transaction, amount, balance, blocked, linked from entries
      where account = '${to}' and seq = 2`,
  );
  const codes = (await checkLedger(realm.pool)).mismatches.map(({ code }) => code);
  ok(codes.includes("entry.seq"), codes.join());
});

Deno.test("a cut that is not done long before its time is given up, and postings go on", async () => {
  await using realm = await testRealm();
  const { made } = await fixture(realm);
  const killed = (step: string) => {
    if (step === "bound") throw new Error("killed");
  };
  await rejects(carryCutOn(realm, { onStep: killed }), /killed/);
  ok((await reading(realm.pool, selectPartsState)).bound! > Date.now() + DAY_MS);
  await snapshot(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select 1 from entries limit 1`;
    await carryCutOn(realm, { givenUpMs: 3 * DAY_MS }); // tried again in the next round
    notEqual((await reading(realm.pool, selectPartsState)).bound, null);
  });
  await carryCutOn(realm, { givenUpMs: 3 * DAY_MS });
  equal((await reading(realm.pool, selectPartsState)).bound, null);
  equal(await countParts(realm), 1);
  await made();
  await rejects(
    writing(realm.pool, (db) => db`select bound_parts('00000000-0000-7000-8000-000000000000')`),
    { code: "23514" },
  );
});

Deno.test("a cut waits for a transaction of long standing, and postings do not wait for the cut", async () => {
  await using realm = await testRealm();
  const { made } = await fixture(realm);
  await made();
  await snapshot(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select 1 from entries limit 1`;
    await carryCutOn(realm);
    equal((await reading(realm.pool, selectPartsState)).bound, null);
    await made();
  });
  await carryCutOn(realm);
  equal(await countParts(realm), 2);
  await made();
});

Deno.test("a worker takes the planner's figures of all parts when they are old, and cuts no part that is small", async () => {
  await using realm = await testRealm();
  const { from, to } = await fixture(realm);
  const move = { source: { account: from }, destination: { account: to }, value: "1" };
  const transactions = new Array(1000).fill(move);
  for (let batch = 0; batch < 2; batch++) {
    const answer = await realm.admin.send("POST", "/v1/transactions/batch", {
      transactions,
      atomic: true,
    });
    ok(answer.status < 300, answer.text);
  }
  const state = () => reading(realm.pool, selectPartsState);
  // The server counts rows a moment after they were written.
  await until(async () => (await state()).stale);
  await carryCutOn(realm, { rowsMax: 1_000_000 });
  equal((await state()).stale, false);
  equal(await countParts(realm), 1);
  const [{ figures }] = await rowsOf<{ figures: number }>(
    realm,
    "select count(*)::integer as figures from pg_stats where schemaname = current_schema() and tablename = 'entries'",
  );
  ok(figures > 0);
});

Deno.test("the timetable cuts the parts of a realm that are larger than the setting says", async () => {
  await using realm = await testRealm();
  const { made } = await fixture(realm);
  await made();
  const { database, services: { config, log } } = realm;
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  const given = { database, log, now: Date.now, chains, signer, rates: null };
  for (const [partRows, parts] of [[1_000_000, 1], [0, 2]]) {
    await rowsOf(realm, "delete from leases");
    const timetable = startTimetable({ ...given, partRows }, { only: realm.id, loop: false });
    await timetable.drain(120_000);
    await timetable.stop();
    equal(await countParts(realm), parts);
  }
  chains.close();
  await made();
});

Deno.test("parts are cut at a midnight, UTC, that is at least a day away", () => {
  const at = Date.UTC(2026, 10, 24, 10, 30);
  equal(nextBound(at), Date.UTC(2026, 10, 26));
  equal(nextBound(Date.UTC(2026, 10, 24)), Date.UTC(2026, 10, 25));
});
