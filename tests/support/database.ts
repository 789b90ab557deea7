/**
 * Databases of a test's own on the run's server, for what the shared one must not suffer.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import { startEmbedded } from "../../db/embedded/embedded.ts";
import { codeOf } from "../../db/errors.ts";
import { OF_ONE } from "./spare_schemas.ts";

/** The address of the run's PostgreSQL. */
export function testDatabaseUrl(): string {
  return ofThisFile("TEST_DATABASE_URL");
}

/** The address of the run's PostgreSQL for its superuser. */
export function superuserUrl(): string {
  return ofThisFile("TEST_SUPERUSER_URL");
}

/** What the names of the databases of a group of test files begin with. */
export function databasesOf(group: number): string {
  return `purser_${group}_`;
}

/** The number of the one of this process's group that is in use; null before it has its first. */
let current: number | null = null;

/** The database of this group of test files that is in use, where the whole suite runs; else the only one. */
function ofThisFile(name: string): string {
  const url = addressIn(name);
  const group = groupOfThisProcess();
  if (group === null || current === null) return url;
  const own = new URL(url);
  own.pathname = `${databasesOf(group)}${current}`;
  return own.href;
}

function addressIn(name: string): string {
  const url = Deno.env.get(name);
  if (!url) throw new Error("run the tests with `deno task test [file]`, which starts PostgreSQL");
  return url;
}

/** The number of the group of test files that this process runs with databases of its own; null where it does not. */
function groupOfThisProcess(): number | null {
  const [, group] = /_(\d+)\.ts$/.exec(Deno.mainModule) ?? [];
  return template() === "0" || group === undefined ? null : Number(group);
}

/** The name of the database that those of groups are copied from; 0 where they have none of their own. */
function template(): string {
  return Deno.env.get("TEST_DATABASES") ?? "0";
}

/** Gives this process's group its next database; nothing where it has none of its own, or where that fails. */
export async function nextDatabase(): Promise<void> {
  const group = groupOfThisProcess();
  if (group === null) return;
  const { username: owner } = new URL(addressIn("TEST_DATABASE_URL"));
  for (let next = (current ?? -1) + 1;; next++) {
    if (await copyTemplate(`${databasesOf(group)}${next}`, { template: template(), owner })) {
      current = next;
      return;
    }
  }
}

/** Whether this process's group has yet to get its first database. */
export function lacksDatabase(): boolean {
  return current === null && groupOfThisProcess() !== null;
}

/**
 * Copies a database; false where one of that name is there, which an earlier process of the group has made. Sessions that
 * are ending, or look into all databases, keep the server from copying: it is asked again for a while.
 */
export async function copyTemplate(
  name: string,
  { template, owner, limitMs = 120_000 }: { template: string; owner: string; limitMs?: number },
): Promise<boolean> {
  // Copied file by file: the other way writes each page to the log.
  const how = `template ${template} owner ${owner} strategy file_copy`;
  for (const since = performance.now();;) {
    try {
      await asSuperuser(`create database ${name} ${how}`, addressIn("TEST_SUPERUSER_URL"));
      return true;
    } catch (error) {
      if (codeOf(error) === DUPLICATE) return false;
      // The server itself has waited for five seconds by then.
      if (codeOf(error) !== IN_USE || performance.now() - since >= limitMs) throw error;
    }
  }
}

/** SQLSTATE of a template with sessions. */
const IN_USE = "55006";

/** SQLSTATE of a database whose name is taken. */
const DUPLICATE = "42P04";

/** Runs statements as the superuser. */
export async function asSuperuser(text: string, url: string = superuserUrl()): Promise<void> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  try {
    await database.platform.sql.unsafe(text);
  } finally {
    await database.close();
  }
}

/** A database that lives as long as a test. */
export interface TestDatabase extends AsyncDisposable {
  url: string;
  /** The same database for the server's superuser. */
  superuserUrl: string;
}

/** An empty database that lives as long as the test; the role of the run owns it. */
export async function testDatabase(encoding = "UTF8"): Promise<TestDatabase> {
  const name = newName();
  const encoded = `encoding '${encoding}' locale 'C' template template0`;
  const how = encoding === "UTF8" ? "" : encoded;
  await asSuperuser(`create database ${name} owner ${new URL(testDatabaseUrl()).username} ${how}`);
  return databaseOf(name);
}

/**
 * A database that lives as long as the test, for a realm. Where the whole suite runs it holds a spare schema, which the
 * first realm takes: to copy it takes a fifteenth of what it takes to make one.
 *
 * @param realms how many the test makes there; for several it holds as many spare schemas as the database of a group
 */
export async function realmDatabase(realms = 1): Promise<TestDatabase> {
  if (template() === "0") return await testDatabase();
  const name = newName();
  const { username: owner } = new URL(testDatabaseUrl());
  // Twelve schemas take as long to copy as a third of one takes to be made.
  const copied = realms < SEVERAL ? `${template()}${OF_ONE}` : template();
  await copyTemplate(name, { template: copied, owner });
  return databaseOf(name);
}

/** Realms for which it is cheaper to copy spare schemas that stay unused than to make all but the first. */
const SEVERAL = 3;

function newName(): string {
  return `test_${crypto.randomUUID().replaceAll("-", "")}`;
}

function databaseOf(name: string): TestDatabase {
  const url = new URL(testDatabaseUrl());
  const superuser = new URL(superuserUrl());
  url.pathname = superuser.pathname = name;
  return {
    url: url.href,
    superuserUrl: superuser.href,
    [Symbol.asyncDispose]: () => asSuperuser(`drop database ${name} with (force)`),
  };
}

/**
 * An empty database on a server of its own, for what has no room in memory: on the disk, durable as an installation's,
 * and as if the statistics of its tables were not made yet.
 *
 * @param settings further settings of the server
 */
export async function diskDatabase(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestDatabase> {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-disk-" });
  const server = await startEmbedded({
    ...{ dataDir, port: 0 },
    settings: { autovacuum: "off", ...settings },
  });
  return {
    url: server.url,
    superuserUrl: server.superuserUrl,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await Deno.remove(dataDir, { recursive: true });
      await Deno.remove(server.clusterDir, { recursive: true }).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error; // it was below the folder
      });
    },
  };
}
