/**
 * A replica: a physical standby of the platform's server, which answers reads that may lag. Each read asks in its first
 * message whether the server that answers follows this primary and how far it is, so the address may lead to one of
 * several standbys. Whatever the replica cannot answer, the primary answers; while the replica is away no read waits for
 * it: the monitor, which asks it once a second, says when it is there again.
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
  factsOf,
  type Mark,
  openPositions,
  type Positions,
  PRIMARY_COLUMNS,
  REPLICA_COLUMNS,
  type ServerFacts,
} from "./replica_positions.ts";
import { readingBriefly } from "./transaction.ts";
import { openWriters, type Writers } from "./replica_writers.ts";

export type { Mark };

/** Why a replica answers nothing: the server that was asked is away, not a standby, of another history, or too far behind. */
export type ReplicaFault = "unknown" | "unreachable" | "not_standby" | "foreign" | "behind";
/**
 * Who answered a read that may lag, or why the replica did not: it must show something newer (`newer`), the replica
 * canceled it to replay (`conflict`), the realm is not whole there (`realm`), or the read failed (`failed`).
 */
export type ReplicaOutcome = "replica" | ReplicaFault | "newer" | "conflict" | "realm" | "failed";

/** The state of a replica. */
export interface ReplicaState {
  /** Null: it answers. */
  fault: ReplicaFault | null;
  /** What it shows is younger than this, in milliseconds; null while that is not known. */
  lagMs: number | null;
}

/** How a read runs. */
export interface ReplicaReading {
  /** Longest statement, in milliseconds. */
  limitMs: number;
  /** The statement may take as long as that, so the primary does not repeat one that takes longer. */
  isSlow?: boolean;
  /** It shows what this user has changed through this process. */
  user: string;
  /** It shows all that was answered before the mark. */
  after?: Mark;
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
  /** Waits a moment until it shows all that the primary has answered; null where it does not. */
  catchUp(): Promise<Mark | null>;
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
  lagMaxMs: number;
  positions: Positions;
  writers: Writers;
  realms: Map<string, RealmThere>;
  probe: Pool;
  /** As of the last probe. */
  fault: ReplicaFault | null;
  position: bigint;
  /** Rejected when the replica is lost, so that no read waits for it. */
  lost: PromiseWithResolvers<never>;
  outcomes: Map<ReplicaOutcome, number>;
}

/** A server that must not answer. */
class Unfit extends Error {
  override readonly name = "Unfit";

  constructor(readonly outcome: ReplicaOutcome) {
    super(`the replica is ${outcome}`);
  }
}

const TICK_MS = 1000;
/** Longest statement of the monitor; after twice that time its answer was lost. */
const PROBE_MS = 1000;
/** How long the primary answers for a realm that is not whole on the replica. */
const PAUSE_MS = 5000;
const CATCH_UP_MAX_MS = 1000;
const CATCH_UP_FIRST_MS = 5;
const REALM_MAX = 4;
/** Realms whose connections are known; the longest known is forgotten first. */
const REALMS_MAX = 2000;
const NOTHING = () => Promise.resolve(null);

/** Prepares the replica; null where there is none. It connects when it is watched. */
export function openReplica(parts: ReplicaParts): Replica | null {
  const { replica } = parts.options;
  if (replica === undefined) return null;
  const login: { now: Login | null } = { now: null };
  const state = stateOf(parts, replica, () => login.now);
  let end = () => {};
  return {
    watch(tell) {
      end();
      end = watch(state, tell);
    },
    state: () => shownState(state),
    outcomes: () => state.outcomes,
    read: (location, work, how) => read(state, location, work, how),
    catchUp: () => catchUp(state),
    noteWrite: state.writers.note,
    logInAs(role) {
      login.now = role;
      state.probe.renew(state.probe.sql);
    },
    close: () => end(),
  };
}

function stateOf(
  parts: ReplicaParts,
  { url, lagMaxMs }: { url: string; lagMaxMs: number },
  login: () => Login | null,
): State {
  const { options, alive } = parts;
  const as: Session = {
    ...{ searchPath: "pg_catalog", role: null, location: null },
    ...{ name: "replica", readOnly: true },
  };
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  return {
    ...{ parts, url, lagMaxMs, lost },
    positions: openPositions(),
    writers: openWriters(lagMaxMs),
    realms: new Map(),
    probe: unbounded(saidBy(options, as), () => {
      const sql = connect(options, url, as, 1, options.prepare ? login() : null);
      alive.add(sql);
      return sql;
    }, alive),
    fault: "unknown",
    position: 0n,
    outcomes: new Map(),
  };
}

/** Samples the primary and asks the replica, again and again; the function that it returns ends that. */
function watch(state: State, tell: (state: ReplicaState) => void): () => void {
  let last: ReplicaFault | null = "unknown";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasEnded = false;
  const tick = async () => {
    await mark(state).then((one) => state.positions.add(one.mark, one.facts)).catch(() => {});
    await ask(state).catch(() => {});
    if (hasEnded) return;
    const now = shownState(state);
    if (now.fault !== last) tell(now);
    last = now.fault;
    timer = setTimeout(tick, TICK_MS);
  };
  void tick();
  return () => {
    hasEnded = true;
    clearTimeout(timer);
  };
}

/** Reads the position of the primary: all that it answered before stands before it. */
async function mark({ parts }: State): Promise<{ mark: Mark; facts: ServerFacts }> {
  const at = performance.now();
  const asked: { facts?: ServerFacts } = {};
  const check = (row: Readonly<Record<string, unknown>>) => {
    asked.facts = factsOf(row);
  };
  const facts = { columns: PRIMARY_COLUMNS, check };
  await readingBriefly(parts.platform, PROBE_MS, NOTHING, { facts });
  return { mark: { at, position: asked.facts!.position }, facts: asked.facts! };
}

