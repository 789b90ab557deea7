/** A second PostgreSQL server, and realms that live there. @module */
import { equal } from "node:assert/strict";
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { carryOn, dropOld } from "../../workers/moves/moving.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import type { OrderOptions } from "../../workers/moves/move.ts";
import {
  diskDatabase,
  type TestDatabase,
  testDatabase,
  testDatabaseUrl,
} from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import type { TestRealm } from "../support/realm.ts";
import { scratch, VOLATILE } from "../support/run_server.ts";
import { rowsAt } from "./fixture.ts";

/** A server beside the run's. */
export interface OtherServer extends AsyncDisposable {
  readonly url: string;
  /** Settings of commands that may reach it. */
  readonly env: Record<string, string>;
  /** Makes a database; gives its address. */
  database(): Promise<string>;
  stop(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
}

/** Starts a server. */
export async function otherServer(): Promise<OtherServer> {
  const root = await Deno.makeTempDir(await scratch());
  await Deno.chmod(root, 0o755);
  const port = freePort();
  const begin = () =>
    startEmbedded({
      dataDir: `${root}/data`,
      port,
      settings: { ...VOLATILE, max_connections: "200" },
    });
  let server: EmbeddedPostgres = await begin();
  const { url } = server;
  return {
    url,
    env: { DATABASE_HOSTS: new URL(url).host },
    async database() {
      const made = new URL(url);
      const name = `beside_${crypto.randomUUID().replaceAll("-", "")}`;
      await rowsAt(server.superuserUrl, `create database ${name} owner ${made.username}`);
      made.pathname = name;
      return made.href;
    },
    stop: () => server.stop(),
    async start() {
      server = await begin();
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await Deno.remove(root, { recursive: true });
    },
  };
}

/**
 * A database of the version that a server has: on the run's own server, or where that has another one, on one beside it. A
 * realm moves to no older server, and its backup is restored on the version that it comes from alone.
 *
 * @param open makes it on the run's own server
 */
export async function databaseLike(
  { url }: Pick<OtherServer, "url">,
  open: () => Promise<TestDatabase> = testDatabase,
): Promise<TestDatabase> {
  const [here, there] = await Promise.all([testDatabaseUrl(), url].map(async (at) => {
    const [{ version }] = await rowsAt<{ version: string }>(
      at,
      "select current_setting('server_version_num') as version",
    );
    return Math.floor(Number(version) / 10_000);
  }));
  return await (here === there ? open() : diskDatabase());
}

/** What moves a realm. */
export function movingOptions({ services, database }: TestRealm): OrderOptions {
  const { migrations } = services.provisioning;
  return { database, migrations, secrets: services.secrets };
}

/** Moves a realm to a database; nothing of it stays where it was. */
export async function moveTo(realm: TestRealm, to: string): Promise<void> {
  const options = movingOptions(realm);
  await carryOn(options, await orderMove(options, { realm: realm.id, to }, Date.now()));
  await dropOld(options, realm.id);
}

/** A realm with money, and a transfer of one unit in it. */
export async function withMoney(realm: TestRealm) {
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name, from: account, total: "10" });
  const body = { source: { account }, destination: { account: other }, value: "1" };
  return {
    other,
    async transfer() {
      const { status, text } = await realm.admin.send("POST", "/v1/transactions", body);
      equal(status, 201, text);
    },
  };
}

/** The schema of a realm. */
export function schemaOf({ id }: { id: string }): string {
  return `realm_${id.replaceAll("-", "")}`;
}

/** Host, port and database of an address. */
export function serverOf(address: string): string {
  const { host, pathname } = new URL(address);
  return `${host}${pathname}`;
}
