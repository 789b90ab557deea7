/**
 * Ends a process with all that it has started. Servers outlive the test that started them and then are children of
 * another, so they are also known by a variable of their environment. Where there is no `/proc`, only the process
 * itself is ended.
 *
 * @module
 */
import { until } from "./eventually.ts";

/** The variable that marks a process and those that come of it. */
export const MARK = "TEST_PROCESS";
/** Servers end by themselves when they are asked to; what has not ended after so long is killed. */
const GRACE_MS = 10_000;

interface Process {
  pid: number;
  parent: number;
  /** When it was started: another of the same number is another process. */
  started: string;
}

/** Ends a process, or null where it has ended by itself, and all that has come of it, which has the mark in its environment. */
export async function endTree(pid: number | null, mark: string): Promise<void> {
  if (!await isThere("/proc/self/stat")) return pid === null ? undefined : send(pid, "SIGKILL");
  const found = new Map<number, string>();
  const isKnown = (one: Process) => found.get(one.pid) === one.started;
  const left = async () => {
    const all = await processes();
    const isRoot = (one: Process) => isKnown(one) || (found.size === 0 && one.pid === pid);
    for (const one of await treeOf(all, isRoot, mark)) found.set(one.pid, one.started);
    return all.filter(isKnown);
  };
  for (const one of await left()) send(one.pid, "SIGTERM");
  const begun = Date.now();
  await until(async () => {
    const due = await left();
    if (Date.now() - begun > GRACE_MS) { for (const one of due) send(one.pid, "SIGKILL"); }
    return due.length === 0;
  }, 50);
}

/** Those that some processes have started, at any depth, with themselves, and those with the mark. */
async function treeOf(
  all: readonly Process[],
  isRoot: (one: Process) => boolean,
  mark: string,
): Promise<Process[]> {
  const marked = await Promise.all(all.map(async (one) => await hasMark(one.pid, mark)));
  const tree = new Set(all.filter((one, n) => isRoot(one) || marked[n]));
  const pids = new Set([...tree].map((one) => one.pid));
  for (let size = 0; size < pids.size;) {
    size = pids.size;
    for (const one of all.filter(({ parent }) => pids.has(parent))) {
      tree.add(one);
      pids.add(one.pid);
    }
  }
  return [...tree];
}

async function hasMark(pid: number, mark: string): Promise<boolean> {
  const text = await readOrNothing(`/proc/${pid}/environ`);
  return text.split("\0").includes(`${MARK}=${mark}`);
}

/** The processes of the machine that have not ended. */
async function processes(): Promise<Process[]> {
  const pids = (await Array.fromAsync(Deno.readDir("/proc"))).map(({ name }) => name)
    .filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(pids.map((pid) => readOrNothing(`/proc/${pid}/stat`)));
  return texts.flatMap((text, n) => {
    // The second field is a name in parentheses, which may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, parent, started] = [fields[0], fields[1], fields[19]];
    if (text === "" || state === "Z" || state === "X") return [];
    return [{ pid: Number(pids[n]), parent: Number(parent), started }];
  });
}

/** A file of a process, which may have ended, or be another user's. */
async function readOrNothing(path: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => "");
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

function send(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it has ended meanwhile
  }
}
