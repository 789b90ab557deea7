/** Blnk: its service and its workers beside a Redis of their own. @module */
import { freePort } from "../../tests/support/ports.ts";
import { output } from "../processes.ts";
import { waitUntilAnswers } from "../stand.ts";
import {
  ask,
  end,
  FUNDED,
  loader,
  makeDatabase,
  numbers,
  type PeerDatabase,
  type PeerFigures,
  type PeerLoad,
  some,
  start,
  type Subject,
  type SubjectOptions,
} from "./subjects.ts";

const KEY = "bench-blnk-key-0123456789";
const HEADERS = { "x-blnk-key": KEY };
/** How long a queue may go on after its load has ended. */
const DRAIN_MS = 10_000;
const POLL_MS = 500;

/** What both ways of use build on. */
interface Funded extends Running, Pick<Subject, "balances"> {
  run: ReturnType<typeof loader>;
}

/** Its processes and what they use. */
interface Running extends AsyncDisposable {
  pids: number[];
  port: number;
  redisPort: number;
  database: PeerDatabase;
}

/** Starts it for transfers that are applied before they are answered. */
export async function startBlnk(options: SubjectOptions): Promise<Subject> {
  return await startWith(options, { skip_queue: true }, ({ run, balances, redisPort }) => ({
    run,
    balances,
    clean: () => removeLocks(redisPort),
  }));
}

/** Starts it for transfers that wait in its queue, its default. What counts is what is applied, not what is acknowledged. */
export async function startQueuedBlnk(options: SubjectOptions): Promise<Subject> {
  return await startWith(options, {}, ({ run, database: { sql } }) => ({
    run: (load) => runQueued(run, load, sql),
    clean: () => Promise.resolve(),
    async balances() { // in one statement: its workers go on
      const rows = await sql<{ balance: string }[]>`
        select balance::text from blnk.balances where indicator is distinct from '@world'`;
      return rows.map(({ balance }) => BigInt(balance));
    },
  }));
}

async function startWith(
  options: SubjectOptions,
  queue: { skip_queue?: boolean },
  use: (funded: Funded) => Pick<Subject, "run" | "clean" | "balances">,
): Promise<Subject> {
  await using begun = new AsyncDisposableStack();
  const blnk = begun.use(await startProcesses(options));
  const { port, database } = blnk;
  const base = `http://127.0.0.1:${port}`;
  const transfer = { precision: 1, currency: "USD", description: "bench" };
  const { ledger_id } = await ask(`${base}/ledgers`, HEADERS, { name: "bench" });
  const accounts = await some(numbers(options.accounts), async () => {
    const made = await ask(`${base}/balances`, HEADERS, { ledger_id, currency: "USD" });
    return made.balance_id as string;
  });
  for (const [n, destination] of accounts.entries()) { // one row gives to all of them
    const from = { source: "@world", allow_overdraft: true, reference: `fund-${n}` };
    const funds = { ...transfer, ...from, amount: FUNDED, destination, skip_queue: true };
    await ask(`${base}/transactions`, HEADERS, funds);
  }
  await database.sql`vacuum analyze`;
  const pair = { source: "SOURCE", destination: "DESTINATION", reference: "KEY", amount: 1 };
  const body = JSON.stringify({ ...transfer, ...pair, ...queue });
  const form = { path: "/transactions", headers: HEADERS, body };
  const run = loader(options, { id: `blnk_${port}`, port, accounts, form });
  const balances = () =>
    some(accounts, async (id) => {
      const { balance } = await ask(`${base}/balances/${id}`, HEADERS);
      return BigInt(balance);
    });
  const kept = begun.move();
  return {
    ...use({ ...blnk, run, balances }),
    pids: blnk.pids,
    bytes: database.bytes,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startProcesses(options: SubjectOptions): Promise<Running> {
  const [port, redisPort, monitor] = [freePort(), freePort(), freePort()];
  await using begun = new AsyncDisposableStack();
  const database = begun.use(await makeDatabase(options.stand, `blnk_${port}`));
  const cwd = `${options.work}/blnk_${port}`;
  await Deno.mkdir(cwd);
  const redisArgs = ["--port", `${redisPort}`, "--bind", "127.0.0.1", "--save", ""];
  const redis = begun.adopt(start("redis-server", redisArgs, cwd), end);
  const settings = {
    project_name: "bench",
    data_source: { dns: database.url },
    redis: { dns: `127.0.0.1:${redisPort}` },
    server: { port: `${port}`, secure: true, secret_key: KEY },
    queue: { monitoring_port: `${monitor}` },
  };
  await Deno.writeTextFile(`${cwd}/blnk.json`, JSON.stringify(settings));
  const program = `${options.build}/bin/blnk`;
  await output(program, ["migrate", "up"], { cwd });
  const children = ["start", "workers"].map((name) =>
    begun.adopt(start(program, [name], cwd), end)
  );
  await waitUntilAnswers(`http://127.0.0.1:${port}/health`);
  const kept = begun.move();
  return {
    pids: [...children, redis].map(({ pid }) => pid),
    port,
    redisPort,
    database,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Runs a load, waits until its queue is empty or its time is up, and counts what was applied by then. */
async function runQueued(
  run: (load: PeerLoad) => Promise<PeerFigures>,
  load: PeerLoad,
  sql: PeerDatabase["sql"],
): Promise<PeerFigures> {
  const countApplied = async () => {
    const [{ n }] = await sql<{ n: string }[]>`
      select count(*) as n from blnk.transactions where status = 'APPLIED'`;
    return Number(n);
  };
  const before = await countApplied();
  const begin = performance.now();
  const { requests, failed, seconds } = await run(load);
  const acknowledged = requests - failed;
  const until = performance.now() + DRAIN_MS;
  let applied = 0;
  do {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    applied = await countApplied() - before;
  } while (applied < acknowledged && performance.now() < until);
  return {
    requests: applied,
    failed,
    seconds: (performance.now() - begin) / 1000,
    p50: NaN,
    p99: NaN,
    max: NaN,
    acknowledged: acknowledged / seconds,
  };
}

/** Deletes locks that requests of clients that went away left: they would refuse others for five minutes. */
async function removeLocks(redisPort: number): Promise<void> {
  const at = ["-p", `${redisPort}`];
  const found = await output("redis-cli", [...at, "--scan", "--pattern", "bln_*"]);
  const locks = found.split("\n").filter((line) => line !== "");
  if (locks.length > 0) await output("redis-cli", [...at, "del", ...locks]);
}
