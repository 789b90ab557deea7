/**
 * The data of the embedded server: its folder, its owner, and its creation.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { exists, flush, isRoot, makeFolder, readIfThere } from "./files.ts";

/** User and group of the server's processes. */
export interface ServerUser {
  /** User id. */
  readonly uid: number;
  /** Group id. */
  readonly gid: number;
}

/** Environment of the programs of one database cluster. */
export interface Cluster {
  /** Folder of the programs. */
  readonly bin: string;
  /** Folder of the cluster: lock, credentials, port and `pgdata`. */
  readonly home: string;
  /** PostgreSQL's own data directory, below `home`. */
  readonly pgdata: string;
  /** Undefined when the programs run as this process does. */
  readonly user: ServerUser | undefined;
  /** Server settings that win over ours. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Passwords of a cluster, made once. */
export interface Credentials {
  /** Password of the superuser `postgres`. */
  readonly superuser: string;
  /** Password of `purser`, the login of the service. */
  readonly purser: string;
}

/**
 * Rights that PostgreSQL gives to every role and that a realm's roles do not need: large objects,
 * which fill the disk, and advisory locks, which fill the server's table of locks.
 */
const CLOSED: readonly string[] = [
  "do $$ declare f regprocedure; begin for f in select p.oid from pg_proc p " +
  "where p.pronamespace = 'pg_catalog'::regnamespace and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock' " +
  "or p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea')) " +
  "loop execute format('revoke execute on function %s from public', f); end loop; end $$",
  "grant execute on function pg_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(bigint), " +
  "pg_try_advisory_xact_lock_shared(bigint) to purser",
];

/** Of the verifiers of the two passwords, which are random. */
const ITERATIONS = 16;

/** User and group nobody, whose ids are the same wherever there is glibc. */
const NOBODY: ServerUser = { uid: 65534, gid: 65534 };

/**
 * Gives the folder of the cluster: `<dataDir>/postgres`, unless this process is root's and `nobody`,
 * the user that the server must run as, cannot reach it (a checkout below /root). Then it is a folder
 * of its own below /var/lib/purser, named in `<dataDir>/postgres.location`: a new data directory at an
 * old path never gets the old database.
 */
export async function locateCluster(dataDir: string, bin: string): Promise<string> {
  const pointer = join(dataDir, "postgres.location");
  const elsewhere = await readIfThere(pointer);
  if (elsewhere) return elsewhere.trim();
  const home = join(dataDir, "postgres");
  if (!isRoot() || await exists(join(home, "pgdata"))) return home;
  if (!await nobodyCanRun(bin, "/")) {
    throw new Error(`The user nobody cannot run ${bin}/postgres: choose another cacheDir`);
  }
  await letNobodyThrough(dataDir);
  if (await nobodyCanRun(bin, dataDir)) return home;
  const draft = `${pointer}.${crypto.randomUUID()}`;
  await Deno.writeTextFile(draft, `/var/lib/purser/${crypto.randomUUID()}\n`, { mode: 0o600 });
  try {
    await Deno.link(draft, pointer); // unlike a rename, it never replaces what a rival wrote
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    await Deno.remove(draft);
  }
  await flush(dataDir);
  return (await Deno.readTextFile(pointer)).trim();
}

/** Lets the server's user pass a folder that is private to root, without letting it list it. */
async function letNobodyThrough(folder: string): Promise<void> {
  const { uid, mode } = await Deno.stat(folder);
  if (uid !== 0 || mode === null || mode & 0o001) return;
  await Deno.chown(folder, 0, NOBODY.gid);
  await Deno.chmod(folder, mode & 0o700 | 0o010);
}

/** Tells, by a trial run, whether `nobody` can run our programs in a folder. */
async function nobodyCanRun(bin: string, cwd: string): Promise<boolean> {
  try {
    const options = { args: ["--version"], ...NOBODY, cwd, clearEnv: true };
    return (await new Deno.Command(join(bin, "postgres"), options).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}

/** How often a lock is asked for, 50 ms apart. */
const LOCK_TRIES = 20;

/**
 * Takes a lock that nobody has, or that was just given back: a program that starts another one lends it its files for
 * the moment until that has begun, and a lock lasts as long as any of them.
 */
async function isLocked(file: Deno.FsFile): Promise<boolean> {
  for (let tries = 1; !await file.tryLock(true); tries++) {
    if (tries === LOCK_TRIES) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

/** Takes the one lock of a cluster; the kernel releases it however this process ends. */
export async function lockCluster(home: string, dataDir: string): Promise<Deno.FsFile> {
  await makeFolder(home);
  if (isRoot()) await Promise.all([dirname(home), home].map(letNobodyThrough));
  const path = join(home, "lock");
  const file = await Deno.open(path, { create: true, read: true, write: true, mode: 0o600 });
  try {
    if (!await isLocked(file)) {
      const pid = (await Deno.readTextFile(path)).trim() || "unknown";
      throw new Error(
        `DATA_DIR ${dataDir} is in use by another Purser process (pid ${pid}): end it first, or set DATABASE_URL`,
      );
    }
    await file.truncate();
    await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Chooses the server's user: PostgreSQL refuses root, so root runs it as the owner of the data. */
export async function serverUser(pgdata: string): Promise<ServerUser | undefined> {
  if (!isRoot()) return undefined;
  if (!await exists(pgdata)) return NOBODY;
  const { uid, gid } = await Deno.stat(pgdata);
  return { uid: uid || NOBODY.uid, gid: gid || NOBODY.gid };
}

/**
 * Removes files that killed starts left. One of their initdb processes may still write; then the next
 * start removes them.
 */
export async function removeLeftovers(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!name.startsWith("pgdata.init-")) continue;
    try {
      await Deno.remove(join(home, name), { recursive: true });
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
    }
  }
}

/**
 * Makes the cluster with its role and database. It is built aside and valid only from the
 * rename on, so a start that is killed on the way is simply repeated.
 */
export async function createCluster(cluster: Cluster): Promise<void> {
  const { home, pgdata, user, settings } = cluster;
  const fresh = `${pgdata}.init-${crypto.randomUUID()}`;
  const passwordFile = `${fresh}.password`;
  const passwords: Credentials = { superuser: crypto.randomUUID(), purser: crypto.randomUUID() };
  await Deno.mkdir(fresh, { mode: 0o700 });
  await Deno.writeTextFile(passwordFile, passwords.superuser, { mode: 0o600 });
  if (user) {
    for (const path of [fresh, passwordFile]) await Deno.chown(path, user.uid, user.gid);
  }
  const locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  const access = ["--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  const basics = ["-D", fresh, "--encoding=UTF8", "--no-instructions"];
  await runProgram(cluster, "initdb", [...basics, ...locale, ...access, "--no-sync"]);
  // Least privilege for the service: it owns its database and can make a role per realm, that is all.
  const statements = [
    // Stretching slows guesses, and of 122 random bits none succeeds; each connection of the service would pay for it.
    `set scram_iterations = ${ITERATIONS}`,
    `create role purser login createrole password '${passwords.purser}'`,
    `alter role postgres password '${passwords.superuser}'`,
    "reset scram_iterations",
    "alter role purser set createrole_self_grant = 'set, inherit'",
    "create database purser owner purser template template0 encoding 'UTF8'",
    "revoke all on database purser from public",
    "grant connect on database purser to public", // the roles of realms log in themselves
    "revoke connect on database postgres, template1 from public",
  ];
  for (const [name, lines] of [["postgres", statements], ["purser", CLOSED]] as const) {
    const single = ["--single", "-D", fresh, "-c", "exit_on_error=on", "-c", "fsync=off", name];
    await runProgram(cluster, "postgres", single, lines.map((sql) => `${sql};\n`).join(""));
  }
  // All of it reaches the disk at once, which is faster than step by step.
  if (settings.fsync !== "off") await runProgram(cluster, "initdb", ["-D", fresh, "--sync-only"]);
  await Deno.remove(passwordFile);
  await Deno.writeTextFile(`${home}/credentials.json`, JSON.stringify(passwords), { mode: 0o600 });
  await flush(`${home}/credentials.json`);
  await Deno.rename(fresh, pgdata);
  await flush(home);
  await flush(dirname(home));
}

/** Reads the passwords of a cluster that has been made. */
export async function readCredentials(home: string): Promise<Credentials> {
  return JSON.parse(await Deno.readTextFile(join(home, "credentials.json")));
}

/**
 * Runs one of PostgreSQL's programs and demands its success.
 *
 * @throws {Error} with the program's error output.
 */
export async function runProgram(
  cluster: Cluster,
  name: string,
  args: string[],
  input = "",
): Promise<void> {
  const { code, stderr } = await tryProgram(cluster, name, args, input);
  if (code !== 0) throw new Error(`${name} ended with code ${code}: ${stderr}`);
}

/** Runs one of PostgreSQL's programs to its end and gives its result. */
export async function tryProgram(
  { bin, user }: Cluster,
  name: string,
  args: string[],
  input = "",
): Promise<{ code: number; stderr: string }> {
  const child = new Deno.Command(join(bin, name), {
    args,
    ...user,
    cwd: "/",
    clearEnv: true, // the server gets no MASTER_KEY or other secret of the environment
    env: { TZ: "UTC" },
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const [{ code, stderr }] = await Promise.all([child.output(), feed(child.stdin, input)]);
  return { code, stderr: new TextDecoder().decode(stderr).trim() };
}

/**
 * Writes a program's input; a program that ends before it has read all explains itself by its exit
 * code.
 */
async function feed(stdin: WritableStream<Uint8Array>, input: string): Promise<void> {
  try {
    await new Blob([input]).stream().pipeTo(stdin);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
