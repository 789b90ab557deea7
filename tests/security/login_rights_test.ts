import { deepEqual, equal, rejects } from "node:assert/strict";
import type { Pool } from "../../db/database.ts";
import { type Login, logIn } from "../../domain/security/sessions.ts";
import { PASSWORD, type Send, testRealm } from "../support/realm.ts";

/** The pool; `meanwhile` happens once the user has been read, before its password is checked. */
function interrupted(pool: Pool, meanwhile: () => Promise<unknown>): Pool {
  let count = 0;
  return {
    get sql() {
      return pool.sql;
    },
    settings: pool.settings,
    renew: (sql) => pool.renew(sql),
    async enter() {
      if (++count === 2) await meanwhile();
      return await pool.enter();
    },
  };
}

Deno.test("a login that began before its user was demoted gives the rights of afterwards", async () => {
  await using realm = await testRealm();
  const made = async (username: string) => {
    const rich = { username, password: PASSWORD, roles: "admin", scopes: "realm" };
    const { status, text, body } = await realm.admin.send("POST", "/v1/users", rich);
    equal(status, 201, text);
    return body.id as string;
  };
  const login = (username: string, admin: boolean): Login => ({
    realm: realm.id,
    username,
    password: PASSWORD,
    admin,
    openFactor: () => null,
    onWrongCodes: () => Promise.resolve(),
    action: "POST /v1/auth/login",
    requestId: "r",
    at: Date.now(),
    address: "127.0.0.1",
    network: "127.0.0.1",
    agent: null,
    ttlS: 3600,
    admitted: () => Promise.resolve(),
  });
  const rest = () => Promise.resolve();
  for (const admin of [false, true]) {
    const username = `demoted ${admin}`;
    const id = await made(username);
    const demote = async () => {
      const changed = await realm.admin.send("PATCH", `/v1/users/${id}`, {
        roles: "user",
        scopes: "own",
      });
      equal(changed.status, 200, changed.text);
    };
    const entering = logIn(interrupted(realm.pool, demote), login(username, admin), rest);
    if (admin) {
      await rejects(entering, { code: "auth.credentials" });
      continue;
    }
    const { user } = await entering;
    deepEqual([user.roles, user.scopes], [["user"], ["own"]]);
  }
});

Deno.test("a stolen key restores no dismissed administrator", async () => {
  await using realm = await testRealm();
  const machine = (await realm.admin.send("POST", "/v1/keys", { name: "m" })).body.key;
  const send: Send = (method, path, body) =>
    realm.nobody(method, path, body, { "x-api-key": machine });
  const rich = { username: "gone", password: PASSWORD, roles: "admin", scopes: "realm" };
  const { id } = (await realm.admin.send("POST", "/v1/users", rich)).body;
  equal((await realm.admin.send("PATCH", `/v1/users/${id}`, { active: false })).status, 200);
  equal((await send("PATCH", `/v1/users/${id}`, { active: true })).body.code, "auth.invalid");
  equal(
    (await send("PATCH", `/v1/users/${id}`, { active: false })).status,
    200,
    "to dismiss it may",
  );
  equal((await send("DELETE", `/v1/users/${id}`)).body.code, "auth.invalid");
  equal((await realm.admin.send("DELETE", `/v1/users/${id}`)).status, 200);
  equal((await send("POST", `/v1/users/${id}/undelete`)).body.code, "auth.invalid");
  equal((await realm.admin.send("POST", `/v1/users/${id}/undelete`)).status, 200);
});
