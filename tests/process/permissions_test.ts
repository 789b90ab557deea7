import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readConfig } from "../../config.ts";
import { COMMAND_NAMES } from "../../config/usages.ts";
import { type Needs, needsMasterKey, permissionsOf } from "../../launcher/permissions.ts";
import type { Targets } from "../support/probe.ts";
import { freePort } from "../support/ports.ts";
import { taskArgs } from "../support/tasks.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PROBE = `${ROOT}tests/support/probe.ts`;

/** A data directory as the launcher leaves it. */
async function installation() {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-launcher-" });
  for (const folder of ["postgres", "programs", "records"]) {
    await Deno.mkdir(`${dataDir}/${folder}`);
  }
  for (const name of ["master_key", "postgres/credentials.json", "programs/postgres"]) {
    await Deno.writeTextFile(`${dataDir}/${name}`, "secret");
  }
  return {
    dataDir,
    [Symbol.asyncDispose]: () => Deno.remove(dataDir, { recursive: true }),
  };
}

function needsOf(command: Needs["command"], dataDir: string, port: number): Needs {
  return {
    command,
    // Receivers of webhooks are anywhere: with them a process that works may reach every host.
    config: readConfig({ DATA_DIR: dataDir, PORT: `${port}`, WEBHOOKS: "off" }, false),
    databaseUrl: "postgres://127.0.0.1:1/purser",
    migrations: `${ROOT}migrations`,
    exchangeClient: `${ROOT}workers/gateways/exchanges`,
    records: `${dataDir}/records`,
    sandbox: command === "start" ? `${dataDir}/sandbox_keys` : null,
    backups: command === "backup" ? `${dataDir}/backups` : null,
    restored: command === "restore" ? [`${dataDir}/one.age`, `${dataDir}/backup.key`] : [],
  };
}

function targetsOf(dataDir: string, port: number): Targets {
  return {
    read: [
      ...["/etc/passwd", "/proc/self/environ", `${ROOT}deno.json`, `${dataDir}/master_key`],
      `${dataDir}/postgres/credentials.json`,
    ],
    written: [
      ...[`${dataDir}/../outside`, `${dataDir}/master_key`, `${dataDir}/programs/postgres`],
      ...[`${dataDir}/postgres/x`, `${ROOT}main.ts`, `${dataDir}/records/../x`, "/tmp/x"],
      `${ROOT}migrations/x`,
    ],
    run: ["/bin/sh", "sh", Deno.execPath(), `${dataDir}/programs/postgres`],
    folder: `${dataDir}/records`,
    ports: [port],
  };
}

