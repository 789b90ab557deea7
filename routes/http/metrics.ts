/**
 * `GET /metrics`: the state of the process and of all realms in Prometheus' text format. Without a key it answers
 * callers of `METRICS_NETWORKS`, and tells no realm apart.
 * @module
 */
import { z } from "zod";
import { DomainError } from "../../domain/errors.ts";
import { type Gauge, readMeasurements } from "../../domain/realms/measurements.ts";
import { readNetworks } from "./caller_address.ts";
import { holds, parseIp } from "../../domain/ip_addresses.ts";
import { type Histogram, requestMetricsOf } from "./request_metrics.ts";
import { type AnyRoute, type Call, route } from "./route.ts";
import type { Services } from "./services.ts";

/** A metric in the form that the library prints. */
interface Metric {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  aggregator: "sum";
  values: {
    labels: Record<string, string | number>;
    value: number;
    /** Of a histogram: its name with `_bucket`, `_sum` or `_count`. */
    metricName?: string;
  }[];
}

/** Measurements are read once a second for all callers. */
const READ_INTERVAL_MS = 1000;
const TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The route of metrics. */
export const metricsRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/metrics",
    tag: "Operations",
    operation: "getMetrics",
    summary: "Read the metrics of this process and of all realms",
    description:
      "In Prometheus' text format. Callers of METRICS_NETWORKS need no key (this machine, " +
      "while no public address is set); others send the platform key. With it each realm is a label of its own.",
    access: "open or platform",
    cost: "none",
    status: 200,
    type: "text/plain",
    answer: z.string(),
    errors: ["auth.missing"],
    handle: async (call) => {
      const isOperator = call.actor.kind === "operator";
      if (!isOperator && !needsNoKey(call)) {
        throw new DomainError("auth.missing", "from this network the platform key is needed");
      }
      const measured = await measurements(call.services, call.at, isOperator);
      const metrics = [
        ...requestMetrics(call.services),
        ...processMetrics(call.services),
        ...replicaMetrics(call.services),
        ...measured.map(gauge),
      ];
      return { status: 200, body: await print(metrics), headers: { "content-type": TYPE } };
    },
  }),
];

/** A proxy that is not trusted hides where a request comes from: its own address counts for nothing. */
function needsNoKey({ services, address, headers }: Call<unknown, unknown, unknown>): boolean {
  if (headers.get("forwarded") !== null || headers.get("x-forwarded-for") !== null) return false;
  const ip = parseIp(address);
  return ip !== null &&
    readNetworks(services.config.metricsNetworks).some((network) => holds(network, ip));
}

const readings = new WeakMap<object, Map<boolean, { at: number; gauges: Promise<Gauge[]> }>>();

function measurements(services: Services, at: number, perRealm: boolean): Promise<Gauge[]> {
  const known = readings.get(services.platform) ?? new Map();
  readings.set(services.platform, known);
  const last = known.get(perRealm);
  if (last !== undefined && Math.abs(at - last.at) < READ_INTERVAL_MS) return last.gauges;
  const gauges = readMeasurements(services.platform, perRealm);
  gauges.catch(() => {}); // those who wait see the failure
  known.set(perRealm, { at, gauges });
  return gauges;
}

function requestMetrics(services: Services): Metric[] {
  const routes = requestMetricsOf(services).all().filter(({ statuses }) => statuses.size > 0);
  return [
    {
      ...{ name: "http_requests_total", help: "Requests that were answered.", type: "counter" },
      aggregator: "sum",
      values: routes.flatMap(({ method, route, statuses }) =>
        [...statuses].map(([status, value]) => ({ labels: { method, route, status }, value }))
      ),
    },
    histogram(
      "http_request_duration_seconds",
      "Time from a request's headers to its answer.",
      routes.map(({ method, route, durations }) => ({ labels: { method, route }, durations })),
    ),
  ];
}

