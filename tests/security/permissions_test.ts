/**
 * The six rows of the specification against the running service: what each role may do within each
 * scope, over real HTTP, printed as a table. Then those who would like to do more.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import type { Role, Scope } from "../../domain/actor.ts";
import { createApp } from "../../routes/http/app.ts";
import { PLATFORM_KEY, type TestRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("roles and scopes in one realm");

const ACTS = [
  "read own",
  "read other",
  "write own",
  "write other",
  "delete own",
  "delete other",
  "undelete own",
  "undelete other",
  "create user",
  "set holder",
  "set owner",
  "delete other user",
  "delete own user", // the last act: its keys end with it
] as const;
type Act = typeof ACTS[number];

const ROLE = "permission.role";
const SCOPE = "permission.scope";
const OWNER = "permission.owner";
const HIDDEN = "not_found";
const YES = "yes";

/** Permissions of each row (service.md, Authentication, 6), in the order of {@link ACTS}. */
const EXPECTED: Readonly<Record<`${Role},${Scope}`, readonly string[]>> = {
  "user,own": [
    ...[YES, HIDDEN, YES, HIDDEN, YES, HIDDEN, ROLE, HIDDEN],
    ...[ROLE, ROLE, ROLE, HIDDEN, ROLE],
  ],
  "user,realm": [
    ...[YES, YES, YES, OWNER, YES, OWNER, ROLE, ROLE],
    ...[ROLE, ROLE, ROLE, ROLE, ROLE],
  ],
  "manage,own": [
    ...[YES, HIDDEN, YES, HIDDEN, YES, HIDDEN, YES, HIDDEN],
    ...[ROLE, SCOPE, SCOPE, HIDDEN, YES],
  ],
  "manage,realm": [
    ...[YES, YES, YES, YES, YES, YES, YES, YES],
    ...[ROLE, YES, YES, YES, YES],
  ],
  "admin,own": [
    ...[YES, HIDDEN, YES, HIDDEN, YES, HIDDEN, YES, HIDDEN],
    ...[YES, SCOPE, SCOPE, HIDDEN, YES],
  ],
  "admin,realm": [
    ...[YES, YES, YES, YES, YES, YES, YES, YES],
    ...[YES, YES, YES, YES, YES],
  ],
};

interface Reply {
  status: number;
  // Tests look into answers freely.
  // deno-lint-ignore no-explicit-any
  body: any;
}
type Ask = (key: string, method: string, path: string, body?: unknown) => Promise<Reply>;

/** Collections whose entities anyone may make, change, delete and restore. */
const KINDS: Readonly<Record<string, (of: TestUser, asset: string) => Record<string, unknown>>> = {
  accounts: (_of, asset) => ({ type: "virtual", asset }),
  identities: () => ({ type: "person" }),
  aliases: (of) => ({
    alias: `alias-${crypto.randomUUID()}`,
    type: "identity",
    identity: of.identity,
  }),
};

test("the six rows of roles and scopes hold over HTTP, for every kind of entity", async (realm) => {
  await using way = serve(realm);
  const asset = (await realm.currency("0")).name;
  for (const kind of Object.keys(KINDS)) {
    const found: Record<string, string[]> = {};
    for (const row of Object.keys(EXPECTED) as `${Role},${Scope}`[]) {
      const [role, scope] = row.split(",") as [Role, Scope];
      const user = await realm.user({ role, scope });
      found[row] = await tryAll(realm, way.ask, { user, kind, asset });
    }
    print(kind, found);
    deepEqual(found, EXPECTED, kind);
  }
});

test("a user sees its own record and identity, whichever user owns them", async (realm) => {
  const user = await realm.user();
  equal((await user.send("GET", `/v1/users/${user.id}`)).status, 200);
  equal((await user.send("GET", `/v1/identities/${user.identity}`)).status, 200);
  const users = (await user.send("GET", "/v1/users")).body;
  deepEqual([users.total, users.rows.map((row: { id: string }) => row.id)], [1, [user.id]]);
  const identities = (await user.send("GET", "/v1/identities/all")).body;
  deepEqual(identities.map((row: { id: string }) => row.id), [user.identity]);
  equal((await user.send("GET", "/v1/users/count")).body, 1);
});

