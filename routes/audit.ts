/** Routes of the trail. @module */
import { z } from "zod";
import { AuditQuery, AuditView, readTrail } from "../domain/audit/trail.ts";
import { withNext } from "./http/next_links.ts";
import { type AnyRoute, route } from "./http/route.ts";
import { searching } from "./http/concurrency_limit.ts";
import { chargingWork } from "./http/charged_work.ts";

/** The route of the trail. */
export const auditRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/audit",
    tag: "Operations",
    summary: "Read the trail of changes",
    description: "For administrators of the realm. Newest first unless sorted by `created_at`.",
    access: "user",
    query: AuditQuery,
    status: 200,
    answer: z.array(AuditView),
    continues: { cursor: "id", usual: 100 },
    errors: ["permission.role", "permission.scope"],
    handle: async (call) => {
      const { services, realm, actor, query, signal } = call;
      const { pool } = realm!;
      const pools = { realm: pool, platform: services.platform };
      // A filter may match none of millions of lines.
      return await chargingWork(call, async (timed) => {
        const read = () => readTrail(pools, actor, query, timed);
        const lines = await searching(pool, read, { ...actor, signal: signal() });
        return withNext(call, { status: 200, body: JSON.stringify(lines) }, lines);
      });
    },
  }),
];
