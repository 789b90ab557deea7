import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { deleteOldAnswers } from "../../db/kept_answers.ts";
import { locking } from "../../db/transaction.ts";
import { until } from "../support/eventually.ts";
import { purgeExpired } from "../support/housekeeping.ts";
import { PASSWORD, rowsOf, type Send, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const withKey = (key: string) => ({ "idempotency-key": key });
const replayed = ({ headers }: { headers: Headers }) => headers.get("idempotency-replayed");

const test = sharing("idempotency in one realm");

test("a POST and a PATCH are done once and answered byte for byte, others are 422", async (realm) => {
  const { send } = realm.admin;
  const post = () => send("POST", "/v1/identities", { country: "DE" }, withKey("a"));
  const first = await post();
  const second = await post();
  deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
  deepEqual([replayed(first), replayed(second)], [null, "true"]);
  const path = `/v1/identities/${first.body.id}`;
  const patch = () => send("PATCH", path, { country: "CH" }, withKey("b"));
  const changed = await patch();
  equal(changed.status, 200);
  equal((await send("PATCH", path, { country: "AT" })).status, 200);
  equal((await patch()).text, changed.text, "the kept answer, not what is now");
  equal((await send("GET", path)).body.country, "AT");
  const others = [
    () => send("POST", "/v1/identities", { country: "AT" }, withKey("a")),
    () => send("POST", "/v1/identities", '{ "country": "DE" }', withKey("a")),
    () => send("POST", "/v1/users", { username: "u", password: PASSWORD }, withKey("a")),
    () => send("PATCH", path, { country: "DE" }, withKey("a")),
  ];
  for (const other of others) {
    const answer = await other();
    deepEqual([answer.status, answer.body.code], [422, "idempotency.key_reused"]);
  }
  equal((await send("GET", "/v1/identities/count?scope=all")).body, 2, "the admin's own and one");
});

test("a key belongs to its user and its realm", async (realm) => {
  await using other = await testRealm();
  const user = await realm.user();
  const answers = [];
  for (const { send } of [realm.admin, user, other.admin]) {
    answers.push(await send("POST", "/v1/identities", {}, withKey("same")));
  }
  deepEqual(answers.map(replayed), [null, null, null]);
  equal(new Set(answers.map((answer) => answer.body.id)).size, 3);
});

test("a machine key is not told what its user, who may do more, was answered under the same key", async (realm) => {
  const { name, account } = await realm.currency("9");
  const owner = await realm.user();
  const [from, to] = [
    await realm.account({ asset: name, by: owner, from: account, total: "5" }),
    await realm.account({ asset: name, by: owner }),
  ];
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const body = { name: "narrow", roles: "user", scopes: "own" };
  const { key } = (await manager.send("POST", "/v1/keys", body)).body;
  const narrow: Send = (method, path, body, headers) =>
    realm.nobody(method, path, body, { "x-api-key": key, ...headers });
  const move = { source: { account: from }, destination: { account: to }, value: "1" };
  const requests: [string, string, unknown, number][] = [
    ["POST", "/v1/transactions", move, 201],
    ["POST", "/v1/transactions/batch", { atomic: true, transactions: [move] }, 201],
    ["POST", `/v1/accounts/${from}/freeze`, {}, 200],
    ["PATCH", `/v1/accounts/${to}`, { data: { known: true } }, 200],
  ];
  for (const [i, [method, path, body, status]] of requests.entries()) {
    const first = await manager.send(method, path, body, withKey(`wide${i}`));
    equal(first.status, status, first.text);
    const { status: refused, body: problem } = await narrow(
      method,
      path,
      body,
      withKey(`wide${i}`),
    );
    deepEqual([refused, problem.code], [422, "idempotency.key_reused"], path);
    equal(replayed(await manager.send(method, path, body, withKey(`wide${i}`))), "true", path);
  }
  equal((await realm.balance(to)).total, "2");
  const own = await narrow("POST", "/v1/identities", {}, withKey("own"));
  equal(own.status, 201);
  const wider = await manager.send("POST", "/v1/identities", {}, withKey("own"));
  deepEqual([wider.text, replayed(wider)], [own.text, "true"], "whoever may do more is told");
  const lost = { ...move, destination: { alias: "nobody-has-this" } };
  equal((await narrow("POST", "/v1/transactions", lost, withKey("lost"))).status, 404);
  equal(replayed(await manager.send("POST", "/v1/transactions", lost, withKey("lost"))), "true");
});

test("a dry run under a key and the move itself are two requests", async (realm) => {
  const { name, account } = await realm.currency("5");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const tried = await realm.admin.send("POST", "/v1/transactions?dry_run=true", move, withKey("k"));
  equal(tried.status, 201);
  const done = await realm.admin.send("POST", "/v1/transactions", move, withKey("k"));
  deepEqual([done.status, replayed(done)], [201, null]);
  equal((await realm.balance(other)).total, "1");
});

test("a malformed key is 400 and nothing is done", async (realm) => {
  for (const key of ["", "with space", "ü", "x".repeat(256)]) {
    const answer = await realm.admin.send("POST", "/v1/identities", {}, withKey(key));
    deepEqual([answer.status, answer.body.errors[0].path], [400, "/idempotency-key"], key);
  }
  equal(
    (await realm.admin.send("POST", "/v1/identities", {}, withKey("x".repeat(255)))).status,
    201,
  );
});

test("a repeat waits for the one that runs, in this process and in another", async (realm) => {
  await using other = realm.another();
  const create = (send: Send) => send("POST", "/v1/identities", {}, withKey("slow"));
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: taken } = Promise.withResolvers<void>();
  const slow = realm.command(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`lock table identities in exclusive mode`;
    taken();
    await held;
  });
  await locked;
  const running = [realm.admin.send, realm.admin.send, other.send(realm.admin.key)].map(create);
  const waiting = async () =>
    (await rowsOf<{ n: number }>(
      realm,
      `select count(*)::integer as n from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and a.usename ^@ '${realm.made.realm.role_name}'`,
    ))[0].n;
  await until(async () => await waiting() >= 3, 10);
  release();
  await slow;
  const answers = await Promise.all(running);
  deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]));
  equal(new Set(answers.map((answer) => answer.text)).size, 1);
  equal(answers.filter((answer) => replayed(answer) === null).length, 1);
});

