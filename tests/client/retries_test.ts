/**
 * The client in front of a network that fails: money moves once, and nothing is repeated that must not be.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ConnectionError, createClient, isProblem, ProblemError } from "../../client/client.ts";
import {
  answerOf,
  clientOf,
  type Course,
  headerOf,
  openNetwork,
  serve,
} from "../support/client_fixture.ts";
import { openLimits } from "../../routes/http/rate_limits.ts";
import { PASSWORD, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("the client repeats what is safe to repeat, and nothing else");

/** Two accounts, and the body of a transfer between them. */
async function openAccounts(realm: TestRealm) {
  const { name, account: source } = await realm.currency("100");
  const destination = await realm.account({ asset: name });
  const body = { source: { account: source }, destination: { account: destination }, value: "7.5" };
  return { source, destination, body };
}

const PROBLEM = {
  ...{ type: "about:blank", title: "Later", detail: "ask again later", instance: "-" },
};

function refusal(code: string, headers: Record<string, string>, status = "429 Later"): Course {
  const problem = { ...PROBLEM, status: parseInt(status), code };
  return answerOf(status, { "content-type": "application/problem+json", ...headers }, problem);
}

for (
  const [what, first] of [
    ["is lost", "lost"],
    ["breaks off in its middle", "half"],
  ] as const
) {
  test(`a transfer whose answer ${what} is repeated under its key: the money moves once`, async (realm) => {
    await using service = serve(realm);
    await using network = openNetwork(service, (n) => n === 0 ? first : "pass");
    const { source, destination, body } = await openAccounts(realm);
    const made = await clientOf(network, realm.admin).post("/v1/transactions", { body });
    equal(made.amount, "7.5");
    deepEqual(await realm.balance(source), { total: "92.5", available: "92.5" });
    deepEqual(await realm.balance(destination), { total: "7.5", available: "7.5" });
    equal(network.requests.length, 2);
    const keys = network.requests.map((one) => headerOf(one, "idempotency-key"));
    match(keys[0]!, /^[0-9a-f]{32}$/);
    equal(keys[1], keys[0]);
    // The next write has a key of its own.
    await clientOf(network, realm.admin).post("/v1/transactions", { body });
    equal((await realm.balance(destination)).total, "15");
  });
}

test("a caller's own idempotency key is kept, and a lost write can be taken up with that of the error", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, (n) => n === 0 ? "lost" : "pass");
  const { destination, body } = await openAccounts(realm);
  const header = { "idempotency-key": `order-${destination}` };
  const hasty = clientOf(network, realm.admin, { retries: 0 });
  await rejects(hasty.post("/v1/transactions", { body, header }), (error: unknown) => {
    ok(error instanceof ConnectionError);
    deepEqual([error.attempts, error.mayHaveHappened], [1, true]);
    equal(error.idempotencyKey, header["idempotency-key"]);
    return true;
  });
  await hasty.post("/v1/transactions", { body, header });
  equal((await realm.balance(destination)).total, "7.5");
});

test("429 and 503 with retry-after are waited for, and not a moment less", async (realm) => {
  await using service = serve(realm);
  const at: number[] = [];
  const courses: Course[] = [
    refusal("rate.limited", { "retry-after": "1" }),
    refusal("service.overloaded", { "retry-after": "1" }, "503 Busy"),
    answerOf("502 Bad Gateway", { "content-type": "text/html", "retry-after": "0" }, "<html>"),
    // A page of whoever stands in between is no answer to a transfer.
    answerOf("200 OK", { "content-type": "text/html" }, "<html>"),
  ];
  await using network = openNetwork(service, (n) => {
    at.push(performance.now());
    return courses[n] ?? "pass";
  });
  const { destination, body } = await openAccounts(realm);
  const made = await clientOf(network, realm.admin).post("/v1/transactions", { body });
  equal(made.amount, "7.5");
  equal((await realm.balance(destination)).total, "7.5");
  equal(at.length, 5);
  ok(at[1] - at[0] >= 1000 && at[2] - at[1] >= 1000, `${at}`);
});

test("a wait that is too long, a refusal that is kept, and a halt for an operator are thrown at once", async (realm) => {
  await using service = serve(realm);
  const courses: Course[] = [
    refusal("rate.limited", { "retry-after": "3600" }),
    refusal("rate.limited", { "retry-after": "1", "idempotency-replayed": "true" }),
    refusal("chain.quarantined", { "retry-after": "1" }, "503 Halted"),
  ];
  await using network = openNetwork(service, (n) => courses[n]);
  const client = clientOf(network, realm.admin);
  const { body } = await openAccounts(realm);
  const seen: unknown[] = [];
  for (const _ of courses) {
    await client.post("/v1/transactions", { body }).catch((error) => {
      ok(error instanceof ProblemError);
      seen.push([error.code, error.status, error.retryAfterS, error.attempts]);
    });
  }
  deepEqual(seen, [
    ["rate.limited", 429, 3600, 1],
    ["rate.limited", 429, 1, 1],
    ["chain.quarantined", 503, 1, 1],
  ]);
});

