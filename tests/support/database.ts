/**
 * Databases of a test's own on the run's server, for what the shared one must not suffer.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";

/** The address of the run's PostgreSQL for its superuser. */
export function superuserUrl(): string {
  const url = Deno.env.get("TEST_SUPERUSER_URL");
  if (!url) throw new Error("run the tests with `deno task test [file]`, which starts PostgreSQL");
  return url;
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
export async function testDatabase(): Promise<AsyncDisposable & { url: string }> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const shared = new URL(Deno.env.get("TEST_DATABASE_URL")!);
  await asSuperuser(`create database ${name} owner ${shared.username}`);
  const url = new URL(shared);
  url.pathname = name;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => asSuperuser(`drop database ${name} with (force)`),
  };
}
