/**
 * The wiring, and nothing else: what each command starts, in which order, and how it ends.
 * @module
 */
import { parseArgs } from "node:util";
import { type Config, ConfigError, readConfig, takeEnvironment } from "./config.ts";
import { type Database, openDatabase } from "./db/database.ts";
import { outliveRejections } from "./db/lost_connections.ts";
import { type Migrations, readMigrations } from "./db/migrate.ts";
import type { Actor } from "./domain/actor.ts";
import { applyAssets } from "./domain/chains/asset_settings.ts";
import { checkRealms, readWish, sayAudit } from "./domain/audit/ledger_check.ts";
import { runCommand } from "./domain/command.ts";
import { prepareRealm, type ProvisioningOptions } from "./domain/realms/provisioning.ts";
import { DomainError } from "./domain/errors.ts";
import { newId } from "./domain/ids.ts";
import { parseNetwork } from "./domain/ip_addresses.ts";
import { openSigningKeys } from "./domain/security/signing_keys.ts";
import { parseStoredJson } from "./domain/json.ts";
import { assertEncoding, migrateAll, restateAll } from "./domain/realms/migrations.ts";
import { hashPassword } from "./domain/security/passwords.ts";
import { claimPlatformKey, refuseOtherKey } from "./domain/security/platform_key.ts";
import { reencryptAll } from "./domain/realms/platform_key_rotation.ts";
import { openRealmContexts } from "./domain/realms/context.ts";
import { assertMakesRoles, serveWithLess } from "./domain/security/platform_login.ts";
import { countAllRealms, createRealm, NewRealm, viewCreatedRealm } from "./domain/realms/realms.ts";
import { loginsUnder, openSecrets } from "./domain/security/serving_secrets.ts";
import { createLog, type Log } from "./log.ts";
import { endServer, endWithLauncher, limitTime, listenForEnd } from "./process/ending.ts";
import { realmAsked } from "./process/realm_arguments.ts";
import { createApp } from "./routes/http/app.ts";
import { openEnding } from "./routes/http/shutdown.ts";
import { openLimits } from "./routes/http/rate_limits.ts";
import { check } from "./routes/http/validation.ts";
import type { Services } from "./routes/http/services.ts";
import type { Runner } from "./workers/jobs/runner.ts";
import {
  askOnTerminal,
  RECONCILE_USAGE,
  reconcileAll,
} from "./workers/recovery/reconcile_command.ts";
import { rotateMasterKey } from "./workers/installation/master_key_rotation.ts";
import { startWorkers } from "./workers/schedule/start.ts";

/** What every command begins with. */
interface Base {
  config: Config;
  log: Log;
  platformKey: string;
  /** Opens what is encrypted at rest; null in a process that only serves. */
  masterKey: string | null;
  database: Database;
  migrations: Migrations;
  /** What building a realm takes. */
  provisioning: ProvisioningOptions;
  /** Ends what was begun, last first. */
  close(): Promise<void>;
}

/** The process could not be set up: what stands in the way is for whoever started it. */
class StartError extends Error {
  override readonly name = "StartError";
}

function failed(cause: Error): never {
  throw new StartError(cause.message, { cause });
}

type Command = (base: Base, ending: Promise<string>, args: readonly string[]) => Promise<void>;

const COMMANDS: Readonly<Record<string, Command>> = {
  start,
  worker: work,
  migrate: async (base, _ending, args) => { // every command migrates first
    const { database, migrations, log } = base;
    const flags = args.filter((arg) => arg !== "--new-logins");
    if (flags.length > 0) throw new ConfigError([`usage: migrate [--new-logins], not ${flags}`]);
    const newLogins = args.includes("--new-logins");
    const left = await restateAll(database, migrations, log, { every: true, newLogins });
    if (left.length > 0) throw new StartError(`without rights: ${left}`);
    if (newLogins) await lessen(base, true);
  },
  realm: (base, _ending, args) => realm(base, args),
  "rotate-master-key": rotate,
  "rotate-platform-key": async ({ database, provisioning }) =>
    console.log(
      `${await reencryptAll(database, provisioning.secrets)} texts are under PLATFORM_KEY.`,
    ),
  reconcile: (base, _ending, args) => reconcile(base, args),
  audit,
};

