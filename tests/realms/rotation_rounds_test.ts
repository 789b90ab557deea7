/** Rotations of keys over realms of which one cannot be reached. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openSigner } from "../../workers/keys/signer.ts";
import { type Fixture, fixture, rowsAt } from "../backup/fixture.ts";
import { moveTo, otherServer, schemaOf } from "../backup/servers.ts";
import { realmDatabase } from "../support/database.ts";
import { PLATFORM_KEY, testConfig, type TestRealm } from "../support/realm.ts";

const OLD = testConfig().masterKey!;
const NEW = btoa("fedcba9876543210fedcba9876543210");
const NEW_PLATFORM_KEY = "the-next-key-of-the-platform";

async function mastersOf({ url }: Fixture, realms: readonly TestRealm[]): Promise<string[]> {
  const each = realms.map((realm) =>
    rowsAt<{ master: string }>(url, `select distinct master from ${schemaOf(realm)}.secrets`)
  );
  return (await Promise.all(each)).flat().map(({ master }) => master);
}

Deno.test("a rotation of the master key goes on behind realms that fail, ends with their names, and is carried on", async () => {
  await using server = await otherServer();
  await using its = await fixture(() => realmDatabase(4));
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  await using broken = await realm.neighbour();
  await using last = await realm.neighbour();
  for (const { id, pool } of [realm, away, broken, last]) {
    await openSigner(OLD, Date.now).ensureSeed({ realm: id, pool });
  }
  await moveTo(away, await server.database());
  const before = await mastersOf(its, [realm, last]);
  const setMaster = (master: string) =>
    rowsAt(
      its.superuserUrl,
      `set session_replication_role = replica;
        update ${schemaOf(broken)}.secrets set master = '${master}'`,
    );
  await setMaster("another");
  await server.stop();
  const env = { ...server.env, NEW_MASTER_KEY: NEW };
  try {
    const ended = await host.run(url, "rotate-master-key", [], env);
    deepEqual([ended.code, ended.out], [1, ""], ended.said);
    const [head, ...lines] = ended.said.trim().split("\n").slice(-3);
    match(head, /^2 secrets were put .* may still be under it: 2$/);
    match(lines[0], new RegExp(`\\(${away.id}\\): FAILED: .*ECONNREFUSED`));
    match(lines[1], new RegExp(`\\(${broken.id}\\): FAILED: encrypted under another master key`));
  } finally {
    await server.start();
  }
  const after = await mastersOf(its, [realm, last]);
  ok(!after.includes(before[0]), "those that answer are under the new key");
  await setMaster(before[0]);
  const again = await host.run(url, "rotate-master-key", [], env);
  equal(again.code, 0, again.said);
  match(again.out, /^2 secrets are under the new master key\. Set MASTER_KEY/);
});

Deno.test("a rotation of the platform key goes on behind a realm that fails, and is over only without one", async () => {
  await using server = await otherServer();
  await using its = await fixture(() => realmDatabase(3));
  const { host, url, realm } = its;
  await using away = await realm.neighbour();
  await using last = await realm.neighbour();
  const hook = { url: "https://hooks.example.com", events: ["*"] };
  equal((await last.admin.send("POST", "/v1/webhooks", hook)).status, 201);
  await moveTo(away, await server.database());
  const secrets = () =>
    rowsAt<{ secret: Uint8Array }>(url, `select secret from ${schemaOf(last)}.webhooks`);
  const check = () => rowsAt(url, "select platform_key from platform.installation");
  equal((await host.run(url, "migrate", [], server.env)).code, 0); // the first start notes its key
  const before = [await secrets(), await check()];
  await server.stop();
  const env = {
    ...server.env,
    PLATFORM_KEY: NEW_PLATFORM_KEY,
    PLATFORM_KEY_PREVIOUS: PLATFORM_KEY,
  };
  try {
    const ended = await host.run(url, "rotate-platform-key", [], env);
    deepEqual([ended.code, ended.out], [1, ""], ended.said);
    const line = ended.said.trim().split("\n").at(-1)!;
    match(line, new RegExp(`\\(${away.id}\\): FAILED: .*ECONNREFUSED`));
  } finally {
    await server.start();
  }
  const now = [await secrets(), await check()];
  ok(JSON.stringify(now[0]) !== JSON.stringify(before[0]), "the realm behind it is done");
  deepEqual(now[1], before[1], "no process starts with the new key alone");
  const again = await host.run(url, "rotate-platform-key", [], env);
  equal(again.code, 0, again.said);
  ok(JSON.stringify(await check()) !== JSON.stringify(before[1]));
});
