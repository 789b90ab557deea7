/** Backups of installations whose realms live on several servers. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { RealmSteps } from "../../db/realms/attestations.ts";
import { isExpected } from "../../domain/realms/attestations.ts";
import { decryptFrom } from "../../workers/backup/envelope.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { attest } from "../support/installation.ts";
import { auditAll } from "../support/proofs.ts";
import { PLATFORM_KEY, type TestRealm } from "../support/realm.ts";
import { adminAt, type Fixture, fixture, keyAt, type Report, reportOf, rowsAt } from "./fixture.ts";
import { holding, untilSomebodyWaits } from "./holding.ts";
import { databaseLike, moveTo, otherServer, schemaOf, serverOf, withMoney } from "./servers.ts";
import { server } from "./shared_server.ts";

const RAMP = { type: "ramp", asset: "ETH", testnet: true };
/** Whether the directory of a database has a realm in a place of its own. */
async function isApart(url: string, { id }: TestRealm): Promise<boolean> {
  const [row] = await rowsAt<{ own: boolean; place: number }>(
    url,
    `select database_url_encrypted is not null as own, place from platform.realms where id = '${id}'`,
  );
  ok(row.place > 1_000, "greater than that of the backup");
  return row.own;
}

const stepsOf = ({ id }: TestRealm) =>
  `select now, next from platform.realm_steps where realm = '${id}'`;

const noteOf = (schema: string) =>
  `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = '${schema}'`;

const schemasAt = async (url: string) =>
  (await rowsAt<{ nspname: string }>(
    url,
    "select nspname from pg_namespace where nspname ~ '^(realm_|platform|purser_)' order by 1",
  )).map(({ nspname }) => nspname);

/** What another process answers that serves a database, as the administrator of a realm. */
async function asksAt(its: Fixture, url: string, realm: TestRealm, account: string) {
  await using there = its.realm.another({ DATABASE_URL: url });
  const admin = await adminAt(there, realm);
  const { body } = await admin("GET", `/v1/accounts/${account}`);
  const ramp = await admin("POST", "/v1/accounts", RAMP);
  return { total: Number(body.balance?.total), ramp: [ramp.status, ramp.body.code] };
}

const QUARANTINED = [503, "chain.quarantined"];

/** Neither the report of a backup nor its contents, decrypted, show a password. */
async function showsNone({ host }: Fixture, made: Report, password: string): Promise<void> {
  equal(JSON.stringify(made).includes(password), false);
  const identity = await Deno.readTextFile(`${host.folder}/backup.key`);
  const bytes = new Blob([await Deno.readFile(made.path)]).stream();
  const opened = await decryptFrom(bytes, identity) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const contents = await new Response(opened).text();
  ok(contents.includes(Object.keys(made.heads)[0]));
  equal(contents.includes(password), false);
}

/** Between two transfers: more of them would take the processors from the backup. */
const PAUSE_MS = 20;

