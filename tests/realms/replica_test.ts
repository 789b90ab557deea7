/** Lists, statements and exports on a streaming standby: what comes from it, what never does, and what when it is away. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import type { Answer, TestRealm } from "../support/realm.ts";
import {
  ACCOUNTS,
  faultOf,
  fromPrimary,
  fromReplica,
  idsOf,
  lagOf,
  onReplica,
  outcomesOf,
  PRIMARY,
} from "../support/replica_pair.ts";
import { connectTo } from "../support/standby.ts";

const test = onReplica("a realm with a replica");
const contextOf = async ({ services, id }: TestRealm) => (await services.realms.find(id))!;

test("a list comes from the replica with its lag, and from the primary for who asks or has just written", async ({ realm, pause }) => {
  const reader = await realm.user({ role: "manage", scope: "realm" });
  const { name: asset } = await realm.currency("10");
  const before = await fromReplica(reader, ACCOUNTS);
  match(lagOf(before)!, /^\d+$/);
  let made = "";
  {
    await using _paused = await pause();
    made = await realm.account({ asset });
    for (const path of [ACCOUNTS, "/v1/accounts/count?scope=all"]) {
      const old = await fromReplica(reader, path);
      if (path === ACCOUNTS) deepEqual(idsOf(old), idsOf(before));
      else equal(old.body, before.body.length);
    }
    const asked = await reader.send("GET", ACCOUNTS, undefined, { prefer: "wait=5, read=primary" });
    deepEqual([lagOf(asked), idsOf(asked).at(-1)], [null, made]);
    const own = await realm.admin.send("GET", ACCOUNTS);
    deepEqual([lagOf(own), idsOf(own).at(-1)], [null, made]);
  }
  let after: Answer;
  await until(async () => {
    after = await fromReplica(reader, ACCOUNTS);
    return idsOf(after).includes(made);
  });
  deepEqual(after!.body, (await reader.send("GET", ACCOUNTS, undefined, PRIMARY)).body);
});

test("nothing is decided by a replica: while it stands still balances, keys and rights are as they are", async ({ realm, pause }) => {
  const { name: asset, account: from } = await realm.currency("10");
  const to = await realm.account({ asset });
  const leaver = await realm.user({ role: "manage", scope: "realm" });
  await fromReplica(leaver, ACCOUNTS);
  await using _paused = await pause();
  const move = (value: string) => ({
    source: { account: from },
    destination: { account: to },
    value,
  });
  equal((await realm.admin.send("POST", "/v1/transactions", move("7"))).status, 201);
  const refused = await realm.admin.send("POST", "/v1/transactions", move("7"));
  deepEqual([refused.status, refused.body.code], [409, "balance.insufficient"]);
  for (const path of [`/v1/accounts/${to}`, `/v1/accounts/${to}/balance`]) {
    const one = await leaver.send("GET", path);
    deepEqual([one.status, lagOf(one)], [200, null], path);
    equal((one.body.balance ?? one.body).total, "7");
  }
  // A refusal of the replica, which does not know the account, is not believed.
  const fresh = await realm.account({ asset });
  const entries = await leaver.send("GET", `/v1/accounts/${fresh}/entries`);
  deepEqual([entries.status, entries.body.total], [200, 0]);
  equal((await leaver.send("GET", ACCOUNTS)).status, 200);
  equal((await leaver.send("POST", "/v1/auth/logout", {})).status, 200);
  let gone: Answer;
  await until(async () => (gone = await leaver.send("GET", ACCOUNTS)).status !== 200);
  deepEqual([gone!.status, gone!.body.code], [401, "auth.revoked"]);
});

test("an account that was deleted shows nothing more, although the replica still has it", async ({ realm, pause }) => {
  const { name: asset } = await realm.currency("10");
  const holder = await realm.user();
  const account = await realm.account({ asset, by: holder });
  const path = `/v1/accounts/${account}`;
  await fromReplica(holder, `${path}/entries`);
  await using _paused = await pause();
  const deleted = await realm.admin.send("DELETE", path);
  equal(deleted.status, 200, deleted.text);
  for (const below of ["entries", "statement", "balances"]) {
    const answer = await holder.send("GET", `${path}/${below}`);
    deepEqual([answer.status, answer.body.code], [404, "account.not_found"], below);
  }
});

test("statements, exports and balances over time show all that was answered before, wherever they are read", async ({ realm, pause }) => {
  const { name: asset, account: from } = await realm.currency("1000");
  const to = await realm.account({ asset });
  const reader = await realm.user({ role: "admin", scope: "realm" });
  const transactions = Array.from({ length: 30 }, () => ({
    ...{ source: { account: from }, destination: { account: to }, value: "1" },
  }));
  const batch = { atomic: true, transactions };
  const range = `from=${Date.now() - 86_400_000}&to=${Date.now() + 86_400_000}`;
  const paths = [
    `/v1/accounts/${to}/statement?format=csv`,
    `/v1/accounts/${to}/entries?format=csv&${range}`,
    `/v1/transactions/all?format=csv&scope=all&${range}`,
    `/v1/accounts/${to}/balances?points=2`,
  ];
  const lastOf = (answer: Answer) =>
    answer.body.points?.at(-1).total ?? answer.text.trimEnd().split("\r\n").length;
  const totals = async (headers?: Record<string, string>) => {
    const found = [];
    for (const path of paths) {
      const answer = await reader.send("GET", path, undefined, headers);
      equal(answer.status, 200, answer.text);
      found.push({ last: lastOf(answer), isLagging: lagOf(answer) !== null });
    }
    return found;
  };
  await fromReplica(reader, ACCOUNTS);
  for (let sent = 0; sent < 5; sent++) {
    // Asked for at once: the replica is waited for, and is exact, or the primary answers.
    equal((await realm.admin.send("POST", "/v1/transactions/batch", batch)).status, 201);
    const found = (await totals()).map(({ last }) => last);
    deepEqual(found, (await totals(PRIMARY)).map(({ last }) => last));
    equal(found[3], `${30 * (sent + 1)}`);
  }
  await until(async () => (await totals()).every(({ isLagging }) => isLagging), 100);
  await using _paused = await pause();
  equal((await realm.admin.send("POST", "/v1/transactions/batch", batch)).status, 201);
  const alone = await totals();
  deepEqual(alone, await totals(PRIMARY));
  equal(alone[3].last, "180");
  const statement = await reader.send("GET", `/v1/accounts/${to}/statement`);
  deepEqual([lagOf(statement), statement.body.closing.total], [null, "180"]);
});

test("lists of filters and statistics come from the replica, and read there as the realm's own role", async ({ realm }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  const query = encodeURIComponent(JSON.stringify({ type: "virtual" }));
  for (
    const path of [
      `/v1/accounts?scope=all&query=${query}&sort=-balance.total`,
      "/v1/stats/flows",
      "/v1/stats/withdrawals",
      "/v1/stats/deposits",
      "/v1/transactions?scope=all&pageSize=200",
    ]
  ) {
    const answer = await fromReplica(reader, path);
    deepEqual(answer.body.rows, (await reader.send("GET", path, undefined, PRIMARY)).body.rows);
  }
  const { replica } = await contextOf(realm);
  const how = { limitMs: 60_000, user: reader.id };
  const there = await replica!.read(async (db) => {
    const [row] = await db`select session_user as login, current_schema as schema,
      current_setting('default_transaction_read_only') as reads, pg_is_in_recovery() as standby`;
    return { ...row };
  }, how);
  const { role, schema } = locationOf(realm.made.realm);
  deepEqual(there!.result, { login: role, schema, reads: "on", standby: true });
});

test("a read that the replica refuses, cancels or does not know is the primary's", async ({ realm, primary, standby }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  await fromReplica(reader, ACCOUNTS);
  const { replica } = await contextOf(realm);
  const how = { limitMs: 60_000, user: reader.id };
  const { schema } = locationOf(realm.made.realm);
  await using there = connectTo(standby);
  await there`alter system set max_standby_streaming_delay = 0`.catch(() => {});
  await using here = connectTo(primary);
  await here`alter system set max_standby_streaming_delay = 0`.catch(() => {});
  await there`select pg_reload_conf()`;
  const conflicts = outcomesOf(realm, "conflict");
  let began = false;
  const reading = replica!.read(async (db) => {
    await db`select from accounts limit 1`;
    began = true;
    return await db`select pg_sleep(50), count(*) from accounts`;
  }, how);
  await until(() => began);
  await here.begin(async (tx) => {
    await tx.unsafe(`lock table "${schema}".accounts in access exclusive mode`);
  });
  equal(await reading, null);
  equal(outcomesOf(realm, "conflict"), conflicts + 1);
  equal(faultOf(realm), null);
  equal(await replica!.read((db) => db`insert into leases (name) values ('x')`, how), null);
  // It is left alone for this realm for a moment, and the primary answers.
  equal(lagOf(await reader.send("GET", ACCOUNTS)), null);
  await fromReplica(reader, ACCOUNTS);
  const realms = outcomesOf(realm, "newer");
  const neighbour = await realm.neighbour();
  const first = await neighbour.admin.send("GET", ACCOUNTS);
  deepEqual([first.status, lagOf(first)], [200, null]);
  ok(outcomesOf(realm, "newer") > realms);
  await fromReplica(neighbour.admin, ACCOUNTS);
  neighbour.leave();
});

test("a realm in a database of its own is read there", async ({ realm, primary }) => {
  await using sql = connectTo(primary);
  await sql`create database own owner purser`;
  const own = new URL(primary.url);
  own.pathname = "own";
  const admin = { email: "own@test.example", password: "correct horse battery" };
  const made = await realm.operator("POST", "/v1/realms", {
    ...{ name: "own", admin, database_url: own.href },
  });
  equal(made.status, 201, made.text);
  const login = await realm.nobody(
    "POST",
    "/v1/auth/admins/login",
    { ...admin, realm_key: made.body.realm_key },
    { "x-api-key": made.body["x-api-key"] },
  );
  equal(login.status, 200, login.text);
  const key = { "x-api-key": login.body["x-api-key"] };
  const asked = outcomesOf(realm, "realm");
  for (let i = 0; i < 3; i++) {
    const answer = await realm.nobody("GET", ACCOUNTS, undefined, key);
    deepEqual([answer.status, lagOf(answer)], [200, null]);
  }
  const statistics = await realm.nobody("GET", "/v1/stats/flows", undefined, key);
  deepEqual([statistics.status, lagOf(statistics)], [200, null]);
  equal(outcomesOf(realm, "realm"), asked + 4);
});

test("behind a pooler, and where the roles of realms do not log in, the replica answers too", async ({ realm, primary, standby }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  for (const setting of ["DATABASE_PREPARE", "REALM_LOGINS"]) {
    const addresses = { DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url };
    await using other = realm.another({ ...addresses, [setting]: "off" });
    const send = other.send(reader.key);
    const query = encodeURIComponent(JSON.stringify({ type: "virtual" }));
    for (const path of [ACCOUNTS, `${ACCOUNTS}&query=${query}`]) {
      await until(async () => lagOf(await send("GET", path)) !== null, 100);
    }
    const { replica } = (await other.services.realms.find(realm.id))!;
    const there = await replica!.read(async (db) => {
      const [row] = await db`select current_user as role, pg_is_in_recovery() as standby,
        current_setting('transaction_read_only') as reads`;
      return { ...row };
    }, { limitMs: 60_000, user: reader.id });
    const { role } = locationOf(realm.made.realm);
    deepEqual(there!.result, { role, standby: true, reads: "on" });
  }
});

test("a server that is no standby of this primary answers nothing", async ({ realm, primary }) => {
  for (const url of [primary.url, testDatabaseUrl()]) {
    await using other = realm.another({ DATABASE_URL: primary.url, DATABASE_READ_URL: url });
    await until(() => other.services.replica!.state().fault === "not_standby");
    const answer = await other.send(realm.admin.key)("GET", ACCOUNTS);
    deepEqual([answer.status, lagOf(answer)], [200, null]);
  }
});

test("a replica that is too far behind answers nothing until it has caught up; the service stays ready", async ({ realm, primary, standby, pause }) => {
  const { key } = await realm.user({ role: "admin", scope: "realm" });
  const { name: asset } = await realm.currency("10");
  await using strict = realm.another({
    ...{ DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url },
    ...{ DATABASE_READ_LAG_SECONDS: "5", METRICS_NETWORKS: "127.0.0.1" },
  });
  const reader = { send: strict.send(key) };
  const nobody = strict.send(null);
  const metrics = async () => (await nobody("GET", "/metrics")).text;
  await fromReplica(reader, ACCOUNTS);
  {
    await using _paused = await pause();
    const made = await realm.account({ asset });
    const late = await fromPrimary(reader, ACCOUNTS);
    equal(idsOf(late).at(-1), made);
    await until(() => faultOf(strict) === "behind");
    await fromPrimary(reader, ACCOUNTS);
    const ready = await nobody("GET", "/health/ready");
    equal(ready.status, 200);
    const { usable, fault, lag_ms } = ready.body.checks.replica;
    deepEqual([usable, fault], [false, "behind"]);
    ok(lag_ms > 5000, `${lag_ms}`);
    match(await metrics(), /^purser_replica_usable 0$/m);
    match(await metrics(), /^purser_replica_reads_total\{outcome="behind"\} [1-9]/m);
  }
  await fromReplica(reader, ACCOUNTS);
  await until(async () => (await nobody("GET", "/health/ready")).body.checks.replica.usable);
  match(await metrics(), /^purser_replica_usable 1$/m);
  match(await metrics(), /^purser_replica_lag_seconds /m);
});

test("a replica that hangs under load keeps nobody waiting for long, and fails nothing", async ({ realm, standby }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  await fromReplica(reader, ACCOUNTS);
  await using sql = connectTo(standby);
  const others = await sql<{ pid: number }[]>`select pid from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()`;
  const stopped = [standby.pid, ...others.map(({ pid }) => pid)];
  for (const pid of stopped) Deno.kill(pid, "SIGSTOP");
  try {
    const query = encodeURIComponent(JSON.stringify({ type: "virtual" }));
    const paths = [ACCOUNTS, "/v1/stats/flows", `${ACCOUNTS}&query=${query}`];
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => reader.send("GET", paths[i % 3])),
    );
    deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    ok(performance.now() - began < 30_000); // what was lost is waited for 60 s elsewhere
    await until(() => faultOf(realm) === "unreachable");
    const tried = outcomesOf(realm, "unreachable");
    for (let i = 0; i < 5; i++) equal(lagOf(await reader.send("GET", ACCOUNTS)), null);
    equal(outcomesOf(realm, "unreachable"), tried + 5);
  } finally {
    for (const pid of stopped) Deno.kill(pid, "SIGCONT");
  }
  await fromReplica(reader, ACCOUNTS);
});

test("a replica that dies under load fails no list, and is used again when it is back", async ({ realm, standby, relay }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  await fromReplica(reader, ACCOUNTS);
  const asked = Array.from({ length: 60 }, async (_, i) => {
    if (i === 30) relay.leadTo(null);
    return await reader.send("GET", i % 2 === 0 ? ACCOUNTS : "/v1/stats/flows");
  });
  const answers = await Promise.all(asked);
  deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  await until(() => faultOf(realm) === "unreachable");
  equal(lagOf(await reader.send("GET", ACCOUNTS)), null);
  relay.leadTo(standby.port);
  await fromReplica(reader, ACCOUNTS);
});

test("a standby that was promoted is used for nothing any more", async ({ realm, standby }) => {
  const reader = await realm.user({ role: "admin", scope: "realm" });
  const { name: asset } = await realm.currency("10");
  await fromReplica(reader, ACCOUNTS);
  await using sql = connectTo(standby);
  await sql`select pg_promote()`;
  const made = await realm.account({ asset });
  const answer = await reader.send("GET", ACCOUNTS);
  deepEqual([answer.status, lagOf(answer), idsOf(answer).at(-1)], [200, null, made]);
  await until(() => faultOf(realm) === "not_standby");
  const [{ logins }] = await sql`select count(*)::int as logins from pg_stat_activity
    where application_name like 'purser%' and state = 'active' and not query like 'select pg_backend_pid%'`;
  equal(logins, 0);
});
