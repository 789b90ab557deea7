/** The embedded PostgreSQL through its whole life, with real kills of real processes. @module */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { type EmbeddedOptions, startEmbedded } from "../../db/embedded/embedded.ts";
import { walSizes } from "../../db/embedded/wal_sizes.ts";
import { folderOf, type PackageSet, packagesOf } from "../../db/packages.ts";
import { until } from "../support/eventually.ts";
import { namesIn } from "../support/folder_names.ts";
import { preallocated } from "../support/preallocation.ts";

const AS_ROOT = Deno.uid() === 0;
const NOBODY = 65534;
const DB = new URL("../../db/", import.meta.url);
const MODULE = new URL("embedded/embedded.ts", DB);
const PROGRAMS: PackageSet = {
  title: "PostgreSQL",
  config: new URL("embedded.deno.json", DB),
  lock: new URL("embedded.deno.lock", DB),
};

/** Folder of all tests here; everyone may pass it, as nobody must when root runs the tests. */
let root = "";
/** Data directory with a table `kept` that holds 42. Every test finds it as the last one left it. */
let dataDir = "";

Deno.test.beforeAll(async () => {
  root = await Deno.makeTempDir({ prefix: "purser-embedded-" });
  await Deno.chmod(root, 0o755);
  dataDir = join(root, "data");
  await using db = await startEmbedded(quick(dataDir));
  equal(db.firstStart, true);
  await using sql = connect(db.url);
  await sql`create table kept as select 42 as answer`;
});

Deno.test.afterAll(() => Deno.remove(root, { recursive: true }));

Deno.test("startEmbedded() gives a role that may make realms and is no superuser", async () => {
  await using db = await startEmbedded(quick(dataDir));
  equal(db.firstStart, false);
  await using sql = connect(db.url);
  const [server] = await sql`select current_user as name, r.rolsuper, r.rolcreaterole,
    r.rolcreatedb, r.rolreplication, r.rolbypassrls, current_setting('server_encoding') as encoding,
    concat_ws(',', current_setting('synchronous_commit'), current_setting('full_page_writes'),
    current_setting('jit'), current_setting('recovery_init_sync_method')) as settings from pg_roles r where r.rolname = current_user`;
  deepEqual({ ...server }, {
    name: "purser",
    rolsuper: false,
    rolcreaterole: true,
    rolcreatedb: false,
    rolreplication: false,
    rolbypassrls: false,
    encoding: "UTF8",
    settings: `on,on,off,${Deno.build.os === "linux" ? "syncfs" : "fsync"}`,
  });
  for (const realm of ["realm_a", "realm_b"]) {
    await sql`create role ${sql(realm)}`;
    await sql`grant ${sql(realm)} to current_user`;
    await sql`create schema ${sql(realm)} authorization ${sql(realm)}`;
    await sql`set role ${sql(realm)}`;
    await sql`create table ${sql(realm)}.things (id int)`;
    await sql`reset role`;
  }
  await sql`set role realm_a`;
  await rejects(sql`select id from realm_b.things`, { code: "42501" });
  await rejects(sql`select answer from kept`, { code: "42501" });
  await sql`reset role`;
  await rejects(sql`create role boss superuser`, { code: "42501" });
  await rejects(sql`copy kept to program 'id'`, { code: "42501" });
});

Deno.test("startEmbedded() lets no role of a realm fill the disk, the table of locks, or another database", async () => {
  await using db = await startEmbedded(quick(dataDir));
  await using sql = connect(db.url);
  await sql`create role realm_full login password 'realm'`;
  const url = new URL(db.url);
  [url.username, url.password] = ["realm_full", "realm"];
  await using realm = connect(url.href);
  for (
    const text of [
      "select lo_create(0)",
      "select lo_creat(-1)",
      "select lo_from_bytea(0, 'x')",
      "select pg_advisory_lock(n) from generate_series(1, 9) n",
      "select pg_try_advisory_lock_shared(1, 2)",
      "select pg_advisory_xact_lock(1)",
      "create temporary table x ()",
      "create table public.x ()",
    ]
  ) await rejects(async () => await realm.unsafe(text), /permission denied/, text);
  url.pathname = "postgres";
  await using elsewhere = connect(url.href);
  await rejects(async () => await elsewhere`select 1`, /permission denied for database/);
  await sql`drop role realm_full`;
});

