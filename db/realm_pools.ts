/**
 * Pools of realms. A realm may move to another database while processes use it, so each of its pools
 * leads to the newest place that this process knows, and finds a newer one when the old place refuses.
 * @module
 */
import { connect } from "./connections.ts";
import type { Quotas } from "./connection_quota.ts";
import type { DatabaseOptions, Pool, Pools, RealmLocation, Sql } from "./pool_types.ts";
import { Contention } from "./errors.ts";
import {
  actingAs,
  asWorker,
  loginOf,
  saidBy,
  serverOf,
  type Session,
  sessionOf,
  unbounded,
  underQuota,
  urlOf,
  WATCH,
} from "./pools.ts";
import { selectPlace } from "./realm_places.ts";
import { reading } from "./transaction.ts";

const REALM_MAX = 4;
/** Most realms of a server that are migrated at once. */
export const MIGRATIONS_AT_ONCE = 4;
const MIGRATION: Session = {
  searchPath: "pg_catalog",
  role: null,
  location: null,
  name: "migration",
};
/** Longest wait for the end of a move; its pause is a fraction of a second. */
const MOVE_WAIT_MAX_MS = 10_000;
const MOVE_POLL_MS = 20;

/** What the pools of realms are made of. */
export interface RealmPoolParts {
  options: DatabaseOptions;
  platform: Pool;
  watch: Pool;
  alive: Set<Sql>;
  quotas: Quotas;
}

interface State extends RealmPoolParts {
  /** The newest known place of each realm. */
  places: Map<string, RealmLocation>;
  /** Searches for a realm's place that run now. */
  searches: Map<string, Promise<boolean>>;
  /** Shared connections to realms whose roles do not log in, by address. */
  shared: Map<string, Pool>;
  /** Connections that migrate realms, by address. */
  migrating: Map<string, Pool>;
}

/** Opens the pools of a place. */
type Open = (state: State, location: RealmLocation) => Pool;

/** Prepares the pools of realms. */
export function openRealmPools(
  parts: RealmPoolParts,
): Pick<
  Pools,
  "realm" | "working" | "sharedPool" | "postingPool" | "migrating" | "serverOf"
> {
  const state: State = {
    ...parts,
    places: new Map(),
    searches: new Map(),
    shared: new Map(),
    migrating: new Map(),
  };
  const { options } = parts;
  const kept = (open: Open) => {
    const pools = new Map<string, Pool>();
    return (location: RealmLocation) => {
      if (isBehind(options, location)) return UNMIGRATED;
      note(state, location);
      let pool = pools.get(location.id);
      if (pool === undefined) pools.set(location.id, pool = following(state, location.id, open));
      return pool;
    };
  };
  const max = options.realmMax ?? REALM_MAX;
  return {
    realm: kept((_, location) => bounded(state, sessionOf(location, "realm"), max)),
    working: kept((_, location) => bounded(state, sessionOf(asWorker(location), "worker"), max)),
    sharedPool: kept(openShared),
    postingPool(location) {
      if (isBehind(options, location)) return UNMIGRATED;
      note(state, location);
      return following(state, location.id, (_, at) => bounded(state, sessionOf(at, "posting"), 1));
    },
    migrating: (location) => openMigrating(state, location),
    serverOf: (location) => serverOfPlace(options, location),
  };
}

/** Records a place, unless a newer one is known. */
function note({ places }: State, location: RealmLocation): void {
  const known = places.get(location.id);
  if (known === location) return;
  // Of the same place the last one counts: its logins may have been drawn anew.
  if (known === undefined || known.place <= location.place) places.set(location.id, location);
}

/** A pool that leads to the newest known place of a realm. */
function following(state: State, id: string, open: Open): Pool {
  let last: { place: number; pool: Pool } | null = null;
  function current(): Pool {
    const location = state.places.get(id)!;
    if (last?.place === location.place) return last.pool;
    const left = last?.pool;
    last = { place: location.place, pool: open(state, location) };
    left?.leave?.();
    return last.pool;
  }
  return {
    get sql() {
      return current().sql;
    },
    get settings() {
      return current().settings;
    },
    get place() {
      return state.places.get(id)!.place;
    },
    enter: () => current().enter(),
    renew: (sql, free) => current().renew(sql, free),
    follow: (from) => follow(state, id, from),
  };
}