Deno.test("a refusal is kept, a failure is not", async () => {
  await using realm = await testRealm();
  const user = { username: "twice", password: PASSWORD };
  equal((await realm.admin.send("POST", "/v1/users", user)).status, 201);
  const post = () => realm.admin.send("POST", "/v1/users", user, withKey("taken"));
  const refused = await post();
  deepEqual([refused.status, refused.body.code], [409, "username.taken"]);
  await rowsOf(
    realm,
    "update users set username = 'other', folded = 'other' where username = 'twice'",
  );
  const again = await post();
  deepEqual([again.text, replayed(again)], [refused.text, "true"]);
  const schema = realm.made.realm.schema_name;
  const owner = realm.services.platform.sql;
  await owner.unsafe(`alter table ${schema}.identities rename to hidden`);
  const create = () => realm.admin.send("POST", "/v1/identities", {}, withKey("failed"));
  const real = realm.services.log;
  realm.services.log = () => {};
  const failed = await create();
  realm.services.log = real;
  deepEqual([failed.status, failed.body.code], [503, "service.overloaded"]);
  await owner.unsafe(`alter table ${schema}.hidden rename to identities`);
  const repeated = await create();
  deepEqual([repeated.status, replayed(repeated)], [201, null]);
});

Deno.test("old answers are forgotten slice by slice, however many there are", async () => {
  await using realm = await testRealm();
  for (const key of ["a", "b", "c"]) {
    await realm.admin.send("POST", "/v1/identities", {}, withKey(key));
  }
  await rowsOf(realm, "update idempotency set created_at = now() - interval '8 days'");
  const forget = () => locking(realm.pool, (tx) => deleteOldAnswers(tx, 2));
  deepEqual([await forget(), await forget(), await forget()], [2, 1, 0]);
});

Deno.test("kept answers are forgotten after seven days", async () => {
  await using realm = await testRealm();
  const post = () => realm.admin.send("POST", "/v1/identities", {}, withKey("old"));
  const first = await post();
  await rowsOf(realm, "update idempotency set created_at = now() - interval '6 days 23 hours'");
  await purgeExpired(realm);
  equal((await post()).text, first.text);
  await rowsOf(realm, "update idempotency set created_at = now() - interval '7 days 1 minute'");
  await purgeExpired(realm);
  const second = await post();
  notEqual(second.body.id, first.body.id);
  ok(second.status === 201);
});

Deno.test("a batch is forgotten with its key, though it was stored later", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("9");
  const to = await realm.account({ asset: name });
  const item = { source: { account }, destination: { account: to }, value: "1" };
  const body = { atomic: true, transactions: [item, item] };
  const post = () => realm.admin.send("POST", "/v1/transactions/batch", body, withKey("old"));
  equal((await post()).status, 201);
  const tables = { idempotency: "7 days 1 second", batches: "6 days 23 hours 59 minutes" };
  for (const [table, since] of Object.entries(tables)) {
    await rowsOf(realm, `update ${table} set created_at = now() - interval '${since}'`);
  }
  await purgeExpired(realm);
  const anew = await post();
  deepEqual([anew.status, replayed(anew)], [201, null], anew.text);
  const again = await post();
  deepEqual([again.text, replayed(again)], [anew.text, "true"]);
  equal((await realm.balance(to)).total, "4");
});

test("a repeat is answered as the first was, though the data beside its transactions was changed since", async (realm) => {
  const { name, account } = await realm.currency("9");
  const to = await realm.account({ asset: name });
  const item = { source: { account }, destination: { account: to }, value: "1", data: { n: 1 } };
  const requests = [
    ["/v1/transactions", item],
    ["/v1/transactions/batch", { atomic: true, transactions: [item, item] }],
  ] as const;
  for (const [path, body] of requests) {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const first = await realm.admin.send("POST", path, body, headers);
    equal(first.status, 201, first.text);
    for (const { id } of first.body.results ?? [first.body]) {
      const data = { text: "a".repeat(60_000) };
      equal((await realm.admin.send("PATCH", `/v1/transactions/${id}`, { data })).status, 200);
    }
    const again = await realm.admin.send("POST", path, body, headers);
    deepEqual([again.status, again.text], [first.status, first.text]);
    equal(again.headers.get("idempotency-replayed"), "true");
  }
});
