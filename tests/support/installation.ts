/**
 * Databases that are put back from a backup, or copied, under a process's feet: the whole database of
 * a test is a template of another, as a dump and its restore would be.
 * @module
 */
import { fail } from "node:assert/strict";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { attestRealm } from "../../workers/installation/attestation.ts";
import {
  type PlaceReport,
  type Question,
  reconcileRealm,
} from "../../workers/recovery/reconcile.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { workerContextOf } from "./evm_fixture.ts";
import type { TestRealm } from "./realm.ts";
import { asSuperuser, realmDatabase, superuserUrl } from "./database.ts";

/** A database of a test's own, and copies of it. */
export interface Backups extends AsyncDisposable {
  readonly url: string;
  /** Keeps what the database holds now; gives the address of the copy. */
  copy(): Promise<string>;
  /** Puts back what a copy holds, under the database's own name. */
  restore(copy: string): Promise<void>;
}

/** Makes a database that can be backed up. */
export async function backups(): Promise<Backups> {
  const own = await realmDatabase();
  const name = nameOf(own.url);
  const copies: string[] = [];
  async function clone(from: string, to: string): Promise<void> {
    await asSuperuser(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = '${from}' and pid <> pg_backend_pid()`);
    await asSuperuser(`create database ${to} template ${from} owner ${new URL(own.url).username}`);
  }
  return {
    url: own.url,
    async copy() {
      const copy = `${name}_${copies.length}`;
      await clone(name, copy);
      copies.push(copy);
      const url = new URL(own.url);
      url.pathname = copy;
      return url.href;
    },
    async restore(copy) {
      await asSuperuser(`drop database ${name} with (force)`);
      await clone(nameOf(copy), name);
    },
    async [Symbol.asyncDispose]() {
      for (const copy of copies) await asSuperuser(`drop database ${copy} with (force)`);
      await own[Symbol.asyncDispose]();
    },
  };
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** The superuser's address of a database of the run. */
export function superuserOf(url: string): string {
  const su = new URL(superuserUrl());
  su.pathname = nameOf(url);
  return su.href;
}

/** Copies every table of a realm, as a dump would; in the run's database, or another one. */
export async function keepRealm({ id }: { id: string }, url?: string): Promise<void> {
  const schema = `realm_${id.replaceAll("-", "")}`;
  await asSuperuser(
    `do $$ declare
      t record;
      filled boolean;
    begin
    execute 'drop schema if exists kept_${schema} cascade';
    execute 'create schema kept_${schema}';
    for t in select relname as tablename from pg_class where relnamespace = '${schema}'::regnamespace
        and relkind in ('r', 'p') and not relispartition loop
      execute format('select exists (select from ${schema}.%I)', t.tablename) into filled;
      continue when not filled;
      execute format('create table kept_${schema}.%I as table ${schema}.%I', t.tablename, t.tablename);
    end loop; end $$`,
    url,
  );
}

/** Puts back what was kept of a realm. */
export async function restoreRealm({ id }: { id: string }, url?: string): Promise<void> {
  const schema = `realm_${id.replaceAll("-", "")}`;
  await asSuperuser(
    `set session_replication_role = replica;
    do $$ declare t record; begin
      for t in select relname as tablename from pg_class where relnamespace = '${schema}'::regnamespace
          and relkind in ('r', 'p') and not relispartition loop
        execute format('delete from ${schema}.%I', t.tablename);
      end loop;
      for t in select tablename from pg_tables where schemaname = 'kept_${schema}' loop
        execute format('insert into ${schema}.%I overriding system value select * from kept_${schema}.%I',
          t.tablename, t.tablename);
      end loop; end $$;
    set session_replication_role = origin`,
    url,
  );
}

/** Why the ramps of a test are in quarantine. */
export const OLDER = "the database is older than the record of this host";

/** The reaction of a fence to an older database. */
export async function haltRealm(realm: TestRealm): Promise<void> {
  const actor = { ...realm.admin.actor, at: Date.now() };
  await realm.command((tx) => quarantine(tx, actor, null, OLDER));
}

/** Dates the quarantines of a realm by the time of its chains and by clocks, in Unix seconds. */
export async function dateQuarantines(realm: TestRealm, seconds: number): Promise<void> {
  await realm.command((tx) =>
    tx`update ramps set quarantined = quarantined || jsonb_build_object('block_count', -1000, 'block_time', ${
      Math.round(seconds)
    }::float8, 'at', ${Math.round(seconds) * 1000}::float8)
      where quarantined is not null`
  );
}

/** Compares a realm as workers do every quarter of a minute; where that ends all logins, its administrator logs in anew. */
export async function attest(realm: TestRealm): Promise<void> {
  const context = await workerContextOf(realm);
  try {
    await attestRealm(context, realm.database.platform);
  } finally {
    context.chains.close();
  }
  await realm.admin.renew();
}

/** Reads the prices of sending anew, as workers do each minute. */
export async function renewPrices(realm: TestRealm): Promise<void> {
  const context = await workerContextOf(realm);
  try {
    await refreshFees(context);
  } finally {
    context.chains.close();
  }
}

/** Reconciles a realm as the command does; workers go on after it. */
export async function reconcile(
  realm: TestRealm,
  answer: (question: Question) => Promise<boolean | null> = () => Promise.resolve(null),
  stated?: Map<string, readonly string[]>,
): Promise<PlaceReport[]> {
  const context = await workerContextOf(realm);
  const at = Date.now();
  const now = { ...context, actor: { ...context.actor, at } };
  try {
    const reports = await reconcileRealm(now, { gap: 50, back: 100, answer, stated });
    await attestRealm(context, realm.database.platform);
    await realm.admin.renew();
    return reports;
  } finally {
    context.chains.close();
  }
}

/** What two reconciliations tell together. */
export interface ToldTwice {
  readonly taken: PlaceReport["taken"];
  readonly obstacles: string[];
}

/** Ends what a reconciliation says that another was in the way of. */
const IN_THE_WAY = /run it again$/;

/** Reconciles, twice at once, and asks nobody. Where one was in the other's way, and says so, it is run again. */
export async function reconcileTwice(realm: TestRealm): Promise<ToldTwice> {
  const nobody = () => fail("nobody is asked");
  const both = (await Promise.all([reconcile(realm, nobody), reconcile(realm, nobody)])).flat();
  const told = both.flatMap(({ obstacles }) => obstacles);
  const again = told.some((one) => IN_THE_WAY.test(one)) ? await reconcile(realm, nobody) : [];
  return {
    taken: [...both, ...again].flatMap(({ taken }) => taken),
    obstacles: [
      ...told.filter((one) => !IN_THE_WAY.test(one)),
      ...again.flatMap(({ obstacles }) => obstacles),
    ],
  };
}