test("nobody gives more than they hold: by creating, changing or restoring a user", async (realm) => {
  const low = await realm.user({ role: "admin", scope: "own" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const strong = await realm.user({ role: "admin", scope: "realm" });
  const created = await low.send("POST", "/v1/users", {
    username: "higher",
    password: "correct horse battery",
    roles: "admin",
    scopes: "realm",
  });
  deepEqual([created.status, created.body.code], [403, SCOPE]);
  const self = `/v1/users/${manager.id}`;
  const raised = await manager.send("PATCH", self, { roles: "admin" });
  deepEqual([raised.status, raised.body.code], [403, ROLE]);
  const wider = await low.send("PATCH", `/v1/users/${low.id}`, { scopes: "realm,own" });
  deepEqual([wider.status, wider.body.code], [403, SCOPE]);
  // Taking over a stronger user, by its password or by bringing it back, would be a way up as well.
  const taken = await manager.send("PATCH", `/v1/users/${strong.id}`, { password: "0123456789ab" });
  deepEqual([taken.status, taken.body.code], [403, ROLE]);
  equal((await manager.send("DELETE", `/v1/users/${strong.id}`)).status, 403);
  equal((await realm.admin.send("DELETE", `/v1/users/${strong.id}`)).status, 200);
  const back = await manager.send("POST", `/v1/users/${strong.id}/undelete`);
  deepEqual([back.status, back.body.code], [403, ROLE]);
});

test("a role of the lowest kind cannot give itself another owner or another's identity", async (realm) => {
  const user = await realm.user();
  const other = await realm.user();
  const mine = (await user.send("POST", "/v1/identities", {})).body.id;
  for (const change of [{ owner: other.id }, { deleted: true }, { id: other.id }]) {
    const answer = await user.send("PATCH", `/v1/identities/${mine}`, change);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
  }
  const adopted = await user.send("PATCH", `/v1/users/${user.id}`, { identity: other.identity });
  equal(adopted.status, 400);
});

/** Tries every act as one user on entities of one kind, and says how each ended. */
async function tryAll(
  realm: TestRealm,
  ask: Ask,
  { user, kind, asset }: { user: TestUser; kind: string; asset: string },
): Promise<string[]> {
  const path = `/v1/${kind}`;
  const make = async (by: TestUser): Promise<string> => {
    const answer = await ask(by.key, "POST", path, KINDS[kind](by, asset));
    equal(answer.status, 201, JSON.stringify(answer.body));
    return `${path}/${answer.body.id}`;
  };
  const own = await make(user);
  const other = await make(realm.admin);
  const [goneOwn, goneOther] = [await make(user), await make(realm.admin)];
  equal((await ask(user.key, "DELETE", goneOwn)).status, 200);
  equal((await ask(realm.admin.key, "DELETE", goneOther)).status, 200);
  const stranger = await realm.user();
  const account = { type: "virtual", asset };
  const newUser = { username: `u-${crypto.randomUUID()}`, password: "correct horse battery" };
  const data = { data: { touched: true } };
  const as = (method: string, at: string, body?: unknown) => ask(user.key, method, at, body);
  const attempts: Record<Act, () => Promise<Reply>> = {
    "read own": () => as("GET", own),
    "read other": () => as("GET", other),
    "write own": () => as("PATCH", own, data),
    "write other": () => as("PATCH", other, data),
    "delete own": () => as("DELETE", own),
    "delete other": () => as("DELETE", other),
    "undelete own": () => as("POST", `${goneOwn}/undelete`),
    "undelete other": () => as("POST", `${goneOther}/undelete`),
    "create user": () => as("POST", "/v1/users", newUser),
    "set holder": () => as("POST", "/v1/accounts", { ...account, holder: stranger.identity }),
    "set owner": () => as("POST", "/v1/accounts", { ...account, owner: stranger.id }),
    "delete other user": () => as("DELETE", `/v1/users/${stranger.id}`),
    "delete own user": () => as("DELETE", `/v1/users/${user.id}`),
  };
  const found: string[] = [];
  for (const act of ACTS) found.push(outcome(await attempts[act]()));
  return found;
}

function outcome({ status, body }: Reply): string {
  if (status < 300) return YES;
  if (status === 404 && body.code.endsWith(".not_found")) return HIDDEN;
  return status === 403 ? body.code : `${status} ${body.code}`;
}

/** Prints the results as a table: one column for each row of the specification. */
function print(kind: string, found: Record<string, string[]>): void {
  const rows = Object.keys(found);
  const cell = (text: string) => text.padEnd(18);
  const lines = ACTS.map((act, i) => cell(act) + rows.map((row) => cell(found[row][i])).join(""));
  console.log([`\n${cell(kind)}${rows.map(cell).join("")}`, ...lines].join("\n"));
}

/** Puts a realm's app behind a real listener. */
function serve(realm: TestRealm): AsyncDisposable & { ask: Ask } {
  const app = createApp(realm.services, PLATFORM_KEY);
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, (request) => app(request, "127.0.0.1"));
  const base = `http://127.0.0.1:${server.addr.port}`;
  return {
    async ask(key, method, path, body) {
      const response = await fetch(base + path, {
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { "x-api-key": key, "content-type": "application/json" },
      });
      return { status: response.status, body: await response.json() };
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
