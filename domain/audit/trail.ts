/** The audit trail: actor, action, time and network address of every change of a realm. @module */
import { z } from "zod";
import { type AuditFilter, selectPlatformTrail, selectTrail } from "../../db/audit/trail.ts";
import type { Db, Pool } from "../../db/database.ts";
import { onConnection } from "../../db/own_connection.ts";
import { reading } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { idBound, isId } from "../ids.ts";
import { assertRealmAdmin } from "../permissions.ts";

const When = z.coerce.number().int().min(0).max(0xffffffffffff);

/** The query parameters of the trail. */
export const AuditQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  after: z.string().max(100).optional().meta({
    description: "The last line of the page before.",
    format: "uuid",
  }),
  sort: z.enum(["created_at", "-created_at"]).default("-created_at"),
  actor: z.string().max(100).optional().meta({ description: "A user's id." }),
  action: z.string().max(200).optional().meta({
    description: "A method and path such as `POST /v1/accounts`, or `transaction.transfer`.",
  }),
  entity: z.string().max(100).optional().meta({ description: "The id of the changed entity." }),
  key: z.string().max(100).optional().meta({ description: "The id of a machine's key." }),
  from: When.optional().meta({ description: "Epoch milliseconds, included." }),
  to: When.optional().meta({ description: "Epoch milliseconds, included." }),
});
/** The query parameters of the trail. */
export type AuditQuery = z.infer<typeof AuditQuery>;

/** A line of the trail as shown. */
export const AuditView = z.object({
  id: z.string(),
  actor: z.string().nullable().meta({
    description: "The user; null for the operator, for the service itself and for failed logins.",
  }),
  action: z.string(),
  entity: z.string().nullable(),
  fields: z.array(z.string()).nullable().meta({
    description: "Names of the fields of the request, defaults included; never their values.",
  }),
  request_id: z.string().nullable(),
  address: z.string().nullable().meta({ description: "Network address the request came from." }),
  key: z.object({ id: z.string(), name: z.string() }).nullable().meta({
    description: "The key of a machine that acted as the user; null for a login.",
  }),
  created_at: z.number().int(),
}).meta({ id: "AuditLine" });

/**
 * Reads a page of the realm's trail. Lines of the platform about this realm, such as new application
 * keys, are part of it.
 *
 * @param timed measures the work of the database
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function readTrail(
  pools: { realm: Pool; platform: Pool },
  actor: Actor,
  asked: AuditQuery,
  timed: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<z.infer<typeof AuditView>[]> {
  assertRealmAdmin(actor);
  const filter = filterOf(asked);
  if (filter === null) return [];
  const read = <T>(pool: Pool, work: (db: Db) => Promise<T>) =>
    reading(pool, (db) => onConnection(db, (own) => timed(() => work(own))));
  const [own, platform] = await Promise.all([
    read(pools.realm, (db) => selectTrail(db, filter)),
    read(pools.platform, (db) => selectPlatformTrail(db, actor.realm.id, filter)),
  ]);
  const sign = filter.newestFirst ? -1 : 1;
  return [...own, ...platform]
    .sort((a, b) => (a.id < b.id ? -sign : sign))
    .slice(0, asked.limit)
    .map(({ api_key, api_key_name, created_at, ...row }) => ({
      ...row,
      key: api_key === null ? null : { id: api_key, name: api_key_name ?? "" },
      created_at,
    }));
}

/** Null where nothing can match. */
function filterOf(asked: AuditQuery): AuditFilter | null {
  const { actor = null, action = null, entity = null, key: apiKey = null, after } = asked;
  if (after !== undefined && !isId(after)) {
    throw new DomainError("query.invalid", "after: not the id of a line", {
      errors: [{ path: "/after", message: "not the id of a line" }],
    });
  }
  if ([actor, entity, apiKey].some((id) => id !== null && !isId(id))) return null;
  const newestFirst = asked.sort === "-created_at";
  const from = asked.from === undefined ? [] : [idBound(asked.from - 1)];
  const to = asked.to === undefined ? [] : [idBound(asked.to)];
  const ends = after === undefined ? [] : [after];
  const above = [...from, ...(newestFirst ? [] : ends)].sort().at(-1) ?? null;
  const below = [...to, ...(newestFirst ? ends : [])].sort()[0] ?? null;
  return { actor, action, entity, apiKey, above, below, newestFirst, limit: asked.limit };
}
