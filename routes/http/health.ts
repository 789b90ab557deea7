/** Health checks: whether the process lives, and whether it can serve. @module */
import { z } from "zod";
import {
  checkDatabase,
  checkPlatformKey,
  checkSigning,
  type DatabaseHealth,
  type SigningHealth,
} from "../../domain/realms/health.ts";
import { checkNetworks, type NetworkHealth, STALE_S } from "../../domain/realms/network_health.ts";
import { type AnyRoute, route } from "./route.ts";
import type { Services } from "./services.ts";

const HealthView = z.object({
  status: z.enum(["ok", "degraded", "unavailable"]).meta({
    description: "`degraded`: it serves, and something in `checks` waits for an operator.",
  }),
  checks: z.record(z.string(), z.unknown()).optional(),
}).meta({ id: "Health" });

const PROBE_TIMEOUT_MS = 2000;
const PROBE_INTERVAL_MS = 1000;
/** Workers measure no more often. */
const NETWORKS_INTERVAL_MS = 15_000;
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
      const [found] = await Promise.all([
        soon(probe(services, at)),
        soon(networkProbes(services, at)),
      ]);
      const networks = networkProbes.known(services);
      const ageS = networks === null ? null : Math.round(Math.abs(at - networks.at) / 1000);
      const isKnown = ageS !== null && ageS <= STALE_S;
      const { chains: quarantines = {}, ...signing } = found?.signing ?? {};
      const chains = chainsOf({ networks: networks?.finding ?? {}, isKnown }, quarantines);
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
          status: !ok ? "unavailable" : isKnown && isSound(found, chains) ? "ok" : "degraded",
          checks: {
            ...{ database, ...replicaCheck(services), installation, chains },
            chains_age_s: ageS,
          },
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

type Networks<T> = Record<string, Record<string, T>>;
type ShownNetwork = Partial<NetworkHealth> & { quarantined: number };

/**
 * Puts the health of networks beside the quarantines there. One with a quarantine is unhealthy, and one of which nothing
 * could be read for long.
 */
function chainsOf(
  { networks, isKnown }: { networks: Networks<NetworkHealth>; isKnown: boolean },
  quarantines: SigningHealth["chains"],
): Networks<ShownNetwork> {
  const shown: Networks<ShownNetwork> = {};
  for (const [chain, all] of Object.entries(networks)) {
    for (const [network, health] of Object.entries(all)) {
      const healthy = health.healthy && isKnown;
      (shown[chain] ??= {})[network] = { ...health, healthy, quarantined: 0 };
    }
  }
  for (const [chain, all] of Object.entries(quarantines)) {
    for (const [network, { quarantined }] of Object.entries(all)) {
      const here = shown[chain] ??= {};
      here[network] = { ...here[network], healthy: false, quarantined };
    }
  }
  return shown;
}

/** Whether a process that serves has nothing to tell: what waits for an operator would be missed behind an `ok`. */
function isSound({ signing }: Finding, chains: Networks<ShownNetwork>): boolean {
  if (signing.halted !== null || signing.waiting !== null || signing.seedless > 0) return false;
  return Object.values(chains).every((all) =>
    Object.values(all).every(({ healthy }) => healthy !== false)
  );
}

/** Measures at most once in an interval, and knows what was found last. */
interface Probe<T> {
  (services: Services, at: number): Promise<T>;
  /** What was found last, and when that was asked for (milliseconds); null before the first finding. */
  known(services: Services): { finding: T; at: number } | null;
}

/** One probe in an interval for all callers: the route is open to everybody. */
function openProbe<T>(intervalMs: number, measure: (services: Services) => Promise<T>): Probe<T> {
  const probes = new WeakMap<Services, { at: number; finding: Promise<T> }>();
  const known = new WeakMap<Services, { finding: T; at: number }>();
  const probe = (services: Services, at: number) => {
    const last = probes.get(services);
    if (last !== undefined && Math.abs(at - last.at) < intervalMs) return last.finding;
    const finding = measure(services);
    // Those who wait see the failure.
    finding.then((found) => known.set(services, { finding: found, at }), () => {});
    probes.set(services, { at, finding });
    return finding;
  };
  return Object.assign(probe, {
    known: (services: Services) => known.get(services) ?? null,
  });
}

const probe = openProbe(PROBE_INTERVAL_MS, measure);
/**
 * Apart from the probe of the database, so that many realms make no process unready. While what they measured is read for
 * long, what was read before is told, with its age, and as unhealthy once that is old.
 */
const networkProbes = openProbe(
  NETWORKS_INTERVAL_MS,
  ({ platform, config }) => checkNetworks(platform, config.chains),
);

/** Well within what is still told as healthy: one reading may fail. */
const KEPT_MS = STALE_S * 1000 / 3;

/**
 * Reads what workers measured at once and again and again, so that it is known where nobody asks for long and reading takes
 * longer than an answer may. Gives what ends it.
 */
export function keepNetworksKnown(services: Services, everyMs = KEPT_MS): () => void {
  const read = () => void networkProbes(services, services.now()).catch(() => {});
  read();
  const timer = setInterval(read, everyMs);
  return () => clearInterval(timer);
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
