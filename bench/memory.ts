/**
 * Resident memory of the service in its default configuration, workers and launcher with it, and of PostgreSQL: at the
 * start, and after loads. @module
 */
import type { Load } from "./load.ts";
import type { Field } from "./measure.ts";
import { treeOf } from "./processes.ts";
import { verdictOf } from "./report.ts";

/**
 * What the peers took at most, the least and the greatest of them, in the run of 27 November 2026 ("Other ledgers" in
 * docs/operations/performance.md, 32 connections). The service must not exceed the least.
 */
export const PEERS_MIB: readonly [least: number, greatest: number] = [133, 426];

/** How long nobody asks for anything before the last line. */
const QUIET_S = 60;

/**
 * Prints a line after each load.
 *
 * @param isLong whether a line is added when the service has had nothing to do for a minute
 */
export async function benchMemory(field: Field, seconds: number, isLong: boolean): Promise<void> {
  const load = (connections: number, many: number): Load => ({
    connections,
    how: "uniform",
    many,
    seconds,
  });
  await show(field, "before the next loads");
  for (const next of [load(32, 1), load(256, 1), load(4, 1000)]) {
    const { connections, many } = next;
    await field.generator.run(field.service.port, field.realm, next);
    await show(field, `after ${seconds} s of ${connections} connections, ${many} a request`);
  }
  if (!isLong) return;
  await new Promise((resolve) => setTimeout(resolve, QUIET_S * 1000));
  await show(field, `${QUIET_S} s later`);
}

async function show({ service, stand }: Field, when: string): Promise<void> {
  const [launcher, ...served] = await Promise.all((await treeOf(service.pid)).map(residentMib));
  const serving = served.reduce((sum, mib) => sum + mib, 0);
  const database = await shareMib(await treeOf(stand.server.pid));
  const verdict = verdictOf(serving <= PEERS_MIB[0], serving <= PEERS_MIB[0]);
  console.log(
    `memory ${when}: service with workers ${Math.round(serving)} MiB resident (peers ${
      PEERS_MIB.join(" to ")
    }) ${verdict ?? ""}, its launcher ${Math.round(launcher)}, PostgreSQL ${
      Math.round(database)
    } with what its processes share counted once`,
  );
}

/** Resident memory of a process. */
export async function residentMib(pid: number): Promise<number> {
  return await kibOf(pid, "status", "VmRSS") / 1024;
}

/** The most that was ever resident of a process. */
export async function peakMib(pid: number): Promise<number> {
  return await kibOf(pid, "status", "VmHWM") / 1024;
}

/** Memory of processes that share most of it: of what several have, each counts its part. */
export async function shareMib(pids: readonly number[]): Promise<number> {
  const parts = await Promise.all(pids.map((pid) => kibOf(pid, "smaps_rollup", "Pss")));
  return parts.reduce((sum, kib) => sum + kib, 0) / 1024;
}

/** ESRCH, for which the runtime has no class: the process has ended between the opening of the file and its reading. */
const GONE = /\(os error 3\)/;

/** A figure of a process in KiB; 0 when it has ended. */
async function kibOf(pid: number, file: string, name: string): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/${file}`).catch((error) => {
    if (error instanceof Deno.errors.NotFound || GONE.test(error.message)) return "";
    throw error;
  });
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
}
