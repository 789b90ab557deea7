/** What HTTP itself has words for: where a new entity is, what follows a part of a list, methods, origins, encodings. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { ConfigError, readConfig } from "../../config.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { takesGzip } from "../../routes/http/compression.ts";
import { allRoutes } from "../../routes/http/route_list.ts";
import { described } from "../../routes/http/answer_headers.ts";
import type { Call } from "../../routes/http/route.ts";
import { type Answer, type Send, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("conventions in one realm");

/** Follows the links of a list from its first part, and gives the ids of all rows. */
async function follow(send: Send, first: string): Promise<string[]> {
  const ids: string[] = [];
  for (let path: string | null = first; path !== null;) {
    const { status, body, headers }: Answer = await send("GET", path);
    equal(status, 200, path);
    const rows: { id?: string; seq?: number }[] = Array.isArray(body) ? body : body.rows;
    ids.push(...rows.map(({ id, seq }) => `${seq ?? id}`));
    path = /^<(.+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1] ?? null;
  }
  return ids;
}

test("every route that makes something which can be read says where it is", async (realm) => {
  const reading = allRoutes().filter(({ method }) => method === "GET");
  const paths = new Set(reading.map((one) => one.path.replace(/\{\w+\}$/, "{made}")));
  const making = allRoutes().filter(({ makes }) => makes !== undefined);
  ok(making.length >= 23, `${making.length}`);
  for (const { status, makes, method, path } of making) {
    ok(status === 201 && paths.has(makes!), `${method} ${path}: ${makes}`);
  }
  const { send } = realm.admin;
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const made = [
    await send("POST", "/v1/identities", {}),
    await send("POST", "/v1/accounts", { type: "virtual", asset: name }),
    await send("POST", "/v1/transactions", {
      ...{ source: { account }, destination: { account: other }, value: "1" },
    }),
    await send("POST", `/v1/accounts/${account}/blocks`, { amount: "1" }),
  ];
  for (const { status, body, headers } of made) {
    equal(status, 201);
    const location = headers.get("location")!;
    ok(location.endsWith(`/${body.id}`), location);
    const read = await send("GET", location);
    deepEqual([read.status, read.body.id], [200, body.id], location);
  }
});

test("a repeat says the same place as the first answer, a refusal and a dry run none", async (realm) => {
  const { send } = realm.admin;
  const { name, account } = await realm.currency("10");
  const destination = { account: await realm.account({ asset: name }) };
  const move = { source: { account }, destination, value: "1" };
  const key = { "idempotency-key": crypto.randomUUID() };
  const first = await send("POST", "/v1/transactions", move, key);
  const again = await send("POST", "/v1/transactions", move, key);
  ok(first.headers.get("location") !== null);
  equal(again.headers.get("location"), first.headers.get("location"));
  const refused = await send("POST", "/v1/transactions", { ...move, value: "1000" });
  deepEqual([refused.status, refused.headers.get("location")], [409, null]);
  const tried = await send("POST", "/v1/transactions?dry_run=true", move);
  deepEqual([tried.status, tried.headers.get("location")], [201, null]);
});

test("links lead through a whole list: by cursor, by page, cut down to fields, and in another order", async (realm) => {
  const { send } = realm.admin;
  const { name } = await realm.currency("10");
  const made: string[] = [];
  for (let n = 0; n < 7; n++) made.push(await realm.account({ asset: name }));
  const mine = `scope=all&query=${encodeURIComponent(JSON.stringify({ asset: name }))}`;
  const whole = await follow(send, `/v1/accounts/all?${mine}`);
  equal(whole.length, 8);
  for (
    const list of [
      `/v1/accounts/all?limit=3&${mine}`,
      `/v1/accounts/all?limit=4&${mine}`, // the last part is full
      `/v1/accounts?pageSize=3&${mine}`,
      `/v1/account?pageSize=8&${mine}`,
    ]
  ) deepEqual((await follow(send, list)).toSorted(), whole.toSorted(), list);
  deepEqual(
    await follow(send, `/v1/accounts/all?limit=3&sort=-created_at&${mine}`),
    whole.toReversed(),
  );
  const first = await send("GET", `/v1/accounts/all?limit=3&fields=asset&${mine}`);
  const second = /^<(.+)>/.exec(first.headers.get("link")!)![1];
  equal(new URL(second, "http://localhost").searchParams.get("offset"), "3");
  equal((await send("GET", second)).body.length, 3);
});

