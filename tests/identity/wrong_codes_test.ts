/** What wrong one-time codes do that come with the right password: whom they are told, and when codes are held. */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { tellWrongCodes } from "../../domain/messages/notices.ts";
import { type Login, logIn } from "../../domain/security/sessions.ts";
import { totpCode } from "../../domain/security/totp.ts";
import { createApp } from "../../routes/http/app.ts";
import { PASSWORD, PLATFORM_KEY, type TestRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("wrong codes that come with the right password");
const stepNow = () => Math.floor(Date.now() / 30_000);
const HOME = "203.0.113.7";
let networks = 0;
/** An address of a network that no login came from. */
const elsewhere = () => `198.51.${100 + Math.floor(++networks / 250)}.${networks % 250}`;

interface Guarded extends TestUser {
  username: string;
  secret: string;
  recovery: string[];
}

/** Begins one-time passwords of a user. */
async function begin({ id, send }: TestUser): Promise<{ secret: string; recovery: string[] }> {
  const path = `/v1/users/${id}/totp`;
  const { secret } = (await send("POST", path)).body;
  const confirmed = await send("POST", `${path}/confirm`, { code: totpCode(secret, stepNow()) });
  equal(confirmed.status, 200, confirmed.text);
  return { secret, recovery: confirmed.body.recovery_codes };
}

/** A user with one-time passwords, and with an e-mail address unless it is null. */
async function guarded(realm: TestRealm, email: string | null): Promise<Guarded> {
  const user = await realm.user();
  if (email !== null) {
    const change = { channel: { email } };
    equal((await realm.admin.send("PATCH", `/v1/users/${user.id}`, change)).status, 200);
  }
  const { username } = (await user.send("GET", "/v1/auth/me")).body;
  return { ...user, username, ...await begin(user) };
}

interface Attempt {
  from?: string;
  code: string;
  password?: string;
  requestId?: string;
}

async function enter(
  realm: TestRealm,
  username: string,
  { from = elsewhere(), code, password = PASSWORD, requestId = "r" }: Attempt,
) {
  const headers = {
    "x-api-key": realm.made.applicationKey,
    "content-type": "application/json",
    "x-request-id": requestId,
  };
  const body = JSON.stringify({ realm_key: realm.made.realm.realm_key, username, password, code });
  const app = createApp(realm.services, PLATFORM_KEY);
  const url = "http://purser.test/v1/auth/login";
  const answer = await app(new Request(url, { method: "POST", headers, body }), from);
  const { code: told } = await answer.json();
  const retryAfter = Number(answer.headers.get("retry-after"));
  return { status: answer.status, told, retryAfter };
}

/** A code that is wrong now and in the next minute. */
function wrongOf({ secret }: Pick<Guarded, "secret">): string {
  const right = [-1, 0, 1, 2, 3].map((step) => totpCode(secret, stepNow() + step));
  const codes = ["000000", "111111", "222222", "333333", "444444", "555555"];
  return codes.find((one) => !right.includes(one))!;
}

async function tryWrong(realm: TestRealm, user: Guarded, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { status, told } = await enter(realm, user.username, { code: wrongOf(user) });
    deepEqual([status, told], [401, "auth.credentials"]);
  }
}

async function countOf(realm: TestRealm, { id }: TestUser): Promise<number> {
  const [{ wrong_codes }] = await realm.pool.sql<{ wrong_codes: number }[]>`
    select wrong_codes from second_factors where user_id = ${id}`;
  return wrong_codes;
}

async function setCount(realm: TestRealm, { id }: TestUser, count: number): Promise<void> {
  await realm.pool.sql`
    update second_factors set wrong_codes = ${count}, wrong_since = now() where user_id = ${id}`;
}

/** The notices of wrong codes to a user. */
async function told(realm: TestRealm, { id: user }: TestUser) {
  const rows = await realm.pool.sql<{ id: string; destination: string; content: Uint8Array }[]>`
    select id, destination, content from messages
    where owner = ${user} and notice = 'codes' order by id`;
  return rows.map(({ id, destination, content }) => {
    const text = realm.services.secrets.decrypt("message", `${realm.id}|${id}`, content)!;
    return { destination, ...JSON.parse(text) as { subject: string; text: string } };
  });
}

