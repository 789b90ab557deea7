import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ERROR_CODES } from "../../domain/errors.ts";
import { PROBLEMS } from "../../routes/http/problems.ts";
import { createApp } from "../../routes/http/app.ts";
import { operationId } from "../../routes/http/openapi_names.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { send } from "../../routes/http/responses.ts";
import { openUntaken } from "../../routes/http/untaken_answers.ts";
import { askHttp2 } from "../support/http2.ts";
import { PLATFORM_KEY, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const VERB_AND_NOUN = new RegExp(
  "^(activate|assign|begin|cancel|capture|change|check|confirm|consolidate|count|create|deactivate|" +
    "delete|deploy|deposit|destroy|discard|end|estimate|explain|find|freeze|get|issue|lift|list|log|open|record|register|release|" +
    "replace|rescan|resend|resolve|retry|revert|rotate|send|set|speedUp|stream|sync|test|unassign|undelete|unfreeze|update|verify|withdraw)[A-Z][A-Za-z]+$",
);

const test = sharing("docs in one realm");

test("GET /v1/openapi.json is a valid OpenAPI 3.1 document of every route", async (realm) => {
  const { status, body } = await realm.nobody("GET", "/v1/openapi.json");
  equal(status, 200);
  match(body.openapi, /^3\.1\./);
  const result = await new Validator().validate(structuredClone(body));
  deepEqual(result.errors ?? [], []);
  ok(result.valid);
  for (const { name, description } of body.tags) ok(description, `tag ${name}`);
  const operations = [body.paths, body.webhooks].flatMap((item) => Object.values(item))
    .flatMap((methods) => Object.values(methods as Record<string, { security?: unknown }>));
  deepEqual(operations.filter(({ security }) => security === undefined), []);
  for (const route of allRoutes()) {
    const operation = body.paths[route.path]?.[route.method.toLowerCase()];
    ok(operation, `${route.method} ${route.path}`);
    const said = codesOf(body, operation);
    for (const code of route.errors) ok(said.includes(code), `${route.path} ${code}`);
  }
});

// Documents are looked into freely.
// deno-lint-ignore no-explicit-any
function codesOf(document: any, operation: any): string[] {
  // deno-lint-ignore no-explicit-any
  return Object.values<any>(operation.responses).flatMap((response) => {
    const whole = response.$ref === undefined
      ? response
      : document.components.responses[response.$ref.split("/").at(-1)];
    return whole.content?.["application/problem+json"]?.schema.properties.code.enum ?? [];
  });
}

Deno.test("operations are named by a verb and a noun, each by a name of its own", () => {
  const ids = allRoutes().map(operationId);
  for (const id of ids) match(id, VERB_AND_NOUN, id);
  deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), []);
  for (const id of ["captureBlock", "listAccounts", "createAlias", "speedUpWithdrawal"]) {
    ok(ids.includes(id), id);
  }
});

Deno.test("other requests are served while the OpenAPI document is made", async () => {
  await using realm = await testRealm();
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const document = realm.nobody("GET", "/v1/openapi.json");
  // All that ask meanwhile get the same one.
  const others = await Promise.all([1, 2].map(() => realm.nobody("GET", "/v1/openapi.json")));
  clearInterval(timer);
  const { text } = await document;
  ok(others.every((answer) => answer.text === text));
  ok(turns > 5, `${turns} turns`);
});

test("patterns of the OpenAPI document are read without any flag", async (realm) => {
  const { text } = await realm.nobody("GET", "/v1/openapi.json");
  for (const [, literal] of text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)) {
    const pattern = JSON.parse(literal) as string;
    ok(!/\\[pP]\{|\(\?[=!<]/.test(pattern), pattern);
    new RegExp(pattern);
  }
});

test("GET / leads a browser to the reference, and others nowhere", async (realm) => {
  const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
  for (const accept of [browser.accept, "text/html"]) {
    const { status, headers } = await realm.nobody("GET", "/", undefined, { accept });
    equal(status, 302);
    equal(headers.get("location"), "/docs");
  }
  equal((await realm.nobody("GET", "/")).body.code, "route.not_found");
  equal((await realm.nobody("GET", "/", undefined, { accept: "*/*" })).status, 404);
});

for (
  const [where, base, prefix] of [
    ["at an address that is not BASE_URL", "http://0.0.0.0:8080", ""],
    ["behind a proxy with a path of its own", "http://127.0.0.1:8080/purser", "/purser"],
  ]
) {
  Deno.test(`the reference and what it tries out work ${where}`, async () => {
    await using realm = await testRealm({ env: { BASE_URL: base } });
    const app = createApp(realm.services, PLATFORM_KEY);
    await using proxy = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => {
        const url = new URL(request.url);
        if (!url.pathname.startsWith(`${prefix}/`)) return new Response(null, { status: 404 });
        url.pathname = url.pathname.slice(prefix.length);
        return app(new Request(url, request), "127.0.0.1");
      },
    );
    const origin = `http://127.0.0.1:${(proxy.addr as Deno.NetAddr).port}`;
    const lead = await fetch(`${origin}${prefix}/`, {
      headers: { accept: "text/html" },
      redirect: "manual",
    });
    await lead.body?.cancel();
    const page = await fetch(new URL(lead.headers.get("location")!, `${origin}${prefix}/`));
    equal(page.status, 200);
    match(page.headers.get("content-security-policy")!, /default-src 'self'/);
    const html = await page.text();
    for (const [, path] of html.matchAll(/(?:src|href|data-document)="([^"]+)"/g)) {
      const at = new URL(path, page.url);
      equal(at.origin, origin, "the page's own policy permits nothing else");
      const asset = await fetch(at);
      equal(asset.status, 200, path);
      if (!path.endsWith("openapi.json")) {
        await asset.body?.cancel();
        continue;
      }
      // A trial request goes to the page's own origin.
      const server = new URL((await asset.json()).servers[0].url, asset.url);
      equal(server.origin, origin);
      const tried = await fetch(`${server.href.replace(/\/$/, "")}/health/live`);
      deepEqual(await tried.json(), { status: "ok" });
    }
    match(html, /data-document="/);
  });
}