test("links lead through persons and companies by their pages", async (realm) => {
  const { send } = realm.admin;
  const post = async (path: string, body: unknown) => {
    const { status, body: made } = await send("POST", path, body);
    equal(status, 201, JSON.stringify(made));
    return made.id;
  };
  for (let n = 0; n < 7; n++) {
    const identity = await post("/v1/identities", {});
    await post(`/v1/identities/${identity}/person`, { lastName: `Linked ${n}` });
    await post("/v1/identities/companies", { name: `Linked ${n}` });
  }
  for (const name of ["persons", "companies"]) {
    const list = `/v1/identities/${name}`;
    const whole = (await send("GET", `${list}?limit=100`)).body.map(({ id }: { id: string }) => id);
    equal(whole.length, 7);
    deepEqual(await follow(send, `${list}?limit=3`), whole);
    equal((await send("GET", `${list}?limit=1000&page=101`)).headers.get("link"), null);
  }
});

test("links lead through entries, the chain, the trail and what nobody may skip", async (realm) => {
  const { send } = realm.admin;
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  for (let n = 0; n < 4; n++) {
    await send("POST", "/v1/transactions", {
      ...{ source: { account }, destination: { account: other }, value: "1" },
    });
  }
  const entries = `/v1/accounts/${other}/entries`;
  deepEqual(await follow(send, `${entries}?pageSize=3`), ["1", "2", "3", "4"]);
  deepEqual(await follow(send, `${entries}?pageSize=3&after=0`), ["1", "2", "3", "4"]);
  await extendHashChain(realm.pool, Date.now);
  for (const list of ["/v1/transactions/chain", "/v1/audit"]) {
    const parts = await follow(send, `${list}?limit=5`);
    equal(new Set(parts).size, parts.length, list);
    ok(parts.length > 5, `${list}: ${parts.length}`);
  }
});

Deno.test("places and links stand below the prefix of the public address", async () => {
  await using realm = await testRealm({ env: { BASE_URL: "https://api.example/purser/" } });
  const made = await realm.admin.send("POST", "/v1/identities", {});
  equal(made.headers.get("location"), `/purser/v1/identities/${made.body.id}`);
  const list = await realm.admin.send("GET", "/v1/identities/all?scope=all&limit=1");
  ok(list.headers.get("link")!.startsWith("</purser/v1/identities/all?"));
});

test("every path says which methods it has, to whoever asks, and a wrong one is refused with them", async (realm) => {
  const asked = await realm.nobody("OPTIONS", "/v1/accounts");
  deepEqual([asked.status, asked.headers.get("allow")], [200, "POST, GET, HEAD, OPTIONS"]);
  const wrong = await realm.nobody("DELETE", "/v1/accounts");
  deepEqual([wrong.status, wrong.headers.get("allow")], [405, "POST, GET, HEAD, OPTIONS"]);
  equal((await realm.nobody("OPTIONS", "/v1/nowhere")).status, 404);
  equal(asked.headers.get("access-control-allow-origin"), null);
});

Deno.test("pages of the origins that are named may call the API, those of others may not", async () => {
  const origin = "https://app.example";
  await using realm = await testRealm({
    env: { CORS_ORIGINS: `${origin}, http://localhost:3000` },
  });
  const preflight = (from: string) =>
    realm.nobody("OPTIONS", "/v1/transactions", undefined, {
      "origin": from,
      "access-control-request-method": "POST",
    });
  const named = await preflight(origin);
  equal(named.status, 200);
  const told = (name: string) => named.headers.get(`access-control-${name}`);
  equal(told("allow-origin"), origin);
  equal(told("allow-credentials"), null);
  ok(told("allow-headers")!.split(", ").includes("idempotency-key"));
  ok(told("allow-methods")!.split(", ").includes("POST"));
  for (const other of ["https://evil.example", "https://app.example.evil", "null"]) {
    const { headers } = await preflight(other);
    deepEqual([...headers.keys()].filter((name) => name.startsWith("access-control")), []);
    equal(headers.get("vary"), "origin");
  }
  // Answers and refusals of every kind, also without a route.
  for (const path of ["/v1/auth/me", "/v1/accounts/x", "/v1/nowhere", "/v1/accounts?bad=1"]) {
    const { headers } = await realm.admin.send("GET", path, undefined, { origin });
    equal(headers.get("access-control-allow-origin"), origin, path);
    ok(headers.get("access-control-expose-headers")!.includes("x-request-id"), path);
    ok(headers.get("x-request-id") !== null, path);
  }
  const without = await realm.admin.send("GET", "/v1/auth/me");
  equal(without.headers.get("access-control-allow-origin"), null);
});

