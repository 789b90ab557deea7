import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ERROR_CODES } from "../../domain/errors.ts";
import { PROBLEMS } from "../../routes/errors.ts";
import { allRoutes } from "../../routes/routes.ts";
import { testRealm } from "../support/realm.ts";

Deno.test("GET /v1/openapi.json is a valid OpenAPI 3.1 document of every route", async () => {
  await using realm = await testRealm();
  const { status, body } = await realm.nobody("GET", "/v1/openapi.json");
  equal(status, 200);
  match(body.openapi, /^3\.1\./);
  const result = await new Validator().validate(structuredClone(body));
  deepEqual(result.errors ?? [], []);
  ok(result.valid);
  for (const route of allRoutes()) {
    const operation = body.paths[route.path]?.[route.method.toLowerCase()];
    ok(operation, `${route.method} ${route.path}`);
    const said = JSON.stringify(operation.responses);
    for (const code of route.errors) ok(said.includes(`\`${code}\``), `${route.path} ${code}`);
  }
  const ids = Object.values(body.paths).flatMap((path) =>
    Object.values(path as Record<string, { operationId: string }>).map((each) => each.operationId)
  );
  equal(new Set(ids).size, ids.length);
});

Deno.test("every reference in the OpenAPI document leads somewhere", async () => {
  await using realm = await testRealm();
  const { body, text } = await realm.nobody("GET", "/v1/openapi.json");
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
    ok(body.components.schemas[name], name);
  }
  ok(!/"\$ref":"(?!#\/components\/schemas\/)/.test(text));
});

Deno.test("GET /docs and all that it loads come from this process", async () => {
  await using realm = await testRealm();
  const page = await realm.nobody("GET", "/docs");
  equal(page.status, 200);
  match(page.headers.get("content-type")!, /^text\/html/);
  const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
  equal(assets.length, 3);
  for (const asset of assets) {
    match(asset, /^\/docs\/assets\//);
    const answer = await realm.nobody("GET", asset);
    equal(answer.status, 200);
    ok(answer.text.length > 100);
  }
  match(page.headers.get("content-security-policy")!, /default-src 'self'/);
});

Deno.test("every error code has a page", async () => {
  await using realm = await testRealm();
  for (const code of ERROR_CODES) {
    const { status, text } = await realm.nobody("GET", `/problems/${code}`);
    equal(status, 200, code);
    ok(text.includes(`HTTP status ${PROBLEMS[code].status}`), code);
  }
  equal((await realm.nobody("GET", "/problems/no.such")).body.code, "problem.not_found");
});