test("a user hears that somebody who has its password tries codes: of the fifth wrong one of a day, and where codes are held", async (realm) => {
  const user = await guarded(realm, "tried@example.com");
  equal((await enter(realm, user.username, { from: HOME, code: user.recovery[0] })).status, 200);
  await tryWrong(realm, user, 4);
  deepEqual(await told(realm, user), []);
  const own = crypto.randomUUID();
  const fifth = { from: "192.0.2.77", code: wrongOf(user), requestId: own };
  equal((await enter(realm, user.username, fifth)).status, 401);
  await tryWrong(realm, user, 15);
  const { status } = await enter(realm, user.username, { code: wrongOf(user) });
  equal(status, 429, "held, of which nobody is told again");
  await setCount(realm, user, 39);
  equal((await enter(realm, user.username, { from: HOME, code: wrongOf(user) })).status, 401);
  equal((await enter(realm, user.username, { from: HOME, code: wrongOf(user) })).status, 429);
  const notices = await told(realm, user);
  deepEqual(notices.map(({ destination }) => destination), Array(3).fill("tried@example.com"));
  const [early, held, ended] = notices.map(({ text }) => text);
  match(early, /: 5 logins .* from the network address 192\.0\.2\.77 in the request /);
  match(early, new RegExp(`${own}.*somebody else has the password.*change the password`));
  doesNotMatch(early, /looked at/);
  match(held, /: 20 logins .* looked at from networks where you have not logged in /);
  match(
    ended,
    /: 40 logins .* from the network address 203\.0\.113\.7\..* looked at from anywhere/,
  );
});

test("of codes that are tried at once each counts, and one notice tells of the fifth", async (realm) => {
  const user = await guarded(realm, "at-once@example.com");
  await setCount(realm, user, 3);
  const code = wrongOf(user);
  const tries = Array.from({ length: 4 }, () => enter(realm, user.username, { code }));
  deepEqual((await Promise.all(tries)).map(({ status }) => status), Array(4).fill(401));
  equal(await countOf(realm, user), 7);
  equal((await told(realm, user)).length, 1);
});

test("a code that is sent twice is refused the second time, and is no wrong one", async (realm) => {
  const user = await guarded(realm, "twice@example.com");
  await setCount(realm, user, 4);
  const code = totpCode(user.secret, stepNow() + 1);
  const both = await Promise.all([1, 2].map(() => enter(realm, user.username, { code })));
  deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
  const { status, told: why } = await enter(realm, user.username, { code });
  deepEqual([status, why], [401, "auth.credentials"]);
  deepEqual([await countOf(realm, user), await told(realm, user)], [4, []]);
  await tryWrong(realm, user, 1);
  equal(await countOf(realm, user), 5, "one that was never right counts");
});

test("a changed password releases held codes, and codes that are wrong with it are counted anew", async (realm) => {
  const user = await guarded(realm, "released@example.com");
  const login = { code: totpCode(user.secret, stepNow() + 1) };
  const changes: [password: string, change: (password: string) => Promise<{ status: number }>][] = [
    [
      "another horse battery",
      (password) => realm.admin.send("PATCH", `/v1/users/${user.id}`, { password }),
    ],
    [
      "yet another horse battery",
      (new_password) =>
        user.send("POST", `/v1/users/${user.id}/password`, {
          password: PASSWORD,
          new_password,
        }),
    ],
  ];
  for (const [password, change] of changes.toReversed()) {
    await setCount(realm, user, 40);
    equal((await change(password)).status, 200);
    equal(await countOf(realm, user), 0);
    const again = { code: wrongOf(user), password };
    equal((await enter(realm, user.username, again)).status, 401);
    equal(await countOf(realm, user), 1);
    await setCount(realm, user, 40);
    equal((await realm.admin.send("PATCH", `/v1/users/${user.id}`, { data: {} })).status, 200);
    equal(await countOf(realm, user), 40, "nothing else does");
    equal((await enter(realm, user.username, { ...login, password })).status, 429);
  }
});

test("a user without an e-mail address is told of no wrong codes, which count all the same", async (realm) => {
  const user = await guarded(realm, null);
  await setCount(realm, user, 4);
  await tryWrong(realm, user, 1);
  equal(await countOf(realm, user), 5);
  deepEqual(await told(realm, user), []);
});

test("who begins one-time passwords again and again has the service write of wrong codes no more than three times a day", async (realm) => {
  let user = await guarded(realm, "again@example.com");
  for (let i = 0; i < 5; i++) {
    equal((await user.send("DELETE", `/v1/users/${user.id}/totp`)).status, 200);
    user = { ...user, ...await begin(user) };
    await setCount(realm, user, 4);
    await tryWrong(realm, user, 1);
  }
  equal((await told(realm, user)).length, 3);
});

