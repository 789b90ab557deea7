/** Health checks: whether the process lives, and whether it can serve. @module */
import { z } from "zod";
import {
  checkDatabase,
  checkPlatformKey,
  checkSigning,
  type DatabaseHealth,
  type SigningHealth,
} from "../../domain/realms/health.ts";
import { type AnyRoute, route } from "./route.ts";
import type { Services } from "./services.ts";

const HealthView = z.object({
  status: z.enum(["ok", "unavailable"]),
  checks: z.record(z.string(), z.unknown()).optional(),
}).meta({ id: "Health" });

const PROBE_TIMEOUT_MS = 2000;
const PROBE_INTERVAL_MS = 1000;
/**
 * A clock that differs more from the database's is wrong: keys would live too long, or not at all.
 */
const CLOCK_OFF_MS = 1000;

/** The routes of health. */
export const healthRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/health/live",
    tag: "Operations",
    operation: "checkLiveness",
    summary: "Check that the process runs",
    access: "open",
    status: 200,
    answer: HealthView,
    errors: [],
    handle: () => Promise.resolve({ status: 200, body: '{"status":"ok"}' }),
  }),
  route({
    method: "GET",
    path: "/health/ready",
    tag: "Operations",
    operation: "checkReadiness",
    summary: "Check whether the process can serve",
    access: "open",
    status: 200,
    answer: HealthView,
    others: { 503: { description: "It cannot; `checks` has the reason.", answer: HealthView } },
    errors: [],
    handle: async ({ services, at }) => {
      const found = await soon(probe(services, at));
      const { chains = {}, ...signing } = found?.signing ?? {};
      const installation = found === null ? {} : { ...signing, platform_key: found.platformKey };
      const ok = found !== null && found.migrated && found.platformKey &&
        Math.abs(found.clockAheadMs) <= CLOCK_OFF_MS;
      const { realmRoles, realmLogins } = services.config;
      const role = realmLogins && services.config.databasePrepare
        ? "schema and login"
        : "schema and role";
      const isolation = realmRoles ? role : "schema alone";
      const database = found === null ? { writable: false, isolation } : {
        writable: true,
        migrated: found.migrated,
        realms: found.realms,
        durable: found.durable,
        clock_ahead_ms: found.clockAheadMs,
        isolation,
        superuser: found.superuser,
      };
      return {
        status: ok ? 200 : 503,
        body: JSON.stringify({
          status: ok ? "ok" : "unavailable",
          checks: { database, ...replicaCheck(services), installation, chains },
        }),
        headers: { "content-type": "application/json" },
      };
    },
  }),
];

/** The state of the replica, where there is one: without it the primary answers, so it decides nothing here. */
function replicaCheck({ replica }: Services): { replica?: Record<string, unknown> } {
  if (replica === null) return {};
  const { fault, lagMs } = replica.state();
  return { replica: { usable: fault === null, fault, lag_ms: lagMs } };
}

interface Finding extends DatabaseHealth {
  signing: SigningHealth;
  /** Whether the process has the platform key that the installation's secrets are encrypted with. */
  platformKey: boolean;
  /** Lead of this process's clock over the database's, less the time of the answer. */
  clockAheadMs: number;
}

/** One probe a second for all callers: the route is open to everybody. */
const probes = new WeakMap<Services, { at: number; finding: Promise<Finding> }>();

function probe(services: Services, at: number): Promise<Finding> {
  const last = probes.get(services);
  if (last !== undefined && Math.abs(at - last.at) < PROBE_INTERVAL_MS) return last.finding;
  const finding = measure(services);
  finding.catch(() => {}); // those who wait see the failure
  probes.set(services, { at, finding });
  return finding;
}

async function measure(services: Services): Promise<Finding> {
  const before = services.now();
  const health = await checkDatabase(services.platform, services.migrations);
  const after = services.now();
  const signing = await checkSigning(services.platform);
  // The database's clock was read between the two; this process's tells whole milliseconds.
  const ahead = Math.max(0, before - health.at) - Math.max(0, Math.floor(health.at) - after);
  const platformKey = await checkPlatformKey(services.platform, services.secrets);
  return { ...health, signing, platformKey, clockAheadMs: Math.round(ahead) };
}

/** Returns a result if it comes soon; null if it fails or takes too long. */
async function soon<T>(result: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<T | null>();
  const timer = setTimeout(() => resolve(null), PROBE_TIMEOUT_MS);
  result.then(resolve, () => resolve(null));
  return await promise.finally(() => clearTimeout(timer));
}
