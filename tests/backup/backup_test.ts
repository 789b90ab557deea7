/** Backups of an installation and of one realm, under load, and restored elsewhere. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { openBytes, rewrite } from "../support/backup_files.ts";
import { asSuperuser, realmDatabase, testDatabase } from "../support/database.ts";
import { attest } from "../support/installation.ts";
import { auditAll, verify } from "../support/proofs.ts";
import { PLATFORM_KEY, type TestProcess, testRealm } from "../support/realm.ts";
import { adminAt, fixture, keyAt, reportOf, rowsAt } from "./fixture.ts";

Deno.test("a backup under load is restored elsewhere, whole: audit, verify and solvency agree", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { realm, host } = its;
  let loading = true;
  const load = (async () => {
    let made = 0;
    for (; loading; made++) {
      await its.transfer();
      if (made % 10 === 0) await extendHashChain(realm.pool, Date.now);
    }
    return made;
  })();
  const { url } = its;
  const ended = await host.run(url, "backup", []).finally(() => loading = false);
  const made = reportOf(ended);
  ok(await load > 0);
  const restored = reportOf(
    await host.run(elsewhere.url, "restore", [made.path]),
  );
  deepEqual(restored.heads, made.heads);
  deepEqual([restored.rows, restored.realms], [made.rows, 1]);
  const { links, wrong } = await auditAll(elsewhere.url, PLATFORM_KEY);
  deepEqual(wrong, []);
  ok(links > 10);
  await using there = realm.another({ DATABASE_URL: elsewhere.url });
  equal(
    (await there.send(realm.admin.key)("GET", "/v1/accounts")).status,
    401,
    "an older key",
  );
  const admin = await adminAt(there, realm);
  const solvency = await admin("GET", "/v1/solvency");
  deepEqual([
    solvency.status,
    solvency.body.some((one: { solvent: boolean }) => !one.solvent),
  ], [
    ...[200, false],
  ]);
  const total = Number(
    (await admin("GET", `/v1/accounts/${its.other}`)).body.balance.total,
  );
  ok(
    total >= 10,
    `${total}: what was answered before the backup began is in it`,
  );
  const proof = await proofOf(
    there,
    await keyAt(there, realm),
    made.heads[realm.id],
  );
  equal(proof.code, 0, proof.text);
  const [{ halted }] = await rowsAt<{ halted: { detail: string } }>(
    elsewhere.url,
    "select halted from platform.installation",
  );
  match(
    halted.detail,
    new RegExp(`^restored from the backup ${made.backup} of `),
  );
  await its.transfer(); // the original goes on
  const again = await host.call(elsewhere.url, "restore", [made.path]);
  deepEqual([again.code, again.out], [1, ""]);
  match(again.said, /the database is not empty, it holds an installation/);
});

/** What an auditor finds who verifies a process over its API. */
async function proofOf({ services }: TestProcess, key: string, head: string) {
  const app = createApp(services, PLATFORM_KEY);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  const address = `http://127.0.0.1:${server.addr.port}`;
  return await verify("--url", address, "--key", key, "--expect", head);
}

Deno.test("one realm is put back beside others that go on, and is in quarantine until it is reconciled", async () => {
  await using its = await fixture();
  const { realm, host, url } = its;
  const { id } = realm;
  const schema = `realm_${id.replaceAll("-", "")}`;
  await using neighbour = await realm.neighbour();
  const whole = await its.backUp();
  const alone = await its.backUp("--realm", id);
  deepEqual([whole.realms, alone.realms, Object.keys(alone.heads)], [2, 1, [
    id,
  ]]);
  const refused = await host.call(url, "restore", [alone.path]);
  match(refused.said, new RegExp(`the schema ${schema} exists already`));
  await its.transfer();
  const keys = "select digest::text, revoked_at from platform.application_keys order by id";
  await rowsAt(
    url,
    `update platform.application_keys set revoked_at = now() where realm = '${id}'`,
  );
  const known = await rowsAt(url, keys);
  for (const path of [alone.path, whole.path]) {
    await rowsAt(
      url,
      `drop schema if exists lost cascade; alter schema ${schema} rename to lost`,
    );
    const restored = reportOf(
      await host.call(url, "restore", [path, "--realm", id]),
    );
    deepEqual(Object.keys(restored.heads), [id]);
    deepEqual(
      await rowsAt(url, keys),
      known,
      "a key that was revoked since stays revoked",
    );
  }
  await using there = realm.another({ DATABASE_URL: url });
  const admin = await adminAt(there, realm);
  const { body } = await admin("GET", `/v1/accounts/${its.other}`);
  equal(body.balance.total, "10", "without what came after the backup");
  const account = { type: "ramp", asset: "ETH", testnet: true };
  const ramp = await admin("POST", "/v1/accounts", account);
  deepEqual([ramp.status, ramp.body.code], [503, "chain.quarantined"]);
  equal((await neighbour.admin.send("GET", "/v1/accounts")).status, 200);
  deepEqual((await auditAll(url, PLATFORM_KEY)).wrong, []);
});

