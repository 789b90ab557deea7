/**
 * A realm of its own for each test, on the run's PostgreSQL, with the whole app in front of it. What
 * a test opens, it closes: `await using realm = await testRealm()`.
 *
 * @module
 */
import { type Config, readConfig } from "../../config.ts";
import { actingAs, type Database, openDatabase, type Pool } from "../../db/database.ts";
import { migratePlatform, type Migrations, readMigrations } from "../../db/migrate.ts";
import {
  type OptionsFor,
  reading,
  serializable,
  type TransactionOptions,
  type TxFor,
  writing,
} from "../../db/transaction.ts";
import type { Actor, Role, Scope } from "../../domain/actor.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { newId } from "../../domain/ids.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { openSigningKeys } from "../../domain/security/signing_keys.ts";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { presentAddress } from "../../domain/realms/realm_locations.ts";
import { type CreatedRealm, locationOf } from "../../domain/realms/realms.ts";
import { loginsUnder, openSecrets } from "../../domain/security/serving_secrets.ts";
import { createUser } from "../../domain/identity/users.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { createLog } from "../../log.ts";
import { type App, createApp } from "../../routes/http/app.ts";
import { openEnding } from "../../routes/http/shutdown.ts";
import { openLimits } from "../../routes/http/rate_limits.ts";
import type { Services } from "../../routes/http/services.ts";
import { openPeople } from "../../workers/gateways/people/people.ts";
import { testDatabaseUrl } from "./database.ts";
import { eventsLeft } from "./emitting_tests.ts";
import { jobsOf } from "./jobs_of.ts";
import { makeRealm, type TierName, VERIFIER } from "./new_realm.ts";
import { testFile } from "./test_file.ts";

export { PASSWORD } from "./new_realm.ts";

/** An answer, read. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // Tests look into answers freely.
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** Sends a request through the app. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A user of the test's realm, with a key. */
export interface TestUser {
  id: string;
  identity: string;
  actor: Actor;
  key: string;
  send: Send;
  /** Logs in anew: its logins have ended with a restore. */
  renew(): Promise<void>;
}

/** A further process that serves the same installation. */
export interface TestProcess extends AsyncDisposable {
  services: Services;
  database: Database;
  app: App;
  /** Sends with a key, or without one. */
  send: (key: string | null) => Send;
}

/** A realm of a test. */
export interface TestRealm extends AsyncDisposable {
  id: string;
  made: CreatedRealm;
  database: Database;
  /** Connections with the rights of workers; the API has its own. */
  pool: Pool;
  services: Services;
  /** The first administrator. */
  admin: TestUser;
  /** Sends with the platform key. */
  operator: Send;
  /** Sends without any key. */
  nobody: Send;
  /** Another realm of the same process. */
  neighbour(): Promise<TestRealm>;
  /** Another process, as far as the service can tell: nothing shared but the database. */
  another(env?: Record<string, string>, onStatement?: (text: string) => void): TestProcess;
  user(of?: { role?: Role; scope?: Scope }): Promise<TestUser>;
  /** A currency of the administrator, whose account holds the supply. */
  currency(supply: string, name?: string): Promise<{ name: string; account: string }>;
  /** A virtual account that is ready, funded from a currency's account. */
  account(of: { asset: string; by?: TestUser; from?: string; total?: string }): Promise<string>;
  balance(account: string): Promise<{ total: string; available: string }>;
  readonly command: <T, Locked extends boolean = false>(
    work: (tx: TxFor<Locked>) => Promise<T>,
    ...options: OptionsFor<Locked, TransactionOptions<Locked>>
  ) => Promise<T>;
  /** Runs every job that is due. */
  drain(): Promise<void>;
  /** Ends what is the realm's own, and nothing that others share. */
  leave(): void;
}

/** The operator's key in tests. */
export const PLATFORM_KEY = "platform-key-of-the-tests";