test("wrong codes use up none of the notices of a changed password", async (realm) => {
  const user = await guarded(realm, "warned@example.com");
  for (const count of [4, 19]) {
    await setCount(realm, user, count);
    await tryWrong(realm, user, 1);
  }
  const notices = async () => {
    const [{ count }] = await realm.pool.sql<{ count: number }[]>`
      select count(*)::integer as count from messages
      where owner = ${user.id} and notice = 'security'`;
    return count;
  };
  const before = await notices(); // that one-time passwords were begun
  const change = { password: "another horse battery" };
  equal((await realm.admin.send("PATCH", `/v1/users/${user.id}`, change)).status, 200);
  equal(await notices(), before + 1);
});

test("without the password nobody uses up a user's codes or has it mailed, and with a right code nobody gets more", async (realm) => {
  const user = await guarded(realm, "calm@example.com");
  for (let i = 0; i < 6; i++) {
    const { status } = await enter(realm, user.username, { code: wrongOf(user), password: "no" });
    equal(status, 401);
  }
  equal(await countOf(realm, user), 0);
  deepEqual(await told(realm, user), []);
  await setCount(realm, user, 19);
  const right = totpCode(user.secret, stepNow() + 1);
  equal((await enter(realm, user.username, { from: HOME, code: right })).status, 200);
  equal(await countOf(realm, user), 19);
  equal((await enter(realm, user.username, { code: wrongOf(user) })).status, 401);
  equal((await enter(realm, user.username, { code: wrongOf(user) })).status, 429);
});

test("a login whose codes are held is answered with the time to wait, counts no further, and stands in the audit trail", async (realm) => {
  const user = await guarded(realm, "held@example.com");
  await setCount(realm, user, 20);
  const right = totpCode(user.secret, stepNow() + 1);
  for (const code of [wrongOf(user), right]) {
    const { retryAfter, ...answer } = await enter(realm, user.username, {
      from: "192.0.2.9",
      code,
    });
    deepEqual(answer, { status: 429, told: "rate.limited" });
    ok(retryAfter > 86_000 && retryAfter <= 86_400, `${retryAfter}`);
  }
  equal(await countOf(realm, user), 20);
  const trail = await realm.pool.sql<{ action: string; actor: string | null; address: string }[]>`
    select action, actor, address from audit
    where entity = ${user.id} and action like 'POST /v1/auth/login%' order by id`;
  const refused = { action: "POST /v1/auth/login refused", actor: null, address: "192.0.2.9" };
  deepEqual(trail, [refused, refused]);
});

test("a wrong code and its notice are kept together or not at all", async (realm) => {
  const user = await guarded(realm, "together@example.com");
  await setCount(realm, user, 4);
  const { secrets } = realm.services;
  const entering = (at: string, end: () => void) => {
    const login: Login = {
      ...{ realm: realm.id, username: user.username, password: PASSWORD, code: wrongOf(user) },
      ...{ admin: false, action: "POST /v1/auth/login", requestId: "r", at: Date.now() },
      ...{ address: "192.0.2.1", network: at, agent: null, ttlS: 3600 },
      openFactor: (id, ciphertext) => secrets.decrypt("totp", `${realm.id} ${id}`, ciphertext),
      async onWrongCodes(tx, row, wrong) {
        const actor = { ...user.actor, at: Date.now(), address: "www.example.net/prize" };
        await tellWrongCodes(tx, actor, { user: row, wrong, secrets });
        end();
      },
      admitted: () => Promise.resolve(),
    };
    return logIn(realm.pool, login, () => Promise.resolve());
  };
  const lost = () => {
    throw new Error("the process ends");
  };
  await rejects(entering("192.0.2.2", lost), /the process ends/);
  deepEqual([await countOf(realm, user), await told(realm, user)], [4, []]);
  await rejects(entering("192.0.2.3", () => {}), { code: "auth.credentials" });
  equal(await countOf(realm, user), 5);
  const [{ text }, ...more] = await told(realm, user);
  deepEqual(more, []);
  doesNotMatch(text, /example\.net/, "what is no address is not put into an e-mail");
});

test("codes that a process with another platform key cannot look at are no wrong ones", async (realm) => {
  const user = await guarded(realm, "other-key@example.com");
  await using other = realm.another();
  const unreadable = {
    ...other.services,
    secrets: { ...other.services.secrets, decrypt: () => null },
  };
  const blind = { ...realm, services: unreadable } as TestRealm;
  const { status } = await enter(blind, user.username, { code: wrongOf(user) });
  equal(status, 401);
  equal(await countOf(realm, user), 0);
});
