/**
 * A replica: a physical standby of the platform's server, which answers reads that may lag. Each read asks in its first
 * message whether the server that answers follows this primary and how far it is, so the address may lead to one of
 * several standbys. Whatever the replica cannot answer, the primary answers; while the replica is away no read waits for
 * it.
 * @module
 */
import { connect, type Login } from "./connections.ts";
import type { Quotas } from "./connection_quota.ts";
import { isContention, isDisconnect, isOutOfReach, isTimeout, isUnavailable } from "./errors.ts";
import type { DatabaseOptions, Db, Pool, RealmLocation, Sql } from "./pool_types.ts";
import {
  loginOf,
  saidBy,
  serverOf,
  type Session,
  sessionOf,
  unbounded,
  underQuota,
} from "./pools.ts";
import {
  openMonitor,
  type ReplicaFault,
  type ReplicaMonitor,
  type ReplicaState,
  Unfit,
} from "./replica_monitor.ts";
import { factsOf, type Position, REPLICA_COLUMNS } from "./replica_positions.ts";
import { openWriters, type Writers } from "./replica_writers.ts";
import { readingBriefly } from "./transaction.ts";

export type { Position, ReplicaState };

/**
 * Who answered a read that may lag, or why the replica did not: it must show something newer (`newer`), the replica
 * canceled it to replay (`conflict`), the realm is not whole there (`realm`), or the read failed (`failed`).
 */
export type ReplicaOutcome = "replica" | ReplicaFault | "newer" | "conflict" | "realm" | "failed";

/** How a read runs. */
export interface ReplicaReading {
  /** Longest statement, in milliseconds. */
  limitMs: number;
  /** The statement may take as long as that, so the primary does not repeat one that takes longer. */
  isSlow?: boolean;
  /** It shows what this user has changed through this process. */
  user: string;
  /** It shows all that was answered before the position. */
  after?: Position;
  /** It shows all that was answered before this moment of the monotonic clock. */
  notBefore?: number;
  /** Ends the read, which then throws. */
  signal?: AbortSignal;
}

/** What the replica answered. */
export interface FromReplica<T> {
  result: T;
  /** All that was answered longer ago is in it. In milliseconds, rounded up. */
  lagMs: number;
}

/** The replica of a process. */
export interface Replica {
  /** Begins to watch it; until then it answers nothing. Is told each change of its fault. */
  watch(tell: (state: ReplicaState) => void): void;
  state(): ReplicaState;
  /** How many reads it answered, and how many it did not for which reason. */
  outcomes(): ReadonlyMap<ReplicaOutcome, number>;
  /**
   * Runs reads of a realm; null where the primary must answer. What the work refuses is not believed: the primary
   * decides.
   *
   * @throws what the signal was aborted with, and a timeout of a slow read
   */
  read<T>(
    location: RealmLocation,
    work: (db: Db) => Promise<T>,
    how: ReplicaReading,
  ): Promise<FromReplica<T> | null>;
  /**
   * Waits a moment until it shows all that the primary has answered; null where it does not, or did not shortly before.
   */
  catchUp(): Promise<Position | null>;
  /** Notes that a user may have changed something in a realm. */
  noteWrite(realm: string, user: string): void;
  /** Logs in to it as a role with fewer rights from now on, where no realm is meant. */
  logInAs(login: Login): void;
  close(): void;
}

/** What a replica is made of. */
export interface ReplicaParts {
  options: DatabaseOptions;
  /** Connections to the primary. */
  platform: Pool;
  alive: Set<Sql>;
  quotas: Quotas;
}

interface RealmThere {
  pool: Pool;
  /** Changes with the realm's place, migrations and logins. */
  version: string;
  /** When this process learned of the version: the replica must show it. */
  since: number;
  /** The primary answers until then. */
  pausedUntil: number;
}

interface State {
  parts: ReplicaParts;
  url: string;
  monitor: ReplicaMonitor;
  writers: Writers;
  realms: Map<string, RealmThere>;
  outcomes: Map<ReplicaOutcome, number>;
}

/** How long the primary answers for a realm that is not whole on the replica, or too slow there. */
const PAUSE_MS = 5000;
const REALM_MAX = 4;
/** Realms whose connections are known; the longest unused is forgotten first. */
const REALMS_MAX = 2000;

