/**
 * What one process of `deno test` prints, read as it comes: which test is under way, which have ended, the counts and
 * the errors at its end.
 *
 * @module
 */

/** A test or a step that has ended. */
export interface EndedTest {
  /** The titles from the test to the step. */
  path: string[];
  outcome: "ok" | "FAILED" | "ignored" | "cancelled";
  /** How long it took, as printed. */
  took: string;
}

/** Counts of tests, or of steps. */
export interface Counts {
  passed: number;
  failed: number;
  ignored: number;
  filtered: number;
  passedSteps: number;
  failedSteps: number;
  ignoredSteps: number;
}

/** What has been read of the output of a process. */
export interface TestOutput {
  /** What is under way: the title of a test, then those of its steps; empty between tests. */
  running: string[];
  /** Tests that have ended, without steps. */
  ended: EndedTest[];
  /** The counts of the last line, where the process has come so far; else those of what has ended. */
  counts: Counts;
  /** Whether the process has printed all. */
  complete: boolean;
  /** The errors with their places, and the list of failures, as printed. */
  errors: string[];
  failures: string[];
  /** The line that has no end yet. */
  rest: string;
  /** Which part of the output the next line belongs to. */
  part: "tests" | "written" | "errors" | "failures";
}

const ENDED =
  /^( *)(\S.*) \.\.\. (ok|FAILED|ignored|cancelled)(?: \(due to .*\))? \((\d[\w.µ]*)\)$/;
const BEGUN = /^( *)(\S.*) \.\.\. ?$/;
const SUMMARY = /^(?:ok|FAILED) \| \d+ passed/;
const HEADINGS = { " ERRORS ": "errors", " FAILURES ": "failures" } as const;

const OUTCOMES = {
  ok: "passed",
  FAILED: "failed",
  ignored: "ignored",
  cancelled: "failed",
} as const;

/** Output of which nothing has been read. */
export function newOutput(): TestOutput {
  return {
    ...{ running: [], ended: [], counts: noCounts(), complete: false },
    ...{ errors: [], failures: [], rest: "", part: "tests" },
  } as const;
}

/**
 * Reads further output.
 *
 * @param ended is told each test and step that has ended
 * @param written is told each other line that a test wrote
 */
export function readOutput(
  output: TestOutput,
  text: string,
  { ended, written }: { ended(test: EndedTest): void; written(line: string): void },
): void {
  const lines = (output.rest + text).split("\n");
  output.rest = lines.pop()!;
  for (const line of lines) readLine(output, line, ended, written);
  // The title of a test without steps and output stands alone on its line until the test has ended.
  if (output.part === "tests") begin(output, output.rest);
}

function readLine(
  output: TestOutput,
  line: string,
  told: (test: EndedTest) => void,
  written: (line: string) => void,
): void {
  if (SUMMARY.test(line)) {
    output.counts = readCounts(line);
    output.complete = true;
    return;
  }
  if (line === " ERRORS " || line === " FAILURES ") output.part = HEADINGS[line];
  else if (output.part === "errors") output.errors.push(line);
  else if (output.part === "failures") output.failures.push(line);
  else if (line === "------- output -------") output.part = "written";
  else if (line === "----- output end -----") output.part = "tests";
  else if (output.part === "written") written(line);
  else readTest(output, line, told);
}

function readTest(output: TestOutput, line: string, told: (test: EndedTest) => void): void {
  const [, indent, title, outcome, took] = ENDED.exec(line) ?? [];
  if (indent === undefined) return begin(output, line);
  const path = [...output.running.slice(0, indent.length / 2), title];
  output.running = path.slice(0, -1);
  const test = { path, outcome: outcome as EndedTest["outcome"], took };
  if (path.length === 1) output.ended.push(test);
  count(output.counts, test);
  told(test);
}

function count(counts: Counts, { path, outcome }: EndedTest): void {
  const what = OUTCOMES[outcome];
  counts[path.length === 1 ? what : `${what}Steps` as const]++;
}

function begin(output: TestOutput, line: string): void {
  const [, indent, title] = BEGUN.exec(line) ?? [];
  if (title !== undefined) output.running = [...output.running.slice(0, indent.length / 2), title];
}

/** Counts of nothing. */
function noCounts(): Counts {
  return {
    ...{ passed: 0, failed: 0, ignored: 0, filtered: 0 },
    ...{ passedSteps: 0, failedSteps: 0, ignoredSteps: 0 },
  };
}

function readCounts(line: string): Counts {
  const count = (word: string, after = "") =>
    Number(new RegExp(`(\\d+) ${word}${after}`).exec(line)?.[1] ?? 0);
  const steps = (word: string) => count("steps?", `(?<=${word} \\(\\d+ steps?)`);
  return {
    passed: count("passed"),
    failed: count("failed"),
    ignored: count("ignored"),
    filtered: count("filtered out"),
    passedSteps: steps("passed"),
    failedSteps: steps("failed"),
    ignoredSteps: steps("ignored"),
  };
}

/** The sum of counts. */
export function addCounts(counts: readonly Counts[]): Counts {
  const sum = noCounts();
  for (const one of counts) {
    for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += one[key];
  }
  return sum;
}

/** The counts as `deno test` prints them at its end. */
export function formatCounts(counts: Counts, took: string): string {
  const steps = (count: number) => count === 0 ? "" : ` (${count} step${count === 1 ? "" : "s"})`;
  return [
    counts.failed > 0 ? "FAILED" : "ok",
    `${counts.passed} passed${steps(counts.passedSteps)}`,
    `${counts.failed} failed${steps(counts.failedSteps)}`,
    ...(counts.ignored > 0 ? [`${counts.ignored} ignored${steps(counts.ignoredSteps)}`] : []),
    ...(counts.filtered > 0 ? [`${counts.filtered} filtered out`] : []),
  ].join(" | ") + ` (${took})`;
}
