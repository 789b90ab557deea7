/** Stored answers of two generations: each key takes effect once, however the tables are exchanged. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { installCapture, removeCapture } from "../../db/moves/capture.ts";
import { selectTables } from "../../db/moves/tables.ts";
import { claimKey } from "../../db/records.ts";
import { building, serializable } from "../../db/transaction.ts";
import { keepRefusal } from "../../domain/command.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { renewOldAnswers } from "../../workers/schedule/kept_answers.ts";
import { until } from "../support/eventually.ts";
import { age, keptOf, MANY, renew } from "../support/generations.ts";
import { holdLedgerLock, waitForWaiter } from "../support/held_queues.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { book, bulkOf, ownQueue } from "../support/posting_queues.ts";
import { type Answer, PASSWORD, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const withKey = (key: string) => ({ "idempotency-key": key });
const outcomeOf = ({ status, text }: Answer) => [status, text];
const replayed = ({ headers }: Answer) => headers.get("idempotency-replayed");
const never = new AbortController().signal;

/** Requests of every kind that claims a key, in a realm with two accounts. */
async function requestsOf(realm: TestRealm): Promise<Record<string, () => Promise<Answer>>> {
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = (value: string) => ({ source: { account }, destination: { account: other }, value });
  const { send } = realm.admin;
  const post = (path: string, body: unknown, key: string) => () =>
    send("POST", path, body, withKey(key));
  const items = [move("1"), move("2")];
  const user = { username: "twice", password: PASSWORD };
  equal((await send("POST", "/v1/users", user)).status, 201);
  return {
    command: post("/v1/identities", {}, "command"),
    refusedCommand: post("/v1/users", user, "refused-command"),
    transfer: post("/v1/transactions", move("4"), "transfer"),
    referenced: post("/v1/transactions", { ...move("8"), reference: "r" }, "referenced"),
    refused: post("/v1/transactions", move("5000"), "refused"),
    batch: post("/v1/transactions/batch", { atomic: true, transactions: items }, "batch"),
    refusedBatch: post("/v1/transactions/batch", {
      atomic: true,
      transactions: [move("1"), move("5000")],
    }, "refused-batch"),
    partial: post("/v1/transactions/batch", {
      atomic: false,
      transactions: [move("16"), move("5000"), { ...move("1"), source: { account: realm.id } }],
    }, "partial-batch"),
  };
}

Deno.test("a repeat is answered as the first was when its key is of the generation before, and anew when that is gone", async () => {
  await using realm = await testRealm();
  equal(await renew(realm, MANY), null); // postings do not look at an earlier generation now
  const requests = Object.entries(await requestsOf(realm));
  const first: Answer[] = [];
  for (const [, request] of requests) first.push(await request());
  const before = await rowsOf<{ n: number }>(
    realm,
    "select count(*)::int as n from transactions",
  );
  equal(await renew(realm), "exchanged");
  const [keys, batches] = (await keptOf(realm)).slice(2);
  deepEqual([keys, batches], [requests.length, 2], first.map((one) => one.text).join(" "));
  for (const round of ["alone", "in a crowd"]) {
    const again = round === "alone" ? [] : await Promise.all(requests.map(([, one]) => one()));
    for (const [, one] of round === "alone" ? requests : []) again.push(await one());
    deepEqual(again.map(outcomeOf), first.map(outcomeOf), round);
    for (const [at, answer] of again.entries()) equal(replayed(answer), "true", requests[at][0]);
  }
  deepEqual(
    await rowsOf(realm, "select count(*)::int as n from transactions"),
    before,
  );
  deepEqual((await keptOf(realm)).slice(2), [keys, batches]);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
  await age(realm);
  equal(await renew(realm), "exchanged");
  for (const [at, [name, request]] of requests.entries()) {
    if (name === "referenced") continue; // the reference is taken for ever
    const anew = await request();
    equal(anew.status, first[at].status, `${name} ${anew.text}`);
    equal(replayed(anew), null, name);
    if (anew.status === 201) notEqual(anew.text, first[at].text, name);
  }
});

Deno.test("a move that waits for the ledger lock while the tables are exchanged finds its key", async () => {
  await using realm = await testRealm();
  const own = await book(realm);
  await using one = await ownQueue(realm);
  equal(await renew(realm, MANY), null);
  const [move, bulk] = [own.move(), bulkOf(realm, [own.move()])];
  const { move: also } = { move: own.move({ reference: "also" }) };
  for (const first of [move, also]) ok("posted" in await one.queue.post(first));
  ok("outcomes" in await one.queue.postBulk(bulk));
  for (const alone of [true, false]) {
    const lock = await holdLedgerLock(realm);
    const sent = [one.queue.post(move), ...(alone ? [] : [one.queue.post(also)])];
    await waitForWaiter(realm);
    const renewed = renewOldAnswers(realm.pool, 0, never);
    await waitForWaiter(realm, 2);
    await lock.release();
    for (const outcome of await Promise.all(sent)) ok("replay" in outcome && !outcome.replay.own);
    equal((await renewed).renewal, "exchanged");
    ok("replay" in await one.queue.postBulk(bulk));
    if (alone) await rowsOf(realm, "insert into idempotency select * from idempotency_earlier");
    if (alone) await rowsOf(realm, "insert into batches select * from batches_earlier");
    if (alone) await age(realm);
  }
  equal(await own.total(own.destination), "3");
});

