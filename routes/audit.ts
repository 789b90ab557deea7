/** HTTP face of the trail. @module */
import { z } from "zod";
import { AuditQuery, AuditView, readTrail } from "../domain/audit.ts";
import { type AnyRoute, route } from "./route.ts";

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
    handle: async ({ services, realm, actor, query }) => {
      const pools = { realm: realm!.pool, platform: services.platform };
      return { status: 200, body: JSON.stringify(await readTrail(pools, actor, query)) };
    },
  }),
];