test("every reference in the OpenAPI document leads somewhere", async (realm) => {
  const { body, text } = await realm.nobody("GET", "/v1/openapi.json");
  for (const [, kind, name] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)) {
    ok(body.components[kind]?.[name], `${kind} ${name}`);
  }
  ok(!/"\$ref":"(?!#\/components\/\w+\/)/.test(text));
  deepEqual(Object.keys(body.components.responses).filter((name) => !/^[A-Z]/.test(name)), []);
});

test("GET /docs and all that it loads come from this process", async (realm) => {
  const page = await realm.nobody("GET", "/docs");
  equal(page.status, 200);
  match(page.headers.get("content-type")!, /^text\/html/);
  const assets = [...page.text.matchAll(/<(?:link|script)[^>]* (?:src|href)="([^"]+)"/g)].map((
    [, path],
  ) => path);
  equal(assets.length, 3);
  for (const asset of assets) {
    match(asset, /^\/docs\/assets\//);
    const answer = await realm.nobody("GET", asset);
    equal(answer.status, 200);
    ok(answer.text.length > 100);
  }
  match(page.headers.get("content-security-policy")!, /default-src 'self'/);
});

test("every error code has a page", async (realm) => {
  for (const code of ERROR_CODES) {
    const { status, text } = await realm.nobody("GET", `/problems/${code}`);
    equal(status, 200, code);
    ok(text.includes(`HTTP status ${PROBLEMS[code].status}`), code);
  }
  equal((await realm.nobody("GET", "/problems/no.such")).body.code, "problem.not_found");
});

test("the OpenAPI document and the reference are compressed once, and not sent to a client that has them", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await app(new Request(`http://a${path}`, { headers }), "127.0.0.1");
    return { answer, bytes: await answer.bytes(), tag: answer.headers.get("etag")! };
  };
  const gzip = { "accept-encoding": "br;q=1.0, gzip;q=0.8, *;q=0.1" };
  for (const path of ["/v1/openapi.json", "/docs/assets/swagger-ui.css"]) {
    const plain = await ask(path, { "accept-encoding": "gzip;q=0, identity" });
    equal(plain.answer.headers.get("content-encoding"), null);
    const small = await ask(path, gzip);
    equal(small.answer.headers.get("content-encoding"), "gzip");
    equal(small.answer.headers.get("vary"), "accept-encoding");
    ok(small.bytes.length * 4 < plain.bytes.length, `${small.bytes.length} bytes`);
    const stream = new Blob([small.bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    deepEqual(await new Response(stream).bytes(), plain.bytes);
    for (const [headers, tag] of [[{}, plain.tag], [gzip, small.tag]] as const) {
      const known = await ask(path, { ...headers, "if-none-match": tag });
      deepEqual([known.answer.status, known.bytes.length, known.tag], [304, 0, tag]);
    }
  }
});

test("the OpenAPI document is encoded once, not for each caller", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  const ask = async () => {
    const answer = await app(new Request("http://a/v1/openapi.json"), "127.0.0.1");
    return await answer.bytes();
  };
  const first = await ask();
  const { encode } = TextEncoder.prototype;
  let longest = 0;
  TextEncoder.prototype.encode = function (text = "") {
    longest = Math.max(longest, text.length);
    return encode.call(this, text);
  };
  try {
    deepEqual(await ask(), first);
  } finally {
    TextEncoder.prototype.encode = encode;
  }
  ok(longest < 10_000, `${longest} characters`);
});

test("of answers that a caller does not take, a connection of HTTP/2 holds a few megabytes", async (realm) => {
  const app = createApp(realm.services, PLATFORM_KEY);
  const untaken = openUntaken(realm.services);
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request, sending) => {
      const answer = await app(request, "127.0.0.1");
      return untaken(request, { answer, sending, connection: sending.remoteAddr });
    },
  );
  const { port } = server.addr;
  const { text: { length } } = await realm.nobody("GET", "/v1/openapi.json");
  const asked = Array(60).fill({ method: "GET", path: "/v1/openapi.json" });
  const given = (await askHttp2(port, asked, false)).filter(({ isOk }) => isOk).length;
  ok(given > 1 && given * length <= 16 * 1024 * 1024, `${given} of ${asked.length}`);
  // Of a request that changes something a repeat may be refused, the first answer may not.
  const connection = { hostname: "127.0.0.1", port: 1 };
  const sending = { completed: Promise.withResolvers<void>().promise };
  const body = "x".repeat(1024 * 1024);
  const statuses = (headers: Record<string, string>) =>
    Array.from({ length: 20 }, () => {
      const request = new Request("http://a/", { method: "POST" });
      const answer = send({ status: 201, body, headers }, "x");
      return untaken(request, { answer, sending, connection }).status;
    });
  deepEqual(new Set(statuses({})), new Set([201]));
  deepEqual(new Set(statuses({ "idempotency-replayed": "true" })), new Set([503]));
  // What is taken is not counted any more, and other connections never were.
  const path = "/v1/openapi.json";
  for (let i = 0; i < given + 2; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    deepEqual([answer.status, (await answer.text()).length], [200, length]);
  }
});

test("the reference keeps no key in the browser", async (realm) => {
  const { text } = await realm.nobody("GET", "/docs/assets/start.js");
  match(text, /persistAuthorization: false/);
});
