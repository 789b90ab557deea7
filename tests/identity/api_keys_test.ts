import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { UserRow } from "../../db/identity/users.ts";
import { serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { type Answer, rowsOf, type Send, type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];

async function makeKey(send: Send, input: Record<string, unknown> = {}): Promise<Answer["body"]> {
  const made = await send("POST", "/v1/keys", { name: "importer", ...input });
  equal(made.status, 201, made.text);
  return made.body;
}

/** Sends with a key of a machine. */
function machine(realm: { nobody: Send }, key: string): Send {
  return (method, path, body, headers) =>
    realm.nobody(method, path, body, { "x-api-key": key, ...headers });
}

/** Asks until an answer has a status. */
async function becomes(send: Send, status: number): Promise<Answer> {
  let answer: Answer;
  await until(async () => (answer = await send("GET", "/v1/auth/me")).status === status);
  return answer!;
}

function change(realm: TestRealm, id: string, body: Record<string, unknown>): Promise<Answer> {
  return realm.admin.send("PATCH", `/v1/users/${id}`, body);
}

const test = sharing("api keys in one realm");

test("a login whose user has gone, or has fewer rights by now, makes no key and nothing else of its own", async (realm) => {
  const user = await realm.user();
  const [row] = await rowsOf<UserRow>(realm, "select * from users where id = $1", [user.id]);
  const more = { roles: ["admin", "manage", "user"], scopes: ["realm", "own"] };
  const webhook = { url: "https://example.com/purser", events: ["*"] };
  const asked: [of: Partial<UserRow>, path: string, body: unknown][] = [
    [more, "/v1/keys", { name: "k" }],
    [{ ...more, id: newId(Date.now()) }, "/v1/keys", { name: "k" }],
    [{ ...more, id: newId(Date.now()) }, "/v1/webhooks", webhook],
    [{ ...more, id: newId(Date.now()) }, "/v1/notes", { entity: user.identity, text: "seen" }],
  ];
  for (const [of, path, body] of asked) {
    const keyed: Record<string, string> = { "idempotency-key": crypto.randomUUID() };
    for (const headers of [{}, keyed]) {
      const claims = claimsOf({ ...row, ...of }, realm.made.realm, Date.now(), 3600);
      const key = await realm.services.signingKeys.sign(claims);
      const sent: Record<string, string> = { "x-api-key": key, ...headers };
      const answer = await realm.nobody("POST", path, body, sent);
      deepEqual(codeOf(answer), [401, "auth.revoked"], path);
    }
  }
});

test("a key for a machine acts as its user with the rights that it was given", async (realm) => {
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const idempotent = { "idempotency-key": crypto.randomUUID() };
  const body = { name: "importer", roles: "user", scopes: "own" };
  const made = await manager.send("POST", "/v1/keys", body, idempotent);
  equal(made.status, 201);
  const { key, ...view } = made.body;
  match(key, /^key_[0-9a-f]{32}_[\w-]{43}$/);
  ok(key.includes(realm.id.replaceAll("-", "")));
  deepEqual([view.roles, view.scopes, view.addresses], ["user", "own", []]);
  deepEqual([view.expires_at, view.last_used_at, view.owner], [null, null, manager.id]);
  const again = await manager.send("POST", "/v1/keys", body, idempotent);
  equal(again.headers.get("idempotency-replayed"), "true");
  equal(again.body.id, view.id);
  const asMachine = machine(realm, key);
  const me = await asMachine("GET", "/v1/auth/me");
  equal(me.body.id, manager.id);
  // The key's own rights, beside those of its user.
  deepEqual(me.body.key, { id: view.id, name: view.name, roles: "user", scopes: "own" });
  deepEqual([me.body.roles, me.body.scopes], ["manage,user", "realm,own"]);
  equal((await manager.send("GET", "/v1/auth/me")).body.key, null);
  equal((await asMachine("GET", "/v1/users/all?scope=all")).body.code, "permission.scope");
  equal((await manager.send("GET", "/v1/users/all?scope=all")).status, 200);
  const bearer = { authorization: `Bearer ${key}` };
  equal((await realm.nobody("GET", "/v1/auth/me", undefined, bearer)).status, 200);
  const secret = key.slice(-43);
  for (const path of ["/v1/keys/all", "/v1/keys", `/v1/keys/${view.id}`]) {
    const answer = await manager.send("GET", path);
    equal(answer.status, 200, answer.text);
    ok(answer.text.includes(view.id) && !answer.text.includes(secret));
  }
  const kept = await rowsOf<{ kept: string }>(
    realm,
    "select body as kept from idempotency union all select row_to_json(k)::text from api_keys k",
  );
  ok(kept.length >= 2 && kept.every((row) => !`${row.kept}`.includes(secret)));
  const used = async () => (await manager.send("GET", `/v1/keys/${view.id}`)).body.last_used_at;
  await until(async () => await used() !== null);
});

test("a key's rights end with those of its user", async (realm) => {
  await using other = realm.another();
  const user = await realm.user({ role: "manage", scope: "realm" });
  const { key } = await makeKey(user.send);
  const [here, there] = [machine(realm, key), machine({ nobody: other.send(null) }, key)];
  for (const send of [here, there]) {
    equal((await send("GET", "/v1/users/all?scope=all")).status, 200);
  }
  equal((await change(realm, user.id, { roles: "user", scopes: "own" })).status, 200);
  const narrowed = await here("GET", "/v1/users/all?scope=all");
  deepEqual(codeOf(narrowed), [403, "permission.scope"]);
  await until(async () => (await there("GET", "/v1/users/all?scope=all")).status !== 200);
  equal((await change(realm, user.id, { active: false })).status, 200);
  deepEqual(codeOf(await here("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  deepEqual(codeOf(await becomes(there, 401)), [401, "auth.revoked"]);
  equal((await change(realm, user.id, { active: true })).status, 200);
  equal((await becomes(here, 200)).status, 200, "it was only at rest");
  equal((await realm.admin.send("DELETE", `/v1/users/${user.id}`)).status, 200);
  deepEqual(codeOf(await here("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  equal((await realm.admin.send("POST", `/v1/users/${user.id}/undelete`)).status, 200);
  deepEqual(codeOf(await here("GET", "/v1/auth/me")), [401, "auth.revoked"], "ended for good");
});

test("a key that is ended ends within a second everywhere, by its user or an administrator", async (realm) => {
  await using other = realm.another();
  const user = await realm.user();
  const stranger = await realm.user();
  const manager = await realm.user({ role: "manage", scope: "realm" });
  for (const by of [user, realm.admin]) {
    const { id, key } = await makeKey(user.send);
    const there = machine({ nobody: other.send(null) }, key);
    equal((await machine(realm, key)("GET", "/v1/auth/me")).status, 200);
    equal((await there("GET", "/v1/auth/me")).status, 200);
    deepEqual(codeOf(await stranger.send("DELETE", `/v1/keys/${id}`)), [404, "key.not_found"]);
    deepEqual(codeOf(await manager.send("DELETE", `/v1/keys/${id}`)), [403, "permission.role"]);
    equal((await by.send("DELETE", `/v1/keys/${id}`)).status, 200);
    const gone = await machine(realm, key)("GET", "/v1/auth/me");
    deepEqual(codeOf(gone), [401, "auth.revoked"]);
    await becomes(there, 401);
    deepEqual(codeOf(await by.send("DELETE", `/v1/keys/${id}`)), [404, "key.not_found"]);
    const revive = realm.command((tx) =>
      tx`update api_keys set deleted_at = null where id = ${id}`.then(() => {})
    );
    await rejects(revive, /stays so/);
  }
});

test("a key for a machine ends itself, and another key of its user only with the rights of an administrator", async (realm) => {
  const [poor, rich, other] = [
    await makeKey(realm.admin.send, { roles: "user", scopes: "own" }),
    await makeKey(realm.admin.send),
    await makeKey(realm.admin.send),
  ];
  const end = (by: { key: string }, one: { id: string }) =>
    machine(realm, by.key)("DELETE", `/v1/keys/${one.id}`);
  deepEqual(codeOf(await end(poor, rich)), [403, "permission.role"]);
  equal((await machine(realm, rich.key)("GET", "/v1/auth/me")).status, 200);
  equal((await end(poor, poor)).status, 200);
  equal((await end(rich, other)).status, 200);
});

test("no key has more rights than its user, whichever role writes it", async (realm) => {
  const user = await realm.user();
  for (
    const [more, code] of [
      [{ roles: "manage" }, "permission.role"],
      [{ roles: "admin,user" }, "permission.role"],
      [{ scopes: "realm" }, "permission.scope"],
    ] as const
  ) {
    const answer = await user.send("POST", "/v1/keys", { name: "wide", ...more });
    deepEqual(codeOf(answer), [403, code]);
  }
  const write = (owner: string, roles: string[]) =>
    serializable(realm.pool, async (tx) => {
      await tx`insert into api_keys (id, name, digest, roles, scopes, owner, created_at)
        values (${crypto.randomUUID()}, 'wide', ${crypto.getRandomValues(new Uint8Array(32))},
          ${roles}, ${["own"]}, ${owner}, now())`;
    });
  await rejects(write(user.id, ["manage", "user"]), /no more than the rights of its user/);
  await write(user.id, ["user"]);
  await rejects(
    realm.command((tx) => tx`update api_keys set roles = ${["admin", "user"]}`.then(() => {})),
    /permission denied/,
  );
});

test("keys are made with a login of the last minutes, not with a key or an old login", async (realm) => {
  const { key } = await makeKey(realm.admin.send);
  const byKey = await machine(realm, key)("POST", "/v1/keys", { name: "child" });
  deepEqual(codeOf(byKey), [401, "auth.invalid"]);
  const logout = await machine(realm, key)("POST", "/v1/auth/logout");
  deepEqual(codeOf(logout), [401, "auth.invalid"]);
  const ago = Date.now() - 11 * 60_000;
  const old = await realm.services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, ago, realm.services.config.userKeyTtlS),
  );
  equal((await machine(realm, old)("GET", "/v1/auth/me")).status, 200);
  const stale = await machine(realm, old)("POST", "/v1/keys", { name: "child" });
  deepEqual(codeOf(stale), [401, "auth.expired"]);
});

Deno.test("a key holds until it expires, and only from its networks", async () => {
  await using realm = await testRealm({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  const from = (address: string) => ({ "x-forwarded-for": address });
  const addresses = ["192.0.2.0/24", "2001:db8:7::/48"];
  const { key } = await makeKey(realm.admin.send, { addresses, expires_at: Date.now() + 60_000 });
  const ask = (address: string) =>
    machine(realm, key)("GET", "/v1/auth/me", undefined, from(address));
  for (const inside of ["192.0.2.200", "2001:db8:7:1::9"]) equal((await ask(inside)).status, 200);
  for (const outside of ["192.0.3.1", "2001:db8:8::1", "10.0.0.1"]) {
    deepEqual(codeOf(await ask(outside)), [401, "auth.invalid"]);
  }
  const real = realm.services.now;
  realm.services.now = () => real() + 61_000;
  deepEqual(codeOf(await ask("192.0.2.1")), [401, "auth.expired"]);
  realm.services.now = real;
  for (
    const wrong of [
      { addresses: ["192.0.2.1/24"] },
      { addresses: ["everywhere"] },
      { expires_at: Date.now() - 1 },
      { roles: "root" },
      { name: "" },
    ]
  ) {
    const refused = await realm.admin.send("POST", "/v1/keys", { name: "x", ...wrong });
    deepEqual(codeOf(refused), [400, "request.invalid"], JSON.stringify(wrong));
  }
});

test("a key costs no query of its own, a made-up one soon none at all", async (realm) => {
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const at = Date.now(); // what it knows of the realm does not age: else it is read twice a second
  const now = () => at;
  Object.assign(other.services, { now, realms: openRealmContexts(other.database, now) });
  const neighbour = await realm.neighbour();
  const { key } = await makeKey(realm.admin.send);
  const send = (given: string) => machine({ nobody: other.send(null) }, given);
  const passes = () => statements.filter((text) => /from (api_keys|realms)\b/.test(text)).length;
  equal((await send(key)("GET", "/health/live")).status, 200);
  equal((await send(key)("GET", "/v1/auth/me")).status, 200);
  const before = passes();
  for (let i = 0; i < 50; i++) equal((await send(key)("GET", "/v1/auth/me")).status, 200);
  equal(passes(), before);
  const secret = "A".repeat(43);
  const foreign = key.replace(realm.id.replaceAll("-", ""), neighbour.id.replaceAll("-", ""));
  deepEqual(codeOf(await send(foreign)("GET", "/v1/auth/me")), [401, "auth.invalid"]);
  const madeUp = (i: number) =>
    `key_${(i % 2 ? realm.id : crypto.randomUUID()).replaceAll("-", "")}_${secret}`;
  for (let i = 0; i < 29; i++) {
    deepEqual(codeOf(await send(madeUp(i))("GET", "/v1/auth/me")), [401, "auth.invalid"]);
  }
  statements.length = 0;
  for (let i = 0; i < 10; i++) equal((await send(madeUp(i))("GET", "/v1/auth/me")).status, 429);
  equal(passes(), 0);
  equal((await send(key)("GET", "/v1/auth/me")).status, 200, "a key that is known goes on");
  for (const odd of ["key_", "key_x_y", `key_${"z".repeat(32)}_${secret}`, `${key}A`]) {
    deepEqual(codeOf(await send(odd)("GET", "/v1/auth/me")), [401, "auth.invalid"], odd);
  }
});

Deno.test("concurrent made-up keys are looked up a few at a time, and no more when they are too many; a right one once", async () => {
  await using realm = await testRealm();
  const statements: string[] = [];
  const proxies = { TRUSTED_PROXIES: "127.0.0.1" };
  await using other = realm.another(proxies, (text) => statements.push(text));
  const { key } = await makeKey(realm.admin.send);
  const ask = (given: string, address: string) =>
    other.send(given)("GET", "/v1/auth/me", undefined, { "x-forwarded-for": address });
  const right = await Promise.all(Array.from({ length: 200 }, () => ask(key, "192.0.2.1")));
  deepEqual(new Set(right.map(({ status }) => status)), new Set([200]));
  const passes = () => statements.filter((text) => text.includes("where k.digest")).length;
  equal(passes(), 1);
  const madeUp = () => `key_${realm.id.replaceAll("-", "")}_${crypto.randomUUID().padEnd(43, "A")}`;
  const wrong = await Promise.all(Array.from({ length: 300 }, () => ask(madeUp(), "192.0.2.2")));
  deepEqual(new Set(wrong.map(({ status }) => status)), new Set([401, 429, 503]));
  ok(passes() <= 1 + 30 + 3, `${passes()} passes`);
  const elsewhere = await Promise.all(
    Array.from(
      { length: 300 },
      (_, i) =>
        ask(`key_${crypto.randomUUID().replaceAll("-", "")}_${"A".repeat(43)}`, `192.0.3.${i % 2}`),
    ),
  );
  ok(elsewhere.every(({ status }) => [401, 429, 503].includes(status)));
  const realms = statements.filter((text) => /from realms/.test(text)).length;
  ok(realms <= 2 * (30 + 3) + 40, `${realms} passes at realms`);
  equal((await ask(key, "192.0.2.2")).status, 200, "a key that is known goes on");
});
