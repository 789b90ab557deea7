/** Keys of a restored realm: logins of before end, and machine keys where that is asked for. */
import { deepEqual, equal, match } from "node:assert/strict";
import { revokeUser } from "../../domain/security/sessions.ts";
import { until } from "../support/eventually.ts";
import { auditAll } from "../support/proofs.ts";
import { PASSWORD, PLATFORM_KEY, type TestProcess } from "../support/realm.ts";
import { adminAt, type Fixture, fixture, reportOf, rowsAt } from "./fixture.ts";
import { schemaOf } from "./servers.ts";

/** Restores the realm of a backup beside the process that serves it. */
async function putBack({ host, url, realm }: Fixture, path: string, ...args: string[]) {
  const schema = schemaOf(realm);
  await rowsAt(
    url,
    `drop schema if exists lost cascade; alter schema ${schema} rename to lost`,
  );
  return reportOf(await host.call(url, "restore", [path, "--realm", realm.id, ...args]));
}

Deno.test("no login of before a restore works after it, machine keys work again unless they are ended with it, and new ones of both do", async () => {
  await using its = await fixture();
  const { realm, url, host } = its;
  const { send } = realm.admin;
  await using process = realm.another({ DATABASE_URL: url });
  const customer = await realm.user();
  const newKey = async (by = send) => {
    const { status, body, text } = await by("POST", "/v1/keys", { name: "machine" });
    equal(status, 201, text);
    return { id: body.id as string, send: process.send(body.key) };
  };
  const [kept, revoked] = [await newKey(), await newKey()];
  const made = await its.backUp();
  equal((await send("DELETE", `/v1/keys/${revoked.id}`)).status, 200);
  const since = await realm.user(); // whom the restored realm does not know
  const asked = async (by = send) => {
    const { status, body } = await by("GET", "/v1/accounts");
    return status === 200 ? status : body.code;
  };
  deepEqual(await Promise.all([send, kept.send, revoked.send, customer.send].map(asked)), [
    ...[200, 200, "auth.revoked", 200],
  ]);

  const first = await putBack(its, made.path);
  deepEqual(first.machine_keys, { [realm.id]: { working: 2, ended: 0 } });
  deepEqual(
    await Promise.all([send, customer.send, since.send, kept.send, revoked.send].map(asked)),
    ["auth.revoked", "auth.revoked", "auth.revoked", 200, 200],
  );
  const anew = await adminAt(process, realm);
  equal(await asked(anew), 200);
  const open = `select 1 from ${schemaOf(realm)}.logins where ended_at is null`;
  deepEqual(await rowsAt(url, open), []);

  const second = await putBack(its, made.path, "--end-keys");
  deepEqual(second.machine_keys, { [realm.id]: { working: 0, ended: 2 } });
  deepEqual(await Promise.all([anew, kept.send, revoked.send].map(asked)), [
    ...["auth.revoked", "auth.revoked", "auth.revoked"],
  ]);
  const last = await adminAt(process, realm);
  equal(await asked((await newKey(last)).send), 200);
  const lines = (await last("GET", "/v1/audit")).body.map(({ action }: { action: string }) =>
    action
  )
    .filter((action: string) => action.startsWith("restore."));
  deepEqual(lines.sort(), ["restore.keys", "restore.logins"]);
  deepEqual((await auditAll(url, PLATFORM_KEY)).wrong, []);

  const wrong = await host.call(url, "restore", [made.path, "--check", "--end-keys"]);
  match(wrong.said, /there is no key to end/);
  const keys = { PLATFORM_KEY: "the-next-platform-key", PLATFORM_KEY_PREVIOUS: PLATFORM_KEY };
  const rotated = reportOf(await host.call(url, "restore", [made.path, "--check"], keys));
  match(rotated.verdict, /PLATFORM_KEY_PREVIOUS: start every process with both keys and run/);
  equal(reportOf(await host.call(url, "restore", [made.path, "--check"])).verdict, "whole");
});

/** Logs the customer of a realm in through a process; gives what it sends with. */
async function logIn(process: TestProcess, { realm, url }: Fixture) {
  const { made: { realm: { realm_key }, applicationKey } } = realm;
  const named = `select username from ${schemaOf(realm)}.users where scopes = '{own}'`;
  const [{ username }] = await rowsAt<{ username: string }>(url, named);
  const body = { realm_key, username, password: PASSWORD };
  const answer = await process.send(applicationKey)("POST", "/v1/auth/login", body);
  equal(answer.status, 200, answer.text);
  const send = process.send(answer.body["x-api-key"]);
  return async () => {
    const { status, body } = await send("GET", "/v1/accounts");
    return status === 200 ? status : body.code;
  };
}

Deno.test("no login of before a restore works after it, although it was given after the backup and the database's clock was ahead", async () => {
  await using its = await fixture();
  const { realm, url } = its;
  const { id } = await realm.user();
  await using process = realm.another({ DATABASE_URL: url });
  const made = await its.backUp();
  // As revokeUser() leaves it while the database's clock is an hour ahead: the id of the next key is of that time.
  const ahead = `(extract(epoch from now() + interval '1 hour') * 1000)::bigint`;
  await rowsAt(url, `update ${schemaOf(realm)}.users set keys_until = ${ahead} where id = '${id}'`);
  const since = await logIn(process, its);
  equal(await since(), 200);
  await putBack(its, made.path);
  equal(await since(), "auth.revoked");
  const anew = await logIn(process, its);
  equal(await anew(), 200);
  equal(await since(), "auth.revoked");
  await realm.command((tx) => revokeUser(tx, realm.admin.actor, id, 3600));
  await until(async () => await anew() === "auth.revoked");
});

Deno.test("the statements that end logins and machine keys after another way to restore do so", async () => {
  await using its = await fixture();
  const { realm, url } = its;
  const page = await Deno.readTextFile(
    new URL("../../docs/operations/restore.md", import.meta.url),
  );
  const statements = [
    /^ +(update platform\.realms set login_epoch = .*?);/m,
    /^ +(update "realm_<id>"\.api_keys .*?);/m,
  ]
    .map((pattern) => pattern.exec(page)![1].replace('"realm_<id>"', schemaOf(realm)));
  const made = await realm.admin.send("POST", "/v1/keys", { name: "machine" });
  equal(made.status, 201, made.text);
  const keys = [realm.admin.key, made.body.key];
  await using process = realm.another({ DATABASE_URL: url });
  const codes = async () => {
    process.services.realms.peek(realm.id)?.refresh();
    return await Promise.all(keys.map(async (key) => {
      const { status, body } = await process.send(key)("GET", "/v1/accounts");
      return status === 200 ? status : body.code;
    }));
  };
  deepEqual(await codes(), [200, 200]);
  for (const statement of statements) await rowsAt(url, statement);
  deepEqual(await codes(), ["auth.revoked", "auth.revoked"]);
  deepEqual((await auditAll(url, PLATFORM_KEY)).wrong, []);
});