Deno.test("preallocateLater() leaves segments of the log that no commit must make, as many as the server keeps, and a restart neither loses nor makes them again", async () => {
  const large = quick(dataDir, walSizes(64 * 1024 ** 3));
  const small = await preallocated(quick(dataDir, walSizes(0)));
  ok(small.after.ahead < 4, `${small.after.ahead} on a small disk`);
  const full = await preallocated(large, Number.MAX_SAFE_INTEGER);
  deepEqual(full.after, full.before, "a server whose log finds no room stops");
  const { after } = await preallocated(large);
  ok(after.ahead >= 30, `${after.ahead}`);
  deepEqual(await preallocated(large), { before: after, after });
});

Deno.test("startEmbedded() uses no folder into which others can write, or that is not its user's", async () => {
  const folder = join(root, "open");
  await Deno.mkdir(folder);
  await Deno.chmod(folder, 0o770);
  await rejects(startEmbedded(quick(folder)), /others can write into DATA_DIR .*: chmod go-w/);
  await Deno.chmod(folder, 0o703);
  await rejects(startEmbedded(quick(folder)), /others can write into DATA_DIR/);
  deepEqual(await namesIn(folder), []);
  if (!AS_ROOT) return; // nobody else can give a folder away
  await Deno.chmod(folder, 0o700);
  await Deno.symlink(folder, join(root, "link"));
  await Deno.chown(folder, NOBODY, NOBODY);
  await rejects(startEmbedded(quick(folder)), /belongs to another user \(65534\): chown it/);
  await rejects(startEmbedded(quick(join(root, "link"))), /belongs to another user/);
});

Deno.test("startEmbedded() keeps data, port and passwords over a restart, all private", async () => {
  const options = quick(dataDir);
  let url: string;
  {
    await using db = await startEmbedded(options);
    url = db.url;
    await db.stop();
    await db.stop();
  }
  await using db = await startEmbedded(options);
  equal(db.url, url);
  await assertKept(db.url);
  for (const name of ["credentials.json", "lock", "port"]) {
    equal((await Deno.stat(join(db.clusterDir, name))).mode! & 0o777, 0o600, name);
  }
  equal((await Deno.stat(join(db.clusterDir, "pgdata"))).mode! & 0o777, 0o700);
  equal((await Deno.stat(db.clusterDir)).mode! & 0o007, 0, "others have no way in");
});

Deno.test("startEmbedded() starts a killed postmaster again on its port", async () => {
  await using db = await startEmbedded(quick(dataDir));
  const killed = db.pid;
  Deno.kill(killed, "SIGKILL");
  await until(() => db.pid !== killed);
  await assertKept(db.url);
});

Deno.test("startEmbedded() takes over from a killed process, with the least permissions", async () => {
  let orphan = 0;
  for (const alsoPostmaster of [false, true, false]) {
    await using holder = await hold(dataDir, await permissions());
    notEqual(holder.postmaster, orphan);
    await assertKept(holder.url);
    orphan = holder.postmaster;
    await holder.kill();
    if (alsoPostmaster) Deno.kill(orphan, "SIGKILL");
  }
  await using db = await startEmbedded(quick(dataDir));
  notEqual(db.pid, orphan);
  await assertKept(db.url);
});

Deno.test("startEmbedded() refuses a data directory that another process uses", async () => {
  await using holder = await hold(dataDir, ["--allow-all"]);
  await rejects(startEmbedded(quick(dataDir)), {
    message: `DATA_DIR ${await Deno.realPath(dataDir)} is in use by another Purser process ` +
      `(pid ${holder.pid}): end it first, or set DATABASE_URL`,
  });
  await assertKept(holder.url);
});

Deno.test("startEmbedded() starts over when it was killed inside initdb", async () => {
  const home = join(root, "interrupted/postgres");
  while (!await killInside(home)) { // it was through before anybody looked
    await (await startEmbedded(quick(dirname(home)))).stop();
    await Deno.remove(dirname(home), { recursive: true });
  }
  await using db = await startEmbedded(quick(dirname(home)));
  equal(db.firstStart, true);
  await using sql = connect(db.url);
  await sql`create table works (id int)`;
});