/** What the launcher tells a service that it starts; nobody else does. */
const START_FLAGS = {
  supervised: { type: "boolean" },
  sandbox: { type: "string" },
  "platform-key-file": { type: "string" },
} as const;
if (import.meta.main) await main(Deno.args);

/** Runs the command that the arguments name. */
export async function main(args: readonly string[]): Promise<void> {
  const [name = "start", ...rest] = args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null;
  const supervised = rest.includes("--supervised");
  try {
    if (command === null) {
      throw new ConfigError([`there is no command ${name}: ${Object.keys(COMMANDS).join(", ")}`]);
    }
    outliveRejections((message, error) => console.error(`${message}: ${error}`));
    if (supervised) endWithLauncher();
    const ending = listenForEnd();
    const base = await begin().catch(failed);
    try {
      const anew = name === "migrate" && rest.includes("--new-logins");
      const left = await prepare(base, anew);
      if (left.length > 0 && name === "migrate") throw new StartError(`not migrated: ${left}`);
      if (name === "start" || name === "worker") await lessen(base);
      await command(base, ending.signalled, rest);
    } finally {
      ending.forget();
      await base.close();
    }
  } catch (error) {
    const known = error instanceof ConfigError || error instanceof DomainError ||
      error instanceof StartError || error instanceof Deno.errors.AddrInUse;
    console.error(known ? error.message : error);
    Deno.exitCode = 1;
  }
  // The launcher's pipe, or a connection whose other end does not read, would keep this process.
  if (supervised || name === "start" || name === "worker") Deno.exit();
}

/**
 * Brings the database up to date; gives the realms that could not be. A process with another platform key changes nothing.
 *
 * @param anew whether the key that counts was lost, and this one counts from now on
 */
async function prepare(
  { database, migrations, log, provisioning }: Base,
  anew: boolean,
): Promise<string[]> {
  const { builder } = database;
  await assertEncoding(database).catch(failed);
  if (!anew) await refuseOtherKey(builder, provisioning.secrets).catch(failed);
  const claim = () => claimPlatformKey(builder, provisioning.secrets, anew).catch(failed);
  return await migrateAll(database, migrations, log, claim);
}

/** Gives up the rights of DATABASE_URL where the platform's role can log in; they must suffice where it cannot. */
async function lessen({ database, config, log }: Base, anew = false): Promise<void> {
  // Behind a pooler, and where there are no roles or none log in, the login of the address is the only one.
  const { realmRoles, realmLogins, databasePrepare } = config;
  if (!realmRoles) return;
  if (!realmLogins || !databasePrepare) return await assertMakesRoles(database).catch(failed);
  if (await serveWithLess(database, anew).catch(failed)) return;
  log("warn", "the platform is served with all rights: its login was sealed under another key");
}

/** Serves the API and, unless they are off, runs the workers. */
async function start(base: Base, ending: Promise<string>, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: START_FLAGS });
  if (base.config.workers) await assertRecord(base.config);
  const { config, log, database, migrations } = base;
  const now = Date.now;
  let runner: Runner | null = null;
  const services: Services = {
    config,
    log,
    platform: database.platform,
    migrations,
    provisioning: base.provisioning,
    realms: openRealmContexts(database, now),
    signingKeys: openSigningKeys({
      platform: database.platform,
      userKeyTtlS: config.userKeyTtlS,
      now,
    }),
    secrets: base.provisioning.secrets,
    limits: openLimits({ platform: database.platform, log, now }),
    ending: openEnding(),
    wake: (id) => runner?.wake(id),
    now,
  };
  const app = createApp(services, base.platformKey);
  const server = Deno.serve(
    { port: config.port, hostname: config.host, onListen: () => {} },
    (request, info) => app(request, (info.remoteAddr as Deno.NetAddr).hostname),
  );
  if (config.workers) runner = await workersOf(base);
  log("info", "serving", { address: config.baseUrl, workers: config.workers });
  if (values.sandbox) await welcome(base, values.sandbox, values["platform-key-file"] ?? null);
  limitTime(log, await ending);
  services.ending.begin();
  await endServer(server, log);
  await services.limits.close();
  await runner?.stop();
}

