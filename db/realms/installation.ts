/** Statements on the installation: its epoch, its database, its master key, and its witnesses. @module */
import type { Db, Pool, Tx } from "../database.ts";
import { reading } from "../transaction.ts";

/** The installation as stored. */
export interface InstallationRow {
  id: string;
  /** Grows with every reconciliation after a restore. */
  epoch: number;
  /** The required value of `INSTALLATION_EPOCH`; null if hosts keep records in files. */
  label: string | null;
  /** The server and database that hold it; null until a worker has claimed it. */
  home: string | null;
  timeline: string | null;
  /** Fingerprint of the master key. */
  master: string | null;
  /** The reason why nothing is signed. */
  halted: { detail: string; at: number } | null;
}

/** A host's record of the installation outside of the database, as the database knows it. */
export interface WitnessRow {
  id: string;
  count: number;
  token: string;
  /** The server's timeline at its last step; null where the server did not report it. */
  timeline: string | null;
}

/** What the witnesses say of a promotion of the server, or its recovery. */
export interface PromotionRow {
  /** Witnesses that have not compared since, and whose last records the database may have lost. */
  owed: number;
  /** The ids of the first of them. */
  records: string[];
  /** Seconds since a worker last found the database as it left it; null if none ever has. */
  attested: number | null;
}

/** Identity of a database. */
export interface Home {
  home: string;
  /**
   * Changes with every recovery to a point in time and every failover; null where the server does not
   * report it.
   */
  timeline: string | null;
}

/** A witness that has not compared since a promotion. */
export interface OwedRow {
  id: string;
  /** When it was last seen, epoch milliseconds. */
  seen_at: number;
}

/** Witnesses that are named, at most. */
const NAMED_MAX = 20;
/** Stands for a server that does not tell its identifier. */
const UNKNOWN = "unknown";
/**
 * Errors of a session or a server that ends, or is short of something: the next question may be answered, and
 * another identity than the installation's would halt it.
 */
const PASSING = /^(08|25|40|53|55|57|58|XX)/;
const COLUMNS = ["id", "epoch", "label", "home", "timeline", "master", "halted"] as const;

/** Reads the installation. */
export async function selectInstallation(db: Db): Promise<InstallationRow> {
  const [row] = await db<InstallationRow[]>`select ${db(COLUMNS)} from installation`;
  return row;
}

/**
 * Reads and locks the installation against changes. Realms that are being created hold its key (`for key share`) for
 * seconds each, and nobody waits for those here: beside many of them a process would never have its turn.
 */
export async function lockInstallation(tx: Tx): Promise<InstallationRow> {
  const [row] = await tx<InstallationRow[]>`
    select ${tx(COLUMNS)} from installation for no key update`;
  return row;
}

/** Keeps the master key from being changed until the transaction ends; gives its fingerprint. */
export async function holdMaster(tx: Tx): Promise<string | null> {
  const [row] = await tx<{ master: string | null }[]>`select master from installation for share`;
  return row.master;
}

/** Changes the installation. */
export async function updateInstallation(
  tx: Tx,
  change: Partial<Omit<InstallationRow, "id">>,
): Promise<void> {
  const { halted, ...rest } = change;
  const noted = halted === undefined
    ? {}
    : { halted: halted === null ? null : tx.json(halted as never) };
  await tx`update installation set ${tx({ ...rest, ...noted, updated_at: Date.now() } as never)}`;
}

/** Records the first master key; gives the one that counts. */
export async function claimMaster(db: Db, master: string): Promise<string> {
  const [row] = await db<{ master: string }[]>`
    update installation set master = coalesce(master, ${master}) returning master`;
  return row.master;
}

/** Tells whether the platform's tables exist, as they do once a process has started. */
export async function isInstalled(db: Db): Promise<boolean> {
  const [{ there }] = await db<{ there: boolean }[]>`
    select to_regclass('platform.installation') is not null as there`;
  return there;
}

/** Check of the platform key that the installation's secrets are encrypted with. */
export interface PlatformKeyRow {
  id: string;
  /** The id, encrypted; null where no process has started yet. */
  platform_key: Uint8Array | null;
}

