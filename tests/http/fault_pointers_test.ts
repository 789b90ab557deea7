import { deepEqual, equal, match } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("faults told in one realm");

const AN_OBJECT = "an object is expected";

test("each fault of a request says where it is: in the body, the query, the path or a header", async (realm) => {
  const { account } = await realm.currency("1");
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await realm.admin.send(method, path, body, headers);
    equal(answer.status, 400, `${method} ${path}: ${answer.text}`);
    return answer.body.errors.map(({ path, in: where }: Record<string, string>) => [path, where]);
  };
  deepEqual(await send("POST", "/v1/accounts", { type: 1, asset: "X" }), [["/type", undefined]]);
  deepEqual(await send("GET", "/v1/accounts/all?limit=1001"), [["/limit", "query"]]);
  deepEqual(await send("GET", "/v1/accounts/all?after=x"), [["/after", "query"]]);
  deepEqual(await send("GET", "/v1/audit?after=x"), [["/after", "query"]]);
  deepEqual(await send("GET", "/v1/auth/me?a%2Fb=1"), [["/a~1b", "query"]]);
  deepEqual(await send("GET", "/v1/deposits/unmatched?after=x"), [["/after", "query"]]);
  deepEqual(await send("GET", "/v1/withdrawals/estimate?amount=1"), [
    ["/account", "query"],
    ["/address", "query"],
  ]);
  deepEqual(await send("GET", "/v1/accounts/all?search=%00"), [["/search", "query"]]);
  for (const bytes of ["%ff", "%ed%a0%80", "a%C3", "%EF%BF%BD%fe"]) {
    deepEqual(await send("GET", `/v1/accounts/all?search=${bytes}`), [["/search", "query"]]);
  }
  for (const odd of ["%EF%BF%BD", "%", "100%25", "%zz%EF%BF%BD", "\ufffd"]) {
    const { status, text } = await realm.admin.send("GET", `/v1/accounts/all?search=${odd}`);
    equal(status, 200, `${odd}: ${text}`);
  }
  const sync = (filter: unknown) => send("POST", "/v1/identities/persons/sync", { filter });
  for (const filter of ["x", [], { "#or": [] }]) {
    deepEqual(await sync(filter), [["/filter", undefined]]);
  }
  const key = { "idempotency-key": "a b" };
  deepEqual(await send("POST", "/v1/identities", {}, key), [["/idempotency-key", "header"]]);
  const stale = { "if-match": "x" };
  const patch = `/v1/accounts/${account}`;
  deepEqual(await send("PATCH", patch, {}, stale), [["/if-match", "header"]]);
});

test("each fault says what is expected there, and a fraction in the place of an object is no object", async (realm) => {
  const faults = async (method: string, path: string, body?: unknown) => {
    const { status, body: { errors }, text } = await realm.admin.send(method, path, body);
    equal(status, 400, text);
    return Object.fromEntries(
      errors.map(({ path, message }: Record<string, string>) => [path, message]),
    );
  };
  const flow = "/v1/transactions";
  deepEqual(await faults("POST", flow, { source: { account: 1 }, seal: true, value: "1" }), {
    "/destination": "missing: an object is expected",
    "/seal": "an object is expected",
    "/source/account": "a text is expected",
  });
  deepEqual(await faults("POST", flow, []), { "": "an object is expected" });
  deepEqual(await faults("POST", "/v1/users", { username: "", password: "short", active: 1 }), {
    "/active": "unknown field",
    "/password": "a text of at least 10 characters is expected",
    "/username": "a text that is not empty is expected",
  });
  deepEqual(await faults("POST", "/v1/accounts", { asset: "ETH", default: 1 }), {
    "/default": "true or false is expected",
    "/type": "missing: one of virtual, ramp, deposit is expected",
  });
  deepEqual(await faults("GET", "/v1/audit?limit=x&sort=id&from=-1"), {
    "/from": "a number of at least 0 is expected",
    "/limit": "a number is expected",
    "/sort": "one of created_at, -created_at is expected",
  });
  deepEqual(await faults("POST", "/v1/keys", { name: "k", expires_at: "soon" }), {
    "/expires_at": "milliseconds since the epoch are expected",
  });
  deepEqual(await faults("PATCH", `/v1/realms/${realm.id}`, { withdrawals: 1.5 }), {
    "/withdrawals": "an object is expected",
  });
  const fraction = { source: 1.5, destination: { alias: "a" }, value: 1 };
  const { errors } = (await realm.admin.send("POST", flow, fraction)).body;
  deepEqual(errors[0], { path: "/source", message: "an object is expected" });
  const batch = { atomic: true, transactions: [1.5] };
  deepEqual((await faults("POST", `${flow}/batch`, batch))["/transactions/0"], AN_OBJECT);
  const misnamed = await realm.admin.send("GET", "/v1/accounts?limit=1");
  equal(misnamed.body.detail, "limit: unknown parameter");
  deepEqual(misnamed.body.errors, [{ path: "/limit", message: "unknown parameter", in: "query" }]);
  deepEqual(await faults("GET", `/v1/accounts/${realm.id}/address?after=x`), {
    "/after": "an id is expected",
  });
});

