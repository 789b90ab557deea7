/** Input of anonymous callers: refused with a precise answer, before any costly work. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { digits, writtenOutLength } from "../../domain/json.ts";
import { checkPassword, hashPassword } from "../../domain/security/passwords.ts";
import { createApp } from "../../routes/http/app.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { readBody } from "../../routes/http/validation.ts";
import { PASSWORD, PLATFORM_KEY, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const UNKNOWN = "01a1fb9d-f797-7000-8000-f205583ab8e1";

function app(realm: TestRealm) {
  return createApp(realm.services, PLATFORM_KEY);
}

const test = sharing("untrusted in one realm");

test("a login takes a few kilobytes and no more", async (realm) => {
  const body = JSON.stringify({ a: Array(5000).fill(1) });
  for (const path of ["/v1/auth/login", "/v1/auth/users/login", "/v1/auth/admins/login"]) {
    const answer = await realm.nobody("POST", path, body, { "x-api-key": "x" });
    deepEqual([answer.status, answer.body.code], [413, "request.too_large"]);
  }
});

Deno.test("a body in very many small chunks is refused after a few hundred of them", async () => {
  const bodyOf = (chunks: number, size: number) => {
    let sent = 0;
    const chunk = new Uint8Array(size).fill(0x20);
    return new ReadableStream<Uint8Array>({
      pull: (to) => sent++ < chunks ? to.enqueue(chunk) : to.close(),
    });
  };
  const read = (chunks: number, size: number, length?: number) => {
    const headers = { "content-type": "application/json" };
    const request = new Request("http://a", {
      method: "POST",
      body: bodyOf(chunks, size),
      headers,
    });
    if (length !== undefined) { // which a Request leaves to its sender
      const told = new Headers({ ...headers, "content-length": `${length}` });
      Object.defineProperty(request, "headers", { value: told });
    }
    return readBody(request, 1024 * 1024);
  };
  await rejects(read(300, 1), { code: "request.malformed" });
  await rejects(read(2000, 100), { code: "request.malformed" });
  await rejects(read(300_000, 1, 300_000), { code: "request.malformed" }, "its length is known");
  equal((await read(600, 1000, 600_000)).length, 600_000);
  equal((await read(200, 1)).length, 200);
  equal((await read(1000, 1000)).length, 1_000_000);
});

Deno.test("a body that did not come in time is read no further, and takes no place afterwards", async () => {
  for (const length of [null, 2_000_000]) {
    const ending = openEnding();
    const asked = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      pull(to) {
        asked.resolve();
        if (length === null) to.enqueue(new Uint8Array(1));
        return ended.promise;
      },
      cancel: () => ended.resolve(),
    });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://a", { method: "POST", body, headers });
    if (length !== null) { // a Request does not set it itself
      const told = new Headers({ ...headers, "content-length": `${length}` });
      Object.defineProperty(request, "headers", { value: told });
    }
    let held = 0;
    const read = readBody(request, 8_000_000, { ending, onSize: (size) => held = size });
    await asked.promise;
    ending.begin(); // as the time does that it is given
    await rejects(read, { code: "service.overloaded" });
    equal(body.locked, false, "whoever ends its connection takes it over");
    await body.cancel();
    await ended.promise;
    equal(held, length ?? 1);
  }
});

test("the answer to a body of a hundred thousand faults names twenty of them", async (realm) => {
  const many = Object.fromEntries(Array.from({ length: 23_000 }, (_, i) => [`k${i}`, 1]));
  const answer = await realm.admin.send("POST", "/v1/identities", many);
  deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
  equal(answer.body.errors.length, 20);
  const items = Array(10_000).fill(1);
  const batch = { atomic: true, transactions: items };
  const batched = await realm.admin.send("POST", "/v1/transactions/batch", batch);
  deepEqual([batched.status, batched.body.errors.length], [400, 20]);
});

test("an array or object of more members than 64 KiB can hold is refused before it is parsed", async (realm) => {
  for (const body of [`{"data":{"a":[${"1,".repeat(40_000)}1]}}`, `[${"{},".repeat(50_000)}{}]`]) {
    const answer = await realm.admin.send("POST", "/v1/identities", body);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
    ok(answer.body.detail.includes("members"), answer.body.detail);
  }
});

test("a number where a free-form object belongs is refused, however it is written", async (realm) => {
  const { account } = await realm.currency("5");
  const { send } = realm.admin;
  const move =
    `"source":{"account":"${account}"},"destination":{"account":"${UNKNOWN}"},"value":"1"`;
  for (const number of ["5", "1e-7", "1.50", "1e21", "9007199254740993", "-0"]) {
    for (
      const [method, path, body] of [
        ["POST", "/v1/identities", `{"data":${number}}`],
        ["POST", "/v1/transactions", `{${move},"data":${number}}`],
        ["POST", "/v1/transactions", `{${move},"seal":${number}}`],
        ["PATCH", `/v1/accounts/${account}`, `{"data":${number}}`],
        ["POST", `/v1/accounts/${account}/blocks`, `{"amount":"1","data":${number}}`],
        [
          "POST",
          "/v1/transactions/batch",
          `{"atomic":false,"transactions":[{${move},"data":${number}}]}`,
        ],
        ["PATCH", `/v1/realms/${realm.id}`, `{"webhooks":${number}}`],
      ] as const
    ) {
      const answer = await send(method, path, body);
      deepEqual([path, answer.status, answer.body.code], [path, 400, "request.invalid"]);
    }
  }
});

test("free-form objects keep every number as written, and lose no member in silence", async (realm) => {
  const data = '{"a":1.50,"b":[1e-7,{"c":12345678901234567890}],"d":"1.50","e":-0,"f":0.1}';
  const made = await realm.admin.send("POST", "/v1/identities", `{"data":${data}}`);
  equal(made.status, 201);
  const shown = await realm.admin.send("GET", `/v1/identities/${made.body.id}`);
  ok(shown.text.includes("12345678901234567890"), shown.text);
  for (const name of ["__proto__", "\\u005f_proto__"]) {
    const answer = await realm.admin.send("POST", "/v1/identities", `{"data":{"${name}":{"a":1}}}`);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
  }
});

test("an object with two members of one name is refused: a gateway may have read the other one", async (realm) => {
  const send = (body: string, path = "/v1/identities") => realm.admin.send("POST", path, body);
  const twice = [
    '{"data":{},"data":{"n":1}}',
    '{"data":{"a":[{"n":1.5,"n":2.5}]}}',
    '{"data":{"n":1,"\\u006e":2}}',
    '{"data":{"a":{},"a":{}},"type":"neutral"}',
  ];
  for (const body of twice) {
    const answer = await send(body);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"], body);
  }
  equal((await send('{"data":{"a":{"a":[{"a":":"},{"a":1.5}]},"b":"{\\"b\\":1,"}}')).status, 201);
  // Of a long body each part is looked at.
  const one = '{"source":{"account":"x"},"destination":{"account":"y"},"value":"1"}';
  const many = (last: string) => `{"transactions":[${`${one},`.repeat(1500)}${last}]}`;
  const path = "/v1/transactions/batch";
  const odd = await send(many(one.replace('"1"', '"1","value":"2"')), path);
  deepEqual([odd.status, odd.body.code], [400, "request.invalid"]);
  ok(/two members/.test(odd.body.detail), odd.text);
  const even = await send(many(one), path);
  ok(!/two members/.test(even.text), even.text);
  const filter = encodeURIComponent('{"id":"x","id":{"$exists":true}}');
  const listed = await realm.admin.send("GET", `/v1/accounts/all?query=${filter}`);
  deepEqual([listed.status, listed.body.code], [400, "query.invalid"]);
});

test("64 KiB of a free-form object are bytes, not letters", async (realm) => {
  const of = (text: string) => realm.admin.send("POST", "/v1/identities", { data: { text } });
  equal((await of("€".repeat(21_000))).status, 201);
  equal((await of("€".repeat(22_000))).status, 400);
  equal((await of("e".repeat(65_000))).status, 201);
});

test("64 KiB of a free-form object are counted with its numbers written out", async (realm) => {
  const numbers = ["1e1000", "-2.5E-999", "7e+900", "0e-1000", "10.25e3", "-15e-1", "0.5e9"];
  for (const number of numbers) {
    const [{ text }] = await rowsOf<{ text: string }>(
      realm,
      `select '${number}'::jsonb::text as text`,
    );
    const length = writtenOutLength(digits(number));
    ok(text.length <= length && length <= text.length + 1, `${number}: ${text.length}, ${length}`);
  }
  const of = (count: number) => {
    const data = `{"data":{"x":[${Array(count).fill("1e1000")}]}}`;
    return realm.admin.send("POST", "/v1/identities", data);
  };
  const most = await of(65);
  equal(most.status, 201);
  const shown = await realm.admin.send("GET", `/v1/identities/${most.body.id}`);
  ok(shown.text.length > 65_000, `${shown.text.length}`);
  for (const count of [66, 9000]) {
    const answer = await of(count);
    deepEqual([answer.status, answer.body.code], [400, "request.invalid"]);
  }
});

Deno.test("NUL in a path names nothing that there is", async () => {
  await using realm = await testRealm({ env: { ETHEREUM_RPC_URL: "http://127.0.0.1:9" } });
  const made = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: "ETH" });
  for (
    const path of [`/v1/accounts/${made.body.id}/assign/%00`, "/v1/users/%00", "/v1/aliases/a%00b"]
  ) {
    const method = path.includes("assign") ? "DELETE" : "GET";
    const answer = await realm.admin.send(method, path);
    deepEqual([path, answer.status], [path, 404]);
  }
});

test("a name that is too long is asked nothing else: its normal form took seconds of the whole process", async (realm) => {
  const marks = `x${"\u0301".repeat(10_000)}${"\u0316".repeat(10_000)}`; // in another order than the normal form's
  for (
    const [path, name, more] of [
      ["/v1/keys", "name", {}],
      ["/v1/users", "username", { password: PASSWORD }],
      ["/v1/aliases", "alias", { type: "account", account: UNKNOWN }],
    ] as const
  ) {
    for (
      const [text, faults] of [[marks, 1], [marks.slice(0, 90), 0], ["a\u0301", 1]] as const
    ) {
      const { body } = await realm.admin.send("POST", path, { [name]: text, ...more });
      const said = (body.errors ?? []).filter((one: { path: string }) => one.path === `/${name}`);
      equal(said.length, faults, `${path} ${text.length}`);
    }
  }
});

test("a Host that is no host chooses no route", async (realm) => {
  const ask = (host: string, url = "http://a/health/live") =>
    app(realm)(new Request(url, { headers: { host } }), "127.0.0.1");
  for (const host of ["a/v1/auth/me#", "a?b", "a#b", "a b", "user@a", "a:99999999", "[::1", ""]) {
    const answer = await ask(host);
    deepEqual([host, answer.status], [host, 400]);
    equal((await answer.json()).code, "request.malformed");
  }
  for (const host of ["a", "a.example:8080", "a:", "127.0.0.1", "[::1]:80"]) {
    const answer = await ask(host, `http://${host}/health/live`);
    deepEqual([host, answer.status], [host, 200]);
    await answer.body?.cancel();
  }
  // A target that names a host of its own: a proxy has read the other one.
  for (const url of ["http://b/health/live", "http://u@a/health/live", "http://a.b/health/live"]) {
    equal((await ask("a", url)).status, 400, url);
  }
});

test("a query of very many parameters is refused before they are put together", async (realm) => {
  const get = (path: string) => realm.admin.send("GET", path);
  const many = await get(`/v1/accounts/all?${"fields=id&".repeat(15_000)}`);
  deepEqual([many.status, many.body.code], [400, "query.invalid"]);
  equal(many.body.detail, "more than 200 parameters");
  equal((await get(`/v1/accounts/all?${"fields=id&".repeat(50)}limit=1`)).status, 200);
});

/**
 * Derivations begin and do not end before `open` is called: they hold their turns. Those of passwords of one letter, which
 * nobody has, cost nothing.
 */
