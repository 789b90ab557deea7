/**
 * Statements of the process that delivers: the queue of a webhook is taken under a lease, so one
 * process at a time sends, and results are stored only while the lease is held.
 * @module
 */
import type { Db, Tx } from "../database.ts";

/** A queue that was taken. */
export interface QueueRow {
  webhook: string;
  url: string;
  secret: Uint8Array;
  previous_secret: Uint8Array | null;
  previous_until: number | null;
  owner: string;
  /** Whether the owner sees the whole realm now. */
  sees_all: boolean;
  /** Whether the owner is an administrator of the realm now. */
  is_admin: boolean;
  failures: number;
  failing_since: number | null;
}

/**
 * Takes queues that have something to send now, and that no other process has. Leases run out by the
 * database's clock, whatever those of processes say.
 */
export async function takeQueues(
  db: Db,
  by: { process: string; at: number; leaseMs: number; limit: number },
): Promise<QueueRow[]> {
  return await db<QueueRow[]>`
    update webhook_queues q set lease_owner = ${by.process},
      lease_until = now() + make_interval(secs => ${by.leaseMs} / 1000.0)
    from webhooks w join users o on o.id = w.owner
    where w.id = q.webhook and q.webhook = any (array(
      select t.webhook from webhook_queues t join webhooks x on x.id = t.webhook
      where x.active and x.deleted_at is null
        and (select u.active and u.deleted_at is null from users u where u.id = x.owner)
        and coalesce(t.resume_at <= ${by.at}, true) and coalesce(t.lease_until <= now(), true)
        and (select true from webhook_deliveries d where d.webhook = t.webhook
          and d.status = 'PENDING' and d.next_at <= ${by.at} limit 1)
      order by t.lease_until nulls first limit ${by.limit} for update of t skip locked))
    returning q.webhook, w.url, w.secret, w.previous_secret, w.previous_until, w.owner,
      'realm' = any (o.scopes) as sees_all,
      'realm' = any (o.scopes) and 'admin' = any (o.roles) as is_admin, q.failures, q.failing_since`;
}

/** Prolongs the lease of a queue; null where it is lost, or nothing is to be sent any more. */
export async function keepQueue(
  db: Db,
  by: { webhook: string; process: string; leaseMs: number },
): Promise<QueueRow | null> {
  const [row] = await db<QueueRow[]>`
    update webhook_queues q set lease_until = now() + make_interval(secs => ${by.leaseMs} / 1000.0)
    from webhooks w join users o on o.id = w.owner
    where q.webhook = ${by.webhook} and q.lease_owner = ${by.process} and w.id = q.webhook
      and w.active and w.deleted_at is null and o.active and o.deleted_at is null
    returning q.webhook, w.url, w.secret, w.previous_secret, w.previous_until, w.owner,
      'realm' = any (o.scopes) as sees_all,
      'realm' = any (o.scopes) and 'admin' = any (o.roles) as is_admin, q.failures, q.failing_since`;
  return row ?? null;
}

/** Gives the lease of a queue back. */
export async function releaseQueue(db: Db, webhook: string, process: string): Promise<void> {
  await db`
    update webhook_queues set lease_owner = null, lease_until = null
    where webhook = ${webhook} and lease_owner = ${process}`;
}

/** A delivery that is due, with its event. */
export interface DueRow {
  event: string;
  type: string;
  entity: string;
  attempts: number;
  first_at: number | null;
  /** JSON; null where the event is gone. */
  payload: string | null;
  owner: string | null;
  others: string[] | null;
  occurred_at: number | null;
}

/**
 * Reads deliveries that are due: of each entity the oldest alone, because the next one must not
 * arrive before it.
 */
export async function selectDueDeliveries(
  db: Db,
  of: { webhook: string; at: number; limit: number; except: readonly string[] },
): Promise<DueRow[]> {
  // Planned each time, and so that each delivery asks for the oldest of its own entity: nobody knows of
  // a queue that grew in seconds how long it is, and a join would read all of it for each. `is true`
  // keeps the webhook out of the choice of the index: by it alone, too, all of it would be read. `not in`
  // hashes what is in hand; an array would be compared one by one with each row.
  return await db.unsafe<DueRow[]>(
    `select d.event, d.type, d.entity, d.attempts, d.first_at, e.payload::text as payload, e.owner,
      e.others, e.created_at as occurred_at
    from webhook_deliveries d left join lateral (
      select payload, owner, others, created_at from events where id = d.event offset 0) e on true
    where d.webhook = $1 and d.status = 'PENDING' and d.next_at <= $2::timestamptz
      and d.event not in (select unnest($3::text::uuid[]))
      and d.event = (select b.event from webhook_deliveries b where b.entity = d.entity
        and b.status = 'PENDING' and (b.webhook = $1) is true order by b.event limit 1)
    order by d.next_at, d.event limit $4`,
    [of.webhook, of.at, `{${of.except.join(",")}}`, of.limit],
    { prepare: false },
  );
}

