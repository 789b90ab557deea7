/** Metrics: who may read them, what they tell, and that rules and dashboards name metrics that exist. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { parse } from "yaml";
import { readConfig } from "../../config.ts";
import { insertJob } from "../../db/jobs.ts";
import { locking } from "../../db/transaction.ts";
import { keepMeasurement, MEASURED_NAMES } from "../../domain/realms/measurements.ts";
import { newId } from "../../domain/ids.ts";
import { createApp } from "../../routes/http/app.ts";
import { probeDelays, requestMetricsOf } from "../../routes/http/request_metrics.ts";
import { realmDatabase } from "../support/database.ts";
import { publishEvents } from "../../workers/webhooks/publishing.ts";
import { until } from "../support/eventually.ts";
import { PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";

interface Asked {
  key?: string;
  from?: string;
  headers?: Record<string, string>;
}

async function scrape(realm: TestRealm, { key, from = "127.0.0.1", headers = {} }: Asked = {}) {
  const app = createApp(realm.services, PLATFORM_KEY);
  const given = key === undefined ? headers : { ...headers, "x-api-key": key };
  const answer = await app(new Request("http://purser.test/metrics", { headers: given }), from);
  return {
    status: answer.status,
    type: answer.headers.get("content-type"),
    text: await answer.text(),
  };
}

/** A realm in a process that this machine may ask without a key. */
const measuredRealm = (env: Record<string, string> = {}) =>
  testRealm({ env: { METRICS_NETWORKS: "127.0.0.1", ...env } });

const LINE = /^([a-z_]+)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf)$/;

/** Reads the text format; refuses what Prometheus would refuse. */
function samplesOf(text: string): { name: string; labels: string; value: number }[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
    match(line, LINE);
    const [, name, labels = "", value] = LINE.exec(line)!;
    return { name, labels, value: Number(value) };
  });
}

function valueOf(text: string, name: string, ...labels: string[]): number | undefined {
  return samplesOf(text).find((one) =>
    one.name === name && labels.every((label) => one.labels.includes(label))
  )?.value;
}

function namesOf(text: string): Set<string> {
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
}

Deno.test("metrics count requests by route and status, and no caller's words become a label", async () => {
  await using realm = await measuredRealm();
  for (let i = 0; i < 3; i++) await realm.admin.send("GET", "/v1/assets");
  await realm.admin.send("GET", `/v1/accounts/${newId(Date.now())}`);
  await realm.nobody("GET", "/v1/assets");
  await realm.nobody("GET", "/secret-path-of-a-stranger");
  const { status, type, text } = await scrape(realm);
  deepEqual([status, type], [200, "text/plain; version=0.0.4; charset=utf-8"]);
  const route = 'route="/v1/assets"';
  equal(valueOf(text, "http_requests_total", route, 'status="200"'), 3);
  equal(valueOf(text, "http_requests_total", route, 'status="401"'), 1);
  equal(valueOf(text, "http_requests_total", 'route="/v1/accounts/{id}"', 'status="404"'), 1);
  equal(valueOf(text, "http_requests_total", 'route="none"', 'status="404"'), 1);
  equal(valueOf(text, "http_request_duration_seconds_count", route), 4);
  equal(valueOf(text, "http_request_duration_seconds_bucket", route, 'le="+Inf"'), 4);
  ok(valueOf(text, "http_request_duration_seconds_sum", route)! > 0);
  ok(!text.includes("stranger") && !text.includes(realm.id));
  const buckets = samplesOf(text)
    .filter((one) => one.name.endsWith("_bucket") && one.labels.includes(route))
    .map(({ value }) => value);
  deepEqual(buckets, buckets.toSorted((a, b) => a - b), "buckets are cumulative");
});