Deno.test("a realm comes into another installation with its row, keys and roles, and from an installation's backup", async () => {
  await using its = await fixture();
  await using elsewhere = await realmDatabase();
  await using stranger = await testRealm({
    env: { DATABASE_URL: elsewhere.url },
  });
  const made = await its.backUp();
  const { realm, host } = its;
  const unknown = await host.call(elsewhere.url, "restore", [
    made.path,
    "--realm",
    stranger.id,
  ]);
  match(unknown.said, /the backup does not hold the realm/);
  reportOf(
    await host.run(elsewhere.url, "restore", [made.path, "--realm", realm.id]),
  );
  await using there = realm.another({ DATABASE_URL: elsewhere.url });
  const admin = await adminAt(there, realm);
  equal(
    (await admin("GET", `/v1/accounts/${its.other}`)).body.balance.total,
    "10",
  );
  equal((await stranger.admin.send("GET", "/v1/accounts")).status, 200);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
  await attest(stranger);
});

Deno.test("a login that may only read makes a backup, and the newest are kept", async () => {
  await using its = await fixture();
  const { host, url, realm } = its;
  const role = `reads_${crypto.randomUUID().slice(0, 8)}`;
  await asSuperuser(
    `create role ${role} login password 'reads-all' in role pg_read_all_data`,
  );
  const name = new URL(url).pathname.slice(1);
  await asSuperuser(`grant connect on database ${name} to ${role}`);
  try {
    const reading = new URL(url);
    [reading.username, reading.password] = [role, "reads-all"];
    const first = reportOf(await host.run(reading.href, "backup", []));
    const alone = await its.backUp("--realm", realm.id);
    const second = await its.backUp("--keep", "1");
    const named = (path: string) => path.slice(path.lastIndexOf("/") + 1);
    deepEqual(second.removed, [named(first.path)]);
    deepEqual(
      await host.files(),
      [named(second.path), named(alone.path)].sort(),
    );
    const checked = reportOf(
      await host.call(url, "restore", [second.path, "--check"]),
    );
    deepEqual([checked.verdict, checked.rows], ["whole", second.rows]);
  } finally {
    await asSuperuser(
      `revoke connect on database ${name} from ${role}; drop role ${role}`,
    );
  }
});

Deno.test("a backup of an older schema is restored and brought up to date", async () => {
  await using its = await fixture();
  await using elsewhere = await testDatabase();
  const { host, realm } = its;
  const made = await its.backUp();
  const identity = await Deno.readTextFile(`${host.folder}/backup.key`);
  const migrations = realm.services.migrations.realm;
  const older = migrations.findLastIndex(({ text }) => /^create table /m.test(text));
  const since = migrations.slice(older).map(({ text }) => text).join("\n");
  const tables = new Set([...since.matchAll(/^create table (\w+)/gm)].map(([, table]) => table));
  const columns = new Set(
    [...since.matchAll(/^alter table (\w+)([^;]*);/gm)].flatMap(([, table, changes]) =>
      [...changes.matchAll(/\badd (?!constraint)(?:column )?(\w+)/g)].map(([, column]) =>
        `${table}.${column}`
      )
    ),
  );
  ok(tables.size > 0);
  const path = `${host.folder}/older.age`;
  await rewrite(
    await openBytes(await Deno.readFile(made.path), identity),
    { path, recipient: host.recipient },
    (part) => {
      if (part.is === "realm") {
        return { ...part, migrations: part.migrations.slice(0, older) };
      }
      if (part.is !== "table") return part;
      const kept = part.columns.filter((column) => !columns.has(`${part.name}.${column}`));
      return tables.has(part.name) ? null : { ...part, columns: kept };
    },
  );
  reportOf(await host.call(elsewhere.url, "restore", [path]));
  const [{ count }] = await rowsAt<{ count: number }>(
    elsewhere.url,
    `select count(*)::integer as count from realm_${realm.id.replaceAll("-", "")}.migrations`,
  );
  equal(count, realm.services.migrations.realm.length);
  deepEqual((await auditAll(elsewhere.url, PLATFORM_KEY)).wrong, []);
});
