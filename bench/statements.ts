/**
 * Which statements PostgreSQL spends its time on beside transfers: the processor time of each of its sessions, read
 * often, goes to the statement that the session runs. No single one but the posting itself may take a third of a core.
 * @module
 */
import type { Field } from "./measure.ts";
import { verdictOf } from "./report.ts";

const EVERY_MS = 25;
const SHARE_MAX = 1 / 3;
const SHOWN = 5;
/** Posts transfers, and so may take what there is. */
const POSTING = /\bledger_(single|queued|apply)/;
const TICKS = 100;

/** Runs transfers over 256 connections, and prints what statements took beside them. */
export async function benchStatements(field: Field, seconds: number): Promise<void> {
  const cores = new Map<string, number>();
  const last = new Map<number, number>();
  const load = { connections: 256, how: "uniform", many: 1, seconds } as const;
  const running = field.generator.run(field.service.port, field.realm, load);
  let over = false;
  const ended = running.finally(() => over = true);
  while (!over) {
    for (const { pid, query } of await sessions(field)) {
      const used = await secondsOf(pid);
      const more = used - (last.get(pid) ?? used);
      last.set(pid, used);
      const text = query.replaceAll(/\s+/g, " ").trim().slice(0, 100);
      cores.set(text, (cores.get(text) ?? 0) + more / seconds);
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  await ended;
  const sorted = [...cores].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  console.log("cores of PostgreSQL by statement, beside single transfers over 256 connections:");
  for (const [text, share] of sorted) {
    const verdict = POSTING.test(text) ? null : verdictOf(share <= SHARE_MAX);
    console.log(`  ${share.toFixed(3)} ${text}${verdict === null ? "" : ` ${verdict}`}`);
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
