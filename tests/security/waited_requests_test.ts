/** Requests that wait while their caller's key ends: in the body, in the queue of transfers, and for a lock. @module */
import { deepEqual, equal } from "node:assert/strict";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { claimsOf, revokeKey } from "../../domain/security/sessions.ts";
import { until } from "../support/eventually.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { holdLedgerLock, openProxy, waitForWaiter } from "../support/held_queues.ts";
import {
  type Answer,
  reach,
  type Send,
  testConfig,
  type TestProcess,
  type TestRealm,
  type TestUser,
} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("requests that wait while their key ends");

const codeOf = ({ status, body }: Answer) => [status, body.code];

/** A process whose clock stands still until a request has waited. */
function waitingProcess(realm: TestRealm): TestProcess & { wait(): void } {
  const process = realm.another();
  let at = Date.now();
  const now = () => at;
  Object.assign(process.services, { now, realms: openRealmContexts(process.database, now) });
  return Object.assign(process, { wait: () => void (at += 2000) });
}

/** Sends a body whose last piece comes after something else has happened. */
async function sendSlowly(
  { app }: TestProcess,
  { key, method = "POST", path, body }: {
    key: string;
    method?: string;
    path: string;
    body: unknown;
  },
  meanwhile: () => Promise<unknown>,
): Promise<Answer> {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  let begun = false;
  const slow = new ReadableStream<Uint8Array>({
    async pull(to) {
      if (!begun) to.enqueue(bytes.subarray(0, 1));
      else {
        await meanwhile();
        to.enqueue(bytes.subarray(1));
        to.close();
      }
      begun = true;
    },
  }, { highWaterMark: 0 });
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const request = new Request(`http://purser.test${path}`, { method, body: slow, headers });
  const response = await app(request, "127.0.0.1");
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Ends a login in the database, as another process does that answers a logout. */
async function endLogin(realm: TestRealm, key: string): Promise<void> {
  const { services } = realm;
  const claims = await services.signingKeys.verify(key);
  await realm.command((tx) => revokeKey(tx, { at: Date.now() }, claims));
}

/** A user with value, and another account of its own. */
async function holder(realm: TestRealm): Promise<TestUser & { from: string; to: string }> {
  const user = await realm.user();
  const { name, account } = await realm.currency("100");
  const from = await realm.account({ asset: name, by: user, from: account, total: "50" });
  return { ...user, from, to: await realm.account({ asset: name, by: user }) };
}

const moving = ({ from, to }: { from: string; to: string }) => ({
  source: { account: from },
  destination: { account: to },
  value: "1",
});

/** Gives a user another login, which may end. */
async function loginOf(realm: TestRealm, user: TestUser): Promise<string> {
  const { services } = realm;
  const row = { id: user.id, roles: ["user"], scopes: ["own"] };
  return await services.signingKeys.sign(
    claimsOf(row as never, realm.made.realm, Date.now(), 3600),
  );
}

test("what came with a body that was sent slowly is refused where its login ended meanwhile", async (realm) => {
  await using process = waitingProcess(realm);
  const user = await holder(realm);
  const requests = {
    "/v1/transactions": moving(user),
    "/v1/transactions/batch": { atomic: true, transactions: [moving(user)] },
    "/v1/identities": { type: "neutral" },
  };
  for (const [path, body] of Object.entries(requests)) {
    const key = await loginOf(realm, user);
    const answer = await sendSlowly(process, { key, path, body }, async () => {
      await endLogin(realm, key);
      process.wait();
    });
    deepEqual(codeOf(answer), [401, "auth.revoked"], path);
  }
  equal((await realm.balance(user.to)).total, "0");
  // One that stands is served, however slowly it comes.
  const body = moving(user);
  const path = "/v1/transactions";
  const stands = await sendSlowly(
    process,
    { key: user.key, path, body },
    () => Promise.resolve(process.wait()),
  );
  equal(stands.status, 201);
});

test("what came with a body that was sent slowly has the rights that its machine key then has", async (realm) => {
  await using process = waitingProcess(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const user = await holder(realm);
  const made = await manager.send("POST", "/v1/keys", { name: "importer" });
  equal(made.status, 201, made.text);
  const { id, key } = made.body;
  const path = "/v1/transactions";
  equal((await process.send(key)("POST", path, moving(user))).status, 201);
  const patched = await sendSlowly(process, { key, path, body: moving(user) }, async () => {
    const demoted = await realm.admin.send("PATCH", `/v1/users/${manager.id}`, { scopes: "own" });
    equal(demoted.status, 200, demoted.text);
    process.wait();
  });
  equal(patched.status, 404, patched.text); // it does not see that account any more
  const ended = await sendSlowly(process, { key, path, body: moving(user) }, async () => {
    equal((await realm.admin.send("DELETE", `/v1/keys/${id}`)).status, 200);
    process.wait();
  });
  equal(ended.status, 401, ended.text);
  equal((await realm.balance(user.to)).total, "1");
});

test("transfers that wait behind a batch in flight are refused where their caller's key ended, the others are posted", async (realm) => {
  await using process = waitingProcess(realm);
  const users = {
    leaves: await holder(realm),
    narrowed: await holder(realm),
    stays: await holder(realm),
  };
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const { body: machine } = await manager.send("POST", "/v1/keys", { name: "importer" });
  const key = await loginOf(realm, users.leaves);
  const send = (by: string): Send => process.send(by);
  for (const by of [key, machine.key, users.stays.key]) await send(by)("GET", "/v1/auth/me");
  // Narrowed behind the back of the process, which reads that later: events wait for the ledger lock.
  const demoted = await realm.admin.send("PATCH", `/v1/users/${manager.id}`, { scopes: "own" });
  equal(demoted.status, 200, demoted.text);
  const queue = (await process.services.realms.find(realm.id))!.queue();
  const lock = await holdLedgerLock(realm);
  const first = send(users.stays.key)("POST", "/v1/transactions", moving(users.stays));
  await waitForWaiter(realm);
  const batch = { atomic: false, transactions: [moving(users.leaves), moving(users.leaves)] };
  const waiting = Promise.all([
    send(key)("POST", "/v1/transactions", moving(users.leaves)),
    send(key)("POST", "/v1/transactions/batch", batch),
    send(machine.key)("POST", "/v1/transactions", moving(users.narrowed)),
    send(users.stays.key)("POST", "/v1/transactions", moving(users.stays)),
  ]);
  await until(() => queue.depth() === 6);
  await endLogin(realm, key);
  process.wait();
  await lock.release();
  equal((await first).status, 201);
  const [single, bulk, narrowed, stays] = await waiting;
  deepEqual(codeOf(single), [401, "auth.revoked"]);
  deepEqual(codeOf(bulk), [401, "auth.revoked"]);
  deepEqual(codeOf(narrowed), [401, "auth.revoked"]);
  equal(stays.status, 201, stays.text);
  equal(queue.depth(), 0);
  const totals = await Promise.all(Object.values(users).map(({ to }) => realm.balance(to)));
  deepEqual(totals.map(({ total }) => total), ["0", "0", "2"]);
});

test("a change that waits for the ledger lock is taken back where its caller's key ended meanwhile", async (realm) => {
  await using process = waitingProcess(realm);
  const user = await holder(realm);
  const key = await loginOf(realm, user);
  equal((await process.send(key)("GET", "/v1/auth/me")).status, 200);
  const lock = await holdLedgerLock(realm);
  const idempotent = { "idempotency-key": crypto.randomUUID() };
  const path = `/v1/accounts/${user.from}/freeze`;
  const freezing = process.send(key)("POST", path, undefined, idempotent);
  await waitForWaiter(realm);
  await endLogin(realm, key);
  process.wait();
  await lock.release();
  deepEqual(codeOf(await freezing), [401, "auth.revoked"]);
  equal((await user.send("GET", `/v1/accounts/${user.from}`)).body.frozen, false);
  // Its key was not claimed either.
  equal((await user.send("POST", path, undefined, idempotent)).status, 200);
});

test("a change that waits for the ledger lock is done, or taken back, while the platform's database hangs", async (realm) => {
  await using process = waitingProcess(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  const away = reach(testConfig({ DATABASE_URL: proxy.url }));
  try {
    // As for a realm with a database server of its own, whose platform's is another.
    const { now } = process.services;
    const database = { ...process.database, platform: away.platform };
    Object.assign(process.services, { realms: openRealmContexts(database, now) });
    const user = await holder(realm);
    const manager = await realm.user({ role: "manage", scope: "realm" });
    const made = await manager.send("POST", "/v1/keys", { name: "importer" });
    equal(made.status, 201, made.text);
    const ended = await loginOf(realm, user);
    for (const key of [user.key, ended, made.body.key]) {
      equal((await process.send(key)("GET", "/v1/auth/me")).status, 200);
    }
    const lock = await holdLedgerLock(realm);
    const path = (account: string) => `/v1/accounts/${account}/freeze`;
    const changes = [
      process.send(ended)("POST", path(user.to)),
      process.send(user.key)("POST", path(user.from)),
      process.send(made.body.key)("POST", path(user.from)),
    ];
    await waitForWaiter(realm, 3);
    await endLogin(realm, ended);
    process.wait();
    proxy.mute();
    await lock.release();
    const answers = await Promise.all(changes);
    deepEqual(answers.map(({ status }) => status), [401, 200, 200]);
    equal((await user.send("GET", `/v1/accounts/${user.to}`)).body.frozen, false);
  } finally {
    proxy.cut();
    await away.close();
    await proxy.close();
  }
});

test("two hundred changes that wait for the ledger lock are all done: their callers' keys are asked for by connections that none of them holds", async (realm) => {
  await using process = waitingProcess(realm);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const { from } = await holder(realm);
  const keys = [manager.key];
  for (let count = 0; count < 9; count++) {
    const made = await manager.send("POST", "/v1/keys", { name: `importer ${count}` });
    equal(made.status, 201, made.text);
    keys.push(made.body.key);
  }
  for (const key of keys) equal((await process.send(key)("GET", "/v1/auth/me")).status, 200);
  const lock = await holdLedgerLock(realm);
  const path = `/v1/accounts/${from}/freeze`;
  const changes = Array.from(
    { length: 200 },
    (_, at) => process.send(keys[at % keys.length])("POST", path),
  );
  await waitForWaiter(realm, 2);
  process.wait(); // what is known of the keys is too old by now
  await lock.release();
  const statuses = (await Promise.all(changes)).map(({ status }) => status);
  deepEqual([...new Set(statuses)], [200]);
});
