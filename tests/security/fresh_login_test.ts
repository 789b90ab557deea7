import { deepEqual, equal } from "node:assert/strict";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { type Answer, PASSWORD, rowsOf, type Send, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("recent logins in one realm");

const codeOf = ({ status, body }: Answer) => [status, body.code];
const SELF = "00000000-0000-7000-8000-000000000001";

/** Operations that take a login of the last minutes, by route; with a body for which they do. */
const DANGEROUS: Readonly<Record<string, unknown>> = {
  "POST /v1/keys": { name: "k" },
  "POST /v1/users/{id}/totp": undefined,
  "POST /v1/users/{id}/totp/confirm": { code: "123456" },
  "DELETE /v1/users/{id}/totp": undefined,
  "DELETE /v1/users/{id}": undefined,
  "PATCH /v1/users/{id}": { password: "another horse battery" },
  "POST /v1/users/{id}/undelete": undefined,
  "POST /v1/users": { username: "x", password: PASSWORD, roles: "admin", scopes: "realm" },
  "POST /v1/realms/{id}/users": { username: "x", password: PASSWORD, scopes: "realm" },
  "PATCH /v1/realms/{id}": { withdrawals: {} },
  "DELETE /v1/stops/{id}": undefined,
  "POST /v1/solvency/write-off": { asset: "ETH", reason: "r" },
  "POST /v1/webhooks": { url: "https://hooks.example.com", events: ["*"] },
  "PATCH /v1/webhooks/{id}": { url: "https://elsewhere.example.com" },
  "POST /v1/webhooks/{id}/undelete": undefined,
  "POST /v1/webhooks/{id}/rotate": {},
  "PATCH /v1/ramps/{id}": { authentication: { api_key: "k", secret: "s" } },
};
/** Taken by the operator alone, whose key is no login. */
const OPERATORS = [
  "POST /v1/realms",
  "POST /v1/realms/{id}/keys",
  "DELETE /v1/realms/{id}/keys/{key}",
  "POST /v1/realms/{id}/realm-key",
  "DELETE /v1/realms/{id}/realm-key/previous",
];
/** Asks for a login, or a password, in another way. */
const GUARDED = [
  "POST /v1/users/{id}/password",
  "POST /v1/auth/logout",
  "DELETE /v1/auth/logins",
  "DELETE /v1/auth/logins/{id}",
  "DELETE /v1/users/{id}/logins",
  "DELETE /v1/users/{id}/logins/{login}",
];

/** Every other change: machines do it day by day, or it stops something. */
const ORDINARY = [
  "POST /v1/ramps",
  "DELETE /v1/ramps/{id}",
  "POST /v1/ramps/{id}/undelete",
  "POST /v1/ramps/{id}/deposit",
  "POST /v1/ramps/{id}/withdraw",
  "POST /v1/ramps/{id}/transfers/{transfer}/resolve",
  "POST /v1/identities/companies",
  "PATCH /v1/identities/companies/{id}",
  "DELETE /v1/identities/companies/{id}",
  "POST /v1/identities/person",
  "POST /v1/identities/persons/sync",
  "POST /v1/identities/{id}/person",
  "PATCH /v1/identities/{id}/person",
  "DELETE /v1/identities/{id}/person",
  "PATCH /v1/identities/{id}/person/{person}/assign",
  "PATCH /v1/identities/{id}/person/unassign",
  "POST /v1/identities/{id}/person/event/{event}",
  "POST /v1/apps/message/sms",
  "POST /v1/apps/message/whatsapp",
  "POST /v1/apps/message/email",
  "POST /v1/users/{id}/message/sms",
  "POST /v1/users/{id}/message/whatsapp",
  "POST /v1/users/{id}/message/email",
  "POST /v1/identities/{id}/person/message/sms",
  "POST /v1/identities/{id}/person/message/whatsapp",
  "POST /v1/identities/{id}/person/message/email",
  "PATCH /v1/messages/{id}",
  "POST /v1/messages/webhook/infobip",
  "POST /v1/messages/webhook/whatsapp",
  "DELETE /v1/webhooks/{id}",
  "POST /v1/webhooks/{id}/test",
  "POST /v1/webhooks/{id}/deliveries/resend",
  "POST /v1/webhooks/{id}/deliveries/{delivery}/resend",
  "POST /v1/auth/admins/login",
  "POST /v1/auth/users/login",
  "POST /v1/auth/login",
  "DELETE /v1/keys/{id}",
  "POST /v1/identities",
  "DELETE /v1/identities/{id}",
  "POST /v1/identities/{id}/undelete",
  "PATCH /v1/identities/{id}",
  "POST /v1/accounts/{id}/address",
  "POST /v1/accounts/{id}/assign/{external_address}",
  "DELETE /v1/accounts/{id}/assign/{external_address}",
  "POST /v1/deposits/rescan",
  "POST /v1/apps/deposit",
  "DELETE /v1/apps/deposit/{id}",
  "POST /v1/apps/deposit/{id}/undelete",
  "PATCH /v1/apps/deposit/{id}",
  "POST /v1/accounts",
  "DELETE /v1/accounts/{id}",
  "POST /v1/accounts/{id}/undelete",
  "PATCH /v1/accounts/{id}",
  "POST /v1/accounts/{id}/freeze",
  "POST /v1/accounts/{id}/unfreeze",
  "POST /v1/accounts/{id}/deactivate",
  "POST /v1/accounts/{id}/activate",
  "POST /v1/notes",
  "POST /v1/accounts/{id}/consolidate",
  "POST /v1/accounts/{id}/consolidations/{consolidation}/speed-up",
  "POST /v1/accounts/{id}/blocks",
  "DELETE /v1/accounts/{id}/blocks/{block}",
  "POST /v1/accounts/{id}/blocks/{block}/capture",
  "POST /v1/aliases",
  "DELETE /v1/aliases/{id}",
  "POST /v1/aliases/{id}/undelete",
  "PATCH /v1/aliases/{id}",
  "POST /v1/currencies",
  "DELETE /v1/currencies/{id}",
  "POST /v1/currencies/{id}/undelete",
  "POST /v1/currencies/{id}/issue",
  "POST /v1/currencies/{id}/destroy",
  "PATCH /v1/currencies/{id}",
  "PUT /v1/rates",
  "PATCH /v1/transactions/{id}",
  "POST /v1/transactions/{id}/revert",
  "POST /v1/transactions",
  "POST /v1/transactions/batch",
  "POST /v1/withdrawals/estimate",
  "POST /v1/withdrawals",
  "PATCH /v1/withdrawals/{id}",
  "POST /v1/withdrawals/{id}/speed-up",
  "POST /v1/withdrawals/{id}/cancel",
  "POST /v1/fungible/token/deploy",
  "POST /v1/fungible/token/register",
  "DELETE /v1/fungible/token/{id}",
  "POST /v1/fungible/token/{id}/undelete",
  "POST /v1/solvency/cover",
  "POST /v1/stops",
  "POST /v1/jobs/{id}/retry",
  "POST /v1/jobs/{id}/discard",
];

Deno.test("every route that changes something says whether a stolen key may use it", () => {
  const routes = allRoutes().filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path}`);
  const classified = [...Object.keys(DANGEROUS), ...OPERATORS, ...GUARDED, ...ORDINARY];
  // A new route belongs into one of the four lists above: it is for its author to say into which.
  deepEqual(routes.sort(), classified.sort());
});

test("an action that a stolen key must not do takes a login of the last minutes, on every route", async (realm) => {
  const { services } = realm;
  const machine = (await realm.admin.send("POST", "/v1/keys", { name: "m" })).body.key;
  const ago = Date.now() - 11 * 60_000;
  const old = await services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, ago, services.config.userKeyTtlS),
  );
  const by = (key: string): Send => (method, path, body) =>
    realm.nobody(method, path, body, { "x-api-key": key });
  const routes = allRoutes().filter(({ method, access }) => method !== "GET" && access !== "open");
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  const fresh = routes.filter(({ freshLogin }) => freshLogin !== undefined)
    .map(({ method, path }) => `${method} ${path}`);
  deepEqual(fresh.sort(), Object.keys(DANGEROUS).sort());
  for (const name of [...OPERATORS, ...GUARDED]) equal(names.includes(name), true, name);
  for (const [name, body] of Object.entries(DANGEROUS)) {
    const [method, path] = name.split(" ");
    const at = path.replace("{id}", path.includes("realms") ? realm.id : SELF);
    deepEqual(codeOf(await by(machine)(method, at, body)), [401, "auth.invalid"], name);
    deepEqual(codeOf(await by(old)(method, at, body)), [401, "auth.expired"], name);
  }
  for (const name of OPERATORS) {
    const [method, path] = name.split(" ");
    const at = path.replace("{id}", realm.id).replace("{key}", SELF);
    for (const key of [machine, old]) {
      deepEqual(codeOf(await by(key)(method, at)), [401, "auth.invalid"], name);
    }
  }
  for (const name of GUARDED) {
    const [method, path] = name.split(" ");
    const at = path.replace("{id}", realm.admin.id).replace("{login}", SELF);
    const body = path.endsWith("password")
      ? { password: PASSWORD, new_password: "another horse battery" }
      : undefined;
    deepEqual(codeOf(await by(machine)(method, at, body)), [401, "auth.invalid"], name);
  }
  equal((await by(old)("GET", "/v1/auth/me")).status, 200, "for the rest it does");
});

test("a key for machines gives nobody rights, and makes plain users only", async (realm) => {
  const machine = (await realm.admin.send("POST", "/v1/keys", { name: "m" })).body.key;
  const send: Send = (method, path, body) =>
    realm.nobody(method, path, body, { "x-api-key": machine });
  const plain = { username: "plain", password: PASSWORD };
  const made = await send("POST", "/v1/users", plain);
  equal(made.status, 201, made.text);
  for (const more of [{ roles: "admin" }, { roles: "manage,user" }, { scopes: "realm,own" }]) {
    const rich = { ...plain, username: crypto.randomUUID(), ...more };
    for (const path of ["/v1/users", `/v1/realms/${realm.id}/users`]) {
      deepEqual(codeOf(await send("POST", path, rich)), [401, "auth.invalid"]);
    }
    deepEqual(codeOf(await send("PATCH", `/v1/users/${made.body.id}`, more)), [
      401,
      "auth.invalid",
    ]);
  }
  const renamed = await send("PATCH", `/v1/users/${made.body.id}`, {
    roles: "user",
    data: { a: 1 },
  });
  equal(renamed.status, 200, renamed.text);
  equal((await send("PATCH", `/v1/realms/${realm.id}`, { name: "n" })).status, 200);
  const stop = await send("POST", "/v1/stops", { what: "moves", reason: "r" });
  equal(stop.status, 201, "to stop it may");
  equal((await realm.admin.send("DELETE", `/v1/stops/${stop.body.id}`)).status, 200);
  const byOperator = await realm.operator("POST", `/v1/realms/${realm.id}/users`, {
    ...plain,
    username: "rich",
    roles: "admin",
  });
  equal(byOperator.status, 201, byOperator.text);
});

test("a stolen key takes away no name by which a user logs in, and no address of an administrator", async (realm) => {
  const user = await realm.user();
  const keyOf = async (send: Send) => (await send("POST", "/v1/keys", { name: "m" })).body.key;
  const by = (key: string): Send => (method, path, body) =>
    realm.nobody(method, path, body, { "x-api-key": key });
  const [own, admin] = [by(await keyOf(user.send)), by(await keyOf(realm.admin.send))];
  const self = `/v1/users/${realm.admin.id}`;
  const attacks: [Send, string, unknown][] = [
    [own, `/v1/users/${user.id}`, { username: "somebody else" }],
    [admin, `/v1/users/${user.id}`, { username: "somebody else" }],
    [admin, self, { username: "somebody else" }],
    [admin, self, { channel: { email: "thief@b.example" } }],
    [admin, self, { channel: {}, data: { email: "thief@b.example" } }],
  ];
  for (const [send, path, body] of attacks) {
    deepEqual(codeOf(await send("PATCH", path, body)), [401, "auth.invalid"], JSON.stringify(body));
  }
  const { username } = (await user.send("GET", `/v1/users/${user.id}`)).body;
  const harmless = { username, channel: { email: "a@b.example", phone: "1" }, data: { a: 1 } };
  const kept = await admin("PATCH", `/v1/users/${user.id}`, harmless);
  equal(kept.status, 200, kept.text);
  const renamed = await realm.admin.send("PATCH", `/v1/users/${user.id}`, { username: "renamed" });
  equal(renamed.status, 200, renamed.text);
  // Nor from an administrator who was shut out before, and may come back.
  const other = `/v1/users/${(await realm.user({ role: "admin", scope: "realm" })).id}`;
  equal((await admin("PATCH", other, { active: false })).status, 200);
  const moved = await admin("PATCH", other, { channel: { email: "thief@b.example" } });
  deepEqual(codeOf(moved), [401, "auth.invalid"]);
});

test("an action that takes a recent login is done by a repeat under the same idempotency key, after a login", async (realm) => {
  const user = await realm.user();
  const { signingKeys, config } = realm.services;
  const ago = Date.now() - 11 * 60_000;
  const old = await signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, ago, config.userKeyTtlS),
  );
  const rename = (key: string) =>
    realm.nobody("PATCH", `/v1/users/${user.id}`, { username: "renamed later" }, {
      "x-api-key": key,
      "idempotency-key": "rename",
    });
  deepEqual(codeOf(await rename(old)), [401, "auth.expired"]);
  deepEqual(codeOf(await rename(old)), [401, "auth.expired"]);
  const renamed = await rename(realm.admin.key);
  equal(renamed.status, 200, renamed.text);
  const repeated = await rename(old);
  deepEqual([repeated.status, repeated.headers.get("idempotency-replayed")], [200, "true"]);
});

Deno.test("a process whose clock is behind takes no old login for a recent one, and no key that has expired", async () => {
  await using realm = await testRealm();
  await using process = realm.another();
  const made = await realm.admin.send("POST", "/v1/keys", {
    name: "machine",
    expires_at: Date.now() + 3_600_000,
  });
  equal(made.status, 201, made.text);
  await rowsOf(
    realm,
    "update api_keys set expires_at = now() - interval '1 minute' where id = $1",
    [made.body.id],
  );
  const now = () => Date.now() - 3_600_000;
  Object.assign(process.services, { now, realms: openRealmContexts(process.database, now) });
  const claims = claimsOf(realm.made.admin, realm.made.realm, Date.now() - 40 * 60_000, 86_400);
  const old = process.send(await realm.services.signingKeys.sign(claims));
  equal((await old("GET", "/v1/auth/me")).status, 200);
  deepEqual(codeOf(await old("POST", "/v1/keys", { name: "k" })), [401, "auth.expired"]);
  const expired = process.send(made.body.key);
  deepEqual(codeOf(await expired("GET", "/v1/auth/me")), [401, "auth.expired"]);
});