Deno.test("a command whose snapshot is older than the exchange is run again, and finds the key", async () => {
  await using realm = await testRealm();
  const own = await book(realm);
  await using one = await ownQueue(realm);
  // The posting then reads nothing of the tables that the exchange makes current: no other rule would notice.
  equal(await renew(realm, MANY), null);
  const move = own.move();
  const claim = { key: move.key!, fingerprint: move.fingerprint! };
  let runs = 0;
  const kept = await serializable(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select count(*) from accounts`; // takes the snapshot
    if (++runs === 1) {
      ok("posted" in await one.queue.post(move));
      equal(await renew(realm), "exchanged");
    }
    return await claimKey(tx, claim);
  });
  deepEqual([runs, kept?.fingerprint], [2, claim.fingerprint]);
  equal((await keptOf(realm))[0], 0);
});

Deno.test("requests that wait for the exchange are answered, and repeats among them are replays", async () => {
  await using realm = await testRealm();
  const { command, transfer, batch } = await requestsOf(realm);
  const first = [await command(), await transfer(), await batch()];
  const done = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const renewed = realm.pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select renew_answers(0)`;
    ready.resolve();
    await done.promise;
  });
  await ready.promise;
  const anew = () => realm.admin.send("POST", "/v1/identities", {}, withKey("anew"));
  const sent = [command(), transfer(), batch(), anew(), anew()];
  await waitForWaiter(realm);
  await until(async () =>
    (await rowsOf(
      realm,
      `select 1 from ${LOCKS_HERE} l where not l.granted and l.relation in
        ('idempotency'::regclass, 'idempotency_earlier'::regclass)`,
    )).length > 0
  );
  done.resolve();
  await renewed;
  const answers = await Promise.all(sent);
  deepEqual(answers.slice(0, 3).map(outcomeOf), first.map(outcomeOf));
  deepEqual(outcomeOf(answers[3]), outcomeOf(answers[4]));
  equal(answers[3].status, 201);
});

Deno.test("nothing young is dropped, whoever asks and whatever it says", async () => {
  await using realm = await testRealm();
  const { batch, command } = await requestsOf(realm);
  await Promise.all([batch(), command()]);
  equal(await renew(realm), "exchanged");
  const kept = (await keptOf(realm)).slice(2);
  for (const rows of [0, -1, 1, MANY]) equal(await renew(realm, rows), null);
  await age(realm, ["idempotency_earlier"]);
  equal(await renew(realm), null, "a young batch is there");
  await age(realm, ["batches_earlier"]);
  await rowsOf(
    realm,
    `update idempotency_earlier set created_at = now() - interval '6 days 23 hours'
      where key = (select min(key::text)::uuid from idempotency_earlier)`,
  );
  equal(await renew(realm), null, "one young key is there");
  for (const how of ["serializable", "repeatable read"]) {
    const asked = realm.pool.sql.begin(
      `isolation level ${how}`,
      (tx) => tx`select renew_answers(0)`,
    );
    await rejects(asked, /older snapshot/);
  }
  for (
    const text of [
      "truncate idempotency_earlier",
      "alter table idempotency_earlier rename to x",
      "select open_earlier(false)",
      "select rename_with_all('idempotency', 'x')",
      "update idempotency_earlier set created_at = '2000-01-01'",
      "create or replace function earlier_kept() returns boolean language sql immutable as 'select false'",
    ]
  ) await rejects(realm.pool.sql.unsafe(text), /permission denied|must be owner/);
  deepEqual((await keptOf(realm)).slice(2), kept);
  await age(realm);
  equal(await renew(realm, MANY), "emptied");
  deepEqual((await keptOf(realm)).slice(2), [0, 0]);
  const inserted =
    "insert into idempotency_earlier (key, fingerprint) select key, fingerprint from idempotency";
  await command();
  await rejects(rowsOf(realm, inserted), /idempotency_earlier_none/);
});

/** All that has a name in both generations, and what it is. */
async function shapeOf(realm: TestRealm): Promise<unknown> {
  return await rowsOf(
    realm,
    `select t.name, (select array_agg(indexdef order by indexname) from pg_indexes
          where schemaname = current_schema() and tablename = t.name) as indexes,
        (select array_agg(conname || ' ' || pg_get_constraintdef(c.oid) order by conname) from pg_constraint c
          where conrelid = t.name::regclass and contype <> 'c') as constraints,
        (select array_agg(pg_get_triggerdef(g.oid) order by tgname) from pg_trigger g where tgrelid = t.name::regclass) as triggers,
        (select array_agg(concat_ws(' ', attname, atttypid::regtype, attnotnull, attacl, col_description(attrelid, attnum))
          order by attnum) from pg_attribute where attrelid = t.name::regclass and attnum > 0) as columns,
        (select concat_ws(' ', relacl, relowner, obj_description(oid)) from pg_class where oid = t.name::regclass) as rights
      from unnest('{idempotency,idempotency_earlier,batches,batches_earlier}'::text[]) t(name)`,
  );
}

