/** Processor time of processes, read from /proc. @module */

/** Clock ticks of a second; what Linux reports to programs, on every machine. */
const TICKS = 100;

/** What is read of a process. */
interface Seen {
  pid: number;
  parent: number;
  /** Processor seconds of it and of those of its children that have ended. */
  seconds: number;
}

/** Reads a process and all its descendants, from the top. */
async function readTree(pid: number): Promise<Seen[]> {
  const children = new Map<number, Seen[]>();
  let top: Seen | undefined;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => null);
    if (text === null) continue; // it has ended meanwhile
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    const seen = { pid: Number(name), parent: Number(fields[1]), seconds: ticks / TICKS };
    children.set(seen.parent, [...children.get(seen.parent) ?? [], seen]);
    if (seen.pid === pid) top = seen;
  }
  const below = (one: Seen): Seen[] => [one, ...(children.get(one.pid) ?? []).flatMap(below)];
  return top === undefined ? [] : below(top);
}

/** Gives the processor seconds that a process and all its children have used. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await readTree(pid)).reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Gives the ids of a process and all its descendants, its own first. */
export async function treeOf(pid: number): Promise<number[]> {
  return (await readTree(pid)).map((seen) => seen.pid);
}

/** Runs a program to its end and gives what it printed. @throws {Error} with what it complained of */
export async function output(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; uid?: number; gid?: number } = {},
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args], ...options })
    .output();
  const decoder = new TextDecoder();
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** Whether a program is installed. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Gives the value that a share of the sorted values does not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Gives the median. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Stops a process and all its descendants, and gives what lets them go on; they use no processor meanwhile. */
export async function suspend(pid: number): Promise<Disposable> {
  const pids = await treeOf(pid);
  for (const one of pids) Deno.kill(one, "SIGSTOP");
  return {
    [Symbol.dispose]() {
      for (const one of pids) Deno.kill(one, "SIGCONT");
    },
  };
}