Deno.test("metrics answer the networks of METRICS_NETWORKS; others, and what comes through a proxy nobody trusts, need the platform key", async () => {
  await using realm = await measuredRealm({
    TRUSTED_PROXIES: "10.9.0.0/16",
    METRICS_NETWORKS: "10.0.0.0/8, ::1, 127.0.0.1",
  });
  const forwarded = { "x-forwarded-for": "203.0.113.7" };
  for (const from of ["127.0.0.1", "10.1.2.3", "::1"]) {
    equal((await scrape(realm, { from })).status, 200, from);
  }
  for (
    const asked of [
      { from: "203.0.113.7" },
      { from: "192.168.0.9" },
      { from: "2001:db8::1" },
      { from: "127.0.0.1", headers: forwarded },
      { from: "10.9.0.1", headers: forwarded },
      { from: "127.0.0.1", headers: { forwarded: "for=203.0.113.7" } },
      { from: "127.0.0.1", key: "not the platform key" },
      { from: "127.0.0.1", key: realm.admin.key },
    ]
  ) {
    equal((await scrape(realm, asked)).status, 401, JSON.stringify(asked));
  }
  equal((await scrape(realm, { from: "203.0.113.7", key: PLATFORM_KEY })).status, 200);
});

Deno.test("without METRICS_NETWORKS a service with a public address tells nobody its metrics but the operator", () => {
  const of = (env: Record<string, string>) => readConfig(env, false).metricsNetworks;
  deepEqual(of({}), ["127.0.0.0/8", "::1"]);
  deepEqual(of({ HOST: "0.0.0.0" }), []);
  deepEqual(of({ BASE_URL: "https://api.example" }), []);
  deepEqual(of({ BASE_URL: "https://api.example", METRICS_NETWORKS: "10.1.0.0/16" }), [
    "10.1.0.0/16",
  ]);
});

Deno.test("what workers measured is told for all realms together, and for each to the operator alone", async () => {
  await using own = await realmDatabase();
  await using realm = await measuredRealm({ DATABASE_URL: own.url });
  await using other = await realm.neighbour();
  const add = (of: TestRealm, count: number, run_at: number) =>
    locking(of.pool, async (tx) => {
      for (let i = 0; i < count; i++) {
        await insertJob(tx, { id: newId(Date.now()), name: "measured", payload: {}, run_at });
      }
    });
  await add(realm, 2, Date.now() - 90_000);
  await add(other, 3, Date.now() - 30_000);
  await add(other, 1, Date.now() + 600_000);
  await realm.admin.send("POST", "/v1/stops", { what: "signing", reason: "drill" });
  await realm.currency("5");
  for (const one of [realm, other]) await keepMeasurement(one.services.platform, one);
  const { text } = await scrape(realm);
  equal(valueOf(text, "purser_jobs", 'job="measured"', 'state="due"'), 5);
  equal(valueOf(text, "purser_jobs", 'job="measured"', 'state="waiting"'), 1);
  const age = valueOf(text, "purser_job_age_seconds", 'job="measured"')!;
  ok(age >= 90 && age < 3600, String(age));
  equal(valueOf(text, "purser_stops", 'what="signing"'), 1);
  ok(valueOf(text, "purser_hash_chain_backlog")! >= 1);
  equal(valueOf(text, "purser_realms"), 2);
  ok(valueOf(text, "purser_measurement_age_seconds")! >= 0);
  ok(!text.includes("realm="));
  const { text: apart } = await scrape(realm, { key: PLATFORM_KEY });
  const due = samplesOf(apart).filter(({ name, labels }) =>
    name === "purser_jobs" && labels.includes('state="due"') && labels.includes('job="measured"')
  );
  deepEqual(due.map(({ value }) => value).sort(), [2, 3]);
  const byId = (of: TestRealm) => valueOf(apart, "purser_jobs", 'state="due"', `realm="${of.id}"`);
  deepEqual([byId(realm), byId(other)], [2, 3]);
});