/** Runs the workers alone. */
async function work(base: Base, ending: Promise<string>): Promise<void> {
  await assertRecord(base.config);
  const { port, host } = base.config;
  const server = Deno.serve({ port, hostname: host, onListen: () => {} }, (request) => {
    // Not by URL, which throws at hosts that are none.
    const live = /^[a-z]+:\/\/[^/]*\/health\/live(\?|$)/i.test(request.url);
    return Response.json({ status: live ? "ok" : "not found" }, { status: live ? 200 : 404 });
  });
  const runner = await workersOf(base);
  base.log("info", "working");
  limitTime(base.log, await ending);
  await endServer(server, base.log);
  await runner.stop();
}

/** Creates a realm from the command line, given as JSON or as flags. */
async function realm(base: Base, args: readonly string[]): Promise<void> {
  const made = await makeRealm(base, check(NewRealm, realmAsked(args), "request.invalid"));
  console.log(JSON.stringify(made, null, 2));
}

/** Works out anew what ledgers store twice; fails where something does not agree. */
async function audit(base: Base, _ending: Promise<string>, args: readonly string[]): Promise<void> {
  await checkRealms(base.database, (found) => {
    for (const line of sayAudit(found)) console.log(line);
    if (found.mismatches.length > 0) Deno.exitCode = 1;
  }, readWish(args));
}

/** Workers keep the record of their host in a file, unless the epoch is named. */
async function assertRecord({ dataDir, installationEpoch }: Config): Promise<void> {
  if (installationEpoch !== null) return;
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path: dataDir });
    if (state === "granted") continue;
    throw new ConfigError([
      `workers need the right to ${name} DATA_DIR (${dataDir}), or INSTALLATION_EPOCH; WORKERS=off needs neither`,
    ]);
  }
}

async function workersOf(base: Base): Promise<Runner> {
  const { config, database, migrations, log, masterKey } = base;
  const edge = Deno.env.get("DENO_DEPLOYMENT_ID") !== undefined;
  return await startWorkers({ config, database, migrations, log, masterKey: masterKey!, edge });
}