function processMetrics(services: Services): Metric[] {
  const { realms, config } = services;
  const queues = realms.queues();
  const stats = queues.map((queue) => queue.stats());
  const sum = (of: "batches" | "moves" | "retries" | "resends" | "pipelined") =>
    stats.reduce((total, one) => total + one[of], 0);
  const depth = queues.reduce((total, queue) => total + queue.depth(), 0);
  const { rss, heapUsed } = Deno.memoryUsage();
  const one = (type: Metric["type"], name: string, help: string, value: number): Metric => ({
    ...{ name, help, type },
    aggregator: "sum",
    values: [{ labels: {}, value }],
  });
  const { delays } = requestMetricsOf(services);
  return [
    one("counter", "purser_posting_batches_total", "Batches that were posted.", sum("batches")),
    one("counter", "purser_posting_moves_total", "Transfers in these batches.", sum("moves")),
    one("counter", "purser_posting_retries_total", "Batches posted again.", sum("retries")),
    one("counter", "purser_posting_resends_total", "Batches sent again.", sum("resends")),
    one(
      ...["counter", "purser_posting_pipelined_total", "Batches sent behind another."] as const,
      sum("pipelined"),
    ),
    one("gauge", "purser_posting_queue_depth", "Transfers that wait or are in flight.", depth),
    one("gauge", "purser_connections", "Connections in use by realms.", services.connections()),
    one("gauge", "purser_connections_max", "Connections at most.", config.databaseConnections),
    one(
      ...["counter", "purser_log_lines_lost_total", "Lines of the log that were lost."] as const,
      services.lostLines(),
    ),
    one("gauge", "process_resident_memory_bytes", "Memory of the process.", rss),
    one("gauge", "purser_heap_used_bytes", "Memory of its objects.", heapUsed),
    one(
      ...["gauge", "process_start_time_seconds", "When the process began."] as const,
      performance.timeOrigin / 1000,
    ),
    histogram("purser_event_loop_delay_seconds", "How late timers were.", [
      { labels: {}, durations: delays },
    ]),
  ];
}

/** Nothing where there is no replica. */
function replicaMetrics({ replica }: Services): Metric[] {
  if (replica === null) return [];
  const { fault, lagMs } = replica.state();
  const of = (name: string, help: string, values: Metric["values"]): Metric => ({
    ...{ name, help, values },
    type: name.endsWith("_total") ? "counter" : "gauge",
    aggregator: "sum",
  });
  const lag = lagMs === null ? [] : [{ labels: {}, value: lagMs / 1000 }];
  const usable = [{ labels: {}, value: fault === null ? 1 : 0 }];
  const outcomes = [...replica.outcomes()]
    .map(([outcome, value]) => ({ labels: { outcome }, value }));
  return [
    of("purser_replica_usable", "Whether the replica answers reads that may lag.", usable),
    of("purser_replica_lag_seconds", "How far the replica is behind, at most.", lag),
    of("purser_replica_reads_total", "Reads that may lag, by who answered or why.", outcomes),
  ];
}

function gauge({ name, help, values }: Gauge): Metric {
  return { name, help, type: "gauge", aggregator: "sum", values };
}

function histogram(
  name: string,
  help: string,
  of: readonly { labels: Record<string, string>; durations: Histogram }[],
): Metric {
  const values = of.flatMap(({ labels, durations }) => {
    const buckets = durations.cumulative();
    return [
      ...buckets.map(({ bound, count: value }) => ({
        labels: { ...labels, le: bound === Infinity ? "+Inf" : bound },
        value,
        metricName: `${name}_bucket`,
      })),
      { labels, value: durations.sum(), metricName: `${name}_sum` },
      { labels, value: buckets[buckets.length - 1].count, metricName: `${name}_count` },
    ];
  });
  return { name, help, type: "histogram", aggregator: "sum", values };
}

/** Loaded when somebody asks first. */
async function print(metrics: readonly Metric[]): Promise<string> {
  const { AggregatorRegistry } = await import("prom-client");
  return await AggregatorRegistry.aggregate([metrics]).metrics();
}
