import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { asSuperuser, testDatabase, testDatabaseUrl } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { taskArgs } from "../support/tasks.ts";

const MAIN = new URL("../../main.ts", import.meta.url);
const ALL = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];

const KEYS = {
  PLATFORM_KEY, // databases that tests share take one
  MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
};

/** A service started as a process of its own. */
interface Service extends AsyncDisposable {
  pid: number;
  address: string;
  stop(signal?: Deno.Signal): Promise<{ code: number; out: string; log: string }>;
}

async function startService(
  env: Record<string, string>,
  args: readonly string[],
  ready = "serving",
): Promise<Service> {
  const port = String(freePort());
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    env: { PORT: port, LOG_FORMAT: "json", LOG_LEVEL: "info", ...env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const out = new Response(child.stdout).text();
  const [watched, kept] = child.stderr.tee();
  const log = new Response(kept).text();
  await untilReady(watched, ready);
  let ended: Promise<{ code: number; out: string; log: string }> | null = null;
  const stop = (signal: Deno.Signal = "SIGTERM") =>
    ended ??= (async () => {
      child.kill(signal);
      const { code } = await child.status;
      return { code, out: await out, log: await log };
    })();
  return {
    pid: child.pid,
    address: `http://127.0.0.1:${port}`,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** Reads the log until the line that says the service is ready; then lets the rest flow by. */
async function untilReady(log: ReadableStream<Uint8Array>, ready: string): Promise<void> {
  const served = Promise.withResolvers<void>();
  let text = "";
  const reading = (async () => {
    for await (const chunk of log.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes(`"${ready}"`)) served.resolve();
    }
    served.reject(new Error(`the service ended: ${text}`));
  })();
  reading.catch(served.reject);
  await served.promise;
}

async function post(url: string, key: string, body: unknown): Promise<Record<string, string>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return await answer.json();
}

type OnInstallation = (dataDir: string) => Promise<void>;
const inTurn: [title: string, work: OnInstallation][] = [];

/** Adds a test of one installation, which they start in turn: to make one takes three seconds of a processor. */
function test(title: string, work: OnInstallation): void {
  inTurn.push([title, work]);
}

Deno.test("an installation whose launcher brings its PostgreSQL", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-main-" });
  try {
    for (const [title, work] of inTurn) await t.step(title, () => work(dataDir));
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

test("start with nothing configured serves a sandbox, keeps its keys to the owner, and ends well", async (dataDir) => {
  const start = await taskArgs("start");
  const first = await startService({ DATA_DIR: dataDir, DATABASE_URL: "" }, start);
  const second = await new Deno.Command(Deno.execPath(), {
    args: start,
    env: { DATA_DIR: dataDir, PORT: String(freePort()) },
  }).output();
  equal(second.success, false);
  match(new TextDecoder().decode(second.stderr), /is in use by another/);
  const { code, out } = await first.stop();
  equal(code, 0);
  match(out, new RegExp(`keys of the realm "sandbox" are in \\S*/sandbox_keys`));
  match(out, /The platform key is in \S*\/platform_key/);
  const keys = await Deno.readTextFile(`${dataDir}/sandbox_keys`);
  const read = (label: string) => new RegExp(`${label} +(\\S+)`).exec(keys)![1];
  const again = await startService({ DATA_DIR: dataDir }, start);
  const session = await post(`${again.address}/v1/auth/admins/login`, read("application key"), {
    realm_key: read("realm key"),
    email: read("administrator"),
    password: read("password"),
  });
  match(session["x-api-key"], /^eyJ/);
  const end = await again.stop("SIGINT");
  deepEqual([end.code, end.out.trim()], [0, ""]);
  for (const secret of [read("application key"), read("password"), session["x-api-key"]]) {
    equal(`${out}${end.log}`.includes(secret), false);
  }
  for (const name of ["platform_key", "master_key", "sandbox_keys"]) {
    equal((await Deno.stat(`${dataDir}/${name}`)).mode! & 0o777, 0o600);
  }
});

test("a service whose launcher was killed ends with it, and the next start finds all in place", async (dataDir) => {
  const start = await taskArgs("start");
  const first = await startService({ DATA_DIR: dataDir }, start);
  await first.stop("SIGKILL"); // its pipes end with the service that it started
  await rejects(fetch(`${first.address}/health/live`));
  const again = await startService({ DATA_DIR: dataDir }, start);
  const alive = await fetch(`${again.address}/health/live`);
  await alive.body?.cancel();
  equal(alive.status, 200);
  equal((await again.stop()).code, 0);
});

test("the service that the launcher starts may run nothing and gets its own settings alone", async (dataDir) => {
  if (Deno.build.os !== "linux") return; // its flags and environment are read from /proc
  const env = { DATA_DIR: dataDir, WORKERS: "off", CLOUD_SECRET_ACCESS_KEY: "of-the-shell" };
  const token = { DENO_AUTH_TOKENS: "of-the-shell@registry.example" };
  await using service = await startService({ ...env, ...token }, await taskArgs("start"));
  const [child] = await servicesOf(service.pid);
  const read = async (name: string) => (await procFile(`${child}/${name}`)).split("\0");
  const flags = (await read("cmdline")).filter((arg) => /^--(allow|deny)|^-A/.test(arg));
  const names = flags.map((flag) => flag.split("=")[0]);
  const sandbox = `${await Deno.realPath(dataDir)}/sandbox_keys`;
  deepEqual(names, [
    ...["--deny-import", "--allow-env", "--allow-net", "--allow-read", "--allow-write"],
  ]);
  equal(flags[4], `--allow-write=${sandbox}`);
  const told = (await read("environ")).map((line) => line.split("=")[0]);
  for (const name of ["CLOUD_SECRET_ACCESS_KEY", "DENO_AUTH_TOKENS", "MASTER_KEY", "PATH"]) {
    equal(told.includes(name), false, name);
  }
  equal(told.includes("PLATFORM_KEY"), true);
});

test("the own master key is changed by one command, and the next start opens with it", async (dataDir) => {
  const env = { DATA_DIR: dataDir, PORT: "0" };
  const before = await Deno.readTextFile(`${dataDir}/master_key`);
  const rotated = await new Deno.Command(Deno.execPath(), {
    args: await taskArgs("rotate-master-key"),
    env,
  }).output();
  const said = new TextDecoder().decode(rotated.stdout);
  equal(rotated.success, true, new TextDecoder().decode(rotated.stderr));
  match(said, /secrets are under the new master key\.\nIt is in place\./);
  notEqual(await Deno.readTextFile(`${dataDir}/master_key`), before);
  await rejects(Deno.stat(`${dataDir}/master_key.next`), Deno.errors.NotFound);
  const again = await startService({ DATA_DIR: dataDir }, await taskArgs("worker"), "working");
  equal((await again.stop()).code, 0);
});

Deno.test("a platform key that was set is in no file, and none is named", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-main-" });
  try {
    const service = await startService(
      { DATA_DIR: dataDir, PLATFORM_KEY },
      await taskArgs("start"),
    );
    const { out } = await service.stop();
    match(out, /sandbox_keys/);
    equal(out.includes("platform key"), false);
    await rejects(Deno.stat(`${dataDir}/platform_key`), Deno.errors.NotFound);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** Reads a file of /proc, which Deno itself leaves to those who may do everything. */
async function procFile(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${path}`] }).output();
  return new TextDecoder().decode(stdout);
}

/** Finds the processes of main.ts among those that a process has started. */
async function servicesOf(pid: number): Promise<string[]> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `cat /proc/${pid}/task/*/children`],
  }).output();
  const found: string[] = [];
  for (const [child] of new TextDecoder().decode(stdout).matchAll(/\d+/g)) {
    if ((await procFile(`${child}/cmdline`)).includes("main.ts")) found.push(child);
  }
  return found;
}

Deno.test("start refuses a database without its keys and names all that is missing or wrong", async () => {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", ...ALL, MAIN.href, "start"],
    env: {
      DATABASE_URL: testDatabaseUrl(),
      ETHERUM_RPC_URL: "http://127.0.0.1:1",
      PORT: "eighty",
      ASSETS: JSON.stringify({ NOPE: { state: "active" }, USDC: { contract: "0x1" } }),
      TRUSTED_PROXIES: "nowhere",
    },
  }).output();
  equal(success, false);
  const said = new TextDecoder().decode(stderr);
  for (
    const fault of [
      ...["PLATFORM_KEY ", "MASTER_KEY ", "ETHERUM_RPC_URL ", "PORT ", "TRUSTED_PROXIES: "],
      ...["ASSETS: NOPE is", "ASSETS: USDC.contract is"],
    ]
  ) match(said, new RegExp(`- ${fault}`));
});

Deno.test("every command ends at once, before anything is opened, where ASSETS do not fit", async () => {
  const ASSETS = JSON.stringify({ NOPE: { state: "active" }, ETH: { contract: "0x1" } });
  for (const command of ["start", "worker", "audit"]) {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--cached-only", ...ALL, MAIN.href, command],
      env: { ASSETS, DATABASE_URL: "postgres://127.0.0.1:1/nowhere", ...KEYS },
    }).output();
    const said = new TextDecoder().decode(stderr);
    equal(success, false, said);
    match(said, /2 fault\(s\):\n- ASSETS: NOPE is not the code .*\n- ASSETS: ETH is a chain's own/);
  }
});

Deno.test("a realm's own database is refused where its server is out of reach, or in plain text", async () => {
  await using own = await testDatabase(); // what was begun stays in it
  const { url } = own;
  await using service = await startService({ DATABASE_URL: url, PLATFORM_KEY, WORKERS: "off" }, [
    ...["run", "--cached-only", "--no-prompt", "--allow-read", "--allow-env"],
    ...[`--allow-net=${new URL(url).host},127.0.0.1`, MAIN.href, "start"],
  ]);
  for (
    const [address, expected] of [
      ["postgres://u:secret@10.255.0.1:5432/x?sslmode=disable", /is not among those/],
      ["postgres://u:secret@db.example:5432/x?sslmode=verify-full", /is not among those/],
      ["postgres://u:secret@db.example:5432/x", /another machine is named and no sslmode/],
    ] as const
  ) {
    const answer = await fetch(`${service.address}/v1/realms`, {
      method: "POST",
      headers: { "x-api-key": PLATFORM_KEY, "content-type": "application/json" },
      body: JSON.stringify({
        name: "elsewhere",
        admin: { email: "a@b.example", password: "long enough" },
        database_url: address,
      }),
    });
    const { errors: [{ path, message }] } = await answer.json();
    deepEqual([answer.status, path], [400, "/database_url"], address);
    match(message, expected);
    equal(message.includes("secret"), false);
  }
});

Deno.test("a realm whose own server is out of reach answers 503, and the others go on", async () => {
  await using own = await testDatabase();
  await using elsewhere = await testDatabase();
  const { host, port } = new URL(own.url);
  const there = elsewhere.url.replace(host, `localhost:${port}`); // another name of the server
  const env = { DATABASE_URL: own.url, PLATFORM_KEY: KEYS.PLATFORM_KEY, WORKERS: "off" };
  const flags = (reach: string) => [
    ...["run", "--cached-only", "--no-prompt", "--allow-read", "--allow-env"],
    ...[`--allow-net=127.0.0.1${reach}`, MAIN.href, "start"],
  ];
  const admin = { email: "a@b.example", password: "long enough" };
  const realms: Record<string, string>[] = [];
  {
    await using wide = await startService(env, flags(`,localhost:${port}`));
    for (const place of [{}, { database_url: there }]) {
      const asked = { name: "one of two", admin, ...place };
      realms.push(await post(`${wide.address}/v1/realms`, env.PLATFORM_KEY, asked));
    }
  }
  await using narrow = await startService(env, flags(""));
  const statuses: number[] = [];
  for (const realm of realms) {
    const answer = await fetch(`${narrow.address}/v1/auth/admins/login`, {
      method: "POST",
      headers: { "x-api-key": realm["x-api-key"], "content-type": "application/json" },
      body: JSON.stringify({ realm_key: realm.realm_key, ...admin }),
    });
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  deepEqual(statuses, [200, 503]);
});

Deno.test("the task for production names the right that its workers lack, and serves without them", async () => {
  await using own = await testDatabase();
  const env = { DATABASE_URL: own.url, ...KEYS };
  const args = await taskArgs("serve");
  const refused = await new Deno.Command(Deno.execPath(), {
    args,
    env: { ...env, PORT: String(freePort()) },
  }).output();
  equal(refused.success, false);
  match(
    new TextDecoder().decode(refused.stderr),
    /- workers need the right to read DATA_DIR \(.data\), or INSTALLATION_EPOCH; WORKERS=off/,
  );
  for (const [name, value] of [["WORKERS", "off"], ["INSTALLATION_EPOCH", "one"]]) {
    await using service = await startService({ ...env, [name]: value }, args);
    equal((await service.stop()).code, 0);
  }
});

Deno.test("the serving half runs without keys and reaches its listener and PostgreSQL alone", async () => {
  const url = testDatabaseUrl();
  const platformKey = PLATFORM_KEY;
  const database = new URL(url).host;
  await using service = await startService({
    DATABASE_URL: url,
    PLATFORM_KEY: platformKey,
    WORKERS: "off",
  }, [
    ...["run", "--cached-only", "--no-prompt", `--allow-net=${database},127.0.0.1`],
    ...["--allow-read", "--allow-env", MAIN.href, "start"],
  ]);
  const realm = await post(`${service.address}/v1/realms`, platformKey, {
    name: "served",
    admin: { email: "a@b.example", password: "long enough" },
  });
  const session = await post(`${service.address}/v1/auth/admins/login`, realm["x-api-key"], {
    realm_key: realm.realm_key,
    email: "a@b.example",
    password: "long enough",
  });
  match(session["x-api-key"], /^eyJ/);
  const { code } = await service.stop();
  equal(code, 0);
});

Deno.test("a login that may make no role is refused with the reason, and serves where realms have none", async () => {
  const name = `bare_${crypto.randomUUID().replaceAll("-", "")}`;
  await asSuperuser(`create role ${name} login password '${name}'`);
  await asSuperuser(`create database ${name} owner ${name}`);
  const url = Object.assign(new URL(testDatabaseUrl()), { username: name, password: name });
  url.pathname = name;
  const env = { DATABASE_URL: url.href, WORKERS: "off", ...KEYS };
  const args = ["run", "--cached-only", ...ALL, MAIN.href, "start"];
  try {
    for (const REALM_LOGINS of ["on", "off"]) {
      const refused = await new Deno.Command(Deno.execPath(), {
        args,
        env: { ...env, REALM_LOGINS, PORT: String(freePort()) },
      }).output();
      const said = new TextDecoder().decode(refused.stderr);
      equal(refused.success, false, said);
      match(said, /needs CREATEROLE, or REALM_ROLES=off/);
      equal(/PostgresError|connection\.js/.test(said), false, said);
    }
    const service = await startService({ ...env, REALM_ROLES: "off" }, args);
    equal((await service.stop()).code, 0);
  } finally {
    await asSuperuser(`drop database ${name} with (force)`);
    await asSuperuser(`drop role ${name}`);
  }
});
