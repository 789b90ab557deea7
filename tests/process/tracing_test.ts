/** Traces of a service that is a process of its own, as a collector gets them. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import postgres from "postgres";
import { summaryOf, textOf } from "../../db/statement_spans.ts";
import { traceFaults } from "../../tracing.ts";
import { testDatabase } from "../support/database.ts";
import { until as eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { PASSWORD, PLATFORM_KEY } from "../support/realm.ts";
import { taskArgs } from "../support/tasks.ts";

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: { key: string; value: Record<string, string> }[];
  status: { code?: number; message?: string };
}

/** A collector that speaks OTLP over HTTP, in JSON. */
function collect() {
  const spans: Span[] = [];
  let text = "";
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body = await request.text();
    text += body;
    for (const { scopeSpans } of JSON.parse(body).resourceSpans ?? []) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    return Response.json({});
  });
  return { spans, text: () => text, url: `http://127.0.0.1:${server.addr.port}`, server };
}

/** Starts the service with traces on, as its task does. */
async function startTraced(databaseUrl: string, collector: string, nodePort: number) {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-traces-" });
  const port = freePort();
  const service = new Deno.Command(Deno.execPath(), {
    args: await taskArgs("start"),
    env: {
      ...{ PORT: `${port}`, DATABASE_URL: databaseUrl, DATA_DIR: dataDir, LOG_FORMAT: "json" },
      ...{ PLATFORM_KEY, MASTER_KEY: btoa("0123456789abcdef0123456789abcdef") },
      ETHEREUM_TESTNET_RPC_URL: `http://127.0.0.1:${nodePort}/v3/key-of-a-node`,
      TRUSTED_PROXIES: "127.0.0.1/32",
      ...tracesTo(collector),
    },
    ...{ stdout: "null", stderr: "null" },
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    const ready = await fetch(`${url}/health/ready`).catch(() => null);
    await ready?.body?.cancel();
    return ready?.ok ?? false;
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      service.kill("SIGTERM");
      await service.status;
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

Deno.test("a request's trace holds its route, its statements and its jobs, and no value of theirs", async () => {
  const collector = collect();
  await using _collecting = collector.server;
  // A node that fails: its address holds a key, as those of providers do.
  await using node = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("no", { status: 500 }),
  );
  await using own = await testDatabase();
  await using service = await startTraced(own.url, collector.url, node.addr.port);
  const { url } = service;
  const realm = await post(`${url}/v1/realms`, PLATFORM_KEY, {
    name: "traced",
    admin: { email: "a@traced.example", password: PASSWORD },
  });
  const session = await post(`${url}/v1/auth/admins/login`, realm["x-api-key"], {
    ...{ realm_key: realm.realm_key, email: "a@traced.example", password: PASSWORD },
  });
  const key = session["x-api-key"];
  const callers = "0af7651916cd43dd8448eb211c80319c";
  await post(`${url}/v1/accounts`, key, { type: "ramp", asset: "ETH", testnet: true }, {
    traceparent: `00-${callers}-b7ad6b7169203331-01`,
  });
  const { spans } = collector;
  const named = (name: string | RegExp) =>
    spans.filter((one) => one.traceId === callers && one.name.match(name) !== null);
  await eventually(() => named(/^job /).length > 0 && named(/^POST /).length > 0);
  const [request] = named("POST /v1/accounts");
  equal(request.parentSpanId, "b7ad6b7169203331", "a trusted proxy's trace goes on");
  const attributes = Object.fromEntries(
    request.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
  );
  deepEqual([attributes["http.route"], `${attributes["http.response.status_code"]}`], [
    "/v1/accounts",
    "201",
  ]);
  for (const name of [/^insert accounts$/, /^insert jobs$/]) {
    deepEqual(named(name).map((one) => one.parentSpanId), [request.spanId]);
  }
  const unnamed = spans.filter(({ name, traceId }) => traceId === callers && name === "select");
  equal(unnamed.length, 0, "a statement without its table");
  const [job] = named(/^job /);
  equal(job.parentSpanId, request.spanId, "the job goes on with its cause's trace");
  const inside = spans.filter((one) => one.parentSpanId === job.spanId).map(({ name }) => name);
  ok(inside.includes("node request") && inside.includes("update jobs"), `${inside}`);

  for (const secret of ["key-of-a-node", "a@traced.example", "a%40traced", key, PASSWORD]) {
    equal(collector.text().includes(secret), false, secret);
  }
  match(collector.text(), /"service\.name",\s*"value":\s*\{\s*"stringValue":\s*"purser"/);
  equal(spans.filter(({ name }) => /^(GET|POST)$/.test(name)).length, 0, "spans of the runtime");
  await fetch(`${url}/v1/users/all?scope=all&email=a%40traced.example`, {
    headers: { "x-api-key": key },
  }).then((answer) => answer.body?.cancel());
  await eventually(() => spans.some(({ name }) => name === "GET /v1/users/all"));
  equal(collector.text().includes("a%40traced"), false, "what callers search for");
});

Deno.test("the keys that a command prints once go to its caller, and to no collector", async () => {
  const collector = collect();
  await using _collecting = collector.server;
  await using own = await testDatabase();
  const run = async (args: readonly string[], input = "") => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...await taskArgs("realm"), ...args],
      env: { DATABASE_URL: own.url, PLATFORM_KEY, ...tracesTo(collector.url) }, // and no MASTER_KEY
      ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    }).spawn();
    await ReadableStream.from([new TextEncoder().encode(input)]).pipeTo(child.stdin);
    const { code, stdout, stderr } = await child.output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    equal(code, 0, err);
    return out;
  };
  const admin = { email: "a@traced.example", password: PASSWORD };
  const asked = JSON.stringify({ name: "told once", admin });
  const made = JSON.parse(await run(["create", "-"], asked));
  await run(["list"]);
  await eventually(() => collector.text().includes("schema_version")); // what it lists is exported
  for (const secret of [made["x-api-key"], made.realm_key, PASSWORD]) {
    equal(collector.text().includes(secret), false);
  }
});

