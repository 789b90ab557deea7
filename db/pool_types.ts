/** The types of pools and of the places that they lead to. @module */
import type postgres from "postgres";
import type { Login, Speech } from "./connections.ts";
import type { Logins } from "./realm_logins.ts";

/** A pool, or a connection outside a transaction. */
export type Sql = postgres.Sql;
/** An open transaction. */
export type Tx = postgres.TransactionSql;
/** Where one statement can be run. */
export type Db = Sql | Tx;

/** Options of the access to the database. */
export interface DatabaseOptions extends Speech {
  url: string;
  /** Decrypts the address of a realm's own database; null where it cannot. */
  decryptUrl?: (encryptedUrl: Uint8Array, realm: string) => string | null;
  /**
   * Decrypts the logins of realms, whose roles then connect by themselves. Without it, or behind a
   * pooler, the login of the address takes the role on, and can give it up again.
   */
  logins?: Logins;
  /** A standby of the platform's server, and how old what it shows may be. */
  replica?: { url: string; lagMaxMs: number };
  /** Connections of the process to one server, all pools together. */
  connectionsMax?: number;
  /** Longest wait of an index that is made for one other transaction. */
  indexWaitMs?: number;
  /** The realm migration that this version needs: a realm that is behind it gets no connection. */
  schemaVersion?: number;
  /** Connections of the platform's pool and of each realm's. */
  platformMax?: number;
  realmMax?: number;
}

/** Location of a realm's data. */
export interface RealmLocation {
  /** Realm id. */
  id: string;
  schema: string;
  /** The realm's serving role; null where the login may not create roles. */
  role: string | null;
  /** Encrypted address of a database of the realm's own; null for the platform's. */
  encryptedUrl: Uint8Array | null;
  /** Encrypted secret of the roles' logins; null where they do not log in. */
  login: Uint8Array | null;
  /** Number of the last migration applied there. */
  schemaVersion: number;
  /** Number of the place: it grows each time the realm moves to another database. */
  place: number;
}

/** A pool, with the statements that each transaction must begin with, if any. */
export interface Pool {
  /** Its connections, opened on first use; may be others each time it is read. */
  readonly sql: Sql;
  /** Statements for the start of each transaction, empty where connections keep their settings. */
  readonly settings: string;
  /**
   * Waits for room among the process's connections. The pool keeps them until the returned function is
   * called.
   *
   * @throws {Contention} when there was none in time
   */
  enter(): Promise<() => void>;
  /**
   * Ends these connections as soon as they are unused, and opens others, unless that was done.
   *
   * @param free resolved when they are unused; without it, running statements have a moment
   */
  renew(sql: Sql, free?: Promise<unknown>): void;
  /** Ends its connections after a short wait for running statements; the realm lives elsewhere now. */
  leave?(): void;
  /** Number of the realm's place that the connections lead to now; absent where the pool never moves. */
  readonly place?: number;
  /**
   * Looks where the realm lives after its old place refused a statement, and waits while it moves.
   *
   * @param from the place that refused
   * @returns whether the statement may pass now
   * @throws {Contention} when the move takes too long
   */
  follow?(from: number): Promise<boolean>;
}

/** How long the indexes of one database wait. */
export interface IndexWaits {
  /** Longest wait for one transaction, all indexes together. */
  limitMs: number;
  /** When each transaction was met first. */
  since: Map<string, number>;
}

/** All pools of this process to servers that take writes. */
export interface Pools {
  platform: Pool;
  /** A few connections with all rights to the platform's database, to build and migrate realms with. */
  builder: Pool;
  /** Makes the platform's pool and the shared pool log in as roles with fewer rights from now on. */
  serveAs(logins: ServingLogins): void;
  realm(location: RealmLocation): Pool;
  /** The realm's connections of workers, whose role may also read and book chain data. */
  working(location: RealmLocation): Pool;
  /**
   * Connections shared by all realms, for reads that run in every one of them: a connection to each realm
   * would be too much.
   */
  sharedPool(location: RealmLocation): Pool;
  /** One connection of its own for the realm's posting queue. */
  postingPool(location: RealmLocation): Pool;
  /** One connection with all rights to a realm's database, to build with. The caller ends it. */
  owner(location: RealmLocation): Pool;
  /** A few connections with all rights to a realm's database, which the realms there share while they are migrated. */
  migrating(location: RealmLocation): Pool;
  /**
   * Runs work that no transaction may be open for on a connection with all rights and without limits of time, in the
   * schema of a realm, or null for the platform's; one at a time on each server.
   */
  indexing<T>(
    location: RealmLocation | null,
    work: (sql: Sql, waits: IndexWaits) => Promise<T>,
  ): Promise<T>;
  /** Names the server of a realm's database: host and port. */
  serverOf(location: RealmLocation): string;
  /** The logins of realms; undefined where their roles do not log in. */
  readonly logins: Logins | undefined;
  /** Number of connections in use by realms and posting queues now, for measurement. */
  taken(): number;
  close(): Promise<void>;
}

/** Roles of the platform other than its owner. */
export interface ServingLogins {
  /** Writes rows of the platform's tables. */
  platform: Login;
  /** Has only the right to take on the roles of realms' workers, each for the length of a transaction. */
  watch: Login;
}