/** Runs the probe and gives the operations that succeeded. */
async function probe(flags: readonly string[], targets: Targets): Promise<string[]> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--cached-only", ...flags, PROBE, JSON.stringify(targets)],
    cwd: ROOT,
  }).output();
  const text = new TextDecoder().decode(stdout);
  ok(text.startsWith("["), new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

for (const command of COMMAND_NAMES) {
  Deno.test(`${command} runs no program, and reads, writes and reaches nothing but its own`, async () => {
    await using installed = await installation();
    using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = other.addr;
    const flags = permissionsOf(needsOf(command, installed.dataDir, freePort()));
    deepEqual(await probe(flags, targetsOf(installed.dataDir, port)), []);
  });
}

Deno.test("the probe finds its own rights", async () => {
  await using installed = await installation();
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = other.addr;
  const records = `${installed.dataDir}/records`;
  const flags = ["--no-prompt", "--deny-import", "--allow-run=/bin/sh", `--allow-write=${records}`]
    .concat("--allow-read=/etc/passwd", `--allow-net=127.0.0.1:${port}`);
  const targets = {
    ...targetsOf(installed.dataDir, port),
    written: [`${records}/x`, `${ROOT}main.ts`],
  };
  deepEqual(await probe(flags, targets), [
    "run /bin/sh",
    "read /etc/passwd",
    `write ${records}/x`,
    `reach ${port}`,
  ]);
});

Deno.test("the task for production runs no program and writes nothing", async () => {
  await using installed = await installation();
  const args = await taskArgs("serve");
  const flags = args.slice(3).filter((arg) => arg.startsWith("--"));
  deepEqual(args.slice(-2), ["main.ts", "start"]);
  equal(flags.some((flag) => /^--allow-(run|write|ffi|all|sys)|^-A/.test(flag)), false);
  const targets = { ...targetsOf(installed.dataDir, 1), ports: [] };
  const done = await probe(flags, targets);
  // Where the database and the nodes are is not known to a task: the network is open to it.
  deepEqual(done.filter((one) => !/^(reach metadata|resolve a name)/.test(one)), []);
});

Deno.test("the reach of a command follows from the settings", () => {
  const env = {
    DATABASE_URL: "postgres://purser@db.example/purser?sslmode=verify-full",
    DATABASE_HOSTS: "other.example:6432",
    PLATFORM_KEY: "0123456789abcdef",
    MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
    ETHEREUM_RPC_URL: "https://node.example/key,http://10.0.0.1:8545",
    RATES_URL: "https://prices.example",
    EXCHANGES: "none",
    HOST: "::1",
    WEBHOOKS: "off",
    DATA_DIR: "/data,one",
  };
  const config = readConfig(env, false);
  const flagsOf = (command: Needs["command"], more: Record<string, string> = {}) =>
    permissionsOf({
      ...needsOf(command, "/data,one", 1),
      config: readConfig({ ...env, ...more }, false),
      databaseUrl: env.DATABASE_URL,
      sandbox: null,
    });
  const works = "db.example:5432,other.example:6432,node.example:443,10.0.0.1:8545";
  const [, , , net, read, write] = flagsOf("worker");
  equal(net, `--allow-net=[::1]:8080,${works},prices.example:443`);
  equal(flagsOf("worker", { WEBHOOKS: "on" })[3], "--allow-net");
  equal(flagsOf("migrate", { WEBHOOKS: "on" })[3], flagsOf("migrate")[3]);
  match(read, /^--allow-read=.*migrations,\/data,,one\/records$/);
  equal(write, "--allow-write=/data,,one/records");
  const exchanges = { EXCHANGES: "kraken,okx", RAMP_OKX_URL: "http://127.0.0.1:7777/x" };
  const [, , , asked, code] = flagsOf("worker", exchanges);
  match(asked, /prices\.example:443,api\.kraken\.com:443,.*127\.0\.0\.1:7777$/);
  equal(/okx/.test(asked), false);
  match(code, /workers\/gateways\/exchanges,\/data/);
  equal(/gateways|kraken/.test(flagsOf("start", { ...exchanges, WORKERS: "off" }).join()), false);
  deepEqual(flagsOf("audit").slice(3), [
    "--allow-net=db.example:5432,other.example:6432",
    `--allow-read=${ROOT}migrations`,
  ]);
  deepEqual(flagsOf("start", { WORKERS: "off" }).slice(3), [
    "--allow-net=[::1]:8080,db.example:5432,other.example:6432",
    `--allow-read=${ROOT}migrations`,
  ]);
  const replica = {
    DATABASE_READ_URL: "postgres://purser@replica.example/purser?sslmode=verify-full",
  };
  match(flagsOf("start", { ...replica, WORKERS: "off" })[3], /,replica\.example:5432$/);
  for (const command of ["worker", "audit", "migrate"] as const) {
    deepEqual(flagsOf(command, replica), flagsOf(command), command);
  }
  equal(flagsOf("worker", { INSTALLATION_EPOCH: "one" }).length, 5);
  deepEqual(COMMAND_NAMES.filter((command) => needsMasterKey(command, config)), [
    ...["start", "worker", "rotate-master-key", "reconcile"],
  ]);
  const serving = readConfig({ ...env, WORKERS: "off" }, false);
  equal(needsMasterKey("start", serving), false);
});
