/**
 * Statements on attestations: the step at which a worker last found a realm's schema, in the schema
 * itself and beside it in the platform's.
 * @module
 */
import type { Db, Tx } from "../database.ts";

/** A step that was begun: from the token read to the token written. */
export interface RealmStep {
  readonly from: string | null;
  readonly to: string;
}

/** The steps of a realm, as the platform recorded them. */
export interface RealmSteps {
  /** The token read last; null where none was. */
  now: string | null;
  /** Steps from it that may have been taken. */
  next: RealmStep[];
}

/** Reads and locks the steps of a realm, also before the first one. */
export async function lockRealmSteps(tx: Tx, realm: string): Promise<RealmSteps> {
  const lock = () =>
    tx<RealmSteps[]>`select now, next from realm_steps where realm = ${realm} for update`;
  const [row] = await lock();
  if (row !== undefined) return row;
  await tx`insert into realm_steps (realm, now, next) values (${realm}, null, '[]')
    on conflict (realm) do nothing`;
  return (await lock())[0];
}

/** Reads the present steps of a realm. */
export async function selectRealmSteps(db: Db, realm: string): Promise<RealmSteps> {
  const [row] = await db<RealmSteps[]>`select now, next from realm_steps where realm = ${realm}`;
  return row ?? { now: null, next: [] };
}

/** Stores the steps of a realm. */
export async function upsertRealmSteps(tx: Tx, realm: string, steps: RealmSteps): Promise<void> {
  await tx`
    insert into realm_steps (realm, now, next)
    values (${realm}, ${steps.now}, ${tx.json(steps.next as never)})
    on conflict (realm) do update set now = excluded.now, next = excluded.next`;
}

/** Reads the token of a realm's schema; null where no worker wrote one. */
export async function selectToken(db: Db): Promise<string | null> {
  const [row] = await db<{ token: string | null }[]>`select token from attestations`;
  return row?.token ?? null;
}

/** Reads the token of a realm's schema, and whether it waits for its reconciliation. */
export async function selectStanding(db: Db): Promise<{ token: string | null; apart: boolean }> {
  const [row] = await db<{ token: string | null; apart: boolean }[]>`
    select token, apart from attestations`;
  return row ?? { token: null, apart: false };
}

/** Whether a schema is as the command `restore` left it, and no worker has compared it yet. */
export async function isRestored(db: Db): Promise<boolean> {
  const [row] = await db<{ restored: boolean }[]>`
    select apart and place is null as restored from attestations`;
  return row?.restored ?? false;
}

/** States whether a schema waits for its reconciliation. */
export async function setApart(tx: Tx, apart: boolean): Promise<void> {
  await tx`
    insert into attestations (apart) values (${apart})
    on conflict (singleton) do update set apart = excluded.apart`;
}

/**
 * Reads the token of a schema that a transaction changes, and notes it as the compared one. Only
 * then does the schema permit the serving role to cancel orders and hand out addresses.
 */
export async function noteToken(tx: Tx): Promise<string | null> {
  const [row] = await tx<{ token: string | null }[]>`
    select a.token, set_config('purser.confirmed', coalesce(a.token::text, 'none'), true) as noted
    from (select) one left join attestations a on true`;
  return row.token;
}

/** Reads the timeline of a realm's server; null where it does not tell it. */
export async function selectTimeline(db: Db): Promise<string | null> {
  const [row] = await db<{ timeline: string | null }[]>`select server_timeline() as timeline`;
  return row.timeline;
}

/** States that a schema, which this transaction makes, is the newest there is: no worker knows it yet. */
export async function attestBirth(tx: Tx): Promise<void> {
  await tx`
    insert into attestations (place, timeline, seen_at)
    values (database_place(), server_timeline(), now())`;
}

/**
 * Takes a step; false if another was taken meanwhile.
 *
 * @param timeline that of the server when the installation was compared; undefined: it was not, and the one of
 *   the last comparison stays, or that of when the schema was made
 */
export async function attest(
  tx: Tx,
  { from, to }: RealmStep,
  timeline?: string | null,
): Promise<boolean> {
  const rows = await tx`
    insert into attestations (token, place, timeline, seen_at)
    values (${to}, database_place(),
      ${timeline ?? null}, now())
    on conflict (singleton) do update
      set token = excluded.token, place = excluded.place, seen_at = excluded.seen_at,
        timeline = case when ${timeline === undefined} then attestations.timeline
          else excluded.timeline end
      where attestations.token is not distinct from ${from}
    returning token`;
  return rows.length > 0;
}

/**
 * Gives ramps that were never opened new numbers, beyond those that a newer database may have
 * given, and beyond those that it gave after an earlier reconciliation: the least number grows by one for
 * each second since the newest ramp was made, so that a later restore of the same backup gives others.
 */
export async function passOverNumbers(
  tx: Tx,
  gap: number,
  { beyond, last, now }: { beyond: number; last: number; now: number },
): Promise<void> {
  await tx`
    insert into attestations (numbers_from)
    select greatest(coalesce(max(number), -1) + 1 + ${gap}::integer, ${beyond}::integer,
      least(${last}::bigint, coalesce(max(number), -1) + 1 + ${gap}::bigint + greatest(0,
        floor(extract(epoch from to_timestamp(${now}::float8 / 1000) - max(created_at)))::bigint)))
    from ramps
    on conflict (singleton) do update
      set numbers_from = greatest(excluded.numbers_from, attestations.numbers_from)`;
  await tx`
    update ramps r set quarantined = null, number = n.number
    from (select account, (select numbers_from from attestations) - 1
        + row_number() over (partition by chain, network order by number) as number
      from ramps where next_index = 0) n
    where r.account = n.account and r.next_index = 0`;
}
