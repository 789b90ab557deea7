import { askHttp2 } from "../support/http2.ts";
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { endUnread } from "../../routes/http/body_streams.ts";
import { PASSWORD, PLATFORM_KEY, rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("bad input to one realm");

type Bad = [
  name: string,
  request: [string, string, BodyInit?, Record<string, string>?],
  status: number,
  code: string,
];

/** Names of members that every object has, and of its prototype. */
const MEMBERS = ["__proto__", "%5F_proto__", "constructor", "prototype", "toString", "valueOf"];

const JSON_TYPE = { "content-type": "application/json" };

/** Sends what tests' own sender would put right. */
async function raw(realm: TestRealm, [method, path, body, headers = {}]: Bad[1]) {
  const app = createApp(realm.services, PLATFORM_KEY);
  const request = new Request(`http://purser.test${path}`, {
    method,
    body,
    headers: { "x-api-key": realm.admin.key, ...headers },
  });
  const response = await app(request, "127.0.0.1");
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Everything in the realm that a request could change. */
async function stateOf(realm: TestRealm): Promise<unknown> {
  return await rowsOf(
    realm,
    `select (select count(*) from identities) i, (select count(*) from users) u,
      (select count(*) from accounts) a, (select count(*) from transactions) t,
      (select count(*) from audit) l, (select count(*) from idempotency) k,
      (select sum(total) from accounts where type <> 'system') total`,
  );
}

/** Bodies that are wrong in themselves. */
function badBodies(account: string, other: string): Bad[] {
  const move = (more: string) =>
    `{"source":{"account":"${account}"},"destination":{"account":"${other}"},${more}}`;
  const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
  return [
    ["not JSON", post("{not json"), 400, "request.malformed"],
    ["JSON that ends early", post('{"a":'), 400, "request.malformed"],
    ["text after JSON", post("{} {}"), 400, "request.malformed"],
    ["not UTF-8", post(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), 400, "request.malformed"],
    ["cut UTF-8", post(Uint8Array.of(0x22, 0xf0, 0x9f, 0x98, 0x22)), 400, "request.malformed"],
    ["no body", ["POST", "/v1/transactions", undefined, JSON_TYPE], 400, "request.invalid"],
    ["an array", post("[]"), 400, "request.invalid"],
    ["null", post("null"), 400, "request.invalid"],
    ["a string", post('"x"'), 400, "request.invalid"],
    ["an unknown field", post(move('"value":"1","x":1')), 400, "request.invalid"],
    ["__proto__", post(move('"value":"1","__proto__":{"x":1}')), 400, "request.invalid"],
    ["a wrong type", post('{"source":1,"destination":2,"value":"1"}'), 400, "request.invalid"],
    ["NUL in text", post(move('"value":"1","reference":"a\\u0000b"')), 400, "request.invalid"],
    ["half a surrogate", post(move('"value":"1","reference":"\\ud800"')), 400, "request.invalid"],
    ["5000 levels", post(move(`"value":"1","data":{"x":${deep}}`)), 400, "request.invalid"],
    ["5000 levels alone", post(deep), 400, "request.invalid"],
    ["an endless number", post(move(`"value":1${"0".repeat(5000)}`)), 400, "request.invalid"],
    ["a huge exponent", post(move('"value":"1","data":{"x":1e999999999}')), 400, "request.invalid"],
    [
      "70 KiB of data",
      post(move(`"value":"1","data":{"x":"${"x".repeat(70_000)}"}`)),
      400,
      "request.invalid",
    ],
    ["2 MB", post(`{"x":"${"x".repeat(2_000_000)}"}`), 413, "request.too_large"],
    [
      "a form",
      post("value=1", { "content-type": "application/x-www-form-urlencoded" }),
      415,
      "request.media_type",
    ],
    [
      "plain text",
      post(move('"value":"1"'), { "content-type": "text/plain" }),
      415,
      "request.media_type",
    ],
    ["no type", post(new Uint8Array([0x7b, 0x7d]), {}), 415, "request.media_type"],
    [
      "latin1",
      post("{}", { "content-type": "application/json; charset=latin1" }),
      415,
      "request.media_type",
    ],
    ["gzip", post("{}", { ...JSON_TYPE, "content-encoding": "gzip" }), 415, "request.media_type"],
  ];
}

/** Requests that are wrong otherwise. */
function badRequests(realm: TestRealm): Bad[] {
  const user = (more: object) => JSON.stringify({ username: "u", password: PASSWORD, ...more });
  const users = (body: string): Bad[1] => ["POST", "/v1/users", body, JSON_TYPE];
  return [
    [
      "HTML only",
      ["GET", "/v1/auth/me", undefined, { accept: "text/html" }],
      406,
      "request.not_acceptable",
    ],
    [
      "no JSON",
      ["GET", "/v1/auth/me", undefined, { accept: "application/json;q=0" }],
      406,
      "request.not_acceptable",
    ],
    ["an unknown route", ["GET", "/v1/nothing"], 404, "route.not_found"],
    ["an unknown path", ["POST", "/nothing"], 404, "route.not_found"],
    ["a wrong method", ["PUT", "/v1/transactions"], 405, "method.not_allowed"],
    ["a body to none", ["POST", "/v1/auth/logout", '{"x":1}', JSON_TYPE], 400, "request.invalid"],
    ["an unknown parameter", ["GET", "/v1/auth/me?x=1"], 400, "query.invalid"],
    ...MEMBERS.flatMap((name): Bad[] =>
      ["/v1/auth/me", "/v1/accounts", "/v1/accounts/all", "/v1/transactions/count"].map((path) => [
        `the parameter ${name} of ${path}`,
        ["GET", `${path}?${name}=1`],
        400,
        "query.invalid",
      ])
    ),
    ["NUL in a parameter", ["GET", "/v1/accounts?search=%00"], 400, "query.invalid"],
    ["NUL in a name", users(user({ username: "a\u0000b" })), 400, "request.invalid"],
    ["an unknown role", users(user({ roles: "king" })), 400, "request.invalid"],
    ["a short password", users(user({ password: "short" })), 400, "request.invalid"],
    ["a wrong address", users(user({ channel: { email: "x" } })), 400, "request.invalid"],
    ...["x", "%00", "%ff", "..%2f..", "0", ...MEMBERS, "a".repeat(3000), "'%20or%201=1"].map((
      id,
    ): Bad => [
      `the id ${id.slice(0, 20)}`,
      ["GET", `/v1/accounts/${id}`],
      404,
      "account.not_found",
    ]),
    ["no key", ["GET", "/v1/auth/me", undefined, { "x-api-key": "" }], 401, "auth.missing"],
    ["a garbage key", ["GET", "/v1/auth/me", undefined, { "x-api-key": "x" }], 401, "auth.invalid"],
    [
      "the application key",
      ["GET", "/v1/auth/me", undefined, { "x-api-key": realm.made.applicationKey }],
      401,
      "auth.invalid",
    ],
    [
      "the platform key",
      ["GET", "/v1/auth/me", undefined, { "x-api-key": PLATFORM_KEY }],
      401,
      "auth.invalid",
    ],
    [
      "a key with blanks",
      post("{}", { ...JSON_TYPE, "idempotency-key": "a b" }),
      400,
      "request.invalid",
    ],
  ];
}

function post(body: BodyInit, headers: Record<string, string> = JSON_TYPE): Bad[1] {
  return ["POST", "/v1/transactions", body, headers];
}

test("bad input is answered precisely, and changes nothing", async (realm) => {
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const bad = [...badBodies(account, other), ...badRequests(realm)];
  const before = await stateOf(realm);
  for (const [name, request, status, code] of bad) {
    const answer = await raw(realm, request);
    equal(answer.status, status, `${name}: ${answer.text.slice(0, 300)}`);
    const problem = JSON.parse(answer.text);
    equal(problem.code, code, name);
    equal(problem.instance, answer.headers.get("x-request-id"), name);
    equal(answer.headers.get("content-type"), "application/problem+json", name);
    ok(answer.text.length < 3000, `${name}: a short answer`);
    if (code === "method.not_allowed") match(answer.headers.get("allow") ?? "", /POST/);
  }
  deepEqual(await stateOf(realm), before);
});

test("input that looks odd and is valid is accepted", async (realm) => {
  const get = (headers: Record<string, string>): Bad[1] => ["GET", "/v1/auth/me", , headers];
  for (
    const headers of [
      { accept: "" },
      { accept: "text/html, */*;q=0.1" },
      { accept: "application/problem+json" },
      { accept: "application/*" },
      { "x-request-id": "bad id with blanks" },
    ] as Record<string, string>[]
  ) {
    equal((await raw(realm, get(headers))).status, 200, JSON.stringify(headers));
  }
  const body = new TextEncoder().encode('\ufeff{"data":{"ok":"\ufffd ✓ \\ud83d\\ude00","n":1.10}}');
  const made = await raw(realm, ["POST", "/v1/identities", body, {
    "content-type": 'application/json; charset="UTF-8"',
    "x-request-id": "mine-1",
  }]);
  equal(made.status, 201);
  match(made.text, /"n":1.10,"ok":"\ufffd ✓ 😀"/);
  equal(made.headers.get("x-request-id"), "mine-1");
  const members = '{"constructor":{"prototype":{"a":1}},"hasOwnProperty":null,"toString":"x"}';
  const odd = await raw(realm, ["POST", "/v1/identities", `{"data":${members}}`, JSON_TYPE]);
  equal(odd.status, 201, odd.text);
  deepEqual(JSON.parse(odd.text).data, JSON.parse(members));
});

test("over a real socket bodies without a length, without a type, or none, and huge headers", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request, sending) => {
      const answer = await app(request, "127.0.0.1");
      endUnread(request, sending);
      return answer;
    },
  );
  const { port } = server.addr;
  const ask = async (
    head: string,
    body: (write: (text: string) => Promise<void>) => Promise<void>,
  ) => {
    using connection = await Deno.connect({ port, hostname: "127.0.0.1" });
    const encoder = new TextEncoder();
    const write = async (text: string) => {
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    };
    // The server may answer and close while we still write.
    const writing = write(`${head}\r\nhost: purser.test\r\nx-api-key: ${realm.admin.key}\r\n`)
      .then(() => body(write)).catch(() => {});
    let text = "";
    const buffer = new Uint8Array(65536);
    while (!text.includes("\r\n\r\n") || !/\}\s*$/.test(text)) {
      const n = await connection.read(buffer).catch(() => null);
      if (n === null) break;
      text += new TextDecoder().decode(buffer.subarray(0, n));
      if (/^HTTP\/1\.1 (431|400)/.test(text)) break;
    }
    await writing;
    return text;
  };
  try {
    const chunked = await ask("POST /v1/identities HTTP/1.1", async (write) => {
      await write("content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
      const chunk = "x".repeat(65536);
      for (let i = 0; i < 40; i++) await write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      await write("0\r\n\r\n");
    });
    match(chunked, /^HTTP\/1\.1 413 /);
    match(chunked, /request\.too_large/);
    const lying = await ask("POST /v1/identities HTTP/1.1", async (write) => {
      await write("content-type: application/json\r\ncontent-length: 9000000\r\n\r\n{");
    });
    match(lying, /^HTTP\/1\.1 413 /);
    const huge = await ask("GET /v1/auth/me HTTP/1.1", async (write) => {
      await write(`x-huge: ${"x".repeat(2_000_000)}\r\n\r\n`);
    });
    ok(huge === "" || /^HTTP\/1\.1 4\d\d /.test(huge), huge.slice(0, 100));
    // As curl -X POST sends it: nothing is said of a body, and there is none.
    const bare = await ask("POST /v1/identities HTTP/1.1", (write) => write("\r\n"));
    match(bare, /^HTTP\/1\.1 201 /);
    const untyped = await ask("POST /v1/identities HTTP/1.1", async (write) => {
      await write("transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    });
    match(untyped, /request\.media_type/);
    const fine = await ask("GET /v1/auth/me HTTP/1.1", (write) => write("\r\n"));
    match(fine, /^HTTP\/1\.1 200 /);
  } finally {
    await server.shutdown();
  }
});

test("over a real socket a HEAD has the length of the GET and no body, and hosts are read as they may be written", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => app(request, "127.0.0.1"),
  );
  const { port } = server.addr;
  const ask = async (line: string, ...hosts: string[]) => {
    const connection = await Deno.connect({ port, hostname: "127.0.0.1" });
    const head = [line, `x-api-key: ${realm.admin.key}`, "accept-encoding: identity"];
    const sent = [...head, ...hosts.map((host) => `host: ${host}`), "connection: close", "", ""];
    await connection.write(new TextEncoder().encode(sent.join("\r\n")));
    const text = await new Response(connection.readable).text();
    const [headers, body] = text.split("\r\n\r\n");
    const length = /content-length: (\d+)/i.exec(headers)?.[1];
    return { status: Number(headers.split(" ")[1]), length: Number(length), body };
  };
  for (const path of ["/v1/auth/me", "/v1/nowhere", "/v1/accounts/none", "/v1/auth/login"]) {
    const [get, head] = [
      await ask(`GET ${path} HTTP/1.1`, "a"),
      await ask(`HEAD ${path} HTTP/1.1`, "a"),
    ];
    deepEqual([head.status, head.body], [get.status, ""], path);
    equal(head.length, new TextEncoder().encode(get.body).length, path);
  }
  // The server also speaks HTTP/2 to a client that begins with it: there a body would be sent, to its dismay.
  const asked = ["GET /v1/auth/me", "HEAD /v1/auth/me", "HEAD /v1/nowhere", "HEAD /v1/events"];
  const second = await askHttp2(
    port,
    asked.map((line) => line.split(" ")).map(([method, path]) => ({
      method,
      path,
      key: realm.admin.key,
    })),
  );
  const bare = ["headers", "end"];
  deepEqual(second.map(({ frames }) => frames), [["headers", "data", "end"], bare, bare, bare]);
  const me = "GET /v1/auth/me HTTP/1.1";
  for (
    const host of ["a.b:", "A.B", "a.b.", "a_b", "[::FFFF:1.2.3.4]:8080", "999.1.1.1", "[::1]:"]
  ) {
    equal((await ask(me, host)).status, 200, host);
  }
  for (
    const host of ["[fe80::1%25eth0]", "[fe80::1%eth0]:80", "a.b:c", "a.b::", "[::1", "a,b", ""]
  ) {
    equal((await ask(me, host)).status, 400, host);
  }
  equal((await ask(me, "a", "b")).status, 400, "two hosts");
  equal((await ask("GET /v1/auth/me HTTP/1.0")).status, 200, "HTTP/1.0 knows no hosts");
  for (
    const target of ["http://a.b/v1/auth/me", "HTTP://A.B:/v1/auth/me", "http://a.b:80/v1/auth/me"]
  ) {
    equal((await ask(`GET ${target} HTTP/1.1`, "a.b")).status, 200, target);
  }
  equal((await ask("GET http://c/v1/auth/me HTTP/1.1", "a")).status, 400, "another host");
  for (const line of ["OPTIONS *", "CONNECT a:80", "GET //b/v1/auth/me"]) {
    equal((await ask(`${line} HTTP/1.1`, "a")).status, 404, line);
  }
});
