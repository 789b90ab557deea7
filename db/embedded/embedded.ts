/**
 * A PostgreSQL server of our own, for an installation that sets no DATABASE_URL. The binaries come
 * from npm, the server runs as a child of this process on DATA_DIR, and this module does not know the
 * contents of its databases.
 *
 * Permissions it needs:
 * - `--allow-read`, `--allow-write`: `dataDir` and `cacheDir`; reading also the npm cache of Deno.
 *   Run by root: `/var/cache/purser` too, and `/var/lib/purser` for a `dataDir` that only root can
 *   reach.
 * - `--allow-run`: `initdb`, `pg_ctl` and `postgres` by their exact paths in
 *   `<cacheDir>/<platform>-<version>/bin`, and Deno itself, which fetches the binaries once and asks
 *   a server that a killed process left. Such a list stops mistakes, not an intruder: `pg_ctl` alone
 *   runs any program that it is given. So the process that serves requests never has these rights:
 *   the launcher (launcher/launch.ts) starts the server and gives the service its address.
 * - `--allow-net=127.0.0.1`, `--allow-sys=uid,statfs`. No package is loaded by these modules.
 *
 * The host must have libstdc++ and glibc (no Alpine).
 * @module
 */
import { join, resolve } from "node:path";
import {
  createCluster,
  locateCluster,
  lockCluster,
  readCredentials,
  removeLeftovers,
  serverUser,
} from "./cluster.ts";
import { assertOwn, exists, isRoot, makeFolder, unpackBinaries } from "./files.ts";
import { launchOnPort, retireOrphan, supervise } from "./server.ts";
import { measuredSizes } from "./wal_sizes.ts";

/** Options of an embedded server. */
export interface EmbeddedOptions {
  /** Folder of the installation, made when it is missing; a relative one counts from the cwd. */
  dataDir: string;
  /**
   * TCP port on 127.0.0.1. Unset: a free one, kept for later starts while it stays free; 0: any
   * free one, not kept.
   */
  port?: number;
  /** Server settings that win over those chosen here, e.g. `{ fsync: "off" }` in tests. */
  settings?: Readonly<Record<string, string>>;
  /**
   * Folder the binaries are unpacked to, 65 MB a version. Default: `/var/cache/purser` for root,
   * else `<dataDir>/programs`. Run by root, it must be within reach of the user nobody.
   */
  cacheDir?: string;
}

/** Describes a running server. It is started again on the same port when it dies by itself. */
export interface EmbeddedPostgres {
  /** Connects as `purser`, who owns the database and may make roles, but is no superuser. */
  url: string;
  /** Connects as the superuser; for repairs and backups, never for the service. */
  superuserUrl: string;
  /** Process id of the postmaster; changes when it had to be started again. */
  readonly pid: number;
  /** True when this start made the database. */
  firstStart: boolean;
  /** Folder that holds the database files and its log; not always below `dataDir`. */
  clusterDir: string;
  /**
   * Stops the server with a checkpoint, within 8 s or else without one. Safe to repeat. A server
   * that is not stopped outlives this process, until the next start takes its place.
   */
  stop(): Promise<void>;
  /** The same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts PostgreSQL on a data directory, making the database on first use, and waits until it
 * accepts connections. Leftovers of an earlier, killed process are removed or repaired.
 *
 * @throws {Error} when another live process holds the directory, the requested port is taken, or
 * the server does not start; the message holds PostgreSQL's own.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  await makeFolder(options.dataDir);
  await assertOwn(options.dataDir);
  const dataDir = await Deno.realPath(options.dataDir);
  const cacheDir = options.cacheDir ?? (isRoot() ? "/var/cache/purser" : join(dataDir, "programs"));
  const bin = await unpackBinaries(resolve(cacheDir));
  const home = await locateCluster(dataDir, bin);
  const lock = await lockCluster(home, dataDir);
  try {
    const pgdata = join(home, "pgdata");
    const settings = options.settings ?? {};
    const found = { bin, home, pgdata, settings, user: await serverUser(pgdata) };
    const firstStart = !await exists(pgdata);
    await removeLeftovers(home);
    await (firstStart ? createCluster(found) : retireOrphan(found));
    const passwords = await readCredentials(home);
    const cluster = { ...found, settings: { ...await measuredSizes(pgdata), ...settings } };
    const { port, child } = await launchOnPort(cluster, options.port);
    const server = supervise(cluster, port, child);
    let stopped: Promise<void> | undefined;
    const stop = () => stopped ??= server.stop().finally(() => lock.close());
    return {
      url: `postgres://purser:${passwords.purser}@127.0.0.1:${port}/purser`,
      superuserUrl: `postgres://postgres:${passwords.superuser}@127.0.0.1:${port}/purser`,
      get pid() {
        return server.child().pid;
      },
      firstStart,
      clusterDir: home,
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}
