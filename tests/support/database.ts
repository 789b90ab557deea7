/**
 * Databases of a test's own on the run's server, for what the shared one must not suffer.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";

/** The address of the run's PostgreSQL. */
export function testDatabaseUrl(): string {
  return ofThisFile("TEST_DATABASE_URL");
}

/** The address of the run's PostgreSQL for its superuser. */
export function superuserUrl(): string {
  return ofThisFile("TEST_SUPERUSER_URL");
}

/** The database of a test file, where the whole suite runs; else the only one. */
function ofThisFile(name: string): string {
  const url = Deno.env.get(name);
  if (!url) throw new Error("run the tests with `deno task test [file]`, which starts PostgreSQL");
  const databases = Number(Deno.env.get("TEST_DATABASES") ?? 0);
  if (databases === 0) return url;
  const number = [...Deno.mainModule].reduce((sum, sign) => sum + sign.charCodeAt(0), 0);
  const own = new URL(url);
  own.pathname = `purser_${number % databases}`;
  return own.href;
}

/** Runs statements as the superuser. */
export async function asSuperuser(text: string): Promise<void> {
  const database = openDatabase({ url: superuserUrl(), prepare: true, parseJson: JSON.parse });
  try {
    await database.platform.sql.unsafe(text);
  } finally {
    await database.close();
  }
}

/** An empty database that lives as long as the test; the role of the run owns it. */
export async function testDatabase(
  encoding = "UTF8",
): Promise<AsyncDisposable & { url: string }> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const shared = new URL(testDatabaseUrl());
  const encoded = `encoding '${encoding}' locale 'C' template template0`;
  const how = encoding === "UTF8" ? "" : encoded;
  await asSuperuser(`create database ${name} owner ${shared.username} ${how}`);
  const url = new URL(shared);
  url.pathname = name;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => asSuperuser(`drop database ${name} with (force)`),
  };
}