function tracesTo(collector: string): Record<string, string> {
  return {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
}

async function post(
  url: string,
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  ok(answer.ok, text);
  return JSON.parse(text);
}

Deno.test("traces are refused where the runtime would export URLs with keys", () => {
  deepEqual(traceFaults({}), []);
  deepEqual(traceFaults({ OTEL_DENO: "false" }), []);
  const own = { OTEL_TRACES_SAMPLER: "parentbased_always_off", OTEL_PROPAGATORS: "none" };
  deepEqual(traceFaults({ OTEL_DENO: "true", ...own }), []);
  match(traceFaults({ OTEL_DENO: "1", ...own, OTEL_PROPAGATORS: "tracecontext" })[0], /^OTEL_PROP/);
  equal(traceFaults({ OTEL_DENO: "true" }).length, 2);
  equal(traceFaults({ OTEL_DENO: "true", ...own, OTEL_TRACES_SAMPLER_ARG: "2" }).length, 1);
});

Deno.test("a statement is named by its verb and table alone", () => {
  equal(summaryOf("\n  select a, 'x' from accounts where id = '1'"), "select accounts");
  equal(summaryOf("insert into jobs (id) values (1)"), "insert jobs");
  equal(summaryOf("with gone as (delete from x) select 1"), "with gone");
  equal(summaryOf("call ledger_single_now($1)"), "call ledger_single_now");
  equal(summaryOf("select 'a@b.example'"), "select");
  equal(summaryOf("'a@b.example'"), "statement");
  equal(summaryOf("-- why\n\n  update users set a = 1"), "update users");
  equal(summaryOf("(select id from users) union all (select 1)"), "select users");
  equal(summaryOf("select a -- taken from the first\n from orders"), "select orders");
  equal(summaryOf("select 'from bob', extract(epoch from now()) from logins"), "select logins");
  equal(summaryOf("select extract(epoch from now())"), "select now");
  equal(summaryOf("select set_config('a', 'b', true)"), "select set_config");
  equal(summaryOf("select a is distinct from b from accounts"), "select accounts");
  const sql = postgres({ max: 1 }); // connects to nothing
  const made = (one: unknown) => summaryOf(textOf(one as Parameters<typeof textOf>[0]));
  const columns = sql(["id", "email"]);
  equal(
    summaryOf("select a from (select 1) b left join attestations c on true"),
    "select attestations",
  );
  equal(made(sql`select 1 from ${sql("accounts")} where id = ${"7"}`), "select accounts");
  equal(
    made(sql`select ${columns} from users where email = ${"a@b.example from x"}`),
    "select users",
  );
  equal(
    made(sql`${sql`select ${columns} from ${sql`only`} accounts`} where 1 = 1`),
    "select accounts",
  );
  equal(made(sql`select 1 where 'x' = ${"a from b@c.example"}`), "select");
});