Deno.test("both generations have one shape, and keep their names, rules and rights through exchanges", async () => {
  await using realm = await testRealm();
  const before = await shapeOf(realm);
  const one = JSON.stringify((before as unknown[])[0]);
  equal(
    JSON.stringify((before as unknown[])[1]).replaceAll("idempotency_earlier", "idempotency"),
    one,
  );
  for (let times = 0; times < 3; times++) {
    await realm.admin.send("POST", "/v1/identities", {}, withKey(`${times}`));
    equal(await renew(realm), "exchanged");
    deepEqual(await shapeOf(realm), before);
    await age(realm);
    if (times === 1) equal(await renew(realm, MANY), "emptied");
  }
});

Deno.test("an exchange that is killed or kept waiting changes nothing", async () => {
  await using realm = await testRealm();
  const { command } = await requestsOf(realm);
  const first = await command();
  const before = [await shapeOf(realm), await keptOf(realm)];
  const killed = building(realm.pool, (sql) =>
    sql.begin(async (tx) => {
      await tx`select renew_answers(0)`;
      const [{ pid }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await realm.database.builder.sql`select pg_terminate_backend(${pid})`;
      await tx`select 1`;
    }));
  await rejects(killed);
  deepEqual([await shapeOf(realm), await keptOf(realm)], before);
  const locks = [
    ["idempotency", "row exclusive"],
    ["idempotency", "share update exclusive"],
    ["batches_earlier", "access share"],
    ["ledger_lock", "exclusive"],
  ];
  for (const [table, mode] of locks) {
    const done = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const held = building(realm.pool, (sql) =>
      sql.begin(async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 0`;
        await tx.unsafe(`lock table ${table} in ${mode} mode`);
        taken.resolve();
        await done.promise;
      }));
    await taken.promise;
    await rejects(renew(realm), { code: "55P03" }, `${table} ${mode}`);
    done.resolve();
    await held;
  }
  deepEqual([await shapeOf(realm), await keptOf(realm)], before);
  deepEqual(outcomeOf(await command()), outcomeOf(first));
});

Deno.test("no generation begins while a realm's changes are noted for a move", async () => {
  await using realm = await testRealm();
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  const sql = realm.database.builder.sql;
  const table = (await selectTables(sql, schema)).find(({ name }) => name === "batches_earlier")!;
  await sql.begin((tx) => installCapture(tx, schema, table));
  equal(await renew(realm), null);
  await sql.begin((tx) => removeCapture(tx, schema, [table]));
  equal(await renew(realm), "exchanged");
});

Deno.test("a refusal whose answer is stored after the exchange is stored once", async () => {
  await using realm = await testRealm();
  const own = await book(realm);
  await using one = await ownQueue(realm);
  const move = own.move({ amount: "5000" });
  const claim = { key: move.key!, fingerprint: move.fingerprint! };
  ok("refused" in await one.queue.post(move));
  equal(await renew(realm), "exchanged");
  const [first, second] = [{ status: 422, body: "first" }, { status: 422, body: "second" }];
  deepEqual(await keepRefusal(realm.pool, claim, first), first);
  deepEqual(await keepRefusal(realm.pool, claim, second), first);
  const [again] = await Promise.all([one.queue.post(move), one.queue.post(own.move())]);
  ok("replay" in again && again.replay.body === "first");
});

Deno.test("a worker exchanges the answers of a large realm, and deletes those of a small one", async () => {
  await using realm = await testRealm();
  const { command } = await requestsOf(realm);
  await command();
  deepEqual(await renewOldAnswers(realm.pool, MANY, never), { renewal: null, byRow: true });
  await rowsOf(
    realm,
    `insert into idempotency (key, fingerprint) select gen_random_uuid(), gen_random_uuid() from generate_series(1, 20000)`,
  );
  const [{ rows }] = await rowsOf<{ rows: number }>(
    realm,
    "select estimated_rows('idempotency')::int as rows",
  );
  ok(rows > 10_000 && rows < 40_000, `${rows}`);
  deepEqual(await renewOldAnswers(realm.pool, 40_000, never), { renewal: null, byRow: true });
  deepEqual(await renewOldAnswers(realm.pool, 10_000, never), {
    renewal: "exchanged",
    byRow: false,
  });
  match((await command()).text, /id/);
  deepEqual(await renewOldAnswers(realm.pool, 10_000, never), { renewal: null, byRow: true });
  await age(realm);
  deepEqual(await renewOldAnswers(realm.pool, 10_000, never), { renewal: "emptied", byRow: true });
  deepEqual(await keptOf(realm), [0, 0, 0, 0]);
});