/** Prepares the replica; null where there is none. It connects when it is watched. */
export function openReplica(parts: ReplicaParts): Replica | null {
  const { options, platform } = parts;
  if (options.replica === undefined) return null;
  const { url, lagMaxMs } = options.replica;
  const login: { now: Login | null } = { now: null };
  const probe = openProbe(parts, url, () => login.now);
  const monitor = openMonitor({ primary: platform, probe, lagMaxMs });
  const writers = openWriters(lagMaxMs);
  const state: State = {
    ...{ parts, url, monitor, writers },
    ...{ realms: new Map(), outcomes: new Map() },
  };
  return {
    watch: monitor.watch,
    state: monitor.state,
    outcomes: () => state.outcomes,
    read: (location, work, how) => read(state, location, work, how),
    async catchUp() {
      return await monitor.catchUp() ?? count(state, monitor.state().fault ?? "newer");
    },
    noteWrite: writers.note,
    logInAs(role) {
      login.now = role;
      probe.renew(probe.sql);
    },
    close: monitor.close,
  };
}

/** One connection that asks the server about itself alone. */
function openProbe({ options, alive }: ReplicaParts, url: string, login: () => Login | null): Pool {
  const as: Session = {
    ...{ searchPath: "pg_catalog", role: null, location: null },
    ...{ name: "replica", readOnly: true },
  };
  return unbounded(saidBy(options, as), () => {
    const sql = connect(options, url, as, 1, options.prepare ? login() : null);
    alive.add(sql);
    return sql;
  }, alive);
}

async function read<T>(
  state: State,
  location: RealmLocation,
  work: (db: Db) => Promise<T>,
  how: ReplicaReading,
): Promise<FromReplica<T> | null> {
  const { limitMs, isSlow = false, user, after, signal } = how;
  const { monitor, writers } = state;
  const { fault } = monitor.state();
  if (fault !== null) return count(state, fault);
  const realm = realmThere(state, location);
  if (realm === null || performance.now() < realm.pausedUntil) return count(state, "realm");
  const notBefore = Math.max(
    realm.since,
    writers.last(location.id, user),
    how.notBefore ?? -Infinity,
  );
  if (monitor.newest() < notBefore) return count(state, "newer");
  let shownAt = -Infinity;
  const check = (row: Readonly<Record<string, unknown>>) => {
    shownAt = monitor.assertShows(factsOf(row), { notBefore, after });
  };
  const facts = { columns: REPLICA_COLUMNS, check };
  const run = readingBriefly(realm.pool, limitMs, work, { signal, facts });
  run.catch(() => {}); // no reader waits for it once the replica is lost
  try {
    const result = await monitor.unlessLost(run);
    count(state, "replica");
    return { result, lagMs: Math.max(0, Math.ceil(performance.now() - shownAt)) };
  } catch (error) {
    if (signal?.aborted || (isSlow && isTimeout(error))) throw error;
    return count(state, outcomeOf(monitor, realm, error));
  }
}

/** Why a read failed on the replica; what it says of the replica or of the realm there is noted. */
function outcomeOf(monitor: ReplicaMonitor, realm: RealmThere, error: unknown): ReplicaOutcome {
  if (error instanceof Unfit) return error.why;
  if (isDisconnect(error) || isOutOfReach(error)) {
    monitor.doubt(); // one session may have been ended, or the server be away
    return "unreachable";
  }
  if (isContention(error)) return "conflict";
  if (!isUnavailable(error) && !isTimeout(error)) return "failed";
  realm.pausedUntil = performance.now() + PAUSE_MS;
  return "realm";
}

function count(state: State, outcome: ReplicaOutcome): null {
  state.outcomes.set(outcome, (state.outcomes.get(outcome) ?? 0) + 1);
  return null;
}

/** The connections of a realm; null where the replica has no copy of it. */
function realmThere(state: State, location: RealmLocation): RealmThere | null {
  if (location.encryptedUrl !== null) return null;
  const { id, place, schemaVersion, role, login } = location;
  const version = [place, schemaVersion, role, login?.toBase64()].join();
  const known = state.realms.get(id);
  if (known?.version === version) {
    state.realms.delete(id); // the longest unused stands first
    state.realms.set(id, known);
    return known;
  }
  known?.pool.leave?.();
  const since = performance.now();
  const made = { pool: poolOf(state, location), version, since, pausedUntil: 0 };
  if (known === undefined && state.realms.size >= REALMS_MAX) {
    const [first] = state.realms.keys();
    state.realms.get(first)!.pool.leave?.();
    state.realms.delete(first);
  }
  state.realms.set(id, made);
  return made;
}

function poolOf({ parts, url }: State, location: RealmLocation): Pool {
  const { options, alive, quotas } = parts;
  const as: Session = { ...sessionOf(location, "replica"), readOnly: true };
  const open = (size: number) => {
    const sql = connect(options, url, as, size, loginOf(options, as));
    alive.add(sql);
    return sql;
  };
  const settings = saidBy(options, as);
  const max = options.realmMax ?? REALM_MAX;
  return underQuota(quotas.of(serverOf(url)), { open, alive, max, settings });
}
