/** What is measured, and what the starts of the ledgers of others have in common. @module */
import postgres from "postgres";
import type { LoadFigures, RequestForm } from "../generator.ts";
import type { Generator, Load } from "../load.ts";
import { treeOf } from "../processes.ts";
import { FUNDS, type Stand } from "../stand.ts";

/** A load: one transfer a request. */
export type PeerLoad = Omit<Load, "many">;

/** What a load found. */
export type PeerFigures = LoadFigures & {
  /** Requests a second that were answered well, where that is not the rate of what was applied. */
  acknowledged?: number;
};

/** A ledger with funded accounts, that answers. */
export interface Subject extends AsyncDisposable {
  /** Of its processes; those of their children count, too. None where PostgreSQL does it all. */
  pids: number[];
  /** Runs one load. */
  run(load: PeerLoad): Promise<PeerFigures>;
  /** Done after a load, on what clients that went away left behind. */
  clean(): Promise<void>;
  /** Bytes of its tables with their indexes. */
  bytes(): Promise<number>;
  /** Balances of all accounts, read as its users would. */
  balances(): Promise<bigint[]>;
}

/** What a subject is started with. */
export interface SubjectOptions {
  stand: Stand;
  /** Of the records that the service keeps beside its database. */
  folder: string;
  /** Holds what the reader built: `bin/formance`, `bin/blnk` and `pgledger/`. */
  build: string;
  /** Where settings and lists of accounts are written. */
  work: string;
  accounts: number;
  generator: Generator;
}

/** A database of its own, for a ledger of others. */
export interface PeerDatabase extends AsyncDisposable {
  /** Connects as its owner. */
  url: string;
  superuserUrl: string;
  /** A superuser's connection. */
  sql: postgres.Sql;
  bytes(): Promise<number>;
}

/** Units that each account begins with, everywhere. */
export const FUNDED = Number(FUNDS);
const AT_ONCE = 20;
/** After it a program that was asked to end is killed. */
const END_MS = 5_000;
/** How long an open transaction is waited for. */
const SUSPEND_MS = 10_000;
const SETTLE_MS = 30;

/**
 * Makes a database, and a login that owns it; disposing drops both. The password of the server's superuser is stretched
 * less than some clients accept: lib/pq, which Blnk has, refuses it.
 */
export async function makeDatabase({ sql, server }: Stand, name: string): Promise<PeerDatabase> {
  await sql.unsafe(`create role ${name} login password '${name}'`);
  await sql.unsafe(`create database ${name} owner ${name}`);
  const url = new URL(server.superuserUrl);
  url.pathname = name;
  const superuserUrl = url.href;
  const own = postgres(superuserUrl, { max: 1, onnotice: () => {} });
  url.username = name;
  url.password = name;
  return {
    url: `${url.href}?sslmode=disable`,
    superuserUrl,
    sql: own,
    async bytes() {
      const [{ n }] = await sql<{ n: string }[]>`select pg_database_size(${name}) as n`;
      return Number(n);
    },
    async [Symbol.asyncDispose]() {
      await own.end({ timeout: 1 });
      await sql.unsafe(`drop database ${name} with (force)`);
      await sql.unsafe(`drop role ${name}`);
    },
  };
}

/** Runs loads against a service of others. */
export function loader(
  { generator }: SubjectOptions,
  target: { id: string; port: number; accounts: readonly string[]; form: RequestForm },
): (load: PeerLoad) => Promise<LoadFigures> {
  return (load) => generator.run(target.port, { ...target, key: "" }, { ...load, many: 1 });
}

/** Starts a program that says nothing. */
export function start(program: string, args: string[], cwd: string): Deno.ChildProcess {
  const env = { GIN_MODE: "release" }; // else Blnk prints its routes and each request in colours
  return new Deno.Command(program, { args, cwd, env, stdout: "null", stderr: "null" }).spawn();
}

/** Ends a program, also a suspended one; kills it when it takes its time. */
export async function end(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGCONT");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await child.status;
  clearTimeout(late);
}

/** Lets all processes of a subject run again. */
export async function resume(subject: Subject): Promise<void> {
  await signal(subject, "SIGCONT");
}

/**
 * Suspends all processes of a subject at a moment when none of them has a transaction open: it would hold its locks, and
 * the dead rows that others leave behind.
 */
export async function suspend({ sql }: Stand, subject: Subject): Promise<void> {
  for (const late = performance.now() + SUSPEND_MS;;) {
    await signal(subject, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS)); // what PostgreSQL works on ends
    const [{ n }] = await sql<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity
      where backend_type = 'client backend' and xact_start is not null and pid <> pg_backend_pid()`;
    if (n === 0) return;
    if (performance.now() > late) {
      console.error(`  a ledger is suspended with ${n} open transactions`);
      return;
    }
    await signal(subject, "SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
}

async function signal({ pids }: Subject, name: "SIGSTOP" | "SIGCONT"): Promise<void> {
  for (const pid of (await Promise.all(pids.map(treeOf))).flat()) Deno.kill(pid, name);
}

/** The numbers below one. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

/** Works on all, some at once. */
export async function some<T, R>(
  all: readonly T[],
  work: (one: T) => Promise<R>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < all.length; i += AT_ONCE) {
    found.push(...await Promise.all(all.slice(i, i + AT_ONCE).map(work)));
  }
  return found;
}

/** Sends a request with a body, or without one a GET. @throws {Error} for what is refused */
export async function ask(
  url: string,
  headers: Record<string, string> = {},
  body?: unknown,
  // deno-lint-ignore no-explicit-any
): Promise<any> {
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}