/** Asks the replica what it is and how far; whether it is fit is the new state. */
async function ask(state: State): Promise<ServerFacts> {
  const asked: { facts?: ServerFacts } = {};
  const check = (row: Readonly<Record<string, unknown>>) => {
    asked.facts = factsOf(row);
  };
  const facts = { columns: REPLICA_COLUMNS, check };
  try {
    await readingBriefly(state.probe, PROBE_MS, NOTHING, { facts });
  } catch (error) {
    lose(state);
    throw error;
  }
  state.position = asked.facts!.position;
  state.fault = faultOf(state, asked.facts!);
  return asked.facts!;
}

function faultOf({ positions }: State, facts: ServerFacts): ReplicaFault | null {
  if (!facts.isStandby) return "not_standby";
  if (positions.newest() === -Infinity) return "unknown";
  return positions.isOurs(facts) ? null : "foreign";
}

/** The replica is away: reads that wait for it go to the primary at once. */
function lose(state: State): void {
  state.fault = "unreachable";
  state.lost.reject(new Unfit("unreachable"));
  state.lost = Promise.withResolvers<never>();
  state.lost.promise.catch(() => {});
}

function shownState({ fault, positions, position, lagMaxMs }: State): ReplicaState {
  const lagMs = Math.ceil(performance.now() - positions.shownAt(position));
  const isBehind = fault === null && lagMs > lagMaxMs;
  return {
    fault: isBehind ? "behind" : fault,
    lagMs: fault === null && lagMs < Infinity ? lagMs : null,
  };
}

async function read<T>(
  state: State,
  location: RealmLocation,
  work: (db: Db) => Promise<T>,
  { limitMs, isSlow = false, user, after, signal }: ReplicaReading,
): Promise<FromReplica<T> | null> {
  const { fault } = shownState(state);
  if (fault !== null) return count(state, fault);
  const now = performance.now();
  const realm = realmThere(state, location, now);
  if (realm === null || now < realm.pausedUntil) return count(state, "realm");
  const notBefore = Math.max(realm.since, state.writers.last(location.id, user));
  if (state.positions.newest() < notBefore) return count(state, "newer");
  let shownAt = -Infinity;
  const check = (row: Readonly<Record<string, unknown>>) => {
    shownAt = assertShows(state, factsOf(row), { notBefore, after });
  };
  const facts = { columns: REPLICA_COLUMNS, check };
  const { promise: lost } = state.lost;
  const run = readingBriefly(realm.pool, limitMs, work, { signal, facts });
  run.catch(() => {}); // no reader waits for it once the replica is lost
  try {
    const result = await Promise.race([run, lost]);
    count(state, "replica");
    return { result, lagMs: Math.max(0, Math.ceil(performance.now() - shownAt)) };
  } catch (error) {
    if (signal?.aborted || (isSlow && isTimeout(error))) throw error;
    return count(state, outcomeOf(state, realm, error));
  }
}

/** The moment that a server shows. @throws {Unfit} if it must not answer */
function assertShows(
  state: State,
  facts: ServerFacts,
  { notBefore, after }: { notBefore: number; after?: Mark },
): number {
  const fault = faultOf(state, facts);
  if (fault !== null) throw new Unfit(fault);
  const shown = state.positions.shownAt(facts.position);
  if (performance.now() - shown > state.lagMaxMs) throw new Unfit("behind");
  if (after !== undefined && facts.position < after.position) throw new Unfit("newer");
  if (shown < notBefore) throw new Unfit("newer");
  return Math.max(shown, after?.at ?? -Infinity);
}

/** Why a read failed on the replica; what it says of the replica or of the realm there is noted. */
function outcomeOf(state: State, realm: RealmThere, error: unknown): ReplicaOutcome {
  if (error instanceof Unfit) return error.outcome;
  if (isDisconnect(error) || isOutOfReach(error)) {
    if (state.fault === null) lose(state);
    return "unreachable";
  }
  if (isContention(error)) return "conflict";
  if (!isUnavailable(error)) return "failed";
  realm.pausedUntil = performance.now() + PAUSE_MS;
  return "realm";
}

function count(state: State, outcome: ReplicaOutcome): null {
  state.outcomes.set(outcome, (state.outcomes.get(outcome) ?? 0) + 1);
  return null;
}

/** The connections of a realm; null where the replica has no copy of it. */
function realmThere(state: State, location: RealmLocation, now: number): RealmThere | null {
  if (location.encryptedUrl !== null) return null;
  const { id, place, schemaVersion, role, login } = location;
  const version = [place, schemaVersion, role, login?.toBase64()].join();
  const known = state.realms.get(id);
  if (known?.version === version) return known;
  known?.pool.leave?.();
  const made = { pool: poolOf(state, location), version, since: now, pausedUntil: 0 };
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

async function catchUp(state: State): Promise<Mark | null> {
  if (shownState(state).fault !== null) return null;
  const until = performance.now() + CATCH_UP_MAX_MS;
  try {
    const { mark: reached } = await mark(state);
    for (let waitMs = CATCH_UP_FIRST_MS; performance.now() < until; waitMs *= 2) {
      const { position } = await ask(state);
      if (state.fault !== null) return null;
      if (position >= reached.position) return reached;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    return count(state, "newer");
  } catch {
    return null; // the monitor says why
  }
}