/** Opens the pools of a process. */
export function reach(config: Config, onStatement?: (text: string) => void): Database {
  const secrets = openSecrets(config.platformKey!, config.previousPlatformKey);
  return openDatabase({
    ...{ url: config.databaseUrl!, replica: config.replica ?? undefined },
    prepare: config.databasePrepare,
    ...{ connectionsMax: config.databaseConnections, indexWaitMs: config.indexWaitMs },
    parseJson: parseStoredJson,
    decryptUrl: (encryptedUrl, id) =>
      presentAddress(secrets.decrypt("database_url", id, encryptedUrl), config.realmTargets),
    logins: config.realmLogins ? loginsUnder(secrets) : undefined,
    onStatement,
  });
}

/** The configuration of a test, with a few settings of its own. */
export function testConfig(env: Record<string, string> = {}): Config {
  return readConfig({
    DATABASE_URL: testDatabaseUrl(),
    PLATFORM_KEY,
    MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
    BASE_URL: "http://purser.test",
    LOG_LEVEL: "error",
    ...env,
  }, false);
}

/** Makes a realm with an administrator, and the app in front of it. */
export async function testRealm(
  options: { env?: Record<string, string>; tier?: TierName } = {},
  file: string = testFile(),
): Promise<TestRealm> {
  const config = testConfig(options.env);
  const database = reach(config);
  const migrations = await readMigrations();
  await migratePlatform(database.platform.sql, migrations.platform);
  const services = wire(config, database, migrations);
  const made = await makeRealm(file, services, database, { tier: options.tier });
  return await prepareTestRealm(services, database, made, file);
}

/** Wires a process around its pools. */
export function wire(config: Config, database: Database, migrations: Migrations): Services {
  const { realmTargets: targets } = config;
  const log = createLog({ level: config.logLevel, format: "pretty" });
  const secrets = openSecrets(PLATFORM_KEY);
  database.replica?.watch(() => {});
  return {
    config,
    ...{ log, lostLines: () => 0 },
    ...{ platform: database.platform, replica: database.replica },
    migrations,
    provisioning: { database, migrations, roles: config.realmRoles, secrets, targets },
    realms: openRealmContexts(database, Date.now),
    signingKeys: openSigningKeys({
      platform: database.platform,
      userKeyTtlS: config.userKeyTtlS,
      now: Date.now,
    }),
    secrets,
    people: openPeople(config, secrets, database.platform),
    limits: openLimits({ platform: database.platform, log, now: Date.now }),
    connections: () => database.taken(),
    ending: openEnding(),
    wake: () => {},
    now: Date.now,
  };
}

async function prepareTestRealm(
  services: Services,
  database: Database,
  made: CreatedRealm,
  file: string,
): Promise<TestRealm> {
  const send = sender(createApp(services, PLATFORM_KEY));
  const pool = database.working(locationOf(made.realm));
  const admin = await asUser(services, made.realm.id, made.admin, send);
  const jobs = jobsOf(services, database, made.realm.id);
  return {
    id: made.realm.id,
    made,
    database,
    pool,
    services,
    admin,
    operator: send(PLATFORM_KEY),
    nobody: send(null),
    neighbour: () => makeNeighbour(services, database, file),
    another: (env, onStatement) => anotherProcess(services, env, onStatement),
    command: (work, ...options) => serializable(pool, work, ...options),
    async user(of = {}) {
      const row = await serializable(
        pool,
        (tx) =>
          createUser(tx, { ...admin.actor, at: Date.now() }, {
            username: `user-${crypto.randomUUID()}`,
            verifier: VERIFIER,
            roles: [of.role ?? "user"],
            scopes: [of.scope ?? "own"],
            channel: {},
            data: {},
          }),
      );
      return await asUser(services, made.realm.id, row, send);
    },
    async currency(supply, name = `C${crypto.randomUUID().slice(0, 8)}`) {
      const answer = await admin.send("POST", "/v1/currencies", { name, supply });
      return { name, account: expectCreated(answer).body.account };
    },
    async account({ asset, by = admin, from, total }) {
      const answer = await by.send("POST", "/v1/accounts", { type: "virtual", asset });
      const { id } = expectCreated(answer).body;
      await jobs.drain();
      if (from !== undefined && total !== undefined) {
        const move = { source: { account: from }, destination: { account: id }, value: total };
        expectCreated(await admin.send("POST", "/v1/transactions", move));
      }
      return id;
    },
    async balance(account) {
      return (await admin.send("GET", `/v1/accounts/${account}`)).body.balance;
    },
    drain: () => jobs.drain(),
    leave: () => jobs.close(),
    async [Symbol.asyncDispose]() {
      jobs.close();
      const assertDescribed = await eventsLeft(pool, file);
      await services.limits.close();
      await database.close();
      assertDescribed();
    },
  };
}

