/** Settings of databases: the platform's, and those in which new realms are made. @module */
import type { RealmTarget, RealmTargets, Zone } from "../domain/zones.ts";
import { listOf, type Reader } from "./reader.ts";

/** A replica of the platform's server, which answers reads that may lag. */
export interface ReplicaConfig {
  readonly url: string;
  /** It answers nothing while what it shows may be older than this. */
  readonly lagMaxMs: number;
}

/** Settings of databases. */
export interface DatabaseSettings {
  /** Null: the launcher runs a PostgreSQL of our own in `dataDir`. */
  readonly databaseUrl: string | null;
  /** Further database servers, `host:port`, that realms may be given; the launcher lets them through. */
  readonly databaseHosts: readonly string[];
  /** Where a new realm is made that names no database of its own. */
  readonly realmTargets: RealmTargets;
  /** Null: the primary answers all. */
  readonly replica: ReplicaConfig | null;
}

const ZONES = Object.keys({ US: true, EU: true } satisfies Record<Zone, true>) as Zone[];
const PROTOCOLS = ["postgres:", "postgresql:"];
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\]|)$/;
/** The setting for all zones; one for a zone has its name appended. */
const TARGET = "REALM_DATABASE_URL";
/** The value that stands for the platform's database. */
const PLATFORM = "platform";

/** Whether a name has the form of a setting for one zone: each that is no setting is reported here. */
export function isOfTargets(name: string): boolean {
  return name.startsWith(`${TARGET}_`);
}

/** Reads the settings of databases. */
export function readDatabases(
  read: Reader,
  env: Readonly<Record<string, string>>,
): DatabaseSettings {
  const databaseUrl = read.url("DATABASE_URL", PROTOCOLS);
  if (databaseUrl !== null) checkEncryption(read, "DATABASE_URL", databaseUrl);
  const databaseHosts = readHosts(read);
  return {
    databaseUrl,
    databaseHosts,
    realmTargets: readTargets(read, env, { databaseUrl, databaseHosts }),
    replica: readReplica(read, databaseUrl),
  };
}

function readReplica(read: Reader, databaseUrl: string | null): ReplicaConfig | null {
  const url = read.url("DATABASE_READ_URL", PROTOCOLS);
  const lagMaxMs = 1000 * read.whole("DATABASE_READ_LAG_SECONDS", 5, 300, 10);
  if (url === null) return null;
  checkEncryption(read, "DATABASE_READ_URL", url);
  if (databaseUrl === null) {
    read.faults.push("DATABASE_READ_URL needs DATABASE_URL: the embedded database has no replica");
  }
  return { url, lagMaxMs };
}

/** Passwords and money never cross a network in plain text by an oversight. */
function checkEncryption(read: Reader, name: string, address: string): void {
  const { hostname, searchParams } = new URL(address);
  if (LOOPBACK.test(hostname) || searchParams.has("sslmode") || searchParams.has("ssl")) return;
  read.faults.push(
    `${name} names another machine and no sslmode: sslmode=verify-full (or require) encrypts,` +
      " sslmode=disable says that the network between is your own",
  );
}

function readHosts(read: Reader): string[] {
  const hosts = listOf(read.text("DATABASE_HOSTS"));
  for (const host of hosts) {
    if (/^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/.test(host)) continue;
    read.faults.push(`DATABASE_HOSTS: ${JSON.stringify(host)} is not a host with its port`);
  }
  return hosts;
}

function readTargets(
  read: Reader,
  env: Readonly<Record<string, string>>,
  known: Pick<DatabaseSettings, "databaseUrl" | "databaseHosts">,
): RealmTargets {
  const usual = readTarget(read, TARGET, known);
  const targets = ZONES.map((zone) => {
    const setting = `${TARGET}_${zone}`;
    return [zone, read.text(setting) === null ? usual : readTarget(read, setting, known)] as const;
  });
  for (const name of Object.keys(env)) {
    if (!isOfTargets(name) || read.known.has(name)) continue;
    read.faults.push(`${name} names no zone: there are ${ZONES.join(" and ")}`);
  }
  return Object.fromEntries(targets) as Record<Zone, RealmTarget | null>;
}

/** Reads the database that a setting names; null for the platform's. No value is shown: it holds a password. */
function readTarget(
  read: Reader,
  setting: string,
  { databaseUrl, databaseHosts }: Pick<DatabaseSettings, "databaseUrl" | "databaseHosts">,
): RealmTarget | null {
  if (read.text(setting) === PLATFORM) return null;
  const url = read.url(setting, PROTOCOLS);
  if (url === null) return null;
  checkEncryption(read, setting, url);
  if (databaseUrl !== null && databaseOf(url) === databaseOf(databaseUrl)) {
    read.faults.push(
      `${setting} names the platform's own database: leave it out, or say ${PLATFORM}`,
    );
  }
  const server = serverOf(url);
  const reached = [...databaseHosts, ...(databaseUrl === null ? [] : [serverOf(databaseUrl)])];
  if (!reached.some((host) => host.toLowerCase() === server.toLowerCase())) {
    // Were it let through by this setting alone, its realms would be cut off when the setting changes.
    read.faults.push(`${setting} names a server that DATABASE_HOSTS does not: add ${server} there`);
  }
  return { url, setting };
}

/** Host and port, as the launcher lets them through. */
function serverOf(address: string): string {
  const { hostname, port } = new URL(address);
  return `${hostname || "localhost"}:${port || "5432"}`;
}

/** Server and database, by one name where the server is this machine. */
function databaseOf(address: string): string {
  const { hostname, port, pathname, username } = new URL(address);
  const host = LOOPBACK.test(hostname) ? "localhost" : hostname.toLowerCase();
  return `${host}:${port || "5432"}/${pathname.slice(1) || username}`;
}