test("a login, which takes no key, is sent once", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, () => "lost");
  const { applicationKey, realm: { realm_key } } = realm.made;
  const client = createClient({ url: network.url, key: applicationKey });
  const body = { realm_key, email: "admin@test.example", password: PASSWORD };
  await rejects(client.post("/v1/auth/admins/login", { body }), (error: unknown) => {
    ok(error instanceof ConnectionError);
    deepEqual([error.attempts, error.idempotencyKey], [1, null]);
    return true;
  });
  equal(network.requests.length, 1);
  equal(headerOf(network.requests[0], "idempotency-key"), null);
});

test("repeats end, and no error shows the key, the body or the query", async (realm) => {
  await using service = serve(realm);
  await using network = openNetwork(service, () => "never");
  const client = clientOf(network, realm.admin, { retries: 1 });
  const body = { name: "SECRET_OF_A_BODY" };
  const errors = await Promise.all([
    client.post("/v1/currencies", { body }).catch((error) => error),
    client.get("/v1/users/all", { query: { search: "secret" } }).catch((error) => error),
  ]);
  equal(network.requests.length, 4);
  for (const error of errors) {
    ok(error instanceof ConnectionError);
    equal(error.attempts, 2);
    ok(!/secret/i.test(`${error.message} ${JSON.stringify(error)}`));
    ok(!Deno.inspect(error).includes(realm.admin.key));
  }
  ok(!Deno.inspect(client, { depth: 9 }).includes(realm.admin.key));
});

test("a key that cannot be one is refused without being repeated", async (realm) => {
  for (const key of ["", "two words", `${realm.admin.key}\n`]) {
    const client = createClient({ url: "http://127.0.0.1:1", key: () => Promise.resolve(key) });
    await rejects(client.get("/v1/auth/me"), (error: Error) => {
      return error instanceof TypeError && (key === "" || !error.message.includes(key.trim()));
    });
  }
  for (const url of ["http://me:password@host", "ftp://host", "host", "http://host/?a=1"]) {
    let said = "";
    try {
      createClient({ url });
    } catch (error) {
      said = (error as Error).message;
    }
    match(said, /^the address of the service/);
  }
});

test("a redirect is not followed: the key goes nowhere else", async (realm) => {
  await using thief = openNetwork({ url: "http://127.0.0.1:1" }, () => answerOf("200 OK", {}));
  await using network = openNetwork(thief, () => answerOf("307 Away", { location: thief.url }));
  await rejects(clientOf(network, realm.admin).get("/v1/auth/me"), (error: unknown) => {
    return error instanceof ConnectionError && /redirect/.test(error.message);
  });
  equal(network.requests.length, 1);
  equal(thief.requests.length, 0);
});

test("a parameter of a path leads to no other route", async (realm) => {
  await using network = openNetwork({ url: "http://127.0.0.1:1" }, () => "never");
  const client = clientOf(network, realm.admin);
  for (const id of ["", ".", ".."]) {
    await rejects(client.post("/v1/accounts/{id}/freeze", { path: { id } }), TypeError);
    await rejects(
      client.delete("/v1/users/{id}/logins/{login}", { path: { id: "a", login: id } }),
      TypeError,
    );
  }
  equal(network.requests.length, 0);
  await using service = serve(realm);
  const straight = clientOf(service, realm.admin);
  for (const id of ["a/b", "../keys", "?", "#", "%2e%2e", "ü"]) {
    const error = await straight.get("/v1/accounts/{id}", { path: { id } }).catch((one) => one);
    ok(
      isProblem(error) && /^(account\.not_found|query\.invalid|route\.not_found)$/.test(error.code),
    );
  }
});

test("a signal ends a call, and the wait before a repeat", async (realm) => {
  await using service = serve(realm);
  const ended = new AbortController();
  await using network = openNetwork(service, () => {
    queueMicrotask(() => ended.abort(new Error("enough")));
    return refusal("rate.limited", { "retry-after": "50" });
  });
  const client = clientOf(network, realm.admin);
  await rejects(client.get("/v1/auth/me", { signal: ended.signal }), /enough/);
  await rejects(client.get("/v1/auth/me", { signal: ended.signal }), /enough/);
  equal(network.requests.length, 1);
});

Deno.test("requests beyond a realm's rate are repeated until all are answered", async () => {
  await using realm = await testRealm({ tier: "free" });
  await using service = serve(realm);
  const asked: number[] = [];
  // Its clock stands still until the rate is reached: on a slow machine it would come back meanwhile.
  const { platform, log } = realm.services;
  const began = Date.now();
  const now = () => asked.includes(429) ? Date.now() : began;
  await realm.services.limits.close();
  realm.services.limits = openLimits({ platform, log, now });
  const client = clientOf(service, realm.admin, {
    async fetch(url, init) {
      const response = await fetch(url, init);
      asked.push(response.status);
      return response;
    },
  });
  const answers = await Promise.all(Array.from({ length: 12 }, () => client.get("/v1/auth/me")));
  deepEqual([...new Set(answers.map(({ id }) => id))], [realm.admin.id]);
  ok(asked.includes(429), "the rate was reached");
});