/** Makes another realm in the process; what they share ends with the first. */
async function makeNeighbour(
  services: Services,
  database: Database,
  file: string,
): Promise<TestRealm> {
  const made = await makeRealm(file, services, database, { pool: database.builder });
  const realm = await prepareTestRealm(services, database, made, file);
  return { ...realm, [Symbol.asyncDispose]: () => Promise.resolve(realm.leave()) };
}

function anotherProcess(
  first: Services,
  env: Record<string, string> = {},
  onStatement?: (text: string) => void,
): TestProcess {
  const config = testConfig(env);
  const database = reach(config, onStatement);
  const services = wire(config, database, first.migrations);
  const app = createApp(services, PLATFORM_KEY);
  return {
    services,
    database,
    app,
    send: sender(app),
    async [Symbol.asyncDispose]() {
      await services.limits.close();
      await database.close();
    },
  };
}

function expectCreated(answer: Answer): Answer {
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}

function sender(app: App): (key: string | null) => Send {
  return (key) => async (method, path, body, headers = {}) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const origin = path.startsWith("http") ? "" : "http://purser.test";
    const request = new Request(`${origin}${path}`, {
      method,
      body: text,
      headers: {
        ...(key === null ? {} : { "x-api-key": key }),
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
    });
    const response = await app(request, "127.0.0.1");
    const answer = await response.text();
    const json = /json/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      text: answer,
      body: json ? JSON.parse(answer) : answer,
    };
  };
}

/** A user with a key and an actor of its own. */
async function asUser(
  services: Services,
  realm: string,
  row: CreatedRealm["admin"],
  send: (key: string | null) => Send,
): Promise<TestUser> {
  const at = Date.now();
  const context = (await services.realms.find(realm))!;
  const sign = async () => {
    const of = (await reading(services.platform, (db) => selectRealm(db, realm)))!;
    return await services.signingKeys.sign(
      claimsOf(row, of, Date.now(), services.config.userKeyTtlS),
    );
  };
  let key = await sign();
  const actor: Actor = {
    user: row.id,
    kind: "user",
    realm: context.defaults(),
    roles: row.roles as Role[],
    scopes: row.scopes as Scope[],
    at,
    requestId: newId(at),
    address: "127.0.0.1",
  };
  const user: TestUser = {
    ...{ id: row.id, identity: row.identity, actor, key },
    send: (...request) => send(key)(...request),
    async renew() {
      user.key = key = await sign();
      context.refresh(); // the process knows the realm as of at most a second ago
    },
  };
  return user;
}

/** The comment on a schema that its test has broken on purpose. */
export const BROKEN = "broken on purpose";
/** Changes by a test as the tables' owner that no audit reports. */
const HARMLESS =
  /^\s*(select|with|(update|delete from|insert into) (jobs|leases|onchain_balances|fee_quotes|chain_(?!links|head)\w+)\b)/;

const shared = new WeakSet<TestRealm>();

/** Says of a realm that several tests share it: none of them may break it. */
export function keepSound(realm: TestRealm): void {
  shared.add(realm);
}

/** Marks a realm as broken on purpose, so that the audit after the run skips it. */
export async function leaveBroken(realm: TestRealm): Promise<void> {
  if (shared.has(realm)) throw new Error("a test that breaks its realm needs one of its own");
  const { schema } = locationOf(realm.made.realm);
  await realm.database.builder.sql.unsafe(`comment on schema "${schema}" is '${BROKEN}'`);
}

/** Runs a statement on a realm's own tables as their owner, for what no right of the service's reaches. */
export async function rowsOf<T>(
  realm: TestRealm,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  if (!HARMLESS.test(text)) await leaveBroken(realm);
  const owner = actingAs(realm.database.platform, { ...locationOf(realm.made.realm), role: null });
  return await writing(owner, (db) => db.unsafe(text, values as never[])) as unknown as T[];
}