async function follow(state: State, id: string, from: number): Promise<boolean> {
  if (state.places.get(id)!.place > from) return true;
  const { searches } = state;
  const search = searches.get(id) ?? find(state, id, from).finally(() => searches.delete(id));
  searches.set(id, search);
  return await search;
}

/** Reads the directory until the realm does not move any more. */
async function find(state: State, id: string, from: number): Promise<boolean> {
  const until = performance.now() + MOVE_WAIT_MAX_MS;
  for (let waited = false;; waited = true) {
    const row = await reading(state.platform, (db) => selectPlace(db, id));
    if (row === null) return false;
    if (row.location.place > from) {
      note(state, row.location);
      return true;
    }
    if (!row.moving) return waited; // a move that was taken back
    if (performance.now() > until) throw new Contention("the realm is being moved");
    await new Promise((resolve) => setTimeout(resolve, MOVE_POLL_MS));
  }
}

function bounded(state: State, as: Session, max: number): Pool {
  const { options, quotas, alive } = state;
  const location = as.location!;
  const open = (size: number) => plain(state, urlOf(options, location), as, size);
  const quota = quotas.of(serverOfPlace(options, location));
  return underQuota(quota, { open, alive, max, settings: saidBy(options, as) });
}

/** The server of a place; that of the platform where its address cannot be decrypted, and no use succeeds. */
function serverOfPlace(options: DatabaseOptions, location: RealmLocation): string {
  try {
    return serverOf(urlOf(options, location));
  } catch {
    return serverOf(options.url);
  }
}

/** Connections to a realm for reads that run in every realm. */
function openShared(state: State, location: RealmLocation): Pool {
  const { options, watch, quotas, alive, shared } = state;
  if (location.encryptedUrl === null && location.role !== null) {
    return actingAs(watch, asWorker(location));
  }
  const as = sessionOf(asWorker(location), "watch");
  const url = urlOf(options, location);
  const settings = saidBy(options, as);
  if (loginOf(options, as) !== null) {
    const open = (size: number) => plain(state, url, as, size);
    return underQuota(quotas.watching(serverOf(url)), { open, alive, max: 1, settings });
  }
  const max = url === options.url ? quotas.watchMax : 1;
  const open = () => plain(state, url, WATCH, max);
  const all = shared.get(url) ?? unbounded(saidBy(options, WATCH), open, alive);
  shared.set(url, all);
  return actingAs(all, asWorker(location));
}

/** Connections with all rights to a database, which the realms that are migrated there share. */
function openMigrating(state: State, location: RealmLocation): Pool {
  const { options, quotas, alive, migrating } = state;
  const url = urlOf(options, location);
  const known = migrating.get(url);
  if (known !== undefined) return known;
  const pool = underQuota(quotas.of(serverOf(url)), {
    open: (size) => plain(state, url, MIGRATION, size),
    alive,
    max: MIGRATIONS_AT_ONCE,
    settings: saidBy(options, MIGRATION),
  });
  migrating.set(url, pool);
  return pool;
}

function plain({ options, alive }: State, url: string, as: Session, max: number): Sql {
  const sql = connect(options, url, as, max, loginOf(options, as));
  alive.add(sql);
  return sql;
}

function isBehind(options: DatabaseOptions, location: RealmLocation): boolean {
  return location.schemaVersion < (options.schemaVersion ?? 0);
}

/** The pool of a realm that waits for its migration: every use fails. */
const UNMIGRATED: Pool = {
  get sql(): Sql {
    throw new Contention("the realm is being migrated");
  },
  settings: "",
  enter: () => Promise.reject(new Contention("the realm is being migrated")),
  renew() {},
};