/** Reads the configuration and opens the database. */
async function begin(): Promise<Base> {
  const config = readConfig(await takeEnvironment(), Deno.stderr.isTerminal());
  const faults = [
    ...(await applyAssets(config.assets)).map((fault) => `ASSETS: ${fault}`),
    ...config.trustedProxies.filter((text) => parseNetwork(text) === null).map((text) =>
      `TRUSTED_PROXIES: ${JSON.stringify(text)} is not a network such as 10.0.0.0/8`
    ),
  ];
  if (config.databaseUrl === null) {
    faults.push("DATABASE_URL is missing; `deno task start` brings a PostgreSQL of its own");
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const closers: (() => Promise<void>)[] = [];
  const { databaseUrl: url, platformKey, masterKey } = config;
  const secrets = openSecrets(platformKey!, config.previousPlatformKey);
  const migrations = await readMigrations();
  const database = openDatabase({
    url: url!,
    schemaVersion: migrations.realm.length,
    prepare: config.databasePrepare,
    connectionsMax: config.databaseConnections,
    parseJson: parseStoredJson,
    unseal: (encryptedUrl, id) => secrets.decrypt("database_url", id, encryptedUrl),
    logins: config.realmLogins ? loginsUnder(secrets) : undefined,
  });
  closers.push(database.close);
  if (!config.realmRoles) {
    log("warn", "realms have no roles of their own: they are kept apart by schema alone");
  }
  return {
    config,
    log,
    platformKey: platformKey!,
    masterKey,
    database,
    migrations,
    provisioning: { database, migrations, roles: config.realmRoles, secrets },
    close: async () => {
      for (const close of closers.reverse()) await close();
    },
  };
}

/** Changes the master key to `NEW_MASTER_KEY`. */
async function rotate(base: Base, _ending: Promise<string>, args: readonly string[]) {
  const { config, database, log, masterKey: from } = base;
  if (from === null || config.newMasterKey === null) {
    throw new ConfigError([
      "MASTER_KEY and NEW_MASTER_KEY are needed: the key in use and the next",
    ]);
  }
  const count = await rotateMasterKey({ database, log, from, to: config.newMasterKey });
  // The launcher puts a key that it made in its place by itself.
  const next = args.includes("--own-key-file")
    ? ""
    : " Set MASTER_KEY to NEW_MASTER_KEY and start again.";
  console.log(`${count} secrets are under the new master key.${next}`);
}

/** Takes in what the chains show and the database has lost; fails while anything is left open. */
async function reconcile(base: Base, args: readonly string[]): Promise<void> {
  const { config, database, log, masterKey } = base;
  if (masterKey === null) throw new ConfigError(["MASTER_KEY is needed"]);
  const print = (text: string) => console.error(text);
  const ask = Deno.stdin.isTerminal() ? askOnTerminal : null;
  const site = { config, database, log, masterKey, print, ask };
  const { done, ...report } = await reconcileAll(site, args).catch((error) => {
    throw error instanceof TypeError ? new ConfigError([error.message, RECONCILE_USAGE]) : error;
  });
  console.log(JSON.stringify(report, null, 2));
  if (!done) Deno.exitCode = 2;
}

/** On the very first start, makes the realm `sandbox` and shows its keys, once. */
async function welcome(base: Base, file: string, platformKeyFile: string | null): Promise<void> {
  if (await countAllRealms(base.database.platform) > 0) return;
  const password = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(15))));
  const admin = { email: "admin@sandbox.local", password };
  const made = await makeRealm(
    base,
    check(NewRealm, { name: "sandbox", admin }, "request.invalid"),
  );
  const keys = `
  realm key            ${made.realm_key}
  application key      ${made["x-api-key"]}
  administrator        ${admin.email}
  password             ${password}
`;
  // What is no terminal may be kept for years: a journal, the log of a build.
  const terminal = Deno.stdout.isTerminal();
  if (!terminal) await writeKeys(file, keys);
  console.log(`
Purser is ready.

  address              ${base.config.baseUrl}
  reference            ${base.config.baseUrl}/docs${terminal ? keys : "\n"}
The keys of the realm "sandbox" ${terminal ? "are shown this once" : `are in ${file}`}.${
    platformKeyFile === null ? "" : `\nThe platform key is in ${platformKeyFile}.`
  }
`);
}

/** Writes a file that its owner alone can read, in the place of one that an older database left. */
async function writeKeys(file: string, text: string): Promise<void> {
  await Deno.remove(file).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.writeTextFile(file, text, { createNew: true, mode: 0o600 });
}

async function makeRealm(base: Base, input: NewRealm): Promise<Record<string, unknown>> {
  const at = Date.now();
  const actor: Actor = {
    user: "",
    kind: "operator",
    realm: { id: "", country: input.country, accountingCurrency: input.accounting_currency },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId: newId(at),
    address: null,
  };
  const verifier = await hashPassword(input.admin.password);
  const prepared = await prepareRealm(base.provisioning, actor, input, verifier);
  const answer = await runCommand(
    base.database.builder,
    actor,
    async (tx) => viewCreatedRealm(await createRealm(tx, actor, input, prepared)),
    {
      action: "realm create",
      idempotency: null,
      print(result) {
        if ("refused" in result) throw result.refused;
        return { status: 201, body: JSON.stringify(result.view) };
      },
    },
  );
  return JSON.parse(answer.body);
}
