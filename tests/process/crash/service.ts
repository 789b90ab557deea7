/**
 * The service as a process of its own, which can be killed and comes back on the same port, and a
 * realm in it made over HTTP.
 *
 * @module
 */
import { freePort } from "../../support/ports.ts";

/** A running service that takes requests. */
export interface Serving {
  url: string;
  /** Settled while it can be asked. */
  up(): Promise<void>;
}

/** A service that is killed and comes back. */
export interface Service extends Serving, AsyncDisposable {
  /** Ends it with SIGKILL, or as asked, and starts another one in its place. */
  kill(signal?: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** Stops it, as a machine that is paused; and lets it go on. */
  pause(): void;
  resume(): void;
  /** Resident memory in bytes. */
  memory(): Promise<number>;
  /** The errors that it logged last. */
  errors(): string[];
}

/** A realm made over HTTP. */
export interface CrashRealm {
  /** Administrator's key. */
  key: string;
  schema: string;
  /** Accounts of one currency; the first begins with everything. */
  accounts: string[];
}

const MAIN = new URL("../../../main.ts", import.meta.url);
/** The operator's key. */
export const PLATFORM_KEY = "platform-key-of-the-crash-test";
const PASSWORD = "correct horse battery";
const PERMISSIONS = ["net", "read", "write", "env", "run", "sys=uid"].map((one) =>
  `--allow-${one}`
);

const LINES_KEPT = 50;

/**
 * Starts the service on a database, with further settings, which are read anew whenever it comes back.
 *
 * @param onLine is told of each line of its log
 * @param permissions flags of the runtime
 */
export async function startService(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
  onLine: (line: string) => void = () => {},
  permissions: readonly string[] = PERMISSIONS,
): Promise<Service> {
  const port = freePort();
  const dataDir = await Deno.makeTempDir({ prefix: "purser-service-" });
  const url = `http://127.0.0.1:${port}`;
  let ending = false;
  let serving = Promise.resolve();
  const errors: string[] = [];
  const start = async () => {
    const started = spawn({ port, databaseUrl, dataDir, settings, permissions });
    await untilServing(started, errors, onLine);
    const ended = (cause: unknown) => {
      if (ending) return;
      serving = Promise.reject(new Error("the service ended by itself", { cause }));
      serving.catch(() => {}); // the readiness check reports it
    };
    started.status.then(ended, ended);
    return started;
  };
  let child = await start();
  return {
    url,
    up: () => serving,
    errors: () => errors,
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    async kill(signal = "SIGKILL") {
      const back = Promise.withResolvers<void>();
      serving = back.promise; // from this moment on nobody asks the one that is being killed
      ending = true;
      child.kill(signal);
      await child.status;
      ending = false;
      child = await start();
      back.resolve();
    },
    async memory() {
      const status = await Deno.readTextFile(`/proc/${child.pid}/status`);
      return 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)![1]);
    },
    async [Symbol.asyncDispose]() {
      ending = true;
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

function spawn(how: {
  port: number;
  databaseUrl: string;
  dataDir: string;
  settings: Readonly<Record<string, string>>;
  permissions: readonly string[];
}): Deno.ChildProcess {
  const { port, databaseUrl, dataDir, settings, permissions } = how;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", ...permissions, MAIN.href, "start"],
    env: {
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      DATA_DIR: dataDir,
      BASE_URL: "http://purser.example", // one installation, whatever the port
      PLATFORM_KEY,
      MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
      LOG_FORMAT: "json",
      LOG_LEVEL: "info",
      ...settings,
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

/** Reads the log until the service is ready; then collects its errors. */
async function untilServing(
  child: Deno.ChildProcess,
  errors: string[],
  onLine: (line: string) => void,
): Promise<void> {
  const serving = Promise.withResolvers<void>();
  const reading = (async () => {
    const said: string[] = [];
    let rest = "";
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        onLine(line);
        if (said.length < LINES_KEPT) said.push(line);
        if (line.includes('"serving"')) serving.resolve();
        if (line.includes('"error"')) errors.splice(0, errors.push(line) - LINES_KEPT);
      }
    }
    serving.reject(new Error(`the service ended: ${said.join("\n")}${rest}`));
  })();
  reading.catch(serving.reject);
  await serving.promise;
}

/** Makes a realm with a currency and accounts of it, over HTTP. */
export async function makeRealm(
  service: Service,
  accounts: number,
  databaseUrl?: string,
): Promise<CrashRealm> {
  const email = "admin@crash.example";
  const realm = await ask(service, PLATFORM_KEY, "/v1/realms", {
    name: "crash",
    admin: { email, password: PASSWORD },
    ...(databaseUrl === undefined ? {} : { database_url: databaseUrl }),
  });
  const login = await ask(service, realm["x-api-key"], "/v1/auth/admins/login", {
    email,
    password: PASSWORD,
    realm_key: realm.realm_key,
  });
  const key = login["x-api-key"];
  const made = await ask(service, key, "/v1/currencies", { name: "CRASH", supply: "1000000" });
  const ids = [made.account];
  while (ids.length < accounts) {
    const wanted = { type: "virtual", asset: "CRASH" };
    ids.push((await ask(service, key, "/v1/accounts", wanted, { prefer: "wait=30" })).id);
  }
  return { key, schema: realm.id, accounts: ids };
}

async function ask(
  service: Service,
  key: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
