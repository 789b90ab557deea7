/**
 * Counts of this process's requests and of the delay of its event loop. A request costs a few additions; text is
 * made when somebody asks.
 * @module
 */

/** Upper bounds of the buckets, in seconds: those that OpenTelemetry advises, and two below them. */
const BOUNDS_S = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75],
  ...[1, 2.5, 5, 7.5, 10],
];

/** Durations, counted by buckets. */
export interface Histogram {
  /** Adds a duration in seconds. */
  note(seconds: number): void;
  /** How many were at most so long, by the bound; the last is infinite. */
  cumulative(): { bound: number; count: number }[];
  sum(): number;
}

/** Opens an empty histogram. */
function openHistogram(): Histogram {
  const counts = new Float64Array(BOUNDS_S.length + 1);
  let sum = 0;
  return {
    note(seconds) {
      let i = 0;
      while (i < BOUNDS_S.length && seconds > BOUNDS_S[i]) i++;
      counts[i]++;
      sum += seconds;
    },
    cumulative() {
      let count = 0;
      return [...BOUNDS_S, Infinity].map((bound, i) => ({ bound, count: count += counts[i] }));
    },
    sum: () => sum,
  };
}

/** The requests of one route. */
export interface RouteCounts {
  readonly method: string;
  readonly route: string;
  readonly durations: Histogram;
  /** How many were answered with each status. */
  readonly statuses: ReadonlyMap<number, number>;
  note(status: number, seconds: number): void;
}

/** Counts of one process. */
export interface RequestMetrics {
  /** The counts of a route, by its declared path. */
  of(method: string, route: string): RouteCounts;
  all(): RouteCounts[];
  /** How late timers of this process were. */
  readonly delays: Histogram;
}

const opened = new WeakMap<object, RequestMetrics>();

/** The counts that belong to a process's services. */
export function requestMetricsOf({ platform }: { platform: object }): RequestMetrics {
  const known = opened.get(platform);
  if (known !== undefined) return known;
  const routes = new Map<string, RouteCounts>();
  const metrics: RequestMetrics = {
    of(method, route) {
      const name = `${method} ${route}`;
      const counts = routes.get(name) ?? openRoute(method, route);
      routes.set(name, counts);
      return counts;
    },
    all: () => [...routes.values()],
    delays: openHistogram(),
  };
  opened.set(platform, metrics);
  return metrics;
}

function openRoute(method: string, route: string): RouteCounts {
  const durations = openHistogram();
  const statuses = new Map<number, number>();
  return {
    ...{ method, route, durations, statuses },
    note(status, seconds) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      durations.note(seconds);
    },
  };
}

const PROBE_MS = 100;

/** Notes ten times a second how late the event loop is; returns a function that ends that. */
export function probeDelays({ delays }: RequestMetrics): () => void {
  let due = performance.now() + PROBE_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    delays.note(Math.max(0, now - due) / 1000);
    due = now + PROBE_MS;
  }, PROBE_MS);
  return () => clearInterval(timer);
}
