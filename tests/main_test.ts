import { deepEqual, equal, match } from "node:assert/strict";
import { freePort } from "./support/ports.ts";
import { testDatabaseUrl } from "./support/realm.ts";

const MAIN = new URL("../main.ts", import.meta.url);
const ALL = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-sys=uid",
];

/** A service started as a process of its own. */
interface Service extends AsyncDisposable {
  address: string;
  stop(signal?: Deno.Signal): Promise<{ code: number; out: string; log: string }>;
}

async function startService(
  env: Record<string, string>,
  permissions = ALL,
): Promise<Service> {
  const port = String(freePort());
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", ...permissions, MAIN.href, "start"],
    env: { PORT: port, LOG_FORMAT: "json", LOG_LEVEL: "info", ...env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const out = new Response(child.stdout).text();
  const [watched, kept] = child.stderr.tee();
  const log = new Response(kept).text();
  await untilServing(watched);
  let ended: Promise<{ code: number; out: string; log: string }> | null = null;
  const stop = (signal: Deno.Signal = "SIGTERM") =>
    ended ??= (async () => {
      child.kill(signal);
      const { code } = await child.status;
      return { code, out: await out, log: await log };
    })();
  return {
    address: `http://127.0.0.1:${port}`,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** Reads the log until the line that says the service serves; then lets the rest flow by. */
async function untilServing(log: ReadableStream<Uint8Array>): Promise<void> {
  const served = Promise.withResolvers<void>();
  let text = "";
  const reading = (async () => {
    for await (const chunk of log.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('"serving"')) served.resolve();
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

Deno.test("start with nothing configured serves a sandbox, shows its keys once, and ends well", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-main-" });
  try {
    const first = await startService({ DATA_DIR: dataDir, DATABASE_URL: "" });
    const second = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--cached-only", ...ALL, MAIN.href, "start"],
      env: { DATA_DIR: dataDir, PORT: String(freePort()) },
    }).output();
    equal(second.success, false);
    match(new TextDecoder().decode(second.stderr), /is in use by another/);
    const { code, out } = await first.stop();
    equal(code, 0);
    const read = (label: string) => new RegExp(`${label} +(\\S+)`).exec(out)![1];
    const again = await startService({ DATA_DIR: dataDir });
    const session = await post(`${again.address}/v1/auth/admins/login`, read("application key"), {
      realm_key: read("realm key"),
      email: read("administrator"),
      password: read("password"),
    });
    match(session["x-api-key"], /^eyJ/);
    const end = await again.stop("SIGINT");
    deepEqual([end.code, end.out.trim()], [0, ""]);
    for (const secret of [read("application key"), read("password"), session["x-api-key"]]) {
      equal(end.log.includes(secret), false);
    }
    for (const name of ["platform_key", "master_key"]) {
      equal((await Deno.stat(`${dataDir}/${name}`)).mode! & 0o777, 0o600);
    }
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("start refuses a database without its keys and names all that is missing or wrong", async () => {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", ...ALL, MAIN.href, "start"],
    env: {
      DATABASE_URL: testDatabaseUrl(),
      ETHERUM_RPC_URL: "http://127.0.0.1:1",
      PORT: "eighty",
      ASSETS: "{",
    },
  }).output();
  equal(success, false);
  const said = new TextDecoder().decode(stderr);
  for (const name of ["PLATFORM_KEY", "MASTER_KEY", "ETHERUM_RPC_URL", "PORT", "ASSETS"]) {
    match(said, new RegExp(`- ${name} `));
  }
});

Deno.test("every command ends at once, before anything is opened, where ASSETS do not fit", async () => {
  const ASSETS = JSON.stringify({ NOPE: { state: "active" }, ETH: { contract: "0x1" } });
  for (const command of ["start", "worker", "audit"]) {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--cached-only", ...ALL, MAIN.href, command],
      env: { ASSETS, DATA_DIR: "/nowhere" },
    }).output();
    const said = new TextDecoder().decode(stderr);
    equal(success, false, said);
    match(said, /2 fault\(s\):\n- ASSETS: NOPE is not the code .*\n- ASSETS: ETH is a chain's own/);
  }
});

Deno.test("the serving half runs without keys and reaches its listener and PostgreSQL alone", async () => {
  const url = testDatabaseUrl();
  const platformKey = "an-operator-of-this-test";
  const database = new URL(url).host;
  await using service = await startService({
    DATABASE_URL: url,
    PLATFORM_KEY: platformKey,
    WORKERS: "off",
  }, [
    `--allow-net=${database},127.0.0.1`,
    "--allow-read",
    "--allow-env",
    "--no-prompt",
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