Deno.test("startEmbedded() takes a pid file of another program for stale", async () => {
  // The program has the server's user, else PostgreSQL itself would know better.
  const user = AS_ROOT ? { uid: NOBODY, gid: NOBODY } : {};
  const other = new Deno.Command("sleep", { args: ["60"], ...user }).spawn();
  const pgdata = join(dataDir, "postgres/pgdata");
  const stale = [other.pid, pgdata, "1700000000", "1", "", "127.0.0.1", "1 1", "ready"];
  const pidFile = join(pgdata, "postmaster.pid");
  await Deno.writeTextFile(pidFile, stale.join("\n") + "\n");
  if (AS_ROOT) await Deno.chown(pidFile, NOBODY, NOBODY);
  try {
    await using db = await startEmbedded(quick(dataDir));
    await assertKept(db.url);
  } finally {
    other.kill("SIGKILL"); // throws if the start had stopped it
    await other.status;
  }
});

Deno.test("startEmbedded() leaves a taken port alone", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  await rejects(startEmbedded({ ...quick(dataDir), port }), {
    message: `Port ${port} on 127.0.0.1 is taken by another program: choose another one`,
  });
  await Deno.writeTextFile(join(dataDir, "postgres/port"), `${port}\n`);
  await using db = await startEmbedded(quick(dataDir));
  notEqual(new URL(db.url).port, String(port));
  await assertKept(db.url);
  await db.stop();
  const kept = await Deno.readTextFile(join(dataDir, "postgres/port"));
  equal(kept, `${new URL(db.url).port}\n`);
  await using other = await startEmbedded({ ...quick(dataDir), port: 0 });
  await assertKept(other.url);
  equal(await Deno.readTextFile(join(dataDir, "postgres/port")), kept);
});

Deno.test("startEmbedded() reports PostgreSQL's message when it does not start", async () => {
  await rejects(startEmbedded({ ...quick(dataDir), settings: { wal_level: "wrong" } }), {
    message: /^PostgreSQL did not start: .*invalid value for parameter "wal_level"/,
  });
  await rejects(startEmbedded({ ...quick(dataDir), settings: { hba_file: "/nowhere" } }), {
    message: /^PostgreSQL did not start: [\s\S]*could not load \/nowhere/,
  });
});

Deno.test({
  name: "startEmbedded() puts the cluster elsewhere when only root can reach the data directory",
  ignore: !AS_ROOT,
  async fn() {
    const closed = await Deno.makeTempDir({ dir: root });
    const options = quick(join(closed, ".data"));
    await using stack = new AsyncDisposableStack();
    for (const firstStart of [true, false]) {
      await using db = await startEmbedded(options);
      equal(db.firstStart, firstStart);
      match(db.clusterDir, /^\/var\/lib\/purser\/[0-9a-f-]+$/);
      if (firstStart) stack.defer(() => Deno.remove(db.clusterDir, { recursive: true }));
      await using sql = connect(db.url);
      await sql`create table if not exists works (id int)`;
    }
    deepEqual(await namesIn(options.dataDir), ["postgres.location"]);
  },
});

Deno.test({
  name: "startEmbedded() works for an ordinary user",
  ignore: !AS_ROOT, // who is none runs all the other tests as one
  async fn() {
    const home = await packagesFor(NOBODY);
    const folder = join(home, "data");
    await using holder = await hold(folder, ["--allow-all"], {
      cwd: home,
      uid: NOBODY,
      gid: NOBODY,
    });
    await using sql = connect(holder.url);
    await sql`create table works (id int)`;
    for (const name of ["", "lock", "credentials.json", "pgdata"]) {
      equal((await Deno.stat(join(folder, "postgres", name))).uid, NOBODY, name);
    }
  },
});

function quick(dataDir: string, settings: Record<string, string> = {}): EmbeddedOptions {
  return { dataDir, cacheDir: join(root, "cache"), settings: { fsync: "off", ...settings } };
}

function connect(url: string): postgres.Sql & AsyncDisposable {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) });
}

async function assertKept(url: string): Promise<void> {
  await using sql = connect(url);
  deepEqual((await sql`select answer from kept`).map((row) => row.answer), [42]);
}

