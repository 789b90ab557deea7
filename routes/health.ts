/** Whether the process lives, and whether it can serve. @module */
import { z } from "zod";
import { isMigrated } from "../domain/health.ts";
import { type AnyRoute, route } from "./route.ts";

const HealthView = z.object({
  status: z.enum(["ok", "unavailable"]),
  checks: z.record(z.string(), z.unknown()).optional(),
}).meta({ id: "Health" });

const PATIENCE_MS = 2000;

/** The routes of health. */
export const healthRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/health/live",
    tag: "Operations",
    summary: "Tell that the process lives",
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
    summary: "Tell whether the process can serve",
    access: "open",
    status: 200,
    answer: HealthView,
    errors: [],
    handle: async ({ services }) => {
      const migrated = await soon(isMigrated(services.platform, services.ladders));
      const ok = migrated === true;
      const database = { reachable: migrated !== null, migrated: ok };
      const isolation = services.config.realmRoles ? "schema and role" : "schema alone";
      return {
        status: ok ? 200 : 503,
        body: JSON.stringify({
          status: ok ? "ok" : "unavailable",
          checks: { database: { ...database, isolation } },
        }),
      };
    },
  }),
];

/** Gives a result if it comes soon; null where it fails or keeps one waiting. */
async function soon<T>(result: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<T | null>();
  const timer = setTimeout(() => resolve(null), PATIENCE_MS);
  result.then(resolve, () => resolve(null));
  return await promise.finally(() => clearTimeout(timer));
}