/** Reads the check of the platform key. */
export async function selectPlatformKey(db: Db): Promise<PlatformKeyRow> {
  const [row] = await db<PlatformKeyRow[]>`select id, platform_key from platform.installation`;
  return row;
}

/** Reads and locks the check of the platform key, as {@link lockInstallation} locks. */
export async function lockPlatformKey(tx: Tx): Promise<PlatformKeyRow> {
  const [row] = await tx<PlatformKeyRow[]>`
    select id, platform_key from installation for no key update`;
  return row;
}

/** Changes the check of the platform key. */
export async function updatePlatformKey(tx: Tx, ciphertext: Uint8Array): Promise<void> {
  await tx`update installation set platform_key = ${ciphertext}`;
}

/** Reads a witness. */
export async function selectWitness(db: Db, id: string): Promise<WitnessRow | null> {
  const [row] = await db<WitnessRow[]>`
    select id, count::float8 as count, token, timeline from installation_witnesses
    where id = ${id}`;
  return row ?? null;
}

/**
 * Stores the last record of a witness, and whether the commit waits for a standby: the record then cannot be
 * lost by a promotion.
 */
export async function upsertWitness(tx: Tx, witness: WitnessRow): Promise<void> {
  await tx`
    insert into installation_witnesses (id, count, token, timeline, synchronous, seen_at)
    values (${witness.id}, ${witness.count}, ${witness.token}, ${witness.timeline},
      current_setting('synchronous_standby_names') <> ''
        and current_setting('synchronous_commit') in ('on', 'remote_apply'), now())
    on conflict (id) do update
      set count = excluded.count, token = excluded.token, timeline = excluded.timeline,
        synchronous = excluded.synchronous, seen_at = excluded.seen_at`;
}

/** Reads which witnesses have not compared on a timeline yet, a witness itself left out. */
export async function selectPromotion(
  db: Db,
  { witness, timeline }: { witness: string | null; timeline: string },
): Promise<PromotionRow> {
  const [row] = await db<PromotionRow[]>`
    select count(*) filter (where timeline <> ${timeline}
        and id is distinct from ${witness}::uuid)::integer as owed,
      coalesce((array_agg(id::text order by seen_at) filter (where timeline <> ${timeline}
        and id is distinct from ${witness}::uuid))[1:${NAMED_MAX}], '{}') as records,
      extract(epoch from now() - max(seen_at))::float8 as attested
    from installation_witnesses`;
  return row;
}

/**
 * Reads the server's timeline beside that of the installation, where the two differ, with the number of witnesses that
 * have not compared and the first of them; null where they are the same, where the server does not report it or is a
 * standby, and where the installation is halted or nobody has claimed it.
 */
export async function findPromotion(
  pool: Pool,
): Promise<{ was: string; now: string; owed: number; named: OwedRow[] } | null> {
  try {
    return await reading(pool, async (db) => {
      const [row] = await db<{ was: string; now: string }[]>`
        select timeline as was, case when pg_is_in_recovery() then timeline
          else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as now
        from installation where timeline is not null and halted is null`;
      if (row === undefined || row.was === row.now) return null;
      const named = await db<(OwedRow & { owed: number })[]>`
        select id, (extract(epoch from seen_at) * 1000)::float8 as seen_at, count(*) over ()::integer as owed
        from installation_witnesses
        where timeline <> ${row.now} order by seen_at, id limit ${NAMED_MAX}`;
      return { ...row, owed: named[0]?.owed ?? 0, named: [...named] };
    });
  } catch (error) {
    if (isUnanswered(error)) throw error;
    return null; // a database service that does not report this
  }
}

/**
 * Spares the witnesses that need not compare on a new timeline: those whose records a standby had, and those that
 * were gone for some seconds when the last of all was seen. Once one has compared there, nobody is spared any more.
 * Where some had compared on another timeline before the server was promoted again, those that had not are spared by
 * no absence: it may have begun with the first promotion.
 */
export async function spareWitnesses(
  tx: Tx,
  { timeline, agreed, goneS }: { timeline: string; agreed: string | null; goneS: number },
): Promise<void> {
  await tx`
    update installation_witnesses set timeline = ${timeline}
    where timeline <> ${timeline}
      and not exists (select from installation_witnesses where timeline = ${timeline})
      and (synchronous or seen_at < (select max(seen_at) from installation_witnesses)
          - make_interval(secs => ${goneS})
        and (timeline is distinct from ${agreed}
          or not exists (select from installation_witnesses where timeline <> ${agreed})))`;
}