/** Has a process start a server whose files are to lie there, and kills it; tells whether it was inside initdb. */
async function killInside(home: string): Promise<boolean> {
  const process = await spawnHolder(dirname(home), ["--allow-all"]);
  const through = async () => (await namesIn(home)).includes("pgdata");
  await until(async () => {
    const fresh = (await namesIn(home)).find((name) => /^pgdata\.init-[^.]+$/.test(name));
    return !!fresh && (await namesIn(join(home, fresh))).includes("global") || await through();
  });
  process.kill("SIGKILL");
  await process.status;
  await process.stdout.cancel();
  return !await through();
}

type Location = Pick<Deno.CommandOptions, "cwd" | "uid" | "gid">;

/** Starts a Deno process that holds a data directory; it prints what it got. */
async function spawnHolder(
  folder: string,
  flags: string[],
  location: Location = {},
): Promise<Deno.ChildProcess> {
  const cwd = location.cwd ?? new URL("../..", import.meta.url);
  const [module, program] = location.cwd
    ? [`file://${cwd}/db/embedded/embedded.ts`, `${cwd}/program`]
    : [MODULE.href, Deno.execPath()];
  const script = `
    import { startEmbedded } from ${JSON.stringify(module)};
    const db = await startEmbedded(${JSON.stringify(quick(folder))});
    Deno.addSignalListener("SIGTERM", () => db.stop().then(() => Deno.exit()));
    console.log(JSON.stringify({ url: db.url, postmaster: db.pid }));
    setInterval(() => {}, 1000); // keeps the process alive`;
  const args = ["run", "--no-prompt", "--cached-only", "--ext=ts", ...flags, "-"];
  const process = new Deno.Command(program, {
    ...{ ...location, args, cwd },
    env: location.cwd ? { HOME: `${cwd}`, DENO_DIR: `${cwd}/deno` } : {},
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  await new Blob([script]).stream().pipeTo(process.stdin);
  return process;
}

interface Holder extends AsyncDisposable {
  pid: number;
  url: string;
  postmaster: number;
  /** Kills the process and leaves the postmaster. */
  kill(): Promise<void>;
}

async function hold(folder: string, flags: string[], location?: Location): Promise<Holder> {
  const process = await spawnHolder(folder, flags, location);
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  if (!value) throw new Error("The holder did not start; see what it printed");
  const told: { url: string; postmaster: number } = JSON.parse(value);
  let ended = false;
  async function end(signal: Deno.Signal): Promise<void> {
    if (ended) return;
    ended = true;
    process.kill(signal);
    await process.status;
    await reader.cancel();
  }
  return {
    pid: process.pid,
    ...told,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

/** Spells out the flags that the module names. */
async function permissions(): Promise<string[]> {
  const cache = join(root, "cache");
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(info.stdout));
  const [unpacked] = (await namesIn(cache)).filter((name) => !name.endsWith(".lock"));
  const programs = ["initdb", "pg_ctl", "postgres"].map((name) =>
    join(cache, unpacked, "bin", name)
  );
  return [
    `--allow-read=${[dataDir, cache, npmCache, DB.pathname, Deno.execPath()].join()}`,
    `--allow-write=${[dataDir, cache].join()}`,
    `--allow-run=${[...programs, Deno.execPath()].join()}`,
    "--allow-net=127.0.0.1",
    "--allow-sys=uid,statfs",
  ];
}

/** Lays out the module and the packages it needs where a user finds them without the network. */
async function packagesFor(uid: number): Promise<string> {
  const home = await Deno.makeTempDir({ dir: root });
  const ours = folderOf({ name: "", version: "" })!;
  const theirs = join(home, "deno/npm", ours.slice(ours.indexOf("/npm/") + "/npm/".length));
  for (const one of await packagesOf(PROGRAMS)) {
    await copy(folderOf(one)!, join(theirs, one.name, one.version));
  }
  const parts = (await namesIn(DB.pathname)).filter((name) => /^(embedded|packages)/.test(name));
  for (
    const name of [...parts.map((one) => `db/${one}`), "deno.json", "deno.lock", "progress.ts"]
  ) {
    await copy(fileURLToPath(new URL(`../${name}`, DB)), join(home, name));
  }
  // Ours may lie in the home of root, which is closed to all others.
  await copy(Deno.execPath(), join(home, "program"));
  ok((await new Deno.Command("chown", { args: ["-R", String(uid), home] }).output()).success);
  return home;
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  ok((await new Deno.Command("cp", { args: ["-rL", from, to] }).output()).success);
}
