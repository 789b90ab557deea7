/**
 * Which statements PostgreSQL spends its time on beside transfers: the processor time of each of its sessions, read
 * often, goes to the statement that the session runs. No single one but the posting itself may take a third of a core.
 * @module
 */
import type { Field } from "./measure.ts";

const EVERY_MS = 25;
const SHARE_MAX = 1 / 3;
const SHOWN = 5;
/** Posts transfers, and so may take what there is. */
const POSTING = /\bledger_(single|queued|apply)/;
const TICKS = 100;

/** Runs transfers over 256 connections, and prints what statements took beside them. */
export async function benchStatements(field: Field, seconds: number): Promise<void> {
  const load = { connections: 256, how: "uniform", many: 1, seconds } as const;
  await using watch = watchStatements(field, EVERY_MS);
  await field.generator.run(field.service.port, field.realm, load);
  printStatements(await watch.end(), "beside single transfers over 256 connections");
}

/** Cores of PostgreSQL that statements take, by their texts. */
export type Shares = ReadonlyMap<string, number>;

/** The shares of several times of the same length, taken together. */
export function meanOf(times: readonly Shares[]): Shares {
  const sums = new Map<string, number>();
  for (const shares of times) {
    for (const [text, share] of shares) sums.set(text, (sums.get(text) ?? 0) + share);
  }
  return new Map([...sums].map(([text, sum]) => [text, sum / times.length]));
}

/** Reads every so often what PostgreSQL's sessions run, and how much of a processor they have used. */
export function watchStatements(
  field: Field,
  everyMs: number,
): AsyncDisposable & { end(): Promise<Shares> } {
  const used = new Map<string, number>();
  const last = new Map<number, number>();
  const start = performance.now();
  let over = false;
  const watching = watch();
  const end = async () => {
    over = true;
    const seconds = (await watching - start) / 1000;
    return new Map([...used].map(([text, cpu]) => [text, cpu / seconds]));
  };
  return {
    end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };

  async function watch(): Promise<number> {
    for (let isLast = false;; isLast = over) {
      for (const { pid, query } of await sessions(field)) {
        const now = await secondsOf(pid);
        const more = now - (last.get(pid) ?? now);
        last.set(pid, now);
        const text = query.replaceAll(/\s+/g, " ").trim().slice(0, 100);
        used.set(text, (used.get(text) ?? 0) + more);
      }
      if (isLast) return performance.now(); // what was used up to the end is counted
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/** Prints the statements that took most; one that takes too much lets the bench fail. */
export function printStatements(shares: Shares, when: string): void {
  const sorted = [...shares].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  console.log(`cores of PostgreSQL by statement, ${when}:`);
  for (const [text, share] of sorted) {
    const tooMuch = !POSTING.test(text) && share > SHARE_MAX;
    if (tooMuch) Deno.exitCode = 1;
    console.log(`  ${share.toFixed(3)} ${text}${tooMuch ? " **FAILED**" : ""}`);
  }
}

async function sessions({ stand }: Field): Promise<{ pid: number; query: string }[]> {
  return await stand.sql<{ pid: number; query: string }[]>`
    select pid, query from pg_stat_activity
    where backend_type = 'client backend' and application_name like 'purser %'`;
}

/** Processor seconds of one process; 0 when it has ended. */
async function secondsOf(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (text === null) return 0;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
