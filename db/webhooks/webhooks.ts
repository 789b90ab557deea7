/** Statements on webhooks. @module */
import type { Db, Tx } from "../database.ts";

/** A webhook as stored, without its secrets. */
export interface WebhookRow {
  id: string;
  url: string;
  events: string[];
  active: boolean;
  /** Why the service deactivated it; null where a user did. */
  disabled_reason: "failing" | "gone" | null;
  /** Until when the secret before signs too. */
  previous_until: number | null;
  owner: string;
  data: Record<string, unknown>;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
  /** Failures since the last success. */
  failures: number;
  failing_since: number | null;
}

const COLUMNS = [
  ...["id", "url", "events", "active", "disabled_reason", "previous_until", "owner", "data"],
  ...["error", "deleted_at", "updated_at", "created_at"],
].map((name) => `w.${name}`).join(", ");

/** Adds a webhook. */
export async function insertWebhook(
  tx: Tx,
  row: {
    id: string;
    url: string;
    events: string[];
    secret: Uint8Array;
    owner: string;
    data: Record<string, unknown>;
    created_at: number;
  },
): Promise<void> {
  await tx`
    insert into webhooks (id, url, events, secret, owner, data, created_at)
    values (${row.id}, ${row.url}, ${row.events}, ${row.secret}, ${row.owner},
      ${tx.json(row.data as never)}, ${row.created_at})`;
}

/** Reads webhooks by their ids, deleted ones too. */
export async function selectWebhooks(db: Db, ids: string[]): Promise<WebhookRow[]> {
  return await db.unsafe<WebhookRow[]>(
    `select ${COLUMNS}, q.failures, q.failing_since
      from webhooks w join webhook_queues q on q.webhook = w.id where w.id = any ($1::uuid[])`,
    [ids],
    { prepare: true },
  );
}

/** Counts the living webhooks of a user and of the realm. */
export async function countWebhooks(
  db: Db,
  owner: string,
): Promise<{ own: number; all: number }> {
  const [row] = await db<{ own: number; all: number }[]>`
    select count(*) filter (where owner = ${owner})::integer as own, count(*)::integer as all
    from webhooks where deleted_at is null`;
  return row;
}

/** What may be changed about a webhook. */
export interface WebhookUpdate {
  url?: string;
  events?: string[];
  active?: boolean;
  disabled_reason?: WebhookRow["disabled_reason"];
  data?: Record<string, unknown>;
}

/** Changes a webhook. */
export async function updateWebhook(
  tx: Tx,
  id: string,
  { data, ...plain }: WebhookUpdate,
  at: number,
): Promise<void> {
  const changes = { ...plain, ...(data === undefined ? {} : { data: tx.json(data as never) }) };
  await tx`update webhooks set ${tx({ ...changes, updated_at: at } as never)} where id = ${id}`;
}

/** Gives a webhook a new secret; the one before signs until a time beside it. */
export async function rotateSecret(
  tx: Tx,
  id: string,
  { secret, until, at }: { secret: Uint8Array; until: number; at: number },
): Promise<void> {
  await tx`
    update webhooks set previous_secret = secret, previous_until = ${until}, secret = ${secret},
      updated_at = ${at} where id = ${id}`;
}

/** Reads and locks the secrets of webhooks after one of them, to encrypt them again. */
export async function lockWebhookSecrets(
  tx: Tx,
  after: string | null,
  limit: number,
): Promise<{ id: string; secret: Uint8Array; previous_secret: Uint8Array | null }[]> {
  return await tx<{ id: string; secret: Uint8Array; previous_secret: Uint8Array | null }[]>`
    select id, secret, previous_secret from webhooks
    where ${after === null ? tx`true` : tx`id > ${after}`} order by id limit ${limit} for update`;
}

/** Replaces the encrypted forms of the same secrets. */
export async function updateWebhookSecrets(
  tx: Tx,
  id: string,
  { secret, previous_secret }: { secret: Uint8Array; previous_secret: Uint8Array | null },
): Promise<void> {
  await tx`
    update webhooks set secret = ${secret}, previous_secret = ${previous_secret} where id = ${id}`;
}

/**
 * Forgets how a receiver fared, so that it is asked at once. The queue is taken from the process that
 * delivers it: what that has under way says nothing of the receiver as it is from now on.
 */
export async function resetQueue(tx: Tx, id: string): Promise<void> {
  await tx`
    update webhook_queues set failures = 0, failing_since = null, resume_at = null,
      lease_owner = null, lease_until = null
    where webhook = ${id}`;
}

/** Whether a test of a webhook waits to be published or delivered. */
export async function isTestWaiting(db: Db, id: string): Promise<boolean> {
  const [row] = await db<{ waits: boolean }[]>`
    select exists (select from events where id is null and type = 'webhook.test' and entity = ${id})
      or exists (select from webhook_deliveries
        where webhook = ${id} and entity = ${id} and status = 'PENDING') as waits`;
  return row.waits;
}

/**
 * Notes that people were told of a change of a webhook; false where they were told of one of the same
 * owner's since a time.
 */
export async function markTold(
  tx: Tx,
  { id, owner, at, since }: { id: string; owner: string; at: number; since: number },
): Promise<boolean> {
  const told = await tx`
    update webhooks set told_at = ${at} where id = ${id}
      and not exists (select from webhooks o where o.owner = ${owner} and o.told_at > ${since})`;
  return told.count > 0;
}