/** Makes a backup while both realms are in use. */
async function backUpUnderLoad(
  its: Fixture,
  away: TestRealm,
  { transfer, env }: { transfer: () => Promise<void>; env: Record<string, string> },
): Promise<Report> {
  let loading = true;
  const load = (async () => {
    while (loading) {
      await Promise.all([transfer(), its.transfer()]);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await extendHashChain(away.pool, Date.now);
  })();
  const ended = await its.host.run(its.url, "backup", [], env).finally(() => loading = false);
  await load;
  return reportOf(ended);
}

Deno.test("a backup under load holds realms of other servers, and comes back into one database, to their own places, or to another server", async (t) => {
  await using its = await fixture(() => databaseLike(server, realmDatabase));
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  const home = await server.database();
  await moveTo(away, home);
  const money = await withMoney(away);
  const made = await backUpUnderLoad(its, away, { ...money, ...server });
  const password = new URL(home).password;
  await t.step("its manifest names the place, and nothing of it the password", async () => {
    deepEqual(Object.keys(made.heads).sort(), [realm.id, away.id].sort());
    deepEqual(made.elsewhere, { [away.id]: serverOf(home) });
    await showsNone(its, made, password);
    const checked = reportOf(await host.call(url, "restore", [made.path, "--check"], server.env));
    deepEqual(checked.elsewhere, made.elsewhere);
  });
  const sound = async (at: string) => {
    deepEqual((await auditAll(at, PLATFORM_KEY)).wrong, []);
    const found = await asksAt(its, at, away, money.other);
    ok(found.total >= 10, `${found.total}`);
    deepEqual(found.ramp, QUARANTINED);
    deepEqual(await rowsAt(at, "select realm from platform.realm_moves"), []);
  };
  await t.step("into one database", async () => {
    await using elsewhere = await databaseLike(server);
    const back = reportOf(await host.call(elsewhere.url, "restore", [made.path]));
    deepEqual([back.heads, back.rows], [made.heads, made.rows]);
    equal(await isApart(elsewhere.url, away), false);
    await sound(elsewhere.url);
  });
  await t.step("to a place where the realm lives on: refused, and nothing stays", async () => {
    await using elsewhere = await databaseLike(server);
    const args = [made.path, "--to", "origin"];
    const refused = await host.call(elsewhere.url, "restore", args, server.env);
    deepEqual([refused.code, refused.out], [1, ""]);
    ok(refused.said.includes(`the schema ${schemaOf(away)} exists already, at ${serverOf(home)}`));
    const outside = await host.run(elsewhere.url, "restore", args);
    match(outside.said, /cannot be restored to .*: its server is not among DATABASE_HOSTS/);
    equal(`${refused.said}${outside.said}`.includes(password), false);
    deepEqual(await schemasAt(elsewhere.url), []);
    await money.transfer(); // the living one goes on
  });
  await t.step("to another server", async () => {
    await using elsewhere = await databaseLike(server);
    const next = await server.database();
    const args = [made.path, "--to", "-"];
    const back = reportOf(await host.run(elsewhere.url, "restore", args, server.env, next));
    deepEqual(back.heads, made.heads);
    equal(await isApart(elsewhere.url, away), true);
    deepEqual(await schemasAt(next), [schemaOf(away)]);
    deepEqual(await schemasAt(elsewhere.url), ["platform", schemaOf(realm)]);
    await sound(elsewhere.url);
  });
  await t.step("to their own places", async () => {
    await using elsewhere = await databaseLike(server);
    await rowsAt(home, `alter schema ${schemaOf(away)} rename to lost`);
    const args = [made.path, "--to", "origin"];
    const back = reportOf(await host.run(elsewhere.url, "restore", args, server.env));
    deepEqual(back.heads, made.heads);
    equal(await isApart(elsewhere.url, away), true);
    deepEqual(await schemasAt(home), [schemaOf(away)]);
    await sound(elsewhere.url);
  });
});

Deno.test("a restore that is killed after it has built a realm on another server builds it anew, and takes no other for it", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  await moveTo(away, await server.database());
  await withMoney(away);
  const made = reportOf(await host.call(url, "backup", [], server.env));
  await using elsewhere = await testDatabase();
  const next = await server.database();
  const args = [made.path, "--to", "-"];
  {
    await using _lock = await holding(elsewhere.url, "create schema platform");
    const { child, end } = host.start(elsewhere.url, "restore", args, server.env, next);
    await untilSomebodyWaits(elsewhere.url);
    child.kill("SIGKILL");
    equal((await end()).code, 137);
  }
  await until(async () => !(await schemasAt(elsewhere.url)).includes("platform"));
  deepEqual(await schemasAt(next), [schemaOf(away)]);
  const [{ note }] = await rowsAt<{ note: string }>(elsewhere.url, noteOf("purser_restore"));
  const back = reportOf(await host.run(elsewhere.url, "restore", args, server.env, next));
  deepEqual(back.heads, made.heads);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  deepEqual(await rowsAt(next, noteOf(schemaOf(away))), [{ note: null }]);
  // A copy of the database as the killed restore left it, which goes on with its name.
  await using third = await testDatabase();
  await rowsAt(
    third.url,
    `create schema purser_restore; comment on schema purser_restore is '${note}'`,
  );
  const refused = await host.run(third.url, "restore", args, server.env, next);
  ok(refused.said.includes(`exists already, at ${serverOf(next)}`), refused.said);
  deepEqual([await schemasAt(third.url), await schemasAt(next)], [[], [schemaOf(away)]]);
});