function heldDerivations(): { open: () => void } & Disposable {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { subtle } = crypto;
  const derive = subtle.deriveBits.bind(subtle);
  const read = subtle.importKey.bind(subtle) as (...args: unknown[]) => Promise<CryptoKey>;
  const short = new WeakSet<CryptoKey>();
  const importKey = async (...args: unknown[]) => {
    const key = await read(...args);
    if ((args[1] as Uint8Array).length === 1) short.add(key);
    return key;
  };
  const deriveBits = async (...args: Parameters<SubtleCrypto["deriveBits"]>) => {
    await opened;
    return short.has(args[1]) ? new ArrayBuffer(32) : await derive(...args);
  };
  Object.assign(subtle, { importKey, deriveBits });
  const restore = () =>
    ["importKey", "deriveBits"].forEach((name) => Reflect.deleteProperty(subtle, name));
  return { open, [Symbol.dispose]: restore };
}

function logIn({ made, nobody }: TestRealm) {
  const { realm: { realm_key }, applicationKey, admin: { username } } = made;
  const asked = { realm_key, username, password: PASSWORD };
  return nobody("POST", "/v1/auth/login", asked, { "x-api-key": applicationKey });
}

test("passwords that are set in one realm without number refuse no login of it, nor of another", async (realm) => {
  const neighbour = await realm.neighbour();
  using derivations = heldDerivations();
  // All turns are taken, and all places that the realm has in the queue.
  const busy = Promise.all(Array.from({ length: 204 }, () => hashPassword("x", realm.id)));
  const logins = Promise.all([logIn(neighbour), logIn(realm)]);
  const change = { password: "correct horse battery" };
  const user = await realm.user();
  const own = await realm.admin.send("PATCH", `/v1/users/${user.id}`, change);
  deepEqual([own.status, own.body.code], [503, "service.overloaded"]);
  derivations.open();
  deepEqual((await logins).map(({ status }) => status), [200, 200]);
  await busy;
});

