/**
 * Formance Ledger and Blnk as processes of their own, with accounts that hold value, and the form of a transfer's
 * request in each. Settings are those of docs/operations/performance.md.
 * @module
 */
import type { RequestForm } from "../generator.ts";
import { output } from "../processes.ts";
import { freePort } from "../../tests/support/ports.ts";
import { type Stand, waitUntilAnswers } from "../stand.ts";

/** A ledger of others that answers. */
export interface Subject extends AsyncDisposable {
  name: string;
  port: number;
  pids: number[];
  accounts: string[];
  form: RequestForm;
  /** Done after a load, on what clients that went away left behind. */
  clean(): Promise<void>;
}

/** Where the peers were built, and the accounts that each begins with. */
export interface SubjectOptions {
  stand: Stand;
  /** Holds `bin/formance` and `bin/blnk`. */
  build: string;
  work: string;
  accounts: number;
}

const FUNDS = 1_000_000;
const AT_ONCE = 20;
const BLNK_KEY = "bench-blnk-key-0123456789";

/** Starts Formance Ledger with its default features, with 40 connections to the database. */
export async function startFormance(options: SubjectOptions): Promise<Subject> {
  const database = await databaseOf(options.stand, "formance");
  const port = freePort();
  const pool = ["--postgres-max-open-conns", "40", "--postgres-max-idle-conns", "40"];
  const child = start(`${options.build}/bin/formance`, [
    ...["serve", "--bind", `127.0.0.1:${port}`, "--auto-upgrade", "--worker"],
    ...["--postgres-uri", database, "--postgres-conn-max-idle-time", "5m", ...pool],
  ], options.work);
  const base = `http://127.0.0.1:${port}`;
  await waitUntilAnswers(`${base}/v2/_info`);
  await post(`${base}/v2/bench`, {});
  const accounts = numbers(options.accounts).map((n) => `users:${String(n).padStart(6, "0")}`);
  await some(accounts, (destination) =>
    post(`${base}/v2/bench/transactions`, {
      postings: [{ amount: FUNDS, asset: "USD/2", source: "world", destination }],
      metadata: {},
    }));
  const posting = '{"amount":1,"asset":"USD/2","source":"SOURCE","destination":"DESTINATION"}';
  return {
    name: "Formance Ledger, default features",
    port,
    pids: [child.pid],
    accounts,
    form: {
      path: "/v2/bench/transactions",
      headers: { "idempotency-key": "KEY" },
      body: `{"postings":[${posting}],"metadata":{}}`,
    },
    clean: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Starts Blnk and its workers beside a Redis of their own; transfers skip the queue. */
export async function startBlnk(options: SubjectOptions): Promise<Subject> {
  const database = await databaseOf(options.stand, "blnk");
  const [port, redisPort, monitor] = [freePort(), freePort(), freePort()];
  const redisArgs = ["--port", `${redisPort}`, "--bind", "127.0.0.1", "--save", ""];
  const redis = start("redis-server", redisArgs, options.work);
  await Deno.writeTextFile(
    `${options.work}/blnk.json`,
    JSON.stringify({
      project_name: "bench",
      data_source: { dns: database },
      redis: { dns: `127.0.0.1:${redisPort}` },
      server: { port: `${port}`, secure: true, secret_key: BLNK_KEY },
      queue: { monitoring_port: `${monitor}` },
    }),
  );
  const program = `${options.build}/bin/blnk`;
  await output(program, ["migrate", "up"], { cwd: options.work });
  const children = ["start", "workers"].map((name) => start(program, [name], options.work));
  const base = `http://127.0.0.1:${port}`;
  await waitUntilAnswers(`${base}/health`);
  const headers = { "x-blnk-key": BLNK_KEY };
  const { ledger_id } = await post(`${base}/ledgers`, { name: "bench" }, headers);
  const accounts = await some(numbers(options.accounts), async () => {
    const balance = { ledger_id, currency: "USD" };
    return (await post(`${base}/balances`, balance, headers)).balance_id;
  });
  const transfer = { precision: 1, currency: "USD", description: "bench", skip_queue: true };
  for (const [n, destination] of accounts.entries()) { // one row gives to all of them
    const from = { source: "@world", allow_overdraft: true, reference: `fund-${n}` };
    await post(
      `${base}/transactions`,
      { ...transfer, ...from, amount: FUNDS, destination },
      headers,
    );
  }
  const pair = { source: "SOURCE", destination: "DESTINATION", reference: "KEY", amount: 1 };
  return {
    name: "Blnk, skip_queue",
    port,
    pids: [...children.map(({ pid }) => pid), redis.pid],
    accounts,
    form: { path: "/transactions", headers, body: JSON.stringify({ ...transfer, ...pair }) },
    async clean() {
      const at = ["-p", `${redisPort}`];
      const found = await output("redis-cli", [...at, "--scan", "--pattern", "bln_*"]);
      const locks = found.split("\n").filter((line) => line !== "");
      if (locks.length > 0) await output("redis-cli", [...at, "del", ...locks]);
    },
    async [Symbol.asyncDispose]() {
      for (const child of [...children, redis]) await end(child);
    },
  };
}

async function databaseOf({ sql, server }: Stand, name: string): Promise<string> {
  await sql.unsafe(`create database ${name}`);
  const url = new URL(server.superuserUrl);
  url.pathname = name;
  return `${url.href}?sslmode=disable`;
}

function start(program: string, args: string[], cwd: string): Deno.ChildProcess {
  return new Deno.Command(program, { args, cwd, stdout: "null", stderr: "null" }).spawn();
}

async function end(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await child.status;
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

async function some<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < all.length; i += AT_ONCE) {
    found.push(...await Promise.all(all.slice(i, i + AT_ONCE).map(work)));
  }
  return found;
}

async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  // deno-lint-ignore no-explicit-any
): Promise<any> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}