/** Deletes a witness that will not come back. */
export async function deleteWitness(db: Db, id: string): Promise<void> {
  await db`delete from installation_witnesses where id = ${id}`;
}

/** Deletes the witnesses of processes that ended long ago. */
export async function deleteOldWitnesses(tx: Tx): Promise<void> {
  await tx`delete from installation_witnesses where seen_at < now() - interval '1 day'`;
}

/** Deletes all witnesses. */
export async function deleteWitnesses(tx: Tx): Promise<void> {
  await tx`delete from installation_witnesses`;
}

/** Seconds since a worker last found the database as it left it; null if none ever has. */
export async function selectAttestedS(db: Db): Promise<number | null> {
  const [row] = await db<{ seconds: number | null }[]>`
    select extract(epoch from now() - max(seen_at))::float8 as seconds
    from installation_witnesses`;
  return row.seconds;
}

/** Whether a question may be answered when it is asked again. */
function isUnanswered(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code) || PASSING.test(code);
}

/** Identifies the database. A dump that is restored, or copied as a template, has another identity. */
export async function findHome(pool: Pool): Promise<Home> {
  const ask = async (text: string) => {
    try {
      const [row] = await reading(pool, (db) => db.unsafe<{ told: string }[]>(text));
      return row.told;
    } catch (error) {
      if (isUnanswered(error)) throw error;
      return null; // a database service that does not report this
    }
  };
  const server = await ask("select system_identifier::text as told from pg_control_system()");
  const database = await ask(
    "select oid::text || ' ' || datname as told from pg_database where datname = current_database()",
  );
  const timeline = await ask("select left(pg_walfile_name(pg_current_wal_lsn()), 8) as told");
  return { home: `${server ?? UNKNOWN} ${database}`, timeline };
}

/**
 * Reads which database a transaction is in, as {@link findHome} names it: a process may stay while another is
 * restored under its address, or its server promoted.
 *
 * @param told what the server reported before: it is asked for no more
 */
export async function selectHome(db: Db, told: Home): Promise<Home> {
  const server = told.home.startsWith(UNKNOWN)
    ? db`${UNKNOWN}::text`
    : db`(select system_identifier from pg_control_system())`;
  const timeline = told.timeline === null
    ? db`null`
    : db`left(pg_walfile_name(pg_current_wal_lsn()), 8)`;
  const [row] = await db<Home[]>`
    select concat_ws(' ', ${server}, oid::text, datname) as home, ${timeline} as timeline
    from pg_database where datname = current_database()`;
  return row;
}

/** A reason why workers do not sign for a realm on a chain and network. */
export interface RealmFault {
  realm: string;
  code: string;
  chain: string;
  network: string;
  detail: string;
}

/** Replaces the recorded faults of a realm, of one kind. */
export async function replaceRealmFaults(
  tx: Tx,
  of: { realm: string; code: string },
  faults: readonly Omit<RealmFault, "realm" | "code">[],
): Promise<void> {
  await tx`
    delete from realm_faults f where f.realm = ${of.realm} and f.code = ${of.code}
      and (f.chain, f.network) not in (select g.chain, g.network
        from jsonb_to_recordset(${tx.json(faults as never)}) g(chain text, network text))`;
  await tx`
    insert into realm_faults (realm, code, chain, network, detail, seen_at)
    select ${of.realm}, ${of.code}, g.chain, g.network, g.detail, now()
    from jsonb_to_recordset(${tx.json(faults as never)})
      g(chain text, network text, detail text)
    on conflict (realm, code, chain, network) do update
      set detail = excluded.detail, seen_at = excluded.seen_at`;
}

/** Counts realms with faults, by kind, chain and network. */
export async function selectFaultCounts(
  db: Db,
): Promise<{ code: string; chain: string; network: string; realms: number }[]> {
  return await db<{ code: string; chain: string; network: string; realms: number }[]>`
    select code, chain, network, count(*)::integer as realms from realm_faults
    group by code, chain, network order by code, chain, network limit 100`;
}
