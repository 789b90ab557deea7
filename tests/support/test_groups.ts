/**
 * Runs groups of test files, each in a process of its own, several at a time. What ends a process before its time,
 * a test that stalls or takes the process with it, costs that test alone: the others of its group run in another.
 *
 * @module
 */
import { type Group, writeAgain, writeAlone } from "./groups.ts";
import { addCounts, type Counts, type EndedTest } from "./test_output.ts";
import { runTestProcess, type TestProcess, type TestProcessEnd, titleOf } from "./test_process.ts";

/** How groups are run. */
export interface GroupOptions extends Pick<TestProcess, "stallMs" | "now" | "say" | "signal"> {
  /** What stands before a group's module, and after `deno`. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Groups at a time. */
  atOnce: number;
  /** Is told each group whose tests have ended. */
  ended?(group: Group): Promise<void> | void;
  /** A folder for modules and reports. */
  folder: string;
  /** Whether reports in the form of JUnit are written there. */
  junit: boolean;
}

/** What became of groups. */
export interface GroupsResult {
  counts: Counts;
  /** Errors and the list of failures, as `deno test` prints them. */
  errors: string[];
  failures: string[];
  /** Whether all passed. */
  success: boolean;
  /** Reports in the form of JUnit that processes wrote. */
  reports: string[];
  /** Tests of processes that wrote none. */
  unreported: Unreported[];
  /** Seconds that groups took, by their names. */
  seconds: Record<string, number>;
}

/** Tests whose process has not come to its report. */
export interface Unreported {
  group: string;
  ended: EndedTest[];
  /** The test that was under way, and why it has not ended. */
  lost: { title: string; why: string };
}

/** Runs groups in their order. */
export async function runGroups(
  groups: readonly Group[],
  options: GroupOptions,
): Promise<GroupsResult> {
  const result: GroupsResult = {
    ...{ counts: addCounts([]), errors: [], failures: [], success: true },
    ...{ reports: [], unreported: [], seconds: {} },
  };
  const due = groups.values(); // each of those at work takes the next one
  const work = async () => {
    for (const group of due) {
      if (options.signal.aborted) return;
      const begun = Date.now();
      await runGroup(group, [], options, result);
      result.seconds[group.name] = (Date.now() - begun) / 1000;
      await options.ended?.(group);
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, work));
  return result;
}

/** Runs the tests of a group but those that had their turn, in as many processes as it takes. */
async function runGroup(
  group: Group,
  hadTurn: string[],
  options: GroupOptions,
  result: GroupsResult,
): Promise<void> {
  for (let nth = 0;; nth++) {
    const { module, env } = hadTurn.length === 0
      ? { module: group.path, env: {} }
      : await writeAgain(options.folder, group, hadTurn);
    const report = `${module}.xml`;
    const end = await runTestProcess({
      ...options,
      name: group.name,
      args: [...options.args, ...(options.junit ? [`--junit-path=${report}`] : []), module],
      env: { ...options.env, ...env },
    });
    const { ended, running, complete } = end.output;
    const nothing = ended.length + running.length === 0 && !(end.success && end.lost === null);
    if (nothing && group.files.length > 1 && !options.signal.aborted) {
      options.say(`${group.name} => no test has begun: its files run one by one`);
      for (const alone of await writeAlone(options.folder, group)) {
        await runGroup(alone, hadTurn, options, result);
      }
      return;
    }
    // An error that no test caught ends the one that is under way, and cancels all others.
    const [under, ...others] = ended.filter(({ outcome }) => outcome === "cancelled");
    note(group, end, report, options, result);
    if (under !== undefined) {
      result.failures.push(`${under.path[0]} => ${group.name} (under way at an uncaught error)`);
      result.counts.failed -= others.length;
    }
    if (options.signal.aborted || nothing || (complete && others.length === 0)) return;
    const had = ended.filter((test) => !others.includes(test)).map(({ path }) => path[0]);
    hadTurn = [...hadTurn, ...had, ...running.slice(0, 1)];
  }
}

/** Takes down how a process ended. */
function note(
  group: Group,
  { output, lost, success }: TestProcessEnd,
  report: string,
  options: GroupOptions,
  result: GroupsResult,
): void {
  result.errors.push(...output.errors);
  result.failures.push(...output.failures.filter((line) => line !== ""));
  result.success &&= success && lost === null;
  result.counts = addCounts([result.counts, output.counts]);
  if (lost === null) {
    if (options.junit) result.reports.push(report);
    return;
  }
  const behind = output.ended.at(-1)?.path;
  const title = output.running.length > 0
    ? titleOf(output.running)
    : behind === undefined
    ? group.files.join(", ")
    : `(behind) ${titleOf(behind)}`;
  const failed = output.complete ? [] : output.ended.filter(({ outcome }) => outcome === "FAILED");
  for (const { path } of failed) {
    result.failures.push(`${titleOf(path)} => ${group.name}`);
    result.errors.push(
      `${titleOf(path)} => ${group.name}`,
      `error: lost: ${lost} before its report`,
      "",
    );
  }
  result.failures.push(`${title} => ${group.name}`);
  result.errors.push(`${title} => ${group.name}`, `error: ${lost}`, "");
  result.counts.failed++;
  result.unreported.push({ group: group.name, ended: output.ended, lost: { title, why: lost } });
  options.say(`${group.name} => ${title} ... FAILED: ${lost}`);
}