/** The result of an attempt. */
export interface AttemptResult {
  event: string;
  entity: string;
  status: "PENDING" | "DELIVERED" | "FAILED";
  /** Milliseconds since the epoch; null where there is no next attempt. */
  next_at: number | null;
  at: number;
  latency_ms: number | null;
  response_status: number | null;
  response_body: string | null;
  failure: string | null;
}

/**
 * Stores the results of attempts while the lease is held; later deliveries of an entity wait with
 * the one that failed. Gives the number of results that were stored.
 */
export async function markAttempts(
  tx: Tx,
  by: { webhook: string; process: string },
  results: readonly AttemptResult[],
): Promise<number> {
  const text = JSON.stringify(results.map((one) => ({ ...one, webhook: by.webhook })));
  // Planned each time, and by the whole key of each result: a plan that was made while the table was
  // small, or for a queue that grew in seconds, would read all of it.
  const marked = await tx.unsafe(
    `update webhook_deliveries d set status = r.status, attempts = d.attempts + 1,
      next_at = to_timestamp(r.next_at / 1000.0), last_at = to_timestamp(r.at / 1000.0),
      first_at = coalesce(d.first_at, to_timestamp(r.at / 1000.0)), latency_ms = r.latency_ms,
      response_status = r.response_status, response_body = r.response_body, failure = r.failure
    from json_to_recordset($1::text::json) r(webhook uuid, event uuid, status text, next_at bigint,
      at bigint, latency_ms integer, response_status integer, response_body text, failure text)
    where d.webhook = r.webhook and d.event = r.event and d.status not in ('DELIVERED', 'FAILED')
      and exists (select from webhook_queues q where q.webhook = $2 and q.lease_owner = $3)`,
    [text, by.webhook, by.process],
    { prepare: false },
  );
  if (results.some((one) => one.status === "PENDING")) {
    await tx.unsafe(
      `update webhook_deliveries d set next_at = to_timestamp(l.next_at / 1000.0)
      from (select r.webhook, b.event, r.next_at
        from json_to_recordset($1::text::json) r(webhook uuid, event uuid, entity uuid, status text,
          next_at bigint), lateral (select b.event from webhook_deliveries b
            where b.entity = r.entity and b.status = 'PENDING' and b.event > r.event
              and (b.webhook = r.webhook) is true order by b.event offset 0) b
        where r.status = 'PENDING' offset 0) l
      where d.webhook = l.webhook and d.event = l.event and d.status not in ('DELIVERED', 'FAILED')`,
      [text],
      { prepare: false },
    );
  }
  return marked.count;
}

/** How the receiver of a queue fares after some attempts. */
export interface QueueState {
  failures: number;
  failing_since: number | null;
  resume_at: number | null;
  /** Whether an attempt succeeded. */
  succeeded: boolean;
}

/** Stores how the receiver of a queue fares; false where the lease is lost. */
export async function updateQueue(
  tx: Tx,
  by: { webhook: string; process: string; at: number },
  state: QueueState,
): Promise<boolean> {
  const kept = await tx`
    update webhook_queues set failures = ${state.failures}, failing_since = ${state.failing_since},
      resume_at = ${state.resume_at},
      last_success_at = ${state.succeeded ? tx`${by.at}::timestamptz` : tx`last_success_at`}
    where webhook = ${by.webhook} and lease_owner = ${by.process}`;
  return kept.count > 0;
}

/** Locks a queue; false where the lease is lost. */
export async function holdQueue(tx: Tx, webhook: string, process: string): Promise<boolean> {
  const held = await tx`
    select from webhook_queues where webhook = ${webhook} and lease_owner = ${process} for update`;
  return held.count > 0;
}

/** Has all waiting deliveries of a queue tried now: its receiver answers again. */
export async function retryQueueNow(tx: Tx, webhook: string, at: number): Promise<void> {
  await tx`
    update webhook_deliveries set next_at = ${at}
    where webhook = ${webhook} and status = 'PENDING' and next_at > ${at}`;
}

/** Ends some of the waiting deliveries of a webhook, unless it is active again; gives their number. */
export async function failPending(
  tx: Tx,
  of: { webhook: string; failure: string; limit: number },
): Promise<number> {
  const ended = await tx`
    update webhook_deliveries d set status = 'FAILED', next_at = null, failure = ${of.failure}
    where d.webhook = ${of.webhook} and d.status = 'PENDING' and d.event = any (array(
        select event from webhook_deliveries where webhook = ${of.webhook}
        and status = 'PENDING' limit ${of.limit}))
      and exists (select from webhooks w where w.id = d.webhook and not w.active)`;
  return ended.count;
}