Deno.test("origins that are none, and every origin at once, are faults of the configuration", () => {
  const faults = (CORS_ORIGINS: string) => {
    try {
      readConfig({ CORS_ORIGINS }, false);
    } catch (error) {
      if (error instanceof ConfigError) return error.faults.filter((one) => one.startsWith("CORS"));
    }
    return [];
  };
  for (const wrong of ["*", "app.example", "https://app.example/", "ftp://app.example", "null"]) {
    equal(faults(wrong).length, 1, wrong);
  }
  deepEqual(faults("https://app.example,http://localhost:3000"), []);
});

test("large answers are compressed for clients that take gzip, others are not", async (realm) => {
  const large = await raw(realm, "/v1/openapi.json", "br, gzip;q=0.8");
  const plain = await raw(realm, "/v1/openapi.json", "identity");
  ok(large.bytes.length < plain.bytes.length / 3, `${large.bytes.length}`);
  deepEqual(unzipped(large), plain.bytes);
  const path = "/v1/transactions/chain";
  const { account, name } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  await realm.admin.send("POST", "/v1/transactions/batch", {
    atomic: true,
    transactions: new Array(300).fill(move),
  });
  await extendHashChain(realm.pool, Date.now);
  const list = await raw(realm, path, "gzip");
  equal(list.headers.get("content-encoding"), "gzip");
  equal(list.headers.get("vary"), "accept-encoding");
  const whole = await raw(realm, path, null);
  equal(whole.headers.get("content-encoding"), null);
  equal(whole.headers.get("vary"), "accept-encoding");
  deepEqual(unzipped(list), whole.bytes);
  equal((await raw(realm, "/v1/auth/me", "gzip")).headers.get("content-encoding"), null);
});

async function raw(realm: TestRealm, path: string, encoding: string | null) {
  await using other = realm.another();
  const { app } = other;
  const headers: Record<string, string> = { "x-api-key": realm.admin.key };
  if (encoding !== null) headers["accept-encoding"] = encoding;
  const answer = await app(new Request(`http://localhost${path}`, { headers }), "127.0.0.1");
  equal(answer.status, 200);
  return { headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

function unzipped({ bytes }: { bytes: Uint8Array }): Uint8Array {
  return new Uint8Array(gunzipSync(bytes));
}

Deno.test("takesGzip() reads names, weights and the star", () => {
  for (const yes of ["gzip", "GZIP", "br, gzip;q=0.5", "*", "identity;q=0, *;q=0.1", "x-gzip"]) {
    equal(takesGzip(yes), true, yes);
  }
  for (const no of [null, "", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "identity"]) {
    equal(takesGzip(no), false, `${no}`);
  }
});

Deno.test("a realm with a limit is told it in the words of the draft too, one without is not", async () => {
  await using limited = await testRealm({ tier: "pro" });
  const { headers } = await limited.admin.send("GET", "/v1/auth/me");
  equal(headers.get("ratelimit-policy"), '"second";q=100;w=1');
  equal(headers.get("ratelimit"), '"second";r=99;t=1');
  await using free = await testRealm();
  equal((await free.admin.send("GET", "/v1/auth/me")).headers.get("ratelimit"), null);
});

Deno.test("a deprecated route says since when, and when it will be gone", () => {
  const deprecated = { since: 1_767_225_600_000, sunset: 1_798_761_600_000 };
  const call = { route: { deprecated } } as unknown as Call<unknown, unknown, unknown>;
  deepEqual(described({ status: 200, body: "{}" }, call).headers, {
    deprecation: "@1767225600",
    sunset: "Fri, 01 Jan 2027 00:00:00 GMT",
  });
});