test("a login that could not be checked keeps the next of the same user waiting for nothing", async (realm) => {
  using derivations = heldDerivations();
  const busy = Promise.all(Array.from({ length: 204 }, () => checkPassword("x", null, realm.id)));
  for (let i = 0; i < 5; i++) {
    const { status, body } = await logIn(realm);
    deepEqual([status, body.code], [503, "service.overloaded"]);
  }
  derivations.open();
  await busy;
  equal((await logIn(realm)).status, 200);
});

test("rights are asked for before a password is worked on, and that work has a bound", async (realm) => {
  const user = await realm.user();
  using derivations = heldDerivations();
  // All turns are taken, and all places in the queue.
  const busy = Promise.all(Array.from({ length: 204 }, () => hashPassword("x", realm.id)));
  const password = "correct horse battery";
  const refused = await user.send("PATCH", `/v1/users/${UNKNOWN}`, { password });
  deepEqual([refused.status, refused.body.code], [404, "user.not_found"]);
  const stranger = { username: "somebody", password, roles: "user", scopes: "own" };
  const made = await user.send("POST", `/v1/realms/${realm.id}/users`, stranger);
  deepEqual([made.status, made.body.code], [403, "permission.role"]);
  const waits = await realm.admin.send("PATCH", `/v1/users/${user.actor.user}`, { password });
  deepEqual([waits.status, waits.body.code], [503, "service.overloaded"]);
  derivations.open();
  await busy;
  equal(
    (await realm.admin.send("PATCH", `/v1/users/${user.actor.user}`, { password })).status,
    200,
  );
});
