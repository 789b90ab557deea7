/** Routes of the trail. @module */
import { z } from "zod";
import { AuditQuery, AuditView, readTrail } from "../domain/audit/trail.ts";
import { type AnyRoute, route } from "./http/route.ts";
import { searching } from "./http/concurrency_limit.ts";

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
    errors: ["permission.role", "permission.scope"],
    handle: async ({ services, realm, actor, query, signal }) => {
      const { pool } = realm!;
      const read = () => readTrail({ realm: pool, platform: services.platform }, actor, query);
      // A filter may match none of millions of lines.
      return { status: 200, body: JSON.stringify(await searching(pool, read, signal())) };
    },
  }),
];
