/** Statements that read the trail: the realm's own lines, the ledger's rows, the platform's lines. @module */
import type { Db } from "../database.ts";

/** A line of the trail. */
export interface AuditRow {
  id: string;
  actor: string | null;
  action: string;
  entity: string | null;
  fields: string[] | null;
  request_id: string | null;
  address: string | null;
  /** The machine key that acted as the user. */
  api_key: string | null;
  api_key_name: string | null;
  created_at: number;
}

/** The lines to read. Ids bound times, because an id begins with its time. */
export interface AuditFilter {
  actor: string | null;
  action: string | null;
  entity: string | null;
  apiKey: string | null;
  /** Lines after this id, and up to that one. */
  above: string | null;
  below: string | null;
  newestFirst: boolean;
  limit: number;
}

/**
 * Reads lines of a realm: commands and logins from `audit`, transactions from the ledger itself.
 */
export async function selectTrail(db: Db, filter: AuditFilter): Promise<AuditRow[]> {
  const order = orderOf(db, filter);
  return await db<AuditRow[]>`
    select trail.id, actor, action, entity, fields, request_id, address, api_key,
      coalesce(api_key_name, k.name) as api_key_name, trail.created_at from (
      (select id, actor, action, entity, fields, request_id, address, api_key, api_key_name,
          created_at from audit
        where ${within(db, filter, "actor", "entity")}
          and ${filter.action === null ? db`true` : db`action = ${filter.action}`}
        ${order})
      union all
      (select id, owner, 'transaction.' || type, id, null::text[], null, host(client_ip), api_key, null,
          created_at from transactions
        where ${within(db, filter, "owner", "id")}
          and ${filter.action === null ? db`true` : db`'transaction.' || type = ${filter.action}`}
        ${order})) trail
    left join api_keys k on api_key_name is null and k.id = api_key
    order by trail.id ${filter.newestFirst ? db`desc` : db``} limit ${filter.limit}`;
}

/** Reads lines of the platform that are about one realm. */
export async function selectPlatformTrail(
  db: Db,
  realm: string,
  filter: AuditFilter,
): Promise<AuditRow[]> {
  const order = orderOf(db, filter);
  const lines = db`
    select id, actor, action, entity, fields, request_id, address, api_key, api_key_name, created_at
    from audit
    where ${within(db, filter, "actor", "entity")}
      and ${filter.action === null ? db`true` : db`action = ${filter.action}`}`;
  // Each part is read by an index in its order: other realms may have had any number of changes since.
  return await db<AuditRow[]>`
    select * from (
      (${lines} and realm = ${realm} ${order})
      union all (${lines} and entity = ${realm} and realm is distinct from ${realm} ${order})) trail
    ${order}`;
}

function within(db: Db, filter: AuditFilter, actor: string, entity: string) {
  const { above, below } = filter;
  return db`${above === null ? db`true` : db`id > ${above}`}
    and ${below === null ? db`true` : db`id < ${below}`}
    and ${filter.actor === null ? db`true` : db`${db(actor)} = ${filter.actor}`}
    and ${filter.apiKey === null ? db`true` : db`api_key = ${filter.apiKey}`}
    and ${filter.entity === null ? db`true` : db`${db(entity)} = ${filter.entity}`}`;
}

function orderOf(db: Db, { newestFirst, limit }: AuditFilter) {
  return newestFirst ? db`order by id desc limit ${limit}` : db`order by id limit ${limit}`;
}