Deno.test("a backup names a realm whose server is down and is not made, or is made without it on demand, and comes back only so", async () => {
  await using server = await otherServer();
  await using its = await fixture();
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  const home = await server.database();
  await moveTo(away, home);
  const money = await withMoney(away);
  const ask = (...args: string[]) => host.call(url, "backup", args, server.env);
  await server.stop();
  let made;
  try {
    const refused = await ask();
    deepEqual([refused.code, refused.out], [1, ""]);
    ok(refused.said.includes(`realm ${away.id}`) && refused.said.includes(serverOf(home)));
    equal(refused.said.includes(new URL(home).password), false);
    deepEqual(await host.files().catch(() => []), []);
    match((await ask("--without", realm.id)).said, /has no database of its own/);
    match((await ask("--without", crypto.randomUUID())).said, /there is no realm/);
    made = reportOf(await ask("--without", away.id));
  } finally {
    await server.start();
  }
  deepEqual([made.without, Object.keys(made.heads)], [[away.id], [realm.id]]);
  match(made.path, /incomplete_[0-9a-f]{32}_/);
  await using elsewhere = await testDatabase();
  const restore = (...args: string[]) =>
    host.call(elsewhere.url, "restore", [made.path, ...args], server.env);
  const unnamed = await restore();
  deepEqual([unnamed.code, unnamed.out], [1, ""]);
  ok(unnamed.said.includes(`lacks these realms, which were left out: ${away.id}`));
  deepEqual(await schemasAt(elsewhere.url), []);
  reportOf(await restore("--without", away.id));
  equal(await isApart(elsewhere.url, away), true);
  // It lives on where it was, with what the platform's backup does not know, and waits to be reconciled.
  await money.transfer();
  const found = await asksAt(its, elsewhere.url, away, money.other);
  deepEqual(found, { total: 11, ramp: QUARANTINED });
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
});

Deno.test("a realm whose server is lost comes back on another, and the old place is foreign when it returns", async () => {
  await using server = await otherServer();
  await using its = await fixture(() => databaseLike(server, realmDatabase));
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  const home = await server.database();
  await moveTo(away, home);
  const money = await withMoney(away);
  await attest(away);
  const made = reportOf(await host.call(url, "backup", ["--realm", away.id], server.env));
  deepEqual([made.elsewhere, made.realms], [{ [away.id]: serverOf(home) }, 1]);
  await money.transfer();
  const next = await server.database();
  const restore = (to: string, address?: string) =>
    host.run(url, "restore", [made.path, "--to", to], server.env, address);
  const living = await restore("-", next);
  deepEqual([living.code, living.out], [1, ""]);
  ok(living.said.includes(`exists already, at ${serverOf(home)}`), living.said);
  deepEqual(await schemasAt(next), []);
  const [{ now: before }] = await rowsAt<RealmSteps>(url, stepsOf(away));
  await server.stop();
  try {
    const back = await restore("platform");
    ok(back.said.includes(`${serverOf(home)} does not answer: the realm counts as lost there`));
    reportOf(back);
  } finally {
    await server.start();
  }
  equal(await isApart(url, away), false);
  deepEqual(await asksAt(its, url, away, money.other), { total: 10, ramp: QUARANTINED });
  const [{ token }] = await rowsAt<{ token: string }>(
    home,
    `select token from ${schemaOf(away)}.attestations`,
  );
  equal(token, before);
  const [steps] = await rowsAt<RealmSteps>(url, stepsOf(away));
  equal(isExpected(steps, token), false);
  // This process held connections to the old place all the time.
  const path = `/v1/accounts/${money.other}`;
  await until(async () => (await away.admin.send("GET", path)).body.code === "auth.revoked");
  const key = { "x-api-key": await keyAt(realm, away) };
  equal((await away.nobody("GET", path, undefined, key)).body.balance.total, "10");
  equal((await realm.admin.send("GET", "/v1/accounts")).status, 200);
  deepEqual((await auditAll(url, PLATFORM_KEY)).wrong, []);
});

Deno.test("a server that refuses the login, or that may not be asked, is not lost", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  const home = await server.database();
  await moveTo(away, home);
  await withMoney(away);
  const made = reportOf(await host.call(url, "backup", ["--realm", away.id], server.env));
  const restore = (env: Record<string, string>) =>
    host.run(url, "restore", [made.path, "--to", "platform"], env);
  const outside = await restore({});
  deepEqual([outside.code, outside.out], [1, ""]);
  match(outside.said, /cannot be told: it is not among DATABASE_HOSTS/);
  const wrong = new URL(home);
  wrong.password = "wrong";
  const encrypted = realm.services.secrets.encrypt("database_url", away.id, wrong.href);
  await realm.database.builder.sql`
    update platform.realms set database_url_encrypted = ${encrypted} where id = ${away.id}`;
  const refused = await restore(server.env);
  deepEqual([refused.code, refused.out], [1, ""]);
  match(refused.said, /cannot be told: 28P01/);
  const [row] = await rowsAt<{ own: boolean }>(
    url,
    `select database_url_encrypted is not null as own from platform.realms where id = '${away.id}'`,
  );
  equal(row.own, true);
});
