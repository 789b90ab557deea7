/** An installation with one realm, a host to back it up from, and what is asked of databases beside it. @module */
import { equal } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import type { Ended } from "../support/called_commands.ts";
import { type CommandHost, commandHost } from "../support/command_host.ts";
import { realmDatabase, type TestDatabase } from "../support/database.ts";
import { type Send, type TestProcess, type TestRealm, testRealm } from "../support/realm.ts";

/** A realm with money in a database of its own. */
export interface Fixture extends AsyncDisposable {
  readonly url: string;
  readonly superuserUrl: string;
  readonly host: CommandHost;
  readonly realm: TestRealm;
  /** Two accounts of one currency. */
  readonly account: string;
  readonly other: string;
  transfer(): Promise<void>;
  /** Makes a backup; gives its report. */
  backUp(...args: string[]): Promise<Report>;
}

/** What `backup` and `restore` print. */
export interface Report {
  readonly path: string;
  readonly backup: string;
  readonly rows: number;
  readonly realms: number;
  readonly heads: Readonly<Record<string, string>>;
  readonly elsewhere: Readonly<Record<string, string>>;
  readonly without: readonly string[];
  readonly removed: readonly string[];
  readonly verdict: string;
  /** Ids of the stops that restored realms begin with. */
  readonly stops?: Readonly<Record<string, { moves: string; signing: string }>>;
  readonly machine_keys?: Readonly<Record<string, { working: number; ended: number }>>;
}

/** Makes an installation to back up, in a database of its own. */
export async function fixture(
  open: () => Promise<TestDatabase> = realmDatabase,
): Promise<Fixture> {
  const stack = new AsyncDisposableStack();
  const own = stack.use(await open());
  const host = stack.use(await commandHost());
  const realm = stack.use(await testRealm({ env: { DATABASE_URL: own.url } }));
  const { name, account } = await realm.currency("1000000");
  const other = await realm.account({ asset: name });
  async function transfer(): Promise<void> {
    const move = {
      source: { account },
      destination: { account: other },
      value: "1",
    };
    const { status, text } = await realm.admin.send(
      "POST",
      "/v1/transactions",
      move,
    );
    equal(status, 201, text);
  }
  for (let one = 0; one < 10; one++) await transfer();
  await extendHashChain(realm.pool, Date.now);
  return {
    ...{ url: own.url, superuserUrl: own.superuserUrl, host, realm, account, other, transfer },
    backUp: async (...args) => reportOf(await host.call(own.url, "backup", args)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Reads what a command printed, which must have ended well. */
export function reportOf({ code, out, said }: Ended): Report {
  equal(code, 0, said);
  return JSON.parse(out);
}

/** Runs a statement in a database as its owner. */
export async function rowsAt<T>(url: string, text: string): Promise<T[]> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse });
  try {
    return await database.builder.sql.unsafe(text) as unknown as T[];
  } finally {
    await database.close();
  }
}

/** A key of the realm's administrator in another process, which serves another database. */
export async function keyAt(
  { services, database }: Pick<TestProcess, "services" | "database">,
  realm: TestRealm,
): Promise<string> {
  const { admin } = realm.made;
  const row = (await reading(database.platform, (db) => selectRealm(db, realm.id)))!;
  return await services.signingKeys.sign(
    claimsOf(admin, row, Date.now(), 3_600),
  );
}

/** Sends as the realm's administrator in another process. */
export async function adminAt(
  process: TestProcess,
  realm: TestRealm,
): Promise<Send> {
  return process.send(await keyAt(process, realm));
}
