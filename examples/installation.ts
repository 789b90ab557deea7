/**
 * Shared by the examples: an installation that is started as `deno task start` does, in a temporary
 * folder that is removed with it, and users who are logged in to the realm that its first start made.
 *
 * Where PURSER_URL and PLATFORM_KEY are set, an example starts none: it uses the installation at that address, in a
 * realm of its own, and its node listens where that installation asks it.
 * @module
 */
import { createClient, type Purser } from "../client/client.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** A running installation. */
export interface Installation extends AsyncDisposable {
  /** Logs in to the realm that the first start made, as its administrator. */
  logIn(): Promise<{ key: string; purser: Purser }>;
  /** Logs in another user of the realm, who has a name and a password. */
  logInUser(username: string, password: string): Promise<Purser>;
}

/** Keys of a realm and its administrator, shown once. */
interface Welcome {
  address: string;
  realmKey: string;
  applicationKey: string;
  email: string;
  password: string;
}

/** Prices, say, that no worker has seen yet: the service tells when to ask again. */
const RETRIES = 10;
const ROOT = new URL("../", import.meta.url).pathname;

/** Starts the service with a few settings, such as the node's address. */
export async function startInstallation(settings: Record<string, string>): Promise<Installation> {
  const [url, key] = ["PURSER_URL", "PLATFORM_KEY"].map((name) => Deno.env.get(name));
  if (url && key) {
    return { ...logins(await makeRealm(url, key)), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const folder = await Deno.makeTempDir({ prefix: "purser-example-" });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", `${ROOT}deno.json`, `${ROOT}launcher/launch.ts`, "start"],
    env: {
      DATA_DIR: folder,
      // Settings of the surrounding shell do not reach the example.
      DATABASE_URL: "",
      PORT: `${freePort()}`,
      POLL_INTERVAL_MS: "500",
      LOG_LEVEL: "error",
      ...settings,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const said = await lineOf(child.stdout, /([\s\S]*sandbox_keys)/);
  const welcome = welcomeOf(said + await Deno.readTextFile(`${folder}/sandbox_keys`));
  return {
    ...logins(welcome),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The port at which an example's node listens: that at which a given installation asks it, or any that is free. */
export function nodePort(setting: string): number {
  const url = Deno.env.get("PURSER_URL") ? Deno.env.get(setting) : undefined;
  return url ? Number(new URL(url).port) : freePort();
}

/** Finds a free port, below those that systems hand out: no connection is given it before the program listens there. */
export function freePort(): number {
  while (true) {
    const port = 20_000 + Math.floor(Math.random() * 12_768);
    try {
      using _listener = Deno.listen({ port, hostname: "127.0.0.1" });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

function welcomeOf(text: string): Welcome {
  const find = (name: string) => new RegExp(`${name}\\s+(\\S+)`).exec(text)?.[1] ?? "";
  return {
    address: find("address"),
    realmKey: find("realm key"),
    applicationKey: find("application key"),
    email: find("administrator"),
    password: find("password"),
  };
}

/** Makes a realm for an example alone. */
async function makeRealm(url: string, platformKey: string): Promise<Welcome> {
  const admin = { email: "admin@sandbox.local", password: crypto.randomUUID() };
  const made = await createClient({ url, key: platformKey }).post("/v1/realms", {
    body: { name: "example", admin },
  });
  return { address: url, realmKey: made.realm_key, applicationKey: made["x-api-key"], ...admin };
}

function logins({ address: url, realmKey: realm_key, applicationKey, ...admin }: Welcome) {
  // The application's key does nothing but log in.
  const application = createClient({ url, key: applicationKey });
  const clientOf = (key: string) => createClient({ url, key, retries: RETRIES });
  return {
    async logIn() {
      const { "x-api-key": key } = await application.post("/v1/auth/admins/login", {
        body: { realm_key, ...admin },
      });
      return { key, purser: clientOf(key) };
    },
    async logInUser(username: string, password: string) {
      const { "x-api-key": key } = await application.post("/v1/auth/users/login", {
        body: { realm_key, username, password },
      });
      return clientOf(key);
    },
  };
}

/** Waits for a text in an output, and keeps emptying it. */
export async function lineOf(output: ReadableStream<Uint8Array>, wanted: RegExp): Promise<string> {
  const reader = output.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`ended: ${text}`);
    text += value;
    const found = wanted.exec(text);
    if (found === null) continue;
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    rest().catch(() => {}); // the process was ended
    return found[1];
  }
}

/** Reads again until the answer meets a condition. */
export async function until<T>(read: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  let answer: T | undefined;
  for (let tries = 0; tries < 480; tries++) {
    answer = await read();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`it never became what it should: ${JSON.stringify(answer)}`);
}

/** Opens an account, and waits until it is enabled: on a busy machine its preparation outlasts any wait of one request. */
export async function open(
  purser: Purser,
  body: { type: "ramp" | "virtual"; asset: string; owner?: string; ramp?: string },
) {
  const { id } = await purser.post("/v1/accounts", { header: { prefer: "wait=30" }, body });
  const read = () => purser.get("/v1/accounts/{id}", { path: { id } });
  return await until(read, ({ enabled }) => enabled);
}

/** Prints the title of the next step. */
export function say(text: string): void {
  console.log(`\n${text}`);
}

/** Prints a result. */
export function show(what: Json): void {
  console.log(`   ${JSON.stringify(what)}`);
}