Deno.test("events and deliveries that wait, and receivers that fail, are measured", async () => {
  await using own = await realmDatabase();
  await using realm = await measuredRealm({ DATABASE_URL: own.url });
  const hook = { url: "https://hooks.example.com", events: ["stop.set"] };
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    ids.push((await realm.admin.send("POST", "/v1/webhooks", hook)).body.id);
  }
  const set = () => realm.admin.send("POST", "/v1/stops", { what: "signing", reason: "drill" });
  await set();
  await publishEvents(realm.pool, Date.now);
  await set();
  await realm.pool.sql`
    update webhook_queues set failures = 1, failing_since = now() where webhook = ${ids[0]}`;
  await realm.pool.sql`
    update webhooks set active = false, disabled_reason = 'failing' where id = ${ids[1]}`;
  await realm.pool.sql`update webhook_deliveries set next_at = now() - interval '90 seconds'`;
  await keepMeasurement(realm.services.platform, realm);
  const { text } = await scrape(realm);
  for (const state of ["active", "failing", "disabled"]) {
    equal(valueOf(text, "purser_webhooks", `state="${state}"`), 1, state);
  }
  equal(valueOf(text, "purser_event_backlog"), 1);
  ok(valueOf(text, "purser_event_age_seconds")! > 0);
  equal(valueOf(text, "purser_webhook_deliveries"), 3);
  const late = valueOf(text, "purser_webhook_delivery_age_seconds")!;
  ok(late >= 90 && late < 3600, `${late}`);
});

Deno.test("a blocked event loop shows in its delay", async () => {
  await using realm = await measuredRealm();
  const metrics = requestMetricsOf(realm.services);
  const end = probeDelays(metrics);
  try {
    const over = performance.now() + 400;
    while (performance.now() < over); // blocks
    await until(() => Promise.resolve(metrics.delays.sum() >= 0.25));
  } finally {
    end();
  }
  const { text } = await scrape(realm);
  ok(valueOf(text, "purser_event_loop_delay_seconds_sum")! >= 0.25);
});

Deno.test("every measured metric is described, and rules and dashboard name metrics that exist", async () => {
  const source = await Deno.readTextFile("db/realms/measurements.ts");
  const measured = new Set([...source.matchAll(/'(purser_\w+)'/g)].map(([, name]) => name));
  deepEqual([...measured].sort(), [...MEASURED_NAMES].sort());

  await using realm = await measuredRealm();
  const names = namesOf((await scrape(realm)).text);
  for (const name of ["_bucket", "_count", "_sum"]) {
    names.add(`http_request_duration_seconds${name}`);
    names.add(`purser_event_loop_delay_seconds${name}`);
  }
  names.add("purser_measurement_age_seconds"); // of realms that were measured
  for (const name of ["usable", "lag_seconds", "reads_total"]) { // where there is a replica
    names.add(`purser_replica_${name}`);
  }
  const used = (text: string) => text.match(/\b(purser|http|process)_[a-z_]+\b/g) ?? [];
  const rules = parse(await Deno.readTextFile("deploy/prometheus_rules.yaml"));
  const alerts = rules.groups.flatMap((group: { rules: unknown[] }) => group.rules);
  const docs = await Deno.readTextFile("docs/operations/monitoring.md");
  for (const { alert, expr, annotations, labels } of alerts) {
    ok(used(expr).length > 0, alert);
    for (const name of used(expr)) ok(names.has(name), `${alert}: ${name}`);
    ok(annotations.summary && annotations.description && labels.severity, alert);
    ok(docs.includes(`\`${alert}\``), `monitoring.md says nothing about ${alert}`);
  }
  const board = JSON.parse(await Deno.readTextFile("deploy/grafana_dashboard.json"));
  const queries = board.panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr)
  );
  ok(queries.length >= 10);
  for (const name of queries.flatMap(used)) ok(names.has(name), `dashboard: ${name}`);
  for (const name of used(docs)) ok(names.has(name), `monitoring.md: ${name}`);
});