test("accept is kept: HTML of the reference, CSV of a statement, and nothing that is not sent", async (realm) => {
  const { account } = await realm.currency("1");
  const statement = `/v1/accounts/${account}/statement`;
  const ask = (path: string, accept: string) =>
    realm.admin.send("GET", path, undefined, { accept });
  const type = async (path: string, accept: string) => {
    const { status, headers } = await ask(path, accept);
    return [status, headers.get("content-type")!.split(";")[0]];
  };
  deepEqual(await type("/docs", "text/html"), [200, "text/html"]);
  deepEqual(await type("/problems/auth.missing", "text/html,*/*;q=0.1"), [200, "text/html"]);
  deepEqual(await type("/problems/auth.missing", "text/html"), [200, "text/html"]);
  deepEqual(await type(statement, "text/csv"), [200, "text/csv"]);
  deepEqual(await type(statement, "*/*"), [200, "application/json"]);
  deepEqual(await type(`${statement}?format=csv`, "*/*"), [200, "text/csv"]);
  deepEqual(await type(`${statement}?format=json`, "text/csv"), [200, "application/json"]);
  for (
    const accept of ["application/vnd.api+json", "text/csv", "text/html", "text/*;q=0", "image/png"]
  ) {
    deepEqual(await type("/v1/auth/me", accept), [406, "application/problem+json"], accept);
  }
  // A header that no browser sends is not worth its reading, and counts as none.
  for (const long of ["image/png,".repeat(20_000), ",".repeat(120_000)]) {
    deepEqual(await type("/v1/auth/me", long), [200, "application/json"]);
  }
  const { headers } = await realm.admin.send("GET", "/v1/openapi.json", undefined, {
    "accept-encoding": "gzip,".repeat(1000),
  });
  equal(headers.get("content-encoding"), null);
  const refused = await ask(statement, "image/png");
  equal(refused.status, 406);
  match(refused.body.detail, /text\/csv/);
});

test("a request without a route is logged, without its path", async (realm) => {
  const { services } = realm;
  const lines: Record<string, unknown>[] = [];
  const real = services.log;
  services.log = (_level, _message, fields = {}) => void lines.push(fields);
  for (
    const [method, path, headers] of [
      ["GET", "/v1/secret-token", {}],
      ["PUT", "/v1/transactions", {}],
      ["GET", "/v1/auth/me", { host: "a/b" }],
    ] as const
  ) await realm.nobody(method, path, undefined, { ...headers, "x-request-id": "mine" });
  services.log = real;
  deepEqual(lines.map(({ route, code, request_id }) => [route, code, request_id]), [
    ["none", "route.not_found", "mine"],
    ["none", "method.not_allowed", "mine"],
    ["none", "request.malformed", "mine"],
  ]);
  equal(JSON.stringify(lines).includes("secret-token"), false);
});

test("the line of a request names its user, the operator, or nobody", async (realm) => {
  const { services } = realm;
  const lines: Record<string, unknown>[] = [];
  const real = services.log;
  services.log = (_level, message, fields = {}) => {
    if (message === "request") lines.push(fields);
  };
  await realm.nobody("GET", "/docs/guide");
  await realm.nobody("GET", "/v1/realms", undefined, { "x-api-key": PLATFORM_KEY });
  await realm.admin.send("GET", "/v1/auth/me");
  services.log = real;
  deepEqual(lines.map(({ actor }) => actor), ["", "operator", realm.admin.id]);
});

test("the platform key on a route of a realm is told from a key of nobody", async (realm) => {
  const detail = async (key: string) => {
    const { status, body } = await realm.nobody("GET", "/v1/accounts", undefined, {
      "x-api-key": key,
    });
    deepEqual([status, body.code], [401, "auth.invalid"]);
    return body.detail;
  };
  match(await detail(PLATFORM_KEY), /takes a key of a realm, not the platform key/);
  equal(await detail(`${PLATFORM_KEY}x`), "the key is not one of ours");
});

test("a network that sends many requests to unknown paths is refused after a while, and its requests to known paths are not", async (realm) => {
  const lines: unknown[] = [];
  let now = Date.now();
  const log = (...line: unknown[]) => void lines.push(line);
  const app = createApp({ ...realm.services, log, now: () => now }, PLATFORM_KEY);
  const ask = async (path: string, address: string, method = "GET") => {
    const answer = await app(new Request(`http://a${path}`, { method }), address);
    await answer.body?.cancel();
    return answer;
  };
  for (let i = 0; i < 120; i++) {
    const [path, method] = i % 2 === 0 ? [`/v1/nothing/${i}`, "GET"] : ["/health/live", "DELETE"];
    equal((await ask(path, "2001:db8::1", method)).status, i % 2 === 0 ? 404 : 405);
  }
  const before = lines.length;
  for (let i = 0; i < 10; i++) {
    const refused = await ask(`/v1/nothing/${i}`, `2001:db8::${i + 1}`);
    deepEqual([refused.status, refused.headers.get("retry-after")], [429, "60"]);
  }
  equal(lines.length - before, 1, "the log is not filled");
  equal((await ask("/health/live", "2001:db8::1")).status, 200);
  equal((await ask("/v1/nothing", "192.0.2.1")).status, 404);
  now += 60_000;
  equal((await ask("/v1/nothing", "2001:db8::1")).status, 404);
});
