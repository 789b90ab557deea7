/**
 * One process of `deno test`, which is ended where it stalls.
 *
 * @module
 */
import { endTree, MARK } from "./process_tree.ts";
import { type EndedTest, newOutput, readOutput, type TestOutput } from "./test_output.ts";

const ROOT = new URL("../../", import.meta.url);
const TICK_MS = 1000;
/** A test that takes longer is named while it runs. */
const LONG_MS = 60_000;
/** Processes that want a processor while the suite has the machine for itself, for each processor. */
const OWN_LOAD = 4;

/** What a process of tests is given. */
export interface TestProcess {
  /** What its lines begin with. */
  name: string;
  /** Arguments of `deno`. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /**
   * Milliseconds in which no test and no step ends, after which the process is ended. They are counted from the last
   * end, not for each test, and slower where others want the processors too: a slow machine is no fault of a test.
   */
  stallMs: number;
  /** A clock in milliseconds. */
  now(): number;
  say(line: string): void;
  /** Ends the process. */
  signal: AbortSignal;
}

/** How a process ended. */
export interface TestProcessEnd {
  output: TestOutput;
  /** Why it has not come to its end; null where it has. */
  lost: string | null;
  success: boolean;
}

/** Runs a process of tests to its end. */
export async function runTestProcess(given: TestProcess): Promise<TestProcessEnd> {
  const mark = crypto.randomUUID();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...given.args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...given.env, [MARK]: mark },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const output = newOutput();
  let [reason, ending]: [string | null, Promise<void> | null] = [null, null];
  const end = (why: string) => {
    reason ??= why;
    ending ??= endTree(child.pid, mark);
  };
  const abort = () => end("the run was ended");
  given.signal.addEventListener("abort", abort);
  if (given.signal.aborted) abort();
  const watch = watchFor(given, output, () => end(`no test ended for ${inWords(given.stallMs)}`));
  try {
    await read(child.stdout, output, given, watch.restart);
    const { code, success } = await child.status;
    await (ending ?? endTree(null, mark)); // servers that its tests have left
    const broken = output.complete ? null : `its process ended with code ${code}`;
    return { output, lost: reason ?? broken, success };
  } finally {
    watch.end();
    given.signal.removeEventListener("abort", abort);
  }
}

/** Counts the time since a test has ended, as far as the machine had time for this process. */
function watchFor(given: TestProcess, output: TestOutput, stalled: () => void) {
  const { name, stallMs, say } = given;
  let [elapsed, last, told] = [0, given.now(), LONG_MS];
  const timer = setInterval(() => {
    const now = given.now();
    const share = Math.min(1, OWN_LOAD * navigator.hardwareConcurrency / Deno.loadavg()[0]);
    // A machine that stood still has not given this timer its turn either.
    elapsed += Math.min(now - last, 2 * TICK_MS) * share;
    last = now;
    if (elapsed >= told) {
      say(`${name} => ${titleOf(output.running)} has been running for ${inWords(told)}`);
      told *= 2;
    }
    if (elapsed >= stallMs) stalled();
  }, TICK_MS);
  return {
    restart() {
      [elapsed, told] = [0, LONG_MS];
    },
    end: () => clearInterval(timer),
  };
}

async function read(
  stream: ReadableStream<Uint8Array>,
  output: TestOutput,
  { name, say }: TestProcess,
  restart: () => void,
): Promise<void> {
  const ended = ({ path, outcome, took }: EndedTest) => {
    restart();
    say(`${name} => ${titleOf(path)} ... ${outcome} (${took})`);
  };
  const written = (line: string) => say(`${name} | ${line}`);
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    readOutput(output, text, { ended, written });
  }
}

/** The titles of a test and its steps on one line. */
export function titleOf(path: readonly string[]): string {
  return path.length === 0 ? "(no test)" : path.join(" ... ");
}

/** A time for readers. */
function inWords(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : `${Math.floor(ms / 60_000)} min`;
}
